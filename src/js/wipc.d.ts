// What `import … from "portway/wipc"` gives. It needs no wasm and no `init()`. The streams are those of the platform, so that
// a project needs the types of DOM, WebWorker or Node.

import type { BuiltInTransport } from "./api.js";

// ------------------------------------------------------------------- codec

/** The types of frames. OPEN says that a side is ready; CLOSE asks the other to finish; 4 to 255 are reserved. */
export const WipcType: {
  readonly OPEN: 0;
  readonly CLOSE: 1;
  readonly CALL: 2;
  readonly DATA: 3;
};
export type WipcType = 0 | 1 | 2 | 3;

/** What may be a payload: bytes, or text, which becomes UTF-8. */
export type WipcPayload = ArrayBuffer | ArrayBufferView | string;

/** A frame. */
export interface WipcFrame {
  readonly type: WipcType;
  readonly payload: Uint8Array;
}

/**
 * The bytes of one frame. Without a payload it is empty. Another type or a payload above 2^32 - 1 bytes is a `RangeError`, a
 * payload that is neither bytes nor text a `TypeError`.
 */
export function encodeWipc(type: WipcType, payload?: WipcPayload | null): Uint8Array;

/** The value of the JSON text in a payload. A `SyntaxError` if it is none, a `TypeError` if it is no UTF-8. */
export function parseWipcJSON(payload: Uint8Array): any;

/** What a decoder tells. What a hook throws is thrown on by `push` or `finish`, once all bytes are taken. */
export interface WipcDecoderHooks {
  /**
   * A whole frame. A payload that came whole is a view of its chunk, and keeps all of it: to keep a small one for long, copy it
   * with `slice()`. A payload that came in pieces is a copy.
   */
  frame(type: WipcType, payload: Uint8Array): void;
  /** Bytes outside of frames, in order, in portions of any size. */
  passthrough?(bytes: Uint8Array): void;
  /** The end came within a frame: so many bytes of it have just gone to `passthrough`. */
  truncated?(size: number): void;
}

/** Options of a decoder. */
export interface WipcDecoderOptions {
  /** The most bytes of a payload. A header that announces more is no header. Default 2^32 - 1. */
  maxPayload?: number | undefined;
}

/**
 * Finds frames in a stream of bytes that comes in any pieces. Every byte leaves exactly once, in order, in a frame or as
 * passthrough. A header counts as a whole: where its magic, type or length is not valid, its first byte is passthrough and
 * the search goes on at the next. Memory grows with the bytes that come, never with a length that is announced.
 *
 * A chunk belongs to the decoder, and to whom it gives payloads: it must not be written to again.
 */
export class WipcDecoder {
  constructor(hooks: WipcDecoderHooks, options?: WipcDecoderOptions);
  /** Takes the next bytes. A `TypeError` for anything else; an `Error` from inside of a hook. */
  push(chunk: ArrayBuffer | ArrayBufferView): void;
  /** The stream has ended: what is held goes to `passthrough`. */
  finish(): void;
  /**
   * Takes the header whose payload is awaited for none, such as text that looks like one: its first byte is passthrough and
   * the rest is searched again. `false` if no payload is awaited.
   */
  giveUp(): boolean;
  /** The frame whose payload is awaited, and how many bytes of it have come; `undefined` if there is none. */
  readonly partial: Readonly<{ type: WipcType; length: number; received: number }> | undefined;
}

/** Options of a `WipcDecoderStream`. */
export interface WipcDecoderStreamOptions extends WipcDecoderOptions {
  /** As in `WipcDecoderHooks`. What it throws fails the stream. */
  passthrough?: ((bytes: Uint8Array) => void) | undefined;
  truncated?: ((size: number) => void) | undefined;
}

/** Bytes in, frames out: `readable.pipeThrough(new WipcDecoderStream())`. */
export class WipcDecoderStream extends TransformStream<Uint8Array, WipcFrame> {
  constructor(options?: WipcDecoderStreamOptions);
}

/** Frames in, bytes out: one chunk for each frame. */
export class WipcEncoderStream extends TransformStream<
  { readonly type: WipcType; readonly payload?: WipcPayload | null | undefined },
  Uint8Array
> {
  constructor();
}

// ----------------------------------------------------------------- channel

/**
 * What a channel tells. What a hook throws, or the promise it returns rejects with, goes to `onError`.
 *
 * A payload stays valid, and may be a view of the chunk that it came in. To keep a small one for long, copy it with `slice()`:
 * a view keeps the whole chunk.
 */
export interface WipcChannelHooks {
  /** OPEN has come. */
  onOpen?: ((payload: Uint8Array) => unknown) | undefined;
  /** CLOSE has come. Frames that come with it or after it are still told. */
  onClose?: ((payload: Uint8Array) => unknown) | undefined;
  /**
   * CALL has come, with whatever the two sides have agreed on; `parseWipcJSON` reads JSON. It is not called for a channel
   * that has a `transport()`. Without either, calls are kept for the transport.
   */
  onCall?: ((payload: Uint8Array) => unknown) | undefined;
  /** DATA has come. */
  onData?: ((payload: Uint8Array) => unknown) | undefined;
  /** Bytes outside of frames, such as what a guest prints, in order, in portions of any size. */
  onPassthrough?: ((bytes: Uint8Array) => unknown) | undefined;
  /** The end came within a frame: so many bytes of it have just gone to `onPassthrough`. */
  onTruncated?: ((size: number) => unknown) | undefined;
  /** Gets what hooks throw, and what is read that is no bytes. Default: it is logged with `console.error`. */
  onError?: ((error: Error) => void) | undefined;
}

/** Options of a channel. */
export interface WipcChannelOptions extends WipcChannelHooks, WipcDecoderOptions {
  /** Which end this is. A host stops to send when CLOSE comes; a guest may still send, until it exits. Default `"host"`. */
  role?: "host" | "guest" | undefined;
  /**
   * The most bytes of a JSON-RPC message in a CALL frame, for `transport()`: an integer from 1 to 2^32 - 1, else a `RangeError`.
   * A longer one that comes is never kept: a side that serves answers it with -32600 `oversize` under the id null, another
   * reports it to `onError` of its client. A longer one of ours is not sent: the call rejects with a `RangeError`, and the
   * caller of a handler gets -32603. Both peers need the same limit. Default 10 485 760 (10 MiB), as natively.
   */
  maxMessage?: number | undefined;
  /** How long a header may wait for its payload to be whole, in ms, before it is given up. Default 0, which is for ever. */
  headerTimeout?: number | undefined;
  /**
   * How long the peer may take to end after our CLOSE, in ms; then the channel is destroyed. It is also how long a peer that has
   * ended may read nothing while its last frames wait. Default 2 000; 0 is for ever.
   */
  closeTimeout?: number | undefined;
}

/** How a channel has ended. */
export interface WipcEnd {
  /** Whether CLOSE had come. */
  readonly closed: boolean;
  /** What the stream has failed with, if it did not merely end; a `WipcClosedError` if frames of the peer were dropped. */
  readonly error: unknown;
}

/**
 * One end of WIPC on two streams of bytes. It reads at once, and takes hold of both streams.
 *
 * Reading pauses while more than 16 MiB wait to be written that the peer has caused and not read: messages of the transport
 * other than calls of ours, and what hooks send before they return. Each frame counts with 256 bytes more. Reading goes on as
 * the peer reads, and nothing is dropped. Streams that it asks for wait, too. Up to 1 MiB is read ahead, so that the end of the
 * stream is noticed. Calls of ours still end by their time-outs; while some wait, 16 MiB are read ahead, so that two peers
 * that answer each other do not both stop. If both leave more than that unread, neither goes on until one of them closes its
 * channel.
 *
 * At the end of its stream, a peer may have frames of its own waiting for answers that it does not read. If it reads nothing for
 * `closeTimeout`, those frames are dropped, and `ended` resolves with an `error` that reports it.
 *
 * Frames of a peer take 4 ms at a stretch. Then other work of the event loop has its turn, such as timers.
 *
 * Hooks are not waited for, and what the application sends by itself is not counted: an application bounds that by waiting for
 * the promise of `send`. A `readable` that is filled without regard for its `desiredSize` cannot be paused: what is put into it
 * waits in it, and its owner has to bound that.
 */
export class WipcChannel {
  constructor(
    streams: { readonly readable: ReadableStream<Uint8Array>; readonly writable: WritableStream<any> },
    options?: WipcChannelOptions,
  );
  /**
   * Sends a frame, in one write. The promise resolves once the stream has taken it, so that a slow reader can be waited for;
   * it need not be awaited, and rejects with what the stream fails with. Throws `WipcClosedError` once nothing can be sent any
   * more, and what `encodeWipc` throws.
   */
  send(type: WipcType, payload?: WipcPayload | null): Promise<void>;
  /** Sends a frame with the JSON text of a value. A `TypeError` for what JSON has no word for. */
  sendJSON(type: WipcType, value: unknown): Promise<void>;
  /**
   * Sends CLOSE, as the last frame, and closes the stream; what comes is still told. Resolves as `ended` does. `timeout` is
   * in place of `closeTimeout`. Harmless when repeated.
   */
  close(payload?: WipcPayload | null, options?: { timeout?: number | undefined }): Promise<WipcEnd>;
  /** Ends both streams at once, without CLOSE. No hook and no handler runs for later frames. Harmless when repeated. */
  destroy(error?: unknown): void;
  /**
   * Carries JSON-RPC 2.0 in CALL frames, for a client, a server or a peer: each call gives the same transport. Messages need
   * `jsonrpc: "2.0"`; what has none is answered -32600, what is no JSON -32700, by a side that serves. Of the peer, 1 024
   * requests may be at work (`limits.inFlight`), which came with 64 MiB of payload; one more is answered -32600
   * `too-many-requests`. A batch counts in full until its last request is answered. A request whose id is an integer beyond
   * `Number.MAX_SAFE_INTEGER` is answered -32600 under the id null, since its id cannot be echoed. Without a handler, reading
   * pauses once 10 000 calls or 16 MiB of them wait for one; each counts with 256 bytes more. Waiting calls end at
   * once when the stream ends, and two seconds after CLOSE in any case. Nothing can be transferred. `destroy()` of its last
   * user closes the channel.
   */
  transport(): BuiltInTransport;
  /**
   * Resolves once every request that came to the transport is answered, or never will be since its server is destroyed, and what
   * was sent is taken by the stream. After `destroy()` nothing is taken any more.
   */
  idle(): Promise<void>;
  /** Resolves, and never rejects, once nothing more comes. */
  readonly ended: Promise<WipcEnd>;
}

/**
 * Why a frame was not sent: the channel was closed or destroyed here, or closed by the other side (a host sends no more then),
 * or the other side has ended, or does not read any more.
 */
export class WipcClosedError extends Error {
  private constructor();
  readonly reason: "closed" | "destroyed" | "closed-by-peer" | "ended";
  /** What it came from, where that is known. */
  readonly cause?: unknown;
}
