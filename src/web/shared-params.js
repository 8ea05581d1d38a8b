// Params of messages that came together: structured clone keeps identity within one event, so that two requests could hold one
// object. What one handler has checked, another could then change.

import { SHARED_PARAMS } from "./envelope.js";
import { tagOf } from "./errors.js";
import { plainCopy } from "./messages.js";
import { payloadKey, snapshotIfSmall } from "./snapshot.js";

/** Objects that no handler can change, and shared memory, which both sides may change. */
const IMMUTABLE_OR_SHARED = /^\[object (Blob|File|CryptoKey|SharedArrayBuffer)\]$/;

/** What is in an object, by its tag: it may be of another realm. Holes of an array are not: there may be billions. */
function partsOf(value) {
  switch (tagOf(value)) {
    case "[object Map]":
      return [...value.keys(), ...value.values()];
    case "[object Set]":
      return value;
    case "[object String]":
      return [];
    case "[object Error]":
      return [value.cause, value.errors, ...Object.values(value)];
    case "[object ImageData]":
      // In Firefox, an array that came beside it may be of the same memory.
      return [value.data.buffer];
  }
  return ArrayBuffer.isView(value) ? [value.buffer] : Object.values(value);
}

/** A copy of an object that is not plain. If undefined, the object is to be sent as it is. */
function copyOther(value, tag) {
  if (IMMUTABLE_OR_SHARED.test(tag)) return undefined;
  // Buffers of Node have `toJSON`. Their own `slice` does not copy.
  if (tagOf(value.buffer) === "[object ArrayBuffer]" && value.BYTES_PER_ELEMENT > 0)
    return Uint8Array.prototype.slice.call(value);
  if (typeof value.toJSON !== "function" || tag === "[object Date]") return structuredClone(value);
}

/** The params of the messages of one event, which are to share nothing. */
export class ParamsIsolator {
  /** The messages so far, and the objects in them, but for those that were copied. */
  #seen = new Set();

  /** Whether a message with an id was there before. It asks for one answer, and not for many. */
  isDuplicate(message) {
    const isKnown = this.#seen.has(message);
    this.#seen.add(message);
    return isKnown && message.id !== undefined && message.id !== null;
  }

  /**
   * The params of the next message. Small params become a copy. Large params that share an object with an earlier message
   * become `SHARED`, which is not valid: copies of large params would let few bytes fill the memory.
   */
  isolateParams(params) {
    if (typeof params !== "object" || params === null) return params;
    const copy = { params };
    if (snapshotIfSmall(copy, undefined, this.#seen)) return copy.params;
    return this.#isShared(params) ? SHARED_PARAMS : params;
  }

  /**
   * Copies the objects that the next message of an array shares with the earlier ones. A message with transfers is not changed.
   */
  isolateMessage({ message, transfer }) {
    try {
      if (snapshotIfSmall(message, transfer, this.#seen)) return;
      const key = payloadKey(message);
      if (this.#isShared(message[key]) && transfer === undefined) message[key] = plainCopy(message[key], copyOther);
    } catch {
      // The send will fail and report this.
    }
  }

  /** Visits each object once, so that it costs no more than it did to receive them. */
  #isShared(params) {
    const own = new Set([params]);
    let isShared = false;
    for (const value of own) {
      if (this.#seen.has(value)) isShared ||= !IMMUTABLE_OR_SHARED.test(tagOf(value));
      else for (const part of partsOf(value)) if (typeof part === "object" && part !== null) own.add(part);
    }
    // Though it is refused: the next message may hold the same, which is then not visited again.
    for (const value of own) this.#seen.add(value);
    return isShared;
  }
}
