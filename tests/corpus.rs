//! Runs the checks of the fuzz targets on the inputs in `fuzz/corpus`. `cargo xtask fuzz` searches for more inputs.
#![cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test is a panic")]

/// Runs a target on its corpus. The tests of the inspector use the same file.
#[path = "../fuzz/src/corpus.rs"]
#[allow(unreachable_pub, clippy::expect_used, reason = "in a test, a panic reports a fault")]
mod corpus;
/// The module that the fuzz programs also use.
#[path = "../fuzz/src/lib.rs"]
#[allow(
    unreachable_pub,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "this module is a separate crate for the fuzz programs, where a panic reports a fault"
)]
mod targets;

#[test]
fn json_that_is_written_after_reading_is_unchanged() {
    corpus::run("json", targets::json);
}

#[test]
fn the_reports_of_the_validator_agree_with_each_other() {
    corpus::run("validate", targets::validate);
}

#[test]
fn each_call_ends_once_and_each_request_is_answered_once() {
    corpus::run("connection", targets::connection);
}

#[cfg(feature = "mcp")]
#[test]
fn headers_of_mcp_have_the_values_of_their_arguments() {
    corpus::run("mcp_headers", targets::mcp_headers);
}

#[test]
fn frames_are_found_in_any_pieces_of_a_stream() {
    corpus::run("content_length", targets::content_length);
}

#[test]
fn lines_are_found_in_any_pieces_of_a_stream() {
    corpus::run("newline", targets::newline);
}

#[test]
fn server_sent_events_are_found_in_any_pieces_of_a_stream() {
    corpus::run("sse", targets::sse);
}

#[cfg(all(unix, feature = "websocket"))]
#[test]
fn sessions_of_websockets_follow_the_rules() {
    corpus::run("websocket", targets::websocket);
}

#[test]
fn frames_of_wipc_are_found_in_any_pieces_of_a_stream() {
    corpus::run("wipc", targets::wipc);
}
