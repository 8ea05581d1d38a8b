// One end of a link: reads envelopes, posts messages, and does the operations that wasm returns. It is the hot path: wasm gets and
// returns integers only, and a call allocates only its promise and its message.

import { answering, boundaryOf, enter, insides, leave, othersWait } from "./boundaries.js";
import { Calls, DESTROYED } from "./pending-calls.js";
import { Clock, now, timerProblem } from "./clock.js";
import { CALL, CLOSE, CONFIGURE, PUSH, RECEIVE, RECEIVE_BATCH, RESPOND, RESTART, UNREADABLE } from "./wasm-commands.js";
import { COLUMNS, unpacked } from "./columns.js";
import { Core } from "./wasm-instance.js";
import { besideRefusal, hasName, idNumber, isMessage, isOurs, isResponse } from "./envelope.js";
import { CallError, DEAD, gone } from "./errors.js";
import { Incoming } from "./request-context.js";
import { DEFAULTS, MAX_TOGETHER } from "./limit-values.js";
import { checkedLimits } from "./limits.js";
import { Outbox } from "./send-queue.js";
import { callMessage, callProblem, reasonOf, signalProblem } from "./messages.js";
import { Outputs } from "./wasm-outputs.js";
import { Reporting } from "./reporting.js";
import { Service } from "./request-dispatcher.js";
import { ParamsOfEvent } from "./shared-params.js";
import { STREAM } from "./streams.js";
import { UnreadableTimer } from "./unreadable-timer.js";
import { ARGUMENT_SHIFT, ARM, MORE, OPERATION, REPLY, REQUEST, RESOLVE } from "./wasm-output.js";

/** Links by transport, or by the hub that several transports on one boundary share. All clients and servers on it share one. */
const links = new WeakMap();

// One executor for all promises; it leaves the two functions here.
let resolver;
let rejecter;
const executor = (resolve, reject) => {
  resolver = resolve;
  rejecter = reject;
};

export class Link extends Reporting {
  closed = false;
  /** How many messages were for nobody: answers to no call that waits, and what is no message at all. */
  ignored = 0;
  /** Why calls are refused, while they are: a `CallError`. */
  #gone = undefined;
  /** The session that messages come by; without sessions, the boundary. `end` is a `CallError`, once it has ended. */
  #session = { link: this, end: undefined };
  #transport;
  /** The transports that this link was made on, which end with it. */
  #transports = new Set();
  #inside;
  #core;
  #outbox;
  #outputs;
  #calls;
  #service = new Service(this);
  #users = 0;
  #lastBatch = 0;
  /** wasm counts the calls, too. */
  #lastId;
  #limits = { ...DEFAULTS };
  #nullParams = true;
  #clock;
  #unreadableTimer = new UnreadableTimer(() => this.#calls.waiting(), (error) => this.#receiveUnreadable(error, [undefined]));

  /** The link on this transport. Each user lets go of it with `leave`. */
  static on(transport, options) {
    const limits = checkedLimits(options?.limits);
    const inside = insides.get(transport);
    const end = inside ?? transport;
    let link = links.get(end);
    if (link === undefined || link.closed) {
      link = new Link(end, inside);
      links.set(end, link);
    }
    link.#transports.add(transport);
    link.#configure(options, limits);
    link.#users++;
    return link;
  }

  /** `inside` is what stands behind a transport of the library. */
  constructor(transport, inside) {
    if (typeof transport?.send !== "function" || typeof transport.onMessage !== "function") {
      throw new TypeError("a transport is an object with the functions send and onMessage, such as workerTransport(worker)");
    }
    super();
    this.#inside = inside ?? { boundary: boundaryOf(transport) };
    this.#lastId = enter(this.#inside.boundary, this);
    this.#core = new Core(() => this.#die(), this.#lastId);
    this.#calls = new Calls(this.#core);
    this.#transport = transport;
    this.#service.atWork = transport.atWork;
    this.#outbox = new Outbox(transport, (entry, problem) => this.#dropEntry(entry, problem), (problem) => this.report(problem));
    this.#outputs = new Outputs(this, this.#core, this.#calls, this.#service, this.#outbox);
    this.#clock = new Clock(this.#core, (word) => this.#outputs.perform(word));
    // What a transport hands over at once waits until whoever makes this link has said what to do with it.
    let isReady = false;
    transport.onMessage((message) => {
      if (isReady) this.#receive(message);
      else Promise.resolve().then(() => this.#receive(message));
    }, () => this.#service.servers.length > 0);
    const isWaiting = () => this.#calls.waiting().size > 0;
    transport.onClose?.((...end) => this.#lose(...end), isWaiting, () => this.#calls.waiting());
    transport.onError?.((error, answers) => (answers === undefined ? this.report(error) : this.#receiveUnreadable(error, answers)));
    isReady = true;
  }

  /** Takes over the options that are given: those of a client and of a server on one transport add up. */
  #configure(options, limits) {
    if (options?.onError !== undefined) this.onError = options.onError;
    Object.assign(this.#limits, limits);
    if (options?.coalesce !== undefined) this.#outbox.coalesce = options.coalesce;
    if (options?.paramsNull !== undefined) this.#nullParams = options.paramsNull !== "invalid";
    const { pendingCalls, inFlight, batchItems } = this.#limits;
    this.#core.run(CONFIGURE, pendingCalls, inFlight, batchItems, this.#nullParams);
  }

  // Our calls.

  request(owner, method, params, timeout, options) {
    const promise = new Promise(executor);
    this.begin(owner, method, params, timeout, options, resolver, rejecter);
    return promise;
  }

  /**
   * Makes a call that ends by `resolve` or `reject`; a timeout in milliseconds, negative for none. Gives its slot, by which
   * it can be cancelled while it waits. With a `stream`, the items of the method are asked for.
   */
  begin(owner, method, params, timeout, options, resolve, reject, stream) {
    const signal = options?.signal ?? undefined;
    const problem = callProblem(method, params) ?? signalProblem(signal);
    if (problem !== undefined) return reject(problem);
    if (signal?.aborted) return reject(reasonOf(signal));
    const word = this.#gone === undefined ? this.#core.run(CALL, timeout) : 0;
    if (word === 0) return reject(this.#refusal(method));
    const slot = word >>> ARGUMENT_SHIFT;
    const id = ++this.#lastId;
    this.#calls.keep(slot, id, owner, method, resolve, reject);
    if (word & ARM && timerProblem(timeout)) return this.#calls.drop(slot, timerProblem(timeout));
    if (signal !== undefined) this.#watch(slot, signal);
    if (stream !== undefined) this.#calls.listen(slot, id, stream);
    else if (options?.onProgress) this.#calls.listenToProgress(slot, id, timeout, options);
    try {
      const message = stream === undefined ? callMessage(method, params, id) : stream.message(params);
      this.#outbox.send(message, options?.transfer, slot);
    } catch (error) {
      // The stack may be full.
      this.#drop(slot, id, error);
    }
    // It may have ended: not everything can be sent, and some transports deliver at once. Then no clock is read.
    if (this.#calls.idOf(slot) !== id) return;
    this.#clock.start(word);
    return slot;
  }

  /** Gives up the call in a slot, and tells the peer. */
  cancel(slot, reason) {
    const id = this.#calls.idOf(slot);
    this.#calls.drop(slot, reason);
    this.tell("$/cancelRequest", { id });
  }

  /** Ends the call in a slot. */
  drop(slot, error) {
    this.#calls.drop(slot, error);
  }

  /** Restarts the timeout of the call in a slot. `timeout` is in milliseconds; the call ends by `end`; negative for none. */
  restart(slot, timeout, end = -1, time = 0) {
    this.#clock.start(this.#core.run(RESTART, slot, timeout, end, time));
  }

  /** Notifies the other side, if it is there. */
  tell(method, params) {
    if (this.#gone === undefined) this.guard(() => this.notify(method, params));
  }

  /** Sends a notification; throws if it cannot be sent. */
  notify(method, params, transfer) {
    const problem = callProblem(method, params);
    if (problem !== undefined) throw problem;
    if (this.#gone !== undefined) return this.report(this.#gone.of(method));
    const message = callMessage(method, params);
    if (transfer !== undefined || !this.#outbox.keep(message)) this.#outbox.sendNow(message, transfer);
  }

  /** Sends a notification of the library's own; throws if it cannot be sent. */
  notifyNow(method, params, transfer) {
    if (this.#gone === undefined) this.#outbox.sendNow(callMessage(method, params), transfer);
  }

  /** Sends an item of a stream. What keeps it from being sent is thrown here, or told to the `outflow` by the next `flush`. */
  sendItem(id, value, transfer, outflow) {
    if (this.#gone === undefined) this.#outbox.sendItem(callMessage("rpc.item", { id, value }), transfer, outflow);
  }

  /** Sends what waits for the end of the turn. */
  flush() {
    this.#outbox.flush();
  }

  /** Sends calls and notifications in one array; resolves to the outcome of each. */
  batch(owner, calls, timeout, options) {
    if (!Array.isArray(calls)) return Promise.reject(new TypeError("a batch is an array of calls"));
    for (const call of calls) {
      const problem = callProblem(call?.method, call?.params);
      if (problem !== undefined) return Promise.reject(problem);
    }
    const signal = options?.signal ?? undefined;
    const problem = signalProblem(signal) ?? timerProblem(timeout);
    if (problem !== undefined) return Promise.reject(problem);
    if (signal?.aborted) return Promise.reject(reasonOf(signal));
    if (calls.length === 0) return Promise.resolve([]);
    if (this.#gone !== undefined) return Promise.reject(this.#gone.of("batch"));
    const batch = ++this.#lastBatch;
    let arm = 0;
    const outcomes = [];
    const entries = [];
    for (const { method, params, notify } of calls) {
      const word = notify ? 0 : this.#core.run(CALL, timeout, batch);
      if (notify || word === 0) {
        outcomes.push(notify ? undefined : Promise.reject(this.#refusal(method)));
        if (notify) entries.push({ message: callMessage(method, params) });
        continue;
      }
      arm |= word;
      const slot = word >>> ARGUMENT_SHIFT;
      const id = ++this.#lastId;
      outcomes.push(new Promise(executor));
      this.#calls.keep(slot, id, owner, method, resolver, rejecter);
      if (signal !== undefined) this.#watch(slot, signal);
      entries.push({ message: callMessage(method, params, id), slot });
    }
    this.#outbox.sendTogether(entries);
    this.#clock.start(arm);
    return Promise.allSettled(outcomes);
  }

  pending(owner) {
    return this.#calls.count(owner);
  }

  // The peer's requests.

  /** Lets somebody serve; the newest is asked first. */
  addServer(server) {
    this.#service.servers.unshift(server);
  }

  /** So many requests of the peer may be at work. */
  get mostAtWork() {
    return this.#limits.inFlight;
  }

  isRunning(context) {
    return this.#service.isRunning(context);
  }

  /** A request has its reply; if it came in a batch, `token` is where the reply waits for the others. */
  respond(context, message, token) {
    const word = this.#core.run(RESPOND, context.slot, token);
    // By itself it goes out even if the wasm has died. That of a batch is kept, and goes out with the rest of it.
    if (context.batch === undefined) {
      const isSent = message !== undefined && !this.#outputs.isMuted;
      if (isSent && ((word & OPERATION) === REPLY || this.#core.death !== undefined)) {
        this.#outbox.send(message, context.list, undefined, context.method);
      }
    } else if (this.#core.death === undefined) this.#outputs.perform(word, context, context.batch);
  }

  // Letting go.

  /** One user of the link is done with it: its own calls end. The last one closes the link. */
  leave(owner) {
    this.#service.leave(owner, this.#transport.saysGoodbye?.());
    this.#calls.dropStreams(DESTROYED, owner);
    if (--this.#users === 0) this.#close();
    else this.#calls.dropAll(DESTROYED, owner);
  }

  #close() {
    this.closed = true;
    this.#gone = DESTROYED;
    for (const part of [this.#clock, this.#unreadableTimer]) part.stop();
    this.#outputs.perform(this.#core.run(CLOSE));
    this.#core.free();
    this.#outbox.flush();
    leave(this.#inside.boundary, this, this.#lastId);
    this.#inside.detach?.();
    for (const transport of this.#transports) transport.destroy?.();
    this.#service.stop();
  }

  /**
   * The other side has gone. If it may be back (`reopens`), calls are sent as ever; else they are refused until then. One
   * that `listens` still takes answers.
   */
  #lose(error, reopens, listens) {
    if (this.closed) return;
    const end = error instanceof CallError ? error : gone(undefined, error);
    if (!reopens) this.#gone = end;
    this.#calls.dropAll(end);
    // Who merely does not answer may still wait for answers.
    if (listens || end.reason === "unresponsive") return;
    this.#outbox.clear();
    this.#outputs.isMuted = true;
    this.#session.end = end;
    this.#session = { link: this, end: undefined };
    this.#service.drop();
    this.#outputs.isMuted = false;
    this.#service.stop(end);
  }

  /** The wasm has died, and all that it knew: every call ends, and every request is answered. */
  #die() {
    if (this.closed) return;
    this.#clock.stop();
    this.#outbox.sendEach(this.#service.surrender(DEAD));
    const end = this.#core.death;
    this.#calls.dropStreams(end);
    this.#lose(end);
  }

  // What comes in.

  #receive(message) {
    try {
      // A proxy that was revoked throws.
      if (!Array.isArray(message)) return this.#receiveOne(message);
      if (this.closed || !isOurs(message)) return;
      if (!this.#outbox.takesLists || message.length > MAX_TOGETHER) return this.#receiveBatch(message);
      const [answers, others] = besideRefusal(message);
      if (answers.length > 0) this.#receiveBatch(answers);
      this.#receiveEach(others);
    } catch (error) {
      this.report(error);
    }
  }

  /** Takes messages that have come together, until their session ends. All are read before any of their handlers runs. */
  #receiveEach(messages) {
    const session = this.#session;
    const event = new ParamsOfEvent();
    const read = [];
    for (const message of messages) read.push(this.#read(message, event));
    for (const incoming of read) if (incoming !== undefined && session.end === undefined) this.#take(incoming, true);
  }

  /** Takes a message that has come by itself. */
  #receiveOne(message) {
    const incoming = this.#read(message);
    if (incoming !== undefined) this.#take(incoming, false);
  }

  /** Reads a message, if it is one. If it has come with others, `event` keeps their params apart. */
  #read(message, event) {
    // The members of a value that never crossed a real boundary may be getters that throw.
    try {
      if (isMessage(message) && !event?.isRepeated(message)) return new Incoming(this.#session, message, this.#limits.idLength, event);
    } catch (error) {
      this.report(error);
    }
  }

  #take(incoming, isPart) {
    try {
      if (this.closed) return;
      this.#gone = undefined;
      if (incoming.method !== undefined && !this.#wants(incoming, isPart)) return;
      const word = this.#core.run(RECEIVE, incoming.shape, idNumber(incoming.id, 0));
      // The two of the hot path, without a detour.
      const operation = word & (OPERATION | MORE);
      if (operation === RESOLVE) return this.#calls.resolve(word >>> ARGUMENT_SHIFT, incoming.result);
      if (operation === REQUEST) return this.#service.serve(word >>> ARGUMENT_SHIFT, incoming);
      if (this.#core.death === undefined) this.#outputs.perform(word, incoming);
      else this.#outbox.refuse(incoming, DEAD);
    } catch (error) {
      this.report(error);
    }
  }

  #receiveBatch(items) {
    const session = this.#session;
    this.#gone = undefined;
    const elements = [];
    // A request at work keeps the ids, and no elements.
    const batch = { elements, ids: [] };
    const places = new Map();
    const event = new ParamsOfEvent();
    const { batchItems, idLength } = this.#limits;
    let calls = 0;
    let answers = 0;
    // All is read before wasm is told of any: to read may throw, or lead back here.
    for (const item of items) {
      if (event.isRepeated(item)) continue;
      const message = new Incoming(session, item, idLength, calls > batchItems ? undefined : event);
      // One call more than allowed is enough for wasm to refuse them; and there are not more answers than calls of ours,
      // but perhaps to some that have ended.
      const isAnswer = isResponse(message.shape);
      if (isAnswer ? answers++ > this.#calls.most + batchItems : calls++ > batchItems) continue;
      if (message.method !== undefined && !this.#wants(message, true)) continue;
      if (!isAnswer && !places.has(message.id)) places.set(message.id, elements.length);
      batch.ids.push(isAnswer ? undefined : message.id);
      elements.push(message);
    }
    if (this.closed || session.end !== undefined || elements.length === 0) return;
    for (const { shape, id } of elements) this.#core.run(PUSH, shape, idNumber(id, places.get(id) ?? 0));
    const word = this.#core.run(RECEIVE_BATCH);
    if (this.#core.death === undefined) this.#outputs.perform(word, undefined, batch);
    else this.#outbox.refuse(elements, DEAD);
    batch.elements = undefined;
  }

  /** Whether a message with a method is for this end; one that serves nobody leaves calls to others on the same channel. */
  #wants({ method, params, id, shape }, isPart) {
    if (id === undefined && hasName(shape)) {
      if (method === "$/progress") {
        const listener = this.#calls.listener(params?.token);
        if (listener?.onProgress !== undefined) return this.#progress(listener, params.value), false;
      } else if (method === "$/cancelRequest") {
        return this.#service.giveUp(params?.id), false;
      } else if (method === COLUMNS) {
        return this.#receiveColumns(params, isPart), false;
      } else if (method.startsWith("rpc.")) {
        return this.#control(method, params), false;
      }
    }
    return this.#service.servers.length > 0 && (this.#inside.boundary.ends.size < 2 || id === undefined || this.#answers(method, params, id));
  }

  /** Whether this end answers a request that other ends on its boundary hear, too: one that has the method goes first. */
  #answers(method, params, id) {
    const asked = method === STREAM ? params?.method : method;
    const origin = this.#inside.lastOrigin?.();
    // What this end does not hear on the boundary has come by a session of its own.
    return this.serves(asked, origin, id) === 0 || this === answering(this.#inside.boundary, this, asked, origin, id);
  }

  /** Of a method that is called from an origin: 3 if it is a session's own, 2 if this end has it, 1 if it serves others, 0 if it does not hear the call. */
  serves(method, origin, id) {
    if (method === "rpc.hello" && this.#inside.isSession) return 3;
    // A channel does not deliver a call to its own sender.
    const isDeaf = this.#inside.hears?.(origin) === false || (this.#inside.boundary.isShared && this.#calls.waiting().has(id));
    return isDeaf ? 0 : this.#service.rank(method);
  }

  /** Handles an unreadable message. `answers` are the ids that it answers, undefined for an unknown id; null if it may be none. */
  #receiveUnreadable(error, answers) {
    if (answers === null) return this.#unreadableTimer.begin(error);
    for (const id of answers) {
      if (this.closed || (id === undefined && othersWait(this.#inside.boundary, this))) continue;
      this.#outputs.perform(this.#core.run(UNREADABLE, id ?? -1), { error });
    }
  }

  #receiveColumns(params, isPart) {
    // Columns of columns could be told in a few bytes, and take for ever.
    const messages = isPart ? [] : unpacked(Object(params));
    if (messages.length === 0) this.ignored++;
    this.#receiveEach(messages);
  }

  /** The other side is at work on a call, which so may take longer. */
  #progress({ slot, onProgress, timeout, end }, value) {
    if (timeout >= 0) this.restart(slot, timeout, end, now());
    this.guard(() => onProgress(value));
  }

  /** Takes a notification with a reserved name. */
  #control(method, params) {
    if (method === "rpc.item") this.#calls.listener(params?.id)?.item?.(params.value);
    else if (method === "rpc.credit") this.#service.grant(params?.id, params?.count);
    else this.guard(() => this.#transport.onControl?.(method, params));
  }

  // What goes out.

  #watch(slot, signal) {
    this.#calls.watch(slot, signal, (slot) => this.cancel(slot, reasonOf(signal)));
  }

  #dropEntry({ slot, message, outflow }, problem) {
    if (outflow !== undefined) outflow.fail(problem);
    else this.#drop(slot, message.id, problem);
  }

  /** A call or notification cannot be sent. */
  #drop(slot, id, problem) {
    if (slot === undefined) this.report(problem);
    // Over a transport that delivers at once, the call may have ended before its sending failed.
    else if (this.#calls.idOf(slot) === id) this.#calls.drop(slot, problem);
  }

  #refusal(method) {
    const gone = this.#gone ?? this.#core.death;
    if (gone !== undefined) return gone.of(method);
    return new CallError("too-many-calls", `JSON-RPC call refused, too many are pending: ${method}`, method);
  }
}
