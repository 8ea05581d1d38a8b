// Finds the frames in a stream of bytes that comes in any pieces. Every byte leaves once, in order: in a frame, or as
// passthrough.

import { FIRST, HEADER, MAX_PAYLOAD, NO_HEADER, UNFINISHED, bytesOf, sizeAt } from "./frame.js";
import { Pieces } from "./pieces.js";

export class WipcDecoder {
  #hooks;
  #maxPayload;
  /** The end of the bytes so far, if a header can begin with it. */
  #held = new Uint8Array(0);
  /** The frame whose payload is coming, its header, and what has come of the payload. */
  #partial = undefined;
  #header;
  #pieces;
  #isBusy = false;
  /** What the hooks have thrown. */
  #thrown = undefined;

  constructor(hooks, options) {
    const maxPayload = options?.maxPayload ?? MAX_PAYLOAD;
    if (!Number.isInteger(maxPayload) || maxPayload < 0 || maxPayload > MAX_PAYLOAD) {
      throw new RangeError(`maxPayload is a number of bytes up to ${MAX_PAYLOAD}, not ${String(maxPayload)}`);
    }
    if (typeof hooks?.frame !== "function") throw new TypeError("a decoder needs a function `frame`, which gets what is found");
    this.#hooks = hooks;
    this.#maxPayload = maxPayload;
  }

  get partial() {
    return this.#partial;
  }

  push(chunk) {
    const bytes = bytesOf(chunk, "a chunk");
    this.#run(() => this.#take(bytes));
  }

  finish() {
    this.#run(() => {
      const partial = this.#partial;
      const held = this.#held;
      this.#partial = undefined;
      this.#held = new Uint8Array(0);
      const size = partial === undefined ? held.length : HEADER + partial.received;
      this.#pass(partial === undefined ? held : this.#header);
      if (partial !== undefined) this.#pieces.views.forEach((view) => this.#pass(view));
      // Less than the magic may be anything.
      if (size >= 4) this.#tell(() => this.#hooks.truncated?.(size));
    });
  }

  giveUp() {
    if (this.#partial === undefined) return false;
    this.#run(() => {
      const again = [this.#header.subarray(1), ...this.#pieces.views];
      this.#partial = undefined;
      this.#pass(this.#header.subarray(0, 1));
      for (const view of again) this.#take(view);
    });
    return true;
  }

  /** All of the bytes are taken, whatever the hooks throw; then it is thrown on. */
  #run(work) {
    if (this.#isBusy) throw new Error("a decoder cannot be used from inside of its own hooks");
    this.#isBusy = true;
    try {
      work();
    } finally {
      this.#isBusy = false;
    }
    const thrown = this.#thrown;
    if (thrown === undefined) return;
    this.#thrown = undefined;
    throw thrown.length === 1 ? thrown[0] : new AggregateError(thrown, `${thrown.length} hooks of the decoder have thrown`);
  }

  #take(bytes) {
    let at = 0;
    if (this.#held.length > 0) at = this.#resume(bytes);
    if (this.#partial !== undefined) at = this.#fill(bytes, at);
    if (at < bytes.length) this.#scan(bytes, at);
  }

  /** From here on nothing is held and no payload is open. */
  #scan(bytes, at) {
    // Looked up once, since small frames take no longer than such things do.
    const { length, buffer, byteOffset } = bytes;
    const max = this.#maxPayload;
    const hooks = this.#hooks;
    let told = at;
    while (at < length) {
      if (bytes[at] !== FIRST) {
        at = bytes.indexOf(FIRST, at);
        if (at < 0) break;
      }
      const size = sizeAt(bytes, at, max);
      if (size === NO_HEADER) {
        at += 1;
        continue;
      }
      if (told < at) this.#pass(bytes.subarray(told, at));
      if (size === UNFINISHED) {
        this.#held = bytes.slice(at);
        return;
      }
      const begin = at + HEADER;
      at = begin + size;
      if (at > length) {
        this.#open(bytes.slice(begin - HEADER, begin), size);
        this.#fill(bytes, begin);
        return;
      }
      try {
        hooks.frame(bytes[begin - 5], new Uint8Array(buffer, byteOffset + begin, size));
      } catch (error) {
        this.#caught(error);
      }
      told = at;
    }
    if (told < length) this.#pass(bytes.subarray(told));
  }

  /**
   * Decides on what is held, now that there is more; gives how many of the new bytes that took. A header may begin at any
   * of the held bytes, and a few of the new ones are enough to tell.
   */
  #resume(bytes) {
    const held = this.#held.length;
    const both = new Uint8Array(held + Math.min(HEADER, bytes.length));
    both.set(this.#held);
    both.set(bytes.subarray(0, HEADER), held);
    this.#held = new Uint8Array(0);
    let at = 0;
    let size = NO_HEADER;
    while (at < held && (size = sizeAt(both, at, this.#maxPayload)) === NO_HEADER) at += 1;
    if (at > 0) this.#pass(both.subarray(0, at));
    if (at === held) return 0;
    if (size === UNFINISHED) {
      this.#held = both.subarray(at);
      return bytes.length;
    }
    this.#open(both.slice(at, at + HEADER), size);
    return at + HEADER - held;
  }

  #open(header, size) {
    this.#header = header;
    this.#pieces = new Pieces();
    this.#partial = { type: header[4], length: size, received: 0 };
  }

  /** Adds to the payload that is coming; gives where it ends in these bytes. */
  #fill(bytes, at) {
    const partial = this.#partial;
    const end = Math.min(bytes.length, at + partial.length - partial.received);
    const more = bytes.subarray(at, end);
    partial.received += more.length;
    if (partial.received < partial.length) {
      this.#pieces.add(more);
      return end;
    }
    this.#partial = undefined;
    const payload = more.length === partial.length ? more : this.#pieces.joined(partial.length, more);
    this.#tell(() => this.#hooks.frame(partial.type, payload));
    return end;
  }

  #pass(bytes) {
    if (bytes.length > 0) this.#tell(() => this.#hooks.passthrough?.(bytes));
  }

  #tell(hook) {
    try {
      hook();
    } catch (error) {
      this.#caught(error);
    }
  }

  #caught(error) {
    (this.#thrown ??= []).push(error);
  }
}
