// Errors, as the application sees them and as they cross the wire.

import { MAX_ERROR_CHARACTERS, MAX_ERROR_DEPTH, MAX_ERROR_VALUES } from "./limit-values.js";

/** An error that crosses the wire: thrown in a handler here, it rejects the call there, and the other way round. */
export class RPCError extends Error {
  // Minifiers rename classes, and consoles show this.
  static name = "RPCError";

  constructor(code, message, data, options) {
    super(message, options);
    this.code = code;
    this.data = data;
  }
}

/** A call that ended without an answer of the other side; `reason` says why. */
export class CallError extends Error {
  static name = "CallError";

  constructor(reason, message, method, id, cause) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.method = method;
    this.id = id;
  }

  /** The same end, of another call. */
  forCall(method, id) {
    return new CallError(this.reason, this.message, method, id, this.cause);
  }
}

/** Why there is no answer, of no call in particular. */
export function callError(reason, text, cause) {
  return new CallError(reason, text, undefined, undefined, cause);
}

/** The end of calls whose other side is not coming back by itself. */
export function peerGoneError(text = "the other side is gone", cause) {
  return callError("peer-gone", text, cause);
}

/** The end of calls over a port that is closed. */
export function portClosedError() {
  return peerGoneError("the port is closed");
}

/** The end of what waits for a worker that has not said a word. */
export function workerFailedError(reason, cause) {
  return callError(reason, `the worker has not started: ${truncate(cause?.message ?? "is its script there?")}`, cause);
}

/** What a message is that did come, but cannot be read here. */
export function messageError() {
  return new Error("a message of the other side cannot be read here");
}

// On the prototypes, so that each instance is spared a property.
define(RPCError.prototype, "name", "RPCError");
define(CallError.prototype, "name", "CallError");

/** Has `instanceof` know the errors of other copies of this library in the realm. */
function recognizeOtherCopies(Class) {
  const mark = Symbol.for(`portway.${Class.name}`);
  define(Class.prototype, mark, true);
  // A subclass of an application inherits this, and has instances of its own.
  define(Class, Symbol.hasInstance, function (value) {
    return this === Class ? value?.[mark] === true : Function.prototype[Symbol.hasInstance].call(this, value);
  });
}

recognizeOtherCopies(RPCError);
recognizeOtherCopies(CallError);

/**
 * Sets a member. By assignment that fails where a prototype is frozen that has such a member, and `__proto__` means something
 * else.
 */
export function define(object, key, value, enumerable = false) {
  Object.defineProperty(object, key, { __proto__: null, value, configurable: true, enumerable, writable: true });
}

/** The beginning of what a peer sent, for the text of an error: 100 characters. */
export function truncate(text) {
  return /.{0,100}/su.exec(text)[0];
}

export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
export const REQUEST_CANCELLED = -32800;
/** The `data.reason` of a peer whose wasm has died, and the reason of the calls that end by it. */
export const PEER_DIED = "peer-died";

/** The peer does not get the cause of the death. */
export const TRAPPED_ERROR = {
  code: INTERNAL_ERROR,
  message: "The WebAssembly of the peer has died",
  data: { reason: PEER_DIED },
};

/** The error of a response, from whatever the other side put there. What is no error object is kept as `data`. */
export function deserializeError(raw) {
  // The call ends all the same if a member of it is a getter that throws.
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

/** An error again, of what was one on the other side. Of the members none can take the place of what every error has. */
function reviveError(value, depth) {
  if (depth === 0 || typeof value?.name !== "string" || typeof value.message !== "string") return value;
  const error = new Error(value.message);
  define(error, "name", value.name);
  // No others: a peer could name one object with many members in many answers.
  for (const key of ["code", "errno", "errors", "data", "cause"]) {
    if (Object.hasOwn(value, key)) error[key] = key === "cause" ? reviveError(value.cause, depth - 1) : value[key];
  }
  return error;
}

/**
 * The error object for anything that a handler threw. `errorData` is the option of the server, and `link` reports what it
 * throws. Members that are not named here never cross: libraries keep headers, tokens and paths in them.
 */
export function serializeError(thrown, signal, errorData, link) {
  const member = (key) => attempt(() => thrown[key]);
  if (signal?.aborted && (thrown === signal.reason || member("name") === "AbortError")) {
    return { code: REQUEST_CANCELLED, message: "Request cancelled" };
  }
  const code = member("code");
  const message = member("message");
  // The code of a DOMException is a relic, and no protocol's; neither is that of what is no error.
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

/** The `data` of an error, if it is a value of its own: neither inherited nor computed by a getter. */
function ownData(thrown) {
  return attempt(() => Object.getOwnPropertyDescriptor(thrown, "data").value);
}

/** The `data` of an error without any: what the error object does not say already. */
function defaultData(thrown, hasCode) {
  const budget = { values: MAX_ERROR_VALUES, characters: MAX_ERROR_CHARACTERS, seen: new Set() };
  const omitted = hasCode ? ["message", "code"] : ["message"];
  return attempt(() => reduceError(thrown, 0, budget, omitted)) ?? undefined;
}

/**
 * What crosses of an error that another one holds. Of any object these are `name`, `message`, `code`, `errno`, `cause`,
 * `errors` and `data` of its own, without those in `known`. What cannot be read, what is beyond the bounds that are `left`
 * and what was there before is left out.
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

/** The name of an error; of its message engines make what they like, such as the source of a function. */
export function nameOf(problem) {
  return attempt(() => String(problem.name)) ?? "Error";
}

/** The kind of an object, whatever realm it is of: `[object Map]`. */
export function tagOf(value) {
  return attempt(() => Object.prototype.toString.call(value));
}

/** What a function returns, or undefined if it throws: getters of the application's and proxies do. */
function attempt(run) {
  try {
    return run();
  } catch {
    return undefined;
  }
}
