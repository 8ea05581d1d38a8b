//! Tests of JSON text in a browser. The native tests of the same cases are in `tests/json_text.rs`.

use wasm_bindgen_test::wasm_bindgen_test;

use crate::json_test_suite;

#[wasm_bindgen_test]
fn the_json_test_suite_is_read_as_it_is_natively() {
    json_test_suite::run();
}

#[wasm_bindgen_test]
fn a_million_levels_are_refused_and_the_next_message_is_read() {
    json_test_suite::run_deep();
}
