// A message that has come, and what a handler gets of it beside its params.

import { SHARED_PARAMS, HAS_VERSION, hasInvalidId, hasName, shapeOf } from "./envelope.js";
import { truncate } from "./errors.js";
import { queueTask } from "./queue-task.js";
import { toTransferArray } from "./messages.js";

/**
 * A message of ours as it came; if it is a request or a notification, the context of its handler, too: one object for both.
 *
 * The functions are made when they are asked for: most handlers want none of them, and those that do may take them apart
 * (`(params, { signal, progress }) => …`).
 */
export class RequestContext {
  #session;
  #controller;

  /**
   * The message came by `session`: the handler sends by it, and what it sends after its end is dropped.
   *
   * Members are read once: where nothing is cloned they may be getters, which say something else the next time, or throw,
   * when a call or a request is half done. An id that is a string of more than `idLength` is of a kind of its own. Of messages
   * that came together, `event` keeps the params apart.
   */
  constructor(session, message, idLength, isolator) {
    const { id, method, params, result, error } = message;
    this.#session = session;
    this.method = method;
    /** @internal The id of the request or response, exactly as it came; null if it is not valid. */
    this.id = id;
    /** @internal Until a handler has them: whoever keeps the context need not keep those. */
    this.params = isolator === undefined || method === undefined ? params : isolator.isolateParams(params);
    /** @internal */
    this.result = result;
    /** @internal */
    this.error = error;
    /** @internal What members there are, as wasm reads it. */
    this.shape = HAS_VERSION | shapeOf(message, this, idLength);
    if (this.params === SHARED_PARAMS && id === undefined && hasName(this.shape) && !method.startsWith("rpc.")) {
      session.link.report(
        new Error(`"${truncate(method)}" is dropped: it shares params with a message that came with it`),
      );
    }
    // It is answered under the id null. To hash it, or to keep it, would cost as much as the peer likes.
    if (id !== undefined && hasInvalidId(this.shape)) this.id = null;
    /** @internal Where the request is kept; -1 if it is none. */
    this.slot = -1;
    /** @internal The batch that it came in; its replies wait for each other. */
    this.batch = undefined;
    /** @internal Whose handler works on it; if that server has gone, the caller hears no more of it. */
    this.server = undefined;
    /** @internal What to transfer with the result, or with the next item. */
    this.transferList = undefined;
    /** @internal What sends the items, if they are asked for. */
    this.producer = undefined;
  }

  /** Aborted when the caller no longer wants the answer, or this side is destroyed. */
  get signal() {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  /** Tells the caller how far this is; it arrives at the caller's `onProgress`. */
  get progress() {
    return (value, transfer) => {
      const { link } = this.#session;
      if (!this.isReplyDropped() && link.isRunning(this))
        link.sendNotification("$/progress", { token: this.id, value }, transfer);
    };
  }

  /**
   * Lets other messages be handled, such as a cancellation. A handler that never waits would not notice it. Resolves in a new
   * task; rejects with the reason of `signal` if the request was cancelled.
   */
  get yield() {
    return () => new Promise(queueTask).then(() => this.startedSignal?.throwIfAborted());
  }

  /** Names what of the result, or of the next item, is to be transferred instead of copied. */
  get transfer() {
    return (list) => {
      if (list) this.transferList = [...(this.transferList ?? []), ...toTransferArray(list)];
    };
  }

  /** Sends a notification to the caller. */
  get notify() {
    return (method, params, options) => {
      if (!this.isReplyDropped()) this.#session.link.notify(method, params, options?.transfer);
    };
  }

  /** @internal Whether the server of the handler was destroyed. */
  get isServerGone() {
    return this.server?.isGone;
  }

  /** @internal Whether the session has ended. */
  get hasSessionEnded() {
    return this.#session.end !== undefined;
  }

  /** @internal Whether what the handler sends is dropped. If that is since its session has ended, it is reported. */
  isReplyDropped() {
    const { link, end } = this.#session;
    if (!this.isServerGone && end !== undefined) link.report(end.forCall(this.method, this.id));
    return this.isServerGone || end !== undefined;
  }

  /** @internal The signal, if anybody has asked for it. */
  get startedSignal() {
    return this.#controller?.signal;
  }

  /** @internal A context of its own for the handler of one of several servers. */
  forServer(server) {
    const context = new RequestContext(this.#session, { method: this.method }, 0);
    context.server = server;
    return context;
  }

  /** @internal Gives the params away. */
  takeParams() {
    const { params } = this;
    this.params = undefined;
    return params;
  }

  /** @internal */
  abort(reason) {
    // In a realm without signals, no handler waits for one.
    if (globalThis.AbortController === undefined) return this.producer?.stop(reason);
    this.#controller ??= new AbortController();
    this.#controller.abort(reason);
    this.producer?.stop(this.#controller.signal.reason);
  }
}
