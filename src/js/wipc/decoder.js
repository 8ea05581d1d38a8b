// Finds the frames in a stream of bytes that comes in any pieces. Every byte leaves once, in order: in a frame, or as
// passthrough.

import { MAX_BEGINNING, MAX_PAYLOAD } from "../../web/limit-values.js";
import { FIRST, HEADER, NO_HEADER, OVERHEAD, UNFINISHED, bytesOf, ownBytes, sizeAt } from "./frame.js";
import { Pieces } from "./payload-buffer.js";

export class WipcDecoder {
  #hooks;
  #maxPayload;
  /** The end of the bytes so far, if a header can begin with it. */
  #held = new Uint8Array(0);
  /** The frame whose payload is coming, its header, and what has come of the payload: nothing, if it is not kept. */
  #partial = undefined;
  #header;
  #pieces;
  /** The beginning of a payload that is not kept. */
  #beginning;
  /** Chunks that are not searched yet; the first of them, and what all of them cost. */
  #rest = [];
  #next = 0;
  #restSize = 0;
  #isStopped = false;
  #isBusy = false;
  /** What the hooks have thrown. */
  #thrown = undefined;

  constructor(hooks, options) {
    const maxPayload = options?.maxPayload ?? MAX_PAYLOAD;
    if (!Number.isInteger(maxPayload) || maxPayload < 0 || maxPayload > MAX_PAYLOAD) {
      throw new RangeError(`maxPayload is a number of bytes up to ${MAX_PAYLOAD}, not ${String(maxPayload)}`);
    }
    if (typeof hooks?.frame !== "function")
      throw new TypeError("a decoder needs a function `frame`, which gets what is found");
    this.#hooks = hooks;
    this.#maxPayload = maxPayload;
  }

  get partial() {
    return this.#partial;
  }

  push(chunk) {
    const bytes = bytesOf(chunk, "a chunk");
    this.#run(() => (this.#isStopped ? this.#keep(bytes) : this.#take(bytes)));
  }

  /** @internal From inside of a hook: what follows this frame is kept, and searched by `resume`. */
  stop() {
    this.#isStopped = true;
  }

  /** @internal */
  resume() {
    this.#isStopped = false;
    this.#run(() => this.#search());
  }

  /** @internal */
  get isStopped() {
    return this.#isStopped;
  }

  /** @internal What is kept until `resume`, in bytes. */
  get restSize() {
    return this.#restSize;
  }

  finish() {
    this.#run(() => {
      const partial = this.#partial;
      const held = this.#held;
      this.#partial = undefined;
      this.#held = new Uint8Array(0);
      const size = partial === undefined ? held.length : HEADER + partial.received;
      this.#pass(partial === undefined ? held : this.#header);
      if (partial !== undefined) this.#pieces?.views.forEach((view) => this.#pass(view));
      // Less than the magic may be anything.
      if (size >= 4) this.#tell(() => this.#hooks.truncated?.(size));
    });
  }

  giveUp() {
    if (this.#partial === undefined) return false;
    this.#run(() => {
      // A payload is awaited, so that nothing else is kept.
      this.#rest = [this.#header.subarray(1)].concat(this.#pieces?.views ?? []);
      this.#restSize = this.#rest.reduce((sum, { length }) => sum + length + OVERHEAD, 0);
      this.#partial = undefined;
      this.#pass(this.#header.subarray(0, 1));
      this.#search();
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
    throw thrown.length === 1
      ? thrown[0]
      : new AggregateError(thrown, `${thrown.length} hooks of the decoder have thrown`);
  }

  #search() {
    while (!this.#isStopped && this.#next < this.#rest.length) {
      const bytes = this.#rest[this.#next];
      this.#rest[this.#next++] = undefined;
      this.#restSize -= bytes.length + OVERHEAD;
      this.#take(bytes);
    }
    if (this.#next < this.#rest.length) return;
    this.#rest = [];
    this.#next = 0;
  }

  #take(bytes) {
    let at = 0;
    if (this.#held.length > 0) at = this.#finishHeader(bytes);
    if (this.#partial !== undefined) at = this.#fill(bytes, at);
    if (at === bytes.length) return;
    if (this.#isStopped) this.#giveBack(bytes, at);
    else this.#scan(bytes, at);
  }

  #keep(bytes) {
    this.#rest.push(ownBytes(bytes));
    this.#restSize += bytes.length + OVERHEAD;
  }

  /** Keeps the end of the chunk that is searched, before what is kept already. */
  #giveBack(bytes, at) {
    // A chunk that was never kept has left no place there, and then nothing else is kept.
    if (this.#next === 0) return this.#keep(bytes.subarray(at));
    this.#rest[--this.#next] = bytes.subarray(at);
    this.#restSize += bytes.length - at + OVERHEAD;
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
      if (this.#isStopped && at < length) return this.#giveBack(bytes, at);
    }
    if (told < length) this.#pass(bytes.subarray(told));
  }

  /**
   * Decides on what is held, now that there is more; gives how many of the new bytes that took. A header may begin at any
   * of the held bytes, and a few of the new ones are enough to tell.
   */
  #finishHeader(bytes) {
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
    const isKept = !this.#hooks.skips?.(header[4], size);
    this.#pieces = isKept ? new Pieces() : undefined;
    this.#beginning = isKept ? undefined : new Uint8Array(Math.min(size, MAX_BEGINNING));
    this.#partial = { type: header[4], length: size, received: 0 };
  }

  /** Adds to the payload that is coming; gives where it ends in these bytes. */
  #fill(bytes, at) {
    const partial = this.#partial;
    const end = Math.min(bytes.length, at + partial.length - partial.received);
    const more = bytes.subarray(at, end);
    const room = this.#beginning?.length - partial.received;
    if (room > 0) this.#beginning.set(more.subarray(0, room), partial.received);
    partial.received += more.length;
    if (partial.received < partial.length) {
      this.#pieces?.add(more);
      return end;
    }
    this.#partial = undefined;
    if (this.#pieces === undefined) {
      this.#tell(() => this.#hooks.skipped(partial.type, partial.length, this.#beginning));
      return end;
    }
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
