// A link: one end of a connection. It starts calls, sends messages, and owns the objects that receive messages and run
// handlers. This file is on the hot path: wasm receives and returns only numbers, and a call allocates only its promise
// and its message. The glossary in CONTRIBUTING.md explains terms such as boundary, session, slot, turn and credit.

import { addLink, boundaryOf, removeLink, transportInternals } from "./boundaries.js";
import { Clock, missingTimerError, now } from "./clock.js";
import { ErrorReporter } from "./error-reporter.js";
import { CallError, TRAPPED_ERROR, peerGoneError } from "./errors.js";
import { DEFAULTS } from "./limit-values.js";
import { parseLimits } from "./limits.js";
import { McpDialect, McpDispatcher, checkDialect, noBatches } from "./mcp-dialect.js";
import { MessageReceiver } from "./message-receiver.js";
import { abortReason, requestOrNotification, validateCall, validateSignal } from "./messages.js";
import { CLIENT_DESTROYED, PendingCalls } from "./pending-calls.js";
import { CANCEL, CANCEL_ID, PROGRESS, PROGRESS_TOKEN, PROGRESS_VALUE } from "./profile.js";
import { RequestDispatcher } from "./request-dispatcher.js";
import { SendQueue } from "./send-queue.js";
import { ITEM } from "./stream-protocol.js";
import { setTimer } from "./timers.js";
import { ARGUMENT_SHIFT, CALL, CLOSE, CONFIGURE, OPERATION, REPLY, RESET_TIMER, RESPOND, RESTART } from "./wasm-abi.js";
import { WasmConnection } from "./wasm-instance.js";
import { OutputExecutor } from "./wasm-outputs.js";

/**
 * The links, by transport. Transports that the library created with the same options on one boundary (a port, worker,
 * window or channel) share one hub, which listens to this boundary. In this map, the hub is the key of the link. So all
 * clients and servers on these transports share one link.
 */
const links = new WeakMap();

// All promises share one executor. The executor stores the two functions of the newest promise here.
let lastResolve;
let lastReject;
const captureResolvers = (resolve, reject) => {
  lastResolve = resolve;
  lastReject = reject;
};

export class Link extends ErrorReporter {
  closed = false;
  /**
   * The number of ignored messages: responses to calls that are not pending, and invalid messages that this link does
   * not answer.
   */
  ignored = 0;
  /**
   * The error of refused calls; undefined while calls are not refused.
   * @type {CallError | undefined}
   */
  #disconnectError = undefined;
  /** The `McpDialect`; undefined for JSON-RPC 2.0 with the extensions of this library. */
  #dialect;
  #transport;
  /** The transports that this link was made on. The link destroys them when it closes. */
  #transports = new Set();
  #internals;
  #wasm;
  /**
   * The queue of the outgoing messages. `portway/tap` reads the queue's member `coalesce`.
   * @type {SendQueue}
   */
  queue;
  #executor;
  #pendingCalls;
  #dispatcher;
  #receiver;
  #users = 0;
  #lastBatch = 0;
  /** The id of the last call. Wasm counts the calls in the same way, so JavaScript does not pass the ids to wasm. */
  #lastId;
  #limits = { ...DEFAULTS };
  #allowsNullParams = true;
  #clock;

  /**
   * Returns the link on a transport. Each client or server ends its use of the link with `release`.
   * @param {any} transport
   * @param {import("../../types/api.js").PeerOptions} [options]
   */
  static on(transport, options) {
    const limits = parseLimits(options?.limits);
    const internals = transportInternals.get(transport);
    const key = internals ?? transport;
    let link = links.get(key);
    if (link?.closed) link = undefined;
    const isMcp = checkDialect(options, link && link.#dialect !== undefined);
    if (link === undefined) {
      link = new Link(key, internals, isMcp);
      links.set(key, link);
    }
    link.#transports.add(transport);
    link.#configure(options, limits);
    link.#users++;
    return link;
  }

  /**
   * `internals` are the `transportInternals` of the transport; undefined for a transport of the application. If `isMcp`
   * is true, the peer uses the dialect `mcp`.
   */
  constructor(transport, internals, isMcp) {
    if (typeof transport?.send !== "function" || typeof transport.onMessage !== "function") {
      throw new TypeError("transport must have the functions send and onMessage, as workerTransport(worker) has");
    }
    super();
    this.#internals = internals ?? { boundary: boundaryOf(transport) };
    this.#lastId = addLink(this.#internals.boundary, this);
    const wasm = new WasmConnection(() => this.#onWasmTrap(), this.#lastId);
    this.#wasm = wasm;
    const pendingCalls = new PendingCalls(wasm, transport);
    this.#pendingCalls = pendingCalls;
    this.#transport = transport;
    if (isMcp) this.#dialect = new McpDialect(this, transport, pendingCalls.observers);
    // The dialect converts the messages of the transport.
    const wire = this.#dialect ?? transport;
    const dispatcher = isMcp ? new McpDispatcher(this) : new RequestDispatcher(this);
    this.#dispatcher = dispatcher;
    dispatcher.inFlight = transport.inFlight;
    const sendQueue = new SendQueue(wire, (entry, problem) => this.#onSendFailed(entry, problem), this.report);
    this.queue = sendQueue;
    const executor = new OutputExecutor(this, wasm, pendingCalls, dispatcher, sendQueue);
    this.#executor = executor;
    this.#clock = new Clock(wasm, (output) => executor.execute(output));
    const receiver = new MessageReceiver(this, {
      transport,
      internals: this.#internals,
      limits: this.#limits,
      wasm,
      pendingCalls,
      dispatcher,
      sendQueue,
      executor,
    });
    this.#receiver = receiver;
    // A transport may deliver messages before `onMessage` returns. These messages are handled in a microtask, so that
    // the caller can first set up its client or server.
    let isReady = false;
    wire.onMessage(
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
      // With the next three arguments, the bundle of a transport needs no copies of these functions and this class.
      setTimer,
      now,
      CallError,
      isMcp,
    );
    transport.onError?.((error, answers) =>
      answers === undefined ? this.report(error) : receiver.receiveUnreadable(error, answers),
    );
    isReady = true;
  }

  /**
   * Sets the options that are not undefined. A client and a server on one transport share these options: a later value
   * replaces an earlier one.
   * @param {import("../../types/api.js").PeerOptions | undefined} options
   */
  #configure(options, limits) {
    if (options?.onError !== undefined) this.onError = options.onError;
    Object.assign(this.#limits, limits);
    if (options?.coalesce !== undefined) this.queue.coalesce = options.coalesce;
    if (options?.paramsNull !== undefined) this.#allowsNullParams = options.paramsNull !== "invalid";
    const { pendingCalls, inFlight, batchItems } = this.#limits;
    this.#wasm.run(CONFIGURE, pendingCalls, inFlight, batchItems, this.#allowsNullParams);
  }

  // Outgoing calls.

  request(owner, method, params, timeout, options) {
    const promise = new Promise(captureResolvers);
    this.startCall(owner, method, params, timeout, options, lastResolve, lastReject);
    return promise;
  }

  /**
   * Starts a call. At its end, calls `resolve` or `reject`. The timeout is in milliseconds; a negative number means no
   * timeout. Returns the slot of the call, for `cancel`, or undefined if the call has ended. If `stream` is set, the
   * call requests a stream, and `stream` receives the items.
   */
  startCall(owner, method, params, timeout, options, resolve, reject, stream) {
    const signal = options?.signal ?? undefined;
    const problem = validateCall(method, params) ?? validateSignal(signal);
    if (problem) return reject(problem);
    if (signal?.aborted) return reject(abortReason(signal));
    const output = this.#disconnectError ? 0 : this.#wasm.run(CALL, timeout);
    if (output === 0) return reject(this.#callRefusedError(method));
    const slot = output >>> ARGUMENT_SHIFT;
    const id = ++this.#lastId;
    const calls = this.#pendingCalls;
    calls.insert(slot, id, owner, method, resolve, reject);
    if (output & RESET_TIMER && missingTimerError(timeout)) return calls.abandon(slot, missingTimerError(timeout));
    if (signal) this.#abortOn(slot, signal);
    if (stream) calls.setObserver(slot, id, stream);
    else if (options?.onProgress) calls.observeProgress(slot, id, timeout, options);
    try {
      if (options?.idempotent !== undefined && !stream) this.#transport.onIdempotent?.(id, options.idempotent);
      const message = stream === undefined ? requestOrNotification(method, params, id) : stream.message(params);
      this.queue.send(message, options?.transfer, slot);
    } catch (error) {
      // `send` does not throw, but the stack may overflow.
      this.#failCall(slot, id, error);
    }
    // If the call has ended already, it needs no timeout, so the clock is not read. The call has ended if its message
    // could not be sent, or if the transport has already delivered the response.
    if (calls.idOf(slot) !== id) return;
    this.#clock.start(output);
    return slot;
  }

  /** Ends the call in a slot, and cancels it at the peer. */
  cancel(slot, reason) {
    const id = this.#pendingCalls.idOf(slot);
    const method = this.#pendingCalls.methodOf(slot);
    this.#pendingCalls.abandon(slot, reason);
    this.cancelAtPeer(id, method, reason);
  }

  /** Notifies the peer that the response to the call with this id is not needed. */
  cancelAtPeer(id, method, reason) {
    if (this.#dialect) this.#dialect.cancel(id, method, reason);
    else this.sendIfConnected(CANCEL, { [CANCEL_ID]: id });
  }

  /**
   * Restarts the timeout of the call in a slot. `timeout`, `end` (the latest end of the call) and `time` (the current
   * time) are in milliseconds. A negative `timeout` or `end` means no limit.
   */
  resetTimeout(slot, timeout, end = -1, time = 0) {
    this.#clock.start(this.#wasm.run(RESTART, slot, timeout, end, time));
  }

  /** Sends a notification if the peer is connected. If sending fails, reports the error. */
  sendIfConnected(method, params) {
    if (!this.#disconnectError) this.runUserCode(() => this.notify(method, params));
  }

  /** Sends a notification of the application. Throws if it cannot be sent. */
  notify(method, params, transfer) {
    const problem = validateCall(method, params);
    if (problem) throw problem;
    if (this.#disconnectError) return this.report(this.#disconnectError.forCall(method));
    const message = requestOrNotification(method, params);
    const queue = this.queue;
    if (transfer !== undefined || !queue.tryEnqueue(message)) queue.sendImmediately(message, transfer);
  }

  /** Sends a notification of the protocol at once. Throws if it cannot be sent. */
  sendNotification(method, params, transfer) {
    if (!this.#disconnectError) this.queue.sendImmediately(requestOrNotification(method, params), transfer);
  }

  /** Sends a progress value of a running request. Throws if it cannot be sent. */
  sendProgress(request, value, transfer) {
    if (this.#dialect) this.#dialect.progress(request, value, transfer);
    else this.sendNotification(PROGRESS, { [PROGRESS_TOKEN]: request.id, [PROGRESS_VALUE]: value }, transfer);
  }

  /**
   * Sends or queues an item of a stream. Throws if sending fails. If a queued item later cannot be sent, the next
   * `flush` reports the error to `producer`.
   */
  sendItem(id, value, transfer, producer) {
    if (!this.#disconnectError) this.queue.sendItem(requestOrNotification(ITEM, { id, value }), transfer, producer);
  }

  /** Sends the messages that are queued until the end of the turn. */
  flush() {
    this.queue.flush();
  }

  /** Sends calls and notifications in one array. Resolves to their outcomes, in the form of `Promise.allSettled`. */
  batch(owner, calls, timeout, options) {
    if (this.#dialect) return Promise.reject(noBatches());
    if (!Array.isArray(calls)) return Promise.reject(new TypeError("a batch must be an array of calls"));
    const signal = options?.signal ?? undefined;
    let problem;
    for (const call of calls) problem ??= validateCall(call?.method, call?.params);
    problem ??= validateSignal(signal) ?? missingTimerError(timeout);
    if (problem) return Promise.reject(problem);
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    if (calls.length === 0) return Promise.resolve([]);
    if (this.#disconnectError) return Promise.reject(this.#disconnectError.forCall("batch"));
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
      if (signal) this.#abortOn(slot, signal);
      entries.push({ message: requestOrNotification(method, params, id), slot });
    }
    this.queue.sendBatch(entries);
    this.#clock.start(outputs);
    return Promise.allSettled(outcomes);
  }

  /** Returns the number of pending calls of an owner, or of all owners. */
  pending(owner) {
    return this.#pendingCalls.count(owner);
  }

  // Incoming requests.

  /**
   * Adds a server. If several servers have a method, the newest of these servers handles the requests for this method.
   */
  addServer(server) {
    this.#dispatcher.servers.unshift(server);
  }

  /** The maximum number of requests from the peer that run at the same time. */
  get maxInFlight() {
    return this.#limits.inFlight;
  }

  isRunning(request) {
    return this.#dispatcher.isRunning(request);
  }

  /**
   * Ends a request, and sends its reply. If the request is in a batch, the reply waits for the other replies of the
   * batch. The dispatcher stores the waiting reply under `token`.
   */
  respond(request, message, token) {
    const output = this.#wasm.run(RESPOND, request.slot, token);
    // A single reply is sent here, even after a trap of the wasm. A reply of a batch is sent with the other replies of
    // the batch. After a trap, `#onWasmTrap` sends the replies of batches.
    if (request.batch === undefined) {
      const isSent = message !== undefined && !this.#executor.suppressReplies;
      if (isSent && ((output & OPERATION) === REPLY || this.#wasm.trapError !== undefined)) {
        this.queue.send(message, request.transferList, undefined, request.method);
      }
    } else if (this.#wasm.trapError === undefined) this.#executor.execute(output, request, request.batch);
  }

  /**
   * Returns the rank of this link among the links that can answer a request from an origin. The rank is 3 for a hello
   * to a link with sessions. Otherwise, the rank is 2 if a server of the link has the method, and 1 if its servers have
   * only other methods. The rank is 0 if the link does not receive the request, or has no server.
   */
  answerRank(method, origin, id) {
    const { isSession, receivesFrom, boundary } = this.#internals;
    if (method === "rpc.hello" && isSession) return 3;
    // A BroadcastChannel does not deliver a request to the link that has sent it. So this link cannot answer its own
    // request, and the rank 0 leaves the request to another link.
    const isOwn = boundary.isShared && this.#pendingCalls.ids().has(id);
    return receivesFrom?.(origin) === false || isOwn ? 0 : this.#dispatcher.rank(method);
  }

  // The state of the connection.

  /** Ends the refusal of calls, since a message from the peer has arrived. */
  markConnected() {
    this.#disconnectError = undefined;
  }

  /**
   * Ends the use of the link by one owner (a client or a server), and the calls of this owner. The last owner closes
   * the link.
   */
  release(owner) {
    this.#dispatcher.removeServer(owner, this.#transport.sendsGoodbye?.());
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
    this.queue.flush();
    removeLink(this.#internals.boundary, this, this.#lastId);
    this.#internals.queue?.removeHandler();
    for (const transport of this.#transports) transport.destroy?.();
    this.#dispatcher.abortAll();
  }

  /**
   * Ends all calls, except those with the ids in `kept`. If `willReconnect` is false, later calls are refused until a
   * message arrives. The requests of the peer are aborted, unless `stillReceives` is true or the error has the reason
   * `unresponsive`. In these two cases, the peer may still receive the responses.
   */
  #onPeerLost(error, willReconnect, stillReceives, kept) {
    if (this.closed) return;
    const end = error instanceof CallError ? error : peerGoneError(undefined, error);
    if (!willReconnect) this.#disconnectError = end;
    this.#pendingCalls.abandonAll(end, undefined, kept);
    if (stillReceives || end.reason === "unresponsive") return;
    this.queue.clear();
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
    this.queue.sendEach(this.#dispatcher.failAll(TRAPPED_ERROR));
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
    // A transport may deliver a message and then throw, so the call may have ended before its sending failed.
    else if (this.#pendingCalls.idOf(slot) === id) this.#pendingCalls.abandon(slot, problem);
  }

  #callRefusedError(method) {
    const error = this.#disconnectError ?? this.#wasm.trapError;
    if (error !== undefined) return error.forCall(method);
    return new CallError("too-many-calls", `JSON-RPC call refused, too many are pending: ${method}`, method);
  }
}
