//! Two connections and the simulated link between them.

use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use super::super::{CallKey, Config, Connection, Event};
use crate::message::{ErrorObject, Fault, Id, Incoming, Message, Outgoing, Payload, Request, RequestId};
use crate::profile::Profile;

/// A payload that tests can compare with a string.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text(pub(super) String);

impl Payload for Text {
    type Id = crate::message::Id;
    type Method = String;
    type Error = ErrorObject<Self>;
    const REPLY_BYTES: usize = 256;

    fn held_bytes(&self) -> usize {
        self.0.len()
    }

    fn held_bytes_of_error(error: &Self::Error) -> usize {
        error.message.len() + error.data.as_ref().map_or(0, Self::held_bytes)
    }
}

impl From<Fault> for ErrorObject<Text> {
    fn from(fault: Fault) -> Self {
        let data = fault.reason().map(|reason| text(reason.as_str()));
        Self { code: fault.code(), message: fault.message().into(), data }
    }
}

pub(super) fn text(text: &str) -> Text {
    Text(text.to_owned())
}

/// Time that a message is in transit, in milliseconds.
pub(super) const LATENCY: u64 = 10;

/// A client, a server, and the messages in transit.
pub(super) struct Pair {
    pub(super) client: Connection<Text>,
    pub(super) server: Connection<Text>,
    pub(super) now: u64,
    /// The messages in transit to the server, each with the time of its arrival.
    to_server: VecDeque<(u64, Incoming<Text>)>,
    /// The messages in transit to the client, each with the time of its arrival.
    to_client: VecDeque<(u64, Incoming<Text>)>,
    pub(super) client_events: Vec<Event<Text>>,
    pub(super) server_events: Vec<Event<Text>>,
    /// Whether messages in transit never arrive.
    pub(super) cut: bool,
}

impl Pair {
    pub(super) fn new() -> Self {
        Self::with(Config::new(Profile::GENERIC))
    }

    /// Creates a pair. `server` is the configuration of the server.
    pub(super) fn with(server: Config) -> Self {
        Self {
            client: Connection::new(Config::new(Profile::GENERIC)),
            server: Connection::new(server),
            now: 0,
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            client_events: Vec::new(),
            server_events: Vec::new(),
            cut: false,
        }
    }

    /// Drains both connections after an input, as a driver does.
    pub(super) fn drain(&mut self) {
        for (connection, wire, events, now) in [
            (&mut self.client, &mut self.to_server, &mut self.client_events, self.now),
            (&mut self.server, &mut self.to_client, &mut self.server_events, self.now),
        ] {
            connection.handle_timeout(now);
            while let Some(outgoing) = connection.poll_transmit() {
                match outgoing {
                    Outgoing::Single(message) => wire.push_back((now + LATENCY, Incoming::Single(Ok(message)))),
                    Outgoing::Batch(messages) => {
                        let entries = messages.into_iter().map(Ok::<Message<Text>, _>).collect();
                        wire.push_back((now + LATENCY, Incoming::Batch(entries)));
                    }
                    // Like a driver, the pair sends the cancellation as a notification. `deliver` passes the id to the
                    // peer.
                    Outgoing::Cancel(id) => wire.push_back((now + LATENCY, Incoming::Single(Ok(cancel(&id))))),
                }
            }
            while let Some(event) = connection.poll_event() {
                events.push(event);
            }
        }
    }

    /// Advances the time to the next arrival of a message or the next deadline. Returns false if no message will arrive
    /// and no call has a deadline.
    pub(super) fn step(&mut self) -> bool {
        self.drain();
        let arrivals = [self.to_server.front(), self.to_client.front()];
        let arrival = arrivals.into_iter().flatten().map(|(at, _)| *at).filter(|_| !self.cut).min();
        let deadline = [self.client.poll_timeout(), self.server.poll_timeout()].into_iter().flatten().min();
        let Some(next) = arrival.into_iter().chain(deadline).min() else { return false };
        self.now = self.now.max(next);
        while !self.cut && self.to_server.front().is_some_and(|(at, _)| *at <= self.now) {
            if let Some((_, incoming)) = self.to_server.pop_front() {
                deliver(&mut self.server, incoming);
            }
        }
        while !self.cut && self.to_client.front().is_some_and(|(at, _)| *at <= self.now) {
            if let Some((_, incoming)) = self.to_client.pop_front() {
                deliver(&mut self.client, incoming);
            }
        }
        self.drain();
        true
    }

    /// Advances the time until no message will arrive and no call has a deadline.
    pub(super) fn drive(&mut self) {
        for _ in 0..100_000 {
            if !self.step() {
                return;
            }
        }
        panic!("the connections must become idle within 100 000 steps");
    }
}

/// Sends one batch with a call of each method, by the fast path. Returns the keys of the calls.
pub(super) fn call_batch(
    connection: &mut Connection<Text>,
    batch: u32,
    methods: &[&str],
    timeout: u64,
) -> Vec<CallKey> {
    let mut keys = Vec::new();
    let mut messages = Vec::new();
    for &method in methods {
        let Ok(key) = connection.begin_call(Some(timeout), NonZeroU32::new(batch)) else { continue };
        let id = Id::from_call(key.id());
        messages.push(Message::Request(Request { id, method: method.to_owned(), params: Some(text(method)) }));
        keys.push(key);
    }
    if !messages.is_empty() {
        connection.transmits.push_back(Outgoing::Batch(messages));
    }
    keys
}

/// Returns the notification that cancels the request with this id.
fn cancel(id: &Id) -> Message<Text> {
    let method = "$/cancelRequest".to_owned();
    Message::Notification(crate::message::Notification { method, params: Some(Text(alloc::format!("{id}"))) })
}

/// Passes a message to a connection, as a driver does.
fn deliver(connection: &mut Connection<Text>, incoming: Incoming<Text>) {
    if let Incoming::Single(Ok(Message::Notification(notification))) = &incoming
        && notification.method == "$/cancelRequest"
    {
        let id = notification.params.as_ref().and_then(|Text(id)| Id::from_number_text(id));
        return connection.handle_cancel(&id.expect("the ids of outgoing calls are numbers"));
    }
    connection.handle(incoming);
}
