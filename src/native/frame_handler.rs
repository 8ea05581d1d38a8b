//! Handles incoming frames. Passes messages to the connection, and answers or reports invalid input.

use core::task::Context;
use std::mem;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::Text;
use super::diagnostic::Diagnostic;
use super::in_flight::{catch_panic, panic_message};
use super::limits::MAX_LINES_WITHOUT_MESSAGE;
use super::link::Link;
use super::state::{CallObserver, ProgressCallback, ProgressTimeout};
use crate::Framing;
use crate::codec::Recogniser;
use crate::codec::frame::Event as Frame;
use crate::codec::frame::FrameFault;
use crate::codec::json::{self, BorrowedRequest, Decoded};
use crate::codec::wipc::{Frame as WipcFrame, FrameType};
use crate::connection::control::{self, Control};
use crate::error::{Closed, RpcError};
use crate::message::{
    Entry, ErrorObject, Fault, Id, Incoming, Message, Reason, Rejected, RequestId, Shape, Unreadable, Unusable,
};
use portway_proto::{MAX_METHOD_LENGTH, is_longer};

#[derive(Debug)]
pub(super) struct FrameHandler {
    link: Arc<Link>,
    /// Whether the link responds to invalid input. A server responds, because the sender may wait for a response.
    replies_to_invalid: bool,
    /// Whether the latest input was invalid: a body that is not JSON, a rejected frame, or noise. If true, further
    /// noise and further lines that are not JSON belong to the same error, and cause no further response.
    is_invalid_json: bool,
    /// Whether a message was received.
    has_received_message: bool,
    /// The number of consecutive lines that were not messages, before the first message.
    non_message_lines: usize,
    /// Detects another framing in noise.
    recogniser: Recogniser,
    /// Whether another framing was detected and reported. Another framing is reported at most once.
    is_framing_reported: bool,
}

/// The action of the driver after a frame.
#[derive(Debug)]
pub(super) enum FrameAction<'f> {
    Continue,
    /// Run this request.
    Request(BorrowedRequest<'f>),
    /// Reject the body in the decoder: the body is not JSON, and may contain the next frames.
    RejectBody,
    /// Handle the elements of this batch one by one. An element may depend on a request, call or stream that an earlier
    /// element begins or ends.
    Batch(Vec<Entry<Text>>),
    /// Stop reading, because the input is not JSON-RPC in the expected framing.
    End(Closed),
    /// The peer sent `CLOSE`.
    HalfClose,
}

impl FrameHandler {
    pub(super) fn new(link: Arc<Link>, replies_to_invalid: bool) -> Self {
        Self {
            link,
            replies_to_invalid,
            is_invalid_json: false,
            has_received_message: false,
            non_message_lines: 0,
            recogniser: Recogniser::default(),
            is_framing_reported: false,
        }
    }

    pub(super) fn handle<'f>(&mut self, frame: Frame<'f>) -> FrameAction<'f> {
        match frame {
            Frame::Body(body) => return self.handle_body(body),
            Frame::Refused { body, reason } => self.handle_refused_body(body, reason),
            Frame::Dropped { beginning, why } => self.handle_unreadable(beginning, why),
            Frame::Fault(fault) => self.handle_fault(fault),
            Frame::Frame(frame) => return self.handle_wipc_frame(frame),
            Frame::Noise { bytes, starts } => return self.handle_noise(bytes, starts),
        }
        FrameAction::Continue
    }

    fn handle_wipc_frame<'f>(&self, frame: WipcFrame<'f>) -> FrameAction<'f> {
        let result = catch_panic(|| self.link.wipc.on_frame.call(frame));
        if let Err(panic) = result {
            let (method, message) = (frame.frame_type.name(), panic_message(&*panic));
            self.link.diagnostics.report(Diagnostic::Panicked { method, message });
        }
        if frame.frame_type == FrameType::Close { FrameAction::HalfClose } else { FrameAction::Continue }
    }

    pub(super) fn handle_fault(&mut self, fault: FrameFault) {
        self.link.diagnostics.report(Diagnostic::Frame(fault));
        self.is_invalid_json = true;
        if let Some(fault) = fault.fault() {
            self.reply_with_fault(Id::Null, fault);
        }
    }

    fn handle_body<'f>(&mut self, body: &'f [u8]) -> FrameAction<'f> {
        let incoming = match json::decode_borrowed(body, &self.link.profile, &self.link.limits) {
            Decoded::Request(request) if request.id == Id::Null && self.link.profile.is_mcp() => {
                Incoming::Single(Err(Fault::InvalidRequest.into()))
            }
            Decoded::Request(request) => {
                self.is_invalid_json = false;
                self.has_received_message = true;
                self.non_message_lines = 0;
                return FrameAction::Request(request);
            }
            Decoded::Other(incoming) => incoming,
        };
        let is_json = !matches!(
            incoming,
            Incoming::Single(Err(Unusable::Reject(Rejected { id: Id::Null, fault: Fault::ParseError })))
        );
        if is_json {
            self.is_invalid_json = false;
            self.has_received_message |= is_message(&incoming);
            self.non_message_lines = 0;
            return self.dispatch(incoming, body);
        }
        self.handle_unreadable(body, Unreadable::NotJson);
        let was_invalid_json = mem::replace(&mut self.is_invalid_json, true);
        if self.link.framing == Some(Framing::Newline) {
            return self.handle_line(body, was_invalid_json);
        }
        self.reject_invalid_json();
        FrameAction::RejectBody
    }

    /// Handles a line that is not JSON. Consecutive lines that are not JSON count as one error. A server responds only
    /// to the first of these lines.
    fn handle_line<'f>(&mut self, line: &'f [u8], was_invalid_json: bool) -> FrameAction<'f> {
        if !self.replies_to_invalid {
            self.link.diagnostics.report(Diagnostic::Noise(line));
            if let Some(other) = self.detect_other_framing(|_| Framing::recognise(line)) {
                return FrameAction::End(Closed::OtherFraming { peer: other, own: Framing::Newline });
            }
            self.non_message_lines += 1;
            // After the first message, a peer may print any number of log lines.
            if !self.has_received_message && self.non_message_lines == MAX_LINES_WITHOUT_MESSAGE {
                return FrameAction::End(Closed::NoMessages(MAX_LINES_WITHOUT_MESSAGE));
            }
            return FrameAction::Continue;
        }
        self.detect_other_framing(|_| Framing::recognise(line));
        if !was_invalid_json {
            self.reject_invalid_json();
        }
        FrameAction::Continue
    }

    /// Handles bytes outside of frames. `starts` is true if a run of noise starts with these bytes. `starts` is false
    /// if the run continues, or if an error that was already reported includes the run.
    fn handle_noise<'f>(&mut self, bytes: &'f [u8], starts: bool) -> FrameAction<'f> {
        if self.link.is_wipc() {
            // With WIPC, bytes between frames are regular output from the peer.
            self.link.diagnostics.report(Diagnostic::Noise(bytes));
            return FrameAction::Continue;
        }
        if !self.replies_to_invalid {
            self.link.diagnostics.report(Diagnostic::Noise(bytes));
        }
        self.detect_other_framing(|recogniser| recogniser.look(bytes));
        // A body that is not JSON may be cut off by the noise after it. In this case, the body and the noise get one
        // response.
        if starts && !self.is_invalid_json && self.replies_to_invalid {
            self.reject_invalid_json();
        }
        self.is_invalid_json = self.is_invalid_json || starts;
        FrameAction::Continue
    }

    /// Detects another framing in the input before the first message, and reports it once to the application.
    fn detect_other_framing(&mut self, look: impl FnOnce(&mut Recogniser) -> Option<Framing>) -> Option<Framing> {
        if self.has_received_message || self.is_framing_reported {
            return None;
        }
        let own = self.link.framing?;
        let other = look(&mut self.recogniser).filter(|framing| *framing != own)?;
        self.is_framing_reported = true;
        self.link.diagnostics.report(Diagnostic::OtherFraming { peer: other, own });
        Some(other)
    }

    /// Handles a body whose header declares another content type or charset. If the body is a request, the error
    /// response contains its id. If the body is a response or a notification, no error response is sent.
    fn handle_refused_body(&mut self, body: &[u8], reason: Reason) {
        self.is_invalid_json = false;
        self.handle_unreadable(body, Unreadable::ContentType);
        let fault = Fault::Refused(reason);
        let id = match json::decode(body, &self.link.profile, &self.link.limits) {
            Incoming::Single(Ok(Message::Request(request))) => request.id,
            Incoming::Single(Err(Unusable::Reject(rejected))) => rejected.id,
            Incoming::Single(Err(Unusable::Empty(id))) => id,
            Incoming::Single(
                Ok(Message::Response(_) | Message::Notification(_))
                | Err(Unusable::Ignore | Unusable::Unreadable { .. }),
            ) => {
                return self.report_rejected(None, body, fault);
            }
            _ => Id::Null,
        };
        self.report_rejected(Some(&id), body, fault);
        self.reply_with_fault(id, fault);
    }

    /// Handles the text of an unreadable message. Ends the calls whose responses the text contains.
    fn handle_unreadable(&mut self, text: &[u8], why: Unreadable) {
        // A line may belong to a log. An incomplete WIPC payload may be text output of the program. Only the member
        // `jsonrpc` shows that the text is a message.
        let may_be_text = match self.link.framing {
            None | Some(Framing::ContentLength) => false,
            Some(Framing::Newline) => true,
            Some(Framing::Wipc) => why == Unreadable::Stalled,
        };
        if may_be_text && !json::find_response_ids(text, |_| {}).has_version {
            return;
        }
        let handle = |id| self.link.with_state(|state| state.handle_entry(Err(Unusable::Unreadable { id, why }), None));
        let message = json::find_response_ids(text, |id| handle(Some(id)));
        // Like a readable message, the text confirms the framing.
        self.has_received_message |= message.has_version;
        if message.may_be_response_without_id && self.link.pending_calls() > 0 {
            handle(None);
        }
    }

    /// Reports text that is not JSON, and responds to it.
    fn reject_invalid_json(&self) {
        self.report_rejected(None, &[], Fault::ParseError);
        self.reply_with_fault(Id::Null, Fault::ParseError);
    }

    /// Responds to invalid input, if `replies_to_invalid` is true.
    fn reply_with_fault(&self, id: Id, fault: Fault) {
        if self.replies_to_invalid {
            let rejected = Err(Unusable::Reject(Rejected { id, fault }));
            self.link.with_connection(|connection| connection.handle(Incoming::Single(rejected)));
        }
    }

    fn dispatch<'f>(&self, incoming: Incoming<Text>, body: &[u8]) -> FrameAction<'f> {
        match incoming {
            Incoming::Single(entry) => {
                if let Some(Rejected { id, fault }) = self.rejected(&entry) {
                    self.report_rejected(Some(&id), body, fault);
                }
                self.handle_entry(entry, None);
            }
            Incoming::Batch(entries) => return FrameAction::Batch(entries),
        }
        FrameAction::Continue
    }

    /// Runs a request at once if possible. Otherwise, passes the request to the connection.
    pub(super) fn handle_request(&self, request: BorrowedRequest<'_>, context: &Context<'_>) {
        if let Some(request) = self.link.run_request(request, context) {
            self.handle_entry(Ok(Message::Request(request.into_owned())), None);
        }
    }

    /// Handles one message, or one element of the current batch.
    pub(super) fn handle_entry(&self, entry: Entry<Text>, batch: Option<u32>) {
        if let Ok(Message::Notification(notification)) = &entry
            && let Some(control) = control::read(&self.link.profile, notification)
            && self.handle_control(control)
        {
            return;
        }
        let entry = match entry {
            Ok(Message::Request(request)) if self.link.must_refuse_input() => {
                Err(Unusable::Reject(Rejected { id: request.id, fault: Fault::Refused(Reason::TooManyRequests) }))
            }
            Ok(Message::Notification(notification)) if self.link.must_refuse_input() => {
                let method = &notification.method;
                return self.link.diagnostics.report(Diagnostic::DroppedNotification { method });
            }
            entry => entry,
        };
        self.link.with_state(|state| state.handle_entry(entry, batch));
    }

    /// Reports the elements of a batch to which the connection itself will respond with an error.
    pub(super) fn report_rejections(&self, entries: &[Entry<Text>]) {
        for Rejected { id, fault } in entries.iter().filter_map(|entry| self.rejected(entry)) {
            self.report_rejected(Some(&id), &[], fault);
        }
    }

    /// Returns the error with which the connection itself will respond to an element, or `None` if the connection sends
    /// no such error.
    fn rejected(&self, entry: &Entry<Text>) -> Option<Rejected> {
        match entry {
            Err(Unusable::Reject(rejected)) => Some(rejected.clone()),
            // If an element has only the id of a pending call, the element is an invalid response, which is not
            // rejected.
            Err(Unusable::Empty(id)) if !self.link.is_pending_call(id) => {
                let fault = Shape::unmatched_empty(&self.link.profile)?;
                Some(Rejected { id: id.clone(), fault })
            }
            _ => None,
        }
    }

    /// Handles a notification of the protocol. Returns `false` for progress that belongs to no call. A handler of the
    /// application receives this progress.
    fn handle_control(&self, control: Control<Id, &RawValue>) -> bool {
        match control {
            Control::Cancel(id) => self.link.with_connection(|connection| connection.handle_cancel(&id)),
            Control::Progress { token, value } => {
                // In some protocols, the token of progress may not be the id of a call.
                let Some((key, CallObserver::Progress(ProgressCallback(callback), ProgressTimeout { timeout, end }))) =
                    token.to_call().and_then(|id| self.link.call_observer(id))
                else {
                    return false;
                };
                let now = self.link.now();
                self.link.with_connection(|connection| connection.handle_progress(key, timeout, end, now));
                if let Err(panic) = catch_panic(|| callback(value)) {
                    let (method, message) = (self.link.profile.progress.method, panic_message(&*panic));
                    self.link.diagnostics.report(Diagnostic::Panicked { method, message });
                }
            }
            Control::Item { id, value } => {
                if let Some((key, CallObserver::Items(window))) =
                    id.to_call().and_then(|id| self.link.call_observer(id))
                {
                    window.push(&self.link, key, value);
                }
            }
            Control::Credit { id, count } => self.link.add_stream_credit(&id, count),
            Control::Malformed => {}
        }
        true
    }

    /// Reports one rejected message. `body` is the text of the message, or empty if the text is unknown.
    pub(super) fn report_rejected(&self, id: Option<&Id>, body: &[u8], fault: Fault) {
        if !self.link.diagnostics.is_set() {
            return;
        }
        let error = RpcError::from(ErrorObject::<Text>::from(fault));
        let members = ReportedMembers::read(body);
        // The id null may replace an id that a response cannot repeat. In this case, the diagnostic contains no id.
        let id = id.filter(|id| **id != Id::Null || members.has_null_id);
        self.link.diagnostics.report(Diagnostic::Rejected { id, method: members.method.as_deref(), error: &error });
    }
}

/// Returns whether the input is a JSON-RPC message. A message confirms the framing.
const fn is_message(incoming: &Incoming<Text>) -> bool {
    match incoming {
        Incoming::Single(entry) => {
            matches!(entry, Ok(_) | Err(Unusable::Empty(_) | Unusable::Unreadable { .. }))
        }
        Incoming::Batch(_) => true,
    }
}

/// The members of a rejected message that a diagnostic contains.
#[derive(Debug, Default)]
struct ReportedMembers {
    method: Option<String>,
    has_null_id: bool,
}

impl ReportedMembers {
    fn read(body: &[u8]) -> Self {
        let Some([method, id]) = json::members(body, ["method", "id"]) else { return Self::default() };
        let method = method.and_then(|method| serde_json::from_str::<String>(method.get()).ok());
        let method = method.filter(|method| !is_longer(method, MAX_METHOD_LENGTH));
        Self { method, has_null_id: id.is_some_and(|id| id.get() == "null") }
    }
}
