//! Tests that wasm in a browser reads WIPC frames as native code does.

use wasm_bindgen_test::wasm_bindgen_test;

use crate::wipc_any_input::check;

#[wasm_bindgen_test]
fn any_bytes_in_any_pieces_are_found_as_they_are_natively() {
    (0..10_000).for_each(check);
}
