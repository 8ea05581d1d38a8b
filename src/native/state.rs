//! The state behind the lock of a link: the connection, the pending calls and the unwritten output.

use core::fmt;
use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::task::Waker;

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::Text;
use super::in_flight::{CancelToken, InFlightRequest, InFlightRequests};
use super::mcp_dialect;
use super::outbox::Outbox;
use super::response_stream::ReceiveWindow;
use super::waker_set::WakerSet;
use crate::Framing;
use crate::Limits;
use crate::codec::json::{self, BorrowedRequest};
use crate::connection::streams::SendStreams;
use crate::connection::{CallKey, Connection, End, Ignored, Refused, RequestKey, control};
use crate::error::{CallError, Closed};
use crate::message::{
    Entry, ErrorObject, Id, Incoming, Message, Notification, Outgoing, Rejected, RequestId, Shape, Unusable,
};
use crate::message_length;

/// Maximum capacity of a buffer that is reused, in bytes. A larger buffer is freed after it is written.
pub(super) const RETAINED_CAPACITY: usize = 64 * 1024;

/// The number of bytes that an ended call adds to [`State::ended_unwritten_bytes`], in addition to its method and
/// params. The number is an estimate for the other parts of the request, and for its cancellation.
pub(super) const ENDED_CALL_BYTES: usize = 128;

/// The result of a call.
pub(super) type CallResult = Result<Text, CallError>;

#[derive(Debug)]
pub(super) struct State {
    pub(super) connection: Connection<Text>,
    /// The pending calls, by slot.
    pub(super) calls: Vec<Option<PendingCall>>,
    /// The requests whose handlers are running.
    pub(super) in_flight: InFlightRequests,
    /// The streams that handlers of this link send.
    pub(super) send_streams: SendStreams,
    /// The wakers of the streams that wait for credit, by the slots of their requests.
    pub(super) blocked_streams: BTreeMap<u32, Waker>,
    /// Messages for the driver to write.
    pub(super) unwritten: Outbox,
    /// The [`Outbox::size`] of the current buffer, which is the outbox that the driver is writing.
    pub(super) being_written: usize,
    /// The number of bytes of `unwritten` that belong to responses or stream credit.
    pub(super) unwritten_responses: usize,
    /// The number of bytes of the current buffer that belong to responses or stream credit.
    pub(super) responses_being_written: usize,
    /// The number of bytes that were written in earlier buffers.
    written_before: u64,
    /// The number of bytes of the current buffer that are written.
    written_of_buffer: usize,
    /// An upper bound of the unwritten bytes of calls that have ended without a response. The bound is set to 0 when
    /// the driver takes the next buffer.
    pub(super) ended_unwritten_bytes: usize,
    /// The ids of the pending calls that cannot be cancelled at the peer, see [`mcp_dialect::is_cancellable`].
    uncancellable: Vec<u64>,
    /// The text of one encoded message. The capacity of the string is reused.
    text: String,
    /// The maximum length of an outgoing message, in bytes, or `usize::MAX` for no maximum. Only WIPC has a maximum.
    max_message_bytes: usize,
    pub(super) link_state: LinkState,
    pub(super) write_state: WriteState,
    /// The error of all calls after the input, the output or the link has ended. `None` before that.
    pub(super) end_error: Option<CallError>,
    /// The waker of the driver, or `None` while the driver runs.
    pub(super) driver: Option<Waker>,
    /// Whether the driver has new work since its last check.
    pub(super) has_new_work: bool,
    /// The futures that wait for room in the output, or for the end of the link.
    pub(super) waiters: WakerSet,
}

#[derive(Debug)]
pub(super) struct PendingCall {
    pub(super) id: u64,
    /// The approximate number of bytes of the request.
    pub(super) bytes: usize,
    /// The position of the end of the request in the output: the number of bytes from the start of the link.
    pub(super) end_offset: u64,
    pub(super) reply: oneshot::Sender<CallResult>,
    pub(super) observer: Option<CallObserver>,
}

/// Receives the progress or the items of a pending call.
#[derive(Clone, Debug)]
pub(super) enum CallObserver {
    Progress(ProgressCallback, ProgressTimeout),
    Items(Arc<ReceiveWindow>),
}

#[derive(Clone)]
pub(super) struct ProgressCallback(pub(super) Arc<dyn Fn(&RawValue) + Send + Sync>);

impl fmt::Debug for ProgressCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressCallback")
    }
}

/// The times of a call with progress, in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProgressTimeout {
    /// The timeout, which starts again at each notification of progress.
    pub(super) timeout: Option<u64>,
    /// The time at which the total timeout of the call elapses.
    pub(super) end: Option<u64>,
}

/// The lifecycle of a link.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LinkState {
    Open,
    /// Reading has stopped, and no further request begins. Running requests are completed.
    Stopping,
    /// The application has closed the link. Queued output is still written.
    Destroyed,
    /// The driver has ended.
    Closed(Closed),
}

/// Whether messages can still be sent. Only WIPC announces the end of the output with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteState {
    Open,
    /// The application has sent `CLOSE`. Earlier output is still written.
    CloseSent,
    /// The output has ended.
    Closed,
}

impl State {
    pub(super) fn new(connection: Connection<Text>, framing: Option<Framing>) -> Self {
        Self {
            max_message_bytes: max_message_bytes(framing, &connection.config().limits),
            connection,
            calls: Vec::new(),
            in_flight: InFlightRequests::default(),
            send_streams: SendStreams::new(),
            blocked_streams: BTreeMap::new(),
            unwritten: Outbox::new(framing),
            being_written: 0,
            unwritten_responses: 0,
            responses_being_written: 0,
            written_before: 0,
            written_of_buffer: 0,
            ended_unwritten_bytes: 0,
            uncancellable: Vec::new(),
            text: String::new(),
            link_state: LinkState::Open,
            write_state: WriteState::Open,
            end_error: None,
            driver: None,
            has_new_work: false,
            waiters: WakerSet::default(),
        }
    }

    /// Handles the effects of an input. Encodes messages, and moves the calls that have ended to `ended`. Other events
    /// stay in the queue of the connection. `from` is the number of events in this queue before the input.
    pub(super) fn drain_connection(&mut self, from: usize, ended: &mut Vec<(PendingCall, CallResult)>) {
        self.encode();
        if self.write_state == WriteState::Closed {
            self.drop_unwritten();
        }
        while let Some((call, end)) = self.connection.poll_ended(from) {
            let outcome = match end {
                End::Answered(Ok(result)) => Ok(result),
                End::Answered(Err(error)) => Err(CallError::from_answer(error.into())),
                End::Invalid => Err(CallError::InvalidResponse),
                End::Unreadable(why) => Err(CallError::Unreadable(why)),
                End::TimedOut => Err(CallError::TimedOut),
                End::Closed => Err(self.closed_error()),
            };
            if let Some(call) = self.take_call(call) {
                if matches!(outcome, Err(CallError::TimedOut)) {
                    self.count_ended(&call);
                }
                ended.push((call, outcome));
            }
        }
    }

    /// Encodes the messages that the connection sends. Returns the position of the end of these messages in the output,
    /// see [`PendingCall::end_offset`]. The cancellations among these messages are for calls that timed out, because
    /// [`Self::cancel_call`] encodes all other cancellations.
    pub(super) fn encode(&mut self) -> u64 {
        self.encode_with_reason(Some("timeout"))
    }

    /// Encodes like [`Self::encode`]. `reason` is the reason of the cancellations.
    fn encode_with_reason(&mut self, reason: Option<&str>) -> u64 {
        while let Some(outgoing) = self.connection.poll_transmit() {
            let outgoing = match outgoing {
                Outgoing::Cancel(id) => self.cancellation(&id, reason),
                other => Some(other),
            };
            let Some(mut outgoing) = outgoing.filter(|_| self.write_state == WriteState::Open) else { continue };
            if message_length::encode_within(&mut outgoing, self.max_message_bytes, &mut self.text) {
                let before = self.unwritten.size();
                self.unwritten.push(&self.text);
                self.count_pushed(before, is_caused_by_peer(&outgoing));
            }
        }
        self.written_before + self.backlog() as u64
    }

    /// Returns the notification that cancels a call. Returns `None` if the call cannot be cancelled, or if the params
    /// of the notification cannot be written.
    fn cancellation(&self, id: &Id, reason: Option<&str>) -> Option<Outgoing<Text>> {
        if id.to_call().is_some_and(|id| self.uncancellable.contains(&id)) {
            return None;
        }
        let form = self.connection.config().profile.cancel;
        let params = Some(control::write_cancel(form, id, reason)?);
        Some(Outgoing::Single(Message::Notification(Notification { method: form.method.into(), params })))
    }

    /// Begins a request. Returns `None` if the request must wait or must be refused.
    pub(super) fn begin_request(
        &mut self,
        request: &BorrowedRequest<'_>,
        method: &Arc<str>,
        cancel_token: &Arc<CancelToken>,
    ) -> Option<RequestKey> {
        // Earlier events are dispatched first.
        if self.link_state != LinkState::Open || self.connection.has_output() {
            return None;
        }
        let bytes = request.params.map_or(0, |params| params.get().len());
        let key = self.connection.begin_counted_request(&request.id, bytes)?;
        self.in_flight.insert(InFlightRequest::new(key, method, Arc::clone(cancel_token)));
        Some(key)
    }

    /// Sends the response to a request. Returns the id of the request, or `None` if the request was already answered.
    pub(super) fn respond(&mut self, key: RequestKey, outcome: Result<Text, ErrorObject<Text>>) -> Option<Id> {
        // Most responses are encoded at once. `encode` encodes two kinds of responses later: responses in a batch,
        // which wait for the other responses of the batch, and responses whose length is limited.
        let is_unlimited = self.max_message_bytes == usize::MAX;
        if let Some(id) = if is_unlimited { self.connection.take_request(key) } else { None } {
            self.push_message(true, |text| json::encode_response_into(&id, &outcome, text));
            return Some(id);
        }
        let id = self.connection.request_id(key).cloned();
        id.filter(|_| self.connection.respond(key, outcome))
    }

    /// Sends a notification whose length was checked.
    pub(super) fn notify(&mut self, method: &str, params: Option<&RawValue>) -> Result<(), CallError> {
        self.connection.check_notification().map_err(|refused| self.call_refused_error(refused))?;
        let is_credit = method == control::CREDIT_METHOD;
        self.push_message(is_credit, |text| json::encode_notification_into(method, params, text));
        Ok(())
    }

    /// Appends a message to the unwritten output, if the output has not ended.
    fn push_message(&mut self, is_caused_by_peer: bool, encode: impl FnOnce(&mut String)) {
        if self.write_state == WriteState::Open {
            let before = self.unwritten.size();
            self.unwritten.push_with(&mut self.text, encode);
            self.count_pushed(before, is_caused_by_peer);
        }
    }

    /// Counts a message that was appended to the unwritten output, whose size was `before`.
    fn count_pushed(&mut self, before: usize, is_caused_by_peer: bool) {
        if is_caused_by_peer {
            self.unwritten_responses += self.unwritten.size() - before;
        }
        if self.text.capacity() > RETAINED_CAPACITY {
            self.text = String::new();
        }
    }

    /// Records that the first `count` bytes of the current buffer are written.
    pub(super) const fn set_written(&mut self, count: usize) {
        self.written_of_buffer = count;
    }

    /// Returns whether the request is written. The last byte of the request does not count. A peer that reads lines can
    /// respond before it receives this byte, the line feed.
    pub(super) fn is_request_written(&self, call: &PendingCall) -> bool {
        self.backlog() == 0 || call.end_offset <= self.written_before + self.written_of_buffer as u64 + 1
    }

    /// Returns the pending call with this id.
    fn pending_call(&self, id: u64) -> Option<(CallKey, &PendingCall)> {
        let key = self.connection.call_with_id(id)?;
        self.calls.get(key.slot() as usize)?.as_ref().map(|call| (key, call))
    }

    /// Returns the pending call with this id. Returns `None` if the request of the call is not written yet.
    pub(super) fn sent_call(&self, id: u64) -> Option<(CallKey, &PendingCall)> {
        self.pending_call(id).filter(|(_, call)| self.is_request_written(call))
    }

    /// Handles a message, or an element of the current batch. A response to an unwritten request is forged, because the
    /// peer cannot have received the request. A forged response counts as unmatched.
    pub(super) fn handle_entry(&mut self, entry: Entry<Text>, batch: Option<u32>) {
        let entry = match entry {
            Ok(Message::Response(response)) if self.is_forged(&response.id) => {
                return self.connection.ignore(Ignored::UnmatchedResponse(response.id));
            }
            Err(Unusable::Unreadable { id, why }) if self.is_forged_unreadable(id.as_ref()) => {
                return self.connection.ignore(Ignored::Unreadable(why));
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

    /// Returns whether a response with this id belongs to a pending call whose request is not written yet.
    fn is_forged(&self, id: &Id) -> bool {
        let is_unwritten = |id: u64| self.pending_call(id).is_some_and(|(_, call)| !self.is_request_written(call));
        self.backlog() > 0 && id.to_call().is_some_and(is_unwritten)
    }

    /// Returns whether an unreadable response belongs to a pending call whose request is not written yet.
    fn is_forged_unreadable(&self, id: Option<&Id>) -> bool {
        match id {
            Some(id) => self.is_forged(id),
            None if self.backlog() == 0 => false,
            None => self.connection.only_calls().iter().any(|call| self.is_forged(&Id::from_call(call.id()))),
        }
    }

    /// Removes the stream of an answered request. Returns the waker of the stream, or `None` if the stream does not
    /// wait for credit.
    pub(super) fn remove_stream(&mut self, key: RequestKey) -> Option<Waker> {
        if self.send_streams.remove(key) { self.blocked_streams.remove(&key.slot()) } else { None }
    }

    /// Ends all streams that handlers of this link send. Returns the wakers of these streams. The caller only drops the
    /// wakers, because the tasks of the streams are aborted.
    pub(super) fn end_streams(&mut self) -> BTreeMap<u32, Waker> {
        self.send_streams.clear();
        mem::take(&mut self.blocked_streams)
    }

    /// Records that the driver has new work. Returns the waker of the driver, or `None` while the driver runs.
    pub(super) const fn wake(&mut self) -> Option<Waker> {
        self.has_new_work = true;
        self.driver.take()
    }

    /// Stores a pending call.
    pub(super) fn insert_call(&mut self, key: CallKey, method: &str, call: PendingCall) {
        let slot = key.slot() as usize;
        if self.calls.len() <= slot {
            self.calls.resize_with(slot + 1, || None);
        }
        if let Some(entry) = self.calls.get_mut(slot) {
            *entry = Some(call);
        }
        if self.is_mcp() && !mcp_dialect::is_cancellable(method) {
            self.uncancellable.push(key.id());
        }
    }

    /// Cancels a call. If the call is pending, notifies the peer and returns the call. Otherwise, returns `None`.
    pub(super) fn cancel_call(&mut self, key: CallKey) -> Option<PendingCall> {
        if !self.connection.cancel(key) {
            return None;
        }
        self.encode_with_reason(None);
        self.take_call(key).inspect(|call| self.count_ended(call))
    }

    fn take_call(&mut self, key: CallKey) -> Option<PendingCall> {
        self.uncancellable.retain(|id| *id != key.id());
        self.calls.get_mut(key.slot() as usize)?.take_if(|call| call.id == key.id())
    }

    /// Returns whether the link has the rules of the Model Context Protocol.
    pub(super) const fn is_mcp(&self) -> bool {
        self.connection.config().profile.is_mcp()
    }

    /// Counts a call that has ended without a response. The request of the call remains in the output.
    fn count_ended(&mut self, call: &PendingCall) {
        if !self.is_request_written(call) {
            self.ended_unwritten_bytes = self.ended_unwritten_bytes.saturating_add(call.bytes);
        }
    }

    /// Returns whether the requests of ended calls fill the unwritten output. If so, further calls must be refused,
    /// because they could let the output grow without a limit.
    pub(super) fn is_congested_by_ended(&self) -> bool {
        let max_bytes = self.connection.config().limits.unwritten_bytes;
        self.ended_unwritten_bytes > max_bytes && self.backlog().saturating_sub(self.response_backlog()) > max_bytes
    }

    /// Checks that messages can still be sent.
    ///
    /// # Errors
    /// If the output has ended.
    pub(super) fn check_open(&self) -> Result<(), CallError> {
        if self.write_state == WriteState::Open { Ok(()) } else { Err(self.closed_error()) }
    }

    pub(super) fn call_refused_error(&self, refused: Refused) -> CallError {
        match refused {
            Refused::TooManyCalls => CallError::TooManyCalls,
            Refused::Closed => self.closed_error(),
        }
    }

    /// Returns the error of calls after the end of the link.
    pub(super) fn closed_error(&self) -> CallError {
        self.end_error.clone().unwrap_or(CallError::Destroyed)
    }

    /// Returns the number of unwritten bytes.
    pub(super) fn backlog(&self) -> usize {
        self.unwritten.size() + self.being_written
    }

    /// Returns the number of unwritten bytes that belong to responses or stream credit.
    pub(super) const fn response_backlog(&self) -> usize {
        self.unwritten_responses + self.responses_being_written
    }

    /// Moves the messages to write next to `outbox`, which must be empty.
    pub(super) fn take_unwritten(&mut self, outbox: &mut Outbox) {
        mem::swap(&mut self.unwritten, outbox);
        self.written_before += self.being_written as u64;
        self.written_of_buffer = 0;
        self.being_written = outbox.size();
        self.responses_being_written = mem::take(&mut self.unwritten_responses);
        self.ended_unwritten_bytes = 0;
    }

    pub(super) fn drop_unwritten(&mut self) {
        self.unwritten.clear(0);
        self.unwritten_responses = 0;
    }
}

/// Returns the maximum length of an outgoing message, in bytes, or `usize::MAX` for no maximum. Only WIPC has a
/// maximum. Both peers must use the same limit.
pub(super) fn max_message_bytes(framing: Option<Framing>, limits: &Limits) -> usize {
    framing.and_then(Framing::longest_message).map_or(usize::MAX, |max_bytes| max_bytes.min(limits.message_bytes))
}

/// Returns whether a message of the peer has caused this message, which is a response, or credit for a stream. All
/// elements of a batch are of the same kind, so only the first element is checked.
fn is_caused_by_peer(outgoing: &Outgoing<Text>) -> bool {
    let message = match outgoing {
        Outgoing::Single(message) => Some(message),
        Outgoing::Batch(messages) => messages.first(),
        Outgoing::Cancel(_) => None,
    };
    match message {
        Some(Message::Response(_)) => true,
        Some(Message::Notification(notification)) => &*notification.method == control::CREDIT_METHOD,
        Some(Message::Request(_)) | None => false,
    }
}
