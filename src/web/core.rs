//! The connection as JavaScript drives it: integers in, integers out.
//!
//! Each input returns the first output as a *word*; while the word says that there are more, [`Core::next`] gives them.
//! What a word cannot hold is asked for right after it.
//!
//! Ids cross as numbers, too. A safe integer is itself. Any other id of the peer (a string, a fraction) crosses as
//! 2 to the power of 53 plus twice the place of the first element of the frame that has it: JavaScript keeps the id
//! itself, and here it only matters whether two are the same.

use alloc::vec::Vec;
use core::cell::RefCell;

use wasm_bindgen::prelude::wasm_bindgen;

use super::token::{IdNumber, Token, TokenError};
use super::words::{
    ARM, CANCELLED, CLOSED, FAULT, INVALID, MALFORMED, MORE, NOTHING, NOTIFICATION, PEER_ERROR, REJECT, REPLY,
    REPLY_BATCH, REQUEST, RESOLVE, SEND, TIMED_OUT, UNMATCHED, word,
};
use crate::Limits;
use crate::connection::{Config, Connection, End, Event, Ignored};
use crate::message::{
    Class, Entry, Fault, Incoming, Kind, Malformed, Message, Notification, Outgoing, Reason, Rejected, Request,
    RequestId, Response, Shape, Unusable,
};
use crate::profile::Profile;

/// Calls may end a sixteenth of their timeout late, and cost no reading of the clock.
const TIME_GRAIN: u64 = 16;

/// Without the names of the codes, which JavaScript has itself.
const PROFILE: Profile = Profile { codes: &[], ..Profile::MESSAGE_BOUNDARY };

#[wasm_bindgen(module = "/src/web/told.js")]
extern "C" {
    #[wasm_bindgen(js_name = tellFault)]
    fn tell_fault(code: i32, message: &str, reason: &str, id: f64);
}

/// One end of a link, for the JavaScript side of this crate. It is no part of the public interface of the module.
#[wasm_bindgen(private, skip_typescript)]
#[derive(Debug)]
pub struct Core {
    /// Borrowed while wasm runs, which calls nothing of JavaScript that leads back here; so it is never found borrowed,
    /// and if it were, nothing would happen.
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    connection: Connection<Token>,
    /// When the timer of JavaScript is due.
    armed: Option<u64>,
    /// The elements of a batch that comes in, while JavaScript reads them.
    frame: Vec<Entry<Token>>,
    /// What the last word spoke of.
    subject: Subject,
}

/// What a word has no room for.
#[derive(Debug)]
struct Subject {
    element: u32,
    replies: Vec<Message<Token>>,
    fault: Rejected<IdNumber>,
}

impl Core {
    /// The one that others are [created](Self::create) from.
    #[must_use]
    #[inline(never)]
    pub fn prototype() -> Self {
        let connection = Connection::new(Config::new(PROFILE).with_time_grain(TIME_GRAIN));
        let fault = Rejected { id: IdNumber::NULL, fault: Fault::InvalidRequest };
        let subject = Subject { element: 0, replies: Vec::new(), fault };
        Self { state: RefCell::new(State { connection, armed: None, frame: Vec::new(), subject }) }
    }

    fn with<T: Default>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        self.state.try_borrow_mut().map_or_else(|_| T::default(), |mut state| act(&mut state))
    }

    /// Gives an input to the connection, and takes the first output.
    fn drive(&self, input: impl FnOnce(&mut Connection<Token>)) -> u32 {
        self.with(|state| {
            input(&mut state.connection);
            state.output()
        })
    }
}

impl State {
    // Not once for every input.
    #[inline(never)]
    fn output(&mut self) -> u32 {
        let word = match self.connection.poll_transmit() {
            Some(outgoing) => self.subject.outgoing(outgoing),
            None => match self.connection.poll_event() {
                Some(event) => self.subject.event(event),
                None => NOTHING,
            },
        };
        let more = if self.connection.has_output() { MORE } else { 0 };
        word | more | self.arm()
    }

    /// The flag that asks for an earlier timer.
    fn arm(&self) -> u32 {
        match (self.connection.poll_timeout(), self.armed) {
            (Some(_), None) => ARM,
            (Some(wanted), Some(armed)) if wanted < armed => ARM,
            _ => 0,
        }
    }

    /// Reads one element of a frame.
    fn entry(&self, shape: u32, id: f64, element: u32) -> Entry<Token> {
        let shape = Shape::from_bits(shape);
        let id = if shape.id == Kind::Null { IdNumber::NULL } else { IdNumber(id as i64) };
        let token = Token(element);
        match shape.classify(&self.connection.config().profile) {
            Class::Request => Ok(Message::Request(Request { id, method: (), params: Some(token) })),
            Class::Notification => Ok(Message::Notification(Notification { method: (), params: Some(token) })),
            Class::Success => Ok(Message::Response(Response { id, outcome: Ok(token) })),
            Class::Failure => Ok(Message::Response(Response { id, outcome: Err(TokenError::Remote(token)) })),
            Class::Empty => Err(Unusable::Empty(id)),
            Class::Malformed(Malformed::Ignore) => Err(Unusable::Ignore),
            Class::Malformed(Malformed::AnswerWithId(fault)) => Err(Unusable::Reject(Rejected { id, fault })),
            Class::Malformed(Malformed::AnswerWithNull(fault)) => Err(Unusable::from(fault)),
        }
    }
}

impl Subject {
    fn outgoing(&mut self, outgoing: Outgoing<Token>) -> u32 {
        match outgoing {
            Outgoing::Single(Message::Response(response)) => self.reply(response),
            Outgoing::Batch(messages) => {
                let count = messages.len() as u32;
                self.replies = messages;
                word(REPLY_BATCH, count)
            }
            // JavaScript asked for these, and has what it needs to post them.
            Outgoing::Single(_) | Outgoing::Cancel(_) => SEND,
        }
    }

    fn reply(&mut self, response: Response<Token>) -> u32 {
        match response.outcome {
            Ok(Token(token)) | Err(TokenError::Remote(Token(token))) => word(REPLY, token),
            Err(TokenError::Fault(fault)) => {
                self.fault = Rejected { id: response.id, fault };
                FAULT
            }
        }
    }

    fn event(&mut self, event: Event<Token>) -> u32 {
        match event {
            Event::Request { key, params, .. } => word(self.about(REQUEST, params), key.slot()),
            Event::Notification(notification) => self.about(NOTIFICATION, notification.params),
            Event::Ended { call, end } => {
                let operation = match end {
                    End::Answered(Ok(element)) => self.about(RESOLVE, Some(element)),
                    End::Answered(Err(error)) => self.about(REJECT, error.remote()),
                    End::Invalid => INVALID,
                    End::TimedOut => TIMED_OUT,
                    End::Closed => CLOSED,
                };
                word(operation, call.slot())
            }
            Event::Cancelled(key) => word(CANCELLED, key.slot()),
            Event::Ignored(Ignored::UnmatchedResponse(_)) => UNMATCHED,
            Event::Ignored(Ignored::PeerError(error)) => self.about(PEER_ERROR, error.remote()),
            Event::Ignored(Ignored::Malformed) => MALFORMED,
        }
    }

    fn about(&mut self, operation: u32, element: Option<Token>) -> u32 {
        self.element = element.map_or(0, |Token(element)| element);
        operation
    }
}

#[wasm_bindgen]
impl Core {
    /// A new end of a link.
    #[must_use]
    pub fn create(&self) -> Self {
        Self::prototype()
    }

    /// Sets the limits.
    pub fn configure(&self, null_params: bool, pending_calls: u32, in_flight: u32, batch_items: u32) {
        let profile = Profile { null_params_are_absent: null_params, ..PROFILE };
        let limits = Limits {
            pending_calls: pending_calls as usize,
            in_flight: in_flight as usize,
            batch_items: batch_items as usize,
            ..Limits::DEFAULT
        };
        self.with(|state| state.connection.configure(profile, limits));
    }

    /// Begins a call, which JavaScript posts; a timeout in milliseconds, negative for none. Calls with the same `batch`
    /// other than 0 go out together. `NOTHING` if it was refused.
    pub fn call(&self, timeout: f64, batch: u32) -> u32 {
        self.with(|state| {
            let timeout = (timeout >= 0.0).then_some(timeout as u64);
            let call = state.connection.begin_call(timeout, (batch > 0).then_some(batch));
            call.map_or(NOTHING, |key| word(SEND, key.slot()) | state.arm())
        })
    }

    /// The id of the call in a slot.
    #[must_use]
    pub fn id(&self, slot: u32) -> f64 {
        self.with(|state| state.connection.call_in_slot(slot).map_or(0.0, |call| call.id() as f64))
    }

    /// Gives up a call without telling the peer.
    pub fn abandon(&self, slot: u32) {
        self.with(|state| {
            if let Some(call) = state.connection.call_in_slot(slot) {
                state.connection.abandon(call);
            }
        });
    }

    /// A message, by its shape and its id.
    pub fn receive(&self, shape: u32, id: f64) -> u32 {
        self.with(|state| {
            let entry = state.entry(shape, id, 0);
            state.connection.handle(Incoming::Single(entry));
            state.output()
        })
    }

    /// The next element of a batch, as with [`Core::receive`].
    pub fn push(&self, shape: u32, id: f64) {
        self.with(|state| {
            let entry = state.entry(shape, id, state.frame.len() as u32);
            state.frame.push(entry);
        });
    }

    /// The batch is complete.
    pub fn receive_batch(&self) -> u32 {
        self.with(|state| {
            let entries = core::mem::take(&mut state.frame);
            state.connection.handle(Incoming::Batch(entries));
            state.output()
        })
    }

    /// The next output.
    pub fn next(&self) -> u32 {
        self.drive(|_| {})
    }

    /// The request in this slot has its reply. If it has to wait for its batch, `token` is where JavaScript keeps it.
    pub fn respond(&self, slot: u32, token: u32) -> u32 {
        self.drive(|connection| {
            if let Some(key) = connection.request_in_slot(slot) {
                connection.respond(key, Ok(Token(token)));
            }
        })
    }

    /// The time is `now`, in milliseconds. Afterwards the timer is to be set by [`Core::wake`].
    pub fn tick(&self, now: f64) -> u32 {
        self.drive(|connection| connection.handle_timeout(now as u64)) & !ARM
    }

    /// When [`Core::tick`] is wanted next; negative for never.
    #[must_use]
    pub fn wake(&self) -> f64 {
        self.with(|state| {
            state.armed = state.connection.poll_timeout();
            state.armed.map_or(-1.0, |wanted| wanted as f64)
        })
    }

    /// Ends everything.
    pub fn close(&self) -> u32 {
        self.drive(Connection::close)
    }

    /// The element that the last word spoke of.
    #[must_use]
    pub fn element(&self) -> u32 {
        self.with(|state| state.subject.element)
    }

    /// One of the replies of a batch, from the last to the first: `REPLY` or `FAULT`.
    #[must_use]
    pub fn reply(&self) -> u32 {
        self.with(|state| match state.subject.replies.pop() {
            Some(Message::Response(response)) => state.subject.reply(response),
            _ => NOTHING,
        })
    }

    /// Tells the fault that the last word spoke of; its id is not a number for null.
    pub fn fault(&self) {
        self.with(|state| {
            let Rejected { id, fault } = state.subject.fault;
            let id = if id == IdNumber::NULL { f64::NAN } else { id.0 as f64 };
            let reason = fault.reason().map_or("", Reason::as_str);
            tell_fault(fault.code().value() as i32, fault.message(), reason, id);
        });
    }
}
