//! From frames to the connection: what comes in, and what is answered or told of what is no message.

use std::mem;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use serde_json::value::RawValue;

use super::Text;
use super::diagnostic::Diagnostic;
use super::error::Closed;
use super::limits::MAX_LINES_WITHOUT_MESSAGE;
use super::link::Link;
use super::running::{guarded, text_of};
use super::state::{CallListener, ProgressListener};
use super::{cancel, members, progress, streams};
use crate::codec::content_length::header_within;
use crate::codec::frame::Event as Frame;
use crate::codec::frame::FrameFault;
use crate::codec::framing::{Framing, Recogniser};
use crate::codec::json;
use crate::codec::wipc::{Frame as WipcFrame, FrameType};
use crate::limits::{MAX_METHOD_LENGTH, is_longer};
use crate::message::{Entry, ErrorObject, Fault, Id, Incoming, Message, Reason, Rejected, Shape, Unreadable, Unusable};
use crate::profile::BatchPolicy;
use crate::text::RpcError;

#[derive(Debug)]
pub(super) struct Inbox {
    link: Arc<Link>,
    /// Whether this end serves: then what cannot be read is answered, since its sender may wait for an answer.
    serves: bool,
    /// Whether the last body was no JSON. Bytes outside of frames, or further lines, are then part of the same error.
    is_invalid_json: bool,
    /// Whether a message has come.
    has_begun: bool,
    /// How many lines in a row were not messages, before the first message.
    idle_lines: usize,
    /// Detects another framing in noise.
    recogniser: Recogniser,
    /// Whether another framing was found and reported. It is reported once.
    is_framing_reported: bool,
}

/// What the driver does after a frame.
#[derive(Debug)]
pub(super) enum Next {
    Go,
    /// These bytes belong to what follows.
    Unread(Vec<u8>),
    /// The elements of this batch are to be taken one by one, since some of them are about requests, calls or streams that
    /// others of them begin or end.
    Batch(Vec<Entry<Text>>),
    /// It makes no sense to read on.
    End(Closed),
    /// The other side says that it ends.
    Closing,
}

impl Inbox {
    pub(super) fn new(link: Arc<Link>, serves: bool) -> Self {
        Self {
            link,
            serves,
            is_invalid_json: false,
            has_begun: false,
            idle_lines: 0,
            recogniser: Recogniser::default(),
            is_framing_reported: false,
        }
    }

    pub(super) fn take(&mut self, frame: Frame<'_>) -> Next {
        match frame {
            Frame::Body(body) => return self.take_body(body),
            Frame::Refused { body, reason } => self.refuse(body, reason),
            Frame::Dropped { beginning, why } => self.take_unreadable(beginning, why),
            Frame::Fault(fault) => self.take_fault(fault),
            Frame::Frame(frame) => return self.take_frame(frame),
            Frame::Noise { bytes, starts } => return self.take_noise(bytes, starts),
        }
        Next::Go
    }

    fn take_frame(&self, frame: WipcFrame<'_>) -> Next {
        let told = guarded(|| self.link.wipc.on_frame.tell(frame));
        if let Err(panic) = told {
            let (method, message) = (frame.frame_type.name(), text_of(&*panic));
            self.link.listener.tell(Diagnostic::Panicked { method, message });
        }
        if frame.frame_type == FrameType::Close { Next::Closing } else { Next::Go }
    }

    pub(super) fn take_fault(&mut self, fault: FrameFault) {
        self.link.listener.tell(Diagnostic::Frame(fault));
        self.is_invalid_json = true;
        if let Some(fault) = fault.fault() {
            self.answer(Id::Null, fault);
        }
    }

    fn take_body(&mut self, body: &[u8]) -> Next {
        let incoming = json::decode(body, &self.link.profile, &self.link.limits);
        let is_text = !matches!(
            incoming,
            Incoming::Single(Err(Unusable::Reject(Rejected { id: Id::Null, fault: Fault::ParseError })))
        );
        if is_text {
            self.is_invalid_json = false;
            self.has_begun |= is_message(&incoming);
            self.idle_lines = 0;
            self.tell_of(&incoming, body);
            return self.hand_over(incoming);
        }
        self.take_unreadable(body, Unreadable::NotJson);
        let was_invalid_json = mem::replace(&mut self.is_invalid_json, true);
        if self.link.framing == Framing::Newline {
            return self.take_line(body, was_invalid_json);
        }
        self.reject_text();
        if self.link.framing != Framing::ContentLength {
            return Next::Go;
        }
        // A length that was too long has swallowed what follows.
        match header_within(body).and_then(|start| body.get(start..)) {
            Some(swallowed) => Next::Unread(swallowed.to_vec()),
            None => Next::Go,
        }
    }

    /// Handles a line that is not a message. Further lines without JSON are part of the same error. A server answers only the first.
    fn take_line(&mut self, line: &[u8], was_invalid_json: bool) -> Next {
        if !self.serves {
            self.link.listener.tell(Diagnostic::Noise(line));
            if let Some(other) = self.other_framing(|_| Framing::recognise(line)) {
                return Next::End(Closed::OtherFraming { peer: other, own: self.link.framing });
            }
            self.idle_lines += 1;
            // A peer that has sent messages may log as much as it likes.
            if !self.has_begun && self.idle_lines == MAX_LINES_WITHOUT_MESSAGE {
                return Next::End(Closed::NoMessages(MAX_LINES_WITHOUT_MESSAGE));
            }
            return Next::Go;
        }
        self.other_framing(|_| Framing::recognise(line));
        if !was_invalid_json {
            self.reject_text();
        }
        Next::Go
    }

    fn take_noise(&mut self, bytes: &[u8], starts: bool) -> Next {
        if self.link.framing == Framing::Wipc {
            // There, other bytes are no error of the peer.
            self.link.listener.tell(Diagnostic::Noise(bytes));
            return Next::Go;
        }
        if !self.serves {
            self.link.listener.tell(Diagnostic::Noise(bytes));
        }
        self.other_framing(|recogniser| recogniser.look(bytes));
        if starts && !self.is_invalid_json && self.serves {
            self.reject_text();
        }
        // One answer for all of it, and for what is cut off from it.
        self.is_invalid_json = self.is_invalid_json || starts;
        Next::Go
    }

    /// Whether the first that comes is in another framing, of which the application is told.
    fn other_framing(&mut self, look: impl FnOnce(&mut Recogniser) -> Option<Framing>) -> Option<Framing> {
        if self.has_begun || self.is_framing_reported {
            return None;
        }
        let other = look(&mut self.recogniser).filter(|framing| *framing != self.link.framing)?;
        self.is_framing_reported = true;
        self.link.listener.tell(Diagnostic::OtherFraming { peer: other, own: self.link.framing });
        Some(other)
    }

    /// What the header says it is no message; the id is echoed if the body has one all the same. A response is not answered.
    fn refuse(&mut self, body: &[u8], reason: Reason) {
        self.is_invalid_json = false;
        self.take_unreadable(body, Unreadable::ContentType);
        let fault = Fault::Refused(reason);
        let id = match json::decode(body, &self.link.profile, &self.link.limits) {
            Incoming::Single(Ok(Message::Request(request))) => request.id,
            Incoming::Single(Err(Unusable::Reject(rejected))) => rejected.id,
            Incoming::Single(Err(Unusable::Empty(id))) => id,
            Incoming::Single(Ok(Message::Response(_)) | Err(Unusable::Ignore | Unusable::Unreadable { .. })) => {
                return self.tell_rejected(None, body, fault);
            }
            _ => Id::Null,
        };
        self.tell_rejected(Some(&id), body, fault);
        self.answer(id, fault);
    }

    /// Handles the text of a message that cannot be read: ends the calls whose answers are in it.
    fn take_unreadable(&mut self, text: &[u8], why: Unreadable) {
        // A line may be of a log, and an incomplete payload of WIPC may not be a frame, unless it has the member
        // `jsonrpc`.
        let may_be_text = match self.link.framing {
            Framing::ContentLength => false,
            Framing::Newline => true,
            Framing::Wipc => why == Unreadable::Stalled,
        };
        if may_be_text && !json::glance(text, |_| {}).has_version {
            return;
        }
        let take = |id| self.link.act(|state| state.receive(Err(Unusable::Unreadable { id, why }), None));
        let glance = json::glance(text, |id| take(Some(id)));
        // It confirms the framing, like a message that can be read.
        self.has_begun |= glance.has_version;
        if glance.is_nameless && self.link.pending_calls() > 0 {
            take(None);
        }
    }

    /// Text that is no JSON.
    fn reject_text(&self) {
        self.tell_rejected(None, &[], Fault::ParseError);
        self.answer(Id::Null, Fault::ParseError);
    }

    /// Answers what is no message, if this end serves.
    fn answer(&self, id: Id, fault: Fault) {
        if self.serves {
            let rejected = Err(Unusable::Reject(Rejected { id, fault }));
            self.link.input(|connection| connection.handle(Incoming::Single(rejected)));
        }
    }

    fn hand_over(&self, incoming: Incoming<Text>) -> Next {
        match incoming {
            Incoming::Single(entry) => self.take_entry(entry, None),
            Incoming::Batch(entries) => return Next::Batch(entries),
        }
        Next::Go
    }

    /// Takes one message, or one element of a batch that has begun.
    pub(super) fn take_entry(&self, entry: Entry<Text>, batch: Option<u32>) {
        if let Ok(Message::Notification(notification)) = &entry {
            if let Some(id) = cancel::read(self.link.profile.cancel, notification) {
                return self.link.input(|connection| connection.handle_cancel(&id));
            }
            if self.is_of_the_protocol(&notification.method, notification.params.as_deref()) {
                return;
            }
        }
        self.link.act(|state| state.receive(entry, batch));
    }

    /// Tells of what the connection will answer by itself.
    fn tell_of(&self, incoming: &Incoming<Text>, body: &[u8]) {
        let rejected = |entry: &Entry<Text>| match entry {
            Err(Unusable::Reject(rejected)) => Some(rejected.clone()),
            // It may be a broken answer to a call of ours.
            Err(Unusable::Empty(id)) if !self.link.is_waiting_for(id) => {
                let fault = Shape::unmatched_empty(&self.link.profile)?;
                Some(Rejected { id: id.clone(), fault })
            }
            _ => None,
        };
        match incoming {
            Incoming::Single(entry) => {
                if let Some(Rejected { id, fault }) = rejected(entry) {
                    self.tell_rejected(Some(&id), body, fault);
                }
            }
            Incoming::Batch(_) if self.link.profile.batch == BatchPolicy::Reject => {
                self.tell_rejected(None, &[], Fault::Refused(Reason::BatchNotSupported));
            }
            Incoming::Batch(entries) => {
                for Rejected { id, fault } in entries.iter().filter_map(rejected) {
                    self.tell_rejected(Some(&id), &[], fault);
                }
            }
        }
    }

    /// Whether the notification is about a call or a stream, and so not for a handler.
    fn is_of_the_protocol(&self, method: &str, params: Option<&RawValue>) -> bool {
        match method {
            progress::METHOD => {
                let told = params.and_then(progress::read);
                // Other protocols have progress of this name that no call of ours has asked for.
                let Some((id, value)) = told else { return false };
                let Some((key, CallListener::Progress(ProgressListener(listener), until))) =
                    self.link.call_listener(id)
                else {
                    return false;
                };
                let now = self.link.now();
                self.link.input(|connection| connection.handle_progress(key, until.timeout, until.end, now));
                if let Err(panic) = guarded(|| listener(value)) {
                    self.link.listener.tell(Diagnostic::Panicked { method, message: text_of(&*panic) });
                }
                true
            }
            streams::ITEM => {
                if let Some((id, value)) = params.and_then(streams::read_item)
                    && let Some((key, CallListener::Items(inflow))) = self.link.call_listener(id)
                {
                    inflow.take(&self.link, key, value);
                }
                true
            }
            streams::CREDIT => {
                if let Some((id, count)) = params.and_then(streams::read_credit) {
                    self.link.grant(&id, count);
                }
                true
            }
            _ => false,
        }
    }

    /// `body` is that of the message, or empty if it cannot be told.
    fn tell_rejected(&self, id: Option<&Id>, body: &[u8], fault: Fault) {
        if !self.link.listener.is_there() {
            return;
        }
        let error = RpcError::from(ErrorObject::<Text>::from(fault));
        let members = Members::read(body);
        // Null stands for an id that cannot be echoed, too.
        let id = id.filter(|id| **id != Id::Null || members.has_null_id);
        self.link.listener.tell(Diagnostic::Rejected { id, method: members.method.as_deref(), error: &error });
    }
}

/// Whether it is a message of the protocol, which confirms the framing.
const fn is_message(incoming: &Incoming<Text>) -> bool {
    match incoming {
        Incoming::Single(entry) => {
            matches!(entry, Ok(_) | Err(Unusable::Empty(_) | Unusable::Unreadable { .. }))
        }
        Incoming::Batch(_) => true,
    }
}

/// What a log may tell of a message that is none.
#[derive(Debug, Default)]
struct Members {
    method: Option<String>,
    has_null_id: bool,
}

impl Members {
    fn read(body: &[u8]) -> Self {
        let Some([method, id]) = members::read(body, ["method", "id"]) else { return Self::default() };
        let method = method.and_then(|method| serde_json::from_str::<String>(method.get()).ok());
        let method = method.filter(|method| !is_longer(method, MAX_METHOD_LENGTH));
        Self { method, has_null_id: id.is_some_and(|id| id.get() == "null") }
    }
}
