// The limits that an application can set.

import { DEFAULTS } from "./limit-values.js";

/**
 * Returns the limits in the options. Throws before a link is made or changed, so that the transport stays as it was.
 */
export function parseLimits(options) {
  const limits = {};
  for (const [name, value] of Object.entries(options ?? {})) {
    if (!Object.hasOwn(DEFAULTS, name))
      throw new TypeError(`unknown limit "${name}"; expected one of ${Object.keys(DEFAULTS)}`);
    if (value === undefined) continue;
    if (typeof value !== "number" || !(value >= 0))
      throw new RangeError(`${name} must be a non-negative number, got ${String(value)}`);
    // The argument of an output has 25 bits.
    limits[name] = Math.min(Math.floor(value), 2 ** 25 - 1);
  }
  return limits;
}
