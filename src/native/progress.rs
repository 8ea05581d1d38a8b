//! The notification `$/progress` with the params `{ token, value }`. The token is the id of the request.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::Text;
use crate::message::{Id, RequestId};

pub(super) const METHOD: &str = "$/progress";

#[derive(Serialize, Deserialize)]
struct Progress<'a> {
    #[serde(borrow)]
    token: &'a RawValue,
    #[serde(borrow)]
    value: &'a RawValue,
}

pub(super) fn write(id: &Id, value: &RawValue) -> Option<Text> {
    to_raw_value(&Progress { token: &id_text(id)?, value }).ok()
}

/// Returns the id of the call and the progress value. Returns `None` for any other params, which other protocols use
/// under this name.
pub(super) fn read(params: &RawValue) -> Option<(u64, &RawValue)> {
    let Progress { token, value } = serde_json::from_str(params.get()).ok()?;
    Some((read_id(token)?.to_call()?, value))
}

/// Returns the JSON text of an id.
pub(super) fn id_text(id: &Id) -> Option<Text> {
    let text = match id {
        Id::Null => to_raw_value(&()),
        Id::Integer(integer) => to_raw_value(integer),
        Id::Number(number) => RawValue::from_string(number.as_str().into()),
        Id::String(string) => to_raw_value(string),
    };
    text.ok()
}

pub(super) fn read_id(text: &RawValue) -> Option<Id> {
    match text.get() {
        "null" => Some(Id::Null),
        string if string.starts_with('"') => serde_json::from_str(string).ok().map(Id::String),
        number => Id::from_number_text(number),
    }
}
