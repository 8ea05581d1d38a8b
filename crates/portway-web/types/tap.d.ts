import type { ListenTarget, RPCTransport, SessionTap } from "./portway.js";
// `portway/tap`: records the messages of links. docs/tap.md describes the records.

/** The members of all records. */
interface TapRecordBase {
  /** The time in microseconds since 1970-01-01 UTC, an integer. */
  readonly at: number;
  /** The id of the link. */
  readonly link: string;
}

/** The first record of a connection. */
export interface TapOpen extends TapRecordBase {
  readonly kind: "open";
  /** The name of the link, for the readers of the records. */
  readonly name: string;
  readonly transport:
    | "window"
    | "worker"
    | "port"
    | "broadcast-channel"
    | "session"
    | "websocket"
    | "http"
    | "stdio"
    | "unix"
    | "tcp"
    | "custom";
}

/** A message that has crossed the link. */
export interface TapMessage extends TapRecordBase {
  readonly kind: "message";
  /** The direction, as the owner of the link sees it. */
  readonly direction: "sent" | "received";
  /**
   * `"text"` if the member `text` is exactly the text that crossed the link. `"value"` if the member `text` is JSON
   * that describes a cloned value.
   */
  readonly form: "text" | "value";
  readonly text: string;
  /** The size of the message in bytes, if the link carries text. */
  readonly size?: number;
  /** Messages of one link that have the same number crossed together, as an array or as columns. */
  readonly group?: number;
  /** The number of transferred objects. */
  readonly transfer?: number;
  /** The number of characters that were removed from the end of `text`. */
  readonly omitted?: number;
}

/** Bytes, text or a value that is not a message. */
export interface TapInvalid extends TapRecordBase {
  readonly kind: "invalid";
  readonly direction: "sent" | "received";
  readonly text?: string;
  /** The first bytes of a message that is not UTF-8. */
  readonly base64?: string;
  readonly size?: number;
  readonly omitted?: number;
  readonly reason: string;
}

/** Messages that the recorder did not record, because the sink was too slow. */
export interface TapGap extends TapRecordBase {
  readonly kind: "gap";
  readonly direction: "sent" | "received";
  readonly messages: number;
  /** The total size of the messages whose size is known. */
  readonly bytes: number;
}

/** The last record of a connection. */
export interface TapClose extends TapRecordBase {
  readonly kind: "close";
  readonly reason?: string;
  /** The close code of a WebSocket. */
  readonly code?: number;
}

export type TapRecord = TapOpen | TapMessage | TapInvalid | TapGap | TapClose;

/**
 * Takes the records: a function, a `MessagePort`, or the name of a `BroadcastChannel` of this origin. A function is
 * called in a task of its own. If it returns a promise, the next call follows once the promise is settled. A reader at
 * the other end of a port or channel calls `readTaps`.
 */
export type TapSink =
  | string
  | ((records: TapRecord[]) => void | PromiseLike<unknown>)
  | (ListenTarget & { postMessage(message: any, transfer?: any): void });

/** Options of a recorder. */
export interface TapRecorderOptions {
  /** Default: the channel `"portway-tap"`. */
  sink?: TapSink | undefined;
  /** The maximum memory of the records that the sink has not taken, in bytes. Default: 1 048 576. */
  maxBytes?: number | undefined;
  /** Called with each error of the sink. Default: the error is logged. */
  onError?: ((error: unknown) => void) | undefined;
}

/** Holds the records of any number of links until its sink has taken them. */
export class TapRecorder {
  constructor(options?: TapRecorderOptions);
  /** Ends the recording. The sink still gets the records that the recorder holds. The links continue without a tap. */
  destroy(): void;
}

/** Options of `tap` and `sessionTap`. */
export interface TapOptions {
  /** The name of the link, for the readers of the records. Default: the kind of its transport. */
  name?: string | undefined;
  /** Takes the records. Several links can share a recorder. Default: the channel `"portway-tap"`. */
  sink?: TapRecorder | TapSink | undefined;
}

/**
 * Records the messages of a transport, and returns the same transport. On a transport of `portway`, the messages of all
 * clients and servers on its boundary are recorded, even if a client or server was created before. Any other transport
 * must be tapped before a client or server uses it.
 *
 * Throws a `TypeError` for an invalid transport or sink, for a frozen transport, and for a transport of an application
 * if a client or server already uses it.
 */
export function tap<Transport extends RPCTransport>(transport: Transport, options?: TapOptions): Transport;

/** Returns the option `tap` of `connect`, which records the messages of all sessions and their handshakes. */
export function sessionTap(options?: TapOptions): SessionTap;

/**
 * Reads the records of recorders in other contexts. `from` is a `MessagePort`, or the name of a channel. Default: the
 * channel `"portway-tap"`. A recorder on a channel has one reader at a time: the newest one. Returns the function that
 * ends the reading.
 *
 * The next records of a recorder follow once `onRecords` has returned, or its promise is settled.
 */
export function readTaps(
  from: string | (ListenTarget & { postMessage(message: any, transfer?: any): void }) | undefined,
  onRecords: (records: TapRecord[]) => void | PromiseLike<unknown>,
): () => void;
