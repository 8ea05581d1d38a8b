// The numbers that JavaScript and the wasm share: the commands of `WasmConnection.run`, and the layout and the
// operations of the outputs that wasm returns.

// Commands. `abi.rs` has the same numbers, and describes the arguments and the result of each command.

export const CONFIGURE = 0;
export const CALL = 1;
export const ABANDON = 2;
export const RECEIVE = 3;
export const PUSH = 4;
export const RECEIVE_BATCH = 5;
export const NEXT = 6;
export const RESPOND = 7;
export const TICK = 8;
export const WAKE = 9;
export const CLOSE = 10;
export const ELEMENT = 11;
export const NEXT_REPLY = 12;
export const READ_FAULT = 13;
export const VALIDATE = 14;
export const OPEN = 15;
export const FREE = 16;
export const RESTART = 17;
export const RECEIVE_UNREADABLE = 18;
export const START_CLOCK = 19;

// Outputs. An output is an unsigned integer: five bits of operation, two flags, and the argument. `abi.rs` has the
// same layout.

export const OPERATION = 31;
export const HAS_MORE = 1 << 5;
export const RESET_TIMER = 1 << 6;
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

/** Returns whether an operation ends a call. */
export function endsCall(operation) {
  return (operation >= RESOLVE && operation <= CLOSED) || operation === UNREADABLE;
}
