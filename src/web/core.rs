//! The connection as JavaScript drives it: integers in, integers out.
//!
//! Each input returns the first output as a *word*; while the word says that there are more, [`Core::next`] gives them.
//! What a word cannot hold is asked for right after it. `words.js` has the same layout.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use wasm_bindgen::prelude::wasm_bindgen;

use super::token::{Token, TokenError};
use super::words::{
    ARM, BATCH_REFUSED, CANCELLED, CLOSED, FAULT, INVALID, MALFORMED, MORE, NOTHING, NOTIFICATION, PEER_ERROR, REJECT,
    REPLY, REPLY_BATCH, REQUEST, RESOLVE, SEND, TIMED_OUT, UNMATCHED, word,
};
use crate::Limits;
use crate::connection::{BatchItem, CallKey, Config, Connection, End, Event, Ignored};
use crate::message::{
    Class, Entry, Fault, Id, Incoming, Kind, Malformed, Message, Notification, NumberText, Outgoing, Reason, Rejected,
    Request, Response, Shape, Unusable,
};
use crate::profile::Profile;

/// Calls may end a sixteenth of their timeout late, and cost no reading of the clock.
const TIME_GRAIN: u64 = 16;

/// Without the names of the codes, which JavaScript has itself.
const PROFILE: Profile = Profile { codes: &[], ..Profile::MESSAGE_BOUNDARY };

#[wasm_bindgen(module = "/src/web/told.js")]
extern "C" {
    #[wasm_bindgen(js_name = tellFault)]
    fn tell_fault(code: i32, message: &str, reason: &str, id_kind: u32, id_number: f64, id_text: &str);
}

/// One end of a link, for the JavaScript side of this crate. It is no part of the public interface of the module.
#[wasm_bindgen(private, skip_typescript)]
#[derive(Debug)]
pub struct Core {
    connection: RefCell<Connection<Token>>,
    /// The elements of a batch that comes in, while JavaScript reads them.
    frame: RefCell<Vec<Entry<Token>>>,
    /// The keys that the last word spoke of.
    keys: RefCell<Vec<CallKey>>,
    /// The replies that the last word spoke of.
    replies: RefCell<Vec<Message<Token>>>,
    /// The fault that the last word spoke of, and whom it goes to.
    fault: RefCell<Rejected>,
    /// The element that the last word spoke of.
    element: Cell<u32>,
    /// The id of the call that the last word ended.
    ended: Cell<u64>,
    /// When the timer of JavaScript is due.
    armed: Cell<Option<u64>>,
}

impl Core {
    /// The one that others are [created](Self::create) from.
    #[must_use]
    pub fn prototype() -> Self {
        Self::with_config(Config::new(PROFILE))
    }

    fn with_config(config: Config) -> Self {
        Self {
            connection: RefCell::new(Connection::new(config.with_time_grain(TIME_GRAIN))),
            frame: RefCell::default(),
            keys: RefCell::default(),
            replies: RefCell::default(),
            fault: RefCell::new(Rejected { id: Id::Null, fault: Fault::INVALID_REQUEST }),
            element: Cell::new(0),
            ended: Cell::new(0),
            armed: Cell::new(None),
        }
    }

    /// Gives an input to the connection, and takes the first output.
    ///
    /// The borrow ends before JavaScript runs again, so it is never found taken; if it were, nothing would happen.
    fn drive(&self, input: impl FnOnce(&mut Connection<Token>)) -> u32 {
        let Ok(mut connection) = self.connection.try_borrow_mut() else { return NOTHING };
        input(&mut connection);
        self.output(&mut connection)
    }

    // Not once for every input.
    #[inline(never)]
    fn output(&self, connection: &mut Connection<Token>) -> u32 {
        let word = match connection.poll_transmit() {
            Some(outgoing) => self.outgoing(outgoing),
            None => match connection.poll_event() {
                Some(event) => self.event(event),
                None => NOTHING,
            },
        };
        let more = if connection.has_output() { MORE } else { 0 };
        word | more | self.arm(connection)
    }

    #[inline(never)]
    fn handle(&self, incoming: Incoming<Token>) -> u32 {
        self.drive(|connection| connection.handle(incoming))
    }

    /// The flag that asks for an earlier timer.
    fn arm(&self, connection: &Connection<Token>) -> u32 {
        match (connection.poll_timeout(), self.armed.get()) {
            (Some(_), None) => ARM,
            (Some(wanted), Some(armed)) if wanted < armed => ARM,
            _ => 0,
        }
    }

    fn outgoing(&self, outgoing: Outgoing<Token>) -> u32 {
        match outgoing {
            Outgoing::Single(Message::Response(response)) => self.reply_word(response),
            Outgoing::Batch(messages) if matches!(messages.first(), Some(Message::Response(_))) => {
                let count = messages.len() as u32;
                put(&self.replies, messages);
                word(REPLY_BATCH, count)
            }
            // JavaScript asked for these, and has what it needs to post them.
            Outgoing::Single(_) | Outgoing::Batch(_) | Outgoing::Cancel(_) => SEND,
        }
    }

    fn reply_word(&self, response: Response<Token>) -> u32 {
        match response.outcome {
            Ok(Token(slot)) | Err(TokenError::Remote(Token(slot))) => word(REPLY, slot),
            Err(TokenError::Fault(fault)) => {
                put(&self.fault, Rejected { id: response.id, fault });
                FAULT
            }
        }
    }

    fn event(&self, event: Event<Token>) -> u32 {
        match event {
            Event::Request { key, params, .. } => {
                self.point_at(params);
                word(REQUEST, key.slot())
            }
            Event::Notification(notification) => {
                self.point_at(notification.params);
                NOTIFICATION
            }
            Event::Ended { call, end } => {
                self.ended.set(call.id());
                let operation = match end {
                    End::Answered(Ok(element)) => self.pointing(RESOLVE, element),
                    End::Answered(Err(error)) => self.pointing_at_error(REJECT, error),
                    End::Invalid => INVALID,
                    End::TimedOut => TIMED_OUT,
                    End::Closed => CLOSED,
                };
                word(operation, call.slot())
            }
            Event::BatchRefused { calls, error } => {
                let count = calls.len() as u32;
                put(&self.keys, calls);
                word(self.pointing_at_error(BATCH_REFUSED, error), count)
            }
            Event::Cancelled(key) => word(CANCELLED, key.slot()),
            Event::Ignored(Ignored::UnmatchedResponse(_)) => UNMATCHED,
            Event::Ignored(Ignored::PeerError(error)) => self.pointing_at_error(PEER_ERROR, error),
            Event::Ignored(Ignored::Malformed) => MALFORMED,
        }
    }

    fn point_at(&self, element: Option<Token>) {
        if let Some(Token(element)) = element {
            self.element.set(element);
        }
    }

    fn pointing(&self, operation: u32, element: Token) -> u32 {
        self.point_at(Some(element));
        operation
    }

    fn pointing_at_error(&self, operation: u32, error: TokenError) -> u32 {
        if let TokenError::Remote(element) = error {
            self.point_at(Some(element));
        }
        operation
    }

    /// Reads one element of a frame.
    fn entry(&self, shape: u32, id: Id, element: usize) -> Entry<Token> {
        let Ok(connection) = self.connection.try_borrow() else { return Err(Unusable::Ignore) };
        let config = connection.config();
        if matches!(&id, Id::String(text) if text.len() > config.limits.id_bytes) {
            return Err(Unusable::from(Fault::invalid_request(Reason::IdTooLong)));
        }
        let token = Token(element as u32);
        match Shape::from_bits(shape).classify(&config.profile) {
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

#[wasm_bindgen]
impl Core {
    /// A new end of a link, with these limits.
    #[must_use]
    pub fn create(
        &self,
        null_params: bool,
        pending_calls: u32,
        in_flight: u32,
        batch_items: u32,
        id_bytes: u32,
    ) -> Self {
        let profile = Profile { null_params_are_absent: null_params, ..PROFILE };
        let limits = Limits {
            pending_calls: pending_calls as usize,
            in_flight: in_flight as usize,
            batch_items: batch_items as usize,
            id_bytes: id_bytes as usize,
            ..Limits::DEFAULT
        };
        Self::with_config(Config::new(profile).with_limits(limits))
    }

    /// Begins a call; a timeout in milliseconds, negative for none. `NOTHING` if it was refused.
    pub fn call(&self, timeout: f64) -> u32 {
        let Ok(mut connection) = self.connection.try_borrow_mut() else { return NOTHING };
        let Ok(key) = connection.call((), None, milliseconds(timeout)) else { return NOTHING };
        // The request itself is for JavaScript to post, now.
        let _ = connection.poll_transmit();
        word(SEND, key.slot()) | self.arm(&connection)
    }

    /// The id of the call in a slot.
    #[must_use]
    pub fn id(&self, slot: u32) -> f64 {
        let connection = self.connection.try_borrow().ok();
        connection.and_then(|connection| connection.call_in_slot(slot)).map_or(0.0, |call| call.id() as f64)
    }

    /// Begins that many calls that go out as one batch; their slots are [`Core::key`]. `NOTHING` if they were refused.
    pub fn call_batch(&self, calls: u32, timeout: f64) -> u32 {
        let Ok(mut connection) = self.connection.try_borrow_mut() else { return NOTHING };
        let items = (0..calls).map(|_| BatchItem::Call((), None)).collect();
        let Ok(keys) = connection.call_batch(items, milliseconds(timeout)) else { return NOTHING };
        let _ = connection.poll_transmit();
        put(&self.keys, keys);
        SEND | self.arm(&connection)
    }

    /// The slot of one of the calls that the last word spoke of.
    #[must_use]
    pub fn key(&self, index: u32) -> u32 {
        let keys = self.keys.try_borrow().ok();
        keys.and_then(|keys| keys.get(index as usize).map(|call| call.slot())).unwrap_or(u32::MAX)
    }

    /// Gives up a call that the peer knows of. `SEND` if the peer is to be told.
    pub fn cancel(&self, slot: u32) -> u32 {
        self.drive(|connection| {
            if let Some(call) = connection.call_in_slot(slot) {
                connection.cancel(call);
            }
        })
    }

    /// Gives up a call that could not be posted.
    pub fn abandon(&self, slot: u32) {
        if let Ok(mut connection) = self.connection.try_borrow_mut()
            && let Some(call) = connection.call_in_slot(slot)
        {
            connection.abandon(call);
        }
    }

    /// A message whose id is a safe integer, null, missing or unusable.
    pub fn receive(&self, shape: u32, id: f64) -> u32 {
        let entry = self.entry(shape, id_of(shape, id), 0);
        self.handle(Incoming::Single(entry))
    }

    /// A message whose id is a string or another number, given as text.
    pub fn receive_text(&self, shape: u32, id: String) -> u32 {
        let entry = self.entry(shape, text_id(shape, id), 0);
        self.handle(Incoming::Single(entry))
    }

    /// The next element of a batch, as with [`Core::receive`].
    pub fn push(&self, shape: u32, id: f64) {
        self.push_entry(shape, id_of(shape, id));
    }

    /// The next element of a batch, as with [`Core::receive_text`].
    pub fn push_text(&self, shape: u32, id: String) {
        self.push_entry(shape, text_id(shape, id));
    }

    /// The batch is complete.
    pub fn receive_batch(&self) -> u32 {
        let entries = self.frame.take();
        self.handle(Incoming::Batch(entries))
    }

    /// A batch with more elements than are read: it is refused whole.
    pub fn refuse_batch(&self) -> u32 {
        let refusal = Unusable::from(Fault::invalid_request(Reason::BatchTooLarge));
        self.handle(Incoming::Single(Err(refusal)))
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

    /// The peer gives up a request, by its id: a safe integer or null.
    pub fn give_up(&self, kind: u32, id: f64) -> u32 {
        self.drive(|connection| connection.handle_cancel(&id_of(kind, id)))
    }

    /// The peer gives up a request, by its id as text.
    pub fn give_up_text(&self, kind: u32, id: String) -> u32 {
        self.drive(|connection| connection.handle_cancel(&text_id(kind, id)))
    }

    /// The time is `now`, in milliseconds. Afterwards the timer is to be set by [`Core::wake`].
    pub fn tick(&self, now: f64) -> u32 {
        self.armed.set(None);
        let word = self.drive(|connection| connection.handle_timeout(now as u64));
        word & !ARM
    }

    /// When [`Core::tick`] is wanted next; negative for never.
    #[must_use]
    pub fn wake(&self) -> f64 {
        let wanted = self.connection.try_borrow().ok().and_then(|connection| connection.poll_timeout());
        self.armed.set(wanted);
        wanted.map_or(-1.0, |wanted| wanted as f64)
    }

    /// Ends everything.
    pub fn close(&self) -> u32 {
        self.drive(Connection::close)
    }

    /// How many calls wait.
    #[must_use]
    pub fn pending(&self) -> u32 {
        self.connection.try_borrow().map_or(0, |connection| connection.pending_calls() as u32)
    }

    /// The element that the last word spoke of.
    #[must_use]
    pub fn element(&self) -> u32 {
        self.element.get()
    }

    /// The id of the call that the last word ended.
    #[must_use]
    pub fn ended(&self) -> f64 {
        self.ended.get() as f64
    }

    /// One of the replies of a batch: `REPLY` or `FAULT`.
    #[must_use]
    pub fn reply(&self, index: u32) -> u32 {
        let Ok(mut replies) = self.replies.try_borrow_mut() else { return NOTHING };
        let Some(place) = replies.get_mut(index as usize) else { return NOTHING };
        // What is left in its place is never looked at again.
        let taken = core::mem::replace(place, Message::Notification(Notification { method: (), params: None }));
        match taken {
            Message::Response(response) => self.reply_word(response),
            _ => NOTHING,
        }
    }

    /// Tells the fault that the last word spoke of.
    pub fn fault(&self) {
        let Ok(rejected) = self.fault.try_borrow() else { return };
        let Fault { code, message, reason } = rejected.fault;
        let (kind, number, text) = match &rejected.id {
            Id::Null => (Kind::Null, 0.0, ""),
            Id::Integer(id) => (Kind::Integer, *id as f64, ""),
            Id::Number(text) => (Kind::Fraction, 0.0, text.as_str()),
            Id::String(text) => (Kind::String, 0.0, &**text),
        };
        tell_fault(code.value() as i32, message, reason.map_or("", Reason::as_str), kind as u32, number, text);
    }
}

impl Core {
    fn push_entry(&self, shape: u32, id: Id) {
        if let Ok(mut frame) = self.frame.try_borrow_mut() {
            let entry = self.entry(shape, id, frame.len());
            frame.push(entry);
        }
    }
}

fn put<T>(place: &RefCell<T>, value: T) {
    if let Ok(mut place) = place.try_borrow_mut() {
        *place = value;
    }
}

fn milliseconds(timeout: f64) -> Option<u64> {
    (timeout >= 0.0).then_some(timeout as u64)
}

/// The id of an element, where the lowest bits of its shape say that it has one.
fn id_of(shape: u32, id: f64) -> Id {
    match Kind::from_bits(shape & 15) {
        Kind::Integer => Id::Integer(id as i64),
        _ => Id::Null,
    }
}

fn text_id(shape: u32, id: String) -> Id {
    match Kind::from_bits(shape & 15) {
        Kind::String | Kind::EmptyString => Id::String(id.into()),
        _ => Id::Number(NumberText::from_javascript(id)),
    }
}
