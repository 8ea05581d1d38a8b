// Checks the options of a guest before the guest is started.

import { MAX_CAPACITY, START_TIMEOUT } from "../../driver/limit-values.js";
import { checkTimeout } from "../timers.js";

/**
 * Returns the options with their defaults. Throws if an option is invalid.
 * @param {import("../../../types/wipc-wasi.js").WasiGuestOptions} [options]
 */
export function parseOptions({
  args = [],
  env = {},
  worker,
  onStderr,
  stdinCapacity = 65_536,
  startTimeout = START_TIMEOUT,
  signal,
} = {}) {
  if (!Array.isArray(args)) throw new TypeError("portway: args must be an array of strings");
  for (const [name, text] of [
    ...args.map((arg, index) => [`args[${index}]`, arg]),
    ...Object.entries(env).map(([key, value]) => [`env.${key}`, value]),
  ]) {
    // A guest reads a string up to its first NUL.
    if (typeof text !== "string" || text.includes("\0"))
      throw new TypeError(`portway: ${name} must be a string without NUL characters`);
  }
  const badKey = Object.keys(env).find((key) => key === "" || /[=\0]/.test(key));
  if (badKey !== undefined) throw new TypeError(`portway: invalid environment variable name ${JSON.stringify(badKey)}`);
  if (onStderr !== undefined && typeof onStderr !== "function")
    throw new TypeError(`portway: onStderr must be a function, got ${typeof onStderr}`);
  if (!Number.isInteger(stdinCapacity) || stdinCapacity < 1 || stdinCapacity > MAX_CAPACITY) {
    throw new RangeError(
      `portway: stdinCapacity must be a number of bytes from 1 to ${MAX_CAPACITY}, got ${String(stdinCapacity)}`,
    );
  }
  checkTimeout("startTimeout", startTimeout);
  const lines = Object.entries(env).map(([key, value]) => `${key}=${value}`);
  // The first argument is the program's name.
  return { args: ["guest", ...args], env: lines, worker, onStderr, stdinCapacity, startTimeout, signal };
}
