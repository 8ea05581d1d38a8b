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
// `connect`, which creates a peer with sessions. Rust puts all declarations into one file, without this import.

/** An iframe, whose documents are one peer after another. */
export interface FrameLike {
  readonly contentWindow: WindowLike | null;
}

/** The global object of a dedicated worker: `self`. */
export interface WorkerScopeLike extends ListenTarget {
  postMessage(message: any, transfer: any): void;
}

/**
 * A target of `connect`: an iframe, a window, a worker, a port, or `self` in a worker. In Node: a worker, `parentPort`
 * in a thread, a forked process, or `process` in a forked process.
 */
export type ConnectTarget = FrameLike | WindowLike | WorkerLike | PortLike | WorkerScopeLike | ProcessLike;

/** One session with the peer. It ends when the peer reloads, navigates, closes or is destroyed. */
export interface SessionInfo {
  /** The number of the session. The first has the number 1. */
  readonly number: number;
  /** The origin of the peer, if it is a window. */
  readonly origin?: string | undefined;
  /** The extensions of JSON-RPC that the peer supports. Empty for a peer without `connect`. */
  readonly features: readonly string[];
}

/** Options of `connect`, including those of a peer. `Local` maps the methods that are served locally. */
export interface ConnectOptions<Local = any, Remote = any> extends PeerOptions {
  /**
   * The origin, or origins, that the peer may have if it is a window, as in `windowTransport`. Default: the origin of
   * this page.
   */
  origin?: string | readonly string[] | undefined;
  /** The longest wait for the peer, in ms. Default 10 000; `0` waits without limit. */
  connectTimeout?: number | undefined;
  /** Aborts the connection attempt, which rejects with `signal.reason`. */
  signal?: RequestOptions["signal"];
  /** The name of the connection, equal on both sides. Connections of other names are ignored. Default `""`. */
  channel?: string | undefined;
  /** Handlers of requests and streams by name. They are set before the first message. Inherited members are ignored. */
  methods?: { readonly [K in MethodName<Local> | StreamName<Local>]?: MethodHandler<Local, K, Remote> } | undefined;
  /** Handlers of notifications by name. */
  notifications?: { readonly [K in keyof Local & string]?: NotificationHandler<Local, K, Remote> } | undefined;
  /**
   * The longest silence of the peer, in ms, before pending calls end as `unresponsive`. The peer is pinged in between.
   * Not used where both sides share Web Locks. Default 10 000, at least 100; `0` disables the heartbeat.
   */
  heartbeat?: number | undefined;
  /** Called when a session begins. Its messages are sent before the calls that waited for the session. */
  onSession?: ((session: SessionInfo) => void) | undefined;
  /** Called when a session ends, with the error that its calls rejected with. */
  onLost?: ((error: CallError) => void) | undefined;
}

/**
 * Connects to a peer that also calls `connect`. Either side may call it first. Connects again each time the peer
 * reloads. A peer that only answers requests is connected without sessions.
 *
 * Messages are delivered after the code that follows `await connect(…)` has run. Between sessions, up to 10 000 calls
 * wait for the next session. `destroy()` of the peer sends a goodbye and leaves the target open.
 *
 * If one realm has several connections on one target and `channel`, the newest one is used. An older one without a
 * session rejects with `peer-gone`. An older one with a session ends when the peer begins a session with the newest.
 *
 * An iframe must be in the document, or be appended in the same turn. Otherwise `connect` rejects with `peer-gone`.
 *
 * Rejects with a `CallError` (`no-answer`, `wrong-origin`, `worker-failed`, `refused`, `peer-gone`), with
 * `signal.reason`, or with a `TypeError` or `RangeError` for an invalid argument.
 */
export function connect<Remote extends MethodMap<Remote> = any, Local extends MethodMap<Local> = any>(
  target: ConnectTarget,
  options?: ConnectOptions<Local, Remote>,
): Promise<JSONRPCPeer<Remote, Local>>;
