// One end of a link: reads envelopes, posts messages, and does the operations that wasm returns. It is the hot path: wasm gets and
// returns integers only, and a call allocates only its promise and its message.

import { chooseEnd, boundaryOf, addEnd, transportInternals, removeEnd, hasOtherPendingCalls } from "./boundaries.js";
import { PendingCalls, CLIENT_DESTROYED } from "./pending-calls.js";
import { Clock, now, missingTimerError } from "./clock.js";
import { ARGUMENT_SHIFT, CALL, CLOSE, CONFIGURE, HAS_MORE, OPERATION, PUSH, RECEIVE, RECEIVE_BATCH, RECEIVE_UNREADABLE, REPLY, REQUEST, RESET_TIMER, RESOLVE, RESPOND, RESTART } from "./wasm-abi.js";
import { COLUMNS, decodeColumns } from "./columns.js";
import { WasmConnection } from "./wasm-instance.js";
import { separateAnswers, hasName, encodeId, isMessage, isMessageOrBatch, isResponse } from "./envelope.js";
import { CallError, TRAPPED_ERROR, peerGoneError } from "./errors.js";
import { IncomingMessage } from "./incoming-message.js";
import { DEFAULTS, MAX_LIST_LENGTH } from "./limit-values.js";
import { parseLimits } from "./limits.js";
import { SendQueue } from "./send-queue.js";
import { requestOrNotification, validateCall, abortReason, validateSignal } from "./messages.js";
import { OutputExecutor } from "./wasm-outputs.js";
import { ErrorReporter } from "./error-reporter.js";
import { RequestDispatcher } from "./request-dispatcher.js";
import { ParamsIsolator } from "./shared-params.js";
import { STREAM } from "./streams.js";
import { UnreadableTimer } from "./unreadable-timer.js";

/** Links by transport, or by the hub that several transports on one boundary share. All clients and servers on it share one. */
const links = new WeakMap();

// One executor for all promises; it leaves the two functions here.
let lastResolve;
let lastReject;
const captureResolvers = (resolve, reject) => {
  lastResolve = resolve;
  lastReject = reject;
};

export class Link extends ErrorReporter {
  closed = false;
  /** How many messages were for nobody: answers to no call that waits, and what is no message at all. */
  ignored = 0;
  /** Why calls are refused, while they are: a `CallError`. */
  #disconnectError = undefined;
  /** The session that messages come by; without sessions, the boundary. `end` is a `CallError`, once it has ended. */
  #session = { link: this, end: undefined };
  #transport;
  /** The transports that this link was made on, which end with it. */
  #transports = new Set();
  #internals;
  #wasm;
  #sendQueue;
  #executor;
  #pendingCalls;
  #dispatcher = new RequestDispatcher(this);
  #users = 0;
  #lastBatch = 0;
  /** wasm counts the calls, too. */
  #lastId;
  #limits = { ...DEFAULTS };
  #allowsNullParams = true;
  #clock;
  #unreadableTimer = new UnreadableTimer(() => this.#pendingCalls.ids(), (error) => this.#receiveUnreadable(error, [undefined]));

  /** The link on this transport. Each user lets go of it with `leave`. */
  static on(transport, options) {
    const limits = parseLimits(options?.limits);
    const internals = transportInternals.get(transport);
    const end = internals ?? transport;
    let link = links.get(end);
    if (link === undefined || link.closed) {
      link = new Link(end, internals);
      links.set(end, link);
    }
    link.#transports.add(transport);
    link.#configure(options, limits);
    link.#users++;
    return link;
  }

  /** `inside` is what stands behind a transport of the library. */
  constructor(transport, internals) {
    if (typeof transport?.send !== "function" || typeof transport.onMessage !== "function") {
      throw new TypeError("a transport is an object with the functions send and onMessage, such as workerTransport(worker)");
    }
    super();
    this.#internals = internals ?? { boundary: boundaryOf(transport) };
    this.#lastId = addEnd(this.#internals.boundary, this);
    this.#wasm = new WasmConnection(() => this.#onWasmTrap(), this.#lastId);
    this.#pendingCalls = new PendingCalls(this.#wasm);
    this.#transport = transport;
    this.#dispatcher.atWork = transport.atWork;
    this.#sendQueue = new SendQueue(transport, (entry, problem) => this.#onSendFailed(entry, problem), (problem) => this.report(problem));
    this.#executor = new OutputExecutor(this, this.#wasm, this.#pendingCalls, this.#dispatcher, this.#sendQueue);
    this.#clock = new Clock(this.#wasm, (output) => this.#executor.execute(output));
    // What a transport hands over at once waits until whoever makes this link has said what to do with it.
    let isReady = false;
    transport.onMessage((message) => {
      if (isReady) this.#receive(message);
      else Promise.resolve().then(() => this.#receive(message));
    }, () => this.#dispatcher.servers.length > 0);
    const isWaiting = () => this.#pendingCalls.ids().size > 0;
    transport.onClose?.((...end) => this.#onPeerLost(...end), isWaiting, () => this.#pendingCalls.ids());
    transport.onError?.((error, answers) => (answers === undefined ? this.report(error) : this.#receiveUnreadable(error, answers)));
    isReady = true;
  }

  /** Takes over the options that are given: those of a client and of a server on one transport add up. */
  #configure(options, limits) {
    if (options?.onError !== undefined) this.onError = options.onError;
    Object.assign(this.#limits, limits);
    if (options?.coalesce !== undefined) this.#sendQueue.coalesce = options.coalesce;
    if (options?.paramsNull !== undefined) this.#allowsNullParams = options.paramsNull !== "invalid";
    const { pendingCalls, inFlight, batchItems } = this.#limits;
    this.#wasm.run(CONFIGURE, pendingCalls, inFlight, batchItems, this.#allowsNullParams);
  }

  // Our calls.

  request(owner, method, params, timeout, options) {
    const promise = new Promise(captureResolvers);
    this.startCall(owner, method, params, timeout, options, lastResolve, lastReject);
    return promise;
  }

  /**
   * Makes a call that ends by `resolve` or `reject`; a timeout in milliseconds, negative for none. Gives its slot, by which
   * it can be cancelled while it waits. With a `stream`, the items of the method are asked for.
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
    this.#pendingCalls.insert(slot, id, owner, method, resolve, reject);
    if (output & RESET_TIMER && missingTimerError(timeout)) return this.#pendingCalls.abandon(slot, missingTimerError(timeout));
    if (signal !== undefined) this.#abortOn(slot, signal);
    if (stream !== undefined) this.#pendingCalls.setObserver(slot, id, stream);
    else if (options?.onProgress) this.#pendingCalls.observeProgress(slot, id, timeout, options);
    try {
      const message = stream === undefined ? requestOrNotification(method, params, id) : stream.message(params);
      this.#sendQueue.send(message, options?.transfer, slot);
    } catch (error) {
      // The stack may be full.
      this.#failCall(slot, id, error);
    }
    // It may have ended: not everything can be sent, and some transports deliver at once. Then no clock is read.
    if (this.#pendingCalls.idOf(slot) !== id) return;
    this.#clock.start(output);
    return slot;
  }

  /** Gives up the call in a slot, and tells the peer. */
  cancel(slot, reason) {
    const id = this.#pendingCalls.idOf(slot);
    this.#pendingCalls.abandon(slot, reason);
    this.sendIfConnected("$/cancelRequest", { id });
  }

  /** Ends the call in a slot. */
  abandon(slot, error) {
    this.#pendingCalls.abandon(slot, error);
  }

  /** Restarts the timeout of the call in a slot. `timeout` is in milliseconds; the call ends by `end`; negative for none. */
  resetTimeout(slot, timeout, end = -1, time = 0) {
    this.#clock.start(this.#wasm.run(RESTART, slot, timeout, end, time));
  }

  /** Notifies the other side, if it is there. */
  sendIfConnected(method, params) {
    if (this.#disconnectError === undefined) this.runUserCode(() => this.notify(method, params));
  }

  /** Sends a notification; throws if it cannot be sent. */
  notify(method, params, transfer) {
    const problem = validateCall(method, params);
    if (problem !== undefined) throw problem;
    if (this.#disconnectError !== undefined) return this.report(this.#disconnectError.forCall(method));
    const message = requestOrNotification(method, params);
    if (transfer !== undefined || !this.#sendQueue.tryEnqueue(message)) this.#sendQueue.sendImmediately(message, transfer);
  }

  /** Sends a notification of the library's own; throws if it cannot be sent. */
  sendNotification(method, params, transfer) {
    if (this.#disconnectError === undefined) this.#sendQueue.sendImmediately(requestOrNotification(method, params), transfer);
  }

  /** Sends an item of a stream. What keeps it from being sent is thrown here, or told to the `outflow` by the next `flush`. */
  sendItem(id, value, transfer, producer) {
    if (this.#disconnectError === undefined) this.#sendQueue.sendItem(requestOrNotification("rpc.item", { id, value }), transfer, producer);
  }

  /** Sends what waits for the end of the turn. */
  flush() {
    this.#sendQueue.flush();
  }

  /** Sends calls and notifications in one array; resolves to the outcome of each. */
  batch(owner, calls, timeout, options) {
    if (!Array.isArray(calls)) return Promise.reject(new TypeError("a batch is an array of calls"));
    for (const call of calls) {
      const problem = validateCall(call?.method, call?.params);
      if (problem !== undefined) return Promise.reject(problem);
    }
    const signal = options?.signal ?? undefined;
    const problem = validateSignal(signal) ?? missingTimerError(timeout);
    if (problem !== undefined) return Promise.reject(problem);
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    if (calls.length === 0) return Promise.resolve([]);
    if (this.#disconnectError !== undefined) return Promise.reject(this.#disconnectError.forCall("batch"));
    const batch = ++this.#lastBatch;
    let timerOutput = 0;
    const outcomes = [];
    const entries = [];
    for (const { method, params, notify } of calls) {
      const output = notify ? 0 : this.#wasm.run(CALL, timeout, batch);
      if (notify || output === 0) {
        outcomes.push(notify ? undefined : Promise.reject(this.#callRefusedError(method)));
        if (notify) entries.push({ message: requestOrNotification(method, params) });
        continue;
      }
      timerOutput |= output;
      const slot = output >>> ARGUMENT_SHIFT;
      const id = ++this.#lastId;
      outcomes.push(new Promise(captureResolvers));
      this.#pendingCalls.insert(slot, id, owner, method, lastResolve, lastReject);
      if (signal !== undefined) this.#abortOn(slot, signal);
      entries.push({ message: requestOrNotification(method, params, id), slot });
    }
    this.#sendQueue.sendBatch(entries);
    this.#clock.start(timerOutput);
    return Promise.allSettled(outcomes);
  }

  pending(owner) {
    return this.#pendingCalls.count(owner);
  }

  // The peer's requests.

  /** Lets somebody serve; the newest is asked first. */
  addServer(server) {
    this.#dispatcher.servers.unshift(server);
  }

  /** So many requests of the peer may be at work. */
  get maxInFlight() {
    return this.#limits.inFlight;
  }

  isRunning(request) {
    return this.#dispatcher.isRunning(request);
  }

  /** A request has its reply; if it came in a batch, `token` is where the reply waits for the others. */
  respond(request, message, token) {
    const output = this.#wasm.run(RESPOND, request.slot, token);
    // By itself it goes out even if the wasm has died. That of a batch is kept, and goes out with the rest of it.
    if (request.batch === undefined) {
      const isSent = message !== undefined && !this.#executor.suppressReplies;
      if (isSent && ((output & OPERATION) === REPLY || this.#wasm.trapError !== undefined)) {
        this.#sendQueue.send(message, request.transferList, undefined, request.method);
      }
    } else if (this.#wasm.trapError === undefined) this.#executor.execute(output, request, request.batch);
  }

  // Letting go.

  /** One user of the link is done with it: its own calls end. The last one closes the link. */
  release(owner) {
    this.#dispatcher.removeServer(owner, this.#transport.saysGoodbye?.());
    this.#pendingCalls.abandonStreams(CLIENT_DESTROYED, owner);
    if (--this.#users === 0) this.#close();
    else this.#pendingCalls.abandonAll(CLIENT_DESTROYED, owner);
  }

  #close() {
    this.closed = true;
    this.#disconnectError = CLIENT_DESTROYED;
    for (const part of [this.#clock, this.#unreadableTimer]) part.stop();
    this.#executor.execute(this.#wasm.run(CLOSE));
    this.#wasm.free();
    this.#sendQueue.flush();
    removeEnd(this.#internals.boundary, this, this.#lastId);
    this.#internals.detach?.();
    for (const transport of this.#transports) transport.destroy?.();
    this.#dispatcher.abortAll();
  }

  /**
   * The other side has gone. If it may be back (`reopens`), calls are sent as ever; else they are refused until then. One
   * that `listens` still takes answers.
   */
  #onPeerLost(error, willReconnect, stillReceives) {
    if (this.closed) return;
    const end = error instanceof CallError ? error : peerGoneError(undefined, error);
    if (!willReconnect) this.#disconnectError = end;
    this.#pendingCalls.abandonAll(end);
    // Who merely does not answer may still wait for answers.
    if (stillReceives || end.reason === "unresponsive") return;
    this.#sendQueue.clear();
    this.#executor.suppressReplies = true;
    this.#session.end = end;
    this.#session = { link: this, end: undefined };
    this.#dispatcher.discardAll();
    this.#executor.suppressReplies = false;
    this.#dispatcher.abortAll(end);
  }

  /** The wasm has died, and all that it knew: every call ends, and every request is answered. */
  #onWasmTrap() {
    if (this.closed) return;
    this.#clock.stop();
    this.#sendQueue.sendEach(this.#dispatcher.failAll(TRAPPED_ERROR));
    const end = this.#wasm.trapError;
    this.#pendingCalls.abandonStreams(end);
    this.#onPeerLost(end);
  }

  // What comes in.

  #receive(message) {
    try {
      // A proxy that was revoked throws.
      if (!Array.isArray(message)) return this.#receiveSingle(message);
      if (this.closed || !isMessageOrBatch(message)) return;
      if (!this.#sendQueue.acceptsLists || message.length > MAX_LIST_LENGTH) return this.#receiveBatch(message);
      const [answers, others] = separateAnswers(message);
      if (answers.length > 0) this.#receiveBatch(answers);
      this.#receiveEach(others);
    } catch (error) {
      this.report(error);
    }
  }

  /** Takes messages that have come together, until their session ends. All are read before any of their handlers runs. */
  #receiveEach(messages) {
    const session = this.#session;
    const isolator = new ParamsIsolator();
    const read = [];
    for (const message of messages) read.push(this.#parse(message, isolator));
    for (const incoming of read) if (incoming !== undefined && session.end === undefined) this.#handle(incoming, true);
  }

  /** Takes a message that has come by itself. */
  #receiveSingle(message) {
    const incoming = this.#parse(message);
    if (incoming !== undefined) this.#handle(incoming, false);
  }

  /** Reads a message, if it is one. If it has come with others, `event` keeps their params apart. */
  #parse(message, isolator) {
    // The members of a value that never crossed a real boundary may be getters that throw.
    try {
      if (isMessage(message) && !isolator?.isDuplicate(message)) return new IncomingMessage(this.#session, message, this.#limits.idLength, isolator, this.#internals.lastOrigin?.());
    } catch (error) {
      this.report(error);
    }
  }

  #handle(incoming, isListItem) {
    try {
      if (this.closed) return;
      this.#disconnectError = undefined;
      if (incoming.method !== undefined && !this.#handleControlOrAccept(incoming, isListItem)) return;
      const output = this.#wasm.run(RECEIVE, incoming.shape, encodeId(incoming.id, 0));
      // The two of the hot path, without a detour.
      const operation = output & (OPERATION | HAS_MORE);
      if (operation === RESOLVE) return this.#pendingCalls.resolve(output >>> ARGUMENT_SHIFT, incoming.result);
      if (operation === REQUEST) return this.#dispatcher.dispatch(output >>> ARGUMENT_SHIFT, incoming);
      if (this.#wasm.trapError === undefined) this.#executor.execute(output, incoming);
      else this.#sendQueue.rejectRequests(incoming, TRAPPED_ERROR);
    } catch (error) {
      this.report(error);
    }
  }

  #receiveBatch(items) {
    const session = this.#session;
    this.#disconnectError = undefined;
    const elements = [];
    // A request at work keeps the ids, and no elements.
    const batch = { elements, ids: [] };
    const positions = new Map();
    const isolator = new ParamsIsolator();
    const origin = this.#internals.lastOrigin?.();
    const { batchItems, idLength } = this.#limits;
    let calls = 0;
    let answers = 0;
    // All is read before wasm is told of any: to read may throw, or lead back here.
    for (const item of items) {
      if (isolator.isDuplicate(item)) continue;
      const message = new IncomingMessage(session, item, idLength, calls > batchItems ? undefined : isolator, origin);
      // One call more than allowed is enough for wasm to refuse them; and there are not more answers than calls of ours,
      // but perhaps to some that have ended.
      const isAnswer = isResponse(message.shape);
      if (isAnswer ? answers++ > this.#pendingCalls.capacity + batchItems : calls++ > batchItems) continue;
      if (message.method !== undefined && !this.#handleControlOrAccept(message, true)) continue;
      if (!isAnswer && !positions.has(message.id)) positions.set(message.id, elements.length);
      batch.ids.push(isAnswer ? undefined : message.id);
      elements.push(message);
    }
    if (this.closed || session.end !== undefined || elements.length === 0) return;
    for (const { shape, id } of elements) this.#wasm.run(PUSH, shape, encodeId(id, positions.get(id) ?? 0));
    const output = this.#wasm.run(RECEIVE_BATCH);
    if (this.#wasm.trapError === undefined) this.#executor.execute(output, undefined, batch);
    else this.#sendQueue.rejectRequests(elements, TRAPPED_ERROR);
    batch.elements = undefined;
  }

  /** Whether a message with a method is for this end; one that serves nobody leaves calls to others on the same channel. */
  #handleControlOrAccept({ method, params, id, shape, origin }, isListItem) {
    if (id === undefined && hasName(shape)) {
      if (method === "$/progress") {
        const observer = this.#pendingCalls.observer(params?.token);
        if (observer?.onProgress !== undefined) return this.#progress(observer, params.value), false;
      } else if (method === "$/cancelRequest") {
        return this.#dispatcher.cancel(params?.id), false;
      } else if (method === COLUMNS) {
        return this.#receiveColumns(params, isListItem), false;
      } else if (method.startsWith("rpc.")) {
        return this.#handleProtocolNotification(method, params), false;
      }
    }
    return this.#dispatcher.servers.length > 0 && (this.#internals.boundary.ends.size < 2 || id === undefined || this.#shouldAnswer(method, params, id, origin));
  }

  /** Whether this end answers a request that other ends on its boundary hear, too: one that has the method goes first. */
  #shouldAnswer(method, params, id, origin) {
    const asked = method === STREAM ? params?.method : method;
    // What this end does not hear on the boundary has come by a session of its own.
    return this.answerRank(asked, origin, id) === 0 || this === chooseEnd(this.#internals.boundary, this, asked, origin, id);
  }

  /** Of a method that is called from an origin: 3 if it is a session's own, 2 if this end has it, 1 if it serves others, 0 if it does not hear the call. */
  answerRank(method, origin, id) {
    if (method === "rpc.hello" && this.#internals.isSession) return 3;
    // A channel does not deliver a call to its own sender.
    const isDeaf = this.#internals.receivesFrom?.(origin) === false || (this.#internals.boundary.isShared && this.#pendingCalls.ids().has(id));
    return isDeaf ? 0 : this.#dispatcher.rank(method);
  }

  /** Handles an unreadable message. `answers` are the ids that it answers, undefined for an unknown id; null if it may be none. */
  #receiveUnreadable(error, answers) {
    if (answers === null) return this.#unreadableTimer.start(error);
    for (const id of answers) {
      if (this.closed || (id === undefined && hasOtherPendingCalls(this.#internals.boundary, this))) continue;
      this.#executor.execute(this.#wasm.run(RECEIVE_UNREADABLE, id ?? -1), { error });
    }
  }

  #receiveColumns(params, isListItem) {
    // Columns of columns could be told in a few bytes, and take for ever.
    const messages = isListItem ? [] : decodeColumns(Object(params));
    if (messages.length === 0) this.ignored++;
    this.#receiveEach(messages);
  }

  /** The other side is at work on a call, which so may take longer. */
  #progress({ slot, onProgress, timeout, end }, value) {
    if (timeout >= 0) this.resetTimeout(slot, timeout, end, now());
    this.runUserCode(() => onProgress(value));
  }

  /** Takes a notification with a reserved name. */
  #handleProtocolNotification(method, params) {
    if (method === "rpc.item") this.#pendingCalls.observer(params?.id)?.item?.(params.value);
    else if (method === "rpc.credit") this.#dispatcher.addCredit(params?.id, params?.count);
    else this.runUserCode(() => this.#transport.onControl?.(method, params));
  }

  // What goes out.

  #abortOn(slot, signal) {
    this.#pendingCalls.abortOn(slot, signal, (slot) => this.cancel(slot, abortReason(signal)));
  }

  #onSendFailed({ slot, message, producer }, problem) {
    if (producer !== undefined) producer.fail(problem);
    else this.#failCall(slot, message.id, problem);
  }

  /** A call or notification cannot be sent. */
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
