// Params of messages that came together: structured clone keeps identity within one event, so that two requests could hold one
// object. What one handler has checked, another could then change.

import { settle } from "./small.js";

/** With more parts than this in all their params, messages get no copies: few bytes could fill the memory with them. */
const MAX_COPIED_PARTS = 1_000;

/** What is in an object. Holes of an array are not: there may be billions. */
function partsOf(value) {
  if (value instanceof Map) return [...value.keys(), ...value.values()];
  if (value instanceof Set) return [...value];
  return ArrayBuffer.isView(value) ? [value.buffer] : Object.values(value);
}

/** The params of the messages of one event, which are to share nothing. */
export class ParamsOfEvent {
  /** Which message owns an object. */
  #owners = new Map();
  #messages = 0;
  #parts = 0;

  /**
   * The params of the next message. If they hold an object of a message before it, they become a copy, or if there is much in
   * them, a number, which no request may have as its params.
   */
  own(params) {
    this.#messages++;
    if (!this.#isShared(params)) return params;
    const copy = { params };
    return this.#parts <= MAX_COPIED_PARTS && settle(copy) ? copy.params : 0;
  }

  /** Visits each object once, so that it costs no more than it did to receive them. */
  #isShared(params) {
    const open = [params];
    while (open.length > 0) {
      const value = open.pop();
      if (typeof value !== "object" || value === null) continue;
      const owner = this.#owners.get(value);
      if (owner === this.#messages) continue;
      if (owner !== undefined) return true;
      this.#owners.set(value, this.#messages);
      const parts = partsOf(value);
      this.#parts += parts.length;
      for (const part of parts) open.push(part);
    }
    return false;
  }
}
