// A frame of WIPC: the bytes "WIPC", the type, the length of the payload as a little-endian u32, and the payload. This
// codec works without wasm, so payloads are not copied into the memory of wasm.

import { MAX_PAYLOAD } from "../driver/limit-values.js";

/** The types of frames; 4 to 255 are reserved. */
export const WipcType = /* @__PURE__ */ Object.freeze({ OPEN: 0, CLOSE: 1, CALL: 2, DATA: 3 });

export const HEADER_BYTES = 9;
/** The cost of a frame or a chunk in addition to its own bytes, in bytes. Limits of memory include this cost. */
export const FRAME_OVERHEAD_BYTES = 256;
/** "W", the first byte of a header. */
export const MAGIC_0 = 0x57;

const MAX_TYPE = WipcType.DATA;

const EMPTY = new Uint8Array(0);
/** The codecs of text, created at first use, because not every realm has their classes. */
let textEncoder;
let textDecoder;

/** Returned by `payloadLengthAt` for bytes that cannot be a header. */
export const INVALID_HEADER = -1;
/** Returned by `payloadLengthAt` for bytes that may be the start of a header. */
export const INCOMPLETE_HEADER = -2;

/**
 * Returns the length of the payload whose header begins at `at`. A header is valid only if its magic, type and length
 * are all valid. In an incomplete header, the length is not checked.
 */
export function payloadLengthAt(bytes, at, maxPayload) {
  const { length } = bytes;
  if (
    bytes[at] !== MAGIC_0 ||
    (at + 1 < length && bytes[at + 1] !== 0x49) ||
    (at + 2 < length && bytes[at + 2] !== 0x50) ||
    (at + 3 < length && bytes[at + 3] !== 0x43) ||
    (at + 4 < length && bytes[at + 4] > MAX_TYPE)
  ) {
    return INVALID_HEADER;
  }
  if (at + HEADER_BYTES > length) return INCOMPLETE_HEADER;
  const size = (bytes[at + 5] | (bytes[at + 6] << 8) | (bytes[at + 7] << 16) | (bytes[at + 8] << 24)) >>> 0;
  return size > maxPayload ? INVALID_HEADER : size;
}

/** Returns one whole frame. Throws if the type or the payload is invalid. */
export function encodeWipc(type, payload) {
  if (!Number.isInteger(type) || type < 0 || type > MAX_TYPE) {
    throw new RangeError(`frame type must be 0 (OPEN), 1 (CLOSE), 2 (CALL) or 3 (DATA), got ${String(type)}`);
  }
  const bytes =
    typeof payload === "string"
      ? (textEncoder ??= new TextEncoder()).encode(payload)
      : toBytes(payload ?? EMPTY, "payload");
  const size = bytes.length;
  if (size > MAX_PAYLOAD) throw new RangeError(`payload must have at most ${MAX_PAYLOAD} bytes, got ${size}`);
  const frame = new Uint8Array(HEADER_BYTES + size);
  frame[0] = MAGIC_0;
  frame[1] = 0x49;
  frame[2] = 0x50;
  frame[3] = 0x43;
  frame[4] = type;
  frame[5] = size;
  frame[6] = size >>> 8;
  frame[7] = size >>> 16;
  frame[8] = size >>> 24;
  frame.set(bytes, HEADER_BYTES);
  return frame;
}

/** Parses the JSON text of a payload. Throws a `SyntaxError` if it is not JSON, a `TypeError` if it is not UTF-8. */
export function parseWipcJSON(payload) {
  textDecoder ??= new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return JSON.parse(textDecoder.decode(payload));
}

/**
 * Returns binary data as a `Uint8Array` over the same bytes. Throws for any other value. `name` is the name of the
 * value in the error.
 */
export function toBytes(data, name) {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (isArrayBuffer(data)) return new Uint8Array(data);
  throw new TypeError(
    `${name} must be a Uint8Array, an ArrayBuffer or another view, got ${data === null ? "null" : typeof data}`,
  );
}

/**
 * Returns the bytes. If their buffer is more than twice as long as the bytes, returns a copy, because a small view
 * would otherwise keep a large buffer in memory.
 */
export function compactBytes(bytes) {
  return 2 * bytes.length < bytes.buffer.byteLength ? bytes.slice() : bytes;
}

// `instanceof` fails for a buffer of another realm.
function isArrayBuffer(data) {
  return /^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(data));
}
