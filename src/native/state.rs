//! What is behind the lock of a link: the connection, who waits for it, and what is to be written.

use core::fmt;
use std::collections::VecDeque;
use std::mem;
use std::string::String;
use std::sync::Arc;
use std::task::Waker;
use std::vec::Vec;

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::Text;
use super::cancel;
use super::error::{CallError, Closed};
use super::items::Inflow;
use super::streams;
use super::waiters::Waiters;
use crate::Limits;
use crate::codec::framing::Framing;
use crate::connection::{CallKey, Connection, End, Event, Ignored, Refused};
use crate::message::{Entry, Id, Incoming, Message, Outgoing, Rejected, RequestId, Shape, Unusable};
use crate::text::length;

/// Room for the messages of one turn is kept; more is given back once it is written.
pub(super) const KEPT_CAPACITY: usize = 64 * 1024;

/// What a call that has ended unanswered counts for, in bytes, beside its method and its params: the frame of its request, and
/// that of its cancellation.
pub(super) const ENDED_CALL_BYTES: usize = 128;

/// How a call has ended.
pub(super) type Outcome = Result<Text, CallError>;

#[derive(Debug)]
pub(super) struct State {
    pub(super) connection: Connection<Text>,
    /// Who waits for the calls, by slot.
    pub(super) calls: Vec<Option<WaitingCall>>,
    /// What the driver is to tell the application.
    pub(super) events: VecDeque<Event<Text>>,
    /// Frames that the driver is to write.
    pub(super) unwritten: Vec<u8>,
    /// How many bytes the driver has taken and not written yet.
    pub(super) being_written: usize,
    /// How many bytes of each of the two are answers, or credit for more items.
    pub(super) unwritten_answers: usize,
    pub(super) answers_being_written: usize,
    /// Bytes written in earlier buffers.
    written_before: u64,
    /// Bytes written of the current buffer.
    written_of_these: usize,
    /// How many bytes may still wait to be written of calls that have ended unanswered. They begin anew whenever the peer has
    /// taken what was being written.
    pub(super) ended_unwritten: usize,
    pub(super) text: String,
    pub(super) stage: Stage,
    pub(super) output: Output,
    /// Why no call has an answer any more.
    pub(super) lost: Option<CallError>,
    /// The task that drives the link, while it sleeps.
    pub(super) driver: Option<Waker>,
    /// Whether there is something to do for the driver since it has looked last.
    pub(super) is_due: bool,
    /// Who waits for room, or for the end.
    pub(super) observers: Waiters,
}

#[derive(Debug)]
pub(super) struct WaitingCall {
    pub(super) id: u64,
    /// What its request takes while it waits to be written, about.
    pub(super) bytes: usize,
    /// The count of written bytes at which the request is complete.
    pub(super) end_offset: u64,
    pub(super) reply: oneshot::Sender<Outcome>,
    pub(super) listener: Option<CallListener>,
}

/// Who hears of a call before it ends.
#[derive(Clone, Debug)]
pub(super) enum CallListener {
    Progress(ProgressListener, Until),
    Items(Arc<Inflow>),
}

#[derive(Clone)]
pub(super) struct ProgressListener(pub(super) Arc<dyn Fn(&RawValue) + Send + Sync>);

impl fmt::Debug for ProgressListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressListener")
    }
}

/// The timeout that progress restarts, and the time when the call ends in any case, both in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Until {
    pub(super) timeout: Option<u64>,
    pub(super) end: Option<u64>,
}

/// How far the link is from its end.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stage {
    Open,
    /// Nothing more is read and no further request is begun; what runs is finished.
    Stopping,
    /// This side has ended the link; what is written already leaves.
    Destroyed,
    /// The driver is done.
    Closed(Closed),
}

/// Whether messages still leave. Only WIPC says when they do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    Open,
    /// This side has said `CLOSE`: what was before it leaves.
    Ended,
    /// The other side has: it takes nothing more.
    Dropped,
}

impl State {
    pub(super) fn new(connection: Connection<Text>) -> Self {
        Self {
            connection,
            calls: Vec::new(),
            events: VecDeque::new(),
            unwritten: Vec::new(),
            being_written: 0,
            unwritten_answers: 0,
            answers_being_written: 0,
            written_before: 0,
            written_of_these: 0,
            ended_unwritten: 0,
            text: String::new(),
            stage: Stage::Open,
            output: Output::Open,
            lost: None,
            driver: None,
            is_due: false,
            observers: Waiters::default(),
        }
    }

    /// Sees to all that an input has brought about.
    pub(super) fn drain(&mut self, framing: Framing, ended: &mut Vec<(WaitingCall, Outcome)>) {
        self.encode(framing);
        if self.output == Output::Dropped {
            self.drop_unwritten();
        }
        while let Some(event) = self.connection.poll_event() {
            let Event::Ended { call, end } = event else {
                self.events.push_back(event);
                continue;
            };
            let outcome = match end {
                End::Answered(Ok(result)) => Ok(result),
                End::Answered(Err(error)) => Err(CallError::from_answer(error.into())),
                End::Invalid => Err(CallError::InvalidResponse),
                End::Unreadable(why) => Err(CallError::Unreadable(why)),
                End::TimedOut => Err(CallError::TimedOut),
                End::Closed => Err(self.end_of_calls()),
            };
            if let Some(call) = self.take_call(call) {
                if matches!(outcome, Err(CallError::TimedOut)) {
                    self.count_ended(&call);
                }
                ended.push((call, outcome));
            }
        }
    }

    /// Encodes the messages to send. Returns the total of written bytes at which the buffer is empty.
    pub(super) fn encode(&mut self, framing: Framing) -> u64 {
        let longest = longest_message(framing, &self.connection.config().limits);
        while let Some(outgoing) = self.connection.poll_transmit() {
            let outgoing = match outgoing {
                Outgoing::Cancel(id) => cancel::write(self.connection.config().profile.cancel, &id),
                other => Some(other),
            };
            let Some(mut outgoing) = outgoing.filter(|_| self.output == Output::Open) else { continue };
            if !length::encode_within(&mut outgoing, longest, &mut self.text) {
                continue;
            }
            let before = self.unwritten.len();
            framing.encode(&self.text, &mut self.unwritten);
            if is_caused_by_peer(&outgoing) {
                self.unwritten_answers += self.unwritten.len() - before;
            }
        }
        if self.text.capacity() > KEPT_CAPACITY {
            self.text = String::new();
        }
        self.written_before + self.backlog() as u64
    }

    /// Records how many bytes of the current buffer are written, if not all.
    pub(super) const fn set_written(&mut self, count: usize) {
        self.written_of_these = count;
    }

    /// Whether all but the last byte of the request is written. A peer that reads lines can answer before the line feed.
    pub(super) fn has_left(&self, call: &WaitingCall) -> bool {
        self.backlog() == 0 || call.end_offset <= self.written_before + self.written_of_these as u64 + 1
    }

    /// Our call with this id, if it waits.
    fn waiting_call(&self, id: u64) -> Option<(CallKey, &WaitingCall)> {
        let key = self.connection.call_with_id(id)?;
        self.calls.get(key.slot() as usize)?.as_ref().map(|call| (key, call))
    }

    /// The pending call with this id, if its request is written.
    pub(super) fn sent_call(&self, id: u64) -> Option<(CallKey, &WaitingCall)> {
        self.waiting_call(id).filter(|(_, call)| self.has_left(call))
    }

    /// Takes a message, or an element of a batch that has begun. A response to a request that is not written yet counts as
    /// unmatched.
    pub(super) fn receive(&mut self, entry: Entry<Text>, batch: Option<u32>) {
        let entry = match entry {
            Ok(Message::Response(response)) if self.is_forged(&response.id) => {
                return self.events.push_back(Event::Ignored(Ignored::UnmatchedResponse(response.id)));
            }
            Err(Unusable::Unreadable { id, why }) if self.answers_what_waits(id.as_ref()) => {
                return self.events.push_back(Event::Ignored(Ignored::Unreadable(why)));
            }
            Err(Unusable::Empty(id)) if self.is_forged(&id) => {
                Err(match Shape::unmatched_empty(&self.connection.config().profile) {
                    Some(fault) => Unusable::Reject(Rejected { id, fault }),
                    None => Unusable::Ignore,
                })
            }
            entry => entry,
        };
        match batch {
            None => self.connection.handle(Incoming::Single(entry)),
            Some(batch) => self.connection.handle_in_batch(entry, batch),
        }
    }

    /// Whether a response with this id belongs to a pending call whose request is not written yet.
    fn is_forged(&self, id: &Id) -> bool {
        let waits = |id: u64| self.waiting_call(id).is_some_and(|(_, call)| !self.has_left(call));
        self.backlog() > 0 && id.to_call().is_some_and(waits)
    }

    /// Whether an unreadable answer belongs to a pending call whose request is not written yet.
    fn answers_what_waits(&self, id: Option<&Id>) -> bool {
        match id {
            Some(id) => self.is_forged(id),
            None if self.backlog() == 0 => false,
            None => self.connection.only_calls().iter().any(|call| self.is_forged(&Id::from_call(call.id()))),
        }
    }

    /// There is something to do for the driver. Gives what wakes it, if it sleeps.
    pub(super) const fn wake(&mut self) -> Option<Waker> {
        self.is_due = true;
        self.driver.take()
    }

    pub(super) fn take_call(&mut self, key: CallKey) -> Option<WaitingCall> {
        self.calls.get_mut(key.slot() as usize)?.take_if(|call| call.id == key.id())
    }

    /// Counts a call that has ended unanswered. Its request is written even so.
    pub(super) fn count_ended(&mut self, call: &WaitingCall) {
        if !self.has_left(call) {
            self.ended_unwritten = self.ended_unwritten.saturating_add(call.bytes);
        }
    }

    /// Whether calls that have ended fill what waits to be written, so that further ones would do so without end.
    pub(super) fn is_congested_by_ended(&self) -> bool {
        let most = self.connection.config().limits.unwritten_bytes;
        self.ended_unwritten > most && self.backlog().saturating_sub(self.backlog_of_answers()) > most
    }

    /// # Errors
    /// If one of the two sides has said that there is nothing more.
    pub(super) fn may_send(&self) -> Result<(), CallError> {
        if self.output == Output::Open { Ok(()) } else { Err(self.end_of_calls()) }
    }

    pub(super) fn refusal(&self, refused: Refused) -> CallError {
        match refused {
            Refused::TooManyCalls => CallError::TooManyCalls,
            Refused::Closed => self.end_of_calls(),
        }
    }

    /// Why there are no calls any more.
    pub(super) fn end_of_calls(&self) -> CallError {
        self.lost.clone().unwrap_or(CallError::Destroyed)
    }

    pub(super) fn backlog(&self) -> usize {
        self.unwritten.len() + self.being_written
    }

    /// How many bytes of answers, and of credit for more items, wait to be written.
    pub(super) const fn backlog_of_answers(&self) -> usize {
        self.unwritten_answers + self.answers_being_written
    }

    /// Gives the driver what is to be written next, for the buffer of what it has written.
    pub(super) fn take_unwritten(&mut self, written: &mut Vec<u8>) {
        mem::swap(&mut self.unwritten, written);
        self.written_before += self.being_written as u64;
        self.written_of_these = 0;
        self.being_written = written.len();
        self.answers_being_written = mem::take(&mut self.unwritten_answers);
        self.ended_unwritten = 0;
    }

    pub(super) fn drop_unwritten(&mut self) {
        self.unwritten = Vec::new();
        self.unwritten_answers = 0;
    }
}

/// How long a message may be that leaves, in bytes: over WIPC, both peers have the same limit.
pub(super) fn longest_message(framing: Framing, limits: &Limits) -> usize {
    framing.longest_message().map_or(usize::MAX, |longest| longest.min(limits.message_bytes))
}

/// Whether the peer has caused this by what it sent: an answer, or credit for more items in place of those that have come. The
/// elements of a batch are all of one kind.
fn is_caused_by_peer(outgoing: &Outgoing<Text>) -> bool {
    let message = match outgoing {
        Outgoing::Single(message) => Some(message),
        Outgoing::Batch(messages) => messages.first(),
        Outgoing::Cancel(_) => None,
    };
    match message {
        Some(Message::Response(_)) => true,
        Some(Message::Notification(notification)) => &*notification.method == streams::CREDIT,
        Some(Message::Request(_)) | None => false,
    }
}
