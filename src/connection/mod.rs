//! The state machine of one link between two peers, without IO, clock or threads.
//!
//! A driver feeds it with [`handle`](Connection::handle), [`call`](Connection::call), [`respond`](Connection::respond)
//! and the like, and after each of them drains [`poll_transmit`](Connection::poll_transmit) and
//! [`poll_event`](Connection::poll_event) until both are empty, then looks at
//! [`poll_timeout`](Connection::poll_timeout). The connection owns the rules: ids, matching, deadlines, batches,
//! limits, and that each call ends exactly once and each request is answered exactly once.

mod batch;
mod chunks;
mod clock;
mod config;
mod deadlines;
mod event;
mod inbound;
mod pending;
mod room;
#[cfg(test)]
mod tests;
mod unreadable;

use alloc::collections::VecDeque;
use core::num::NonZeroU32;

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

/// One end of a link.
#[derive(Debug)]
pub struct Connection<P: Payload> {
    config: Config,
    calls: PendingCalls,
    deadlines: Deadlines,
    /// The number of calls that have ended here while their answers may still come.
    unanswered: u64,
    inbound: InboundRequests<P>,
    reply_batches: ReplyBatches<P>,
    /// The own batch that the current array may answer: the only one that waited when the array came, or 0.
    answered_batch: u64,
    /// An error under the id null in the current array. It ends the calls that get no answer from the other elements.
    refusal: Option<P::Error>,
    transmits: VecDeque<Outgoing<P>>,
    events: VecDeque<Event<P>>,
    closed: bool,
    /// No more input comes.
    ended: bool,
}

impl<P: Payload> Connection<P> {
    /// An open connection. The first call gets the id after `config.last_id`.
    #[must_use]
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            calls: PendingCalls::new(config.last_id),
            deadlines: Deadlines::new(config.time_grain, config.longest_wait),
            unanswered: 0,
            inbound: InboundRequests::new(),
            reply_batches: ReplyBatches::new(),
            answered_batch: 0,
            refusal: None,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            closed: false,
            ended: false,
        }
    }

    /// What it was told at its start.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Reads messages in another way, within other limits, from here on.
    pub const fn configure(&mut self, profile: Profile, limits: Limits) {
        self.config.profile = profile;
        self.config.limits = limits;
    }

    /// How many calls of ours wait for an answer.
    #[must_use]
    pub fn pending_calls(&self) -> usize {
        self.calls.len()
    }

    /// Whether [`close`](Self::close) was called.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    // Our calls.

    /// Calls the peer. `timeout` is in milliseconds and counts from the next [`handle_timeout`](Self::handle_timeout);
    /// `None` waits for ever.
    ///
    /// # Errors
    /// If the connection is closed, or too many calls wait. Nothing is sent then.
    pub fn call(&mut self, method: P::Method, params: Option<P>, timeout: Option<u64>) -> Result<CallKey, Refused> {
        let key = self.begin_call(timeout, None)?;
        self.transmits.push_back(Outgoing::Single(request(key, method, params)));
        Ok(key)
    }

    /// Begins a call whose request the driver writes itself, under the id of the key; nothing is transmitted. Calls with
    /// the same `batch` go out in one array.
    ///
    /// # Errors
    /// If the connection is closed, or too many calls wait.
    pub fn begin_call(&mut self, timeout: Option<u64>, batch: Option<NonZeroU32>) -> Result<CallKey, Refused> {
        self.check_room(1)?;
        let key = self.calls.insert(batch);
        if let Some(timeout) = timeout {
            self.deadlines.insert(key.slot, timeout);
        }
        Ok(key)
    }

    /// Tells the peer something.
    ///
    /// # Errors
    /// If the connection is closed.
    pub fn notify(&mut self, method: P::Method, params: Option<P>) -> Result<(), Refused> {
        self.check_room(0)?;
        let notification = Message::Notification(Notification { method, params });
        self.transmits.push_back(Outgoing::Single(notification));
        Ok(())
    }

    /// Gives a call up and asks the peer to stop working on it. The call has no [`Event::Ended`]; a response that still
    /// comes is a late one. Returns whether the call was still waiting.
    pub fn cancel(&mut self, call: CallKey) -> bool {
        let waited = self.abandon(call);
        if waited {
            self.transmits.push_back(Outgoing::Cancel(P::Id::from_call(call.id)));
        }
        waited
    }

    /// Gives a call up without telling the peer, for a call that could not be sent. Returns whether it was still waiting.
    pub fn abandon(&mut self, call: CallKey) -> bool {
        let waited = self.calls.contains(call) && self.take_call(call.id).is_some();
        self.unanswered += u64::from(waited);
        waited
    }

    /// Ends the call with this id, for a driver that has drained all output and has its outcome at hand, so that there is no
    /// [`Event::Ended`]. `None` if no call waits for it: the response is for [`handle`](Self::handle) then.
    #[must_use = "a response that ends no call is for `handle`"]
    pub fn end_call(&mut self, id: &P::Id) -> Option<CallKey> {
        self.take_call(id.to_call()?)
    }

    /// The call of ours that is kept in this slot, if one is.
    #[must_use]
    pub fn call_in_slot(&self, slot: u32) -> Option<CallKey> {
        self.calls.in_slot(slot)
    }

    /// The call of ours with this id, if it still waits.
    #[must_use]
    pub fn call_with_id(&self, id: u64) -> Option<CallKey> {
        self.calls.by_id(id)
    }

    /// The id that the next call of ours will have.
    #[cfg(all(feature = "native", unix))]
    pub(crate) fn next_call_id(&self) -> P::Id {
        P::Id::from_call(self.calls.next_id())
    }

    // The peer's requests.

    /// Answers a request. Returns false, and sends nothing, if it was answered before or the connection is closed. In a batch,
    /// an answer that has no room within [`Limits::in_flight_bytes`] beside the other replies becomes an error.
    pub fn respond(&mut self, key: RequestKey, outcome: Result<P, P::Error>) -> bool {
        let Some((id, batch)) = self.inbound.take(key) else { return false };
        let outcome = self.within_room(outcome, batch);
        let reply = Message::Response(Response { id, outcome });
        self.send_reply(reply, batch);
        self.finish_batch_item(batch);
        self.inbound.release(key, |event| self.events.push_back(event));
        true
    }

    /// Takes a request that came by itself, for a driver that has drained all output and runs it at once, so that there is
    /// no [`Event::Request`]. `None` if it is refused or has to wait: it is for [`handle`](Self::handle) then.
    #[must_use = "a request that is not taken is for `handle`"]
    pub fn begin_request(&mut self, id: P::Id) -> Option<RequestKey> {
        let requests = self.inbound.len();
        let fits = !self.closed && !self.has_to_wait() && requests < self.config.limits.in_flight;
        fits.then(|| self.inbound.insert(id, None, 0))
    }

    /// Ends a request that came by itself, for a driver that sends the reply itself, so that none is transmitted. Returns
    /// whether the reply is to be sent; if not, it is for [`respond`](Self::respond).
    #[must_use = "a reply that is not sent here is for `respond`"]
    pub fn end_request(&mut self, key: RequestKey) -> bool {
        let ended = self.inbound.take_single(key);
        if ended {
            self.inbound.release(key, |event| self.events.push_back(event));
        }
        ended
    }

    /// The request that is kept in this slot.
    #[must_use]
    pub fn request_in_slot(&self, slot: u32) -> Option<RequestKey> {
        self.inbound.in_slot(slot)
    }

    /// The id of a request that still wants its answer.
    #[must_use]
    pub fn request_id(&self, key: RequestKey) -> Option<&P::Id> {
        self.inbound.id(key)
    }

    /// The newest request with this id that is not answered yet.
    #[must_use]
    pub fn request_with_id(&self, id: &P::Id) -> Option<RequestKey> {
        self.inbound.by_id(id)
    }

    /// How many requests of the peer are not answered yet.
    #[must_use]
    pub fn unanswered_requests(&self) -> usize {
        self.inbound.len()
    }

    /// What [`Limits::in_flight_bytes`] bounds, in bytes: the ids and params of requests that are not answered yet, the params
    /// of notifications that wait for them, and replies that wait for the rest of their batch.
    #[must_use]
    pub const fn bytes_at_work(&self) -> usize {
        self.inbound.bytes() + self.reply_batches.bytes()
    }

    /// Whether a request still wants its answer.
    #[must_use]
    pub fn is_unanswered(&self, key: RequestKey) -> bool {
        self.inbound.contains(key)
    }

    // What comes in.

    /// Takes what one frame of the wire held.
    pub fn handle(&mut self, incoming: Incoming<P>) {
        if self.closed {
            return;
        }
        match incoming {
            Incoming::Single(entry) => self.handle_entry(entry, None),
            Incoming::Batch(entries) => self.handle_batch(entries),
        }
    }

    /// Takes the peer's wish that we stop working on its request: the notification `$/cancelRequest`. An id that is
    /// unknown, or answered already, means nothing.
    pub fn handle_cancel(&mut self, id: &P::Id) {
        if let Some(key) = self.inbound.by_id(id) {
            self.events.push_back(Event::Cancelled(key));
        }
    }

    /// Closes this end: every call ends, no request is answered any more, nothing is sent or taken. Doing it twice is
    /// harmless.
    pub fn close(&mut self) {
        self.closed = true;
        self.inbound.clear();
        self.reply_batches.clear();
        self.transmits.clear();
        self.handle_end();
    }

    /// Takes the end of the input: every call ends, and no new one is made. What the peer has asked may still be answered,
    /// since it may have closed only its own half.
    pub fn handle_end(&mut self) {
        self.ended = true;
        for slot in self.calls.slots() {
            if let Some(call) = self.calls.in_slot(slot) {
                self.take_call(call.id);
                self.events.push_back(Event::Ended { call, end: End::Closed });
            }
        }
        self.deadlines.settle();
    }

    // What goes out.

    /// What to send next. To be drained after every input.
    #[must_use = "a message that is not sent is lost"]
    pub fn poll_transmit(&mut self) -> Option<Outgoing<P>> {
        self.transmits.pop_front()
    }

    /// What to tell the application next. To be drained after every input.
    #[must_use = "an event that is not handled is lost"]
    pub fn poll_event(&mut self) -> Option<Event<P>> {
        self.events.pop_front()
    }

    /// Whether [`poll_transmit`](Self::poll_transmit) or [`poll_event`](Self::poll_event) has something.
    #[must_use]
    pub fn has_output(&self) -> bool {
        !self.transmits.is_empty() || !self.events.is_empty()
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called next, on the same clock; `None` for never. To be
    /// asked after every input.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<u64> {
        self.deadlines.next()
    }

    fn check_room(&self, calls: usize) -> Result<(), Refused> {
        if self.closed || (self.ended && calls > 0) {
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
            self.inbound.wait(key, request);
        } else {
            let Request { method, params, .. } = request;
            self.events.push_back(Event::Request { key, method, params });
        }
    }

    fn handle_notification(&mut self, notification: Notification<P>) {
        if self.has_to_wait() {
            self.inbound.wait_to_notify(notification);
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
                // The error does not name the call that the peer has refused.
                if batch.is_some() && self.refusal.is_none() {
                    self.refusal = Some(error);
                } else {
                    let is_batch = batch.is_none() && self.calls.are_batched();
                    self.refuse(if is_batch { self.calls.only_batch() } else { 0 }, error);
                }
            }
            _ if response.id.to_call().is_some_and(|id| self.calls.has_had(id)) => {
                self.forget(Some(&response.id));
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

    fn ignore(&mut self, what: Ignored<P>) {
        self.events.push_back(Event::Ignored(what));
    }
}

fn request<P: Payload>(key: CallKey, method: P::Method, params: Option<P>) -> Message<P> {
    Message::Request(Request { id: P::Id::from_call(key.id), method, params })
}
