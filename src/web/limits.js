// The bounds that an application can set.

import { DEFAULTS } from "./limit-values.js";

/** The limits that are given. It fails before a link is made or changed: what is refused leaves a transport as it was. */
export function parseLimits(options) {
  const limits = {};
  for (const [name, value] of Object.entries(options ?? {})) {
    if (!Object.hasOwn(DEFAULTS, name)) throw new TypeError(`there is no limit "${name}"`);
    if (value === undefined) continue;
    if (typeof value !== "number" || !(value >= 0))
      throw new RangeError(`the limit ${name} is a number from 0 up, not ${String(value)}`);
    // What does not fit into a word of wasm is as good as no limit.
    limits[name] = Math.min(Math.floor(value), 2 ** 25 - 1);
  }
  return limits;
}
