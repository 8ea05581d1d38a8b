// Separates the params of messages that were received together. Structured clone keeps identity within one event, so
// two requests could share an object: the handler of one could change a value that the other handler has checked.

import { SHARED_PARAMS } from "./envelope.js";
import { tagOf } from "./errors.js";
import { plainCopy } from "./messages.js";
import { payloadKey, snapshotIfSmall } from "./snapshot.js";

/** Objects that a handler cannot change, and shared memory, which both sides may change. */
const IMMUTABLE_OR_SHARED = /^\[object (Blob|File|CryptoKey|SharedArrayBuffer)\]$/;

/** Returns the values in an object of any realm. Holes of an array are left out: there may be billions. */
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
      // In Firefox, an array in the same event may use the same memory.
      return [value.data.buffer];
  }
  return ArrayBuffer.isView(value) ? [value.buffer] : Object.values(value);
}

/** Returns a copy of an object that is not plain, or undefined if the object itself is sent. */
function copyOther(value, tag) {
  if (IMMUTABLE_OR_SHARED.test(tag)) return undefined;
  // Buffers of Node have `toJSON`, and their own `slice` does not copy.
  if (tagOf(value.buffer) === "[object ArrayBuffer]" && value.BYTES_PER_ELEMENT > 0)
    return Uint8Array.prototype.slice.call(value);
  if (typeof value.toJSON !== "function" || tag === "[object Date]") return structuredClone(value);
}

/** Makes sure that the params of the messages of one event share no object. */
export class ParamsIsolator {
  /** The messages so far, and the objects in their params that were not copied. */
  #seen = new Set();

  /** Returns whether the same message with an id was in the event before. It is answered once. */
  isDuplicate(message) {
    const isKnown = this.#seen.has(message);
    this.#seen.add(message);
    return isKnown && message.id !== undefined && message.id !== null;
  }

  /**
   * Returns the params of the next message. Small params are copied. Large params that share an object with an earlier
   * message are replaced by `SHARED_PARAMS`, which is invalid: copies of large params would let a peer fill the memory
   * with few bytes.
   */
  isolateParams(params) {
    if (typeof params !== "object" || params === null) return params;
    const copy = { params };
    if (snapshotIfSmall(copy, undefined, this.#seen)) return copy.params;
    return this.#isShared(params) ? SHARED_PARAMS : params;
  }

  /**
   * Copies the objects that the next message to send shares with earlier ones. A message with transfers is not changed.
   */
  isolateMessage({ message, transfer }) {
    try {
      if (snapshotIfSmall(message, transfer, this.#seen)) return;
      const key = payloadKey(message);
      if (this.#isShared(message[key]) && transfer === undefined) message[key] = plainCopy(message[key], copyOther);
    } catch {
      // Sending the message will fail, and report the error.
    }
  }

  /**
   * Returns whether params share an object with earlier messages. Visits each object once, as structured clone does.
   */
  #isShared(params) {
    const own = new Set([params]);
    let isShared = false;
    for (const value of own) {
      if (this.#seen.has(value)) isShared ||= !IMMUTABLE_OR_SHARED.test(tagOf(value));
      else for (const part of partsOf(value)) if (typeof part === "object" && part !== null) own.add(part);
    }
    // Also if the message is refused: the next message may contain the same objects, which are not visited again.
    for (const value of own) this.#seen.add(value);
    return isShared;
  }
}
