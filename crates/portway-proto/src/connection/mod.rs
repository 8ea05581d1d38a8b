//! The state machine of one end of a connection, without IO, clock or threads.
//!
//! The connection implements the protocol: ids, matching of responses to calls, timeouts, batches and limits. The
//! *driver* is the code that does the IO for the connection and runs the handlers.
//!
//! The *inputs* are the methods that change the state, such as [`handle`](Connection::handle),
//! [`call`](Connection::call) and [`respond`](Connection::respond). After each input, the driver calls
//! [`poll_transmit`](Connection::poll_transmit) and [`poll_event`](Connection::poll_event) until both return `None`.
//! Then the driver calls [`poll_timeout`](Connection::poll_timeout).
//!
//! Each call ends exactly once. Each request is answered at most once: [`close`](Connection::close) drops the
//! unanswered requests, and a second response is refused.
//!
//! Times are in milliseconds. A driver may use another unit for all times, because the connection only adds and
//! compares times.

mod admission;
mod batch;
mod chunked_vec;
mod clock;
mod config;
pub mod control;
mod deadlines;
mod event;
mod fast_path;
mod inbound;
mod pending;
pub mod streams;
#[cfg(test)]
mod tests;
mod unreadable;

use alloc::collections::VecDeque;

pub use config::Config;
pub use event::{CallKey, End, Event, Ignored, Refused, RequestKey};

use crate::Limits;
use crate::message::{
    Entry, Fault, Incoming, Message, Notification, Outgoing, Payload, Reason, Rejected, Request, RequestId, Response,
    Shape, Unusable,
};
use crate::profile::Profile;
use batch::ReplyBatches;
use deadlines::Deadlines;
use inbound::InboundRequests;
use pending::PendingCalls;

/// The state of one end of a connection.
#[derive(Debug)]
pub struct Connection<P: Payload> {
    config: Config,
    calls: PendingCalls,
    deadlines: Deadlines,
    /// The number of calls without a response that have ended by a timeout, [`cancel`](Self::cancel) or
    /// [`abandon`](Self::abandon). The responses to these calls may still arrive.
    ended_without_response: u64,
    inbound: InboundRequests<P>,
    reply_batches: ReplyBatches<P>,
    /// The number of the only sent batch that was pending when the incoming batch arrived. The incoming batch may
    /// answer the sent batch. The number is 0 if no batch or several batches were pending.
    answered_batch: u64,
    /// The first error with the id null in the incoming batch. After the last element of the incoming batch, this error
    /// ends the calls of `answered_batch` that are still pending.
    null_id_error: Option<P::Error>,
    transmits: VecDeque<Outgoing<P>>,
    events: VecDeque<Event<P>>,
    /// Whether [`close`](Self::close) was called.
    closed: bool,
    /// Whether the input has ended, so that no more messages arrive.
    has_input_ended: bool,
}

impl<P: Payload> Connection<P> {
    /// Creates an open connection. The first call has the id `config.last_id + 1`.
    #[must_use]
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            calls: PendingCalls::new(config.last_id),
            deadlines: Deadlines::new(config.time_grain, config.max_clock_delay),
            ended_without_response: 0,
            inbound: InboundRequests::new(),
            reply_batches: ReplyBatches::new(),
            answered_batch: 0,
            null_id_error: None,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            closed: false,
            has_input_ended: false,
        }
    }

    /// Returns the configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Replaces the profile and the limits.
    pub const fn configure(&mut self, profile: Profile, limits: Limits) {
        self.config.profile = profile;
        self.config.limits = limits;
    }

    /// Returns the number of pending outgoing calls.
    #[must_use]
    pub fn pending_calls(&self) -> usize {
        self.calls.len()
    }

    /// Returns whether [`close`](Self::close) was called.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    // Outgoing calls.

    /// Sends a request. `timeout` is in milliseconds. The timeout starts at the next clock reading, which the driver
    /// passes to [`handle_timeout`](Self::handle_timeout) or [`start_clock`](Self::start_clock). With `None`, the call
    /// has no timeout.
    ///
    /// # Errors
    /// Returns [`Refused::Closed`] after [`close`](Self::close) or [`handle_end`](Self::handle_end), and
    /// [`Refused::TooManyCalls`] if too many calls are pending. A refused request is not sent.
    pub fn call(&mut self, method: P::Method, params: Option<P>, timeout: Option<u64>) -> Result<CallKey, Refused> {
        let key = self.begin_call(timeout, None)?;
        self.transmits.push_back(Outgoing::Single(request(key, method, params)));
        Ok(key)
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// Returns [`Refused::Closed`] after [`close`](Self::close). After [`handle_end`](Self::handle_end), notifications
    /// can still be sent.
    pub fn notify(&mut self, method: P::Method, params: Option<P>) -> Result<(), Refused> {
        self.check_room(0)?;
        let notification = Message::Notification(Notification { method, params });
        self.transmits.push_back(Outgoing::Single(notification));
        Ok(())
    }

    /// Cancels a call, and sends the notification of cancellation to the peer. Emits no [`Event::Ended`]. If the
    /// response arrives later, [`Ignored::LateResponse`] reports it. Returns whether the call was pending.
    pub fn cancel(&mut self, call: CallKey) -> bool {
        let was_pending = self.abandon(call);
        if was_pending {
            self.transmits.push_back(Outgoing::Cancel(P::Id::from_call(call.id)));
        }
        was_pending
    }

    /// Ends a call without a message to the peer, and without an [`Event::Ended`]. The response may still arrive.
    /// Returns whether the call was pending.
    pub fn abandon(&mut self, call: CallKey) -> bool {
        let was_pending = self.calls.contains(call) && self.take_call(call.id).is_some();
        self.ended_without_response += u64::from(was_pending);
        was_pending
    }

    /// Returns the pending call in this [slot](CallKey::slot()).
    #[must_use]
    pub fn call_in_slot(&self, slot: u32) -> Option<CallKey> {
        self.calls.in_slot(slot)
    }

    /// Returns the pending call with this id.
    #[must_use]
    pub fn call_with_id(&self, id: u64) -> Option<CallKey> {
        self.calls.by_id(id)
    }

    /// Returns the id of the next outgoing call.
    pub fn next_call_id(&self) -> P::Id {
        P::Id::from_call(self.calls.next_id())
    }

    // Requests from the peer.

    /// Sends the response to a request. Returns false, and sends nothing, if the request was already answered or the
    /// connection is closed.
    ///
    /// A response to a request of a batch is stored until all requests of the batch are answered. If the stored
    /// responses and this response together exceed [`Limits::in_flight_bytes`], an error replaces this response. While
    /// no responses are stored, a response of any size is accepted.
    pub fn respond(&mut self, key: RequestKey, outcome: Result<P, P::Error>) -> bool {
        let Some((id, batch)) = self.inbound.take(key) else { return false };
        let outcome = self.within_byte_limit(outcome, batch);
        let reply = Message::Response(Response { id, outcome });
        self.send_reply(reply, batch);
        self.finish_batch_item(batch);
        self.inbound.release(key, |event| self.events.push_back(event));
        true
    }

    /// Returns the unanswered request in this [slot](RequestKey::slot()).
    #[must_use]
    pub fn request_in_slot(&self, slot: u32) -> Option<RequestKey> {
        self.inbound.in_slot(slot)
    }

    /// Returns the id of an unanswered request.
    #[must_use]
    pub fn request_id(&self, key: RequestKey) -> Option<&P::Id> {
        self.inbound.id(key)
    }

    /// Returns the newest unanswered request with this id.
    #[must_use]
    pub fn request_with_id(&self, id: &P::Id) -> Option<RequestKey> {
        self.inbound.by_id(id)
    }

    /// Returns the number of unanswered requests from the peer.
    #[must_use]
    pub fn unanswered_requests(&self) -> usize {
        self.inbound.len()
    }

    /// Returns the number of bytes that count towards [`Limits::in_flight_bytes`]:
    ///
    /// - the ids and params of unanswered requests;
    /// - the params of notifications that wait for a request, and 1 024 bytes for each waiting notification;
    /// - the ids and outcomes of stored responses of incomplete batches, and [`Payload::REPLY_BYTES`] for each of these
    ///   responses.
    #[must_use]
    pub const fn in_flight_bytes(&self) -> usize {
        self.inbound.bytes() + self.reply_batches.bytes()
    }

    /// Returns whether a request is unanswered.
    #[must_use]
    pub fn is_unanswered(&self, key: RequestKey) -> bool {
        self.inbound.contains(key)
    }

    // Input.

    /// Handles one message or batch from the peer.
    pub fn handle(&mut self, incoming: Incoming<P>) {
        if self.closed {
            return;
        }
        match incoming {
            Incoming::Single(entry) => self.handle_entry(entry, None),
            Incoming::Batch(entries) => self.handle_batch(entries),
        }
    }

    /// Handles a cancellation from the peer, see [`Profile::cancel`]. `id` is the id of the cancelled request. Emits
    /// [`Event::Cancelled`], or nothing if no request with this id is unanswered.
    pub fn handle_cancel(&mut self, id: &P::Id) {
        if let Some(key) = self.inbound.by_id(id) {
            self.events.push_back(Event::Cancelled(key));
        }
    }

    /// Closes the connection. Pending calls end. Unanswered requests and unsent messages are dropped. The connection
    /// sends and handles no further messages. A second call of this method has no effect.
    pub fn close(&mut self) {
        self.closed = true;
        self.inbound.clear();
        self.reply_batches.clear();
        self.transmits.clear();
        self.handle_end();
    }

    /// Handles the end of the input. Pending calls end, and no further call can be made. Requests from the peer can
    /// still be answered, because a peer that has closed its output may still read.
    pub fn handle_end(&mut self) {
        self.has_input_ended = true;
        for slot in self.calls.slots() {
            if let Some(call) = self.calls.in_slot(slot) {
                self.take_call(call.id);
                self.events.push_back(Event::Ended { call, end: End::Closed });
            }
        }
        self.deadlines.recompute_next();
    }

    // Output.

    /// Returns the next message to send. After every input, call this method until it returns `None`.
    #[must_use = "a message that is not sent is lost"]
    pub fn poll_transmit(&mut self) -> Option<Outgoing<P>> {
        self.transmits.pop_front()
    }

    /// Returns the next event for the application. After every input, call this method until it returns `None`.
    #[must_use = "an event that is not handled is lost"]
    pub fn poll_event(&mut self) -> Option<Event<P>> {
        self.events.pop_front()
    }

    /// Removes the first [`Event::Ended`] at position `from` of the event queue or after it. Returns the call and the
    /// outcome, or `None` if the queue has no such event. The other events remain in the queue. A driver uses this
    /// method to end calls before it handles earlier events.
    #[must_use = "the driver must pass the outcome to the caller"]
    pub fn poll_ended(&mut self, from: usize) -> Option<(CallKey, End<P>)> {
        if self.events.len() <= from {
            return None;
        }
        let position = self.events.iter().skip(from).position(|event| matches!(event, Event::Ended { .. }))?;
        match self.events.remove(from + position) {
            Some(Event::Ended { call, end }) => Some((call, end)),
            _ => None,
        }
    }

    /// Returns the number of events in the queue.
    #[must_use]
    pub fn queued_events(&self) -> usize {
        self.events.len()
    }

    /// Returns whether [`poll_transmit`](Self::poll_transmit) or [`poll_event`](Self::poll_event) would return a
    /// message or an event.
    #[must_use]
    pub fn has_output(&self) -> bool {
        !self.transmits.is_empty() || !self.events.is_empty()
    }

    /// Returns the time at which the next [`handle_timeout`](Self::handle_timeout) is due, in milliseconds on the clock
    /// of that method. Returns `None` if no clock reading is needed. Call this method after every input.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<u64> {
        self.deadlines.next()
    }

    /// Checks that the connection can send `calls` new calls, or a notification if `calls` is 0.
    fn check_room(&self, calls: usize) -> Result<(), Refused> {
        if self.closed || (self.has_input_ended && calls > 0) {
            Err(Refused::Closed)
        } else if calls > 0 && self.calls.len() + calls > self.config.limits.pending_calls {
            Err(Refused::TooManyCalls)
        } else {
            Ok(())
        }
    }

    fn take_call(&mut self, id: u64) -> Option<CallKey> {
        let call = self.calls.take(id)?;
        self.deadlines.remove(call.slot);
        Some(call)
    }

    fn handle_entry(&mut self, entry: Entry<P>, batch: Option<u32>) {
        match entry {
            Ok(Message::Request(request)) => self.handle_request(request, batch),
            Ok(Message::Notification(notification)) => self.handle_notification(notification),
            Ok(Message::Response(response)) => self.handle_response(response, batch),
            Err(Unusable::Ignore) => self.ignore(Ignored::Malformed),
            Err(Unusable::Empty(id)) => match self.end_call(&id) {
                Some(call) => self.events.push_back(Event::Ended { call, end: End::Invalid }),
                None => match Shape::unmatched_empty(&self.config.profile) {
                    Some(fault) => self.reject(Rejected { id, fault }, batch),
                    None => self.ignore(Ignored::Malformed),
                },
            },
            Err(Unusable::Unreadable { id, why }) => self.handle_unreadable(id.as_ref(), why),
            Err(Unusable::Reject(rejected)) => self.reject(rejected, batch),
        }
    }

    fn handle_request(&mut self, request: Request<P>, batch: Option<u32>) {
        let repeated =
            batch.is_some_and(|batch| request.id != P::Id::NULL && self.inbound.batch_has(batch, &request.id));
        let bytes = request.id.held_bytes() + request.params.as_ref().map_or(0, P::held_bytes);
        let reason = if repeated {
            Some(Reason::DuplicateId)
        } else if self.inbound.len() >= self.config.limits.in_flight
            || !self.has_room_for(bytes)
            || batch.is_some_and(|batch| self.reply_batches.is_refused(batch))
        {
            Some(Reason::TooManyRequests)
        } else {
            None
        };
        if let Some(reason) = reason {
            return self.reject(Rejected { id: request.id, fault: Fault::Refused(reason) }, batch);
        }
        if let Some(batch) = batch {
            self.reply_batches.add_request(batch);
        }
        let has_to_wait = self.has_to_wait();
        let key = self.inbound.insert(request.id.clone(), batch, bytes);
        if has_to_wait {
            self.inbound.enqueue(key, request);
        } else {
            let Request { method, params, .. } = request;
            self.events.push_back(Event::Request { key, method, params });
        }
    }

    fn handle_notification(&mut self, notification: Notification<P>) {
        if self.has_to_wait() {
            self.inbound.enqueue_notification(notification);
        } else {
            self.events.push_back(Event::Notification(notification));
        }
    }

    fn handle_response(&mut self, response: Response<P>, batch: Option<u32>) {
        if let Some(call) = self.end_call(&response.id) {
            return self.events.push_back(Event::Ended { call, end: End::Answered(response.outcome) });
        }
        match response.outcome {
            Err(error) if response.id == P::Id::NULL => {
                // The id null does not show which call the peer refused.
                if batch.is_some() && self.null_id_error.is_none() {
                    self.null_id_error = Some(error);
                } else {
                    let answers_batch = batch.is_none() && self.calls.are_batched();
                    self.handle_null_id_error(if answers_batch { self.calls.only_batch_number() } else { 0 }, error);
                }
            }
            _ if response.id.to_call().is_some_and(|id| self.calls.was_issued(id)) => {
                self.count_late_answer(Some(&response.id));
                self.ignore(Ignored::LateResponse(response.id));
            }
            _ => self.ignore(Ignored::UnmatchedResponse(response.id)),
        }
    }

    fn reject(&mut self, rejected: Rejected<P::Id>, batch: Option<u32>) {
        let outcome = Err(P::Error::from(rejected.fault));
        self.send_reply(Message::Response(Response { id: rejected.id, outcome }), batch);
    }

    fn send_reply(&mut self, reply: Message<P>, batch: Option<u32>) {
        match batch {
            Some(batch) => self.reply_batches.push(batch, reply),
            None => self.transmits.push_back(Outgoing::Single(reply)),
        }
    }

    /// Emits [`Event::Ignored`]. A driver calls this method for a message that it does not pass to
    /// [`handle`](Self::handle).
    pub fn ignore(&mut self, what: Ignored<P>) {
        self.events.push_back(Event::Ignored(what));
    }
}

fn request<P: Payload>(key: CallKey, method: P::Method, params: Option<P>) -> Message<P> {
    Message::Request(Request { id: P::Id::from_call(key.id), method, params })
}
