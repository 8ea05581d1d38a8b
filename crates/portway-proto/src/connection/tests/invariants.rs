//! Tests with random inputs in random order. Each call must end once. Each request and each faulty message must be
//! answered once, and no other message may be answered.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::pair::{Text, call_batch, text};
use crate::Limits;
use crate::connection::{CallKey, Config, Connection, Event, RequestKey};
use crate::message::{Entry, Fault, Id, Incoming, Message, Notification, Outgoing, Request, Response, Unusable};
use crate::profile::{Ordering, Profile};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// A connection, its hostile peer, and the responses that the connection must still send.
struct World {
    connection: Connection<Text>,
    random: Random,
    now: u64,
    /// The number of the latest batch that the connection sent.
    batches: u32,
    /// The outgoing calls by id, with the number of times that each call has ended.
    calls: BTreeMap<u64, (CallKey, u32)>,
    /// The number of responses that the connection must still send, by the id of the request. Each request has a
    /// different id.
    due_responses: BTreeMap<Id, i64>,
    /// The number of responses with the id null that the connection must still send.
    due_null_responses: i64,
    running: Vec<RequestKey>,
    /// The requests whose cancellation an event has reported.
    cancelled: Vec<RequestKey>,
    last_request: i64,
}

impl World {
    fn new(seed: u64, profile: Profile) -> Self {
        let limits = Limits { pending_calls: 20, in_flight: 12, batch_items: 6, ..Limits::DEFAULT };
        let grain = seed % 3 * 8;
        Self {
            connection: Connection::new(Config::new(profile).with_limits(limits).with_time_grain(grain)),
            random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            now: 0,
            batches: 0,
            calls: BTreeMap::new(),
            due_responses: BTreeMap::new(),
            due_null_responses: 0,
            running: Vec::new(),
            cancelled: Vec::new(),
            last_request: 0,
        }
    }

    /// Records a call that has begun.
    fn record_call(&mut self, key: CallKey) {
        assert!(self.calls.insert(key.id(), (key, 0)).is_none(), "two calls have the same id");
    }

    /// Returns a random element from the peer, and whether the element counts towards the limit of a batch.
    fn entry(&mut self) -> (Entry<Text>, bool) {
        let id = Id::Integer(self.random.below(40) as i64);
        let response = |outcome| (Ok(Message::Response(Response { id: id.clone(), outcome })), false);
        match self.random.below(9) {
            0 | 1 => response(Ok(text("result"))),
            2 => response(Err(Fault::InvalidRequest.into())),
            3 => {
                let outcome = Err(Fault::InvalidRequest.into());
                (Ok(Message::Response(Response { id: Id::Null, outcome })), false)
            }
            4 => (Ok(Message::Notification(Notification { method: "n".into(), params: None })), true),
            5 => (Err(Unusable::Ignore), false),
            6 => {
                self.due_null_responses += 1;
                (Err(Unusable::from(Fault::ParseError)), true)
            }
            _ => {
                self.last_request += 1;
                let id = Id::Integer(1_000 + self.last_request);
                self.due_responses.insert(id.clone(), 1);
                (Ok(Message::Request(Request { id, method: "m".into(), params: None })), true)
            }
        }
    }

    /// Handles a random batch. If the whole batch is refused, its only response is an error with the id null.
    fn batch(&mut self) {
        let (due_responses, due_null_responses) = (self.due_responses.clone(), self.due_null_responses);
        let entries: Vec<_> = (0..self.random.below(14)).map(|_| self.entry()).collect();
        let too_many = entries.iter().filter(|(_, counts)| *counts).count() > 6;
        if too_many || entries.is_empty() {
            (self.due_responses, self.due_null_responses) = (due_responses, due_null_responses + 1);
        }
        self.connection.handle(Incoming::Batch(entries.into_iter().map(|(entry, _)| entry).collect()));
    }

    /// Handles a single message on the fast path. A driver may use the fast path after it has drained all output.
    /// Returns false if the message must be passed to `Connection::handle` instead.
    fn handle_on_fast_path(&mut self, entry: &Entry<Text>) -> bool {
        match entry {
            Ok(Message::Request(request)) => {
                let key = self.connection.begin_request(request.id.clone());
                self.running.extend(key);
                key.is_some()
            }
            Ok(Message::Response(Response { id, outcome: Ok(_) })) => {
                let call = self.connection.end_call(id);
                if let Some(call) = call {
                    self.calls.entry(call.id()).and_modify(|(_, ends)| *ends += 1);
                }
                call.is_some()
            }
            _ => false,
        }
    }

    /// Performs a random action of the driver, the application or the peer.
    fn step(&mut self) {
        match self.random.below(10) {
            0 => {
                let timeout = [None, Some(0), Some(7), Some(100)][self.random.below(4) as usize];
                if let Ok(key) = self.connection.call("c".into(), None, timeout) {
                    self.record_call(key);
                }
            }
            1 if self.random.below(4) == 0 => {
                if let Some((_, &(key, _))) = self.calls.iter().nth_back(self.random.below(3) as usize) {
                    let end = [None, Some(self.now + 20), Some(0)][self.random.below(3) as usize];
                    self.connection.handle_progress(key, Some(50), end, self.now);
                }
            }
            1 => {
                self.batches += 1;
                let calls = self.random.below(4) as usize;
                for key in call_batch(&mut self.connection, self.batches, &alloc::vec!["c"; calls], 50) {
                    self.record_call(key);
                }
            }
            2 | 3 => {
                let (entry, _) = self.entry();
                if self.random.below(2) == 0 || !self.handle_on_fast_path(&entry) {
                    self.connection.handle(Incoming::Single(entry));
                }
            }
            4 => self.batch(),
            5 | 6 if !self.running.is_empty() => {
                let index = self.random.below(self.running.len() as u64) as usize;
                let key = self.running.swap_remove(index);
                let id = self.connection.request_id(key).cloned();
                if self.random.below(2) == 0 && self.connection.end_request(key) {
                    *self.due_responses.entry(id.unwrap_or(Id::Null)).or_default() -= 1;
                    assert!(!self.connection.respond(key, Ok(text("twice"))) && !self.connection.end_request(key));
                    return self.drain();
                }
                assert!(self.connection.respond(key, Ok(text("done"))) || self.cancelled.contains(&key));
                assert!(!self.connection.respond(key, Ok(text("twice"))));
            }
            7 => {
                self.connection.handle_cancel(&Id::Integer(1_000 + self.last_request));
                self.drain();
                // A driver may answer a cancelled request at once.
                if let Some(&key) = self.cancelled.last()
                    && self.random.below(2) == 0
                {
                    self.connection.respond(key, Err(Fault::InvalidRequest.into()));
                    self.running.retain(|running| *running != key);
                }
            }
            8 => {
                if let Some((_, &(key, ends))) = self.calls.iter().nth_back(self.random.below(3) as usize) {
                    let was_pending = if self.random.below(2) == 0 {
                        self.connection.cancel(key)
                    } else {
                        self.connection.abandon(key)
                    };
                    assert_eq!(was_pending, ends == 0, "{key:?}");
                    self.calls.entry(key.id()).and_modify(|(_, ends)| *ends = 1);
                }
            }
            _ => self.now += self.random.below(30),
        }
        self.connection.handle_timeout(self.now);
        assert!(
            self.connection.poll_timeout().is_none_or(|next| next > self.now),
            "the next clock reading is in the past"
        );
        self.drain();
    }

    /// Drains the connection, and counts the responses and the ends of calls.
    fn drain(&mut self) {
        while let Some(outgoing) = self.connection.poll_transmit() {
            let messages = match outgoing {
                Outgoing::Single(message) => alloc::vec![message],
                Outgoing::Batch(messages) => messages,
                Outgoing::Cancel(_) => continue,
            };
            assert!(!messages.is_empty());
            for message in messages {
                match message {
                    Message::Response(Response { id: Id::Null, .. }) => self.due_null_responses -= 1,
                    Message::Response(Response { id, .. }) => *self.due_responses.entry(id).or_default() -= 1,
                    _ => {}
                }
            }
        }
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Request { key, .. } => self.running.push(key),
                Event::Ended { call, .. } => {
                    self.calls.entry(call.id()).and_modify(|(_, ends)| *ends += 1);
                }
                Event::Cancelled(key) => self.cancelled.push(key),
                _ => {}
            }
        }
        self.check();
    }

    fn check(&self) {
        assert!(self.calls.values().all(|(_, ends)| *ends <= 1), "a call has ended twice");
        assert_eq!(self.connection.pending_calls(), self.calls.values().filter(|(_, ends)| *ends == 0).count());
        assert!(
            self.due_responses.values().all(|due| *due >= 0) && self.due_null_responses >= 0,
            "a request has two answers"
        );
        if self.connection.config().profile.ordering == Ordering::Sequential {
            assert!(self.running.len() <= 1, "two requests run at the same time");
        }
    }
}

#[test]
fn every_call_ends_once_and_every_request_is_answered_once() {
    let sequential = Profile { ordering: Ordering::Sequential, ..Profile::GENERIC };
    for seed in 0..400 {
        let mut world = World::new(seed, if seed % 2 == 0 { Profile::GENERIC } else { sequential });
        for _ in 0..200 {
            world.step();
        }
        while let Some(key) = world.running.pop() {
            world.connection.respond(key, Ok(text("done")));
            world.drain();
        }
        assert!(
            world.due_responses.values().all(|due| *due == 0) && world.due_null_responses == 0,
            "a request has no answer"
        );
        world.connection.close();
        world.drain();
        assert!(world.calls.values().all(|(_, ends)| *ends == 1), "a call has not ended");
        assert!(!world.connection.has_output() && world.connection.poll_timeout().is_none());
    }
}
