// The transports of clients, servers and peers.

/**
 * The transport of a client, server or peer. The functions below create transports over ports, workers, windows and
 * channels. Applications can also pass any other object of this shape.
 */
export interface RPCTransport {
  /**
   * Sends one `JSONRPCMessage`, or a batch as an array of messages. If `send` throws, or if the returned promise
   * rejects, the call that was being sent rejects with that error.
   */
  send(message: any, transfer?: TransferItem[]): void | PromiseLike<unknown>;
  /**
   * Sets the handler of incoming messages, which may be any values. A later call replaces the handler. `isServing`
   * returns whether a server uses the transport. Only a server answers unreadable messages.
   */
  onMessage(handler: (message: any) => void, isServing?: () => boolean): void;
  /**
   * Registers a callback for the loss of the peer. `error` rejects pending calls; an error other than a `CallError`
   * becomes the `cause` of a `peer-gone` error. If `listens` is true, the peer still accepts responses, so running
   * handlers are not aborted. If `reopens` is true, later calls are sent. Otherwise, later calls are refused until a
   * message arrives. `isWaiting` returns whether calls are pending.
   */
  onClose?(handler: (error?: unknown, reopens?: boolean, listens?: boolean) => void, isWaiting: () => boolean): void;
  /** Registers a callback for errors that do not belong to a call, such as an unreadable message. */
  onError?(handler: (error: Error) => void): void;
  /** Called with the peer's notifications whose names begin with `rpc.`, which handlers do not receive. */
  onControl?(method: string, params: any): void;
  /** Releases the transport. `destroy()` of the client, server or peer calls it, possibly more than once. */
  destroy?(): void;
}

/** A transport that one of the functions below returns. */
export interface BuiltInTransport extends RPCTransport {
  destroy(): void;
}

/** An item of a transfer list: `Transferable` of the DOM, or a transferable object of Node. */
export type TransferItem = typeof globalThis extends { structuredClone: (value: any, options?: infer O) => any }
  ? NonNullable<O> extends { transfer?: infer L }
    ? NonNullable<L> extends readonly (infer Item)[]
      ? Item
      : object
    : object
  : object;

/** An event target, such as a `MessagePort`, `Worker`, `Window` or `BroadcastChannel`. */
export interface ListenTarget {
  addEventListener(type: any, listener: any): void;
  removeEventListener(type: any, listener: any): void;
}

/** A `MessagePort`. */
export interface PortLike extends ListenTarget {
  postMessage(message: any, transfer: any): void;
  start(): void;
  close(): void;
}

/** A `Worker`, for its owner. Node's `Worker` has `on` and `off` instead of `addEventListener`. */
export type WorkerLike = { postMessage(message: any, transfer: any): void; terminate(): unknown } & (
  | ListenTarget
  | { on(type: any, listener: any): unknown; off(type: any, listener: any): unknown }
);

/** A process of Node with an IPC channel: a forked process, or `process` in it. Objects cannot be transferred. */
export interface ProcessLike {
  readonly connected: boolean;
  send?(message: any, callback: (error: Error | null) => void): boolean;
  on(type: any, listener: any): unknown;
  off(type: any, listener: any): unknown;
}

/** A `BroadcastChannel`. */
export interface BroadcastChannelLike extends ListenTarget {
  readonly name: string;
  postMessage(message: any): void;
  close(): void;
}

/** A `Window` of any origin: `iframe.contentWindow`, `parent`, `opener`, the result of `open()`. */
export interface WindowLike {
  readonly closed: boolean;
  postMessage(message: any, targetOrigin: string, transfer?: any): void;
}

/** Options of `windowTransport`. */
export interface WindowTransportOptions {
  /**
   * The origin, or origins, that `target` may have, for sending and for receiving. Default: the origin of this page.
   * `"null"` is an opaque origin, for instance of an iframe with `sandbox` but without `allow-same-origin`. Messages of
   * other windows with an opaque origin are not accepted. `"*"` allows every origin that `target` may navigate to: do
   * not send secrets with it. With several origins, each message is posted to all of them until the window has sent a
   * message. The browser delivers one of the posted messages and logs the other attempts. Before the first message of
   * the window, a transfer throws a `TypeError`.
   */
  origin?: string | readonly string[] | undefined;
  /** The window to listen on. Default: the global `window`. */
  source?: ListenTarget | undefined;
}

/**
 * Returns a transport to another window or iframe. It listens on this window and ignores messages that are not from
 * `target`. `iframe.contentWindow` is `null` until the iframe is in the document.
 */
export function windowTransport(target: WindowLike, options?: WindowTransportOptions): BuiltInTransport;
/** Returns a transport to another window, with positional options: the window to listen on, and the allowed origin. */
export function windowTransport(target: WindowLike, source?: ListenTarget, origin?: string): BuiltInTransport;

/** Returns a transport over a `MessagePort`, which is started once there is a handler. `destroy()` closes the port. */
export function portTransport(port: PortLike): BuiltInTransport;

/**
 * Returns a transport from the owner of a dedicated worker to the worker. `destroy()` does not terminate the worker.
 */
export function workerTransport(worker: WorkerLike | ProcessLike): BuiltInTransport;

/** Returns a transport from this dedicated worker to its owner. Throws a `TypeError` outside of a dedicated worker. */
export function selfTransport(): BuiltInTransport;

/**
 * Returns a transport over a `BroadcastChannel`. The argument is the name of the channel, or an open channel.
 * `destroy()` closes the channel only if the argument was a name. Objects cannot be transferred. The transport suits
 * notifications: every server on the channel answers a request, and the first response is used.
 */
export function broadcastTransport(nameOrChannel: string | BroadcastChannelLike): BuiltInTransport;
