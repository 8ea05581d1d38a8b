//! The links, with their states and figures.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use super::durations::Durations;
use crate::limits::{MAX_LINK_TEXT_CHARACTERS, MAX_LINKS};
use crate::record::{Direction, Record, RecordKind};

/// The state of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// There was no `open` or `close` record.
    #[default]
    Unknown,
    /// The last `open` or `close` record is an `open` record.
    Open,
    /// The last `open` or `close` record is a `close` record.
    Closed,
}

/// The messages of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// The number of messages.
    pub messages: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// A link.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// The id in the records.
    pub id: String,
    /// The name for people.
    pub name: Option<String>,
    /// The transport.
    pub transport: Option<String>,
    /// The state.
    pub state: State,
    /// The time of the last `open` record.
    pub opened_at: Option<u64>,
    /// The number of `open` records.
    pub opens: u64,
    /// The time of the last `close` record.
    pub closed_at: Option<u64>,
    /// The code of the last `close` record.
    pub close_code: Option<i64>,
    /// The reason of the last `close` record.
    pub close_reason: Option<String>,
    /// The row of the last `close` record.
    pub close_row: Option<u64>,
    /// The messages that the owner of the link sent.
    pub sent: Traffic,
    /// The messages that the owner of the link received.
    pub received: Traffic,
    /// The number of rows with an error.
    pub errors: u64,
    /// The number of pending calls.
    pub pending: u64,
    /// The number of responses that no call waited for.
    pub unmatched: u64,
    /// The number of messages that the tap did not record.
    pub lost: u64,
    /// The durations of answered calls.
    pub durations: Durations,
    /// The duration of the last answered call.
    pub last_elapsed: Option<u64>,
    /// The time of the last record.
    pub last_at: u64,
}

impl Link {
    /// Returns the messages of a direction.
    pub const fn traffic_mut(&mut self, direction: Direction) -> &mut Traffic {
        match direction {
            Direction::Sent => &mut self.sent,
            Direction::Received => &mut self.received,
        }
    }

    /// Notes the members of a record that are about the link.
    pub fn note(&mut self, record: &Record<'_>, seq: u64) {
        self.last_at = self.last_at.max(record.at);
        if let Some(name) = record.name {
            self.name = Some(short(name));
        }
        if let Some(transport) = record.transport {
            self.transport = Some(short(transport));
        }
        match record.kind {
            RecordKind::Open => {
                self.state = State::Open;
                self.opened_at = Some(record.at);
                self.opens += 1;
            }
            RecordKind::Close => {
                self.state = State::Closed;
                self.closed_at = Some(record.at);
                self.close_code = record.code;
                self.close_reason = record.reason.map(short);
                self.close_row = Some(seq);
            }
            RecordKind::Gap => self.lost = self.lost.saturating_add(record.messages),
            RecordKind::Message | RecordKind::Invalid => {}
        }
    }

    /// Sets the figures to 0, and keeps the state. If the link had `open` records, `opens` becomes 1, so that no
    /// reconnects are counted.
    pub fn clear_figures(&mut self) {
        *self = Self {
            sent: Traffic::default(),
            received: Traffic::default(),
            errors: 0,
            pending: 0,
            unmatched: 0,
            lost: 0,
            opens: self.opens.min(1),
            durations: Durations::default(),
            last_elapsed: None,
            close_row: None,
            ..core::mem::take(self)
        };
    }
}

fn short(text: &str) -> String {
    text.chars().take(MAX_LINK_TEXT_CHARACTERS).collect()
}

/// All links, by their indexes and ids.
#[derive(Debug, Default)]
pub struct Links {
    links: Vec<Link>,
    by_id: BTreeMap<String, u32>,
}

impl Links {
    /// Returns the index of a link, which is added if it is new. Returns `None` if there are too many links.
    pub fn index(&mut self, id: &str) -> Option<u32> {
        if let Some(index) = self.by_id.get(id) {
            return Some(*index);
        }
        if self.links.len() >= MAX_LINKS {
            return None;
        }
        let index = self.links.len() as u32;
        self.links.push(Link { id: id.into(), ..Link::default() });
        self.by_id.insert(id.into(), index);
        Some(index)
    }

    /// Returns a link.
    #[must_use]
    pub fn get(&self, index: u32) -> Option<&Link> {
        self.links.get(index as usize)
    }

    /// Changes a link.
    pub fn update(&mut self, index: u32, change: impl FnOnce(&mut Link)) {
        if let Some(link) = self.links.get_mut(index as usize) {
            change(link);
        }
    }

    /// Iterates over all links, in the order of their indexes.
    pub fn iter(&self) -> impl Iterator<Item = &Link> {
        self.links.iter()
    }

    /// Sets the figures of all links to 0.
    pub fn clear_figures(&mut self) {
        self.links.iter_mut().for_each(Link::clear_figures);
    }
}
