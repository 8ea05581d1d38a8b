//! What JavaScript asks of wasm: the commands of `run` in `core.rs`, each with its arguments. `wasm-abi.js` has the same numbers.

/// Set limits: pending calls, requests in flight, items of a batch; last, whether null params are absent ones.
pub(super) const CONFIGURE: u32 = 0;
/// Begin a call, which JavaScript posts: its timeout in milliseconds, negative for none; the number of its batch, or 0.
/// `NOTHING` if it is refused.
pub(super) const CALL: u32 = 1;
/// Give up the call in a slot, without telling the peer.
pub(super) const ABANDON: u32 = 2;
/// Take a message: its shape, its id.
pub(super) const RECEIVE: u32 = 3;
/// Take the next element of a batch: its shape, its id.
pub(super) const PUSH: u32 = 4;
/// The batch is complete.
pub(super) const RECEIVE_BATCH: u32 = 5;
/// Give the next output.
pub(super) const NEXT: u32 = 6;
/// The request in a slot has its reply, which JavaScript keeps under a token if it has to wait for its batch.
pub(super) const RESPOND: u32 = 7;
/// The time, in milliseconds. Afterwards the timer is to be set by `WAKE`.
pub(super) const TICK: u32 = 8;
/// When `TICK` is wanted next; negative for never.
pub(super) const WAKE: u32 = 9;
/// End everything.
pub(super) const CLOSE: u32 = 10;
/// The element that the last word spoke of.
pub(super) const ELEMENT: u32 = 11;
/// One of the replies of the batch that the last word spoke of, from the last to the first: `REPLY` or `FAULT`.
pub(super) const NEXT_REPLY: u32 = 12;
/// Tell the fault that the last word spoke of, through `wasm-callbacks.js`.
pub(super) const TELL_FAULT: u32 = 13;
/// Tell what is wrong with an element, through `wasm-callbacks.js`; `validator.rs` has the arguments.
pub(super) const VALIDATE: u32 = 14;
/// Make a link whose ids begin after this one; returns its number.
pub(super) const OPEN: u32 = 15;
/// Forget a link.
pub(super) const FREE: u32 = 16;
/// Restart the timeout of the call in a slot. Arguments: the timeout in milliseconds and the latest end of the call,
/// negative for none, and the time. Returns `NOTHING`, perhaps with a flag.
pub(super) const RESTART: u32 = 17;
/// Handle an answer that cannot be read. Argument: its id, or a negative number if that cannot be read.
pub(super) const UNREADABLE: u32 = 18;
/// Read the clock. Argument: the time. The timeouts of calls that were made since the last reading begin at it, and no
/// call ends. Afterwards the timer is to be set by `WAKE`.
pub(super) const START_CLOCK: u32 = 19;
