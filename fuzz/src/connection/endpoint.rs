//! One of the two connections, and the replies that this connection must send.

use std::collections::{BTreeMap, VecDeque};

use portway::ErrorCode;
use portway::codec::json;
use portway::connection::{CallKey, Config, Connection, End as CallEnd, Event, RequestKey};
use portway::message::{
    Entry, ErrorObject, Id, Incoming, Message, Notification, Outgoing, RequestId, Response, Unusable,
};
use portway::profile::{BatchPolicy, Ordering};
use serde_json::Value;
use serde_json::value::RawValue;

pub(super) type Payload = Box<RawValue>;

/// One connection and its driver.
pub(super) struct Endpoint {
    pub(super) connection: Connection<Payload>,
    /// The sent frames that have not arrived at the peer.
    pub(super) sent: VecDeque<String>,
    /// The number of the latest batch.
    pub(super) batches: u32,
    /// The pending calls, by id.
    pub(super) calls: BTreeMap<u64, Call>,
    /// The calls that have ended.
    ended: Vec<CallKey>,
    /// The unanswered requests that an event reported, as new or as cancelled.
    pub(super) requests: Vec<RequestKey>,
    /// The unanswered requests that an event reported as new.
    running: Vec<RequestKey>,
    /// The number of received notifications that no event has reported yet.
    undelivered: usize,
    /// Whether the input has ended.
    pub(super) input_ended: bool,
    /// For each id, the number of expected replies, and the number of optional replies among them. An optional reply
    /// depends on the calls that are pending.
    expected: BTreeMap<Id, (i64, i64)>,
    /// Every reply that was sent, as text.
    replies: BTreeMap<Id, Vec<String>>,
    /// The latest clock reading.
    now: u64,
}

/// A pending call.
#[derive(Debug)]
pub(super) struct Call {
    key: CallKey,
    pub(super) timeout: Option<u64>,
    /// The first clock reading after the call was made.
    pub(super) since: Option<u64>,
    /// Whether the request of the call was sent.
    pub(super) is_sent: bool,
}

impl Call {
    /// Returns the time at which the call times out. Returns `None` without a timeout, and before the first clock
    /// reading.
    fn due(&self) -> Option<u64> {
        Some(self.since?.saturating_add(self.timeout?))
    }
}

impl Endpoint {
    pub(super) fn new(config: Config) -> Self {
        Self {
            connection: Connection::new(config),
            sent: VecDeque::new(),
            batches: 0,
            calls: BTreeMap::new(),
            ended: Vec::new(),
            requests: Vec::new(),
            running: Vec::new(),
            undelivered: 0,
            input_ended: false,
            expected: BTreeMap::new(),
            replies: BTreeMap::new(),
            now: 0,
        }
    }

    /// Records a call that the connection has made.
    pub(super) fn record_call(&mut self, key: CallKey, timeout: Option<u64>, is_sent: bool) {
        assert!(self.calls.values().all(|call| call.key.slot() != key.slot()), "two calls have the same slot");
        assert!(!self.ended.iter().any(|call| call.id() == key.id()), "an id is used twice");
        assert_eq!(self.connection.call_in_slot(key.slot()), Some(key));
        assert_eq!(self.connection.call_with_id(key.id()), Some(key));
        let call = Call { key, timeout, since: None, is_sent };
        assert!(self.calls.insert(key.id(), call).is_none(), "an id is used twice");
    }

    /// Selects a pending or ended call by `choice`. Returns the call, and whether it is pending.
    pub(super) fn pick_call(&self, choice: u8) -> Option<(CallKey, bool)> {
        let pending = self.calls.values().rev().map(|call| (call.key, true));
        let mut all = pending.chain(self.ended.iter().rev().map(|key| (*key, false)));
        all.nth(usize::from(choice).checked_rem(self.calls.len() + self.ended.len())?)
    }

    /// Records the end of a call, and returns the call.
    pub(super) fn record_end(&mut self, key: CallKey) -> Call {
        assert_eq!(self.connection.call_with_id(key.id()), None);
        let call = self.calls.remove(&key.id()).expect("the call was not made, or has already ended");
        assert_eq!(call.key, key);
        self.ended.push(key);
        call
    }

    /// Handles a received frame, like a driver.
    pub(super) fn receive(&mut self, bytes: &[u8]) {
        if self.input_ended {
            return;
        }
        let config = *self.connection.config();
        let incoming = json::decode(bytes, &config.profile, &config.limits);
        if self.connection.is_closed() {
            self.connection.handle(incoming);
            return assert!(!self.connection.has_output(), "a closed connection has handled input");
        }
        match &incoming {
            Incoming::Single(Ok(Message::Notification(notification))) => {
                if let Some(id) = cancelled_id(notification) {
                    return self.connection.handle_cancel(&id);
                }
                self.undelivered += 1;
            }
            Incoming::Single(entry) => self.expect_reply(entry, false),
            Incoming::Batch(entries) => {
                let counted = entries.iter().filter(|entry| {
                    !matches!(entry, Ok(Message::Response(_)) | Err(Unusable::Ignore | Unusable::Unreadable { .. }))
                });
                let max = if config.profile.batch == BatchPolicy::Reject { 0 } else { config.limits.batch_items };
                let is_refused = entries.is_empty() || counted.count() > max;
                if is_refused {
                    self.expect_reply_to(&Id::Null, false);
                } else {
                    entries.iter().for_each(|entry| self.expect_reply(entry, true));
                }
            }
        }
        self.connection.handle(incoming);
    }

    /// Records the reply that the connection must send to an element, if any.
    fn expect_reply(&mut self, entry: &Entry<Payload>, in_batch: bool) {
        match entry {
            Ok(Message::Request(request)) => self.expect_reply_to(&request.id, false),
            Ok(Message::Notification(_)) => self.undelivered += 1,
            Err(Unusable::Reject(rejected)) => self.expect_reply_to(&rejected.id, false),
            // An element with only the id of a pending call ends this call, and gets no reply. If an earlier element of
            // the batch has ended the call, the element gets a reply.
            Err(Unusable::Empty(id)) if !self.connection.config().profile.foreign_is_ignored => {
                let is_call = id.to_call().is_some_and(|id| self.calls.contains_key(&id));
                if !is_call || in_batch {
                    self.expect_reply_to(id, is_call);
                }
            }
            _ => {}
        }
    }

    /// Records that the connection must send a reply with this id. See [`Endpoint::expected`] for `optional`.
    fn expect_reply_to(&mut self, id: &Id, optional: bool) {
        let (expected, optional_replies) = self.expected.entry(id.clone()).or_default();
        *expected += 1;
        *optional_replies += i64::from(optional);
    }

    /// Answers a request, like an application.
    pub(super) fn respond(&mut self, key: RequestKey, outcome: Result<Payload, ErrorObject<Payload>>) {
        let is_open = !self.connection.is_closed();
        assert_eq!(self.connection.is_unanswered(key), is_open);
        assert_eq!(self.connection.request_in_slot(key.slot()), is_open.then_some(key));
        let id = self.connection.request_id(key).cloned();
        assert_eq!(id.is_some(), is_open);
        self.running.retain(|running| *running != key);
        assert_eq!(
            self.connection.respond(key, outcome.clone()),
            is_open,
            "an open connection must accept the first answer"
        );
        assert!(!self.connection.respond(key, outcome), "a second answer was accepted");
        assert!(self.connection.request_id(key).is_none() && !self.connection.is_unanswered(key));
        assert!(id.is_none_or(|id| self.connection.request_with_id(&id) != Some(key)));
    }

    /// Passes the time to the connection, and drains its output. `has_foreign_input` is true if the connection may have
    /// received bytes that the peer has not sent.
    pub(super) fn drain(&mut self, now: u64, peer: &Self, has_foreign_input: bool) {
        self.connection.handle_timeout(now);
        self.now = self.now.max(now);
        for call in self.calls.values_mut() {
            call.since.get_or_insert(self.now);
        }
        while let Some(outgoing) = self.connection.poll_transmit() {
            self.transmit(outgoing);
        }
        while let Some(event) = self.connection.poll_event() {
            self.handle_event(event, peer, has_foreign_input);
        }
        self.check();
    }

    pub(super) fn transmit(&mut self, outgoing: Outgoing<Payload>) {
        assert!(!self.connection.is_closed(), "a closed connection has sent a message");
        let text = json::encode(&outgoing);
        assert!(!text.contains(['\n', '\r']));
        let messages = match outgoing {
            Outgoing::Single(message) => vec![message],
            Outgoing::Batch(messages) => messages,
            Outgoing::Cancel(id) => {
                let has_ended = |id| {
                    // If the call is due, a later event reports its end.
                    let is_due = |call: &Call| call.due().is_some_and(|due| due <= self.now);
                    self.calls.get(&id).is_some_and(is_due) || self.ended.iter().any(|call| call.id() == id)
                };
                assert!(id.to_call().is_some_and(has_ended), "{id} is cancelled, but the call has not ended");
                Vec::new()
            }
        };
        assert!(!text.is_empty() && text != "[]", "an empty frame");
        for message in messages {
            if let Message::Response(response) = message {
                let id = response.id.clone();
                let (expected, _) = self.expected.entry(id.clone()).or_default();
                *expected -= 1;
                assert!(*expected >= 0, "{id} is answered twice");
                self.replies.entry(id).or_default().push(outcome_text(response.outcome));
            }
        }
        self.sent.push_back(text);
    }

    fn handle_event(&mut self, event: Event<Payload>, peer: &Self, has_foreign_input: bool) {
        match event {
            Event::Request { key, .. } => {
                assert!(self.connection.is_unanswered(key), "an answered request is reported as new");
                assert!(!self.running.contains(&key), "a request is reported twice");
                self.running.push(key);
                if !self.requests.contains(&key) {
                    self.requests.push(key);
                }
            }
            Event::Cancelled(key) => {
                assert!(self.connection.is_unanswered(key), "an answered request is reported as cancelled");
                // The cancelled request may not have been reported as new. The request must be answered even if it
                // never runs.
                if !self.requests.contains(&key) {
                    self.requests.push(key);
                }
            }
            Event::Ended { call: key, end } => {
                let (now, call) = (self.now, self.record_end(key));
                match end {
                    CallEnd::TimedOut => {
                        assert!(
                            call.due().is_some_and(|due| due <= now),
                            "{call:?} timed out before its time, at {now}"
                        )
                    }
                    CallEnd::Answered(outcome) if !has_foreign_input => peer.check_replied(key.id(), outcome),
                    CallEnd::Answered(_) => {}
                    // The peer also sends values that the decoder refuses.
                    CallEnd::Unreadable(_) => {}
                    CallEnd::Invalid => assert!(has_foreign_input, "the peer has sent an invalid answer"),
                    CallEnd::Closed => assert!(self.connection.is_closed() || self.input_ended),
                }
            }
            Event::Notification(_) => {
                let undelivered = self.undelivered.checked_sub(1);
                self.undelivered = undelivered.expect("a notification is reported that was not received");
            }
            Event::Ignored(_) => {}
        }
    }

    /// Checks that this connection has sent this outcome in its reply to a call of the peer.
    fn check_replied(&self, call: u64, outcome: Result<Payload, ErrorObject<Payload>>) {
        let text = outcome_text(outcome);
        // The id of the call may have another form in the reply, for example `1.0` for the call 1.
        let is_for_call = |id: &Id| *id == Id::Null || id.to_call() == Some(call);
        let mut replies = self.replies.iter().filter(|(id, _)| is_for_call(id)).flat_map(|(_, replies)| replies);
        assert!(replies.any(|reply| *reply == text), "the reply {text} to the call {call} was not sent");
    }

    /// Checks the state of the connection after its output was drained.
    fn check(&self) {
        assert!(!self.connection.has_output());
        assert_eq!(self.connection.pending_calls(), self.calls.len());
        assert!(self.calls.len() <= self.connection.config().limits.pending_calls);
        let due = self.calls.values().filter_map(Call::due).min();
        assert!(due.is_none_or(|due| due > self.now), "a call is overdue");
        let next = self.connection.poll_timeout();
        assert!(next.is_none_or(|next| next > self.now), "the next clock reading is in the past");
        assert!(
            due.is_none_or(|due| next.is_some_and(|next| next <= due)),
            "a call is due at {due:?}, before {next:?}"
        );
        // With a `time_grain`, one clock reading may be due after the last call has ended.
        assert!(due.is_some() || next.is_none() || self.connection.config().time_grain > 0);
        if self.connection.is_closed() {
            return assert_eq!(self.connection.unanswered_requests(), 0);
        }
        assert!(self.requests.len() <= self.connection.unanswered_requests());
        assert!(self.connection.unanswered_requests() <= self.connection.config().limits.in_flight);
        if self.connection.config().profile.ordering == Ordering::Sequential {
            assert!(self.running.len() <= 1, "two requests run at the same time");
            assert!(self.undelivered == 0 || !self.running.is_empty(), "a notification waits, but no request runs");
            assert_eq!(
                self.running.is_empty(),
                self.connection.unanswered_requests() == 0,
                "a request waits, but none runs"
            );
        } else {
            assert_eq!(self.undelivered, 0, "a notification waits");
            assert_eq!(self.running.len(), self.connection.unanswered_requests());
        }
    }

    /// Checks that every request is answered and every notification is reported.
    pub(super) fn check_all_answered(&self) {
        assert_eq!((self.undelivered, self.connection.unanswered_requests()), (0, 0));
        for (id, (expected, optional)) in &self.expected {
            assert!(expected <= optional, "{id} is not answered");
        }
    }

    /// Returns whether a reply with the id null was sent. Such a reply may belong to any request.
    pub(super) fn has_replied_to_null(&self) -> bool {
        self.replies.contains_key(&Id::Null)
    }
}

/// Returns an outcome as JSON text.
fn outcome_text(outcome: Result<Payload, ErrorObject<Payload>>) -> String {
    json::encode(&Outgoing::Single(Message::Response(Response { id: Id::Null, outcome })))
}

pub(super) fn payload(text: String) -> Option<Payload> {
    RawValue::from_string(text).ok()
}

pub(super) fn error(code: i64, message: &str, data: Option<Payload>) -> ErrorObject<Payload> {
    ErrorObject { code: ErrorCode::new(code), message: message.into(), data }
}

/// Returns the id of the request that a notification cancels. Returns `None` for other notifications.
fn cancelled_id(notification: &Notification<Payload>) -> Option<Id> {
    if &*notification.method != "$/cancelRequest" {
        return None;
    }
    match serde_json::from_str::<Value>(notification.params.as_ref()?.get()).ok()?.get("id")? {
        Value::Null => Some(Id::Null),
        Value::Number(number) => Id::from_number_text(&number.to_string()),
        Value::String(text) => Some(Id::from(text.as_str())),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
