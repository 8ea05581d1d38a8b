import type {
  CallError,
  JSONRPCPeer,
  ListenTarget,
  MethodHandler,
  MethodMap,
  MethodName,
  NotificationHandler,
  PeerOptions,
  PortLike,
  ProcessLike,
  RequestOptions,
  StreamName,
  WindowLike,
  WorkerLike,
} from "./portway.js";
// The declarations of `connect`. The Rust build puts the declarations of all files into one file, and omits the import
// above.

/** An iframe. Sessions follow its current document. */
export interface FrameLike {
  readonly contentWindow: WindowLike | null;
}

/** The global object of a dedicated worker: `self` in the worker. */
export interface WorkerScopeLike extends ListenTarget {
  postMessage(message: any, transfer: any): void;
}

/**
 * A target of `connect`: an iframe, a window, a worker, a port, or `self` in a worker. In Node: a thread, `parentPort`
 * in a thread, a forked process, or `process` in a forked process.
 */
export type ConnectTarget = FrameLike | WindowLike | WorkerLike | PortLike | WorkerScopeLike | ProcessLike;

/** A session with the peer. It ends when the peer reloads, navigates, closes or is destroyed. */
export interface SessionInfo {
  /** The number of the session: 1 for the first. */
  readonly number: number;
  /** The origin of the peer, if the peer is a window. */
  readonly origin?: string | undefined;
  /** The protocol features of the peer. Empty if the peer does not use `connect`. */
  readonly features: readonly string[];
}

/** Records the messages of all sessions. `sessionTap` of `portway/tap` returns such a function. */
export type SessionTap = (transport: any, target: any, options: { readonly channel?: string | undefined }) => void;

/**
 * The options of `connect`, which include all options of a peer except `dialect`. `Local` maps the methods of this
 * side.
 */
export interface ConnectOptions<Local = any, Remote = any> extends Omit<PeerOptions, "dialect"> {
  /**
   * The origin, or origins, that the peer may have if it is a window, as in `windowTransport`. Default: the origin of
   * this page.
   */
  origin?: string | readonly string[] | undefined;
  /** The time to wait for the peer, in ms. Default: 10 000. `0` waits without a limit. */
  connectTimeout?: number | undefined;
  /** Aborts the attempt: `connect` rejects with `signal.reason`. */
  signal?: RequestOptions["signal"];
  /**
   * The name of the channel, which must be the same on both sides. Several connections can use one target independently
   * if their channels differ. Default: `""`.
   */
  channel?: string | undefined;
  /**
   * Handlers of requests and streams, by name. They are registered before any message arrives. Inherited members are
   * ignored.
   */
  methods?: { readonly [K in MethodName<Local> | StreamName<Local>]?: MethodHandler<Local, K, Remote> } | undefined;
  /** Handlers of notifications by name. */
  notifications?: { readonly [K in keyof Local & string]?: NotificationHandler<Local, K, Remote> } | undefined;
  /**
   * The time in ms that the peer may be silent before pending calls reject with `unresponsive`. During this time, the
   * peer receives pings. If both sides share Web Locks, a lock replaces the heartbeat. Default: 10 000. Minimum: 100.
   * `0` disables the heartbeat.
   */
  heartbeat?: number | undefined;
  /** The result of `sessionTap` of `portway/tap`, which records the messages of all sessions of this connection. */
  tap?: SessionTap | undefined;
  /** Called when a session begins. Messages that this function sends precede the calls that waited for the session. */
  onSession?: ((session: SessionInfo) => void) | undefined;
  /** Called when a session ends, with the error that rejected its calls. */
  onLost?: ((error: CallError) => void) | undefined;
}

/**
 * Connects to the peer, and reconnects each time that the peer has reloaded. Both sides call `connect`, in any order. A
 * peer that does not use `connect`, but answers requests, is connected as a plain peer, without sessions.
 *
 * Received messages are delivered after the code that follows `await connect(…)` has run, up to its next `await`. So
 * this code can add handlers before the first message. Between two sessions, up to 10 000 calls wait for the next
 * session. `destroy()` of the returned `JSONRPCPeer` sends a goodbye to the peer, and leaves the target open.
 *
 * If a realm has several connections on one target and `channel`, the newest connection replaces the others. An older
 * connection without a session rejects with `peer-gone`. An older connection with a session loses this session when the
 * peer begins a session with the newest connection.
 *
 * An iframe must be in the document, or must be appended to the document in the task that calls `connect`. Otherwise
 * `connect` rejects with `peer-gone`.
 *
 * Rejects with a `CallError` (`no-answer`, `wrong-origin`, `worker-failed`, `incompatible-version`, `refused`,
 * `peer-gone`), with `signal.reason`, or with a `TypeError` or `RangeError` for invalid arguments.
 */
export function connect<Remote extends MethodMap<Remote> = any, Local extends MethodMap<Local> = any>(
  target: ConnectTarget,
  options?: ConnectOptions<Local, Remote>,
): Promise<JSONRPCPeer<Remote, Local>>;
