// Params of messages that came together: structured clone keeps identity within one event, so that two requests could hold one
// object. What one handler has checked, another could then change.

import { settle } from "./small.js";

/** With more parts than this in all their params, messages get no copies: few bytes could fill the memory with them. */
const MAX_COPIED_PARTS = 1_000;
/** As many members are looked at before params are taken for large ones. */
const MAX_FLAT_MEMBERS = 32;

const isObject = (value) => typeof value === "object" && value !== null;

/** A copy of a plain object or array without objects in it; undefined for any other. It costs less than a look into a set. */
function flatCopy(value) {
  if (Array.isArray(value)) {
    return value.length <= MAX_FLAT_MEMBERS && !value.some(isObject) ? value.slice() : undefined;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return undefined;
  let count = 0;
  for (const key in value) if (++count > MAX_FLAT_MEMBERS || isObject(value[key])) return undefined;
  return { ...value };
}

/** What is in an object. Holes of an array are not: there may be billions. */
function partsOf(value) {
  if (value instanceof Map) return [...value.keys(), ...value.values()];
  if (value instanceof Set) return [...value];
  return ArrayBuffer.isView(value) ? [value.buffer] : Object.values(value);
}

/** The params of the messages of one event, which are to share nothing. */
export class ParamsOfEvent {
  /** The objects of the messages so far, but for those that were copied. */
  #seen = new Set();
  #parts = 0;
  #isList;

  /** Messages of a list hold no arrays with members by name; those of a batch, which others write, may. */
  constructor(isList) {
    this.#isList = isList;
  }

  /**
   * The params of the next message. If they hold an object of a message before it, they become a copy, or if there is much in
   * them, a number, which no request may have as its params.
   */
  own(params) {
    if (!isObject(params)) return params;
    const flat = this.#isList ? flatCopy(params) : undefined;
    if (flat !== undefined) return flat;
    if (!this.#isShared(params)) return params;
    const copy = { params };
    return this.#parts <= MAX_COPIED_PARTS && settle(copy) ? copy.params : 0;
  }

  /** Visits each object once, so that it costs no more than it did to receive them. */
  #isShared(params) {
    const own = new Set();
    const open = [params];
    while (open.length > 0) {
      const value = open.pop();
      if (!isObject(value) || own.has(value)) continue;
      if (this.#seen.has(value)) return true;
      own.add(value);
      const parts = partsOf(value);
      this.#parts += parts.length;
      for (const part of parts) open.push(part);
    }
    for (const value of own) this.#seen.add(value);
    return false;
  }
}
