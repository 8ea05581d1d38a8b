//! The members of a record that a history reads.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Count, Direction, Kind};

/// The members of a record that decide how the record is counted.
#[derive(Deserialize)]
pub(super) struct Members<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) link: Cow<'a, str>,
    direction: Option<Direction>,
    size: Option<u64>,
    messages: Option<u64>,
    bytes: Option<u64>,
}

impl Members<'_> {
    pub(super) fn kind(&self) -> Kind {
        let count = match &*self.kind {
            "open" => return Kind::Open,
            "close" => return Kind::Close,
            "gap" => Count { messages: self.messages.unwrap_or(0), bytes: self.bytes.unwrap_or(0) },
            _ => Count { messages: 1, bytes: self.size.unwrap_or(0) },
        };
        self.direction.map_or(Kind::Other, |direction| Kind::Messages(direction, count))
    }
}
