// The errors of calls.

/**
 * An error with a JSON-RPC code. A handler throws an `RPCError` to choose the error response. A call rejects with an
 * `RPCError` if the peer sent an error response.
 */
export class RPCError extends Error {
  /**
   * `code` is an integer. JSON-RPC 2.0 (§5.1) reserves -32768 to -32000, of which -32099 to -32000 are for
   * implementation-defined server errors. Applications may use all other integers.
   */
  constructor(code: number, message: string, data?: unknown, options?: { cause?: unknown });
  readonly code: number;
  /**
   * The `data` of the error response. For a thrown `error`, a Portway server sends the first of these values that is
   * not undefined:
   * 1. `errorData(error)`, if the server has this option;
   * 2. `error.data`, if it is an own property and not a getter;
   * 3. an object with these members of the error:
   *    - `name`, unless it is `Error` or `RPCError`;
   *    - `code` and `errno`, if they are strings or numbers. A `code` that is the code of the response is omitted;
   *    - `cause` and `errors`. Each error in these two members has the same members, and in addition `message` and its
   *      own `data`.
   *
   * The server sends no other members, and no stack. The third form is limited to 8 levels, 1 000 values and 2^20
   * characters.
   */
  readonly data?: unknown;
  /** For a received error: `data.cause`, restored to an `Error` if its `name` and `message` are strings. */
  readonly cause?: unknown;
}

/** The reason why a call ended without a usable response. */
export type CallErrorReason =
  /** The peer did not answer in time. */
  | "timeout"
  /** `destroy()` was called on the local client, server or `JSONRPCPeer`. */
  | "destroyed"
  /**
   * The response has neither a result nor an error. `portway/mcp`: the result has an unknown `resultType`, or the
   * server has asked for input more often than 16 times.
   */
  | "invalid-response"
  /** The response could not be read. The `cause` has the reason. */
  | "unreadable-response"
  /** `limits.pendingCalls` was reached. */
  | "too-many-calls"
  /** The peer reloaded, navigated away, or closed the session. Later calls wait for its next session. */
  | "session-ended"
  /** The peer was removed, closed or terminated, or did not start. Later calls are refused at once. */
  | "peer-gone"
  /** `portway/websocket`: the peer does not read, and too many bytes are unsent. */
  | "congested"
  /**
   * `portway/websocket`: the peer has closed the connection with 1009. Of the pending calls whose messages have more
   * than 16 384 characters, this call has the longest message.
   */
  | "too-large"
  /**
   * `portway/mcp`: HTTP has not delivered the response. `data` has the `status`, if there was a response, and the
   * `challenge` of a response with the status 401.
   */
  | "http-failed"
  /** The peer did not answer the heartbeat. Later calls are still sent. */
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
  /**
   * `connect`: the peer has another version of the session protocol. The message names both versions.
   * `portway/mcp`: the server supports no version of MCP that this package supports. `data.supported` has the versions
   * of the server.
   */
  | "incompatible-version"
  /** `connect`: the peer answered with an error, which is the `cause`. */
  | "refused";

/**
 * The error of a call that ended without a usable response. Only the library creates it. A call that could not be sent
 * rejects with the error of the transport instead, such as a `DataCloneError`.
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
