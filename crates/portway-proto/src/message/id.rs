//! Request ids. An id retains its exact text.

use alloc::boxed::Box;
use core::fmt;

/// A type for the ids of requests. The ids of outgoing calls are consecutive numbers.
pub trait RequestId: Clone + PartialEq + fmt::Debug {
    /// `null`.
    const NULL: Self;

    /// Creates the id of the outgoing call with this number.
    fn from_call(call: u64) -> Self;

    /// Returns the number of the outgoing call with this id, or `None` if no outgoing call can have this id.
    fn to_call(&self) -> Option<u64>;

    /// Returns the number of bytes that the id holds on the heap. These bytes count towards
    /// [`Limits::in_flight_bytes`](crate::Limits::in_flight_bytes).
    fn held_bytes(&self) -> usize {
        0
    }
}

/// The `id` of a request or response (JSON-RPC 2.0 §4, §5).
///
/// A request without an id is a notification. `null` is an id. Ids are equal if their types and texts are equal. So
/// `1`, `"1"` and `1.0` are three different ids, and a response of Portway repeats the id of its request unchanged. The
/// peer may be less exact: its response with the id `1.0` ends the call `1`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Id {
    /// `null`.
    Null,
    /// An integer whose text is its canonical decimal form.
    Integer(i64),
    /// The text of any other number, for example `1.0`, `1e2`, `-0` or `12345678901234567890123`.
    Number(NumberText),
    /// A string. The empty string is a valid id.
    String(Box<str>),
}

impl Id {
    /// Creates the id for a JSON number from its exact text in the message.
    ///
    /// Returns `None` if `text` is not a JSON number (RFC 8259 §6).
    #[must_use]
    pub fn from_number_text(text: &str) -> Option<Self> {
        // This fast path handles the form of most ids.
        if let ([b'1'..=b'9', ..], Ok(integer)) = (text.as_bytes(), text.parse()) {
            return Some(Self::Integer(integer));
        }
        if !is_json_number(text) {
            return None;
        }
        match text.parse::<i64>() {
            // "-0" parses as 0. As an integer, the id in the response would lack the sign.
            Ok(integer) if text != "-0" => Some(Self::Integer(integer)),
            _ => Some(Self::Number(NumberText(text.into()))),
        }
    }
}

impl RequestId for Id {
    const NULL: Self = Self::Null;

    fn from_call(call: u64) -> Self {
        // The cast does not overflow, because no program makes 2^63 calls.
        Self::Integer(call as i64)
    }

    fn to_call(&self) -> Option<u64> {
        match self {
            Self::Integer(id) => u64::try_from(*id).ok(),
            // Some JSON libraries read each number as a double, and return the id 1 as 1.0.
            Self::Number(text) => whole_number(text.as_str()),
            Self::Null | Self::String(_) => None,
        }
    }

    fn held_bytes(&self) -> usize {
        match self {
            Self::Null | Self::Integer(_) => 0,
            Self::Number(text) => text.as_str().len(),
            Self::String(text) => text.len(),
        }
    }
}

impl From<i64> for Id {
    fn from(integer: i64) -> Self {
        Self::Integer(integer)
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

/// Strings are quoted, so that `92` and `"92"` differ in a log.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Integer(integer) => fmt::Display::fmt(integer, f),
            Self::Number(text) => f.write_str(text.as_str()),
            Self::String(text) => fmt::Debug::fmt(text, f),
        }
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text of a JSON number that is not a canonical integer.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NumberText(Box<str>);

impl NumberText {
    /// Returns the text in the message.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for NumberText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the integer from 0 to 2^53 that a JSON number stands for. `5`, `5.0` and `50e-1` are all 5, as in
/// JavaScript. Returns `None` for any other text.
pub(crate) fn whole_number(text: &str) -> Option<u64> {
    /// A double can represent each integer up to this number.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

    let number: f64 = text.parse().ok()?;
    let integer = number as u64;
    (integer as f64 == number && number <= MAX_EXACT).then_some(integer)
}

/// Checks the grammar of RFC 8259 §6: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`.
fn is_json_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let Some(rest) = unsigned.strip_prefix('0').or_else(|| after_digits(unsigned)) else {
        return false;
    };
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => match after_digits(fraction) {
            Some(rest) => rest,
            None => return false,
        },
        None => rest,
    };
    match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => after_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)) == Some(""),
        None => rest.is_empty(),
    }
}

/// Returns the text after its leading digits, or `None` if the text does not begin with a digit.
fn after_digits(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn number_ids_keep_their_text() {
        for text in
            ["0", "-0", "1", "-1", "1.0", "1e2", "1E+2", "0.1", "12345678901234567890123", "9223372036854775807"]
        {
            assert_eq!(Id::from_number_text(text).map(|id| id.to_string()).as_deref(), Some(text));
        }
    }

    #[test]
    fn only_the_canonical_form_of_an_integer_becomes_an_integer_id() {
        assert_eq!(Id::from_number_text("7"), Some(Id::Integer(7)));
        assert_ne!(Id::from_number_text("7.0"), Some(Id::Integer(7)));
        assert_ne!(Id::from("7"), Id::Integer(7));
    }

    #[test]
    fn a_whole_number_may_have_a_fraction_of_zero_or_an_exponent() {
        for (text, number) in [("5", 5), ("5.0", 5), ("5e0", 5), ("50e-1", 5), ("0.5E+1", 5), ("-0", 0)] {
            assert_eq!(whole_number(text), Some(number), "{text}");
        }
        for text in ["-5", "5.5", "5e-1", "1e300", "1e999", "9007199254740993.5e1", "true", "\"5\"", ""] {
            assert_eq!(whole_number(text), None, "{text}");
        }
    }

    #[test]
    fn a_response_may_have_the_number_of_its_call_in_another_form() {
        let call = |text| Id::from_number_text(text).and_then(|id| id.to_call());
        assert_eq!(["43", "43.0", "4.3e1"].map(call), [Some(43); 3]);
        assert_eq!(["43.5", "-43.0", "1e300"].map(call), [None; 3]);
        assert_eq!(Id::from("43").to_call(), None);
    }

    #[test]
    fn text_that_is_not_a_json_number_is_not_an_id() {
        for text in ["", "-", "+1", "01", "-01", "1.", ".1", "1e", "1e+", "0x1", "NaN", "Infinity", "1 ", " 1", "1a"] {
            assert_eq!(Id::from_number_text(text), None, "{text:?}");
        }
    }

    #[test]
    fn strings_are_displayed_in_quotes() {
        assert_eq!(Id::from("92").to_string(), "\"92\"");
        assert_eq!(Id::Integer(92).to_string(), "92");
    }
}
