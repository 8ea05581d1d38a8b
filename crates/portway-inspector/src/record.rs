//! The records of a tap, as `docs/tap.md` describes them.

use serde::{Deserialize, Serialize};

use crate::limits::MAX_LINK_CHARACTERS;

/// The largest time, in microseconds since 1970-01-01 UTC: a double is exact up to this number.
pub const MAX_TIME: u64 = 1 << 53;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordKind {
    /// The first record of a connection.
    Open,
    /// A message crossed the link.
    Message,
    /// Bytes, text or a value that is not a message crossed the link.
    Invalid,
    /// The tap did not record some messages.
    Gap,
    /// The last record of a connection.
    Close,
}

/// The direction of a message, as the owner of the link sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The owner of the link sent the message.
    Sent,
    /// The owner of the link received the message.
    Received,
}

impl Direction {
    /// Returns the direction of the responses to requests of this direction.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Sent => Self::Received,
            Self::Received => Self::Sent,
        }
    }
}

/// A record, with the members that the core uses.
#[derive(Clone, Copy, Debug)]
pub struct Record<'r> {
    /// The kind.
    pub kind: RecordKind,
    /// The time in microseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The id of the link.
    pub link: &'r str,
    /// The name of the link for people.
    pub name: Option<&'r str>,
    /// The transport of the link.
    pub transport: Option<&'r str>,
    /// The direction. Only messages, invalid messages and gaps have one.
    pub direction: Option<Direction>,
    /// The text of the message.
    pub text: Option<&'r str>,
    /// The number of bytes that the page stores for the record: those of `text` or of `base64`.
    pub text_bytes: usize,
    /// The size of the message in bytes.
    pub size: Option<u64>,
    /// The number of characters that were removed from the end of the text.
    pub omitted: u64,
    /// The reason of a close, or of an invalid message.
    pub reason: Option<&'r str>,
    /// The code of a close.
    pub code: Option<i64>,
    /// The number of messages in a gap.
    pub messages: u64,
    /// The total size of the messages in a gap.
    pub bytes: Option<u64>,
    /// Whether the text matches the text filter of the page.
    pub matches_text: bool,
}

impl<'r> Record<'r> {
    /// Creates a record without optional members.
    #[must_use]
    pub const fn new(kind: RecordKind, at: u64, link: &'r str) -> Self {
        Self {
            kind,
            at,
            link,
            name: None,
            transport: None,
            direction: None,
            text: None,
            text_bytes: 0,
            size: None,
            omitted: 0,
            reason: None,
            code: None,
            messages: 0,
            bytes: None,
            matches_text: false,
        }
    }

    /// Creates the record of a message.
    #[must_use]
    pub const fn message(at: u64, link: &'r str, direction: Direction, text: &'r str) -> Self {
        Self {
            direction: Some(direction),
            text: Some(text),
            text_bytes: text.len(),
            size: Some(text.len() as u64),
            ..Self::new(RecordKind::Message, at, link)
        }
    }

    /// Returns the reason why this is not a record, or `None` for a record.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        let needs_direction = matches!(self.kind, RecordKind::Message | RecordKind::Invalid | RecordKind::Gap);
        if self.at > MAX_TIME {
            Some("at must be at most 2^53")
        } else if self.link.is_empty() || self.link.chars().nth(MAX_LINK_CHARACTERS).is_some() {
            Some("link must be a string of 1 to 200 characters")
        } else if needs_direction && self.direction.is_none() {
            Some("direction must be sent or received")
        } else if self.kind == RecordKind::Message && self.text.is_none() {
            Some("text must be a string")
        } else {
            None
        }
    }
}
