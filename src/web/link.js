// One end of a link: reads envelopes, posts messages, and runs what wasm says. What is to be done is decided in wasm
// (`core.rs`), which sees integers only. This is the hot path: no call into wasm takes or gives an object here, and
// nothing is allocated for a call but its promise and its message.

import { Calls, destroyed } from "./calls.js";
import { isTextId, kindOf, shapeOf } from "./envelope.js";
import { CallError, fromWire } from "./errors.js";
import { callMessage, callProblem, sendBatch, sendReply } from "./outgoing.js";
import { Service } from "./service.js";
import { takeFault } from "./told.js";
import * as words from "./words.js";

const { OPERATION, MORE, ARM, ARGUMENT_SHIFT } = words;
const LONGEST_TIMER = 2 ** 31 - 1;
const DEFAULT_LIMITS = { pendingCalls: 1e6, inFlight: 1024, batchItems: 1000, idBytes: 10 * 1024 * 1024 };

let prototype;

/** Called by wasm once it runs. */
export function install(core) {
  prototype = core;
}

/** The wasm core that others are made from. */
export function wasmCore() {
  if (prototype === undefined) throw new Error("portway is not loaded yet: `await init()` first");
  return prototype;
}

/** Links by transport: a client and a server on one transport share a link. */
const links = new WeakMap();

// One executor for all promises; it leaves the two functions here.
let resolver;
let rejecter;
const executor = (resolve, reject) => {
  resolver = resolve;
  rejecter = reject;
};

export class Link {
  closed = false;
  #transport;
  #core;
  #calls;
  #service = new Service(this);
  #onError = undefined;
  #users = 0;
  #batchItems;
  #timer = undefined;
  #onTimer = () => this.#setTimer();

  /** The link on this transport. Each user lets go of it with `leave`. */
  static on(transport, options) {
    let link = links.get(transport);
    if (link === undefined || link.closed) {
      link = new Link(transport, options);
      links.set(transport, link);
    }
    link.#users++;
    if (options?.onError !== undefined) link.#onError = options.onError;
    return link;
  }

  constructor(transport, options) {
    if (typeof transport?.send !== "function" || typeof transport.onMessage !== "function") {
      throw new TypeError("a transport is an object with the functions send and onMessage");
    }
    const limits = limitsOf(options);
    this.#batchItems = limits.batchItems;
    const { pendingCalls, inFlight, batchItems, idBytes } = limits;
    const nullParams = options?.paramsNull !== "invalid";
    this.#core = wasmCore().create(nullParams, pendingCalls, inFlight, batchItems, idBytes);
    this.#calls = new Calls(this.#core);
    this.#transport = transport;
    transport.onMessage((message) => this.#receive(message));
  }

  // Our calls.

  request(owner, method, params, timeout, options) {
    const promise = new Promise(executor);
    this.begin(owner, method, params, timeout, options, resolver, rejecter);
    return promise;
  }

  /** Makes a call that ends by `resolve` or `reject`; a timeout in milliseconds, negative for none. */
  begin(owner, method, params, timeout, options, resolve, reject) {
    const problem = callProblem(method, params);
    if (problem !== undefined) return reject(problem);
    const signal = options?.signal;
    if (signal?.aborted) return reject(signal.reason);
    const word = this.closed ? 0 : this.#core.call(timeout);
    if (word === 0) return reject(this.#refusal(method));
    const slot = word >>> ARGUMENT_SHIFT;
    const id = this.#core.id(slot);
    this.#calls.keep(slot, owner, method, resolve, reject);
    if (signal !== undefined) this.#watch(slot, id, signal);
    if (options?.onProgress !== undefined) this.#calls.listen(slot, id, options.onProgress);
    try {
      this.#transport.send(callMessage(method, params, id), options?.transfer);
    } catch (error) {
      // Over a transport that delivers at once, the call may have ended before its sending failed.
      if (this.#calls.isWaiting(slot, reject)) this.#calls.drop(slot, error);
      return;
    }
    if (word & ARM) this.#setTimer();
  }

  notify(method, params, transfer) {
    const problem = callProblem(method, params);
    if (problem !== undefined) throw problem;
    if (this.closed) return this.report(destroyed(method));
    this.#transport.send(callMessage(method, params), transfer);
  }

  /** Sends calls and notifications in one array; resolves to the outcome of each. */
  batch(owner, calls, timeout, options) {
    for (const { method, params } of calls) {
      const problem = callProblem(method, params);
      if (problem !== undefined) return Promise.reject(problem);
    }
    const signal = options?.signal;
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (calls.length === 0) return Promise.resolve([]);
    const count = calls.reduce((count, call) => (call.notify ? count : count + 1), 0);
    const word = this.closed ? 0 : this.#core.call_batch(count, timeout);
    if (word === 0) return Promise.reject(this.#refusal("batch"));
    const slots = Array.from({ length: count }, (_, index) => this.#core.key(index));
    const outcomes = [];
    const entries = calls.map(({ method, params, notify }) => {
      const slot = notify ? undefined : slots.shift();
      const id = notify ? undefined : this.#core.id(slot);
      outcomes.push(notify ? undefined : new Promise(executor));
      if (!notify) this.#calls.keep(slot, owner, method, resolver, rejecter);
      if (!notify && signal !== undefined) this.#watch(slot, id, signal);
      return { message: callMessage(method, params, id), slot };
    });
    this.#sendBatch(entries);
    if (word & ARM) this.#setTimer();
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

  isRunning(context) {
    return this.#service.isRunning(context);
  }

  /** The request in this slot has its reply; `token` is where the reply waits if its batch is not complete. */
  respond(slot, token, reply) {
    this.#perform(this.#core.respond(slot, token), reply);
  }

  // Letting go.

  /** One user of the link is done with it: its own calls end. The last one closes the link. */
  leave(owner) {
    this.#service.servers = this.#service.servers.filter((server) => server !== owner);
    if (--this.#users === 0) this.#close();
    else this.#calls.dropAll(owner);
  }

  #close() {
    this.closed = true;
    clearTimeout(this.#timer);
    this.#perform(this.#core.close());
    this.#core.free();
    this.#transport.destroy?.();
    this.#service.stop();
  }

  /** Tells the application of a fault that no call of its own can tell. */
  report(error) {
    if (this.#onError !== undefined) this.#onError(error);
    else console.error("portway:", error);
  }

  /** Runs user code that nobody waits for. */
  guard(run) {
    try {
      const result = run();
      if (typeof result?.then === "function") result.then(undefined, (error) => this.report(error));
    } catch (error) {
      this.report(error);
    }
  }

  // What comes in.

  #receive(message) {
    if (this.closed) return;
    // The members of a value that never crossed a real boundary may be getters that throw.
    try {
      if (Array.isArray(message)) return this.#receiveBatch(message);
      if (!isOurs(message) || !this.#wants(message)) return;
      const { id } = message;
      const shape = shapeOf(message);
      const core = this.#core;
      this.#perform(isTextId(id) ? core.receive_text(shape, String(id)) : core.receive(shape, id), message);
    } catch (error) {
      this.report(error);
    }
  }

  #receiveBatch(batch) {
    // An array with anything else in it belongs to somebody else.
    if (!batch.every(isOurs)) return;
    const core = this.#core;
    const wanted = batch.filter((message) => this.#wants(message));
    if (wanted.length === 0 && (batch.length > 0 || !this.#serves)) return;
    if (wanted.length > this.#batchItems) return this.#perform(core.refuse_batch());
    for (const message of wanted) {
      const { id } = message;
      if (isTextId(id)) core.push_text(shapeOf(message), String(id));
      else core.push(shapeOf(message), id);
    }
    this.#perform(core.receive_batch(), undefined, wanted);
  }

  get #serves() {
    return this.#service.servers.length > 0;
  }

  /** Whether a message is for this end; one that serves nobody leaves calls to others on the same channel. */
  #wants({ method, params, id }) {
    if (method === undefined) return true;
    if (id === undefined) {
      if (method === "$/progress") {
        const handler = this.#calls.progressHandler(params?.token);
        if (handler !== undefined) return this.guard(() => handler(params.value)), false;
      } else if (method === "$/cancelRequest") {
        return this.#giveUp(params?.id), false;
      }
    }
    return this.#serves;
  }

  #giveUp(id) {
    const kind = kindOf(id);
    const core = this.#core;
    this.#perform(isTextId(id) ? core.give_up_text(kind, String(id)) : core.give_up(kind, id));
  }

  // What wasm says.

  /**
   * Carries out the outputs of wasm. All of them are read before anything is done, since what is done may lead back
   * here; and calls end before handlers run, since a handler's own call may get the slot of one that has ended.
   */
  #perform(word, message, batch) {
    const operation = word & OPERATION;
    const argument = word >>> ARGUMENT_SHIFT;
    const subject = this.#subject(operation, argument, message, batch);
    if ((word & MORE) === 0) return this.#act(operation, argument, subject, batch !== undefined);
    const outputs = [[operation, argument, subject]];
    for (let rest = word; (rest & MORE) !== 0; ) {
      rest = this.#core.next();
      const argument = rest >>> ARGUMENT_SHIFT;
      outputs.push([rest & OPERATION, argument, this.#subject(rest & OPERATION, argument, message, batch)]);
    }
    for (const output of outputs) if (words.isEnd(output[0])) this.#act(...output);
    for (const output of outputs) if (!words.isEnd(output[0])) this.#act(...output, batch !== undefined);
  }

  /** What an operation is about, as far as the word does not hold it. */
  #subject(operation, argument, message, batch) {
    switch (operation) {
      case words.FAULT:
        return { message: takeFault(this.#core) };
      case words.REPLY_BATCH:
        return Array.from({ length: argument }, (_, index) => {
          const word = this.#core.reply(index);
          if ((word & OPERATION) === words.FAULT) return { message: takeFault(this.#core) };
          return this.#service.unhold(word >>> ARGUMENT_SHIFT);
        });
      case words.TIMED_OUT:
      case words.CLOSED:
      case words.INVALID:
        return this.#core.ended();
      case words.BATCH_REFUSED: {
        const slots = Array.from({ length: argument }, (_, index) => this.#core.key(index));
        return { slots, error: this.#element(message, batch).error };
      }
      default:
        return this.#element(message, batch);
    }
  }

  #element(message, batch) {
    return batch === undefined ? message : batch[this.#core.element()];
  }

  #act(operation, argument, subject, batched) {
    const calls = this.#calls;
    switch (operation) {
      case words.RESOLVE:
        return calls.resolve(argument, subject.result);
      case words.REJECT:
        return calls.reject(argument, fromWire(subject.error));
      case words.REQUEST:
        return this.#service.serve(argument, subject, batched);
      case words.NOTIFICATION:
        return this.#service.notified(subject);
      case words.REPLY:
      case words.FAULT:
        return this.guard(() => sendReply(this.#transport, subject));
      case words.REPLY_BATCH:
        return this.#sendBatch(subject);
      case words.TIMED_OUT:
        return calls.timedOut(argument, subject);
      case words.CLOSED:
        return calls.destroyed(argument, subject);
      case words.INVALID:
        return calls.invalid(argument, subject);
      case words.BATCH_REFUSED:
        return subject.slots.forEach((slot) => calls.reject(slot, fromWire(subject.error)));
      case words.CANCELLED:
        return this.#service.cancelled(argument);
      case words.PEER_ERROR:
        return this.report(fromWire(subject.error));
    }
  }

  // What goes out.

  #watch(slot, id, signal) {
    this.#calls.watch(slot, signal, () => {
      const told = this.#core.cancel(slot) & OPERATION;
      if (told === words.SEND) this.guard(() => this.notify("$/cancelRequest", { id }));
    });
  }

  #sendBatch(entries) {
    this.guard(() =>
      sendBatch(this.#transport, entries, ({ slot }, problem) => {
        if (slot !== undefined) this.#calls.drop(slot, problem);
      }),
    );
  }

  #refusal(method) {
    if (this.closed) return destroyed(method);
    return new CallError("too-many-calls", `JSON-RPC call refused, too many are pending: ${method}`, method);
  }

  #setTimer() {
    const now = performance.now();
    this.#perform(this.#core.tick(now));
    const wake = this.closed ? -1 : this.#core.wake();
    clearTimeout(this.#timer);
    this.#timer = wake < 0 ? undefined : setTimeout(this.#onTimer, Math.min(Math.max(wake - now, 1), LONGEST_TIMER));
  }
}

function isOurs(message) {
  return typeof message === "object" && message !== null && message.jsonrpc === "2.0";
}

function limitsOf(options) {
  const limits = { ...DEFAULT_LIMITS };
  for (const [name, value] of Object.entries(options?.limits ?? {})) {
    if (!(name in DEFAULT_LIMITS)) throw new TypeError(`there is no limit "${name}"`);
    if (!(value >= 0)) throw new RangeError(`the limit ${name} is a number from 0 up, not ${String(value)}`);
    // What does not fit into a word of wasm is as good as no limit.
    limits[name] = Math.min(Math.floor(value), 2 ** 25 - 1);
  }
  return limits;
}
