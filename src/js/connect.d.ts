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
// `connect`, which makes a peer out of a boundary. Rust puts all declarations into one file, without this import.

/** An iframe: what it shows, and what it shows after that. */
export interface FrameLike {
  readonly contentWindow: WindowLike | null;
}

/** The global object of a dedicated worker: there, `self`. */
export interface WorkerScopeLike extends ListenTarget {
  postMessage(message: any, transfer: any): void;
}

/**
 * What `connect` connects to: an iframe, a window, a worker, a port; in a worker `self`. In Node: in a thread `parentPort`, a
 * process that was forked, and in that `process`.
 */
export type ConnectTarget = FrameLike | WindowLike | WorkerLike | PortLike | WorkerScopeLike | ProcessLike;

/** One session with the other side: it ends when that side reloads, navigates, closes or destroys it. */
export interface SessionInfo {
  /** 1 for the first, and so on. */
  readonly number: number;
  /** The origin of the other side, if it is a window. */
  readonly origin?: string | undefined;
  /** What the other side understands beside plain JSON-RPC; nothing if it knows no `connect`. */
  readonly features: readonly string[];
}

/** Options of `connect`, and all those of a peer. `Local` maps what is served here. */
export interface ConnectOptions<Local = any, Remote = any> extends PeerOptions {
  /**
   * The origin, or origins, that the other side may have if it is a window: as in `windowTransport`. Default: this page's
   * own origin.
   */
  origin?: string | readonly string[] | undefined;
  /** How long to wait for the other side, in ms. Default 10 000; `0` waits for ever. */
  connectTimeout?: number | undefined;
  /** Gives up connecting: it rejects with `signal.reason`. */
  signal?: RequestOptions["signal"];
  /** Both sides name the same; others on the same boundary pass by. Default `""`. */
  channel?: string | undefined;
  /** Handlers of requests and streams, by name; those that are there before anything comes in. Inherited members do not count. */
  methods?: { readonly [K in MethodName<Local> | StreamName<Local>]?: MethodHandler<Local, K, Remote> } | undefined;
  /** Handlers of notifications, by name. */
  notifications?: { readonly [K in keyof Local & string]?: NotificationHandler<Local, K, Remote> } | undefined;
  /**
   * The longest, in ms, that the other side may be silent before calls that wait end as `unresponsive`; it is asked in
   * between. Not needed, and not used, where both sides can see each other's Web Locks. Default 10 000, at least 100; `0`
   * for none.
   */
  heartbeat?: number | undefined;
  /** Called as each session begins; what it sends goes before the calls that have waited for the session. */
  onSession?: ((session: SessionInfo) => void) | undefined;
  /** Called as each session ends, with what its calls were rejected with. */
  onLost?: ((error: CallError) => void) | undefined;
}

/**
 * Connects to the other side, whichever of the two begins, and again each time that it has reloaded; it has to call
 * `connect`, too. A side that merely answers requests is connected as a plain peer, without sessions.
 *
 * Nothing is delivered before the code after `await connect(…)` has run. While there is no session calls wait for the
 * next, 10 000 at most. `destroy()` of the peer says goodbye and leaves the target open.
 *
 * Of several connections of one realm on one target and `channel`, the newest wins. An older one without a session rejects with
 * `peer-gone`. An older one with a session loses it for good when the peer begins a session with the newest.
 *
 * An iframe has to be in the document, or be appended in the same turn. Otherwise this rejects with `peer-gone`.
 *
 * Rejects with a `CallError` (`no-answer`, `wrong-origin`, `worker-failed`, `incompatible-version`, `refused`, `peer-gone`), with
 * `signal.reason`, or with a `TypeError` or `RangeError` for what cannot be.
 */
export function connect<Remote extends MethodMap<Remote> = any, Local extends MethodMap<Local> = any>(
  target: ConnectTarget,
  options?: ConnectOptions<Local, Remote>,
): Promise<JSONRPCPeer<Remote, Local>>;
