//! Tests that wasm in a browser reads WIPC frames as native code does.

use wasm_bindgen_test::wasm_bindgen_test;

use crate::wipc_any_input::check;

#[wasm_bindgen_test]
fn frames_in_random_bytes_are_decoded_as_natively() {
    (0..10_000).for_each(check);
}
