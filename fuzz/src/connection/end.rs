//! One end of the link, and what it owes.

use std::collections::{BTreeMap, VecDeque};

use portway::codec::json;
use portway::connection::{CallKey, Config, Connection, End as Ending, Event, RequestKey};
use portway::message::{
    Entry, ErrorCode, ErrorObject, Id, Incoming, Message, Notification, Outgoing, RequestId, Response, Unusable,
};
use portway::profile::{BatchPolicy, Ordering};
use serde_json::Value;
use serde_json::value::RawValue;

pub(super) type Payload = Box<RawValue>;

/// One end, its driver, and what it sent that has not arrived.
pub(super) struct End {
    pub(super) link: Connection<Payload>,
    pub(super) sent: VecDeque<String>,
    /// The number of its latest batch.
    pub(super) batches: u32,
    /// The calls that wait, by their id.
    pub(super) calls: BTreeMap<u64, Call>,
    /// The calls that have ended.
    over: Vec<CallKey>,
    /// Requests that the application was told of, or asked to stop, and has not answered.
    pub(super) requests: Vec<RequestKey>,
    /// Those of them that it was told to work on.
    running: Vec<RequestKey>,
    /// Notifications that have come, and were not told to the application.
    untold: usize,
    /// Nothing more will come.
    pub(super) hears_no_more: bool,
    /// Answers that are still to be given, and of those how many need not be: it depends on what else waits.
    owed: BTreeMap<Id, (i64, i64)>,
    /// Every answer that was given, as text.
    given: BTreeMap<Id, Vec<String>>,
    /// The latest time that it was told.
    now: u64,
}

/// A call that waits.
#[derive(Debug)]
pub(super) struct Call {
    key: CallKey,
    pub(super) timeout: Option<u64>,
    /// The first reading of the clock after it was made.
    pub(super) since: Option<u64>,
    /// Whether its request left.
    pub(super) is_sent: bool,
}

impl Call {
    fn due(&self) -> Option<u64> {
        Some(self.since?.saturating_add(self.timeout?))
    }
}

impl End {
    pub(super) fn new(config: Config) -> Self {
        Self {
            link: Connection::new(config),
            sent: VecDeque::new(),
            batches: 0,
            calls: BTreeMap::new(),
            over: Vec::new(),
            requests: Vec::new(),
            running: Vec::new(),
            untold: 0,
            hears_no_more: false,
            owed: BTreeMap::new(),
            given: BTreeMap::new(),
            now: 0,
        }
    }

    pub(super) fn began(&mut self, key: CallKey, timeout: Option<u64>, is_sent: bool) {
        assert!(self.calls.values().all(|call| call.key.slot() != key.slot()), "two calls in a slot");
        assert!(!self.over.iter().any(|over| over.id() == key.id()), "an id is used twice");
        assert_eq!(self.link.call_in_slot(key.slot()), Some(key));
        assert_eq!(self.link.call_with_id(key.id()), Some(key));
        let call = Call { key, timeout, since: None, is_sent };
        assert!(self.calls.insert(key.id(), call).is_none(), "an id is used twice");
    }

    /// A call that was made at some time, and whether it waits.
    pub(super) fn pick_call(&self, choice: u8) -> Option<(CallKey, bool)> {
        let waiting = self.calls.values().rev().map(|call| (call.key, true));
        let mut all = waiting.chain(self.over.iter().rev().map(|key| (*key, false)));
        all.nth(usize::from(choice).checked_rem(self.calls.len() + self.over.len())?)
    }

    /// The call has ended.
    pub(super) fn is_over(&mut self, key: CallKey) -> Call {
        assert_eq!(self.link.call_with_id(key.id()), None);
        let call = self.calls.remove(&key.id()).expect("a call that was never made, or has ended before");
        assert_eq!(call.key, key);
        self.over.push(key);
        call
    }

    /// Takes a frame as a driver does.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        if self.hears_no_more {
            return;
        }
        let config = *self.link.config();
        let incoming = json::decode(bytes, &config.profile, &config.limits);
        if self.link.is_closed() {
            self.link.handle(incoming);
            return assert!(!self.link.has_output(), "a closed end has heard something");
        }
        match &incoming {
            Incoming::Single(Ok(Message::Notification(notification))) => {
                if let Some(id) = cancelled_id(notification) {
                    return self.link.handle_cancel(&id);
                }
                self.untold += 1;
            }
            Incoming::Single(entry) => self.owe(entry, false),
            Incoming::Batch(entries) => {
                let calls = entries.iter().filter(|entry| {
                    !matches!(entry, Ok(Message::Response(_)) | Err(Unusable::Ignore | Unusable::Unreadable { .. }))
                });
                let is_refused = config.profile.batch == BatchPolicy::Reject
                    || entries.is_empty()
                    || calls.count() > config.limits.batch_items;
                if is_refused {
                    self.owe_to(&Id::Null, false);
                } else {
                    entries.iter().for_each(|entry| self.owe(entry, true));
                }
            }
        }
        self.link.handle(incoming);
    }

    fn owe(&mut self, entry: &Entry<Payload>, in_batch: bool) {
        match entry {
            Ok(Message::Request(request)) => self.owe_to(&request.id, false),
            Ok(Message::Notification(_)) => self.untold += 1,
            Err(Unusable::Reject(rejected)) => self.owe_to(&rejected.id, false),
            // It is the answer to a call, if one waits; elements before it may have ended that.
            Err(Unusable::Empty(id)) if !self.link.config().profile.foreign_is_ignored => {
                let is_call = id.to_call().is_some_and(|id| self.calls.contains_key(&id));
                if !is_call || in_batch {
                    self.owe_to(id, is_call);
                }
            }
            _ => {}
        }
    }

    fn owe_to(&mut self, id: &Id, perhaps: bool) {
        let (owed, of_them_perhaps) = self.owed.entry(id.clone()).or_default();
        *owed += 1;
        *of_them_perhaps += i64::from(perhaps);
    }

    /// Gives the application's answer to a request.
    pub(super) fn respond(&mut self, key: RequestKey, outcome: Result<Payload, ErrorObject<Payload>>) {
        let is_open = !self.link.is_closed();
        assert_eq!(self.link.is_unanswered(key), is_open);
        assert_eq!(self.link.request_in_slot(key.slot()), is_open.then_some(key));
        let id = self.link.request_id(key).cloned();
        assert_eq!(id.is_some(), is_open);
        self.running.retain(|running| *running != key);
        assert_eq!(self.link.respond(key, outcome.clone()), is_open, "an answer is taken once");
        assert!(!self.link.respond(key, outcome), "an answer is taken twice");
        assert!(self.link.request_id(key).is_none() && !self.link.is_unanswered(key));
        assert!(id.is_none_or(|id| self.link.request_with_id(&id) != Some(key)));
    }

    /// Tells the time, and takes all that comes of it. `other` is the end that it hears of.
    pub(super) fn drain(&mut self, now: u64, other: &Self, hears_others: bool) {
        self.link.handle_timeout(now);
        self.now = self.now.max(now);
        for call in self.calls.values_mut() {
            call.since.get_or_insert(self.now);
        }
        while let Some(outgoing) = self.link.poll_transmit() {
            self.transmit(outgoing);
        }
        while let Some(event) = self.link.poll_event() {
            self.tell(event, other, hears_others);
        }
        self.check();
    }

    pub(super) fn transmit(&mut self, outgoing: Outgoing<Payload>) {
        assert!(!self.link.is_closed(), "a closed end speaks");
        let text = json::encode(&outgoing);
        assert!(!text.contains(['\n', '\r']));
        let messages = match outgoing {
            Outgoing::Single(message) => vec![message],
            Outgoing::Batch(messages) => messages,
            Outgoing::Cancel(id) => {
                let is_given_up = |id| {
                    // Its time is up, and its end is told next.
                    let is_due = |call: &Call| call.due().is_some_and(|due| due <= self.now);
                    self.calls.get(&id).is_some_and(is_due) || self.over.iter().any(|over| over.id() == id)
                };
                assert!(id.to_call().is_some_and(is_given_up), "{id} is cancelled");
                Vec::new()
            }
        };
        assert!(!text.is_empty() && text != "[]", "an empty frame");
        for message in messages {
            if let Message::Response(response) = message {
                let id = response.id.clone();
                let (owed, _) = self.owed.entry(id.clone()).or_default();
                *owed -= 1;
                assert!(*owed >= 0, "{id} is answered twice");
                self.given.entry(id).or_default().push(outcome_text(response.outcome));
            }
        }
        self.sent.push_back(text);
    }

    fn tell(&mut self, event: Event<Payload>, other: &Self, hears_others: bool) {
        match event {
            Event::Request { key, .. } => {
                assert!(self.link.is_unanswered(key), "a request that needs no answer");
                assert!(!self.running.contains(&key), "a request is told twice");
                self.running.push(key);
                if !self.requests.contains(&key) {
                    self.requests.push(key);
                }
            }
            Event::Cancelled(key) => {
                assert!(self.link.is_unanswered(key), "what is answered is cancelled");
                // It may be answered before its turn.
                if !self.requests.contains(&key) {
                    self.requests.push(key);
                }
            }
            Event::Ended { call: key, end } => {
                let (now, call) = (self.now, self.is_over(key));
                match end {
                    Ending::TimedOut => {
                        assert!(call.due().is_some_and(|due| due <= now), "too early: {call:?} at {now}")
                    }
                    Ending::Answered(outcome) if !hears_others => other.check_given(key.id(), outcome),
                    Ending::Answered(_) => {}
                    // It is well for any text of the peer.
                    Ending::Unreadable(_) => {}
                    Ending::Invalid => assert!(hears_others, "a peer of ours says nothing that is invalid"),
                    Ending::Closed => assert!(self.link.is_closed() || self.hears_no_more),
                }
            }
            Event::Notification(_) => {
                let untold = self.untold.checked_sub(1);
                self.untold = untold.expect("a notification that never came");
            }
            Event::Ignored(_) => {}
        }
    }

    /// What ended a call of the other end is what this one said.
    fn check_given(&self, call: u64, outcome: Result<Payload, ErrorObject<Payload>>) {
        let text = outcome_text(outcome);
        let mut given = [Id::from_call(call), Id::Null].into_iter().filter_map(|id| self.given.get(&id)).flatten();
        assert!(given.any(|given| *given == text), "{call} was never answered so: {text}");
    }

    fn check(&self) {
        assert!(!self.link.has_output());
        assert_eq!(self.link.pending_calls(), self.calls.len());
        assert!(self.calls.len() <= self.link.config().limits.pending_calls);
        let due = self.calls.values().filter_map(Call::due).min();
        assert!(due.is_none_or(|due| due > self.now), "a call waits too long");
        let next = self.link.poll_timeout();
        assert!(next.is_none_or(|next| next > self.now), "the past is waited for");
        assert!(due.is_none_or(|due| next.is_some_and(|next| next <= due)), "{due:?} is missed: {next:?}");
        // With a grain, the timer may outlive the last call by one reading.
        assert!(due.is_some() || next.is_none() || self.link.config().time_grain > 0);
        if self.link.is_closed() {
            return assert_eq!(self.link.unanswered_requests(), 0);
        }
        assert!(self.requests.len() <= self.link.unanswered_requests());
        assert!(self.link.unanswered_requests() <= self.link.config().limits.in_flight);
        if self.link.config().profile.ordering == Ordering::Sequential {
            assert!(self.running.len() <= 1, "one request at a time");
            assert!(self.untold == 0 || !self.running.is_empty(), "nothing runs, and a notification waits");
            assert_eq!(self.running.is_empty(), self.link.unanswered_requests() == 0, "requests wait, and none runs");
        } else {
            assert_eq!(self.untold, 0, "a notification waits");
            assert_eq!(self.running.len(), self.link.unanswered_requests());
        }
    }

    /// Nothing is left to be answered or told.
    pub(super) fn check_all_answered(&self) {
        assert_eq!((self.untold, self.link.unanswered_requests()), (0, 0));
        for (id, (owed, perhaps)) in &self.owed {
            assert!(owed <= perhaps, "{id} is not answered");
        }
    }

    /// Whether it could not tell the other end which message it refused.
    pub(super) fn has_blamed_nobody(&self) -> bool {
        self.given.contains_key(&Id::Null)
    }
}

/// An outcome as it stands on the wire.
fn outcome_text(outcome: Result<Payload, ErrorObject<Payload>>) -> String {
    json::encode(&Outgoing::Single(Message::Response(Response { id: Id::Null, outcome })))
}

pub(super) fn payload(text: String) -> Option<Payload> {
    RawValue::from_string(text).ok()
}

pub(super) fn error(code: i64, message: &str, data: Option<Payload>) -> ErrorObject<Payload> {
    ErrorObject { code: ErrorCode::new(code), message: message.into(), data }
}

/// Returns the id of the request that a notification cancels, if it does.
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
