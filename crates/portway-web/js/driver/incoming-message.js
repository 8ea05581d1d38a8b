// A received message. If it is a request, it also contains the state of the request. Only the library uses this class:
// handlers receive a `RequestContext`.

import { HAS_VERSION, SHARED_PARAMS, hasInvalidId, hasName, shapeOf } from "./envelope.js";
import { truncate } from "./errors.js";
import { toTransferArray } from "./transfer-list.js";
import { queueTask } from "./queue-task.js";
import { destroyedServers } from "./request-dispatcher.js";

export class IncomingMessage {
  #session;
  #controller;

  /**
   * Reads each member of `message` once. If the transport does not clone messages, a member may be a getter. A second
   * read may return another value, or may throw while a message is being handled. `idLength` is the maximum length of a
   * string id, in characters. `isolator` ensures that the messages of one list or batch share no params. `origin` is
   * the origin of the sender if the sender is a window.
   */
  constructor(session, message, idLength, isolator, origin) {
    const { id, method, params, result, error } = message;
    /** The session of this message. Once the session has ended, messages from the handler are dropped. */
    this.#session = session;
    this.method = method;
    /**
     * The id of the request or response, exactly as received. If `hasInvalidId` is true for the id, null replaces it.
     */
    this.id = id;
    this.params = isolator === undefined || method === undefined ? params : isolator.isolateParams(params);
    this.result = result;
    this.error = error;
    this.origin = origin;
    /** The shape of the message, for wasm: the kinds of its members. */
    this.shape = HAS_VERSION | shapeOf(message, this, idLength);
    if (this.params === SHARED_PARAMS && id === undefined && hasName(this.shape) && !method.startsWith("rpc.")) {
      session.link.report(
        new Error(`"${truncate(method)}" is dropped: it shares params with a message that came with it`),
      );
    }
    // The reply to a message with an invalid id has the id null, so the id is not needed. Hashing a large id takes
    // long, and storing it takes memory.
    if (id !== undefined && hasInvalidId(this.shape)) this.id = null;
    /** The slot of the request in wasm; -1 if the message is not a request. */
    this.slot = -1;
    /** The batch of the request, whose replies are sent together. */
    this.batch = undefined;
    /**
     * The server whose handler runs. Once the server is destroyed, the caller receives nothing more from the handler.
     */
    this.server = undefined;
    /** The objects to transfer with the result, or with the next item of a stream. */
    this.transferList = undefined;
    /** Sends the items, if the request is for a stream. */
    this.producer = undefined;
  }

  get signal() {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  progress(value, transfer) {
    const { link } = this.#session;
    if (!this.reportIfReplyDropped() && link.isRunning(this)) link.sendProgress(this, value, transfer);
  }

  async yield() {
    await new Promise(queueTask);
    this.signalIfCreated?.throwIfAborted();
  }

  transfer(list) {
    if (list) this.transferList = [...(this.transferList ?? []), ...toTransferArray(list)];
  }

  notify(method, params, options) {
    if (!this.reportIfReplyDropped()) this.#session.link.notify(method, params, options?.transfer);
  }

  get hasSessionEnded() {
    return this.#session.end !== undefined;
  }

  /**
   * Returns whether messages from the handler are dropped. If they are dropped because the session has ended, reports
   * the error of the session.
   */
  reportIfReplyDropped() {
    if (destroyedServers.has(this.server)) return true;
    const { link, end } = this.#session;
    if (end !== undefined) link.report(end.forCall(this.method, this.id));
    return end !== undefined;
  }

  /** The signal; undefined if the handler has not read it and the request was not aborted. */
  get signalIfCreated() {
    return this.#controller?.signal;
  }

  /** Returns a copy of this notification for the handler of one of several servers. The copy has no params. */
  copyForServer(server) {
    const message = new IncomingMessage(this.#session, { method: this.method }, 0, undefined, this.origin);
    message.server = server;
    return message;
  }

  /** Returns the params, and removes them from this message, because a handler may keep its context for long. */
  takeParams() {
    const { params } = this;
    this.params = undefined;
    return params;
  }

  abort(reason) {
    // A realm without `AbortController` has no signals, so only the stream of the request is stopped.
    if (globalThis.AbortController === undefined) return this.producer?.stop(reason);
    this.#controller ??= new AbortController();
    this.#controller.abort(reason);
    this.producer?.stop(this.#controller.signal.reason);
  }
}
