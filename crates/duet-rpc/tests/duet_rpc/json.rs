//! The text of a message: valid and invalid JSON.

use crate::daemon::Daemon;
use crate::frames::{request, request_with};

#[test]
fn invalid_json_is_a_parse_error_with_the_id_null() {
    let mut daemon = Daemon::start(&[]);
    for body in [
        "{",
        "hello",
        " ",
        "\r\n",
        "}",
        r#"{"jsonrpc":"2.0","id":1,"method":"version",}"#,
        "{'jsonrpc':'2.0','id':1,'method':'version'}",
        r#"{"jsonrpc":"2.0","id":1,"method":"version"/**/}"#,
        r#"{"jsonrpc":"2.0","id":NaN,"method":"version"}"#,
        r#"{"jsonrpc":"2.0","id":01,"method":"version"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"\x65"}"#,
        "{\"jsonrpc\":\"2.0\",\0\"id\":1,\"method\":\"version\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ver\nsion\"}",
    ] {
        daemon.ask(body).assert_parse_error();
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn text_after_the_message_is_a_parse_error() {
    let mut daemon = Daemon::start(&[]);
    let good = request(1, "version");
    for body in [format!("{good}xyz"), format!("{good}{good}"), format!("{good}\n{good}"), format!("{good}]")] {
        daemon.ask(body).assert_parse_error();
        daemon.assert_no_pending_answer();
    }
    daemon.close_and_expect_exit();
}

#[test]
fn white_space_around_the_message_is_ignored() {
    let mut daemon = Daemon::start(&[]);
    daemon.ask(format!(" \t\r\n{}\n ", request(1, "version"))).result();
    daemon.close_and_expect_exit();
}

#[test]
fn a_byte_order_mark_is_a_parse_error() {
    let mut daemon = Daemon::start(&[]);
    daemon.ask(format!("\u{feff}{}", request(1, "version"))).assert_parse_error();
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn bytes_that_are_not_utf_8_are_a_parse_error() {
    let mut daemon = Daemon::start(&[]);
    for bad in [&b"\xff"[..], b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"] {
        let body = [br#"{"jsonrpc":"2.0","id":1,"method":"version","params":[""#, bad, br#""]}"#].concat();
        daemon.ask(body).assert_parse_error();
    }
    let utf_16: Vec<u8> = request(1, "version").encode_utf16().flat_map(u16::to_le_bytes).collect();
    daemon.ask(utf_16).assert_parse_error();
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn half_of_a_surrogate_pair_is_a_parse_error() {
    let mut daemon = Daemon::start(&[]);
    for half in [r"\ud800", r"\udc00", r"\ud83dx", r"\ud83d\ud83d"] {
        daemon.ask(request(format!("\"{half}\""), "version")).assert_parse_error();
        daemon.ask(request(1, half)).assert_parse_error();
        daemon.ask(request_with(1, "setLogLevel", &format!(r#"{{"level":"{half}"}}"#))).assert_parse_error();
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_number_beyond_the_largest_double_is_a_parse_error() {
    let mut daemon = Daemon::start(&[]);
    for number in ["1e400", "-1E+400", &"9".repeat(400)] {
        daemon.ask(request_with(1, "version", &format!("[{number}]"))).assert_parse_error();
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn params_are_parsed_up_to_the_nesting_limit() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let mut daemon = Daemon::start(&[]);
    // The message itself is the first level. The error -32602 shows that the params were parsed, since the method
    // accepts no params.
    assert_eq!(daemon.ask(request_with(1, "version", &nested(127))).failure().code, -32602);
    for levels in [128, 1_000, 100_000] {
        daemon.ask(request_with(1, "version", &nested(levels))).assert_refusal("1", "nesting-too-deep");
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn a_hundred_thousand_open_brackets_are_a_parse_error() {
    let mut daemon = Daemon::start(&[]);
    for unit in ["[", r#"[{"":"#, r#"{"a":"#] {
        daemon.ask(unit.repeat(100_000)).assert_parse_error();
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn a_million_levels_do_not_end_the_daemon() {
    let mut daemon = Daemon::start(&[]);
    let levels = 1_000_000;
    daemon.ask("[".repeat(levels) + &"]".repeat(levels)).assert_refusal("null", "batch-not-supported");
    daemon.ask(request_with(1, "version", &("[".repeat(levels) + &"]".repeat(levels)))).failure();
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}
