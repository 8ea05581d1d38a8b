// Errors, as the application sees them and as they cross the wire.

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
  of(method, id) {
    return new CallError(this.reason, this.message, method, id, this.cause);
  }
}

/** Why there is no answer, of no call in particular. */
export function failure(reason, text, cause) {
  return new CallError(reason, text, undefined, undefined, cause);
}

/** The end of calls whose other side is not coming back by itself. */
export function gone(text = "the other side is gone", cause) {
  return failure("peer-gone", text, cause);
}

/** The end of what waits for a worker that has not said a word. */
export function unstarted(reason, cause) {
  return failure(reason, `the worker has not started: ${cause?.message ?? "is its script there?"}`, cause);
}

/** What a message is that did come, but cannot be read here. */
export function unreadable() {
  return new Error("a message of the other side cannot be read here");
}

// On the prototypes, so that each instance is spared a property.
RPCError.prototype.name = "RPCError";
CallError.prototype.name = "CallError";

export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
export const REQUEST_CANCELLED = -32800;

/** How deep what an error holds is followed, and how many objects of it cross. */
const DEEPEST = 8;
const MOST_OBJECTS = 1_000;

/** The error of a response, from whatever the other side put there. What is no error object is kept as `data`. */
export function fromWire(raw) {
  // The call ends all the same if a member of it is a getter that throws.
  try {
    const { code, message, data } = Object(raw);
    const hasText = typeof message === "string";
    if (!hasText || !Number.isInteger(code)) return new RPCError(INTERNAL_ERROR, hasText ? message : "Invalid error object", raw);
    const cause = data?.cause;
    return new RPCError(code, message, data, cause === undefined ? undefined : { cause: revived(cause, DEEPEST) });
  } catch (thrown) {
    return thrown;
  }
}

/** An error again, of what was one on the other side. Of the members none can take the place of what every error has. */
function revived(value, depth) {
  if (depth === 0 || typeof value?.name !== "string" || typeof value.message !== "string") return value;
  const error = new Error(value.message);
  error.name = value.name;
  for (const key of Object.keys(value)) {
    if (!(key in error)) error[key] = key === "cause" ? revived(value.cause, depth - 1) : value[key];
  }
  return error;
}

/** The error object for whatever a handler threw. Never a stack: it is nobody's business on the other side. */
export function toWire(thrown, signal) {
  // Anything may be thrown, proxies and objects with throwing getters included.
  try {
    if (signal?.aborted && (thrown === signal.reason || thrown?.name === "AbortError")) {
      return { code: REQUEST_CANCELLED, message: "Request cancelled" };
    }
    const { code, message, data } = Object(thrown);
    const tag = tagOf(thrown);
    // The code of a DOMException is a relic, and no protocol's; neither is that of what is no error.
    const sendsCode = tag === "[object Error]" && Number.isInteger(code);
    const error = {
      code: sendsCode ? code : INTERNAL_ERROR,
      message: typeof message === "string" ? message : "Internal error",
    };
    // In Firefox, a DOMException has a member of this name.
    const added = data === undefined || tag === "[object DOMException]" ? details(thrown, sendsCode) : data;
    if (added !== undefined) error.data = added;
    return error;
  } catch {
    return { code: INTERNAL_ERROR, message: "Internal error" };
  }
}

/** The `data` of what was thrown without any: what it holds that the error object does not say already. */
function details(thrown, sendsCode) {
  const found = copied(thrown, 0, new Set());
  if (found === null || typeof found !== "object" || Array.isArray(found)) return found ?? undefined;
  delete found.message;
  if (sendsCode) delete found.code;
  if (found.name === "Error" || found.name === "RPCError") delete found.name;
  return Object.keys(found).length > 0 ? found : undefined;
}

/**
 * A copy of a value that is fit to cross: errors and other objects as plain ones, without stacks. What cannot be cloned,
 * what throws when it is read, what is too deep and what was there before is left out.
 */
function copied(value, depth, seen) {
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEEPEST || seen.size === MOST_OBJECTS || seen.has(value)) return undefined;
  seen.add(value);
  const inner = (item) => copied(item, depth + 1, seen);
  const copy = Array.isArray(value) ? [] : {};
  const take = (key) => {
    try {
      const member = inner(value[key]);
      if (member !== undefined) copy[key] = member;
    } catch {
      // A getter of the application's.
    }
  };
  try {
    const tag = tagOf(value);
    // Its holes stay holes: there may be billions of them.
    if (Array.isArray(value)) copy.length = value.length;
    // No `instanceof` alone: it may be an error of another frame.
    else if (value instanceof Error || /(Error|Exception)\]$/.test(tag)) ["name", "message", "cause", "errors"].forEach(take);
    else if (tag !== "[object Object]") {
      const clone = structuredClone(value);
      // In these there may be errors, which are cloned with their stacks; and anything can say that it is something else.
      if (clone instanceof Map) return new Map(Array.from(clone, (entry) => entry.map(inner)));
      if (clone instanceof Set) return new Set(Array.from(clone, inner));
      return tagOf(clone) === tag ? clone : copied(clone, depth, seen);
    }
    for (const key of Object.keys(value)) if (key !== "stack" && key !== "__proto__") take(key);
    return copy;
  } catch {
    return undefined;
  }
}

function tagOf(value) {
  return Object.prototype.toString.call(value);
}
