// Copies the payload of a message, so that the message can be sent later in the turn. Changes that the caller makes
// until then have no effect on the message. Only small payloads of plain values qualify. Cloning any other value may
// fail, and all messages that are sent together with that value would also fail. For a large message, sending it
// together with others saves no time.

import { MAX_COALESCED_STRING, MAX_COALESCED_VALUES } from "./limit-values.js";

/**
 * Replaces the payload of a message by a copy, and returns true. Objects in `transfer` are not copied. If the payload
 * does not qualify, or contains an object of the set `known`, the message stays as it is.
 */
export function snapshotIfSmall(message, transfer, known) {
  const key = payloadKey(message);
  const snapshot = new Snapshot(transfer, known);
  try {
    const copy = snapshot.copy(message[key]);
    if (snapshot.hasFailed) return false;
    if (copy !== undefined) message[key] = copy;
    return true;
  } catch {
    // A getter of the application has thrown. It will throw again when the message is sent.
    return false;
  }
}

/** Returns the name of the member that holds the payload of a message. */
export function payloadKey(message) {
  return "params" in message ? "params" : "error" in message ? "error" : "result";
}

/**
 * The state while one payload is copied. Each payload needs its own state, because a getter of the application may run
 * during the copying and send another message, whose payload is also copied.
 */
class Snapshot {
  /** The number of values that may still be copied; negative if the payload does not qualify. */
  #budget = MAX_COALESCED_VALUES;
  #transfer;
  #known;
  /** The objects that were copied. */
  #seen;

  constructor(transfer, known) {
    this.#transfer = transfer;
    this.#known = known;
  }

  get hasFailed() {
    return this.#budget < 0;
  }

  /** Returns a copy of a value. The copy is incomplete if `hasFailed` is true afterwards. */
  copy(value) {
    if (--this.#budget < 0) return;
    switch (typeof value) {
      case "string":
        if (value.length <= MAX_COALESCED_STRING) return value;
        break;
      case "number":
      case "boolean":
      case "undefined":
        return value;
      case "object":
        // If a buffer is in the transfer list, its views are also transferred.
        if (value === null || this.#transfer?.includes(ArrayBuffer.isView(value) ? value.buffer : value)) return value;
        return this.#copyObject(value);
    }
    this.#budget = -1;
  }

  #copyObject(value) {
    const isArray = Array.isArray(value);
    // The length is checked before the keys are listed, because there may be many keys.
    const isTooLong = isArray && value.length > this.#budget;
    // If the payload contains an object twice, the copy would contain two objects. So such a payload does not qualify.
    if (isTooLong || this.#known?.has(value) || !isPlain(value, isArray) || this.#seen?.includes(value))
      return void (this.#budget = -1);
    (this.#seen ??= []).push(value);
    if (isArray) return this.#copyArray(value);
    const copy = {};
    for (const key in value) {
      // A script may have added an enumerable member to `Object.prototype`.
      if (!Object.hasOwn(value, key)) continue;
      if (key === "__proto__") this.#budget = -1;
      if (this.#budget < 0) return;
      copy[key] = this.copy(value[key]);
    }
    return copy;
  }

  /** Copies the items by position, because a loop over the keys, which are strings, takes several times as long. */
  #copyArray(value) {
    const copy = [];
    for (let n = 0; n < value.length && this.#budget >= 0; n++) {
      // An array with a hole and a further member passes the check of `isPlain`, so holes are detected here.
      if (!(n in value)) this.#budget = -1;
      copy.push(this.copy(value[n]));
    }
    return copy;
  }
}

/** Returns whether an object is an object literal, or an array with as many keys as elements. */
function isPlain(value, isArray) {
  if (isArray) return Object.keys(value).length === value.length;
  return Object.getPrototypeOf(value) === Object.prototype;
}
