//! Reads the records that the page passes. A record is a value of a peer, so each member may have any type.

use std::string::String;

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::inspector::Inspector;
use crate::record::{Direction, MAX_TIME, Record, RecordKind};
use crate::text::Length;

#[wasm_bindgen]
extern "C" {
    /// A record. The getters return values of any type.
    type JsRecord;

    #[wasm_bindgen(method, getter)]
    fn kind(this: &JsRecord) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn at(this: &JsRecord) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn link(this: &JsRecord) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn name(this: &JsRecord) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn transport(this: &JsRecord) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn direction(this: &JsRecord) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn text(this: &JsRecord) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn size(this: &JsRecord) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn omitted(this: &JsRecord) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn base64(this: &JsRecord) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn reason(this: &JsRecord) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn code(this: &JsRecord) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn messages(this: &JsRecord) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn bytes(this: &JsRecord) -> JsValue;
}

/// Passes a record to the inspector. Returns the reason if the value is not a record.
pub(super) fn take(inspector: &mut Inspector, value: &JsValue, matches_text: bool) -> Result<Length, &'static str> {
    // The record of another type has an empty link, so the inspector rejects it, and its number is used.
    let nothing = Record::new(RecordKind::Gap, 0, "");
    if !value.is_object() {
        let _ = inspector.take(&nothing);
        return Err("a record must be an object");
    }
    let record = value.unchecked_ref::<JsRecord>();
    let Some(kind) = kind(&record.kind()) else {
        let _ = inspector.take(&nothing);
        return Err("kind must be open, message, invalid, gap or close");
    };
    let Some(at) = integer(&record.at()).filter(|at| *at <= MAX_TIME) else {
        let _ = inspector.take(&nothing);
        return Err("at must be an integer from 0 to 2^53");
    };
    let link = record.link().as_string().unwrap_or_default();
    let is_connection = matches!(kind, RecordKind::Open | RecordKind::Close);
    let text_of = |value: JsValue| if is_connection { value.as_string() } else { None };
    let (name, transport) = (text_of(record.name()), text_of(record.transport()));
    let reason = text_of(record.reason());
    let text = if is_connection { None } else { record.text().as_string() };
    let base64 = match (&text, kind) {
        (None, RecordKind::Invalid) => record.base64().as_string(),
        _ => None,
    };
    let stored = text.as_ref().or(base64.as_ref()).map_or(0, String::len);
    inspector.take(&Record {
        name: name.as_deref(),
        transport: transport.as_deref(),
        direction: direction(&record.direction()),
        text: text.as_deref(),
        text_bytes: stored,
        size: integer(&record.size()),
        omitted: integer(&record.omitted()).unwrap_or_default(),
        reason: reason.as_deref(),
        code: record.code().as_f64().filter(|code| code.fract() == 0.0).map(|code| code as i64),
        messages: integer(&record.messages()).unwrap_or_default(),
        bytes: integer(&record.bytes()),
        matches_text,
        ..Record::new(kind, at, &link)
    })
}

fn kind(value: &JsValue) -> Option<RecordKind> {
    Some(match &*value.as_string()? {
        "open" => RecordKind::Open,
        "message" => RecordKind::Message,
        "invalid" => RecordKind::Invalid,
        "gap" => RecordKind::Gap,
        "close" => RecordKind::Close,
        _ => return None,
    })
}

fn direction(value: &JsValue) -> Option<Direction> {
    match &*value.as_string()? {
        "sent" => Some(Direction::Sent),
        "received" => Some(Direction::Received),
        _ => None,
    }
}

/// Returns a non-negative integer.
fn integer(value: &JsValue) -> Option<u64> {
    let number = value.as_f64()?;
    (number >= 0.0 && number.fract() == 0.0 && number <= MAX_TIME as f64).then_some(number as u64)
}
