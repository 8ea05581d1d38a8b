// The classes of errors, and the conversion of errors to and from the error objects of responses.

import { MAX_ERROR_CHARACTERS, MAX_ERROR_DEPTH, MAX_ERROR_VALUES } from "./limit-values.js";

/**
 * An error with a JSON-RPC code. If a handler throws an `RPCError`, the call of the peer rejects with an `RPCError`
 * that has the same code.
 */
export class RPCError extends Error {
  // Consoles show this name. Without it, they would show the name that a minifier has chosen.
  static name = "RPCError";

  constructor(code, message, data, options) {
    super(message, options);
    this.code = code;
    this.data = data;
  }
}

/** The error of a call that ended without a valid answer from the peer. `reason` names the cause. */
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

/** Returns an error that names no call. */
export function callError(reason, text, cause) {
  return new CallError(reason, text, undefined, undefined, cause);
}

/** Returns the error of calls to a peer that will not reconnect. */
export function peerGoneError(text = "the peer is gone", cause) {
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

// The names are on the prototypes, so that instances do not need the property `name`.
define(RPCError.prototype, "name", "RPCError");
define(CallError.prototype, "name", "CallError");

/** Makes `instanceof` recognize the errors of other copies of the library in this realm. */
function recognizeOtherCopies(Class) {
  const mark = Symbol.for(`portway.${Class.name}`);
  define(Class.prototype, mark, true);
  // A subclass of the application inherits this function. For the subclass, `instanceof` works as usual.
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
 * Sets a member of an object without an assignment. An assignment would fail if a frozen prototype has a member with
 * this name. An assignment to `__proto__` would replace the prototype.
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
 * The `data.reason` of the replies from a peer whose wasm has trapped. A call that gets this reply rejects with a
 * `CallError` that has the same `reason`.
 */
export const PEER_DIED = "peer-died";

/**
 * The error that the peer receives for its requests if the wasm of this side traps. The error does not contain the
 * cause of the trap.
 */
export const TRAPPED_ERROR = {
  code: INTERNAL_ERROR,
  message: "The WebAssembly of the peer has died",
  data: { reason: PEER_DIED },
};

/**
 * Returns the error for the `error` member of a response. If this member is not a valid error object, the returned
 * error has the member as its `data`.
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
 * Returns an `Error` for a value that was an error at the peer. Only `name`, `message` and the members in the list
 * below are copied, so the peer cannot replace the `stack` or `toString` of the error.
 */
function reviveError(value, depth) {
  if (depth === 0 || typeof value?.name !== "string" || typeof value.message !== "string") return value;
  const error = new Error(value.message);
  define(error, "name", value.name);
  // Members with other names are not copied. Each level of `cause` may be the same object with many members, so a copy
  // of all members would take memory at each level.
  for (const key of ["code", "errno", "errors", "data", "cause"]) {
    if (Object.hasOwn(value, key)) error[key] = key === "cause" ? reviveError(value.cause, depth - 1) : value[key];
  }
  return error;
}

/**
 * Returns the error object for a value that a handler has thrown. If `signal` is aborted, and the value is the reason
 * of `signal` or an `AbortError`, the code is -32800. `errorData` is the option of the server. If `errorData` throws,
 * `link` reports the exception. The response has only those members of a thrown error that this file names, because
 * libraries store headers, tokens and paths in other members.
 */
export function serializeError(thrown, signal, errorData, link) {
  const member = (key) => orUndefined(() => thrown[key]);
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
  if (data === undefined) data = ownDataOf(thrown);
  if (data === undefined) data = defaultData(thrown, hasCode);
  if (data !== undefined) error.data = data;
  return error;
}

/** Returns the `data` of an error if it is an own property and not a getter. */
function ownDataOf(thrown) {
  return orUndefined(() => /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(thrown, "data")).value);
}

/**
 * Returns the `data` for a thrown error that has no own `data`. The `data` has the members of the thrown error, without
 * those that the error object of the response already has: the message, and a valid code.
 */
function defaultData(thrown, hasCode) {
  const budget = { values: MAX_ERROR_VALUES, characters: MAX_ERROR_CHARACTERS, seen: new Set() };
  const omitted = hasCode ? ["message", "code"] : ["message"];
  return orUndefined(() => reduceError(thrown, 0, budget, omitted)) ?? undefined;
}

/**
 * Returns a copy of an error with the members that are sent: `name`, `message`, `code`, `errno`, `cause`, `errors` and
 * its own `data`. Leaves out the members in `omitted`, and members that cannot be read, that exceed the `budget`, or
 * that were copied before.
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
  const reduceMember = (key) => orUndefined(() => reduceError(value[key], depth + 1, budget));
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
  const data = ownDataOf(value);
  if (data !== undefined) copy.data = data;
  if (depth === 0 && (copy.name === "Error" || copy.name === "RPCError")) delete copy.name;
  return Object.keys(copy).length > 0 ? copy : undefined;
}

/**
 * Returns the name of an error, for texts that are sent. These texts do not contain the error's message, because the
 * message of a `DataCloneError` may contain the source code of a function.
 */
export function nameOf(problem) {
  return orUndefined(() => String(problem.name)) ?? "Error";
}

/** Returns the tag of an object, such as `[object Map]`. Objects of all realms have the same tags. */
export function tagOf(value) {
  return orUndefined(() => Object.prototype.toString.call(value));
}

/**
 * Returns whether a value is an object of the built-in class `name`, in any realm. In Node, some classes such as
 * `MessagePort` have the tag of another class, so the function also checks `instanceof`. This realm may lack the class,
 * so the function first checks that the class exists.
 */
export function isInstance(value, name) {
  return tagOf(value) === `[object ${name}]` || (globalThis[name] !== undefined && value instanceof globalThis[name]);
}

/** Returns the result of a function, or undefined if it throws. Getters and proxies of the application may throw. */
function orUndefined(run) {
  try {
    return run();
  } catch {
    return undefined;
  }
}
