// One end of a connection: starts calls, sends messages, and owns the parts that receive messages and run handlers.
// This is the hot path: wasm receives and returns integers only, and a call allocates only its promise and its message.

import { addEnd, boundaryOf, removeEnd, transportInternals } from "./boundaries.js";
import { Clock, missingTimerError } from "./clock.js";
import { ErrorReporter } from "./error-reporter.js";
import { CallError, TRAPPED_ERROR, peerGoneError } from "./errors.js";
import { DEFAULTS } from "./limit-values.js";
import { parseLimits } from "./limits.js";
import { MessageReceiver } from "./message-receiver.js";
import { abortReason, requestOrNotification, validateCall, validateSignal } from "./messages.js";
import { CLIENT_DESTROYED, PendingCalls } from "./pending-calls.js";
import { CANCEL, CANCEL_ID } from "./profile.js";
import { RequestDispatcher } from "./request-dispatcher.js";
import { SendQueue } from "./send-queue.js";
import { ITEM } from "./stream-protocol.js";
import { ARGUMENT_SHIFT, CALL, CLOSE, CONFIGURE, OPERATION, REPLY, RESET_TIMER, RESPOND, RESTART } from "./wasm-abi.js";
import { WasmConnection } from "./wasm-instance.js";
import { OutputExecutor } from "./wasm-outputs.js";

/**
 * Links by transport, or by the hub of several transports on one boundary. All clients and servers on it share one
 * link.
 */
const links = new WeakMap();

// All promises share one executor, which stores the two functions here.
let lastResolve;
let lastReject;
const captureResolvers = (resolve, reject) => {
  lastResolve = resolve;
  lastReject = reject;
};

export class Link extends ErrorReporter {
  closed = false;
  /** The number of ignored messages: answers to calls that are not pending, and invalid messages without an answer. */
  ignored = 0;
  /**
   * The error of refused calls; undefined while calls are sent.
   * @type {CallError | undefined}
   */
  #disconnectError = undefined;
  #transport;
  /** The transports that this link was made on. They end with the link. */
  #transports = new Set();
  #internals;
  #wasm;
  #sendQueue;
  #executor;
  #pendingCalls;
  #dispatcher = new RequestDispatcher(this);
  #receiver;
  #users = 0;
  #lastBatch = 0;
  /** The id of the last call. Wasm counts the calls, too. */
  #lastId;
  #limits = { ...DEFAULTS };
  #allowsNullParams = true;
  #clock;

  /**
   * Returns the link on a transport. Each user ends its use with `release`.
   * @param {any} transport
   * @param {import("../../types/api.js").PeerOptions} [options]
   */
  static on(transport, options) {
    const limits = parseLimits(options?.limits);
    const internals = transportInternals.get(transport);
    const key = internals ?? transport;
    let link = links.get(key);
    if (link === undefined || link.closed) {
      link = new Link(key, internals);
      links.set(key, link);
    }
    link.#transports.add(transport);
    link.#configure(options, limits);
    link.#users++;
    return link;
  }

  /** `internals` are those of a transport of the library. */
  constructor(transport, internals) {
    if (typeof transport?.send !== "function" || typeof transport.onMessage !== "function") {
      throw new TypeError("transport must have the functions send and onMessage, as workerTransport(worker) has");
    }
    super();
    this.#internals = internals ?? { boundary: boundaryOf(transport) };
    this.#lastId = addEnd(this.#internals.boundary, this);
    const wasm = new WasmConnection(() => this.#onWasmTrap(), this.#lastId);
    this.#wasm = wasm;
    const pendingCalls = new PendingCalls(wasm);
    this.#pendingCalls = pendingCalls;
    this.#transport = transport;
    const dispatcher = this.#dispatcher;
    dispatcher.atWork = transport.atWork;
    const sendQueue = new SendQueue(transport, (entry, problem) => this.#onSendFailed(entry, problem), this.report);
    this.#sendQueue = sendQueue;
    const executor = new OutputExecutor(this, wasm, pendingCalls, dispatcher, sendQueue);
    this.#executor = executor;
    this.#clock = new Clock(wasm, (output) => executor.execute(output));
    const parts = { transport, internals: this.#internals, limits: this.#limits };
    const receiver = new MessageReceiver(this, { ...parts, wasm, pendingCalls, dispatcher, sendQueue, executor });
    this.#receiver = receiver;
    // A transport may deliver messages within `onMessage`. They wait until the caller has set up its client or server.
    let isReady = false;
    transport.onMessage(
      (message) => {
        if (isReady) receiver.receive(message);
        else Promise.resolve().then(() => receiver.receive(message));
      },
      () => dispatcher.servers.length > 0,
    );
    const isWaiting = () => pendingCalls.ids().size > 0;
    transport.onClose?.(
      (...end) => this.#onPeerLost(...end),
      isWaiting,
      () => pendingCalls.ids(),
    );
    transport.onError?.((error, answers) =>
      answers === undefined ? this.report(error) : receiver.receiveUnreadable(error, answers),
    );
    isReady = true;
  }

  /**
   * Sets the options that are given. Those of a client and of a server on one transport add up.
   * @param {import("../../types/api.js").PeerOptions | undefined} options
   */
  #configure(options, limits) {
    if (options?.onError !== undefined) this.onError = options.onError;
    Object.assign(this.#limits, limits);
    if (options?.coalesce !== undefined) this.#sendQueue.coalesce = options.coalesce;
    if (options?.paramsNull !== undefined) this.#allowsNullParams = options.paramsNull !== "invalid";
    const { pendingCalls, inFlight, batchItems } = this.#limits;
    this.#wasm.run(CONFIGURE, pendingCalls, inFlight, batchItems, this.#allowsNullParams);
  }

  // Calls of this side.

  request(owner, method, params, timeout, options) {
    const promise = new Promise(captureResolvers);
    this.startCall(owner, method, params, timeout, options, lastResolve, lastReject);
    return promise;
  }

  /**
   * Starts a call that ends by `resolve` or `reject`. The timeout is in milliseconds; a negative number is no timeout.
   * Returns the slot of the call, for `cancel`, or undefined if the call has ended. With a `stream`, requests the items
   * of the method.
   */
  startCall(owner, method, params, timeout, options, resolve, reject, stream) {
    const signal = options?.signal ?? undefined;
    const problem = validateCall(method, params) ?? validateSignal(signal);
    if (problem !== undefined) return reject(problem);
    if (signal?.aborted) return reject(abortReason(signal));
    const output = this.#disconnectError === undefined ? this.#wasm.run(CALL, timeout) : 0;
    if (output === 0) return reject(this.#callRefusedError(method));
    const slot = output >>> ARGUMENT_SHIFT;
    const id = ++this.#lastId;
    const calls = this.#pendingCalls;
    calls.insert(slot, id, owner, method, resolve, reject);
    if (output & RESET_TIMER && missingTimerError(timeout)) return calls.abandon(slot, missingTimerError(timeout));
    if (signal !== undefined) this.#abortOn(slot, signal);
    if (stream !== undefined) calls.setObserver(slot, id, stream);
    else if (options?.onProgress) calls.observeProgress(slot, id, timeout, options);
    try {
      const message = stream === undefined ? requestOrNotification(method, params, id) : stream.message(params);
      this.#sendQueue.send(message, options?.transfer, slot);
    } catch (error) {
      // The stack may be full.
      this.#failCall(slot, id, error);
    }
    // If the call has ended already, the clock is not read: the message may be invalid, and some transports deliver at
    // once.
    if (calls.idOf(slot) !== id) return;
    this.#clock.start(output);
    return slot;
  }

  /** Ends the call in a slot, and cancels it at the peer. */
  cancel(slot, reason) {
    const id = this.#pendingCalls.idOf(slot);
    this.#pendingCalls.abandon(slot, reason);
    this.cancelAtPeer(id);
  }

  /** Notifies the peer that the response to the call with this id is not needed. */
  cancelAtPeer(id) {
    this.sendIfConnected(CANCEL, { [CANCEL_ID]: id });
  }

  /**
   * Restarts the timeout of the call in a slot. The times are in milliseconds; a negative number is no timeout, or no
   * end.
   */
  resetTimeout(slot, timeout, end = -1, time = 0) {
    this.#clock.start(this.#wasm.run(RESTART, slot, timeout, end, time));
  }

  /** Sends a notification if the peer is connected, and reports an error if it cannot be sent. */
  sendIfConnected(method, params) {
    if (this.#disconnectError === undefined) this.runUserCode(() => this.notify(method, params));
  }

  /** Sends a notification of the application. Throws if it cannot be sent. */
  notify(method, params, transfer) {
    const problem = validateCall(method, params);
    if (problem !== undefined) throw problem;
    if (this.#disconnectError !== undefined) return this.report(this.#disconnectError.forCall(method));
    const message = requestOrNotification(method, params);
    const queue = this.#sendQueue;
    if (transfer !== undefined || !queue.tryEnqueue(message)) queue.sendImmediately(message, transfer);
  }

  /** Sends a notification of the protocol at once. Throws if it cannot be sent. */
  sendNotification(method, params, transfer) {
    if (this.#disconnectError === undefined)
      this.#sendQueue.sendImmediately(requestOrNotification(method, params), transfer);
  }

  /** Sends an item of a stream. An error is thrown here, or reported to `producer` by the next `flush`. */
  sendItem(id, value, transfer, producer) {
    if (this.#disconnectError === undefined)
      this.#sendQueue.sendItem(requestOrNotification(ITEM, { id, value }), transfer, producer);
  }

  /** Sends the messages that wait for the end of the turn. */
  flush() {
    this.#sendQueue.flush();
  }

  /** Sends calls and notifications in one array. Resolves to the outcome of each. */
  batch(owner, calls, timeout, options) {
    if (!Array.isArray(calls)) return Promise.reject(new TypeError("a batch must be an array of calls"));
    const signal = options?.signal ?? undefined;
    let problem;
    for (const call of calls) problem ??= validateCall(call?.method, call?.params);
    problem ??= validateSignal(signal) ?? missingTimerError(timeout);
    if (problem !== undefined) return Promise.reject(problem);
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    if (calls.length === 0) return Promise.resolve([]);
    if (this.#disconnectError !== undefined) return Promise.reject(this.#disconnectError.forCall("batch"));
    const batch = ++this.#lastBatch;
    let outputs = 0;
    const outcomes = [];
    const entries = [];
    for (const { method, params, notify } of calls) {
      const output = notify ? 0 : this.#wasm.run(CALL, timeout, batch);
      if (notify || output === 0) {
        outcomes.push(notify ? undefined : Promise.reject(this.#callRefusedError(method)));
        if (notify) entries.push({ message: requestOrNotification(method, params) });
        continue;
      }
      outputs |= output;
      const slot = output >>> ARGUMENT_SHIFT;
      const id = ++this.#lastId;
      outcomes.push(new Promise(captureResolvers));
      this.#pendingCalls.insert(slot, id, owner, method, lastResolve, lastReject);
      if (signal !== undefined) this.#abortOn(slot, signal);
      entries.push({ message: requestOrNotification(method, params, id), slot });
    }
    this.#sendQueue.sendBatch(entries);
    this.#clock.start(outputs);
    return Promise.allSettled(outcomes);
  }

  /** Returns the number of pending calls of an owner, or of all. */
  pending(owner) {
    return this.#pendingCalls.count(owner);
  }

  // Requests from the peer.

  /** Adds a server. Of several servers with a method, the newest serves it. */
  addServer(server) {
    this.#dispatcher.servers.unshift(server);
  }

  /** The number of requests from the peer that may run at the same time. */
  get maxInFlight() {
    return this.#limits.inFlight;
  }

  isRunning(request) {
    return this.#dispatcher.isRunning(request);
  }

  /**
   * Sends the reply to a request. If the request is in a batch, the dispatcher keeps the reply under `token` for the
   * batch.
   */
  respond(request, message, token) {
    const output = this.#wasm.run(RESPOND, request.slot, token);
    // A single reply is sent even after a trap of the wasm. A reply of a batch is kept, and sent with the others.
    if (request.batch === undefined) {
      const isSent = message !== undefined && !this.#executor.suppressReplies;
      if (isSent && ((output & OPERATION) === REPLY || this.#wasm.trapError !== undefined)) {
        this.#sendQueue.send(message, request.transferList, undefined, request.method);
      }
    } else if (this.#wasm.trapError === undefined) this.#executor.execute(output, request, request.batch);
  }

  /**
   * Returns how well this end can answer a request from an origin: 3 for a request of its session, 2 if it has the
   * method, 1 if it has other methods, 0 if it does not receive the request.
   */
  answerRank(method, origin, id) {
    const { isSession, receivesFrom, boundary } = this.#internals;
    if (method === "rpc.hello" && isSession) return 3;
    // A channel does not deliver a request to its sender.
    const isOwn = boundary.isShared && this.#pendingCalls.ids().has(id);
    return receivesFrom?.(origin) === false || isOwn ? 0 : this.#dispatcher.rank(method);
  }

  // The state of the connection.

  /** A message has arrived, so calls are sent again. */
  markConnected() {
    this.#disconnectError = undefined;
  }

  /** Ends the use of the link by one owner, and the owner's calls. The last one closes the link. */
  release(owner) {
    this.#dispatcher.removeServer(owner, this.#transport.saysGoodbye?.());
    this.#pendingCalls.abandonStreams(CLIENT_DESTROYED, owner);
    if (--this.#users === 0) this.#close();
    else this.#pendingCalls.abandonAll(CLIENT_DESTROYED, owner);
  }

  #close() {
    this.closed = true;
    this.#disconnectError = CLIENT_DESTROYED;
    this.#clock.stop();
    this.#receiver.stop();
    this.#executor.execute(this.#wasm.run(CLOSE));
    this.#wasm.free();
    this.#sendQueue.flush();
    removeEnd(this.#internals.boundary, this, this.#lastId);
    this.#internals.detach?.();
    for (const transport of this.#transports) transport.destroy?.();
    this.#dispatcher.abortAll();
  }

  /**
   * Ends all calls. Unless the peer `willReconnect`, later calls are refused until a message arrives. If it
   * `stillReceives`, the requests from the peer go on.
   */
  #onPeerLost(error, willReconnect, stillReceives) {
    if (this.closed) return;
    const end = error instanceof CallError ? error : peerGoneError(undefined, error);
    if (!willReconnect) this.#disconnectError = end;
    this.#pendingCalls.abandonAll(end);
    // A peer that does not answer may still wait for answers.
    if (stillReceives || end.reason === "unresponsive") return;
    this.#sendQueue.clear();
    this.#executor.suppressReplies = true;
    this.#receiver.endSession(end);
    this.#dispatcher.discardAll();
    this.#executor.suppressReplies = false;
    this.#dispatcher.abortAll(end);
  }

  /** Ends all calls and answers all requests with an error, since the state of the connection is lost. */
  #onWasmTrap() {
    if (this.closed) return;
    this.#clock.stop();
    this.#sendQueue.sendEach(this.#dispatcher.failAll(TRAPPED_ERROR));
    const end = this.#wasm.trapError;
    this.#pendingCalls.abandonStreams(end);
    this.#onPeerLost(end);
  }

  // Calls that fail.

  #abortOn(slot, signal) {
    this.#pendingCalls.abortOn(slot, signal, (slot) => this.cancel(slot, abortReason(signal)));
  }

  #onSendFailed({ slot, message, producer }, problem) {
    if (producer !== undefined) producer.fail(problem);
    else this.#failCall(slot, message.id, problem);
  }

  /** Ends a call that cannot be sent. For a notification, which has no slot, reports the problem. */
  #failCall(slot, id, problem) {
    if (slot === undefined) this.report(problem);
    // Over a transport that delivers at once, the call may have ended before its sending failed.
    else if (this.#pendingCalls.idOf(slot) === id) this.#pendingCalls.abandon(slot, problem);
  }

  #callRefusedError(method) {
    const error = this.#disconnectError ?? this.#wasm.trapError;
    if (error !== undefined) return error.forCall(method);
    return new CallError("too-many-calls", `JSON-RPC call refused, too many are pending: ${method}`, method);
  }
}
