//! The interface between the driver in JavaScript and the connection in Rust. The driver sends commands by [`run`], and
//! receives outputs. Commands and outputs are numbers.
//!
//! A command returns its first output as an integer. If the output has the flag `HAS_MORE`, the command `NEXT` returns
//! the next output. JavaScript reads all outputs before it handles another message. A single request or result causes
//! only one output, so it needs no queue. Some facts do not fit into the integer, for example the index of an element
//! in its batch. Commands such as `ELEMENT` return these facts for the last output.
//!
//! In this file, an element is one received message, alone or in a batch. Ids are also encoded as numbers. A safe
//! integer is encoded as itself. Any other id from the peer (a string, a fraction) is encoded as 2^53 plus twice the
//! index of the first element of the batch with this id. So equal ids have equal numbers. Rust only compares ids, and
//! JavaScript keeps the ids themselves.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use slab::Slab;
use spin::Mutex;
use wasm_bindgen::prelude::wasm_bindgen;

use self::outputs::{
    CLOSED, FAULT, HAS_MORE, IGNORED, INVALID, NOTHING, NOTIFICATION, PEER_ERROR, REJECT, REPLY, REPLY_BATCH, REQUEST,
    RESET_TIMER, RESOLVE, SEND, TIMED_OUT, UNREADABLE, encode_output,
};
use super::js_payload::{JsError, JsId, JsValueRef};
use super::validator::validate;
use portway_proto::Limits;
use portway_proto::connection::{Config, Connection, End, Event, Ignored};
use portway_proto::message::{
    Class, Entry, Fault, Incoming, Kind, Malformed, Message, Notification, Outgoing, Reason, Rejected, Request,
    RequestId, Response, Shape, Unreadable, Unusable,
};
use portway_proto::profile::{CancelNotification, Profile, ProgressNotification, ProgressValue};

/// The names of the notifications are empty, since JavaScript handles these notifications. The names are in
/// `profile.js`. A copy of them in this file would only enlarge the wasm.
const PROFILE: Profile = {
    let mut profile = Profile::MESSAGE_BOUNDARY;
    profile.cancel = &CancelNotification { method: "", member: "", reason: None };
    profile.progress = &ProgressNotification { method: "", token: "", value: ProgressValue::Params };
    profile
};

/// A timeout may end late: by at most 1 / `TIME_GRAIN` of its length, and by at most one second. Because of this
/// tolerance, most calls need not read the clock.
const TIME_GRAIN: u64 = 16;

/// Microseconds per millisecond. JavaScript passes times in milliseconds, with fractions. The connection uses
/// microseconds.
const MILLISECOND: f64 = 1_000.0;
const SECOND: u64 = 1_000_000;

/// The commands of [`run`], each with its arguments. `wasm-abi.js` has the same numbers.
mod commands {
    /// Sets limits. Arguments: the maximum numbers of pending calls, of requests in flight and of elements of a batch,
    /// and whether null params count as absent.
    pub(super) const CONFIGURE: u32 = 0;
    /// Begins a call, whose request JavaScript posts. Arguments: its timeout in milliseconds (negative: no timeout),
    /// and the number of its batch (0: no batch). Returns `SEND`, or `NOTHING` if the call is refused.
    pub(super) const CALL: u32 = 1;
    /// Removes a call, without a message to the peer. Argument: the slot of the call.
    pub(super) const ABANDON: u32 = 2;
    /// Handles a message. Arguments: its shape, which `Shape::from_bits` unpacks, and its id.
    pub(super) const RECEIVE: u32 = 3;
    /// Adds an element to the incoming batch. Arguments: its shape and its id.
    pub(super) const PUSH: u32 = 4;
    /// Handles the batch whose elements `PUSH` has added.
    pub(super) const RECEIVE_BATCH: u32 = 5;
    /// Returns the next output.
    pub(super) const NEXT: u32 = 6;
    /// Responds to a request. Arguments: its slot and a token. JavaScript keeps the response under this token until the
    /// batch is complete. The token is 0 for a request outside of a batch.
    pub(super) const RESPOND: u32 = 7;
    /// Ends the calls that have timed out. Argument: the current time in milliseconds. Afterwards JavaScript requests
    /// the time of its next timer by `WAKE`.
    pub(super) const TICK: u32 = 8;
    /// Returns the time of the next `TICK` in milliseconds, or a negative number if no `TICK` is due.
    pub(super) const WAKE: u32 = 9;
    /// Closes the connection and ends all calls.
    pub(super) const CLOSE: u32 = 10;
    /// Returns the position, in its batch, of the message to which the last output belongs.
    pub(super) const ELEMENT: u32 = 11;
    /// Returns the next response of the last output, which was `REPLY_BATCH`. The result is `REPLY` or `FAULT`. The
    /// responses are in reverse order.
    pub(super) const NEXT_REPLY: u32 = 12;
    /// Passes the error of the last `FAULT` to `wasm-callbacks.js`.
    pub(super) const READ_FAULT: u32 = 13;
    /// Checks a message, and passes the findings to `wasm-callbacks.js`. `validator.rs` documents the arguments.
    pub(super) const VALIDATE: u32 = 14;
    /// Opens a connection. Argument: a number after which the ids of its calls begin. Returns the number of the
    /// connection.
    pub(super) const OPEN: u32 = 15;
    /// Frees a connection.
    pub(super) const FREE: u32 = 16;
    /// Restarts the timeout of a call. Arguments: its slot, its timeout, its latest end and the current time. The times
    /// are in milliseconds. A negative timeout or end means no limit. Returns `NOTHING`, perhaps with the flag
    /// `RESET_TIMER`.
    pub(super) const RESTART: u32 = 17;
    /// Handles a response that cannot be read. Argument: its id, or a negative number if the id cannot be read.
    pub(super) const RECEIVE_UNREADABLE: u32 = 18;
    /// Starts the timeouts of the calls that were made since the clock was last read. Argument: the current time in
    /// milliseconds. Unlike `TICK`, ends no call. Afterwards JavaScript requests the time of its next timer by `WAKE`.
    pub(super) const START_CLOCK: u32 = 19;
}

/// The outputs of [`run`]. An output has five bits of operation, two flags, and the argument of the operation.
/// `wasm-abi.js` has the same layout. In the following comments, "this slot", "this token" and "this number" are the
/// argument. `ELEMENT` returns the position of the request, notification, result or error in its batch.
mod outputs {
    /// The flag for further outputs.
    pub(super) const HAS_MORE: u32 = 1 << 5;
    /// The flag for a timeout that ends before the timer of JavaScript, which JavaScript must set to an earlier time.
    pub(super) const RESET_TIMER: u32 = 1 << 6;
    const ARGUMENT_SHIFT: u32 = 7;

    /// No operation.
    pub(super) const NOTHING: u32 = 0;
    /// A call has begun in this slot, and JavaScript posts its request. An output with this operation also follows each
    /// timeout, for the cancellation. JavaScript ignores that output, because JavaScript itself cancels the calls that
    /// have timed out.
    pub(super) const SEND: u32 = 1;
    /// Post the response that JavaScript keeps under this token. Token 0 is the response of the last `RESPOND`.
    pub(super) const REPLY: u32 = 2;
    /// Post this number of responses as one batch. `NEXT_REPLY` returns them.
    pub(super) const REPLY_BATCH: u32 = 3;
    /// Post an error response of the library. `READ_FAULT` passes the error to JavaScript.
    pub(super) const FAULT: u32 = 4;
    /// Resolve the call in this slot with the result of an element.
    pub(super) const RESOLVE: u32 = 5;
    /// Reject the call in this slot with the error of an element.
    pub(super) const REJECT: u32 = 6;
    /// Reject the call in this slot: its response has neither result nor error.
    pub(super) const INVALID: u32 = 7;
    /// Reject the call in this slot: it has timed out.
    pub(super) const TIMED_OUT: u32 = 8;
    /// Reject the call in this slot: the connection was closed.
    pub(super) const CLOSED: u32 = 9;
    /// Run the handler for a request. The request gets this slot.
    pub(super) const REQUEST: u32 = 10;
    /// Run the handler for a notification.
    pub(super) const NOTIFICATION: u32 = 11;
    /// Report the error of an element that belongs to no call.
    pub(super) const PEER_ERROR: u32 = 12;
    /// Count an ignored message.
    pub(super) const IGNORED: u32 = 13;
    /// Reject the call in this slot: its response cannot be read.
    pub(super) const UNREADABLE: u32 = 14;

    pub(super) const fn encode_output(operation: u32, argument: u32) -> u32 {
        operation | argument << ARGUMENT_SHIFT
    }
}

#[wasm_bindgen(module = "/js/driver/wasm-callbacks.js")]
extern "C" {
    #[wasm_bindgen(js_name = onFault)]
    fn on_fault(code: i32, message: &str, reason: &str, id: f64);
}

/// All connections of this instance. The lock is held while `run` runs. Meanwhile, wasm calls only functions of
/// JavaScript that do not call `run`. So the lock is free at each call of `run`. As a precaution, `run` returns 0 if
/// the lock is held.
static CONNECTIONS: Mutex<Slab<ConnectionEntry>> = Mutex::new(Slab::new());

#[derive(Debug)]
struct ConnectionEntry {
    connection: Connection<JsValueRef>,
    /// The time in microseconds at which the timer of JavaScript is due; `None` without a timer.
    timer_due: Option<u64>,
    /// The elements that `PUSH` has added to the incoming batch so far.
    batch: Vec<Entry<JsValueRef>>,
    /// The facts of the last output that do not fit into its integer.
    last_output: LastOutput,
}

/// The facts of an output that do not fit into its integer.
#[derive(Debug)]
struct LastOutput {
    element_index: u32,
    replies: Vec<Message<JsValueRef>>,
    fault: Rejected<JsId>,
}

impl ConnectionEntry {
    const fn new(last_id: u64) -> Self {
        let config =
            Config::new(PROFILE).with_time_grain(TIME_GRAIN).with_max_clock_delay(SECOND).with_last_id(last_id);
        let connection = Connection::new(config);
        let fault = Rejected { id: JsId::NULL, fault: Fault::InvalidRequest };
        let last_output = LastOutput { element_index: 0, replies: Vec::new(), fault };
        Self { connection, timer_due: None, batch: Vec::new(), last_output }
    }

    fn configure(&mut self, pending_calls: usize, in_flight: usize, batch_items: usize, null_params: bool) -> f64 {
        let mut profile = PROFILE;
        profile.null_params_are_absent = null_params;
        // Only the responses that wait for the rest of their batch count against the limit of bytes. In this driver,
        // each waiting response counts as one byte. So all responses in flight, or all responses of one batch, may
        // wait.
        let in_flight_bytes = in_flight.max(batch_items);
        let mut limits = Limits::DEFAULT;
        (limits.pending_calls, limits.in_flight) = (pending_calls, in_flight);
        (limits.in_flight_bytes, limits.batch_items) = (in_flight_bytes, batch_items);
        self.connection.configure(profile, limits);
        0.0
    }

    fn call(&mut self, timeout: f64, batch: u32) -> u32 {
        let call = self.connection.begin_call(microseconds(timeout), NonZeroU32::new(batch));
        call.map_or(NOTHING, |key| encode_output(SEND, key.slot()) | self.timer_flag())
    }

    fn restart(&mut self, slot: u32, timeout: f64, end: f64, now: f64) -> u32 {
        if let Some(call) = self.connection.call_in_slot(slot) {
            self.connection.handle_progress(call, microseconds(timeout), microseconds(end), (now * MILLISECOND) as u64);
        }
        NOTHING | self.timer_flag()
    }

    fn abandon(&mut self, slot: u32) -> f64 {
        if let Some(call) = self.connection.call_in_slot(slot) {
            self.connection.abandon(call);
        }
        0.0
    }

    /// Handles a message. A single result or request takes a short path without messages and events.
    fn receive(&mut self, shape: u32, id: f64) -> f64 {
        let (class, id) = self.read(shape, id);
        let fast_path = match class {
            Class::Success => self.connection.end_call(&id).map(|call| encode_output(RESOLVE, call.slot())),
            Class::Request => self.connection.begin_request(id).map(|request| encode_output(REQUEST, request.slot())),
            _ => None,
        };
        if let Some(output) = fast_path {
            return f64::from(output);
        }
        self.connection.handle(Incoming::Single(entry(class, id, JsValueRef(0))));
        self.output()
    }

    fn respond(&mut self, slot: u32, token: u32) -> f64 {
        let Some(request) = self.connection.request_in_slot(slot) else { return f64::from(NOTHING) };
        if self.connection.end_request(request) {
            return f64::from(encode_output(REPLY, token));
        }
        self.connection.respond(request, Ok(JsValueRef(token)));
        self.output()
    }

    /// Returns the next output.
    #[inline(never)]
    fn output(&mut self) -> f64 {
        let output = match self.connection.poll_transmit() {
            Some(outgoing) => self.last_output.outgoing(outgoing),
            None => match self.connection.poll_event() {
                Some(event) => self.last_output.event(event),
                None => NOTHING,
            },
        };
        let more = if self.connection.has_output() { HAS_MORE } else { 0 };
        f64::from(output | more | self.timer_flag())
    }

    /// Returns `RESET_TIMER` if JavaScript must set its timer to an earlier time. Otherwise returns 0.
    fn timer_flag(&self) -> u32 {
        match (self.connection.poll_timeout(), self.timer_due) {
            (Some(_), None) => RESET_TIMER,
            (Some(wanted), Some(timer_due)) if wanted < timer_due => RESET_TIMER,
            _ => 0,
        }
    }

    /// Returns the class of an element, and its id.
    const fn read(&self, shape: u32, id: f64) -> (Class, JsId) {
        let shape = Shape::from_bits(shape);
        let id = if matches!(shape.id, Kind::Null) { JsId::NULL } else { JsId(id as i64) };
        (shape.classify(&self.connection.config().profile), id)
    }

    fn run(&mut self, command: u32, a: f64, b: f64, c: f64, d: f64) -> f64 {
        match command {
            commands::CONFIGURE => self.configure(a as usize, b as usize, c as usize, d != 0.0),
            commands::CALL => f64::from(self.call(a, b as u32)),
            commands::ABANDON => self.abandon(a as u32),
            commands::RECEIVE => self.receive(a as u32, b),
            commands::PUSH => {
                let (class, id) = self.read(a as u32, b);
                self.batch.push(entry(class, id, JsValueRef(self.batch.len() as u32)));
                0.0
            }
            commands::RECEIVE_BATCH => {
                let entries = core::mem::take(&mut self.batch);
                self.connection.handle(Incoming::Batch(entries));
                self.output()
            }
            commands::NEXT => self.output(),
            commands::RESPOND => self.respond(a as u32, b as u32),
            commands::TICK => {
                self.connection.handle_timeout((a * MILLISECOND) as u64);
                self.output()
            }
            commands::START_CLOCK => {
                self.connection.start_clock((a * MILLISECOND) as u64);
                0.0
            }
            commands::WAKE => {
                self.timer_due = self.connection.poll_timeout();
                self.timer_due.map_or(-1.0, |wanted| wanted as f64 / MILLISECOND)
            }
            commands::CLOSE => {
                self.connection.close();
                self.output()
            }
            commands::ELEMENT => f64::from(self.last_output.element_index),
            commands::NEXT_REPLY => f64::from(self.last_output.next_reply()),
            commands::READ_FAULT => self.last_output.read_fault(),
            commands::RECEIVE_UNREADABLE => {
                let id = (a >= 0.0).then_some(JsId(a as i64));
                // JavaScript keeps the actual error, so the reason here has no effect.
                self.connection.handle_unreadable(id.as_ref(), Unreadable::NotJson);
                self.output()
            }
            commands::RESTART => f64::from(self.restart(a as u32, b, c, d)),
            _ => 0.0,
        }
    }
}

/// Creates the element for a message, alone or in a batch.
// Two callers use this function. Inlining would duplicate its code.
#[inline(never)]
fn entry(class: Class, id: JsId, element: JsValueRef) -> Entry<JsValueRef> {
    match class {
        Class::Request => Ok(Message::Request(Request { id, method: (), params: Some(element) })),
        Class::Notification => Ok(Message::Notification(Notification { method: (), params: Some(element) })),
        Class::Success => Ok(Message::Response(Response { id, outcome: Ok(element) })),
        Class::Failure => Ok(Message::Response(Response { id, outcome: Err(JsError::Remote(element)) })),
        Class::Empty => Err(Unusable::Empty(id)),
        Class::Malformed(Malformed::Ignore) => Err(Unusable::Ignore),
        Class::Malformed(Malformed::AnswerWithId(fault)) => Err(Unusable::Reject(Rejected { id, fault })),
        Class::Malformed(Malformed::AnswerWithNull(fault)) => Err(Unusable::from(fault)),
    }
}

impl LastOutput {
    fn outgoing(&mut self, outgoing: Outgoing<JsValueRef>) -> u32 {
        match outgoing {
            Outgoing::Single(Message::Response(response)) => self.reply(response),
            Outgoing::Batch(messages) => {
                let count = messages.len() as u32;
                self.replies = messages;
                encode_output(REPLY_BATCH, count)
            }
            // JavaScript posts its own requests, and the cancellation after a timeout.
            Outgoing::Single(_) | Outgoing::Cancel(_) => SEND,
        }
    }

    fn reply(&mut self, response: Response<JsValueRef>) -> u32 {
        match response.outcome {
            Ok(JsValueRef(token)) | Err(JsError::Remote(JsValueRef(token))) => encode_output(REPLY, token),
            Err(JsError::Fault(fault)) => {
                self.fault = Rejected { id: response.id, fault };
                FAULT
            }
        }
    }

    fn event(&mut self, event: Event<JsValueRef>) -> u32 {
        match event {
            Event::Request { key, params, .. } => encode_output(self.set_element(REQUEST, params), key.slot()),
            Event::Notification(notification) => self.set_element(NOTIFICATION, notification.params),
            Event::Ended { call, end } => {
                let operation = match end {
                    End::Answered(Ok(element)) => self.set_element(RESOLVE, Some(element)),
                    End::Answered(Err(error)) => self.set_element(REJECT, error.remote()),
                    End::Invalid => INVALID,
                    End::Unreadable(_) => UNREADABLE,
                    End::TimedOut => TIMED_OUT,
                    End::Closed => CLOSED,
                };
                encode_output(operation, call.slot())
            }
            Event::Ignored(Ignored::PeerError(error)) => self.set_element(PEER_ERROR, error.remote()),
            Event::Ignored(Ignored::UnmatchedResponse(_) | Ignored::Unreadable(_) | Ignored::Malformed) => IGNORED,
            // JavaScript handles cancellations itself. A late response is not counted as ignored, since peers answer
            // cancelled requests.
            Event::Cancelled(_) | Event::Ignored(Ignored::LateResponse(_)) => NOTHING,
        }
    }

    fn next_reply(&mut self) -> u32 {
        match self.replies.pop() {
            Some(Message::Response(response)) => self.reply(response),
            _ => NOTHING,
        }
    }

    fn read_fault(&self) -> f64 {
        let Rejected { id, fault } = self.fault;
        let id = if id == JsId::NULL { f64::NAN } else { id.0 as f64 };
        let reason = fault.reason().map_or("", Reason::as_str);
        on_fault(fault.code().value() as i32, fault.message(), reason, id);
        0.0
    }

    fn set_element(&mut self, operation: u32, element: Option<JsValueRef>) -> u32 {
        self.element_index = element.map_or(0, |JsValueRef(element)| element);
        operation
    }
}

/// Converts a time of JavaScript from milliseconds to microseconds. A negative time is `None`.
fn microseconds(timeout: f64) -> Option<u64> {
    (timeout >= 0.0).then_some((timeout * MILLISECOND) as u64)
}

/// Runs a command on a connection. `mod commands` lists the commands with their arguments. Returns an output, unless
/// the command documents another result. Only the JavaScript of this crate calls this function. It is not a part of the
/// module's public interface.
///
/// A single export with arguments of one type keeps the module and its glue small. JavaScript calls the export of the
/// instance in which it has opened the connection.
#[wasm_bindgen(js_name = __portway, skip_typescript)]
pub fn run(connection: u32, command: u32, a: f64, b: f64, c: f64, d: f64) -> f64 {
    let Some(mut connections) = CONNECTIONS.try_lock() else { return 0.0 };
    match command {
        commands::OPEN => connections.insert(ConnectionEntry::new(a as u64)) as f64,
        commands::FREE => {
            connections.try_remove(connection as usize);
            0.0
        }
        commands::VALIDATE => {
            validate(a as u32, b as u32, c);
            0.0
        }
        _ => connections.get_mut(connection as usize).map_or(0.0, |entry| entry.run(command, a, b, c, d)),
    }
}
