// The limits that an application can set.

import { DEFAULTS } from "./limit-values.js";

/**
 * Returns the limits that the options set. Throws if a limit is invalid. `Link.on` calls this function before it
 * creates or changes a link. So an invalid limit leaves the link unchanged.
 */
export function parseLimits(options) {
  const limits = {};
  for (const [name, value] of Object.entries(options ?? {})) {
    if (!Object.hasOwn(DEFAULTS, name))
      throw new TypeError(`unknown limit "${name}"; expected one of ${Object.keys(DEFAULTS)}`);
    if (value === undefined) continue;
    if (typeof value !== "number" || !(value >= 0))
      throw new RangeError(`${name} must be a non-negative number, got ${String(value)}`);
    // The slots of calls and requests must fit into the argument of an output, which has 25 bits.
    limits[name] = Math.min(Math.floor(value), 2 ** 25 - 1);
  }
  return limits;
}
