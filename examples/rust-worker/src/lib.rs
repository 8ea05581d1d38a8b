//! A page and its worker, both in Rust: the page calls the worker, which counts primes.
#![cfg(all(target_family = "wasm", target_os = "unknown"))]

mod page;
mod worker;

use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// The params of `countPrimes`.
#[derive(Serialize, Deserialize)]
struct CountPrimes {
    below: u32,
}

/// Runs when the page or the worker loads the module.
#[wasm_bindgen(start)]
async fn start() -> Result<(), JsValue> {
    match web_sys::window() {
        Some(window) => page::run(&window).await,
        None => worker::run(),
    }
}
