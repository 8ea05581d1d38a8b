// The bounds of WIPC in JavaScript. Natively they have the same values: `../../limits.rs`.

/** Bytes of output that the peer has caused and not read. With more, reading from it pauses. */
export const MAX_UNWRITTEN_BYTES = 16_777_216;
/** Bytes of a JSON-RPC message in a CALL frame. A longer one is answered -32600 `oversize` and never kept. */
export const MAX_MESSAGE_BYTES = 10_485_760;
/** Bytes of the requests at work for one peer. One more is answered -32600 `too-many-requests`. */
export const MAX_IN_FLIGHT_BYTES = 67_108_864;
/** Messages that wait for a handler. With as many, or with `MAX_UNWRITTEN_BYTES` of them, reading pauses. */
export const MAX_UNHANDLED_MESSAGES = 10_000;
/** What a frame or a piece of input costs beside its bytes, in bytes. */
export const OVERHEAD = 256;
