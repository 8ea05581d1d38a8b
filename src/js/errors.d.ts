// The errors that calls end with.

/** A failure with a JSON-RPC code: thrown by a handler it is sent; an error answer arrives as one. */
export class RPCError extends Error {
  /** `code` is an integer; -32768 to -32000 belong to the protocol, of these -32099 to -32000 to applications. */
  constructor(code: number, message: string, data?: unknown, options?: { cause?: unknown });
  readonly code: number;
  /**
   * What the peer sent beside code and message, if anything. A Portway server sends what `errorData` returns, else the `data`
   * of the thrown error if that is a value of its own (not inherited, no getter). Otherwise it sends `name` (unless `Error` or
   * `RPCError`), `code` and `errno` if they are texts or numbers, and of `cause` and `errors` the same, with `message` and own
   * `data`. No other member crosses, and no stack. Bounds: 8 levels, 1 000 values, 2^20 characters.
   */
  readonly data?: unknown;
  /** `data.cause`; an `Error` if it was one. */
  readonly cause?: unknown;
}

/**
 * Why a call ended without an answer: no answer in time; this side destroyed; an answer that is neither result nor
 * error; an answer that cannot be read here, with the `cause`; `limits.pendingCalls` reached.
 */
export type CallErrorReason =
  | "timeout"
  | "destroyed"
  | "invalid-response"
  | "unreadable-response"
  | "too-many-calls"
  /** The other side has reloaded, navigated or closed this session; calls made later wait for its next one. */
  | "session-ended"
  /** The other side is removed, closed, terminated or has not started; later calls are refused at once. */
  | "peer-gone"
  /** The other side did not answer the heartbeat. Later calls are sent. */
  | "unresponsive"
  /** The peer's wasm has died of a full memory, a panic or a trap. It answers no more requests. */
  | "peer-died"
  /** This side's wasm has died. `init()` starts another, for new clients and servers. */
  | "wasm-died"
  /** `connect`: nobody has answered in time. */
  | "no-answer"
  /** `connect`: the other side has an origin that is not allowed. */
  | "wrong-origin"
  /** `connect`: the worker has not started. */
  | "worker-failed"
  /** `connect`: the peer has another version of the session protocol. The message names both versions. */
  | "incompatible-version"
  /** `connect`: the other side has answered with an error, which is the `cause`. */
  | "refused";

/**
 * A call that ended without an answer of the other side. Made by the library only. What could not be sent at all rejects
 * with what the transport threw, such as a `DataCloneError`.
 */
export class CallError extends Error {
  private constructor();
  readonly reason: CallErrorReason;
  /** The method that was called. */
  readonly method?: string;
  /** The id under which it was sent, if it was. */
  readonly id?: number;
  /** What it came from, where that is known. */
  readonly cause?: unknown;
}

export {};
