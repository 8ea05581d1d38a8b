//! Reads the records that the page passes. Another page or a file has made them, so each member may have any type.

use std::borrow::Cow;
use std::string::String;
use std::vec;
use std::vec::Vec;

use js_sys::JsString;
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

    #[derive(Debug)]
    type TextEncoder;

    #[wasm_bindgen(constructor)]
    fn new() -> TextEncoder;
    #[wasm_bindgen(method, js_name = encodeInto)]
    fn encode_into(this: &TextEncoder, text: &JsString, bytes: &mut [u8]) -> Encoded;

    type Encoded;

    #[wasm_bindgen(method, getter)]
    fn written(this: &Encoded) -> f64;
}

/// The maximum length of a text that is copied to the buffer of [`Texts`], in UTF-16 units.
const MAX_BUFFERED: usize = 65_536;

/// The maximum number of bytes of a UTF-16 unit in UTF-8.
const BYTES_PER_UNIT: usize = 3;

/// Copies texts from JavaScript into one buffer. Without the buffer, wasm-bindgen would compute the size of each text
/// and allocate memory for the text. For a message of a usual length, this takes as long as the copy itself.
#[derive(Debug)]
struct Texts {
    encoder: TextEncoder,
    buffer: Vec<u8>,
}

impl Default for Texts {
    fn default() -> Self {
        Self { encoder: TextEncoder::new(), buffer: vec![0; MAX_BUFFERED * BYTES_PER_UNIT] }
    }
}

impl Texts {
    /// Returns a copy of a string, or `None` for a value of another type.
    fn read(&mut self, value: &JsValue) -> Option<Cow<'_, str>> {
        let text = value.dyn_ref::<JsString>()?;
        if text.length() as usize > MAX_BUFFERED {
            return value.as_string().map(Cow::Owned);
        }
        let written = self.encoder.encode_into(text, &mut self.buffer).written() as usize;
        // The encoder replaces lone surrogates, so the bytes are UTF-8.
        std::str::from_utf8(self.buffer.get(..written)?).ok().map(Cow::Borrowed)
    }
}

/// Reads records. Most `kind`, `direction` and `link` members have one of few values. To compare a JavaScript string
/// with such a value is faster than to copy the string, so the values are compared first.
#[derive(Debug)]
pub(super) struct Reader {
    texts: Texts,
    message: JsValue,
    sent: JsValue,
    received: JsValue,
    /// The member `link` of the last record.
    link: JsValue,
    /// The copy of `link` as a string, or an empty string if `link` is not a string.
    link_copy: String,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            texts: Texts::default(),
            message: "message".into(),
            sent: "sent".into(),
            received: "received".into(),
            link: JsValue::UNDEFINED,
            link_copy: String::new(),
        }
    }
}

impl Reader {
    /// Passes a record to the inspector, as one of many. Returns the reason if the value is not a record.
    pub(super) fn take(
        &mut self,
        inspector: &mut Inspector,
        value: &JsValue,
        matches_text: bool,
    ) -> Result<Length, &'static str> {
        // If the value is not a record, the inspector takes this record instead. The inspector rejects this record,
        // because its link is empty, but uses a sequence number for it.
        let rejected = Record::new(RecordKind::Gap, 0, "");
        if !value.is_object() {
            let _ = inspector.take_one_of_many(&rejected);
            return Err("a record must be an object");
        }
        let record = value.unchecked_ref::<JsRecord>();
        let Some(kind) = self.kind(&record.kind()) else {
            let _ = inspector.take_one_of_many(&rejected);
            return Err("kind must be open, message, invalid, gap or close");
        };
        let Some(at) = integer(&record.at()).filter(|at| *at <= MAX_TIME) else {
            let _ = inspector.take_one_of_many(&rejected);
            return Err("at must be an integer from 0 to 2^53");
        };
        self.read_link(record.link());
        let direction = self.direction(&record.direction());
        if matches!(kind, RecordKind::Message | RecordKind::Invalid) {
            let text = self.texts.read(&record.text());
            let base64 = match (&text, kind) {
                (None, RecordKind::Invalid) => record.base64().as_string(),
                _ => None,
            };
            let bytes = text.as_deref().or(base64.as_deref()).map_or(0, str::len);
            return inspector.take_one_of_many(&Record {
                direction,
                text: text.as_deref(),
                text_bytes: bytes,
                size: integer(&record.size()),
                omitted: integer(&record.omitted()).unwrap_or_default(),
                matches_text,
                ..Record::new(kind, at, &self.link_copy)
            });
        }
        let is_connection = matches!(kind, RecordKind::Open | RecordKind::Close);
        let text_of = |value: JsValue| if is_connection { value.as_string() } else { None };
        let (name, transport) = (text_of(record.name()), text_of(record.transport()));
        let reason = text_of(record.reason());
        let text = if is_connection { None } else { record.text().as_string() };
        inspector.take_one_of_many(&Record {
            name: name.as_deref(),
            transport: transport.as_deref(),
            direction,
            text: text.as_deref(),
            text_bytes: text.as_ref().map_or(0, String::len),
            size: integer(&record.size()),
            omitted: integer(&record.omitted()).unwrap_or_default(),
            reason: reason.as_deref(),
            code: record.code().as_f64().filter(|code| code.fract() == 0.0).map(|code| code as i64),
            messages: integer(&record.messages()).unwrap_or_default(),
            bytes: integer(&record.bytes()),
            matches_text,
            ..Record::new(kind, at, &self.link_copy)
        })
    }

    fn kind(&self, value: &JsValue) -> Option<RecordKind> {
        if *value == self.message {
            return Some(RecordKind::Message);
        }
        Some(match &*value.as_string()? {
            "open" => RecordKind::Open,
            "invalid" => RecordKind::Invalid,
            "gap" => RecordKind::Gap,
            "close" => RecordKind::Close,
            _ => return None,
        })
    }

    fn direction(&self, value: &JsValue) -> Option<Direction> {
        if *value == self.sent {
            Some(Direction::Sent)
        } else if *value == self.received {
            Some(Direction::Received)
        } else {
            None
        }
    }

    /// Reads the id of a link. A value that is not a string becomes an empty id.
    fn read_link(&mut self, value: JsValue) {
        if value != self.link {
            self.link_copy = value.as_string().unwrap_or_default();
            self.link = value;
        }
    }
}

/// Returns a non-negative integer.
fn integer(value: &JsValue) -> Option<u64> {
    let number = value.as_f64()?;
    (number >= 0.0 && number.fract() == 0.0 && number <= MAX_TIME as f64).then_some(number as u64)
}
