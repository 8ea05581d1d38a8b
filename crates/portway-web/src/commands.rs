//! The commands of `run` in `abi.rs`, each with its arguments. `wasm-abi.js` has the same numbers.

/// Sets limits. Arguments: pending calls, requests in flight, items of a batch, and whether null params count as
/// absent.
pub(super) const CONFIGURE: u32 = 0;
/// Begins a call, which JavaScript posts. Arguments: its timeout in milliseconds, negative for none, and the number of
/// its batch, or 0. Returns `NOTHING` if the call is refused.
pub(super) const CALL: u32 = 1;
/// Removes the call in a slot, without a message to the peer.
pub(super) const ABANDON: u32 = 2;
/// Handles a message. Arguments: its shape and its id.
pub(super) const RECEIVE: u32 = 3;
/// Adds an element to the incoming batch. Arguments: its shape and its id.
pub(super) const PUSH: u32 = 4;
/// Handles the batch whose elements were added.
pub(super) const RECEIVE_BATCH: u32 = 5;
/// Returns the next output.
pub(super) const NEXT: u32 = 6;
/// Responds to a request. Arguments: its slot, and the token under which JavaScript keeps the response until its batch
/// is complete.
pub(super) const RESPOND: u32 = 7;
/// Handles the time. Argument: the time in milliseconds. Afterwards JavaScript sets its timer by `WAKE`.
pub(super) const TICK: u32 = 8;
/// Returns the time of the next `TICK`; negative for none.
pub(super) const WAKE: u32 = 9;
/// Closes the connection and ends all calls.
pub(super) const CLOSE: u32 = 10;
/// Returns the index of the element of the last output.
pub(super) const ELEMENT: u32 = 11;
/// Returns a response of the batch of the last output, from the last response to the first: `REPLY` or `FAULT`.
pub(super) const NEXT_REPLY: u32 = 12;
/// Passes the fault of the last output to `wasm-callbacks.js`.
pub(super) const READ_FAULT: u32 = 13;
/// Passes the findings in an element to `wasm-callbacks.js`. `validator.rs` documents the arguments.
pub(super) const VALIDATE: u32 = 14;
/// Opens a connection. Argument: the last id before its first. Returns the number of the connection.
pub(super) const OPEN: u32 = 15;
/// Frees a connection.
pub(super) const FREE: u32 = 16;
/// Restarts the timeout of the call in a slot. Further arguments: the timeout in milliseconds and the latest end of the
/// call, negative for none, and the time. Returns `NOTHING`, perhaps with the flag `RESET_TIMER`.
pub(super) const RESTART: u32 = 17;
/// Handles a response that cannot be read. Argument: its id, or a negative number if the id cannot be read.
pub(super) const RECEIVE_UNREADABLE: u32 = 18;
/// Starts the timeouts of the calls that were made since the last reading of the clock. Argument: the time. No call
/// ends. Afterwards JavaScript sets its timer by `WAKE`.
pub(super) const START_CLOCK: u32 = 19;
