// The client and the server of the Rust API. Rust refers to calls and requests by numbers. The client and the server
// each report their events to Rust through one callback. So no wasm object is created for a single call. The npm
// package does not contain this file.

// A program in Rust cannot import `early.js` first. The glue imports this file, so `early.js` runs before the wasm has
// loaded.
import "../transport/early.js";
import { logError } from "../driver/log-error.js";
import { CallError, RPCError, nameOf } from "../driver/errors.js";
import { queueTask } from "../driver/queue-task.js";
import { Link } from "../driver/link.js";
import { untilTrap } from "./trap-guard.js";
import { Stream } from "../driver/stream-consumer.js";

// The events of a call; `src/browser/client.rs` has the same numbers.
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

// The events of a server; `src/browser/server.rs` has the same numbers.
const REQUEST = 0;
const NOTIFICATION = 1;
const CANCEL = 2;
const POLL = 3;

/** Returns the link on a transport, or the error if the link cannot be created. */
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
  #callback;
  /**
   * The functions that resolve and reject a call, by its token. A later call with the same token reuses the functions.
   */
  #settlers = [];

  constructor(transport, limits) {
    const { link, problem } = linkOn(transport, limits);
    this.#link = link;
    this.#problem = problem;
  }

  /** Sets the function that receives the events of calls: `callback(token, event, value)`. */
  setCallback(callback) {
    this.#callback = untilTrap(callback);
  }

  /** Starts a call. Returns the slot by which the call can be cancelled, or -1 if the call has ended. */
  begin(token, method, params, timeout, total, transfer, wantsProgress) {
    const settler = this.#settlerOf(token);
    if (this.#link === undefined) return (settler.reject(this.#problem), -1);
    const onProgress = wantsProgress ? (value) => this.#callback(token, PROGRESS, value) : undefined;
    const totalTimeout = total < 0 ? undefined : total;
    const options = transfer === undefined && !wantsProgress ? undefined : { transfer, onProgress, totalTimeout };
    return this.#link.startCall(this, method, params, timeout, options, settler.resolve, settler.reject) ?? -1;
  }

  cancel(slot) {
    this.#link.cancel(slot);
  }

  /** Returns a stream of the items of a method. The request is sent when the first item is requested. */
  stream(method, params, timeout, window) {
    if (this.#link === undefined) throw this.#problem;
    const stream = new Stream(this.#link, method, timeout, window, undefined, (stream, resolve, reject) => {
      this.#link.startCall(this, method, params, timeout, undefined, resolve, reject, stream);
    });
    return {
      next: () => new Promise((resolve, reject) => stream.next().then(untilTrap(resolve), untilTrap(reject))),
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

  #settlerOf(token) {
    return (this.#settlers[token] ??= {
      resolve: (value) => this.#callback(token, RESULT, value),
      reject: (error) => this.#callback(token, eventCodeOf(error), error),
    });
  }
}

/** Returns the event code of a call that has ended with an error. */
export function eventCodeOf(error) {
  if (error instanceof RPCError) return ERROR;
  return error instanceof CallError ? (REASONS[error.reason] ?? FAILED) : FAILED;
}

export class RustServer {
  /** @internal */
  methods = new Map();
  /** @internal */
  notifications = new Map();
  #link;
  #callback;

  constructor(transport, limits) {
    this.#link = linkOn(transport, limits).link;
    this.#link?.addServer(this);
  }

  /**
   * Sets the function that runs handlers: `callback(event, index or token, params, request)`. For a request, the result
   * is its token, or -1 if the request is already answered.
   */
  setCallback(callback) {
    this.#callback = untilTrap(callback);
  }

  method(name, index) {
    this.methods.set(name, (params, context) => new RustRequest(this.#callback, index, params, context));
  }

  streamMethod(name, index) {
    this.methods.set(name, (params, context) => new RustItems(new RustRequest(this.#callback, index, params, context)));
  }

  onNotify(name, index) {
    this.notifications.set(name, (params, context) => {
      this.#callback(NOTIFICATION, index, params, new RustRequest(this.#callback, index, params, context));
    });
  }

  /** Reports an error that cannot be sent in a reply. */
  report(text) {
    this.#link?.report(new Error(text));
  }

  /** Removes all handlers. */
  stop() {
    this.methods.clear();
    this.notifications.clear();
  }

  destroy() {
    this.#link?.release(this);
  }
}

/** A request to a handler in Rust. A request is a thenable: the dispatcher calls `then`, which runs the handler. */
class RustRequest {
  /**
   * The items that the handler produces, if the request is for a stream.
   * @type {RustItems}
   */
  items;
  #callback;
  #index;
  #params;
  #context;
  #resolve;
  #reject;
  #isAnswered = false;

  constructor(callback, index, params, context) {
    this.#callback = callback;
    this.#index = index;
    this.#params = params;
    this.#context = context;
  }

  get method() {
    return this.#context.method;
  }

  /** The id of the request; `undefined` for a notification, and after the response. */
  get id() {
    return this.#isAnswered ? undefined : this.#context.id;
  }

  /** Runs the handler. Returns the token of the request, or -1 if the request is already answered. */
  begin(resolve, reject) {
    this.#resolve = resolve;
    this.#reject = reject;
    const params = this.#params;
    this.#params = undefined;
    return this.#callback(REQUEST, this.#index, params, this);
  }

  /** The dispatcher calls `then` once for each request. If a notification runs the handler, `resolve` is undefined. */
  // biome-ignore lint/suspicious/noThenProperty: the dispatcher handles the result of a handler like a promise.
  then(resolve, reject) {
    const token = this.begin(resolve, reject);
    // Most handlers in Rust do not use a signal. So `abort` is replaced, and no signal is created.
    if (token < 0) return;
    this.#context.abort = () => this.#callback(CANCEL, token);
    // Over a synchronous transport, the request may be cancelled already.
    if (this.#context.signalIfCreated?.aborted) this.#context.abort();
  }

  /** Continues the handler from a task of Rust. Throws if the handler traps, which ends the task. */
  poll(token) {
    if (this.#callback(POLL, token) < 0) throw new Error("this program has died");
  }

  answer(result) {
    this.#isAnswered = true;
    this.#resolve?.(result);
  }

  fail(code, message, data) {
    this.#isAnswered = true;
    this.#reject(new RPCError(code, message, data));
  }

  /** Notifies Rust that the caller has cancelled the stream. */
  cancel(token) {
    this.#callback(CANCEL, token);
  }

  /** Passes the next item of a stream to the caller. Resolves when the caller requests another item. */
  item(value) {
    return this.items.push(value);
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

/** The items of a handler in Rust, as an iterator. The handler starts when the first item is requested. */
class RustItems {
  #request;
  #token;
  /** The functions of the promise for the requested item. */
  #resolve;
  #reject;
  /** Continues the handler, after it has passed an item. */
  #continue;

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
      if (this.#continue !== undefined) return this.#continue();
      this.#token = this.#request.begin(
        () => this.#resolve({ done: true }),
        (error) => this.#reject(error),
      );
    });
  }

  push(value) {
    return new Promise((resolve) => {
      this.#continue = resolve;
      this.#resolve({ done: false, value });
    });
  }

  return() {
    if (this.#token >= 0) this.#request.cancel(this.#token);
  }
}

/** Returns the code of an error from the peer. */
export function errorCode(error) {
  return error.code;
}

export function errorMessage(error) {
  return error.message;
}

export function errorData(error) {
  return error.data;
}

/** Returns the name of a thrown value. */
export function errorName(error) {
  return nameOf(error);
}

/** Returns the JavaScript error for an error of the Rust API. */
export function newRPCError(code, message, data) {
  return new RPCError(code, message, data);
}

export function newCallError(reason, message) {
  return new CallError(reason, message);
}
