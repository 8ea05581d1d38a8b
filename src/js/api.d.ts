// The JavaScript API of Portway. Apart from it: `connect` (connect.d.ts), what crosses and its validation
// (messages.d.ts), errors (errors.d.ts), loading the wasm (init.d.ts), error codes (error-codes.d.ts), and ready-made method maps (wiggum.d.ts). Needs TypeScript 5.0 and `lib` ES2020; DOM, WebWorker or Node types are
// used where the project has them and missed by nobody where it has none. That is why the parameters of the
// transports are structural (`PortLike` instead of `MessagePort`), and why there is no import and no `declare global`.

// -------------------------------------------------------------- transports

/**
 * What a client, server or peer needs of a boundary. The functions below make one for the boundaries of a browser;
 * any object of this shape will do.
 */
export interface RPCTransport {
  /**
   * Sends one `JSONRPCMessage`, or a batch as an array of them. An error that is thrown here, or a rejection of
   * the returned promise, fails the call that was being sent.
   */
  send(message: any, transfer?: TransferItem[]): void | PromiseLike<unknown>;
  /**
   * Sets the one receiver of incoming messages, which may be anything; a later call replaces the earlier receiver.
   * `isServing` says whether a server uses the transport, which answers what cannot be read.
   */
  onMessage(handler: (message: any) => void, isServing?: () => boolean): void;
  /**
   * Sets the function to call when the other side is gone: every call that waits rejects, and the handlers that work for
   * it are stopped. A `CallError` is what the calls reject with; anything else becomes the `cause` of one whose `reason` is
   * `peer-gone`. With `reopens` later calls are sent as ever; otherwise they are refused at once until a message comes in.
   * With `listens` the other side still takes answers, and handlers go on. `isWaiting` says whether any call waits.
   */
  onClose?(handler: (error?: unknown, reopens?: boolean, listens?: boolean) => void, isWaiting: () => boolean): void;
  /** Sets the function to call with faults that are no call's own, such as a message that cannot be read. */
  onError?(handler: (error: Error) => void): void;
  /** Gets the notifications of the other side whose names begin with `rpc.`; no handler does. */
  onControl?(method: string, params: any): void;
  /** Lets go of the boundary. Called by `destroy()` of the client, server or peer, and harmless when repeated. */
  destroy?(): void;
}

/** A transport of the functions below. */
export interface BuiltInTransport extends RPCTransport {
  destroy(): void;
}

/** What may stand in a transfer list here: `Transferable` of the DOM, or what Node calls a transferable object. */
export type TransferItem = typeof globalThis extends { structuredClone: (value: any, options?: infer O) => any }
  ? NonNullable<O> extends { transfer?: infer L }
    ? NonNullable<L> extends readonly (infer Item)[]
      ? Item
      : object
    : object
  : object;

/** What a transport listens on; `MessagePort`, `Worker`, `Window` and `BroadcastChannel` are all of this shape. */
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

/** A `Worker`, seen from its owner; Node's, which has `on` and `off`, will do. */
export type WorkerLike = { postMessage(message: any, transfer: any): void; terminate(): unknown } & (
  | ListenTarget
  | { on(type: any, listener: any): unknown; off(type: any, listener: any): unknown }
);

/** A process with an IPC channel, in Node: one that was forked, or in it, `process`. Nothing can be transferred. */
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

/** A `Window` to post to, of any origin: `iframe.contentWindow`, `parent`, `opener`, the result of `open()`. */
export interface WindowLike {
  readonly closed: boolean;
  postMessage(message: any, targetOrigin: string, transfer?: any): void;
}

/** Options of `windowTransport`. */
export interface WindowTransportOptions {
  /**
   * The origin, or origins, that `target` may have, for sending and for receiving. Default: this page's own origin. `"null"` is
   * a frame without an origin (`sandbox` without `allow-same-origin`, `srcdoc` in one): then only that very window is heard.
   * `"*"` is anybody that `target` may navigate to: never send a secret that way. With several origins, each message is posted
   * to all of them until the window has sent one. The browser delivers it once, and logs the other attempts. A transfer before
   * that is a `TypeError`.
   */
  origin?: string | readonly string[] | undefined;
  /** The window to listen on. Default: the global `window`. */
  source?: ListenTarget | undefined;
}

/**
 * Another window or frame. Listens on this window and hears only `target`; other messages are left to others.
 * `iframe.contentWindow` is `null` until the frame is in the document.
 */
export function windowTransport(target: WindowLike, options?: WindowTransportOptions): BuiltInTransport;
/** The same with the options in a row: the window to listen on, then the one origin allowed. */
export function windowTransport(target: WindowLike, source?: ListenTarget, origin?: string): BuiltInTransport;

/** A `MessagePort`, which is started once somebody listens. `destroy()` closes it. */
export function portTransport(port: PortLike): BuiltInTransport;

/** A dedicated worker, on its owner's side. `destroy()` does not terminate the worker. */
export function workerTransport(worker: WorkerLike | ProcessLike): BuiltInTransport;

/** The owner of this dedicated worker, on the worker's side. A `TypeError` anywhere else. */
export function selfTransport(): BuiltInTransport;

/**
 * Everyone of this origin on one `BroadcastChannel`, given by name or as an open channel; `destroy()` closes one that
 * was given by name. Nothing can be transferred. Suits notifications: a request is answered by every server on the
 * channel, and the first answer counts.
 */
export function broadcastTransport(nameOrChannel: string | BroadcastChannelLike): BuiltInTransport;

// ------------------------------------------------------------- method maps

/**
 * One method in a map. With a `result` it is a request, with a `stream` it gives many items of that type, with neither it is
 * a notification. Without `params` it takes none;
 * with `params?` they may be left out, and the handler gets `undefined`. A handler that has nothing to return has the
 * result `null`. `progress` is the type of the values reported by `context.progress`; `any` when it is not there.
 */
export interface MethodEntry {
  params?: object | undefined;
  result?: unknown;
  stream?: unknown;
  progress?: unknown;
}

/** The shape of a map: interfaces and type literals alike. `class Api<M extends MethodMap<M>>` accepts any of them. */
export type MethodMap<M> = { [K in keyof M]: MethodEntry };

/** The requests of a map: its entries that have a `result`. Without a map, any string. */
export type MethodName<M> =
  IsAny<M> extends true
    ? string
    : { [K in keyof M & string]: "result" extends keyof M[K] ? K : never }[keyof M & string];

/** The streams of a map: its entries that have a `stream`. Without a map, any string. */
export type StreamName<M> =
  IsAny<M> extends true
    ? string
    : { [K in keyof M & string]: "stream" extends keyof M[K] ? K : never }[keyof M & string];

/** The notifications of a map: its entries that have neither `result` nor `stream`. Without a map, any string. */
export type NotificationName<M> =
  IsAny<M> extends true ? string : Exclude<keyof M & string, MethodName<M> | StreamName<M>>;

/** The parameters of a method: `undefined` when it takes none, with `undefined` when they may be left out. */
export type ParamsOf<M, K> = Member<M, K, "params", undefined>;

/** What a call of the method yields. A handler's `undefined` arrives as `null`. `T` stands in where there is no map. */
export type ResultOf<M, K, T = unknown> = IsAny<M> extends true ? T : Received<Member<M, K, "result", undefined>>;

/** What a stream gives, one after the other. `T` stands in where there is no map. */
export type ItemOf<M, K, T = unknown> = IsAny<M> extends true ? T : Member<M, K, "stream", never>;

/** What the method reports while it runs. */
export type ProgressOf<M, K> = Member<M, K, "progress", any>;

type IsAny<T> = 0 extends 1 & T ? true : false;
type Member<M, K, Name extends string, Missing> = K extends keyof M
  ? Name extends keyof M[K]
    ? M[K][Name]
    : Missing
  : never;
// `undefined` cannot be told from "no result" in JSON, so it never crosses.
type Received<R> = IsAny<R> extends true ? R : R extends undefined | void ? null : R;
type Returned<R> = null extends R ? R | void : undefined extends R ? R | void : R;
// `as const` makes tuples readonly; sending one is harmless.
type Sent<P> = P extends readonly unknown[] ? Readonly<P> : P;
type CallArguments<P, Options> =
  IsAny<P> extends true
    ? [params?: object | undefined, options?: Options | undefined]
    : undefined extends P
      ? [params?: Sent<P> | undefined, options?: Options | undefined]
      : [params: Sent<P>, options?: Options | undefined];
// Takes a global type by name from whichever library declares it, if one does.
type Global<Name extends string, Fallback> = typeof globalThis extends { [K in Name]: { prototype: infer T } }
  ? T
  : Fallback;
type Signal = Global<"AbortSignal", { readonly aborted: boolean; readonly reason: any } & ListenTarget>;
// `using` where the library knows `Symbol.dispose`, nothing elsewhere.
type DisposeMember = SymbolConstructor extends { readonly dispose: infer D } ? { [K in D & symbol]: () => void } : {};

// ------------------------------------------------------------------ client

/** Bounds that keep a broken or hostile peer from exhausting this side. */
export interface Limits {
  // limits:begin
  /** Maximum number of pending own calls. One more fails with `CallError` `too-many-calls`. Default 1 000 000. */
  pendingCalls?: number | undefined;
  /** Maximum number of running requests of the peer. One more is answered with -32600. Default 1 024. */
  inFlight?: number | undefined;
  /**
   * Maximum number of messages in one incoming batch, not counting responses. A longer batch is answered with -32600.
   * Default 1 000.
   */
  batchItems?: number | undefined;
  /**
   * Maximum length of a string id, and natively of the text of a number, in UTF-16 code units. A request with a longer
   * id is answered with -32600 and the id null. Default 1 024.
   */
  idLength?: number | undefined;
  // limits:end
}

/** Options that clients and servers share. */
export interface LinkOptions {
  /**
   * Whether small messages of one turn of the event loop, all but the first, leave together, up to 256 at a time; that
   * is several times as fast. A large message, or one that holds more than plain values, leaves by itself, in order. By
   * default it is done where both sides are known to take it: in the sessions of `connect`. On a transport alone, `true`
   * is for both sides of it, or for one whose other side takes batches of JSON-RPC 2.0; `"columns"`, which is faster yet, is
   * for one whose other side is Portway: messages of one kind then leave as one notification, `rpc.columns` (PROTOCOL.md).
   */
  coalesce?: boolean | "columns" | undefined;
}

/** Options of `JSONRPCClient`. */
export interface ClientOptions extends LinkOptions {
  /** How long a call waits for its answer, in ms. Default 10 000; `0` and `Infinity` wait for ever. */
  timeout?: number | undefined;
  /** Gets the failures that no caller can be told of. Default: they are logged with `console.error`. */
  onError?: ((error: Error) => void) | undefined;
  limits?: Limits | undefined;
}

/** Options of a notification. */
export interface NotifyOptions {
  /** What to transfer instead of copying. It must be part of the parameters, and is gone here afterwards. */
  transfer?: readonly TransferItem[] | undefined;
}

/** Options of one call. */
export interface RequestOptions<Progress = any> extends NotifyOptions {
  /**
   * In ms, instead of the client's. With `onProgress`, progress restarts it. A call that times out is cancelled at the peer, by
   * `$/cancelRequest`. A negative number or `NaN` is a `RangeError`.
   */
  timeout?: number | undefined;
  /** The call ends after so many ms, whatever its progress. Default: 60 times the timeout; `0` is no such end. */
  totalTimeout?: number | undefined;
  /** Gives the call up: it rejects with `signal.reason`, and the other side is told by `$/cancelRequest`. */
  signal?: Signal | undefined;
  /** Gets what the handler reports by `context.progress`, in order, until the call ends. */
  onProgress?: ((value: Progress) => void) | undefined;
}

/** Options of a stream. */
export interface StreamOptions extends NotifyOptions {
  /** How long to wait for an item, in ms, instead of the client's timeout. It runs only while one is being waited for. */
  timeout?: number | undefined;
  /** Gives the stream up: it ends with `signal.reason`, and the other side is told by `$/cancelRequest`. */
  signal?: Signal | undefined;
  /** How many items may be under way, sent and not yet taken: 1 to 65 536. Default 16. */
  window?: number | undefined;
}

/** Options of a batch: time-out in ms and signal for all of its calls. */
export interface BatchOptions {
  timeout?: number | undefined;
  signal?: Signal | undefined;
}

/** One member of a batch. With `notify: true` it is sent as a notification. */
export type BatchCall<M = any> =
  IsAny<M> extends true
    ? { readonly method: string; readonly params?: object | undefined; readonly notify?: boolean | undefined }
    : {
        [K in Exclude<keyof M & string, StreamName<M>>]: BatchMember<
          K,
          ParamsOf<M, K>,
          K extends MethodName<M> ? true : false
        >;
      }[Exclude<keyof M & string, StreamName<M>>];

type BatchMember<K, P, IsRequest> = { readonly method: K } & (undefined extends P
  ? { readonly params?: Sent<P> | undefined }
  : { readonly params: Sent<P> }) &
  (IsRequest extends true ? { readonly notify?: boolean | undefined } : { readonly notify: true });

/** What `batch` yields: one outcome per member, in the order of the members. */
export type BatchResults<M, Calls extends readonly unknown[]> = {
  -readonly [I in keyof Calls]: PromiseSettledResult<
    Calls[I] extends { readonly notify: true }
      ? undefined
      : Calls[I] extends { readonly method: infer K }
        ? ResultOf<M, K>
        : unknown
  >;
};

/**
 * Calls the methods of the other side. `M` is the map of what the other side serves; without it every name and any
 * parameters are accepted, and the result type can be named at the call: `request<Page>("fetch", { url })`.
 *
 * Every call ends exactly once, by the other side's answer (an error answer rejects with `RPCError`), or with a
 * `CallError`, or with the reason of its signal.
 */
export class JSONRPCClient<M extends MethodMap<M> = any> {
  /** Takes over `transport` and listens at once. `init()` must have ended. */
  constructor(transport: RPCTransport, options?: ClientOptions);
  /** Calls a method. Rejects with `RPCError`, `CallError` or `signal.reason`. A bad `timeout` is a `RangeError`. */
  request<T = unknown, K extends MethodName<M> = MethodName<M>>(
    method: K,
    ...args: CallArguments<ParamsOf<M, K>, RequestOptions<ProgressOf<M, K>>>
  ): Promise<ResultOf<M, K, T>>;
  /**
   * Asks for the items of a method, one after the other: `for await (const item of client.stream("logs")) …`. The request
   * goes out when the first item is wanted. To leave the loop, in whatever way, ends the stream at the other side too. No
   * more than `window` items are under way, so that a slow consumer makes the other side wait. An error comes after the
   * items that were sent before it; `destroy()`, the signal and a loss of the other side end it at once. A bad `timeout` or
   * `window` throws a `RangeError`.
   */
  stream<T = any, K extends StreamName<M> = StreamName<M>>(
    method: K,
    ...args: CallArguments<ParamsOf<M, K>, StreamOptions>
  ): AsyncIterableIterator<ItemOf<M, K, T>>;
  /**
   * Sends a notification and returns at once; there is no answer. A request of the map may be sent this way too, when
   * its result does not matter. Throws when the parameters cannot be cloned.
   */
  notify<K extends keyof M & string>(method: K, ...args: CallArguments<ParamsOf<M, K>, NotifyOptions>): void;
  /**
   * Sends several calls as one message. Resolves when all have ended, never rejects because of one of them. The other
   * side has to accept batches: every Portway side does. Rejects when nothing was sent at all, for instance because the
   * client is destroyed.
   */
  batch<Calls extends readonly BatchCall<M>[] | readonly []>(
    calls: Calls,
    options?: BatchOptions,
  ): Promise<BatchResults<M, Calls>>;
  /** How many calls are waiting for their answer. */
  readonly pending: number;
  /**
   * The number of ignored messages on this transport: answers to requests that were never sent, and broken messages that get no
   * answer. A late answer to a call that has ended does not count.
   */
  readonly ignored: number;
  /**
   * Ends all pending calls with `CallError` `destroyed`, and the transport too, unless a server still uses it. Harmless
   * when repeated.
   */
  destroy(): void;
}
/** `using client = …` destroys it at the end of the block. */
export interface JSONRPCClient<M extends MethodMap<M> = any> extends DisposeMember {}

// ------------------------------------------------------------------ server

/** Options of `JSONRPCServer`. */
export interface ServerOptions extends LinkOptions {
  /** Gets the failures that no caller can be told of, such as those of notification handlers. Default: logged. */
  onError?: ((error: Error) => void) | undefined;
  /**
   * Returns the `data` of an error answer: what the caller gets beside `code` and `message`. It is called with anything that a
   * method of this server throws or rejects with, an `RPCError` with `data` included, but not for a cancelled request, an
   * unknown method or a notification. `undefined` leaves the default, which `RPCError.data` describes; `null` is sent as
   * `null`. If it throws, `onError` gets that, and the default is sent. It is not awaited. Data that the transport cannot
   * send, such as a promise, is left out. An `Error` in it is cloned with its stack: return plain values.
   */
  errorData?: ((error: unknown) => unknown) | undefined;
  limits?: Limits | undefined;
  /** How `params: null` is taken: as if it were absent, or as an invalid request (-32600). Default `"absent"`. */
  paramsNull?: "absent" | "invalid" | undefined;
}

/** What a handler knows about the message that it handles. `Remote` maps what the sender of the message serves. */
export interface HandlerContext<Remote = any, Progress = any> {
  /** The name under which it was called. */
  readonly method: string;
  /** Aborted when the caller has given up (`$/cancelRequest`) or this side is destroyed. */
  readonly signal: Signal;
  /** Reports to the caller's `onProgress`. Does nothing for a notification, or once the handler has ended. */
  progress(value: Progress, transfer?: readonly TransferItem[]): void;
  /**
   * Lets other messages be handled. A handler that computes without waiting notices a cancellation only here. Resolves in a new
   * task; rejects with the reason of `signal` once that is aborted.
   */
  yield(): Promise<void>;
  /** Names what of the result, or in a stream of the next item, is to be transferred instead of copied. */
  transfer(list: readonly TransferItem[]): void;
  /** Sends a notification to the sender of the message, before the result. */
  notify<K extends keyof Remote & string>(method: K, ...args: CallArguments<ParamsOf<Remote, K>, NotifyOptions>): void;
}

/** Handles a request; what it returns or resolves to is the result, what it throws is the error. */
export type MethodHandler<M, K, Remote = any> = (
  params: ParamsOf<M, K>,
  context: HandlerContext<Remote, ProgressOf<M, K>>,
) => K extends StreamName<M> ? StreamResult<M, K> : HandlerResult<Member<M, K, "result", undefined>>;

/**
 * What the handler of a stream returns. It is asked for one item after the other, as long as the caller takes them. When the
 * caller gives up, its `return()` is called (`cancel()` for a `ReadableStream`), and the request is answered after that; a
 * generator that waits for something has to watch its signal. Arrays are plain results, and no streams.
 */
export type StreamSource<Item> = AsyncIterable<Item> | AsyncIterator<Item> | ReadableStreamLike<Item>;

/** A `ReadableStream`. */
export interface ReadableStreamLike<Item> {
  getReader(): { read(): Promise<{ done: boolean; value?: Item | undefined }>; releaseLock(): void };
}

type StreamResult<M, K> = IsAny<M> extends true ? any : Sourced<Member<M, K, "stream", never>>;
type Sourced<Item> = StreamSource<Item> | PromiseLike<StreamSource<Item>>;

/** Handles a notification; what it returns is ignored, what it throws goes to `onError`. */
export type NotificationHandler<M, K, Remote = any> = (
  params: ParamsOf<M, K>,
  context: HandlerContext<Remote>,
) => unknown;

type HandlerResult<R> = Returned<R> | PromiseLike<Returned<R>>;

/**
 * Serves methods to the other side. `M` maps what is served here; `Remote` maps what the other side listens to, for
 * `context.notify`. Without maps every name is accepted, with parameters of type `any`.
 */
export class JSONRPCServer<M extends MethodMap<M> = any, Remote extends MethodMap<Remote> = any> {
  /** Takes over `transport` and listens at once. `init()` must have ended. */
  constructor(transport: RPCTransport, options?: ServerOptions);
  /**
   * Serves a request; a later handler replaces the earlier one. Throw an `RPCError` to choose code and data; an integer
   * `code` on any plain `Error` is sent as well, everything else becomes -32603. A name that nobody serves is answered
   * with -32601. A notification of this name runs the handler too, unanswered, unless `onNotify` has one for it. Names
   * that begin with "rpc." are reserved: a `TypeError`.
   */
  method<K extends MethodName<M> | StreamName<M>>(name: K, handler: MethodHandler<M, K, Remote>): this;
  /** Listens to a notification; a later handler replaces the earlier one. They run in the order of arrival. */
  onNotify<K extends keyof M & string>(name: K, handler: NotificationHandler<M, K, Remote>): this;
  /**
   * Forgets all handlers, aborts those that run, and ends the transport, unless a client still uses it. Running requests are
   * answered with -32603 and `data.reason` `destroyed`. Harmless when repeated.
   */
  destroy(): void;
}
/** `using server = …` destroys it at the end of the block. */
export interface JSONRPCServer<M extends MethodMap<M> = any, Remote extends MethodMap<Remote> = any>
  extends DisposeMember {}

// -------------------------------------------------------------------- peer

/** Options of `JSONRPCPeer`. */
export interface PeerOptions extends ClientOptions, ServerOptions {}

/** Names that the language, consoles and test runners look up in any object. */
type WellKnownName = "then" | "toJSON" | "toString" | "valueOf" | "inspect" | "asymmetricMatch" | "$$typeof";

/**
 * Calls as methods: `remote.fetch({ url })` is `request("fetch", { url })`. A method with a name that the language, consoles
 * or test runners look up in any object (`then`, `toJSON`, `toString`, `valueOf`, `inspect`, `asymmetricMatch`, `$$typeof`) is
 * called by `request` alone.
 */
export type RemoteProxy<M> =
  IsAny<M> extends true
    ? { readonly [method: string]: <T = unknown>(params?: object, options?: RequestOptions) => Promise<T> } & {
        readonly then?: undefined;
      }
    : {
        readonly [K in Exclude<MethodName<M>, WellKnownName>]: (
          ...args: CallArguments<ParamsOf<M, K>, RequestOptions<ProgressOf<M, K>>>
        ) => Promise<ResultOf<M, K>>;
      };

/**
 * Client and server on one transport, for a boundary where both sides call. `Remote` maps what the other side serves,
 * `Local` what this side serves; the other side names them the other way round.
 */
export class JSONRPCPeer<Remote extends MethodMap<Remote> = any, Local extends MethodMap<Local> = any> {
  /** Takes over `transport` and listens at once. `init()` must have ended. */
  constructor(transport: RPCTransport, options?: PeerOptions);
  /** The other side's requests as methods. */
  readonly remote: RemoteProxy<Remote>;
}
/** All of `JSONRPCClient` towards the other side, and all of `JSONRPCServer` for what is served here. */
export interface JSONRPCPeer<Remote extends MethodMap<Remote> = any, Local extends MethodMap<Local> = any>
  extends JSONRPCClient<Remote>,
    JSONRPCServer<Local, Remote> {}
