// The caller's side of a stream: an iterator of the items that the peer sends.

import { CallError, RPCError } from "./errors.js";
import { MAX_STREAM_CREDIT } from "./limit-values.js";
import { requestOrNotification } from "./messages.js";
import { CREDIT, STREAM, isCredit } from "./stream-protocol.js";

/**
 * Returns the error for an invalid window, or undefined. The window is the maximum number of items that the peer has
 * sent and the application has not read.
 */
export function validateWindow(window) {
  if (isCredit(window)) return undefined;
  return new RangeError(`window must be an integer from 1 to ${MAX_STREAM_CREDIT}, got ${String(window)}`);
}

/**
 * The reasons of errors that arise on this side. The link ends the call with such an error, but does not cancel the
 * call at the peer. So the stream cancels the call at the peer.
 */
const LOCAL_REASONS = ["destroyed", "unresponsive", "wasm-died"];

/** An iterator of the items of a method. The call is made when the first item is requested. */
export class Stream {
  /** @internal The slot and the id of the call; undefined until the call is made. */
  slot = undefined;
  id = undefined;
  #window;
  #link;
  #method;
  #timeout;
  #signal;
  /** Makes the call; undefined once the call is made. */
  #startCall;
  /** The items that have arrived before they were requested. */
  #items = [];
  /** The reads that wait for an item. */
  #pendingReads = [];
  /** The number of items that the peer may still send. */
  #credit;
  /** The number of items that the application has read since credit was last sent. */
  #consumed = 0;
  #isOver = false;
  /**
   * The error with which the next read rejects, in an object; undefined if there is none.
   * @type {{ error: unknown } | undefined}
   */
  #failure = undefined;

  constructor(link, method, timeout, window, signal, startCall) {
    this.#link = link;
    this.#method = method;
    this.#timeout = timeout;
    this.#signal = signal;
    this.#window = this.#credit = window;
    this.#startCall = startCall;
  }

  /** Vue does not wrap an object with this member in a proxy. A proxy could not access private members. */
  get __v_skip() {
    return true;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  next() {
    return new Promise((resolve, reject) => {
      const read = { resolve, reject };
      if (this.#items.length > 0) return this.#deliver(read, this.#items.shift());
      if (this.#isOver) return this.#endRead(read);
      const startCall = this.#startCall;
      this.#startCall = undefined;
      if (this.#pendingReads.push(read) === 1 && startCall === undefined)
        this.#link.resetTimeout(this.slot, this.#timeout);
      startCall?.(
        this,
        () => this.#end(),
        (error) => this.#fail(error),
      );
    });
  }

  /** Ends the stream, and cancels it at the peer. */
  return(value) {
    const isPending = !this.#isOver && this.#startCall === undefined;
    this.#end();
    this.#items = [];
    this.#failure = undefined;
    if (isPending) this.#link.cancel(this.slot);
    return Promise.resolve({ done: true, value });
  }

  /** @internal Returns the request for the stream. */
  message(params) {
    return requestOrNotification(STREAM, { method: this.#method, params, credit: this.#window }, this.id);
  }

  /** @internal Receives an item. */
  item(value) {
    if (this.#credit-- === 0) {
      const text = `JSON-RPC stream has more items than were asked for: ${this.#method} (id=${this.id})`;
      return this.#link.cancel(this.slot, new CallError("invalid-response", text, this.#method, this.id));
    }
    const read = this.#pendingReads.shift();
    if (read === undefined) return void this.#items.push(value);
    // The timeout runs only while a read waits.
    this.#link.resetTimeout(this.slot, this.#pendingReads.length > 0 ? this.#timeout : -1);
    this.#deliver(read, value);
  }

  #deliver(read, value) {
    read.resolve({ done: false, value });
    const count = ++this.#consumed;
    if (this.#isOver || count * 2 < this.#window) return;
    this.#credit += count;
    this.#consumed = 0;
    this.#link.sendIfConnected(CREDIT, { id: this.id, count });
  }

  #fail(error) {
    if (this.#isOver) return;
    // If the signal was aborted, the link has cancelled the call at the peer already. The reason of a signal may be of
    // any class, even an `RPCError`. So the reason is recognized by its identity.
    const isCancelled = error === this.#signal?.reason;
    if (!isCancelled && this.id !== undefined && LOCAL_REASONS.includes(error?.reason))
      this.#link.cancelAtPeer(this.id);
    // After an error from the peer, the application can still read the items that precede the error. After any other
    // error, the unread items are dropped.
    if (isCancelled || !(error instanceof RPCError)) this.#items = [];
    this.#failure = { error };
    this.#end();
  }

  #end() {
    this.#isOver = true;
    this.#startCall = undefined;
    for (const read of this.#pendingReads.splice(0)) this.#endRead(read);
  }

  #endRead({ resolve, reject }) {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure === undefined) resolve({ done: true, value: undefined });
    else reject(failure.error);
  }
}
