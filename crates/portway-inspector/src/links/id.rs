//! The ids of calls, as the inspector stores them.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};

use portway_proto::message::{Id, RequestId};

use crate::limits::MAX_ID_BYTES;

/// The part of a long id that is stored, in bytes.
const PREFIX_LENGTH: usize = 64;

/// Returns the id in the form in which ids are compared. Ids match as in the protocol core: by type and text, except
/// that numbers match by value if the value is an integer. So a response with the id `1.0` ends the call `1`.
#[must_use]
pub fn matching(id: Id) -> Id {
    match id.to_call().and_then(|number| i64::try_from(number).ok()) {
        Some(number) => Id::Integer(number),
        None => id,
    }
}

/// Returns a short id as it is. A long id becomes a string with its beginning, its length and a hash. Equal ids remain
/// equal, and different ids remain different, except for collisions of the hash.
#[must_use]
pub fn bounded(id: Id) -> Id {
    let (kind, text) = match &id {
        Id::String(text) if text.len() > MAX_ID_BYTES => ("", &**text),
        Id::Number(text) if text.as_str().len() > MAX_ID_BYTES => ("number ", text.as_str()),
        _ => return id,
    };
    let hash = [0xcbf2_9ce4_8422_2325, 0x6c62_272e_07bb_0142].map(|seed| fnv(text, seed));
    let prefix = prefix(text, PREFIX_LENGTH);
    Id::String(format!("{prefix}… ({kind}{} bytes, {:016x}{:016x})", text.len(), hash[0], hash[1]).into())
}

/// The hash FNV-1a of a text.
fn fnv(text: &str, seed: u64) -> u64 {
    text.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

fn prefix(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    text.get(..end).unwrap_or_default()
}

/// Returns the id as JSON: `1`, `"1"` or `null`.
#[must_use]
pub fn json(id: &Id) -> String {
    match id {
        Id::String(text) => serde_json::to_string(&**text).unwrap_or_default(),
        other => other.to_string(),
    }
}

/// Returns whether the whole id, as text, is `wanted`: `1` matches the ids `1`, `1.0` and `"1"`, but not `11`. `null`
/// matches the ids null and `"null"`.
#[must_use]
pub fn is_text(id: &Id, wanted: &str) -> bool {
    match id {
        Id::Null => wanted == "null",
        Id::Integer(number) => Id::from_number_text(wanted) == Some(Id::Integer(*number)),
        Id::String(text) if wanted.len() > MAX_ID_BYTES => {
            matches!(bounded(Id::from(wanted)), Id::String(wanted) if wanted == *text)
        }
        Id::String(text) => **text == *wanted,
        Id::Number(text) => {
            // JavaScript writes the number 1.0 as `1`.
            text.as_str() == wanted || id.to_call().is_some_and(|number| number.to_string() == wanted)
        }
    }
}

/// Returns the id that has the same text and another type, if such an id exists: `1` for `"1"`, and the reverse.
#[must_use]
pub fn other_type(id: &Id) -> Option<Id> {
    match id {
        Id::Integer(number) => Some(Id::String(number.to_string().into())),
        Id::Number(text) => Some(Id::String(text.as_str().to_owned().into())),
        Id::String(text) => Id::from_number_text(text).map(matching),
        Id::Null => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_ids_are_bounded_and_stay_different() {
        let long = "é".repeat(10_000);
        let id = bounded(Id::from(&*long));
        assert_eq!(id, bounded(Id::from(&*long)));
        assert_ne!(id, bounded(Id::from(&*format!("{long}x"))));
        assert!(json(&id).len() < 2 * MAX_ID_BYTES);
        assert!(is_text(&id, &long) && !is_text(&id, &long[2..]));
        let digits = "1".repeat(1_000);
        let number = Id::from_number_text(&digits).map(bounded);
        assert_ne!(number, Some(bounded(Id::from(&*digits))));
    }

    #[test]
    fn ids_match_by_type_and_value() {
        let id = |text: &str| Id::from_number_text(text).map_or_else(|| Id::from(text), matching);
        assert_eq!(id("1.0"), id("1"));
        assert_eq!(id("10e-1"), id("1"));
        assert_ne!(id("1"), Id::from("1"));
        assert_ne!(id("1.5"), id("1"));
        assert_eq!(other_type(&id("1")), Some(Id::from("1")));
        assert_eq!(other_type(&Id::from("1")), Some(id("1")));
        assert_eq!(other_type(&Id::from("a")), None);
    }
}
