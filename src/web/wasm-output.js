// A word of wasm: five bits of operation, two flags, the rest is the argument. `words.rs` has the same layout.

export const OPERATION = 31;
export const MORE = 1 << 5;
export const ARM = 1 << 6;
export const ARGUMENT_SHIFT = 7;

export const REPLY = 2;
export const REPLY_BATCH = 3;
export const FAULT = 4;
export const RESOLVE = 5;
export const REJECT = 6;
export const INVALID = 7;
export const TIMED_OUT = 8;
export const CLOSED = 9;
export const REQUEST = 10;
export const NOTIFICATION = 11;
export const PEER_ERROR = 12;
export const IGNORED = 13;
export const UNREADABLE = 14;

/** Whether an operation ends calls. */
export function isEnd(operation) {
  return (operation >= RESOLVE && operation <= CLOSED) || operation === UNREADABLE;
}
