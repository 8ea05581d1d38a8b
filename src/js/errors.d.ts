// The errors of calls.

/**
 * An error with a JSON-RPC code. A handler throws it to choose the error response; a call rejects with it for such a
 * response.
 */
export class RPCError extends Error {
  /** `code` is an integer. The protocol reserves -32768 to -32000, and leaves -32099 to -32000 to applications. */
  constructor(code: number, message: string, data?: unknown, options?: { cause?: unknown });
  readonly code: number;
  /**
   * The `data` of the error response. A Portway server sends the value that `errorData` returns. Without one, it sends
   * the own `data` of the thrown error (not inherited, not a getter). Without that, it sends these members of the
   * error: `name` (unless `Error` or `RPCError`), `code` and `errno` if they are strings or numbers, and `cause` and
   * `errors` in the same form with `message` and own `data`. It sends no other member, and no stack. Bounds: 8 levels,
   * 1 000 values, 2^20 characters.
   */
  readonly data?: unknown;
  /** The value of `data.cause`. It is an `Error` if the peer sent one. */
  readonly cause?: unknown;
}

/** The reason why a call ended without a response of the peer. */
export type CallErrorReason =
  /** The peer did not answer in time. */
  | "timeout"
  /** The client, server or peer was destroyed. */
  | "destroyed"
  /** The response has neither a result nor an error. */
  | "invalid-response"
  /** The response could not be read. The `cause` has the reason. */
  | "unreadable-response"
  /** `limits.pendingCalls` was reached. */
  | "too-many-calls"
  /** The peer reloaded, navigated or closed this session. Later calls wait for its next session. */
  | "session-ended"
  /** The peer was removed, closed or terminated, or did not start. Later calls are refused at once. */
  | "peer-gone"
  /** The peer did not answer the heartbeat. Later calls are sent. */
  | "unresponsive"
  /** The peer's wasm trapped, panicked or ran out of memory. The peer no longer answers requests. */
  | "peer-died"
  /** The wasm of this realm trapped. `init()` starts another instance for new clients and servers. */
  | "wasm-died"
  /** `connect`: the peer did not answer in time. */
  | "no-answer"
  /** `connect`: the origin of the peer is not allowed. */
  | "wrong-origin"
  /** `connect`: the worker did not start. */
  | "worker-failed"
  /** `connect`: the peer has another version of the session protocol. The message names both versions. */
  | "incompatible-version"
  /** `connect`: the peer answered with an error, which is the `cause`. */
  | "refused";

/**
 * The error of a call that ended without a response of the peer. Only the library creates it. A call that could not be
 * sent rejects with the error of the transport instead, such as a `DataCloneError`.
 */
export class CallError extends Error {
  private constructor();
  readonly reason: CallErrorReason;
  /** The method that was called. */
  readonly method?: string;
  /** The id of the request, if it was sent. */
  readonly id?: number;
  /** The underlying error, if it is known. */
  readonly cause?: unknown;
}

export {};
