// Makes sure that messages that were received together share no params. Structured clone keeps the identity of objects
// within one event, so two requests could share an object. In that case, the handler of one request could change a
// value that the handler of the other request has checked.

import { SHARED_PARAMS } from "./envelope.js";
import { tagOf } from "./errors.js";
import { plainCopy } from "./messages.js";
import { payloadKey, snapshotIfSmall } from "./snapshot.js";

/** The tags of objects that messages may share: objects that a handler cannot change, and shared memory. */
const IMMUTABLE_OR_SHARED = /^\[object (Blob|File|CryptoKey|SharedArrayBuffer)\]$/;

/** Returns the values in an object of any realm. Holes of an array are left out, because there may be billions. */
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
      // In Firefox, a typed array in the same event may use the memory of the image.
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

  /**
   * Returns whether an earlier message of this event is the same object, and has an id. Such an object must be answered
   * only once.
   */
  isDuplicate(message) {
    const isKnown = this.#seen.has(message);
    this.#seen.add(message);
    return isKnown && message.id !== undefined && message.id !== null;
  }

  /**
   * Returns the params of the next message. Small params are copied. Large params that share an object with an earlier
   * message are replaced by `SHARED_PARAMS`, which makes the message invalid. They are not copied, because a peer could
   * otherwise fill the memory by a message of a few bytes.
   */
  isolateParams(params) {
    if (typeof params !== "object" || params === null) return params;
    const copy = { params };
    if (snapshotIfSmall(copy, undefined, this.#seen)) return copy.params;
    return this.#isShared(params) ? SHARED_PARAMS : params;
  }

  /**
   * Isolates the next message to send. A small payload is replaced by a copy. A large payload is replaced by a copy if
   * it shares an object with an earlier message, and if the message has no transfer list.
   */
  isolateMessage({ message, transfer }) {
    try {
      if (snapshotIfSmall(message, transfer, this.#seen)) return;
      const key = payloadKey(message);
      if (this.#isShared(message[key]) && transfer === undefined) message[key] = plainCopy(message[key], copyOther);
    } catch {
      // A getter has thrown. Sending the message will fail for the same reason, and will report the error.
    }
  }

  /**
   * Returns whether params share an object with earlier messages. Visits each object once, as structured clone does.
   */
  #isShared(params) {
    const visited = new Set([params]);
    let isShared = false;
    for (const value of visited) {
      if (this.#seen.has(value)) isShared ||= !IMMUTABLE_OR_SHARED.test(tagOf(value));
      else for (const part of partsOf(value)) if (typeof part === "object" && part !== null) visited.add(part);
    }
    // The objects are added even if the message is refused, so that their parts are not visited again if the next
    // message contains the same objects.
    for (const value of visited) this.#seen.add(value);
    return isShared;
  }
}
