// Errors: their classes, and how they are sent and received.

import { MAX_ERROR_CHARACTERS, MAX_ERROR_DEPTH, MAX_ERROR_VALUES } from "./limit-values.js";

/** An error that is sent to the peer: if a handler throws it, the peer's call rejects with it. */
export class RPCError extends Error {
  // Minifiers rename classes, and consoles show the name.
  static name = "RPCError";

  constructor(code, message, data, options) {
    super(message, options);
    this.code = code;
    this.data = data;
  }
}

/** The error of a call that ended without an answer from the peer; `reason` is why. */
export class CallError extends Error {
  static name = "CallError";

  constructor(reason, message, method, id, cause) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.method = method;
    this.id = id;
  }

  /** Returns a copy of the error for another call. */
  forCall(method, id) {
    return new CallError(this.reason, this.message, method, id, this.cause);
  }
}

/** Returns an error that is not about one call. */
export function callError(reason, text, cause) {
  return new CallError(reason, text, undefined, undefined, cause);
}

/** Returns the error of calls to a peer that will not reconnect. */
export function peerGoneError(text = "the other side is gone", cause) {
  return callError("peer-gone", text, cause);
}

/** Returns the error of calls over a closed port. */
export function portClosedError() {
  return peerGoneError("the port is closed");
}

/** Returns the error of calls to a worker that has sent no message. */
export function workerFailedError(reason, cause) {
  return callError(reason, `the worker has not started: ${truncate(cause?.message ?? "is its script there?")}`, cause);
}

/** Returns the error for a `messageerror` event. */
export function messageError() {
  return new Error("received a message that could not be deserialized");
}

// The names are on the prototypes, so that an instance has one property less.
define(RPCError.prototype, "name", "RPCError");
define(CallError.prototype, "name", "CallError");

/** Makes `instanceof` recognize the errors of other copies of the library in this realm. */
function recognizeOtherCopies(Class) {
  const mark = Symbol.for(`portway.${Class.name}`);
  define(Class.prototype, mark, true);
  // A subclass of the application inherits this function, but has instances of its own.
  define(
    Class,
    Symbol.hasInstance,
    /** @this {unknown} */ function (value) {
      return this === Class ? value?.[mark] === true : Function.prototype[Symbol.hasInstance].call(this, value);
    },
  );
}

recognizeOtherCopies(RPCError);
recognizeOtherCopies(CallError);

/**
 * Sets a member. An assignment would fail if a frozen prototype has such a member, and `__proto__` has a meaning of its
 * own.
 */
export function define(object, key, value, enumerable = false) {
  const descriptor = { __proto__: null, value, configurable: true, enumerable, writable: true };
  Object.defineProperty(object, key, descriptor);
}

/** Returns the first 100 characters of a text from the peer, for an error message. */
export function truncate(text) {
  return /** @type {RegExpExecArray} */ (/.{0,100}/su.exec(text))[0];
}

export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
export const REQUEST_CANCELLED = -32800;
/**
 * The `data.reason` of the replies from a peer whose wasm has trapped, and the reason of the calls that end by them.
 */
export const PEER_DIED = "peer-died";

/** The error that a peer receives if the wasm traps. It does not contain the cause. */
export const TRAPPED_ERROR = {
  code: INTERNAL_ERROR,
  message: "The WebAssembly of the peer has died",
  data: { reason: PEER_DIED },
};

/**
 * Returns the error for the `error` member of a response. If that is not a valid error object, it becomes the `data`.
 */
export function deserializeError(raw) {
  // If a member is a getter that throws, the call ends with that exception.
  try {
    const { code, message, data } = Object(raw);
    const hasText = typeof message === "string";
    if (!hasText || !Number.isInteger(code))
      return new RPCError(INTERNAL_ERROR, hasText ? message : "Invalid error object", raw);
    if (code === INTERNAL_ERROR && data?.reason === PEER_DIED) return callError(PEER_DIED, message);
    const cause = data?.cause;
    return new RPCError(
      code,
      message,
      data,
      cause === undefined ? undefined : { cause: reviveError(cause, MAX_ERROR_DEPTH) },
    );
  } catch (thrown) {
    return thrown;
  }
}

/**
 * Returns an `Error` for a value that was an error at the peer. No member can replace the `stack` or `toString` of the
 * error.
 */
function reviveError(value, depth) {
  if (depth === 0 || typeof value?.name !== "string" || typeof value.message !== "string") return value;
  const error = new Error(value.message);
  define(error, "name", value.name);
  // No other members are copied: a peer could send one object with many members in many answers.
  for (const key of ["code", "errno", "errors", "data", "cause"]) {
    if (Object.hasOwn(value, key)) error[key] = key === "cause" ? reviveError(value.cause, depth - 1) : value[key];
  }
  return error;
}

/**
 * Returns the error object for a value that a handler has thrown. `errorData` is the option of the server, and `link`
 * reports its exceptions. Only the members that are named here are sent: libraries keep headers, tokens and paths in
 * others.
 */
export function serializeError(thrown, signal, errorData, link) {
  const member = (key) => attempt(() => thrown[key]);
  if (signal?.aborted && (thrown === signal.reason || member("name") === "AbortError")) {
    return { code: REQUEST_CANCELLED, message: "Request cancelled" };
  }
  const code = member("code");
  const message = member("message");
  // The code of a DOMException, or of a value that is not an error, is not a JSON-RPC code.
  const hasCode = Number.isInteger(code) && tagOf(thrown) === "[object Error]";
  const error = {
    code: hasCode ? code : INTERNAL_ERROR,
    message: typeof message === "string" ? message : "Internal error",
  };
  let data;
  if (errorData !== undefined) link.runUserCode(() => (data = errorData(thrown)));
  if (data === undefined) data = ownData(thrown);
  if (data === undefined) data = defaultData(thrown, hasCode);
  if (data !== undefined) error.data = data;
  return error;
}

/** Returns the `data` of an error if it is an own property and not a getter. */
function ownData(thrown) {
  return attempt(() => /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(thrown, "data")).value);
}

/** Returns `data` for an error that has none: the members that are not in the error object. */
function defaultData(thrown, hasCode) {
  const budget = { values: MAX_ERROR_VALUES, characters: MAX_ERROR_CHARACTERS, seen: new Set() };
  const omitted = hasCode ? ["message", "code"] : ["message"];
  return attempt(() => reduceError(thrown, 0, budget, omitted)) ?? undefined;
}

/**
 * Returns the part of an error that is sent. Of any object, these are `name`, `message`, `code`, `errno`, `cause`,
 * `errors` and its own `data`, without those in `omitted`. Members that cannot be read, that exceed the `budget` or
 * that were copied before are left out.
 */
function reduceError(value, depth, budget, omitted = []) {
  const type = typeof value;
  if (value === undefined || type === "function" || type === "symbol" || budget.values-- <= 0) return undefined;
  if (type === "string") {
    const text = value.slice(0, budget.characters);
    budget.characters -= text.length;
    return text;
  }
  if (type !== "object" || value === null) return value;
  if (depth > MAX_ERROR_DEPTH || budget.seen.has(value)) return undefined;
  budget.seen.add(value);
  const reduceMember = (key) => attempt(() => reduceError(value[key], depth + 1, budget));
  if (Array.isArray(value)) {
    const items = Array.from({ length: Math.min(value.length, MAX_ERROR_VALUES) }, (_, n) => reduceMember(n));
    return items.filter((item) => item !== undefined);
  }
  if (tagOf(value) === "[object DOMException]") omitted = [...omitted, "code"];
  const copy = {};
  for (const key of ["name", "message", "code", "errno", "cause", "errors"]) {
    const member = omitted.includes(key) ? undefined : reduceMember(key);
    const isNested = key === "cause" || key === "errors";
    if (isNested ? member !== undefined : typeof member === "string" || typeof member === "number") copy[key] = member;
  }
  const data = ownData(value);
  if (data !== undefined) copy.data = data;
  if (depth === 0 && (copy.name === "Error" || copy.name === "RPCError")) delete copy.name;
  return Object.keys(copy).length > 0 ? copy : undefined;
}

/** Returns the name of an error. The message may contain anything, such as the source code of a function. */
export function nameOf(problem) {
  return attempt(() => String(problem.name)) ?? "Error";
}

/** Returns the kind of an object of any realm, such as `[object Map]`. */
export function tagOf(value) {
  return attempt(() => Object.prototype.toString.call(value));
}

/** Returns the result of a function, or undefined if it throws, as getters of the application and proxies may. */
function attempt(run) {
  try {
    return run();
  } catch {
    return undefined;
  }
}
