//! The exported functions that need no `Inspector`.

use std::ops::Range;
use std::string::{String, ToString};
use std::vec::Vec;

use js_sys::{Array, JSON, JsString, Object, Reflect, Uint32Array};
use portway_proto::codec::json;
use portway_proto::validate;
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::{from_js, to_js};
use crate::export::{self, NameFilter};
use crate::filter::FilterValues;
use crate::import;
use crate::mask::{self, SecretNames};
use crate::{inspector, text};

#[derive(Serialize)]
struct Finding {
    severity: inspector::Severity,
    text: String,
    item: Option<u32>,
}

#[wasm_bindgen(skip_typescript)]
pub fn findings(text: &str) -> Result<JsValue, JsValue> {
    let Some(report) = json::validate(text, validate::Options::default()) else {
        let finding = Finding { severity: inspector::Severity::Error, text: "The text is not JSON".into(), item: None };
        return to_js(&[finding]);
    };
    let finding = |finding: &validate::Finding| Finding {
        severity: match finding.rule.severity() {
            validate::Severity::Error => inspector::Severity::Error,
            validate::Severity::Warning => inspector::Severity::Warning,
        },
        text: finding.to_string(),
        item: finding.item.map(|item| item as u32),
    };
    to_js(&report.findings.iter().map(finding).collect::<Vec<_>>())
}

#[wasm_bindgen(skip_typescript)]
pub fn compact(text: &str) -> String {
    text::compact(text)
}

#[wasm_bindgen(js_name = mergeFilters, skip_typescript)]
pub fn merge_filters(filter: JsValue, preset: JsValue) -> Result<JsValue, JsValue> {
    let (filter, preset): (FilterValues, FilterValues) = (from_js(filter)?, from_js(preset)?);
    to_js(&filter.merged(preset))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MaskOptions {
    names: Option<Vec<String>>,
}

impl MaskOptions {
    fn secret_names(self) -> SecretNames {
        SecretNames::new(self.names.unwrap_or_default())
    }
}

#[wasm_bindgen(js_name = maskSpans, skip_typescript)]
pub fn mask_spans(text: &str, masks: JsValue) -> Result<Uint32Array, JsValue> {
    let options: MaskOptions = from_js(masks)?;
    let spans = mask::utf16_spans(text, &mask::spans(text, &options.secret_names()));
    Ok(Uint32Array::from(spans.as_slice()))
}

#[wasm_bindgen(js_name = mask, skip_typescript)]
pub fn mask_text(text: &JsString, masks: JsValue) -> Result<JsString, JsValue> {
    let options: MaskOptions = from_js(masks)?;
    Ok(masked(text, &options.secret_names()))
}

/// Returns the text with its secrets replaced. The other parts are copied from the JavaScript string, because a Rust
/// string cannot contain lone surrogates. In the Rust string, a character of one code unit replaces each lone
/// surrogate, so both strings have the same positions.
fn masked(text: &JsString, names: &SecretNames) -> JsString {
    let rust = String::from(text);
    let spans: Vec<Range<usize>> = mask::spans(&rust, names);
    if spans.is_empty() {
        return text.clone();
    }
    let mask = JsString::from(mask::MASK);
    let mut result = JsString::from("");
    let mut from = 0;
    for pair in mask::utf16_spans(&rust, &spans).chunks(2) {
        if let [start, end] = pair {
            result = result.concat(&text.slice(from, *start)).concat(&mask);
            from = *end;
        }
    }
    result.concat(&text.slice(from, text.length()))
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Json,
    Jsonl,
}

#[wasm_bindgen(js_name = exportRecords, skip_typescript)]
pub fn export_records(records: &Array, options: JsValue) -> Result<JsString, JsValue> {
    let member = |name: &str| -> JsValue {
        if options.is_object() { Reflect::get(&options, &name.into()).unwrap_or_default() } else { JsValue::UNDEFINED }
    };
    let format: Format = from_js(member("format"))?;
    let masks = member("masks");
    let names = if masks.is_null() { None } else { Some(from_js::<MaskOptions>(masks)?.secret_names()) };
    let is_json = matches!(format, Format::Json);
    let lines = Array::new();
    for record in records.iter().filter(JsValue::is_object) {
        // `Object.assign` would set the prototype from a member `__proto__`.
        let copy = Object::from_entries(&Object::entries(record.unchecked_ref()))?;
        if is_json {
            let at = Reflect::get(&copy, &"at".into())?.as_f64().unwrap_or_default();
            Reflect::set(&copy, &"time".into(), &export::iso_time(at as u64).into())?;
        }
        if let Some(names) = &names {
            let text = Reflect::get(&copy, &"text".into())?;
            if let Some(text) = text.dyn_ref::<JsString>() {
                Reflect::set(&copy, &"text".into(), &masked(text, names))?;
            }
        }
        lines.push(&JSON::stringify(&copy)?.into());
    }
    Ok(match (is_json, lines.length()) {
        (true, 0) => "[]\n".into(),
        (false, 0) => "".into(),
        (true, _) => JsString::from("[\n").concat(&lines.join(",\n")).concat(&"\n]\n".into()),
        (false, _) => lines.join("\n").concat(&"\n".into()),
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Names {
    method: Option<String>,
    id: Option<String>,
    text: Option<String>,
}

#[wasm_bindgen(js_name = exportName, skip_typescript)]
pub fn export_name(at: f64, filter: JsValue, format: JsValue) -> Result<String, JsValue> {
    let names: Names = from_js(filter)?;
    let format = match from_js(format)? {
        Format::Json => export::Format::Json,
        Format::Jsonl => export::Format::Lines,
    };
    let filter = NameFilter { method: names.method.as_deref(), id: names.id.as_deref(), text: names.text.as_deref() };
    Ok(export::name(at as u64, filter, format))
}

#[wasm_bindgen(js_name = importFile, skip_typescript)]
pub fn import_file(text: &str) -> Result<JsValue, JsValue> {
    to_js(&import::import(text))
}
