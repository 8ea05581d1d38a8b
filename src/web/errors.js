// Errors, as the application sees them and as they cross the wire.

/** An error that crosses the wire: thrown in a handler here, it rejects the call there, and the other way round. */
export class RPCError extends Error {
  // Minifiers rename classes, and consoles show this.
  static name = "RPCError";

  constructor(code, message, data) {
    super(message);
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

// On the prototypes, so that each instance is spared a property.
RPCError.prototype.name = "RPCError";
CallError.prototype.name = "CallError";

export const METHOD_NOT_FOUND = -32601;
export const INTERNAL_ERROR = -32603;
const REQUEST_CANCELLED = -32800;

/** The error of a response, from whatever the other side put there. What is no error object is kept as `data`. */
export function fromWire(raw) {
  // The call ends all the same if a member of it is a getter that throws.
  try {
    const { code, message, data } = Object(raw);
    const hasText = typeof message === "string";
    if (hasText && Number.isInteger(code)) return new RPCError(code, message, data);
    return new RPCError(INTERNAL_ERROR, hasText ? message : "Invalid error object", raw);
  } catch (thrown) {
    return thrown;
  }
}

/** The error object for whatever a handler threw. Never a stack: it is nobody's business on the other side. */
export function toWire(thrown, signal) {
  // Anything may be thrown, proxies and objects with throwing getters included.
  try {
    if (signal?.aborted && (thrown === signal.reason || thrown?.name === "AbortError")) {
      return { code: REQUEST_CANCELLED, message: "Request cancelled" };
    }
    const isObject = typeof thrown === "object" && thrown !== null;
    const { code, message, data = kept(thrown, code) } = isObject ? thrown : { data: thrown ?? undefined };
    const error = {
      code: sendsCode(thrown) && Number.isInteger(code) ? code : INTERNAL_ERROR,
      message: typeof message === "string" ? message : "Internal error",
    };
    if (data !== undefined) error.data = data;
    return error;
  } catch {
    return { code: INTERNAL_ERROR, message: "Internal error" };
  }
}

/** Whether the code of what was thrown is meant for the wire: that of a DOMException is a relic, and no protocol's. */
function sendsCode(thrown) {
  return Object.prototype.toString.call(thrown) === "[object Error]";
}

/** The `data` of an error that has none: a code that is no number, such as `ENOENT`, is worth keeping. */
function kept(thrown, code) {
  return typeof code === "string" && sendsCode(thrown) ? { code } : undefined;
}
