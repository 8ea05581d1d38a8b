//! The connection as JavaScript drives it: integers in, integers out.
//!
//! Each input returns the first output as a *word*; while the word says that there are more, the command `NEXT` gives
//! them. All of them are taken before the next input, so that a request or result that comes by itself has one, and no queue. What a word cannot hold is asked for right after it.
//!
//! Ids cross as numbers, too. A safe integer is itself. Any other id of the peer (a string, a fraction) crosses as
//! 2 to the power of 53 plus twice the place of the first element of the frame that has it: JavaScript keeps the id
//! itself, and here it only matters whether two are the same.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use slab::Slab;
use spin::Mutex;
use wasm_bindgen::prelude::wasm_bindgen;

use super::commands;
use super::token::{IdNumber, Token, TokenError};
use super::validator::validate;
use super::words::{
    ARM, CLOSED, FAULT, IGNORED, INVALID, MORE, NOTHING, NOTIFICATION, PEER_ERROR, REJECT, REPLY, REPLY_BATCH, REQUEST,
    RESOLVE, SEND, TIMED_OUT, UNREADABLE, word,
};
use crate::Limits;
use crate::connection::{Config, Connection, End, Event, Ignored};
use crate::message::{
    Class, Entry, Fault, Incoming, Kind, Malformed, Message, Notification, Outgoing, Reason, Rejected, Request,
    RequestId, Response, Shape, Unreadable, Unusable,
};
use crate::profile::Profile;

/// Timeouts may come a sixteenth late, a second at most, and a call costs no reading of the clock.
const TIME_GRAIN: u64 = 16;

/// A millisecond in microseconds, the unit of time here. JavaScript passes fractions of milliseconds.
const MILLISECOND: f64 = 1_000.0;
const SECOND: u64 = 1_000_000;

#[wasm_bindgen(module = "/src/web/wasm-callbacks.js")]
extern "C" {
    #[wasm_bindgen(js_name = tellFault)]
    fn tell_fault(code: i32, message: &str, reason: &str, id: f64);
}

/// All links of this instance. Locked while wasm runs, which calls nothing of JavaScript that leads back here; so it is
/// never found locked, and if it were, nothing would happen.
static LINKS: Mutex<Slab<State>> = Mutex::new(Slab::new());

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

impl State {
    const fn new(last_id: u64) -> Self {
        let config = Config::new(Profile::MESSAGE_BOUNDARY)
            .with_time_grain(TIME_GRAIN)
            .with_longest_wait(SECOND)
            .with_last_id(last_id);
        let connection = Connection::new(config);
        let fault = Rejected { id: IdNumber::NULL, fault: Fault::InvalidRequest };
        let subject = Subject { element: 0, replies: Vec::new(), fault };
        Self { connection, armed: None, frame: Vec::new(), subject }
    }

    fn configure(&mut self, pending_calls: usize, in_flight: usize, batch_items: usize, null_params: bool) -> f64 {
        let profile = Profile { null_params_are_absent: null_params, ..Profile::MESSAGE_BOUNDARY };
        // Only replies that wait for their batch have a size here, and each counts one: as many as may be at work, or one batch.
        let in_flight_bytes = in_flight.max(batch_items);
        let limits = Limits { pending_calls, in_flight, in_flight_bytes, batch_items, ..Limits::DEFAULT };
        self.connection.configure(profile, limits);
        0.0
    }

    fn call(&mut self, timeout: f64, batch: u32) -> u32 {
        let call = self.connection.begin_call(microseconds(timeout), NonZeroU32::new(batch));
        call.map_or(NOTHING, |key| word(SEND, key.slot()) | self.arm())
    }

    fn restart(&mut self, slot: u32, timeout: f64, end: f64, now: f64) -> u32 {
        if let Some(call) = self.connection.call_in_slot(slot) {
            self.connection.handle_progress(call, microseconds(timeout), microseconds(end), (now * MILLISECOND) as u64);
        }
        NOTHING | self.arm()
    }

    fn abandon(&mut self, slot: u32) -> f64 {
        if let Some(call) = self.connection.call_in_slot(slot) {
            self.connection.abandon(call);
        }
        0.0
    }

    /// A result and a request that come by themselves take the straight way: there are no messages and no events of them.
    fn receive(&mut self, shape: u32, id: f64) -> f64 {
        let (class, id) = self.read(shape, id);
        let usual = match class {
            Class::Success => self.connection.end_call(&id).map(|call| word(RESOLVE, call.slot())),
            Class::Request => self.connection.begin_request(id).map(|request| word(REQUEST, request.slot())),
            _ => None,
        };
        if let Some(word) = usual {
            return f64::from(word);
        }
        self.connection.handle(Incoming::Single(entry(class, id, Token(0))));
        self.output()
    }

    fn respond(&mut self, slot: u32, token: u32) -> f64 {
        let Some(request) = self.connection.request_in_slot(slot) else { return f64::from(NOTHING) };
        if self.connection.end_request(request) {
            return f64::from(word(REPLY, token));
        }
        self.connection.respond(request, Ok(Token(token)));
        self.output()
    }

    /// The next output, as a word.
    #[inline(never)]
    fn output(&mut self) -> f64 {
        let word = match self.connection.poll_transmit() {
            Some(outgoing) => self.subject.outgoing(outgoing),
            None => match self.connection.poll_event() {
                Some(event) => self.subject.event(event),
                None => NOTHING,
            },
        };
        let more = if self.connection.has_output() { MORE } else { 0 };
        f64::from(word | more | self.arm())
    }

    /// The flag that asks for an earlier timer.
    fn arm(&self) -> u32 {
        match (self.connection.poll_timeout(), self.armed) {
            (Some(_), None) => ARM,
            (Some(wanted), Some(armed)) if wanted < armed => ARM,
            _ => 0,
        }
    }

    /// What an element is, and its id.
    const fn read(&self, shape: u32, id: f64) -> (Class, IdNumber) {
        let shape = Shape::from_bits(shape);
        let id = if matches!(shape.id, Kind::Null) { IdNumber::NULL } else { IdNumber(id as i64) };
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
                self.frame.push(entry(class, id, Token(self.frame.len() as u32)));
                0.0
            }
            commands::RECEIVE_BATCH => {
                let entries = core::mem::take(&mut self.frame);
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
                self.armed = self.connection.poll_timeout();
                self.armed.map_or(-1.0, |wanted| wanted as f64 / MILLISECOND)
            }
            commands::CLOSE => {
                self.connection.close();
                self.output()
            }
            commands::ELEMENT => f64::from(self.subject.element),
            commands::NEXT_REPLY => f64::from(self.subject.next_reply()),
            commands::TELL_FAULT => self.subject.tell_fault(),
            commands::UNREADABLE => {
                let id = (a >= 0.0).then_some(IdNumber(a as i64));
                // JavaScript knows the real reason.
                self.connection.handle_unreadable(id.as_ref(), Unreadable::NotJson);
                self.output()
            }
            commands::RESTART => f64::from(self.restart(a as u32, b, c, d)),
            _ => 0.0,
        }
    }
}

/// An element of a frame.
// In line it would be there twice.
#[inline(never)]
fn entry(class: Class, id: IdNumber, token: Token) -> Entry<Token> {
    match class {
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

impl Subject {
    fn outgoing(&mut self, outgoing: Outgoing<Token>) -> u32 {
        match outgoing {
            Outgoing::Single(Message::Response(response)) => self.reply(response),
            Outgoing::Batch(messages) => {
                let count = messages.len() as u32;
                self.replies = messages;
                word(REPLY_BATCH, count)
            }
            // JavaScript asked for these, or is notified of the timeout that causes them, and has the data to post
            // them.
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
                    End::Unreadable(_) => UNREADABLE,
                    End::TimedOut => TIMED_OUT,
                    End::Closed => CLOSED,
                };
                word(operation, call.slot())
            }
            Event::Ignored(Ignored::PeerError(error)) => self.about(PEER_ERROR, error.remote()),
            Event::Ignored(Ignored::UnmatchedResponse(_) | Ignored::Unreadable(_) | Ignored::Malformed) => IGNORED,
            // JavaScript itself notifies its handlers of a cancellation. A peer also answers cancelled requests.
            Event::Cancelled(_) | Event::Ignored(Ignored::LateResponse(_)) => NOTHING,
        }
    }

    fn next_reply(&mut self) -> u32 {
        match self.replies.pop() {
            Some(Message::Response(response)) => self.reply(response),
            _ => NOTHING,
        }
    }

    fn tell_fault(&self) -> f64 {
        let Rejected { id, fault } = self.fault;
        let id = if id == IdNumber::NULL { f64::NAN } else { id.0 as f64 };
        let reason = fault.reason().map_or("", Reason::as_str);
        tell_fault(fault.code().value() as i32, fault.message(), reason, id);
        0.0
    }

    fn about(&mut self, operation: u32, element: Option<Token>) -> u32 {
        self.element = element.map_or(0, |Token(element)| element);
        operation
    }
}

/// A timeout of JavaScript in milliseconds, negative for none.
fn microseconds(timeout: f64) -> Option<u64> {
    (timeout >= 0.0).then_some((timeout * MILLISECOND) as u64)
}

/// Runs a command (`commands.rs` lists them, with their arguments) on a link. The answer is a word, unless it says
/// otherwise. It is for the JavaScript of this crate, and no part of the public interface of the module.
///
/// One export for all of them, and numbers of one type, keep the module and its glue small; and JavaScript calls it of
/// the very instance that it made the link in.
#[wasm_bindgen(js_name = __portway, skip_typescript)]
pub fn run(link: u32, command: u32, a: f64, b: f64, c: f64, d: f64) -> f64 {
    let Some(mut links) = LINKS.try_lock() else { return 0.0 };
    match command {
        commands::OPEN => links.insert(State::new(a as u64)) as f64,
        commands::FREE => {
            links.try_remove(link as usize);
            0.0
        }
        commands::VALIDATE => {
            validate(a as u32, b as u32, c);
            0.0
        }
        _ => links.get_mut(link as usize).map_or(0.0, |state| state.run(command, a, b, c, d)),
    }
}
