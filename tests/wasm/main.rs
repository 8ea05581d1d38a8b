//! Tests of the Rust API in a browser. The peer in a test uses the Rust API or the JavaScript API. In some tests, the
//! test itself is the peer, and reads and writes raw messages.
#![cfg(all(target_family = "wasm", target_os = "unknown", feature = "browser"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests may fail")]

mod calls;
mod cancellation;
mod connecting;
mod conversion;
mod crashing_worker;
mod errors;
mod javascript;
#[cfg(feature = "codec")]
#[path = "../common/json_test_suite.rs"]
mod json_test_suite;
#[cfg(feature = "codec")]
mod json_text;
mod lifetimes;
mod limits;
mod notifications;
mod portability;
#[path = "../common/portable.rs"]
mod portable;
mod reentrance;
mod serving;
mod streams;
mod transports;
mod trap;
mod values;
#[cfg(feature = "codec")]
mod wipc;
#[cfg(feature = "codec")]
#[path = "../common/wipc_any_input.rs"]
#[allow(dead_code, unreachable_pub, reason = "native tests share it")]
mod wipc_any_input;
mod wire;

use wasm_bindgen_test::wasm_bindgen_test_configure;

wasm_bindgen_test_configure!(run_in_browser);
