// The points at which messages are recorded. Several recorders may tap one transport. The first recorder replaces
// functions of the transport. When the last of these recorders ends, the functions are restored.

import { TAP_INVALID_BYTES } from "../driver/limit-values.js";
import { TapLink } from "./link.js";

/** The point of each tapped object. */
const points = new WeakMap();

/** The links of one tapped object. The methods record a message, or the state of a connection, on each link. */
export class TapPoint {
  /** @type {TapLink[]} */
  #links = [];
  /** The links, by their recorders. */
  #recorders = new Map();
  #remove = () => {};
  #isOpen = false;

  /**
   * Adds a link of a recorder to the point of an object, unless the point already has a link of this recorder.
   * `install` taps an object that has no point yet, and returns the function that restores the object.
   */
  static add(object, recorder, name, transport, install) {
    let point = points.get(object);
    if (point === undefined) {
      point = new TapPoint();
      point.#remove = install(point);
      points.set(object, point);
    }
    point.#add(object, recorder, name, transport);
  }

  #add(object, recorder, name, transport) {
    if (recorder.isDestroyed || this.#recorders.has(recorder)) return;
    const link = new TapLink(recorder, name, transport, () => this.#removeLink(object, recorder));
    this.#recorders.set(recorder, link);
    this.#links = [...this.#recorders.values()];
    if (this.#isOpen) link.open();
  }

  #removeLink(object, recorder) {
    this.#recorders.delete(recorder);
    this.#links = [...this.#recorders.values()];
    if (this.#links.length > 0) return;
    points.delete(object);
    this.#remove();
  }

  open() {
    this.#isOpen = true;
    for (const link of this.#links) link.open();
  }

  close(reason, code) {
    this.#isOpen = false;
    for (const link of this.#links) link.close(reason, code);
  }

  /** Records a message that is a value. Returns the entries of the message, for `cancel`. */
  value(isSent, value, transfer, isList) {
    const links = this.#links;
    if (links.length === 1) return links[0].value(isSent, value, transfer, isList);
    return links.map((link) => link.value(isSent, value, transfer, isList));
  }

  /** Records a message that is text. Returns the entries of the message, for `cancel`. */
  text(isSent, text, size, reason) {
    return this.#links.map((link) => link.text(isSent, text, size, reason));
  }

  /** Records a received binary message: as text if the bytes are UTF-8, and as an invalid message otherwise. */
  receivedBytes(data) {
    const bytes = ArrayBuffer.isView(data)
      ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      : new Uint8Array(data);
    try {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
      this.text(false, text, bytes.length);
    } catch {
      this.invalidBytes(bytes, bytes.length, "a message must be UTF-8");
    }
  }

  /** Records the beginning of received bytes that are not a message. `size` is the number of all bytes. */
  invalidBytes(bytes, size, reason) {
    for (const link of this.#links) link.bytes(bytes.slice(0, TAP_INVALID_BYTES), size, reason);
  }
}

/**
 * Sends a message whose entries are recorded. If `send` throws, the message was not sent, so its entries are cancelled.
 */
export function sending(entries, send) {
  try {
    return send();
  } catch (error) {
    cancel(entries);
    throw error;
  }
}

/** Returns the text of an error, or a fixed text for an error without a text. */
export function messageOf(error) {
  return typeof error?.message === "string" ? error.message : "the peer was lost";
}

/** Cancels the entries of a message that could not be sent, so that no records are made of them. */
export function cancel(entries) {
  for (const entry of [entries].flat(2)) if (entry !== undefined) entry.isCancelled = true;
}

/**
 * Replaces a member of an object. Returns the function that restores the member. If other code has replaced the member
 * since, the member stays as it is.
 */
export function replace(object, name, value) {
  const own = Object.getOwnPropertyDescriptor(object, name);
  Object.defineProperty(object, name, {
    value,
    configurable: true,
    enumerable: own?.enumerable ?? true,
    writable: true,
  });
  return () => {
    if (object[name] !== value) return;
    delete object[name];
    if (own !== undefined) Object.defineProperty(object, name, own);
  };
}
