// What the Rust API has of a link: a client and a server whose calls and requests are numbers. Each tells Rust what
// happens through one function of its own, so that nothing of wasm is made for a single call. The npm package has none of
// this file.

// A program in Rust has nowhere to import it first; it comes with the glue instead, and so before wasm has loaded.
import "../js/early.js";
import { logError } from "./log-error.js";
import { CallError, RPCError, nameOf } from "./errors.js";
import { queueTask } from "./queue-task.js";
import { Link } from "./link.js";
import { whileAlive } from "./rust-death.js";
import { Stream } from "./stream-consumer.js";

// What a call is told; `api/client.rs` has the same numbers.
const RESULT = 0;
const ERROR = 1;
const PROGRESS = 2;
const FAILED = 3;
const REASONS = {
  timeout: 4,
  destroyed: 5,
  "invalid-response": 6,
  "too-many-calls": 7,
  "session-ended": 8,
  "peer-gone": 9,
  unresponsive: 10,
  "wasm-died": 11,
  "unreadable-response": 12,
  "peer-died": 13,
};

// What a server is told; `api/server.rs` has the same numbers.
const REQUEST = 0;
const NOTIFICATION = 1;
const CANCEL = 2;
const POLL = 3;

/** A link, or in the place of one that cannot be, what went wrong. */
function linkOn(transport, limits) {
  try {
    return { link: Link.on(transport, { limits }) };
  } catch (problem) {
    logError(problem);
    return { problem };
  }
}

export class RustClient {
  #link;
  #problem;
  #tell;
  /** How calls end, by token: the functions are made once, and used by one call after the other. */
  #ends = [];

  constructor(transport, limits) {
    const { link, problem } = linkOn(transport, limits);
    this.#link = link;
    this.#problem = problem;
  }

  /** Sets the function that hears of the calls: `tell(token, what, value)`. */
  hear(tell) {
    this.#tell = whileAlive(tell);
  }

  /** Makes a call, and gives the slot by which it can be cancelled; -1 if it has ended. */
  begin(token, method, params, timeout, total, transfer, wantsProgress) {
    const end = this.#end(token);
    if (this.#link === undefined) return (end.reject(this.#problem), -1);
    const onProgress = wantsProgress ? (value) => this.#tell(token, PROGRESS, value) : undefined;
    const totalTimeout = total < 0 ? undefined : total;
    const options = transfer === undefined && !wantsProgress ? undefined : { transfer, onProgress, totalTimeout };
    return this.#link.startCall(this, method, params, timeout, options, end.resolve, end.reject) ?? -1;
  }

  cancel(slot) {
    this.#link.cancel(slot);
  }

  /** The items of a method, which are asked for when the first is. */
  stream(method, params, timeout, window) {
    if (this.#link === undefined) throw this.#problem;
    const stream = new Stream(this.#link, method, timeout, window, undefined, (stream, resolve, reject) => {
      this.#link.startCall(this, method, params, timeout, undefined, resolve, reject, stream);
    });
    return {
      next: () => new Promise((resolve, reject) => stream.next().then(whileAlive(resolve), whileAlive(reject))),
      stop: () => stream.return(),
    };
  }

  notify(method, params, transfer) {
    if (this.#link === undefined) throw this.#problem;
    this.#link.notify(method, params, transfer);
  }

  destroy() {
    this.#link?.release(this);
  }

  #end(token) {
    return (this.#ends[token] ??= {
      resolve: (value) => this.#tell(token, RESULT, value),
      reject: (error) => this.#tell(token, whatEnded(error), error),
    });
  }
}

export function whatEnded(error) {
  if (error instanceof RPCError) return ERROR;
  return error instanceof CallError ? REASONS[error.reason] : FAILED;
}

export class RustServer {
  /** @internal */
  methods = new Map();
  /** @internal */
  notifications = new Map();
  #link;
  #tell;

  constructor(transport, limits) {
    this.#link = linkOn(transport, limits).link;
    this.#link?.addServer(this);
  }

  /** Sets the function that runs handlers: `tell(what, index or token, params, request)` gives the token of the request. */
  hear(tell) {
    this.#tell = whileAlive(tell);
  }

  method(name, index) {
    this.methods.set(name, (params, context) => new RustRequest(this.#tell, index, params, context));
  }

  streamMethod(name, index) {
    this.methods.set(name, (params, context) => new RustItems(new RustRequest(this.#tell, index, params, context)));
  }

  onNotify(name, index) {
    this.notifications.set(name, (params, context) => {
      this.#tell(NOTIFICATION, index, params, new RustRequest(this.#tell, index, params, context));
    });
  }

  /** Tells the application of a fault that no reply can tell. */
  report(text) {
    this.#link?.report(new Error(text));
  }

  /** From here on no handler is run. */
  stop() {
    this.methods.clear();
    this.notifications.clear();
  }

  destroy() {
    this.#link?.release(this);
  }
}

/** What a handler in Rust has of its request. It is run, and answers, as a promise would. */
class RustRequest {
  #tell;
  #index;
  #params;
  #context;
  #resolve;
  #reject;

  constructor(tell, index, params, context) {
    this.#tell = tell;
    this.#index = index;
    this.#params = params;
    this.#context = context;
  }

  get method() {
    return this.#context.method;
  }

  /** Runs the handler; returns the token of the request, -1 if it is answered. */
  begin(resolve, reject) {
    this.#resolve = resolve;
    this.#reject = reject;
    const params = this.#params;
    this.#params = undefined;
    return this.#tell(REQUEST, this.#index, params, this);
  }

  /** Called at once, and only once; for a notification without `resolve`. */
  // biome-ignore lint/suspicious/noThenProperty: a handler returns this object in place of a promise.
  then(resolve, reject) {
    const token = this.begin(resolve, reject);
    // In place of a signal, which most handlers in Rust would have no use for.
    if (token < 0) return;
    this.#context.abort = () => this.#tell(CANCEL, token);
    // It may be cancelled already, over a transport that delivers at once.
    if (this.#context.startedSignal?.aborted) this.#context.abort();
  }

  /** Works on, from a task of Rust: if that traps, it is noticed here, and the task ends with it. */
  poll(token) {
    if (this.#tell(POLL, token) < 0) throw new Error("this program has died");
  }

  answer(result) {
    this.#resolve?.(result);
  }

  fail(code, message, data) {
    this.#reject(new RPCError(code, message, data));
  }

  /** The caller no longer wants the rest of a stream. */
  cancel(token) {
    this.#tell(CANCEL, token);
  }

  /** Passes the next item of a stream; resolves when another one is wanted. */
  item(value) {
    return this.items.give(value);
  }

  progress(value) {
    this.#context.progress(value);
  }

  yieldNow() {
    return new Promise(queueTask);
  }

  transfer(list) {
    this.#context.transfer(list);
  }

  notify(method, params) {
    this.#context.notify(method, params);
  }
}

/** The items of a handler in Rust, as an iterator. The handler is run when the first item is wanted. */
class RustItems {
  #request;
  #token;
  /** The promise of the item that is wanted. */
  #resolve;
  #reject;
  /** Lets the handler go on, after it has passed an item. */
  #goOn;

  constructor(request) {
    this.#request = request;
    request.items = this;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  next() {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (this.#goOn !== undefined) return this.#goOn();
      this.#token = this.#request.begin(
        () => this.#resolve({ done: true }),
        (error) => this.#reject(error),
      );
    });
  }

  give(value) {
    return new Promise((resolve) => {
      this.#goOn = resolve;
      this.#resolve({ done: false, value });
    });
  }

  return() {
    if (this.#token >= 0) this.#request.cancel(this.#token);
  }
}

/** The members of an error of the other side, one at a time. */
export function errorCode(error) {
  return error.code;
}

export function errorMessage(error) {
  return error.message;
}

export function errorData(error) {
  return error.data;
}

/** The name of anything that was thrown. */
export function errorName(error) {
  return nameOf(error);
}

/** The errors of the Rust API as those that JavaScript knows. */
export function newRPCError(code, message, data) {
  return new RPCError(code, message, data);
}

export function newCallError(reason, message) {
  return new CallError(reason, message);
}
