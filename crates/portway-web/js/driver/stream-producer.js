// The handler's side of a stream: sends the items of an iterator while there is credit. Credit is the number of items
// that the caller still accepts.

import { now } from "./clock.js";
import { INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RPCError, nameOf, truncate } from "./errors.js";
import { MAX_ITEMS_PER_TURN, MAX_METHOD_LENGTH, MAX_TURN_TIME } from "./limit-values.js";
import { validateCall } from "./messages.js";
import { queueTask } from "./queue-task.js";
import { isCredit } from "./stream-protocol.js";

/** Returns whether the result of a handler is a stream. */
export function isStream(result) {
  if (typeof result !== "object" || result === null) return false;
  // A directory handle is iterable, but it can be cloned, so it is a plain result.
  if (result[Symbol.toStringTag] === "FileSystemDirectoryHandle") return false;
  return Symbol.asyncIterator in result || typeof result.getReader === "function";
}

/** Returns an iterator of the result of a handler, or undefined. */
export function iteratorOf(source) {
  if (typeof source?.getReader === "function") {
    // A reader is used for two reasons: not every engine has iterable streams, and a reader can end a pending read at
    // once.
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

/** Reads a request for a stream: sets its method and its producer, and returns the params of the method. */
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

/**
 * The budget of all streams of a link for each turn of the event loop: a number of items, and a time. With this budget,
 * a handler that never waits does not block the thread.
 */
export class StreamBudget {
  #remaining = MAX_ITEMS_PER_TURN;
  /** The time at which the budget of this turn ends. */
  #end = 0;
  /**
   * Resolves in the next turn; undefined while there is budget.
   * @type {Promise<void> | undefined}
   */
  #next = undefined;

  /**
   * Takes one item of the budget. If no item is left, returns a promise. The caller awaits this promise, and then tries
   * again.
   */
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
  /** @internal Whether an item could not be sent. After that, no further item is sent. */
  hasFailed = false;
  /** @internal The largest credit so far. */
  maxCredit;
  #method;
  #link;
  #credit;
  /**
   * Called when there is credit again.
   * @type {((value?: unknown) => void) | undefined}
   */
  #onCredit = undefined;
  /** @type {ReturnType<typeof iteratorOf>} */
  #iterator = undefined;
  #reject;
  /**
   * The reason that `stop` has received, in an object; undefined until `stop` is called.
   * @type {{ reason: unknown } | undefined}
   */
  #stopRequest = undefined;

  constructor(method, credit) {
    this.#method = method;
    this.maxCredit = this.#credit = credit;
  }

  /**
   * Adds credit. The streams of a peer share a limit for the sum of their `maxCredit`. `spareCredit` is the difference
   * between the limit and this sum. So `maxCredit` grows by at most `spareCredit`.
   */
  addCredit(count, spareCredit) {
    if (!isCredit(count) || this.#stopRequest !== undefined) return;
    this.#credit = Math.min(this.#credit + count, this.maxCredit + spareCredit);
    this.maxCredit = Math.max(this.maxCredit, this.#credit);
    this.#onCredit?.();
  }

  /** Sends the items of `source`. Resolves after the last item. */
  run(link, budget, request, source) {
    return new Promise((resolve, reject) => {
      this.#iterator = iteratorOf(source);
      if (this.#iterator === undefined) {
        throw new RPCError(
          INTERNAL_ERROR,
          `method "${truncate(request.method)}" does not return a stream; use request()`,
        );
      }
      this.#link = link;
      this.#reject = reject;
      if (this.#stopRequest !== undefined) this.#close();
      else this.#pump(budget, request, resolve);
    });
  }

  async #pump(budget, request, resolve) {
    const link = this.#link;
    try {
      for (;;) {
        if (this.#credit === 0) {
          link.flush();
          if (this.hasFailed) return;
          // If the transport delivers at once, the caller may have added credit during the flush.
          if (this.#credit === 0) await new Promise((resume) => (this.#onCredit = resume));
        }
        for (let next = budget.take(); next !== undefined; next = budget.take()) {
          await next;
          if (this.#stopRequest !== undefined || this.hasFailed) return;
        }
        const { done, value } = await this.#iterator.next();
        if (this.#stopRequest !== undefined || this.hasFailed) return;
        const transfer = request.transferList;
        request.transferList = undefined;
        if (done) {
          // If the flush fails for an earlier item, the response is an error.
          link.flush();
          return resolve();
        }
        this.#credit--;
        try {
          link.sendItem(request.id, value, transfer, this);
        } catch (problem) {
          // The queued items, which precede this item, are still sent.
          link.flush();
          return this.fail(problem);
        }
      }
    } catch (thrown) {
      if (this.#stopRequest === undefined) this.#reject(thrown);
    }
  }

  /** Ends the stream, since an item cannot be sent. */
  fail(problem) {
    if (this.hasFailed) return;
    this.hasFailed = true;
    // The message of the problem may contain source code, so only the name is sent, as in `uncloneableReply`.
    this.#reject(new RPCError(INTERNAL_ERROR, `An item of "${this.#method}" cannot be sent: ${nameOf(problem)}`));
    this.#link.runUserCode(() => this.#iterator.return?.());
  }

  /** Ends the iterator, because the peer has cancelled the stream, or the server or the link has ended. */
  stop(reason) {
    // The peer may cancel a stream twice. The second time has no effect.
    if (this.#stopRequest !== undefined) return;
    this.#stopRequest = { reason };
    if (this.#iterator !== undefined) this.#close();
  }

  /**
   * Ends the iterator, and then rejects the promise of `run` with the error that the iterator throws. If the iterator
   * does not throw, rejects with the reason of `stop`.
   */
  async #close() {
    const { reason } = /** @type {{ reason: unknown }} */ (this.#stopRequest);
    try {
      await this.#iterator.return?.(reason);
      this.#reject(reason);
    } catch (thrown) {
      this.#reject(thrown);
    }
  }
}
