//! What wasm tells JavaScript: five bits of operation, two flags, the rest is the operation's argument. `wasm-abi.js` has the
//! same layout.

pub(super) const MORE: u32 = 1 << 5;
pub(super) const ARM: u32 = 1 << 6;
const ARGUMENT_SHIFT: u32 = 7;

/// Nothing to do.
pub(super) const NOTHING: u32 = 0;
/// Ours: post what was asked for. The argument is the slot of the call.
pub(super) const SEND: u32 = 1;
/// Post the reply that is kept under this token, or the one at hand.
pub(super) const REPLY: u32 = 2;
/// Post that many replies as one batch, which `NEXT_REPLY` gives.
pub(super) const REPLY_BATCH: u32 = 3;
/// Post an error of the library's own, which `TELL_FAULT` tells.
pub(super) const FAULT: u32 = 4;
/// The call in this slot has its result; `ELEMENT` says which element that is.
pub(super) const RESOLVE: u32 = 5;
/// The call in this slot has its error; `ELEMENT` says which element that is.
pub(super) const REJECT: u32 = 6;
/// The call in this slot was answered with neither.
pub(super) const INVALID: u32 = 7;
/// The time of the call in this slot is up.
pub(super) const TIMED_OUT: u32 = 8;
/// The call in this slot ends since the connection was closed.
pub(super) const CLOSED: u32 = 9;
/// Run a handler for the element that `ELEMENT` gives, under this request slot.
pub(super) const REQUEST: u32 = 10;
/// Run a handler for the element that `ELEMENT` gives.
pub(super) const NOTIFICATION: u32 = 11;
/// An error that no call can be blamed for; `ELEMENT` says which element that is.
pub(super) const PEER_ERROR: u32 = 12;
/// A message was of no use.
pub(super) const IGNORED: u32 = 13;
/// The answer to the call in this slot has come, but cannot be read.
pub(super) const UNREADABLE: u32 = 14;

pub(super) const fn word(operation: u32, argument: u32) -> u32 {
    operation | argument << ARGUMENT_SHIFT
}
