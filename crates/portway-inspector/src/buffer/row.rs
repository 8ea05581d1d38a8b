//! The rows of the history.

use portway_proto::message::Id;
use portway_proto::validate::{Findings, Severity};

use crate::classify::Kind;
use crate::links::MethodId;
use crate::record::Direction;

/// The value of an absent duration, size or sequence number. Present values are below 2^53.
const ABSENT: u64 = u64::MAX;

/// A row: everything about a record except its text. A history has up to a million rows, so the fields are compact.
#[derive(Clone, Debug)]
pub struct Row {
    /// The sequence number.
    pub seq: u64,
    /// The time of the record, in microseconds since 1970-01-01 UTC.
    pub at: u64,
    size: u64,
    partner: u64,
    elapsed: u64,
    code: i64,
    /// The id of the message, as it is displayed.
    pub id: Option<Id>,
    /// The bytes of the text that the page stores.
    pub text_bytes: u32,
    /// The length of the text as compact JSON, in UTF-16 code units.
    pub length: u32,
    /// The number of messages in a batch or a gap.
    pub items: u32,
    /// The index of the link.
    pub link: u32,
    /// The method of the message, or of the call that a response ends.
    pub method: MethodId,
    /// The findings of the validator, or those of all messages in a batch.
    pub findings: Findings,
    /// The measured height in 64ths of a pixel, or 0 if the row was not measured.
    pub measured: u32,
    /// The flags.
    pub flags: Flags,
    /// The kind.
    pub kind: Kind,
    /// The direction. Rows of the kinds `Open` and `Close` have none.
    pub direction: Option<Direction>,
    /// The index of the time bucket.
    pub bucket: u8,
}

impl Row {
    /// Creates a row.
    #[must_use]
    pub fn new(seq: u64, at: u64, link: u32, kind: Kind) -> Self {
        Self {
            seq,
            at,
            size: ABSENT,
            partner: ABSENT,
            elapsed: ABSENT,
            code: i64::MIN,
            id: None,
            text_bytes: 0,
            length: 0,
            items: 0,
            link,
            method: MethodId::NONE,
            findings: Findings::NONE,
            measured: 0,
            flags: Flags::default(),
            kind,
            direction: None,
            bucket: 0,
        }
    }

    /// Returns the size of the message in bytes.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        present(self.size)
    }

    /// Sets the size of the message.
    pub fn set_size(&mut self, size: Option<u64>) {
        self.size = size.unwrap_or(ABSENT);
    }

    /// Returns the row of the response to this request, or of the request of this response. A batch and its response
    /// array are partners in the same way.
    #[must_use]
    pub fn partner(&self) -> Option<u64> {
        present(self.partner)
    }

    /// Sets the partner, as [`partner`](Self::partner) returns it.
    pub const fn set_partner(&mut self, partner: u64) {
        self.partner = partner;
    }

    /// Returns the duration from a request to its response, in microseconds.
    #[must_use]
    pub fn elapsed(&self) -> Option<u64> {
        present(self.elapsed)
    }

    /// Sets the duration from a request to its response.
    pub const fn set_elapsed(&mut self, elapsed: u64) {
        self.elapsed = elapsed;
    }

    /// Returns the code of an error or of a close.
    #[must_use]
    pub fn code(&self) -> Option<i64> {
        Some(self.code).filter(|code| *code != i64::MIN)
    }

    /// Sets the code of an error or of a close.
    pub fn set_code(&mut self, code: Option<i64>) {
        self.code = code.unwrap_or(i64::MIN);
    }

    /// Returns whether a call of this row is pending.
    #[must_use]
    pub const fn is_pending(&self) -> bool {
        self.flags.has(Flags::PENDING)
    }

    /// Returns whether a finding about the message, or a fault of the row, is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        !self.findings.is_valid()
            || self.kind == Kind::Invalid
            || self.flags.has(Flags::ENDED)
            || self.flags.has(Flags::INCOMPLETE)
            || (self.flags.has(Flags::UNMATCHED) && !self.flags.has(Flags::EXCUSED))
    }

    /// Returns whether a finding about the message, or a fault of the row, is a warning.
    #[must_use]
    pub fn has_warnings(&self) -> bool {
        self.kind == Kind::Gap
            || self.flags.has(Flags::REPEATED_ID)
            || self.flags.has(Flags::EXCUSED)
            || self.has_validator_warnings()
    }

    /// Returns whether the validator has a warning about the row.
    #[must_use]
    pub fn has_validator_warnings(&self) -> bool {
        self.findings.iter().any(|rule| rule.severity() == Severity::Warning)
    }

    /// Returns whether the row is invalid: it is not a message, or breaks a rule of the specification.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.kind == Kind::Invalid || !self.findings.is_valid()
    }
}

const fn present(number: u64) -> Option<u64> {
    if number == ABSENT { None } else { Some(number) }
}

/// Flags of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// A call of the row is pending.
    pub const PENDING: Self = Self(1);
    /// All calls of the row have a response.
    pub const ANSWERED: Self = Self(1 << 1);
    /// The link closed before a call of the row had a response.
    pub const ENDED: Self = Self(1 << 2);
    /// No call waited for the response, or for one of the responses in an array.
    pub const UNMATCHED: Self = Self(1 << 3);
    /// When the request was recorded, another call with the same id was pending.
    pub const REPEATED_ID: Self = Self(1 << 4);
    /// The text is not the whole message.
    pub const CUT: Self = Self(1 << 5);
    /// The page stores the text.
    pub const HAS_TEXT: Self = Self(1 << 6);
    /// The text matches the text filter.
    pub const MATCHES_TEXT: Self = Self(1 << 7);
    /// The row is a batch that has only notifications.
    pub const ONLY_NOTIFICATIONS: Self = Self(1 << 8);
    /// The row is a batch with an error.
    pub const BATCH_ERROR: Self = Self(1 << 9);
    /// The row meets all conditions of the filter except the tab.
    pub const COUNTED: Self = Self(1 << 10);
    /// The row is in the list.
    pub const SHOWN: Self = Self(1 << 11);

    /// The request of an unmatched response may have been sent before the recording began, or in a gap.
    pub const EXCUSED: Self = Self(1 << 12);

    /// The row is an array of responses that answers only a part of its batch.
    pub const INCOMPLETE: Self = Self(1 << 13);

    /// Returns whether all flags of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Sets or clears the flags of `other`.
    pub const fn set(&mut self, other: Self, on: bool) {
        if on {
            self.0 |= other.0;
        } else {
            self.0 &= !other.0;
        }
    }
}
