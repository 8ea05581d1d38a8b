// Functions that wait for an outcome, or that check that nothing happens.

import { assert } from "chai";

/** Returns the error with which a promise rejects. Fails if the promise resolves. */
export async function rejection(promise) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  assert.fail(`the promise must reject, but it resolved with ${JSON.stringify(value)}`);
}

export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Returns whether a promise is still pending after `ms` milliseconds. */
export async function isPending(promise, ms = 30) {
  const open = Symbol("open");
  const settled = promise.then(
    () => "resolved",
    () => "rejected",
  );
  return (await Promise.race([settled, pause(ms).then(() => open)])) === open;
}

/**
 * Waits until `condition` returns true. Fails after `ms` milliseconds with the text `message`. If `message` is a
 * function, fails with the text that the function returns.
 */
export async function until(condition, message = "the condition was not met", ms = 20_000) {
  const deadline = Date.now() + ms;
  while (!condition()) {
    if (Date.now() > deadline) assert.fail(typeof message === "function" ? message() : message);
    await pause(5);
  }
}

/** Returns a promise and the two functions that settle it. */
export function deferred() {
  const deferredPromise = {};
  deferredPromise.promise = new Promise((resolve, reject) => Object.assign(deferredPromise, { resolve, reject }));
  return deferredPromise;
}
