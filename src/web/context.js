// What a handler gets beside its params.

import { listOf } from "./outgoing.js";

/**
 * The context of one request or notification.
 *
 * The functions are made when they are asked for: most handlers want none of them, and those that do may take them apart
 * (`(params, { signal, progress }) => …`).
 */
export class Context {
  #link;
  #controller;

  constructor(link, message, slot, batch) {
    this.#link = link;
    this.method = message.method;
    /** @internal The request's id, exactly as it came. */
    this.id = message.id;
    /** @internal Where the request is kept; -1 for a notification. */
    this.slot = slot;
    /** @internal The batch that it came in; its replies wait for each other. */
    this.batch = batch;
    /** @internal Whose handler works on it; if that server has gone, the caller hears no more of it. */
    this.server = undefined;
    /** @internal What to transfer with the result, or with the next item. */
    this.list = undefined;
    /** @internal What sends the items, if they are asked for. */
    this.outflow = undefined;
  }

  /** Aborted when the caller no longer wants the answer, or this side is destroyed. */
  get signal() {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  /** Tells the caller how far this is; it arrives at the caller's `onProgress`. */
  get progress() {
    return (value, transfer) => {
      if (!this.hasLeft && this.#link.isRunning(this)) this.#link.notifyNow("$/progress", { token: this.id, value }, transfer);
    };
  }

  /** Names what of the result, or of the next item, is to be transferred instead of copied. */
  get transfer() {
    return (list) => {
      if (list) this.list = [...(this.list ?? []), ...listOf(list)];
    };
  }

  /** Sends a notification to the caller. */
  get notify() {
    return (method, params, options) => {
      if (!this.hasLeft) this.#link.notify(method, params, options?.transfer);
    };
  }

  /** @internal Whether the server of the handler was destroyed. */
  get hasLeft() {
    return this.server?.left;
  }

  /** @internal The signal, if anybody has asked for it. */
  get startedSignal() {
    return this.#controller?.signal;
  }

  /** @internal */
  abort(reason) {
    this.#controller ??= new AbortController();
    this.#controller.abort(reason);
    this.outflow?.stop(this.#controller.signal.reason);
  }
}
