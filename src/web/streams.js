// Streams: a request `rpc.stream` asks for the items of a method; each comes as a notification `rpc.item`, and the response
// ends them. No item is sent without credit: the request has some, and `rpc.credit` gives more.

import { now } from "./clock.js";
import { CallError, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RPCError, truncate, nameOf } from "./errors.js";
import { queueTask } from "./queue-task.js";
import { MAX_ITEMS_PER_TURN, MAX_METHOD_LENGTH, MAX_STREAM_CREDIT, MAX_TURN_TIME } from "./limit-values.js";
import { requestOrNotification, validateCall } from "./messages.js";

export const STREAM = "rpc.stream";

/** What is wrong with the number of items that may be on their way, or undefined. */
export function validateWindow(window) {
  if (isCredit(window)) return undefined;
  return new RangeError(`the window of a stream is an integer from 1 to ${MAX_STREAM_CREDIT}, not ${String(window)}`);
}

function isCredit(value) {
  return Number.isInteger(value) && value > 0 && value <= MAX_STREAM_CREDIT;
}

// The caller's side.

/** Ends that the peer knows, or cannot be notified of, or that the link reports to it. */
const SILENT_REASONS = ["session-ended", "peer-gone", "peer-died", "too-many-calls", "timeout"];

/** An iterator of the items that a method gives. It asks for them when the first is wanted. */
export class Stream {
  /** @internal Where the call is kept, and its id, once it is made. */
  slot = undefined;
  id = undefined;
  #window;
  #link;
  #method;
  #timeout;
  #signal;
  /** Makes the call, until it is made. */
  #startCall;
  /** Items that nobody has taken yet. */
  #items = [];
  /** Who waits for items. */
  #pendingReads = [];
  /** How many items may still come. */
  #credit;
  /** Items that were taken since credit was given last. */
  #consumed = 0;
  #isOver = false;
  /** What the next taker gets instead of an item. */
  #failure = undefined;

  constructor(link, method, timeout, window, signal, startCall) {
    this.#link = link;
    this.#method = method;
    this.#timeout = timeout;
    this.#signal = signal;
    this.#window = this.#credit = window;
    this.#startCall = startCall;
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

  /** No more items are wanted. */
  return(value) {
    const isPending = !this.#isOver && this.#startCall === undefined;
    this.#end();
    this.#items = [];
    this.#failure = undefined;
    if (isPending) this.#link.cancel(this.slot);
    return Promise.resolve({ done: true, value });
  }

  /** @internal What asks for it. */
  message(params) {
    return requestOrNotification(STREAM, { method: this.#method, params, credit: this.#window }, this.id);
  }

  /** @internal An item has come. */
  item(value) {
    if (this.#credit-- === 0) {
      const text = `JSON-RPC stream has more items than were asked for: ${this.#method} (id=${this.id})`;
      return this.#link.abandon(this.slot, new CallError("invalid-response", text, this.#method, this.id));
    }
    const read = this.#pendingReads.shift();
    if (read === undefined) return void this.#items.push(value);
    // Time counts while somebody waits.
    this.#link.resetTimeout(this.slot, this.#pendingReads.length > 0 ? this.#timeout : -1);
    this.#deliver(read, value);
  }

  #deliver(read, value) {
    read.resolve({ done: false, value });
    const count = ++this.#consumed;
    if (this.#isOver || count * 2 < this.#window) return;
    this.#credit += count;
    this.#consumed = 0;
    this.#link.sendIfConnected("rpc.credit", { id: this.id, count });
  }

  #fail(error) {
    if (this.#isOver) return;
    // The reason of its signal may be of any class; and of a cancelled call the link tells.
    const isCancelled = error === this.#signal?.reason;
    if (!isCancelled && error instanceof CallError && this.id !== undefined && !SILENT_REASONS.includes(error.reason)) {
      this.#link.sendIfConnected("$/cancelRequest", { id: this.id });
    }
    // An answer comes after the items that were sent before it; any other end is one at once.
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

// The side of the handler.

/** Whether what a handler has returned is a stream. */
export function isStream(result) {
  if (typeof result !== "object" || result === null) return false;
  // A directory can be iterated over, but it also crosses as it is.
  if (result[Symbol.toStringTag] === "FileSystemDirectoryHandle") return false;
  return Symbol.asyncIterator in result || typeof result.getReader === "function";
}

/** An iterator of what a handler has returned, or undefined. */
export function iteratorOf(source) {
  if (typeof source?.getReader === "function") {
    // Not every engine iterates over it; and this way, what waits for a chunk can be ended at once.
    const reader = source.getReader();
    return {
      async next() {
        let item;
        try {
          return (item = await reader.read());
        } finally {
          if (item?.done !== false) reader.releaseLock();
        }
      },
      return: (reason) => reader.cancel(reason).finally(() => reader.releaseLock()),
    };
  }
  return source?.[Symbol.asyncIterator]?.() ?? (typeof source?.next === "function" ? source : undefined);
}

/** Takes a request for a stream: returns the params of the method, which the context then is of. */
export function parseStreamRequest(request, requested, spareCredit) {
  const { method, params, credit } = Object(requested);
  if (validateCall(method, params) !== undefined || !isCredit(credit))
    throw new RPCError(INVALID_PARAMS, "Invalid params");
  if (credit > spareCredit) throw new RPCError(INVALID_REQUEST, "Invalid Request", { reason: "too-much-credit" });
  if (method.length > MAX_METHOD_LENGTH)
    throw new RPCError(INVALID_REQUEST, "Invalid Request", { reason: "method-too-long" });
  request.method = method;
  request.producer = new StreamProducer(method, credit);
  return params;
}

/** The budget that the streams of a link share in each turn, so that handlers that never wait cannot block this thread. */
export class StreamBudget {
  #remaining = MAX_ITEMS_PER_TURN;
  /** When the time is up. */
  #end = 0;
  /** Resolves in the next turn, if this one is over. */
  #next = undefined;

  /** Takes one item of the budget. If nothing is left, it returns a promise, after which to try again. */
  take() {
    if (this.#next !== undefined) return this.#next;
    const time = now();
    if (this.#remaining === MAX_ITEMS_PER_TURN) this.#end = time + MAX_TURN_TIME;
    if (this.#remaining > 0 && time < this.#end) return void this.#remaining--;
    this.#next = new Promise(queueTask).then(() => {
      this.#next = undefined;
      this.#remaining = MAX_ITEMS_PER_TURN;
    });
    return this.#next;
  }
}

/** Sends the items of one stream. */
class StreamProducer {
  /** @internal Whether an item could not be sent: none may come after it. */
  hasFailed = false;
  /** @internal The most credit that it has had at a time. */
  maxCredit;
  #method;
  #link;
  #credit;
  /** Goes on, when there is credit again. */
  #onCredit = undefined;
  #iterator = undefined;
  #reject;
  /** Why no more items are wanted. */
  #stopRequest = undefined;

  constructor(method, credit) {
    this.#method = method;
    this.maxCredit = this.#credit = credit;
  }

  /** Gives credit: beyond its window no more than all streams together may still have. */
  addCredit(count, spareCredit) {
    if (!isCredit(count) || this.#stopRequest !== undefined) return;
    this.#credit = Math.min(this.#credit + count, this.maxCredit + spareCredit);
    this.maxCredit = Math.max(this.maxCredit, this.#credit);
    this.#onCredit?.();
  }

  /** Sends what a handler has returned; resolves after its last item. */
  run(link, turn, request, source) {
    return new Promise((resolve, reject) => {
      this.#iterator = iteratorOf(source);
      if (this.#iterator === undefined) {
        throw new RPCError(INTERNAL_ERROR, `"${truncate(request.method)}" gives no stream: call it by request()`);
      }
      this.#link = link;
      this.#reject = reject;
      if (this.#stopRequest !== undefined) this.#close();
      else this.#pump(turn, request, resolve);
    });
  }

  async #pump(turn, request, resolve) {
    const link = this.#link;
    try {
      for (;;) {
        if (this.#credit === 0) {
          link.flush();
          if (this.hasFailed) return;
          // Over a transport that delivers at once, there may be some by now.
          if (this.#credit === 0) await new Promise((wake) => (this.#onCredit = wake));
        }
        for (let next = turn.take(); next !== undefined; next = turn.take()) {
          await next;
          if (this.#stopRequest !== undefined || this.hasFailed) return;
        }
        const { done, value } = await this.#iterator.next();
        if (this.#stopRequest !== undefined || this.hasFailed) return;
        const transfer = request.transferList;
        request.transferList = undefined;
        if (done) {
          // The answer is another one if an item before it cannot be sent.
          link.flush();
          return resolve();
        }
        this.#credit--;
        try {
          link.sendItem(request.id, value, transfer, this);
        } catch (problem) {
          // What came before it can be sent.
          link.flush();
          return this.fail(problem);
        }
      }
    } catch (thrown) {
      if (this.#stopRequest === undefined) this.#reject(thrown);
    }
  }

  /** An item cannot be sent: that ends the stream. */
  fail(problem) {
    if (this.hasFailed) return;
    this.hasFailed = true;
    // By name only, as where a result cannot be sent.
    this.#reject(new RPCError(INTERNAL_ERROR, `An item of "${this.#method}" cannot be sent: ${nameOf(problem)}`));
    this.#link.runUserCode(() => this.#iterator.return?.());
  }

  /** No more items are wanted. */
  stop(reason) {
    this.#stopRequest = { reason };
    if (this.#iterator !== undefined) this.#close();
  }

  /** Ends with what ends the iterator, however long that takes. */
  async #close() {
    const { reason } = this.#stopRequest;
    try {
      await this.#iterator.return?.(reason);
      this.#reject(reason);
    } catch (thrown) {
      this.#reject(thrown);
    }
  }
}
