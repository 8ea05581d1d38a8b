// A frame of WIPC: the bytes "WIPC", the type, the length of the payload as a little-endian u32, and the payload.
// The format needs nothing of the core, so there is no wasm here: nothing to load, and no payload is copied into it.

import { MAX_PAYLOAD } from "../../web/limit-values.js";

/** The types of frames; 4 to 255 are reserved. */
export const WipcType = /* @__PURE__ */ Object.freeze({ OPEN: 0, CLOSE: 1, CALL: 2, DATA: 3 });

export const HEADER_BYTES = 9;
/** What a frame or a piece of input costs beside its bytes, in bytes. */
export const FRAME_OVERHEAD_BYTES = 256;
/** "W", with which a header begins. */
export const MAGIC_0 = 0x57;

const MAX_TYPE = WipcType.DATA;

const EMPTY = new Uint8Array(0);
/** Created at their first use: not every realm has them. */
let textEncoder;
let textDecoder;

/** What `payloadLengthAt` says of bytes that are no header. */
export const INVALID_HEADER = -1;
/** What `payloadLengthAt` says of bytes that can become a header. */
export const INCOMPLETE_HEADER = -2;

/**
 * The length of the payload whose header begins at `at`. The header is valid as a whole or not at all; of an unfinished
 * one only its length is not judged yet.
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

/** One whole frame. Whatever is wrong with it is thrown before there is any byte of it. */
export function encodeWipc(type, payload) {
  if (!Number.isInteger(type) || type < 0 || type > MAX_TYPE) {
    throw new RangeError(`a frame has the type 0 (OPEN), 1 (CLOSE), 2 (CALL) or 3 (DATA), not ${String(type)}`);
  }
  const bytes =
    typeof payload === "string"
      ? (textEncoder ??= new TextEncoder()).encode(payload)
      : toBytes(payload ?? EMPTY, "a payload");
  const size = bytes.length;
  if (size > MAX_PAYLOAD) throw new RangeError(`a payload has at most ${MAX_PAYLOAD} bytes, not ${size}`);
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

/** The value that the JSON text in a payload stands for; a `SyntaxError` or `TypeError` if it is none, or no UTF-8. */
export function parseWipcJSON(payload) {
  textDecoder ??= new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return JSON.parse(textDecoder.decode(payload));
}

/** Binary data as a view of the same bytes, of one class whatever it was. */
export function toBytes(data, name) {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (isArrayBuffer(data)) return new Uint8Array(data);
  throw new TypeError(
    `${name} is a Uint8Array, an ArrayBuffer or another view of one, not ${data === null ? "null" : typeof data}`,
  );
}

/** The same bytes to keep, in memory that has hardly more than them: a small view would keep all that it is a part of. */
export function compactBytes(bytes) {
  return 2 * bytes.length < bytes.buffer.byteLength ? bytes.slice() : bytes;
}

// No `instanceof`: it may be of another frame.
function isArrayBuffer(data) {
  return /^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(data));
}
