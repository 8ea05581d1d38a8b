// How calls end, and how long to wait to see that nothing happens.

import { assert } from "chai";

/** Returns the rejection of a promise. */
export async function rejection(promise) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  assert.fail(`it resolved, with ${JSON.stringify(value)}`);
}

export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Whether a promise is still open after all that is due has run. */
export async function isOpen(promise, ms = 30) {
  const open = Symbol("open");
  const settled = promise.then(
    () => "resolved",
    () => "rejected",
  );
  return (await Promise.race([settled, pause(ms).then(() => open)])) === open;
}

/** Resolves once `condition` returns true. */
export async function until(condition, what = "it never came to that", ms = 5_000) {
  const deadline = Date.now() + ms;
  while (!condition()) {
    if (Date.now() > deadline) assert.fail(what);
    await pause(5);
  }
}

/** A promise and its two functions. */
export function deferred() {
  const it = {};
  it.promise = new Promise((resolve, reject) => Object.assign(it, { resolve, reject }));
  return it;
}
