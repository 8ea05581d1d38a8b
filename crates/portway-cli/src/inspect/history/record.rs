//! The members of a record that a history reads.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Count, Direction, Kind};
use crate::limits::MAX_LINK_CHARACTERS;

/// The largest integer that a record may contain. Numbers of JavaScript represent all integers up to this one exactly.
const MAX_INTEGER: u64 = 1 << 53;

/// The members of a record that decide how the record is counted.
#[derive(Deserialize)]
pub(super) struct Members<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) link: Cow<'a, str>,
    at: u64,
    direction: Option<Direction>,
    size: Option<u64>,
    messages: Option<u64>,
    bytes: Option<u64>,
}

impl<'a> Members<'a> {
    /// Returns `None` if the line is not a record of a tap.
    pub(super) fn parse(line: &'a [u8]) -> Option<(Self, Kind)> {
        // Serde also accepts an array for a struct.
        if !line.trim_ascii_start().starts_with(b"{") {
            return None;
        }
        let members: Self = serde_json::from_str(str::from_utf8(line).ok()?).ok()?;
        let numbers = [Some(members.at), members.size, members.messages, members.bytes];
        let is_valid = numbers.into_iter().flatten().all(|number| number <= MAX_INTEGER)
            && (1..=MAX_LINK_CHARACTERS).contains(&members.link.chars().take(MAX_LINK_CHARACTERS + 1).count());
        let kind = if is_valid { members.kind()? } else { return None };
        Some((members, kind))
    }

    fn kind(&self) -> Option<Kind> {
        let count = match &*self.kind {
            "open" => return Some(Kind::Open),
            "close" => return Some(Kind::Close),
            "gap" => Count { messages: self.messages.unwrap_or(0), bytes: self.bytes.unwrap_or(0) },
            "message" | "invalid" => Count { messages: 1, bytes: self.size.unwrap_or(0) },
            _ => return None,
        };
        Some(self.direction.map_or(Kind::Other, |direction| Kind::Messages(direction, count)))
    }
}
