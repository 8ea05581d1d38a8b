//! The limits of a conversion: a maximum number of visits, and a maximum length of the peer's text that an error
//! repeats. Each value and each key costs one visit or more.

use core::cell::Cell;
use core::fmt::{self, Display, Write};

use js_sys::Array;
use serde::de::{self, Expected, Unexpected};
use wasm_bindgen::{JsCast, JsValue};

use super::limits::{MAX_ERROR_LENGTH, MAX_NESTING};
use portway_proto::MAX_ECHO_LENGTH;

/// The number of bytes of a string or buffer that cost one further visit.
pub(super) const BYTES_PER_VISIT: usize = 16;

/// The number of bytes of a Rust value in memory that cost one further visit.
pub(super) const SIZE_PER_VISIT: usize = 256;

/// The reason why a value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReadError {
    TooDeep,
    /// The value needs more visits than this limit.
    TooManyVisits(usize),
    /// A getter or a proxy throws an error.
    Unreadable,
    /// The value is not of the expected type.
    Invalid(String),
}

impl ReadError {
    /// Returns the `data.reason` of an error response, or `None` if the value exceeds no limit.
    pub(super) const fn reason(&self) -> Option<&'static str> {
        match self {
            Self::TooDeep => Some("nesting-too-deep"),
            Self::TooManyVisits(_) => Some("too-many-visits"),
            Self::Unreadable | Self::Invalid(_) => None,
        }
    }
}

impl Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooDeep => write!(f, "the value is nested more than {MAX_NESTING} levels deep"),
            Self::TooManyVisits(limit) => write!(f, "the value takes more than {limit} visits to read"),
            Self::Unreadable => f.write_str("the value has a getter or a proxy that throws an error"),
            Self::Invalid(problem) => f.write_str(problem),
        }
    }
}

impl core::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: Display>(message: T) -> Self {
        let mut text = BoundedText { text: String::new(), room: MAX_ERROR_LENGTH };
        // When the text is full, `write!` fails, and the rest of the message is omitted.
        let _ = write!(text, "{message}");
        Self::Invalid(text.text)
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid type: {}, expected {expected}", shorten_string(unexpected)))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid value: {}, expected {expected}", shorten_string(unexpected)))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format_args!(
            "unknown variant `{}`, expected one of {expected:?}",
            shortened(variant, MAX_ECHO_LENGTH)
        ))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format_args!(
            "unknown field `{}`, expected one of {expected:?}",
            shortened(field, MAX_ECHO_LENGTH)
        ))
    }
}

/// Shortens an unexpected string. Returns other values unchanged.
fn shorten_string(unexpected: Unexpected<'_>) -> Unexpected<'_> {
    match unexpected {
        Unexpected::Str(text) => Unexpected::Str(shortened(text, MAX_ECHO_LENGTH)),
        other => other,
    }
}

/// Returns the first `characters` characters of a text.
fn shortened(text: &str, characters: usize) -> &str {
    // A character has at least one byte, so a text of at most `characters` bytes is short enough.
    if text.len() <= characters {
        return text;
    }
    text.char_indices().nth(characters).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// A text of limited length.
struct BoundedText {
    text: String,
    room: usize,
}

impl Write for BoundedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let start = shortened(text, self.room);
        self.text.push_str(start);
        self.room -= start.chars().count();
        if start.len() == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// The number of visits that one conversion may still make.
pub(super) struct Visits {
    /// The number of remaining visits, or `None` after the limit was exceeded.
    remaining: Cell<Option<usize>>,
    limit: usize,
}

impl Visits {
    pub(super) fn new(limit: usize) -> Self {
        Self { remaining: Cell::new(Some(limit)), limit }
    }

    /// Subtracts visits. Returns an error if fewer visits remain, or if the limit was exceeded before.
    pub(super) fn spend(&self, visits: usize) -> Result<(), ReadError> {
        let left = self.remaining.get().and_then(|left| left.checked_sub(visits));
        self.remaining.set(left);
        left.map(drop).ok_or(ReadError::TooManyVisits(self.limit))
    }

    /// Records that the limit is exceeded, and returns the error.
    pub(super) fn exceed(&self) -> ReadError {
        self.remaining.set(None);
        ReadError::TooManyVisits(self.limit)
    }

    /// Returns whether the limit was exceeded.
    pub(super) fn is_exceeded(&self) -> bool {
        self.remaining.get().is_none()
    }

    /// Returns the number of remaining visits. The next value can have at most this number of elements or members,
    /// because each of them costs a visit.
    pub(super) fn remaining(&self) -> u32 {
        self.remaining.get().unwrap_or(0).try_into().unwrap_or(u32::MAX)
    }

    /// Checks a list of elements or members from JavaScript. The list is an array, null if it would be too long, or
    /// `undefined` after an exception.
    pub(super) fn parts(&self, parts: JsValue) -> Result<Array, ReadError> {
        if parts.is_undefined() {
            Err(ReadError::Unreadable)
        } else if parts.is_null() {
            Err(self.exceed())
        } else {
            Ok(parts.unchecked_into())
        }
    }
}
