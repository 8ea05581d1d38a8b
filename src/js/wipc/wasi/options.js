// The options of a guest, checked before anything is started.

import { MAX_CAPACITY, START_TIMEOUT } from "../../../web/limit-values.js";
import { checkTimeout } from "../timers.js";

export function parseOptions({
  args = [],
  env = {},
  worker,
  onStderr,
  stdinCapacity = 65_536,
  startTimeout = START_TIMEOUT,
  signal,
} = {}) {
  if (!Array.isArray(args)) throw new TypeError("portway: args is a list of strings");
  for (const [name, text] of [
    ...args.map((arg) => ["args", arg]),
    ...Object.entries(env).map(([key, value]) => [`env.${key}`, value]),
  ]) {
    // It is the end of a string where the guest reads it.
    if (typeof text !== "string" || text.includes("\0"))
      throw new TypeError(`portway: ${name} holds what is no string without NUL`);
  }
  const badKey = Object.keys(env).find((key) => key === "" || /[=\0]/.test(key));
  if (badKey !== undefined) throw new TypeError(`portway: env has a name that cannot be: ${JSON.stringify(badKey)}`);
  if (onStderr !== undefined && typeof onStderr !== "function") throw new TypeError("portway: onStderr is no function");
  if (!Number.isInteger(stdinCapacity) || stdinCapacity < 1 || stdinCapacity > MAX_CAPACITY) {
    throw new RangeError(`portway: stdinCapacity is a number of bytes from 1 to ${MAX_CAPACITY}`);
  }
  checkTimeout("startTimeout", startTimeout);
  const lines = Object.entries(env).map(([key, value]) => `${key}=${value}`);
  // The first is the program's name.
  return { args: ["guest", ...args], env: lines, worker, onStderr, stdinCapacity, startTimeout, signal };
}
