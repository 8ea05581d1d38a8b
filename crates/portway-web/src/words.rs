//! The outputs of wasm: an output has five bits of operation, two flags, and the argument of the operation.
//! `wasm-abi.js` has the same layout.

/// The flag for further outputs.
pub(super) const HAS_MORE: u32 = 1 << 5;
/// The flag that requests an earlier timer.
pub(super) const RESET_TIMER: u32 = 1 << 6;
const ARGUMENT_SHIFT: u32 = 7;

/// No operation.
pub(super) const NOTHING: u32 = 0;
/// Post the outgoing message of the last command. The argument is the slot of the call.
pub(super) const SEND: u32 = 1;
/// Post a response: the one that is kept under this token, or the current one.
pub(super) const REPLY: u32 = 2;
/// Post this number of responses as one batch. `NEXT_REPLY` returns them.
pub(super) const REPLY_BATCH: u32 = 3;
/// Post an error of the library. `READ_FAULT` passes it to JavaScript.
pub(super) const FAULT: u32 = 4;
/// Resolve the call in this slot by the element that `ELEMENT` returns.
pub(super) const RESOLVE: u32 = 5;
/// Reject the call in this slot by the element that `ELEMENT` returns.
pub(super) const REJECT: u32 = 6;
/// Reject the call in this slot: its response has neither result nor error.
pub(super) const INVALID: u32 = 7;
/// Reject the call in this slot: it has timed out.
pub(super) const TIMED_OUT: u32 = 8;
/// Reject the call in this slot: the connection was closed.
pub(super) const CLOSED: u32 = 9;
/// Run the handler for the request that `ELEMENT` returns, under this request slot.
pub(super) const REQUEST: u32 = 10;
/// Run the handler for the notification that `ELEMENT` returns.
pub(super) const NOTIFICATION: u32 = 11;
/// Report the error that `ELEMENT` returns, which belongs to no call.
pub(super) const PEER_ERROR: u32 = 12;
/// Report an ignored message.
pub(super) const IGNORED: u32 = 13;
/// Reject the call in this slot: its response cannot be read.
pub(super) const UNREADABLE: u32 = 14;

pub(super) const fn encode_output(operation: u32, argument: u32) -> u32 {
    operation | argument << ARGUMENT_SHIFT
}
