// Finds the frames in a stream of bytes that arrives in chunks of any size. Every byte is emitted once, in order: in a
// frame, or as passthrough. There is one exception, for the channel: if the hook `skips` returns true for a payload,
// the hook `skipped` receives only the beginning of this payload.

import { MAX_BEGINNING, MAX_PAYLOAD } from "../driver/limit-values.js";
import {
  MAGIC_0,
  HEADER_BYTES,
  INVALID_HEADER,
  FRAME_OVERHEAD_BYTES,
  INCOMPLETE_HEADER,
  toBytes,
  compactBytes,
  payloadLengthAt,
} from "./frame.js";
import { PayloadBuffer } from "./payload-buffer.js";

export class WipcDecoder {
  #hooks;
  #maxPayload;
  /** The last bytes of the input so far, if they may be the start of a header. */
  #pendingHeader = new Uint8Array(0);
  /**
   * The frame whose payload is incomplete. `#header` is its header, and `#payload` is the payload so far, or undefined
   * if the payload is skipped.
   * @type {{ type: import("../../types/wipc.js").WipcType, length: number, received: number } | undefined}
   */
  #partial = undefined;
  #header;
  #payload;
  /** The beginning of a payload that is skipped. */
  #payloadStart;
  /**
   * The chunks that were not searched yet. `#queueStart` is the index of the first chunk, and `#queuedBytes` is the
   * cost of all chunks.
   * @type {any[]}
   */
  #queue = [];
  #queueStart = 0;
  #queuedBytes = 0;
  #isStopped = false;
  #isBusy = false;
  /**
   * The errors that hooks threw.
   * @type {unknown[] | undefined}
   */
  #errors = undefined;

  constructor(hooks, options) {
    const maxPayload = options?.maxPayload ?? MAX_PAYLOAD;
    if (!Number.isInteger(maxPayload) || maxPayload < 0 || maxPayload > MAX_PAYLOAD) {
      throw new RangeError(`maxPayload must be a number of bytes from 0 to ${MAX_PAYLOAD}, got ${String(maxPayload)}`);
    }
    if (typeof hooks?.frame !== "function") throw new TypeError("hooks.frame must be a function");
    this.#hooks = hooks;
    this.#maxPayload = maxPayload;
  }

  get partial() {
    return this.#partial;
  }

  push(chunk) {
    const bytes = toBytes(chunk, "chunk");
    this.#run(() => (this.#isStopped ? this.#enqueue(bytes) : this.#process(bytes)));
  }

  /**
   * @internal Stops the search. The hook `frame` calls this method. The bytes after the frame that the hook has
   * received are queued until `resume`.
   */
  stop() {
    this.#isStopped = true;
  }

  /** @internal Searches the queued bytes. */
  resume() {
    this.#isStopped = false;
    this.#run(() => this.#processQueue());
  }

  /** @internal Returns whether the search is stopped. */
  get isStopped() {
    return this.#isStopped;
  }

  /** @internal The cost of the queued bytes, in bytes. */
  get queuedBytes() {
    return this.#queuedBytes;
  }

  finish() {
    this.#run(() => {
      const partial = this.#partial;
      const pending = this.#pendingHeader;
      this.#partial = undefined;
      this.#pendingHeader = new Uint8Array(0);
      const size = partial === undefined ? pending.length : HEADER_BYTES + partial.received;
      this.#emitPassthrough(partial === undefined ? pending : this.#header);
      if (partial !== undefined) this.#payload?.views.forEach((view) => this.#emitPassthrough(view));
      // Fewer bytes than the magic are not evidence of a frame.
      if (size >= 4) this.#callHook(() => this.#hooks.truncated?.(size));
    });
  }

  giveUp() {
    if (this.#partial === undefined) return false;
    this.#run(() => {
      // While a payload is incomplete, the queue is empty.
      this.#queue = [this.#header.subarray(1)].concat(this.#payload?.views ?? []);
      this.#queuedBytes = this.#queue.reduce((sum, { length }) => sum + length + FRAME_OVERHEAD_BYTES, 0);
      this.#partial = undefined;
      this.#emitPassthrough(this.#header.subarray(0, 1));
      this.#processQueue();
    });
    return true;
  }

  /** Runs `work`, and then throws the errors that hooks threw in `work`. */
  #run(work) {
    if (this.#isBusy) throw new Error("a decoder must not be used in its own hooks");
    this.#isBusy = true;
    try {
      work();
    } finally {
      this.#isBusy = false;
    }
    const errors = this.#errors;
    if (errors === undefined) return;
    this.#errors = undefined;
    throw errors.length === 1
      ? errors[0]
      : new AggregateError(errors, `${errors.length} hooks of the decoder threw errors`);
  }

  #processQueue() {
    while (!this.#isStopped && this.#queueStart < this.#queue.length) {
      const bytes = this.#queue[this.#queueStart];
      this.#queue[this.#queueStart++] = undefined;
      this.#queuedBytes -= bytes.length + FRAME_OVERHEAD_BYTES;
      this.#process(bytes);
    }
    if (this.#queueStart < this.#queue.length) return;
    this.#queue = [];
    this.#queueStart = 0;
  }

  #process(bytes) {
    let at = 0;
    if (this.#pendingHeader.length > 0) at = this.#completeHeader(bytes);
    if (this.#partial !== undefined) at = this.#addToPayload(bytes, at);
    if (at === bytes.length) return;
    if (this.#isStopped) this.#requeue(bytes, at);
    else this.#scan(bytes, at);
  }

  #enqueue(bytes) {
    this.#queue.push(compactBytes(bytes));
    this.#queuedBytes += bytes.length + FRAME_OVERHEAD_BYTES;
  }

  /** Queues the rest of the current chunk before the chunks that are already queued. */
  #requeue(bytes, at) {
    // The current chunk came from `push`, so the queue is empty.
    if (this.#queueStart === 0) return this.#enqueue(bytes.subarray(at));
    this.#queue[--this.#queueStart] = bytes.subarray(at);
    this.#queuedBytes += bytes.length - at + FRAME_OVERHEAD_BYTES;
  }

  /** Searches a chunk while no header and no payload is incomplete. */
  #scan(bytes, at) {
    // These members are read only once, because one read takes as long as a small frame.
    const { length, buffer, byteOffset } = bytes;
    const max = this.#maxPayload;
    const hooks = this.#hooks;
    let emitted = at;
    while (at < length) {
      if (bytes[at] !== MAGIC_0) {
        at = bytes.indexOf(MAGIC_0, at);
        if (at < 0) break;
      }
      const size = payloadLengthAt(bytes, at, max);
      if (size === INVALID_HEADER) {
        at += 1;
        continue;
      }
      if (emitted < at) this.#emitPassthrough(bytes.subarray(emitted, at));
      if (size === INCOMPLETE_HEADER) {
        this.#pendingHeader = bytes.slice(at);
        return;
      }
      const begin = at + HEADER_BYTES;
      at = begin + size;
      if (at > length) {
        this.#startPayload(bytes.slice(begin - HEADER_BYTES, begin), size);
        this.#addToPayload(bytes, begin);
        return;
      }
      try {
        hooks.frame(bytes[begin - 5], new Uint8Array(buffer, byteOffset + begin, size));
      } catch (error) {
        this.#addError(error);
      }
      emitted = at;
      if (this.#isStopped && at < length) return this.#requeue(bytes, at);
    }
    if (emitted < length) this.#emitPassthrough(bytes.subarray(emitted));
  }

  /**
   * Completes the pending header with new bytes. Returns how many of the new bytes belong to the header. A header may
   * begin at any of the pending bytes, so at most `HEADER_BYTES` new bytes are needed.
   */
  #completeHeader(bytes) {
    const pendingLength = this.#pendingHeader.length;
    const both = new Uint8Array(pendingLength + Math.min(HEADER_BYTES, bytes.length));
    both.set(this.#pendingHeader);
    both.set(bytes.subarray(0, HEADER_BYTES), pendingLength);
    this.#pendingHeader = new Uint8Array(0);
    let at = 0;
    let size = INVALID_HEADER;
    while (at < pendingLength && (size = payloadLengthAt(both, at, this.#maxPayload)) === INVALID_HEADER) at += 1;
    if (at > 0) this.#emitPassthrough(both.subarray(0, at));
    if (at === pendingLength) return 0;
    if (size === INCOMPLETE_HEADER) {
      this.#pendingHeader = both.subarray(at);
      return bytes.length;
    }
    this.#startPayload(both.slice(at, at + HEADER_BYTES), size);
    return at + HEADER_BYTES - pendingLength;
  }

  #startPayload(header, size) {
    this.#header = header;
    const isBuffered = !this.#hooks.skips?.(header[4], size);
    this.#payload = isBuffered ? new PayloadBuffer() : undefined;
    this.#payloadStart = isBuffered ? undefined : new Uint8Array(Math.min(size, MAX_BEGINNING));
    this.#partial = { type: header[4], length: size, received: 0 };
  }

  /** Adds the bytes from `at` to the incomplete payload, up to its end. Returns the position after the added bytes. */
  #addToPayload(bytes, at) {
    const partial = /** @type {NonNullable<WipcDecoder["partial"]>} */ (this.#partial);
    const end = Math.min(bytes.length, at + partial.length - partial.received);
    const more = bytes.subarray(at, end);
    const remaining = this.#payloadStart?.length - partial.received;
    if (remaining > 0) this.#payloadStart.set(more.subarray(0, remaining), partial.received);
    partial.received += more.length;
    if (partial.received < partial.length) {
      this.#payload?.add(more);
      return end;
    }
    this.#partial = undefined;
    if (this.#payload === undefined) {
      this.#callHook(() => this.#hooks.skipped(partial.type, partial.length, this.#payloadStart));
      return end;
    }
    const payload = more.length === partial.length ? more : this.#payload.concat(partial.length, more);
    this.#callHook(() => this.#hooks.frame(partial.type, payload));
    return end;
  }

  #emitPassthrough(bytes) {
    if (bytes.length > 0) this.#callHook(() => this.#hooks.passthrough?.(bytes));
  }

  #callHook(hook) {
    try {
      hook();
    } catch (error) {
      this.#addError(error);
    }
  }

  #addError(error) {
    (this.#errors ??= []).push(error);
  }
}
