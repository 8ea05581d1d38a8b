// The declarations of `portway/wipc`, which needs neither wasm nor `init()`. The declarations use the streams of the
// platform, so a project needs the types of DOM, WebWorker or Node.

import type { BuiltInTransport } from "./transports.js";

// ------------------------------------------------------------------- codec

/** The types of frames. OPEN reports that the sender is ready. CLOSE asks the peer to finish. 4 to 255 are reserved. */
export const WipcType: {
  readonly OPEN: 0;
  readonly CLOSE: 1;
  readonly CALL: 2;
  readonly DATA: 3;
};
export type WipcType = 0 | 1 | 2 | 3;

/** A payload: bytes, or text, which is encoded as UTF-8. */
export type WipcPayload = ArrayBuffer | ArrayBufferView | string;

/** A frame. */
export interface WipcFrame {
  readonly type: WipcType;
  readonly payload: Uint8Array;
}

/**
 * Returns the bytes of one frame. The payload is empty by default. Throws a `RangeError` for an unknown type, and
 * for a payload of more than 2^32 - 1 bytes. Throws a `TypeError` for a payload that is neither bytes nor text.
 */
export function encodeWipc(type: WipcType, payload?: WipcPayload | null): Uint8Array;

/** Parses the JSON text of a payload. Throws a `SyntaxError` if it is not JSON, a `TypeError` if it is not UTF-8. */
export function parseWipcJSON(payload: Uint8Array): any;

/** The hooks of a decoder. `push` and `finish` throw the errors of hooks, after all bytes are processed. */
export interface WipcDecoderHooks {
  /**
   * Called with each complete frame. A payload within one chunk is a view of that chunk. Such a view keeps the whole
   * chunk in memory: copy a small payload with `slice()` to store it. A payload from several chunks is a copy.
   */
  frame(type: WipcType, payload: Uint8Array): void;
  /** Called with the bytes outside of frames, in order, in pieces of any size. */
  passthrough?(bytes: Uint8Array): void;
  /** Called if the stream ended within a frame, after `size` bytes of that frame went to `passthrough`. */
  truncated?(size: number): void;
}

/** Options of a decoder. */
export interface WipcDecoderOptions {
  /** The largest payload, in bytes. A header that announces a larger payload is invalid. Default 2^32 - 1. */
  maxPayload?: number | undefined;
}

/**
 * Finds frames in a stream of bytes that arrives in chunks of any size. Every byte is emitted exactly once, in order,
 * in a frame or as passthrough. A header is valid only if its magic, type and length are all valid. The first byte of
 * an invalid header is passthrough, and the search continues at the second byte. Memory grows with the received bytes,
 * not with announced lengths.
 *
 * The decoder and the receivers of payloads share a chunk, so the caller must not modify a chunk after `push`.
 */
export class WipcDecoder {
  constructor(hooks: WipcDecoderHooks, options?: WipcDecoderOptions);
  /**
   * Processes the next bytes. Throws a `TypeError` for a chunk that is not bytes, and an `Error` if a hook calls
   * `push`.
   */
  push(chunk: ArrayBuffer | ArrayBufferView): void;
  /** Ends the stream. The bytes of an incomplete frame go to `passthrough`. */
  finish(): void;
  /**
   * Abandons the incomplete frame, for instance text that looked like a header. Its first byte becomes passthrough, and
   * the following bytes are searched again. Returns `false` if there is no incomplete frame.
   */
  giveUp(): boolean;
  /** The frame whose payload is incomplete, with the number of received bytes; `undefined` if there is none. */
  readonly partial: Readonly<{ type: WipcType; length: number; received: number }> | undefined;
}

/** Options of a `WipcDecoderStream`. */
export interface WipcDecoderStreamOptions extends WipcDecoderOptions {
  /** As in `WipcDecoderHooks`. If this function throws, the stream fails with its error. */
  passthrough?: ((bytes: Uint8Array) => void) | undefined;
  truncated?: ((size: number) => void) | undefined;
}

/** Transforms bytes to frames: `readable.pipeThrough(new WipcDecoderStream())`. */
export class WipcDecoderStream extends TransformStream<Uint8Array, WipcFrame> {
  constructor(options?: WipcDecoderStreamOptions);
}

/** Transforms frames to bytes, one chunk for each frame. */
export class WipcEncoderStream extends TransformStream<
  { readonly type: WipcType; readonly payload?: WipcPayload | null | undefined },
  Uint8Array
> {
  constructor();
}

// ----------------------------------------------------------------- channel

/**
 * The hooks of a channel. `onError` receives the errors that a hook throws or rejects with.
 *
 * A payload stays valid, and may be a view of a received chunk. A view keeps the whole chunk in memory: copy a small
 * payload with `slice()` to store it.
 */
export interface WipcChannelHooks {
  /** Called when OPEN arrives. */
  onOpen?: ((payload: Uint8Array) => unknown) | undefined;
  /** Called when CLOSE arrives. Later frames are still dispatched. */
  onClose?: ((payload: Uint8Array) => unknown) | undefined;
  /**
   * Called when CALL arrives. The application defines the format of the payload; `parseWipcJSON` parses JSON. Not
   * called once the channel has a `transport()`. Without this hook, CALL frames wait for the transport.
   */
  onCall?: ((payload: Uint8Array) => unknown) | undefined;
  /** Called when DATA arrives. */
  onData?: ((payload: Uint8Array) => unknown) | undefined;
  /** Called with the bytes outside of frames, such as printed text of a guest, in order, in pieces of any size. */
  onPassthrough?: ((bytes: Uint8Array) => unknown) | undefined;
  /** Called if the stream ended within a frame, after `size` bytes of that frame went to `onPassthrough`. */
  onTruncated?: ((size: number) => unknown) | undefined;
  /** Called with the errors of hooks, and for chunks that are not bytes. Default: logs them with `console.error`. */
  onError?: ((error: Error) => void) | undefined;
}

/** Options of a channel. */
export interface WipcChannelOptions extends WipcChannelHooks, WipcDecoderOptions {
  /**
   * The role of this side. After CLOSE arrives, a host no longer sends, but a guest may send until it exits. Default
   * `"host"`.
   */
  role?: "host" | "guest" | undefined;
  /**
   * The largest JSON-RPC message of `transport()`, in bytes: an integer from 1 to 2^32 - 1. A larger message that
   * arrives is dropped. A server answers it with -32600 `oversize` under the id null; a client without a server reports
   * it to `onError`. A larger message is not sent: a call rejects with a `RangeError`, and a request with a larger
   * response is answered with -32603. Both peers need the same limit. Default 10 485 760 (10 MiB), as in the native
   * library.
   */
  maxMessage?: number | undefined;
  /**
   * The longest wait for the whole payload after a header, in ms, before the frame is abandoned. Default 0 (no limit).
   */
  headerTimeout?: number | undefined;
  /**
   * The longest wait for the peer to end after CLOSE was sent, in ms. After that, the channel is destroyed.
   * `closeTimeout` is also the longest time for which an ended peer may read nothing while its last frames wait.
   * Default 2 000; 0 = no limit.
   */
  closeTimeout?: number | undefined;
}

/** The outcome of a channel. */
export interface WipcEnd {
  /** Whether CLOSE arrived. */
  readonly closed: boolean;
  /** The error of the stream, if it failed. A `WipcClosedError` if frames from the peer were dropped. */
  readonly error: unknown;
}

/**
 * One side of WIPC on two streams of bytes. It locks both streams, and reads at once.
 *
 * Reading pauses while more than 16 MiB of frames that the peer caused wait to be written. The peer causes the frames
 * that hooks send before they return, and all messages of the transport except outgoing calls. Each frame counts as its
 * own bytes plus 256. Reading resumes when the peer reads; no frame is dropped. Streams that the peer requested also
 * pause. Up to 1 MiB is read ahead, so that the end of the stream is noticed. Outgoing calls still end by their
 * timeouts. While outgoing calls are pending, up to 16 MiB are read ahead. Otherwise two peers that answer each other
 * could both stop reading. If each peer leaves more than 16 MiB unread, both wait until one of them closes its channel.
 *
 * When the stream of the peer ends, frames from the peer may still wait, because the peer does not read the responses.
 * If the peer reads nothing for `closeTimeout`, these frames are dropped, and `ended` resolves with an `error`.
 *
 * The channel processes frames for at most 4 ms per turn of the event loop, so that timers and other tasks can run.
 *
 * The channel does not await hooks, and does not count the frames that the application sends by itself. An application
 * limits these frames by awaiting `send`. A `readable` that ignores its `desiredSize` cannot be paused: its owner has
 * to bound its queue.
 */
export class WipcChannel {
  constructor(
    streams: { readonly readable: ReadableStream<Uint8Array>; readonly writable: WritableStream<any> },
    options?: WipcChannelOptions,
  );
  /**
   * Sends a frame, in one write. Resolves once the stream has accepted the frame. Await the promise to wait for a slow
   * reader; an unhandled rejection is not reported. Rejects with the error of the stream. Throws a `WipcClosedError` if
   * the channel can no longer send, and the errors of `encodeWipc`.
   */
  send(type: WipcType, payload?: WipcPayload | null): Promise<void>;
  /** Sends a frame with the JSON text of a value. Throws a `TypeError` for a value that JSON cannot express. */
  sendJSON(type: WipcType, value: unknown): Promise<void>;
  /**
   * Sends CLOSE as the last frame and closes the stream. Frames that arrive are still dispatched. Resolves as `ended`
   * does. `timeout` overrides `closeTimeout`. Calls after the first have no effect.
   */
  close(payload?: WipcPayload | null, options?: { timeout?: number | undefined }): Promise<WipcEnd>;
  /**
   * Ends both streams at once, without CLOSE. Hooks and handlers do not run for later frames. May be called repeatedly.
   */
  destroy(error?: unknown): void;
  /**
   * Returns the transport of this channel, which carries JSON-RPC 2.0 in CALL frames for a client, a server or a peer.
   *
   * A server answers a message without `jsonrpc: "2.0"` with -32600, and a payload that is not JSON with -32700. Up to
   * 1 024 requests from the peer (`limits.inFlight`) with up to 64 MiB of payload may be in flight. A further request
   * is answered with -32600 `too-many-requests`. A batch counts in full until its last request is answered. A request
   * whose id is an integer beyond `Number.MAX_SAFE_INTEGER` is answered with -32600 under the id null, because its id
   * cannot be echoed.
   *
   * Without a handler, reading pauses once 10 000 CALL frames wait, or 16 MiB of them. Each frame counts as the bytes
   * of its payload plus 256. Pending calls end when the stream ends, or two seconds after CLOSE. Objects cannot be
   * transferred. `destroy()` of the last user of the transport closes the channel.
   */
  transport(): BuiltInTransport;
  /**
   * Resolves once every request from the peer has ended and the stream has accepted all frames. A request ends when it
   * is answered, or when its server is destroyed. After `destroy()`, the promise does not wait for the stream.
   */
  idle(): Promise<void>;
  /** Resolves once no further frame can arrive. Does not reject. */
  readonly ended: Promise<WipcEnd>;
}

/**
 * The error of a frame that was not sent. `reason` is `closed` or `destroyed` if this side has closed or destroyed the
 * channel. It is `closed-by-peer` if the peer has closed the channel, after which a host no longer sends. It is `ended`
 * if the peer has ended, or no longer reads.
 */
export class WipcClosedError extends Error {
  private constructor();
  readonly reason: "closed" | "destroyed" | "closed-by-peer" | "ended";
  /** The underlying error, if it is known. */
  readonly cause?: unknown;
}
