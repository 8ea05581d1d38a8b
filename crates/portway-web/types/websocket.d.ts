// `portway/websocket`: a transport over a WebSocket that reconnects.

import type { BuiltInTransport, CallError } from "./portway.js";

/** A value, or a function that returns it, possibly as a promise. The function is called for each attempt. */
export type PerAttempt<T> = T | (() => T | PromiseLike<T>);

/** A class of WebSockets with `addEventListener`: the class of the platform, or the class of the package `ws`. */
export type WebSocketConstructor = new (url: any, protocols?: any) => object;

/**
 * A WebSocket that is open or connects, such as one that a server of the package `ws` has accepted. With TypeScript,
 * also install `@types/ws`.
 */
export interface AcceptedSocket {
  readonly readyState: number;
  addEventListener(type: any, listener: any): unknown;
  removeEventListener(type: any, listener: any): unknown;
  send(text: string): unknown;
  close(code?: number, reason?: string): unknown;
}

/** The end of a connection, or of an attempt. */
export interface ConnectionEnd {
  /** The close code of RFC 6455 (section 7.4). 1006 if there was no closing handshake, or no connection. */
  readonly code: number;
  /**
   * The reason that the peer has sent, or the reason of this side if this side has ended the connection. May be empty.
   */
  readonly reason: string;
  /** Whether the connection was closed by a closing handshake. */
  readonly wasClean: boolean;
}

/** A connection that has begun. */
export interface WebSocketSession {
  /** The number of the session: 1 for the first. */
  readonly number: number;
  /** The URL of this attempt. It may contain a ticket, so do not log it. */
  readonly url: string;
  /** The subprotocol that the server has chosen; empty if it has chosen none. */
  readonly protocol: string;
}

/** The next attempt to connect. */
export interface ConnectionRetry extends ConnectionEnd {
  /** The number of failures since a connection was last open for the time of the option `hold`. */
  readonly attempt: number;
  /** The time until the next attempt, in ms. */
  readonly delay: number;
  /** The error of the socket, or of a function of the options, if it is known. */
  readonly cause?: unknown;
}

/** The error of calls whose connection has ended: a `CallError` with the end of the connection. */
export interface ConnectionLost extends CallError {
  /** The end of the connection. */
  readonly data: ConnectionEnd;
}

/** Options of the reconnect policy. All times are in milliseconds. */
export interface ReconnectOptions {
  /** The delay after the first failure. It doubles with each further failure. Default: 500. */
  base?: number | undefined;
  /** The maximum delay, after the jitter. At least `base`. Default: 30 000, or `base` if `base` is longer. */
  cap?: number | undefined;
  /**
   * The time that a connection must be open before it resets the count of failures. If the delay before the connection
   * was longer than `hold`, the connection must be open for the time of that delay. Default: 5 000.
   */
  hold?: number | undefined;
  /**
   * The delay that is added after the close codes 1012 and 1013, and the minimum of `base` after these codes. Default:
   * 5 000.
   */
  restart?: number | undefined;
  /**
   * Returns the delay that is used. `delay` is `base · 2^attempt`, at most `cap`; `attempt` counts from 0. If the
   * function throws or does not return a non-negative number, `delay` is used, and the transport reports the error to
   * `onError`. Default: full jitter, which is a random delay from 0 to `delay`.
   */
  jitter?: ((delay: number, attempt: number) => number) | undefined;
}

/** Options of `webSocketTransport`. */
export interface WebSocketTransportOptions {
  /**
   * The constructor of the WebSocket. Default: the global `WebSocket`. Node 20 has no global `WebSocket`, so pass the
   * class of `ws`.
   */
  WebSocket?: WebSocketConstructor | undefined;
  /** The subprotocols to offer. Default: none. Chromium fails a connection whose server chooses none of them. */
  protocols?: PerAttempt<string | readonly string[] | undefined> | undefined;
  /**
   * The messages that are sent before all other messages on each connection, such as a login: one message or an array.
   * Texts are sent as they are, other values as JSON. An array in the array is a batch. The id of a request among these
   * messages must be a string, because the ids of calls are numbers. The response to such a request is ignored.
   */
  first?: PerAttempt<string | object | readonly (string | object)[] | undefined> | undefined;
  /**
   * The time for each attempt, in ms. It includes the time of the functions for the URL, `protocols` and `first`.
   * Default: 10 000. 0 means no limit.
   */
  connectTimeout?: number | undefined;
  /**
   * The time in ms that the peer may be silent while a call is pending. After this time, the peer receives the request
   * `rpc.ping`, which a peer without this method answers with an error. If no message arrives within the same time
   * after `rpc.ping`, the connection is abandoned. Time in which timers are late does not count, for instance while the
   * device sleeps, or while the browser slows the timers of a hidden page. A peer that has sent `rpc.ping` or
   * `rpc.pong` itself is also pinged while no call is pending, after twice this time without a message. Default: 4 500.
   * Minimum: 100. `false` or 0 disables the heartbeat, for instance for a server that answers no ping while it handles
   * a call.
   *
   * A page does not see a message before its last byte has arrived. So the connection is also abandoned if one message
   * takes longer than twice this time, for instance 1.8 MB at 200 KB/s. For such messages, set a longer time. With `ws`
   * in Node, each byte counts, so a message may take any time. Each loss that the heartbeat detects doubles this time
   * for the next connections, up to a factor of 8. Once no call is pending, the factor is 1 again.
   */
  heartbeat?: number | false | undefined;
  /** The maximum length of a message, sent or received, in characters. Default: 10 485 760. */
  maxMessage?: number | undefined;
  /**
   * Whether notifications wait for the next connection, as calls do. By default, a notification between two connections
   * throws a `CallError` `session-ended`. Before the first connection, notifications wait.
   */
  queueNotifications?: boolean | undefined;
  /** The options of the reconnect policy. With `false`, no attempt follows the first failure or end. */
  reconnect?: ReconnectOptions | false | undefined;
  /**
   * Decides whether another attempt follows the end of a connection or attempt. If the function returns `undefined`,
   * the close code decides: 1002, 1003, 1008, 1010, 3000, 3003, and 4400 to 4499 except 4408 and 4429, end the
   * attempts. `attempt` is the number of failures before this end. `hasOpened` is true if the connection was open. If
   * the function throws or returns another value, such as a promise, the error is reported to `onError`, and the close
   * code decides.
   */
  shouldReconnect?:
    | ((end: ConnectionEnd & { readonly attempt: number; readonly hasOpened: boolean }) => boolean | undefined)
    | undefined;
  /** Called when a connection is open. Messages that this function sends precede the calls that waited. */
  onSession?: ((session: WebSocketSession) => void) | undefined;
  /** Called when a connection has ended, with the error that rejected its calls. */
  onLost?: ((error: ConnectionLost) => void) | undefined;
  /** Called after each failure, with the time until the next attempt. */
  onRetry?: ((retry: ConnectionRetry) => void) | undefined;
  /** Called when no further attempt follows, unless the application has closed the transport. */
  onEnd?: ((error: ConnectionLost) => void) | undefined;
}

/** A transport that `webSocketTransport` returns. */
export interface WebSocketTransport extends BuiltInTransport {
  /**
   * The state of the connection. `open` becomes `held` once the connection was open long enough to reset the delays.
   * `idle` is the state before a client uses the transport, and while the page is in the back/forward cache.
   */
  readonly state: "idle" | "connecting" | "open" | "held" | "waiting" | "closed";
  /**
   * Closes the connection for good. Pending calls reject with `peer-gone`. Browsers accept only the codes 1000 and 3000
   * to 4999, so any other code becomes 1000. For example, the peer of `close(1008)` receives 1000. To refuse a client,
   * use a code from 4400 to 4499, except 4408 and 4429. The reason is cut at 123 bytes of UTF-8. `destroy()` closes
   * with 1000.
   *
   * Messages that wait for the next connection are dropped. But if `url` was a socket that is open, the peer receives
   * the notifications that precede this call. If `first` is a function that has not returned its messages yet, these
   * notifications are also dropped.
   */
  close(code?: number, reason?: string): void;
}

/**
 * Returns a transport over a WebSocket, for one client, server or peer, or for a client and a server together. The
 * transport connects when the first client, server or peer is created, and again after each loss of the connection.
 *
 * When a connection is lost, the calls that were sent over it reject with a `ConnectionLost` (`session-ended`). Calls
 * with the option `idempotent` do not reject, and are sent again, until they were sent ten times. Calls that are made
 * without a connection wait for the next connection: at most 1 000 messages, with at most 1 048 576 characters in all.
 * Further calls reject with `too-many-calls`.
 *
 * Instead of a URL, `url` may be a socket that is open or connects, such as one that a server has accepted. In this
 * case, no attempt follows the end of the socket. `WebSocket`, `reconnect`, `onRetry`, and the results of `protocols`
 * and `shouldReconnect` have no effect. `connectTimeout` limits the time until the socket is open and `first` is known.
 * The messages of `first` are sent before all others. If the socket is closing or closed when the client, server or
 * peer is created, the transport ends at once.
 *
 * A socket of `ws` is paused until the first client, server or peer is created, so no message is lost if
 * `webSocketTransport` is called at once. For other sockets, create the client, server or peer in the same turn. A
 * socket can have only one transport.
 *
 * Throws a `TypeError` if there is no `WebSocket`, if `url` is a socket that has had a transport, or if an option is
 * unknown or has a wrong type. Throws a `RangeError` if a number is too small. A transport that was closed or destroyed
 * never connects again.
 */
export function webSocketTransport(
  url: PerAttempt<string | { readonly href: string }> | AcceptedSocket,
  options?: WebSocketTransportOptions,
): WebSocketTransport;

/** The effect of a close code: no attempt, an attempt after the delay, or an attempt after a longer delay. */
export type ReconnectVerdict = "stop" | "back-off" | "wait-longer";

/**
 * The reconnect policy of the transport: a state machine that has no timers and reads no clock. All times are in
 * milliseconds, on any clock that does not go back.
 */
export class ReconnectPolicy {
  constructor(options?: ReconnectOptions);
  /** A new policy is `idle`. Open a connection whenever the state becomes `connecting`. */
  readonly state: "idle" | "connecting" | "open" | "held" | "waiting" | "closed";
  /** The number of failures since a connection was last `held`: open for at least the longer of `hold` and `delay`. */
  readonly attempt: number;
  /**
   * The last delay in ms that the policy has chosen, or 0 before the first failure. In the state `waiting`, it is the
   * delay before the next attempt.
   */
  readonly delay: number;
  /** The time at which `handleTimeout` must be called, or `undefined`. */
  readonly due: number | undefined;
  /** Starts the first attempt. */
  start(): void;
  /** Handles an opened connection. */
  opened(now: number): void;
  /** Handles the time `due`: an open connection becomes `held`, or the next attempt starts. */
  handleTimeout(now: number): void;
  /**
   * Handles the end of a connection or an attempt. `code` is the close code, and `verdict` replaces the verdict on this
   * code.
   */
  lost(now: number, code?: number, verdict?: ReconnectVerdict): void;
  /**
   * Starts an attempt before the delay has ended. Returns false if no attempt may start. After one such attempt, a
   * further call is refused until a delay has run to its end or a connection is `held`.
   */
  hurry(): boolean;
  /** Ends all attempts. */
  close(): void;
}
