// A link of a recorder: makes the entries for the messages of the link.

import { COLUMNS, decodeColumns } from "../driver/columns.js";
import { MAX_LIST_LENGTH } from "../driver/limit-values.js";
import { microseconds, recordTime } from "./clock.js";
import { describe, lastCost } from "./describe.js";
import { cutText } from "./records.js";

const encoder = /* @__PURE__ */ new TextEncoder();

const NO_MESSAGE = "a message must be an object or an array";

/** Returns the number of bytes of a text in UTF-8. */
const sizeOf = (text) => encoder.encode(text).length;

export class TapLink {
  id;
  /** The recorder's counts of the dropped messages of this link; undefined if no message was dropped. */
  gap;
  /** The record `open` of the connection; undefined while the link is closed. */
  opened;
  #recorder;
  #name;
  #transport;
  #groups = 0;

  #onEnd;

  /**
   * `transport` is the kind of the transport, as docs/tap.md lists it. `onEnd` is called when the recorder is
   * destroyed.
   */
  constructor(recorder, name, transport, onEnd) {
    this.#recorder = recorder;
    this.#name = name;
    this.#transport = transport;
    this.#onEnd = onEnd;
    this.id = recorder.add(this);
  }

  get isEnded() {
    return this.#recorder.isDestroyed;
  }

  /** Records the beginning of a connection, unless the link is open already. */
  open() {
    if (this.opened !== undefined || this.isEnded) return;
    this.opened = {
      kind: "open",
      at: microseconds(recordTime(true)),
      link: this.id,
      name: this.#name,
      transport: this.#transport,
    };
    this.#recorder.pushState(this, this.opened);
  }

  /** Records the end of a connection, unless the link is closed already. */
  close(reason, code) {
    if (this.opened === undefined || this.isEnded) return;
    this.opened = undefined;
    /** @type {any} */
    const record = { kind: "close", at: microseconds(recordTime(true)), link: this.id };
    if (reason) record.reason = reason;
    if (code !== undefined) record.code = code;
    this.#recorder.pushState(this, record);
  }

  /**
   * Records a cloned value. `isList` returns whether an array is a list of independent messages. Returns the entries,
   * for `cancel` of points.js.
   */
  value(isSent, value, transfer, isList) {
    const recorder = this.#recorder;
    if (recorder.isDestroyed) return;
    if (this.opened === undefined) this.open();
    // Most values are single messages.
    const parts = Array.isArray(value) || value?.method === COLUMNS ? messagesOf(value, isList) : undefined;
    if (recorder.isFull) return void recorder.skip(this, isSent, parts?.length ?? 1, 0);
    const at = recordTime(!isSent);
    if (parts === undefined) return this.#one(at, isSent, value, transfer, undefined);
    const group = ++this.#groups;
    return Array.from(parts, (part, n) => this.#one(at, isSent, part, n === 0 ? transfer : undefined, group));
  }

  /** Records one message of a value. All messages of a value cross the link at the same time, `at`. */
  #one(at, isSent, value, transfer, group) {
    const entry = {
      link: this,
      at,
      isSent,
      value: describe(value),
      group,
      transfer: transfer?.length,
      reason: typeof value === "object" && value !== null ? undefined : NO_MESSAGE,
      isCancelled: false,
      cost: 0,
    };
    this.#recorder.push(entry, lastCost);
    return entry;
  }

  /**
   * Records a text. `size` is the number of bytes of the text, if the caller knows it. Returns the entry, for `cancel`
   * of points.js.
   */
  text(isSent, text, size = sizeOf(text), reason = undefined) {
    if (this.isEnded) return;
    if (this.opened === undefined) this.open();
    const recorder = this.#recorder;
    if (recorder.isFull) return void recorder.skip(this, isSent, 1, size);
    const entry = {
      link: this,
      at: recordTime(!isSent),
      isSent,
      ...cutText(text),
      size,
      reason,
      isCancelled: false,
      cost: 0,
    };
    recorder.push(entry, 2 * entry.text.length);
    return entry;
  }

  /** Records received bytes. `bytes` is a copy of the first bytes, and `size` is the number of all bytes. */
  bytes(bytes, size, reason) {
    if (this.isEnded) return;
    if (this.opened === undefined) this.open();
    const recorder = this.#recorder;
    if (recorder.isFull) return recorder.skip(this, false, 1, size);
    const at = recordTime(true);
    const entry = { link: this, at, isSent: false, bytes, size, reason, isCancelled: false, cost: 0 };
    recorder.push(entry, 2 * bytes.length);
  }

  /** Ends the recording of this link. */
  end(reason) {
    this.close(reason);
    this.#onEnd();
  }
}

/** Returns the messages of a list or of columns. Returns undefined for a value that is one message. */
function messagesOf(value, isList) {
  // A proxy may throw.
  try {
    const isArray = Array.isArray(value);
    if (isArray) return value.length > 0 && value.length <= MAX_LIST_LENGTH && isList() ? value : undefined;
    const messages = value.id === undefined ? decodeColumns(Object(value.params)) : [];
    return messages.length > 0 ? messages : undefined;
  } catch {}
}
