//! A page and its worker, both in Rust: the page asks, the worker counts.
#![cfg(all(target_family = "wasm", target_os = "unknown"))]

mod page;
mod worker;

use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// What the page asks for.
#[derive(Serialize, Deserialize)]
struct CountPrimes {
    below: u32,
}

/// The same module runs in both places.
#[wasm_bindgen(start)]
async fn start() -> Result<(), JsValue> {
    match web_sys::window() {
        Some(window) => page::run(&window).await,
        None => worker::run(),
    }
}
