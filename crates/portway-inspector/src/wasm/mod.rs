//! The exports for the page. `api.d.ts` declares and documents them.
#![allow(missing_docs, reason = "api.d.ts documents the exports")]

pub mod functions;
mod input;

use std::vec::Vec;

use js_sys::{Array, Float64Array, Object, Reflect, Uint8Array};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::filter::{Filter, FilterValues};
use crate::inspector::{self, Options, OptionsPatch};

/// Converts a value for the page. An absent value becomes null.
fn to_js(value: &impl Serialize) -> Result<JsValue, JsValue> {
    let serializer =
        serde_wasm_bindgen::Serializer::new().serialize_missing_as_null(true).serialize_maps_as_objects(true);
    Ok(value.serialize(&serializer)?)
}

/// Converts an argument of the page. Undefined and null become the default.
fn from_js<T: DeserializeOwned + Default>(value: JsValue) -> Result<T, JsValue> {
    if value.is_undefined() || value.is_null() { Ok(T::default()) } else { Ok(serde_wasm_bindgen::from_value(value)?) }
}

/// Converts sequence numbers, which are below 2^53.
fn to_array(seqs: &[u64]) -> Float64Array {
    let numbers: Vec<f64> = seqs.iter().map(|seq| *seq as f64).collect();
    Float64Array::from(numbers.as_slice())
}

/// Converts a sequence number of the page. A number that is not a sequence number becomes one that no row has.
fn seq_of(number: f64) -> u64 {
    if number >= 0.0 && number.fract() == 0.0 { number as u64 } else { u64::MAX >> 2 }
}

fn set(object: &Object, name: &str, value: &JsValue) {
    // Setting a member of a new object does not fail.
    let _ = Reflect::set(object, &JsValue::from_str(name), value);
}

fn set_dropped(object: &Object, inspector: &mut inspector::Inspector) {
    let dropped = inspector.take_dropped();
    set(object, "rows", &to_array(&dropped.rows));
    set(object, "texts", &to_array(&dropped.texts));
}

#[wasm_bindgen(skip_typescript)]
#[derive(Debug, Default)]
pub struct Inspector {
    inspector: inspector::Inspector,
    reader: input::Reader,
}

#[wasm_bindgen]
impl Inspector {
    #[wasm_bindgen(constructor)]
    pub fn new(options: JsValue) -> Result<Self, JsValue> {
        let patch: OptionsPatch = from_js(options)?;
        let inspector = inspector::Inspector::new(Options::default().patched(patch));
        Ok(Self { inspector, reader: input::Reader::default() })
    }

    pub fn take(&mut self, records: &Array, matches: Option<Uint8Array>) -> Object {
        let taken = Object::new();
        let first = self.inspector.next_seq();
        let rejected = Array::new();
        let mut spaced = Vec::new();
        let matches = matches.map(|matches| matches.to_vec()).unwrap_or_default();
        for (index, value) in records.iter().enumerate() {
            let seq = self.inspector.next_seq();
            let matches_text = matches.get(index) == Some(&1);
            match self.reader.take(&mut self.inspector, &value, matches_text) {
                Ok(length) if length.is_spaced => spaced.push(seq),
                Ok(_) => {}
                Err(reason) => {
                    let problem = Object::new();
                    set(&problem, "index", &JsValue::from(index as u32));
                    set(&problem, "reason", &JsValue::from_str(reason));
                    rejected.push(&problem);
                }
            }
        }
        self.inspector.add_missing_rows();
        set(&taken, "first", &JsValue::from(first as f64));
        set(&taken, "rejected", &rejected);
        set(&taken, "spaced", &to_array(&spaced));
        set_dropped(&taken, &mut self.inspector);
        taken
    }

    pub fn clear(&mut self) {
        self.inspector.clear();
        // The page removes all texts, so it needs no list.
        let _ = self.inspector.take_dropped();
    }

    pub fn options(&self) -> Result<JsValue, JsValue> {
        to_js(&self.inspector.options().view())
    }

    pub fn configure(&mut self, options: JsValue) -> Result<Object, JsValue> {
        let patch: OptionsPatch = from_js(options)?;
        let options = self.inspector.options().patched(patch);
        self.inspector.set_options(options);
        let result = Object::new();
        set_dropped(&result, &mut self.inspector);
        Ok(result)
    }

    #[wasm_bindgen(js_name = setFilter)]
    pub fn set_filter(&mut self, filter: JsValue) -> Result<(), JsValue> {
        let values: FilterValues = from_js(filter)?;
        self.inspector.set_filter(Filter::from(values));
        Ok(())
    }

    #[wasm_bindgen(js_name = setTextMatches)]
    pub fn set_text_matches(&mut self, seqs: &Float64Array) {
        let seqs: Vec<u64> = seqs.to_vec().into_iter().map(seq_of).collect();
        self.inspector.set_text_matches(&seqs);
    }

    pub fn counts(&self) -> Result<JsValue, JsValue> {
        to_js(&self.inspector.counts())
    }

    pub fn totals(&self) -> Result<JsValue, JsValue> {
        to_js(&self.inspector.totals())
    }

    pub fn pause(&mut self) {
        self.inspector.pause();
    }

    pub fn resume(&mut self) {
        self.inspector.resume();
    }

    pub fn layout(&self, scroll_top: f64, viewport: f64) -> Result<JsValue, JsValue> {
        to_js(&self.inspector.layout(scroll_top, viewport))
    }

    #[wasm_bindgen(js_name = scrollTop)]
    pub fn scroll_top(&self, anchor: JsValue, viewport: f64) -> Result<f64, JsValue> {
        Ok(self.inspector.scroll_top(serde_wasm_bindgen::from_value(anchor)?, viewport))
    }

    pub fn end(&self, viewport: f64) -> f64 {
        self.inspector.end(viewport)
    }

    pub fn reveal(&self, seq: f64, viewport: f64, align: f64) -> JsValue {
        nullable(self.inspector.reveal(seq_of(seq), viewport, align))
    }

    #[wasm_bindgen(js_name = setHeights)]
    pub fn set_heights(&mut self, seqs: &Float64Array, heights: &Float64Array) {
        for (seq, height) in seqs.to_vec().into_iter().zip(heights.to_vec()) {
            self.inspector.set_height(seq_of(seq), height);
        }
    }

    #[wasm_bindgen(js_name = forgetHeights)]
    pub fn forget_heights(&mut self) {
        self.inspector.forget_heights();
    }

    pub fn row(&self, seq: f64) -> Result<JsValue, JsValue> {
        to_js(&self.inspector.row(seq_of(seq)))
    }

    pub fn rows(&self, index: u32, count: u32) -> Result<JsValue, JsValue> {
        to_js(&self.inspector.list_rows(index, count))
    }

    pub fn step(&self, seq: f64, by: i32) -> JsValue {
        nullable(self.inspector.step(seq_of(seq), by).map(|seq| seq as f64))
    }

    pub fn first(&self) -> JsValue {
        nullable(self.inspector.first().map(|seq| seq as f64))
    }

    pub fn last(&self) -> JsValue {
        nullable(self.inspector.last().map(|seq| seq as f64))
    }

    pub fn detail(&self, seq: f64) -> Result<JsValue, JsValue> {
        to_js(&self.inspector.detail(seq_of(seq)))
    }

    pub fn shown(&self) -> Float64Array {
        to_array(&self.inspector.shown())
    }

    pub fn searchable(&self) -> Float64Array {
        to_array(&self.inspector.searchable())
    }

    pub fn links(&self) -> Result<JsValue, JsValue> {
        to_js(&self.inspector.links())
    }

    pub fn pending(&self, now: f64, count: u32) -> Result<JsValue, JsValue> {
        to_js(&self.inspector.pending(now as u64, count as usize))
    }

    pub fn unmatched(&self, count: u32) -> Result<JsValue, JsValue> {
        to_js(&self.inspector.unmatched(count as usize))
    }

    pub fn statistics(&self, link: Option<u32>) -> Result<JsValue, JsValue> {
        to_js(&self.inspector.statistics(link))
    }
}

fn nullable(number: Option<f64>) -> JsValue {
    number.map_or(JsValue::NULL, JsValue::from)
}
