// The classes that an application sees: thin, over `../web/link.js`.

import { CLIENT_DESTROYED } from "../web/pending-calls.js";
import { define } from "../web/errors.js";
import { CALL_TIMEOUT, STREAM_WINDOW } from "../web/limit-values.js";
import { Link } from "../web/link.js";
import { RequestContext } from "../web/request-context.js";
import { Stream, validateWindow } from "../web/stream-consumer.js";

/** What is wrong with a timeout, or undefined. */
function timeoutProblem(timeout) {
  if (typeof timeout === "number" && timeout >= 0) return undefined;
  return new RangeError(`a timeout is a number of milliseconds, or 0 for none, not ${String(timeout)}`);
}

/** What is wrong with a handler of progress, or undefined. */
function progressProblem(handler) {
  if (handler && typeof handler !== "function") return new TypeError(`onProgress is a function, not ${typeof handler}`);
}

/** A timeout as wasm takes it: milliseconds, negative for none. */
function milliseconds(timeout) {
  return timeout === 0 || timeout === Infinity ? -1 : timeout;
}

function checkHandler(name, handler) {
  if (typeof name !== "string") throw new TypeError(`the name of a method is a string, not ${typeof name}`);
  if (name.startsWith("rpc.")) throw new TypeError(`"${name}": names that begin with "rpc." are reserved`);
  if (typeof handler !== "function")
    throw new TypeError(`the handler of "${name}" is a function, not ${typeof handler}`);
}

/** Returns a function that calls a handler with a context in place of the message. */
function withContext(handler) {
  return (params, message) => handler(params, new RequestContext(message));
}

class JSONRPCClient {
  #link;
  #timeout;
  #destroyed = false;

  constructor(transport, options) {
    const timeout = options?.timeout ?? CALL_TIMEOUT;
    const problem = timeoutProblem(timeout);
    if (problem !== undefined) throw problem;
    this.#timeout = timeout;
    this.#link = Link.on(transport, options);
  }

  request(method, params, options) {
    // Most calls have none, and are to cost little.
    if (options === undefined && !this.#destroyed)
      return this.#link.request(this, method, params, milliseconds(this.#timeout));
    const timeout = options?.timeout ?? this.#timeout;
    const total = options?.totalTimeout ?? Infinity;
    const problem = timeoutProblem(timeout) ?? timeoutProblem(total) ?? progressProblem(options?.onProgress);
    if (problem !== undefined) return Promise.reject(problem);
    // The link may live on, for others.
    if (this.#destroyed) return Promise.reject(CLIENT_DESTROYED.forCall(method));
    const wait = Math.min(timeout || Infinity, total || Infinity);
    return this.#link.request(this, method, params, milliseconds(wait), options);
  }

  stream(method, params, options) {
    const timeout = options?.timeout ?? this.#timeout;
    const window = options?.window ?? STREAM_WINDOW;
    const problem = timeoutProblem(timeout) ?? validateWindow(window);
    if (problem !== undefined) throw problem;
    const wait = milliseconds(timeout);
    return new Stream(this.#link, method, wait, window, options?.signal, (stream, resolve, reject) => {
      if (this.#destroyed) reject(CLIENT_DESTROYED.forCall(method));
      else this.#link.startCall(this, method, params, wait, options, resolve, reject, stream);
    });
  }

  notify(method, params, options) {
    if (this.#destroyed) return this.#link.report(CLIENT_DESTROYED.forCall(method));
    this.#link.notify(method, params, options?.transfer);
  }

  batch(calls, options) {
    const timeout = options?.timeout ?? this.#timeout;
    const problem = timeoutProblem(timeout);
    if (problem !== undefined) return Promise.reject(problem);
    if (this.#destroyed) return Promise.reject(CLIENT_DESTROYED.forCall("batch"));
    return this.#link.batch(this, calls, milliseconds(timeout), options);
  }

  get pending() {
    return this.#link.pending(this);
  }

  get ignored() {
    return this.#link.ignored;
  }

  destroy() {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.#link.release(this);
  }
}

class JSONRPCServer {
  /** @internal */
  methods = new Map();
  /** @internal */
  notifications = new Map();
  /** @internal */
  errorData;
  #link;
  #destroyed = false;

  constructor(transport, options) {
    this.errorData = options?.errorData;
    this.#link = Link.on(transport, options);
    this.#link.addServer(this);
  }

  method(name, handler) {
    checkHandler(name, handler);
    this.methods.set(name, withContext(handler));
    return this;
  }

  onNotify(name, handler) {
    checkHandler(name, handler);
    this.notifications.set(name, withContext(handler));
    return this;
  }

  destroy() {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.methods.clear();
    this.notifications.clear();
    this.#link.release(this);
  }
}

/** A client, and a server on the same transport. */
class JSONRPCPeer extends JSONRPCClient {
  #server;

  constructor(transport, options) {
    super(transport, options);
    this.#server = new JSONRPCServer(transport, options);
    this.remote = remote(this);
  }

  method(name, handler) {
    this.#server.method(name, handler);
    return this;
  }

  onNotify(name, handler) {
    this.#server.onNotify(name, handler);
    return this;
  }

  destroy() {
    super.destroy();
    this.#server.destroy();
  }
}

/** Names that the language, consoles and test runners look up in any object. They are no methods of the peer. */
const WELL_KNOWN = /^(then|toJSON|toString|valueOf|inspect|asymmetricMatch|\$\$typeof)$/;

/** The peer as an object: `remote.name(params, options)` is `request("name", params, options)`. */
function remote(client) {
  return new Proxy(Object.freeze({}), {
    get(target, name) {
      if (typeof name === "symbol" || WELL_KNOWN.test(name)) return target[name];
      return (params, options) => client.request(name, params, options);
    },
  });
}

// A pure call finishes each class: bundlers keep code that changes a class at the top of a module.

const Client = /* @__PURE__ */ finished(JSONRPCClient);
const Server = /* @__PURE__ */ finished(JSONRPCServer);
const Peer = /* @__PURE__ */ finished(JSONRPCPeer);
export { Client as JSONRPCClient, Peer as JSONRPCPeer, Server as JSONRPCServer };

function finished(Class) {
  const { prototype } = Class;
  // `using` needs a symbol that not every engine has yet.
  if (Symbol.dispose !== undefined) prototype[Symbol.dispose] = prototype.destroy;
  // Vue puts no proxy around an object with this member, in a `ref` or `reactive`. Behind a proxy, private members are out of
  // reach.
  define(prototype, "__v_skip", true);
  return Class;
}
