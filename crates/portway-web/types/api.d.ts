import type { ListenTarget, RPCTransport, TransferItem } from "./transports.js";
// Clients, servers and peers. Other declarations: transports (transports.d.ts), `connect` (connect.d.ts), messages and
// their validation (messages.d.ts), errors (errors.d.ts), error codes (error-codes.d.ts), loading the wasm (init.d.ts),
// and method maps of an application (wiggum.d.ts). All declarations need TypeScript 5.0 and `lib` ES2020. They use the
// types of DOM, WebWorker or Node where the project has these types. Therefore the parameters of transports are
// structural (`PortLike` instead of `MessagePort`), and there is no `declare global`.

// ------------------------------------------------------------- method maps

/**
 * One method in a method map, which is a type with an entry for each method of a peer. An entry with `result` is a
 * request. An entry with `stream` is a stream of items of the type `stream`. An entry with neither is a notification.
 * Without `params`, the method has no parameters. With `params?`, the parameters are optional, and the handler receives
 * `undefined` if they are absent. A handler without a return value has the result `null`. `progress` is the type of the
 * values that `context.progress` reports. Default: `any`.
 */
export interface MethodEntry {
  params?: object | undefined;
  result?: unknown;
  stream?: unknown;
  progress?: unknown;
}

/** The shape of a method map. `class Api<M extends MethodMap<M>>` accepts interfaces and type literals. */
export type MethodMap<M> = { [K in keyof M]: MethodEntry };

/** The names of the requests in a map: its entries with a `result`. Without a map: any string. */
export type MethodName<M> =
  IsAny<M> extends true
    ? string
    : { [K in keyof M & string]: "result" extends keyof M[K] ? K : never }[keyof M & string];

/** The names of the streams in a map: its entries with a `stream`. Without a map: any string. */
export type StreamName<M> =
  IsAny<M> extends true
    ? string
    : { [K in keyof M & string]: "stream" extends keyof M[K] ? K : never }[keyof M & string];

/** The names of the notifications in a map: its entries without `result` and `stream`. Without a map: any string. */
export type NotificationName<M> =
  IsAny<M> extends true ? string : Exclude<keyof M & string, MethodName<M> | StreamName<M>>;

/**
 * The parameters of a method. `undefined` if the method has no parameters; a union with `undefined` if the parameters
 * are optional.
 */
export type ParamsOf<M, K> = Member<M, K, "params", undefined>;

/** The result of a method, or `T` without a map. A handler's `undefined` arrives as `null`. */
export type ResultOf<M, K, T = unknown> = IsAny<M> extends true ? T : Received<Member<M, K, "result", undefined>>;

/** The items of a stream, or `T` without a map. */
export type ItemOf<M, K, T = unknown> = IsAny<M> extends true ? T : Member<M, K, "stream", never>;

/** The progress values of a method. */
export type ProgressOf<M, K> = Member<M, K, "progress", any>;

type IsAny<T> = 0 extends 1 & T ? true : false;
type Member<M, K, Name extends string, Missing> = K extends keyof M
  ? Name extends keyof M[K]
    ? M[K][Name]
    : Missing
  : never;
// JSON cannot express `undefined`, so `undefined` is sent as `null`.
type Received<R> = IsAny<R> extends true ? R : R extends undefined | void ? null : R;
type Returned<R> = null extends R ? R | void : undefined extends R ? R | void : R;
// `as const` makes tuples readonly. Readonly tuples can also be sent.
type Sent<P> = P extends readonly unknown[] ? Readonly<P> : P;
type CallArguments<P, Options> =
  IsAny<P> extends true
    ? [params?: object | undefined, options?: Options | undefined]
    : undefined extends P
      ? [params?: Sent<P> | undefined, options?: Options | undefined]
      : [params: Sent<P>, options?: Options | undefined];
// The global type with this name, or `Fallback` if no library of the project declares that type.
type Global<Name extends string, Fallback> = typeof globalThis extends { [K in Name]: { prototype: infer T } }
  ? T
  : Fallback;
type Signal = Global<"AbortSignal", { readonly aborted: boolean; readonly reason: any } & ListenTarget>;
// The member for `using`, where a library declares `Symbol.dispose`.
type DisposeMember = SymbolConstructor extends { readonly dispose: infer D } ? { [K in D & symbol]: () => void } : {};

// ------------------------------------------------------------------ client

/** Limits that prevent a broken or hostile peer from exhausting memory. */
export interface Limits {
  // limits:begin
  /** Maximum number of pending outgoing calls. One more fails with `CallError` `too-many-calls`. Default 1 000 000. */
  pendingCalls?: number | undefined;
  /** Maximum number of running requests from the peer. One more is answered with -32600. Default 1 024. */
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
   * Whether the small messages of one turn are sent together, up to 256 at a time. Sending messages together is several
   * times as fast. The first message of a turn is sent at once, and the turn ends at the next `await` or at the end of
   * the task. A large message, or a message whose values are not all plain, is sent separately. The order is kept. By
   * default, a session of `connect` sends messages together if both sides support it. On a plain transport, set the
   * option to `true` if the peer accepts batches of JSON-RPC 2.0. If the peer uses Portway, set it to `"columns"`,
   * which is faster, because messages of one kind are sent as one notification, `rpc.columns` (PROTOCOL.md). Over a
   * WebSocket, `"columns"` has the effect of `true`.
   */
  coalesce?: boolean | "columns" | undefined;
  /**
   * The dialect of the peer. `"mcp"` is the Model Context Protocol: it changes cancellation, progress and empty
   * results, and has no streams and no batches (docs/mcp.md). The first client or server on a transport sets the
   * dialect for all clients and servers on the transport. If the first one has no dialect, the constructor of a later
   * one with a dialect throws a `TypeError`. Default: JSON-RPC 2.0, with the notifications and streams of this library.
   */
  dialect?: "mcp" | undefined;
}

/** Options of `JSONRPCClient`. */
export interface ClientOptions extends LinkOptions {
  /** The longest wait for a response, in ms. Default 10 000; `0` and `Infinity` = no timeout. */
  timeout?: number | undefined;
  /** Called with errors that do not belong to a call. Default: logs them with `console.error`. */
  onError?: ((error: Error) => void) | undefined;
  limits?: Limits | undefined;
}

/** Options of a notification. */
export interface NotifyOptions {
  /** The objects to transfer instead of copying. They must be part of the parameters, and are detached once sent. */
  transfer?: readonly TransferItem[] | undefined;
}

/** Options of one call. */
export interface RequestOptions<Progress = any> extends NotifyOptions {
  /**
   * The timeout in ms. Default: the timeout of the client. With `onProgress`, progress restarts the timeout. A timeout
   * cancels the request at the peer with `$/cancelRequest`. For a negative number or `NaN`, the call rejects with a
   * `RangeError`.
   */
  timeout?: number | undefined;
  /** The longest time of the call in ms, regardless of progress. Default: 60 times the timeout; `0` = no limit. */
  totalTimeout?: number | undefined;
  /** Cancels the call: it rejects with `signal.reason`, and the peer receives `$/cancelRequest`. */
  signal?: Signal | undefined;
  /** Called with each value that the handler passes to `context.progress`, in order, until the call ends. */
  onProgress?: ((value: Progress) => void) | undefined;
  /**
   * Whether the call may be sent again. Over a `webSocketTransport`, such a call survives the loss of its connection,
   * and is sent again on the next connection, until it was sent ten times. Other transports ignore this option.
   * Default: false.
   */
  idempotent?: boolean | undefined;
}

/** Options of a stream. */
export interface StreamOptions extends NotifyOptions {
  /**
   * The longest wait for an item, in ms. Default: the timeout of the client. The time runs only while an item is
   * requested.
   */
  timeout?: number | undefined;
  /** Cancels the stream: it ends with `signal.reason`, and the peer receives `$/cancelRequest`. */
  signal?: Signal | undefined;
  /** The number of items that the peer may send ahead of the consumer: 1 to 65 536. Default 16. */
  window?: number | undefined;
}

/** Options of a batch: the timeout in ms and the signal, which apply to all of its calls. */
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

/** The results of `batch`: one outcome per member, in the order of the members. */
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
 * Calls the methods of the peer. `M` maps the methods that the peer serves. Without a map, every name and any
 * parameters are accepted, and a call can name its result type: `request<Page>("fetch", { url })`.
 *
 * Every call ends exactly once: with the result, with an `RPCError` for an error response, with a `CallError`, or with
 * the reason of its signal.
 */
export class JSONRPCClient<M extends MethodMap<M> = any> {
  /** Takes over `transport` and listens at once. `init()` must have resolved. */
  constructor(transport: RPCTransport, options?: ClientOptions);
  /**
   * Calls a method. Rejects with an `RPCError`, a `CallError`, `signal.reason`, or a `RangeError` for an invalid
   * `timeout`.
   */
  request<T = unknown, K extends MethodName<M> = MethodName<M>>(
    method: K,
    ...args: CallArguments<ParamsOf<M, K>, RequestOptions<ProgressOf<M, K>>>
  ): Promise<ResultOf<M, K, T>>;
  /**
   * Returns the items of a method: `for await (const item of client.stream("logs")) …`. The request is sent when the
   * first item is requested. Leaving the loop cancels the stream at the peer. The peer sends up to `window` items
   * ahead, and then waits for the consumer. An error from the peer follows the items that were sent before the error.
   * `destroy()`, the signal and the loss of the peer end the stream at once. Throws a `RangeError` for an invalid
   * `timeout` or `window`.
   */
  stream<T = any, K extends StreamName<M> = StreamName<M>>(
    method: K,
    ...args: CallArguments<ParamsOf<M, K>, StreamOptions>
  ): AsyncIterableIterator<ItemOf<M, K, T>>;
  /**
   * Sends a notification, which is not answered. A request of the map can also be sent as a notification. Throws if the
   * parameters cannot be cloned. After `destroy()`, or after the end of the peer, does not throw: the notification is
   * dropped, and a `CallError` (`destroyed`, `peer-gone`) is reported to `onError`.
   */
  notify<K extends keyof M & string>(method: K, ...args: CallArguments<ParamsOf<M, K>, NotifyOptions>): void;
  /**
   * Sends several calls as one message, and resolves when all calls have ended. A failed call does not reject the
   * batch. The peer must accept batches; every Portway peer does. Rejects if no call was sent, for instance because the
   * client is destroyed.
   */
  batch<Calls extends readonly BatchCall<M>[] | readonly []>(
    calls: Calls,
    options?: BatchOptions,
  ): Promise<BatchResults<M, Calls>>;
  /** The number of pending calls. */
  readonly pending: number;
  /**
   * The number of ignored messages on this transport: responses to requests that were not sent, and invalid messages
   * that are not answered. A late response to an ended call does not count.
   */
  readonly ignored: number;
  /**
   * Ends all pending calls with the `CallError` `destroyed`. Also ends the transport, unless a server still uses it.
   * May be called repeatedly.
   */
  destroy(): void;
}
/** `using client = …` destroys the client at the end of the block. */
export interface JSONRPCClient<M extends MethodMap<M> = any> extends DisposeMember {}

// ------------------------------------------------------------------ server

/** Options of `JSONRPCServer`. */
export interface ServerOptions extends LinkOptions {
  /**
   * Called with errors that do not belong to a call, such as the errors of notification handlers. Default: logs them.
   */
  onError?: ((error: Error) => void) | undefined;
  /**
   * Returns the `data` of an error response. Called with each value that a method of this server throws or rejects
   * with, even if it is an `RPCError` with `data`. Not called for a cancelled request, an unknown method or a
   * notification. `undefined` selects the default, which `RPCError.data` describes; `null` is sent as `null`. If
   * `errorData` throws, `onError` receives the error, and the default is sent. The result of `errorData` is not
   * awaited. Data that the transport cannot send, such as a promise, is omitted. An `Error` in the data is cloned with
   * its stack, so return plain values instead.
   */
  errorData?: ((error: unknown) => unknown) | undefined;
  limits?: Limits | undefined;
  /** How `params: null` is treated: as absent, or as an invalid request (-32600). Default `"absent"`. */
  paramsNull?: "absent" | "invalid" | undefined;
}

/**
 * The context of the message that a handler handles. `Remote` maps the methods that the sender of the message serves.
 */
export interface HandlerContext<Remote = any, Progress = any> {
  /** The name of the method. */
  readonly method: string;
  /** The id of the request, as the sender chose it. `undefined` for a notification. */
  readonly id: string | number | null | undefined;
  /**
   * The origin of the window that has sent the message, over a `windowTransport` or in a session of `connect` with a
   * window. `"null"` for a document without an origin. `undefined` over any other transport.
   */
  readonly origin?: string | undefined;
  /** Aborted when the caller cancels the request (`$/cancelRequest`) or the server is destroyed. */
  readonly signal: Signal;
  /**
   * Sends a value to the caller's `onProgress`. Has no effect for a notification, or after the handler has ended. In
   * the dialect `mcp`, the value must be a number or `{ progress, total, message }`, and is sent only if the caller has
   * asked for progress.
   */
  progress(value: Progress, transfer?: readonly TransferItem[]): void;
  /**
   * Yields to the event loop, so that other messages are handled. A handler that computes without waiting notices a
   * cancellation only at this call. Resolves in a new task. If `signal` is aborted, rejects with the reason of
   * `signal`.
   */
  yield(): Promise<void>;
  /** Transfers these objects of the result, or of the next item of a stream, instead of copying them. */
  transfer(list: readonly TransferItem[]): void;
  /** Sends a notification to the sender of the message, before the result. */
  notify<K extends keyof Remote & string>(method: K, ...args: CallArguments<ParamsOf<Remote, K>, NotifyOptions>): void;
}

/**
 * Handles a request. Its return value, or the value of the returned promise, is the result; an exception is the error.
 */
export type MethodHandler<M, K, Remote = any> = (
  params: ParamsOf<M, K>,
  context: HandlerContext<Remote, ProgressOf<M, K>>,
) => K extends StreamName<M> ? StreamResult<M, K> : HandlerResult<Member<M, K, "result", undefined>>;

/**
 * The return value of a stream handler. Items are requested one at a time, as the caller consumes them. If the caller
 * cancels, `return()` is called (`cancel()` for a `ReadableStream`), and then the request is answered. `return()` does
 * not interrupt a generator that waits, so such a generator must watch `context.signal`. An array is a plain result,
 * not a stream.
 */
export type StreamSource<Item> = AsyncIterable<Item> | AsyncIterator<Item> | ReadableStreamLike<Item>;

/** A `ReadableStream`. */
export interface ReadableStreamLike<Item> {
  getReader(): { read(): Promise<{ done: boolean; value?: Item | undefined }>; releaseLock(): void };
}

type StreamResult<M, K> = IsAny<M> extends true ? any : Sourced<Member<M, K, "stream", never>>;
type Sourced<Item> = StreamSource<Item> | PromiseLike<StreamSource<Item>>;

/** Handles a notification. Its return value is ignored; `onError` receives its exceptions. */
export type NotificationHandler<M, K, Remote = any> = (
  params: ParamsOf<M, K>,
  context: HandlerContext<Remote>,
) => unknown;

type HandlerResult<R> = Returned<R> | PromiseLike<Returned<R>>;

/**
 * Serves methods to the peer. `M` maps the methods that are served locally. `Remote` maps the notifications of the
 * peer, for `context.notify`. Without maps, every name is accepted, with parameters of type `any`.
 */
export class JSONRPCServer<M extends MethodMap<M> = any, Remote extends MethodMap<Remote> = any> {
  /** Takes over `transport` and listens at once. `init()` must have resolved. */
  constructor(transport: RPCTransport, options?: ServerOptions);
  /**
   * Registers the handler of a request, and replaces an earlier handler. An `RPCError` that the handler throws sets the
   * code and the data of the response. If any other `Error` has an integer `code`, the response has this code. The code
   * for any other exception is -32603. A method without a handler is answered with -32601. The handler also runs for a
   * notification of this name, unless `onNotify` has registered a handler for that notification. Throws a `TypeError`
   * for a name that begins with "rpc.".
   */
  method<K extends MethodName<M> | StreamName<M>>(name: K, handler: MethodHandler<M, K, Remote>): this;
  /**
   * Registers the handler of a notification, and replaces an earlier handler. Notifications are handled in order of
   * arrival.
   */
  onNotify<K extends keyof M & string>(name: K, handler: NotificationHandler<M, K, Remote>): this;
  /**
   * Removes all handlers, and aborts the signals of running handlers. Also ends the transport, unless a client still
   * uses it. Running requests are answered with -32603 and `data.reason` `destroyed`. May be called repeatedly.
   */
  destroy(): void;
}
/** `using server = …` destroys the server at the end of the block. */
export interface JSONRPCServer<M extends MethodMap<M> = any, Remote extends MethodMap<Remote> = any>
  extends DisposeMember {}

// -------------------------------------------------------------------- peer

/** Options of `JSONRPCPeer`. */
export interface PeerOptions extends ClientOptions, ServerOptions {}

/** Names that code looks up in any object. So `remote` has no methods with these names. */
type WellKnownName =
  | "then"
  | "toJSON"
  | "toString"
  | "valueOf"
  | "inspect"
  | "asymmetricMatch"
  | "hasAttribute"
  | "$$typeof"
  | `@@${string}`
  | `__v_${string}`;

/**
 * The methods of the peer as functions: `remote.fetch({ url })` is `request("fetch", { url })`. The language, consoles,
 * test runners and frameworks look up some names in any object (`then`, `toJSON`, `toString`, `valueOf`, `inspect`,
 * `asymmetricMatch`, `hasAttribute`, `$$typeof`, and names that begin with `@@` or `__v_`). To call methods with these
 * names, use `request`.
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
 * A client and a server on one transport. `Remote` maps the methods that the peer serves, and `Local` maps the methods
 * that are served locally.
 */
export class JSONRPCPeer<Remote extends MethodMap<Remote> = any, Local extends MethodMap<Local> = any> {
  /** Takes over `transport` and listens at once. `init()` must have resolved. */
  constructor(transport: RPCTransport, options?: PeerOptions);
  /** The requests of the peer as functions. */
  readonly remote: RemoteProxy<Remote>;
}
/** A peer has all members of `JSONRPCClient` and of `JSONRPCServer`. */
export interface JSONRPCPeer<Remote extends MethodMap<Remote> = any, Local extends MethodMap<Local> = any>
  extends JSONRPCClient<Remote>,
    JSONRPCServer<Local, Remote> {}
