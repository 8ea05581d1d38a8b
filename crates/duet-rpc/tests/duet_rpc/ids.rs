//! An answer has exactly the id of its request, or the request is refused.

use crate::daemon::Daemon;
use crate::frames::request;

const IDS: &[&str] = &[
    "0",
    "1",
    "-1",
    "-0",
    "1.0",
    "1e2",
    "1E+2",
    "0.1",
    "-1.5e-7",
    "2147483648",
    "9007199254740993",
    "9223372036854775808",
    "18446744073709551616",
    "12345678901234567890123",
    r#""""#,
    r#""1""#,
    r#""a b""#,
    r#""null""#,
    r#""é€😀""#,
    "null",
];

#[test]
fn every_kind_of_id_is_echoed_exactly_with_a_result() {
    let mut daemon = Daemon::start(&[]);
    for id in IDS {
        let answer = daemon.ask(request(id, "version"));
        answer.result();
        assert_eq!(answer.id(), *id);
    }
    daemon.close_and_expect_exit();
}

#[test]
fn every_kind_of_id_is_echoed_exactly_with_an_error() {
    let mut daemon = Daemon::start(&[]);
    for id in IDS {
        let answer = daemon.ask(request(id, "nope"));
        assert_eq!((answer.failure().code, answer.id().as_str()), (-32601, *id));
        daemon.ask(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":1}}"#)).assert_invalid_request(id);
    }
    daemon.close_and_expect_exit();
}

#[test]
fn an_id_with_escapes_is_echoed_as_the_same_string() {
    let mut daemon = Daemon::start(&[]);
    for id in [r#""\u00e9\ud83d\ude00""#, r#""a\"b\\c\/d""#, r#""\b\f\n\r\t""#, r#""a\u0000b""#] {
        let answer = daemon.ask(request(id, "version"));
        let sent: String = serde_json::from_str(id).unwrap();
        let echoed: String = serde_json::from_str(&answer.id()).unwrap();
        assert_eq!(echoed, sent);
    }
    daemon.close_and_expect_exit();
}

#[test]
fn only_a_message_without_an_id_is_a_notification() {
    let mut daemon = Daemon::start(&[]);
    let answer = daemon.ask(request("null", "version"));
    answer.result();
    assert_eq!(answer.id(), "null");
    daemon.send(r#"{"jsonrpc":"2.0","method":"version"}"#);
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn a_request_whose_id_has_another_type_is_refused_with_the_id_null() {
    let mut daemon = Daemon::start(&[]);
    for id in ["true", "false", "{}", "[]", "[1]", r#"{"id":1}"#] {
        for method in ["version", "nope", "shutdown"] {
            daemon.ask(request(id, method)).assert_refusal("null", "invalid-id-type");
        }
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn an_id_beyond_the_largest_double_is_a_parse_error() {
    let mut daemon = Daemon::start(&[]);
    for id in ["1e400", "-1e400"] {
        daemon.ask(request(id, "version")).assert_parse_error();
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_number_and_a_string_of_the_same_digits_are_different_ids() {
    let mut daemon = Daemon::start(&[]);
    daemon.send(request(1, "version"));
    daemon.send(request(r#""1""#, "version"));
    assert_eq!(daemon.answer().id(), "1");
    assert_eq!(daemon.answer().id(), r#""1""#);
    daemon.close_and_expect_exit();
}

#[test]
fn an_id_may_be_used_again_after_its_answer() {
    let mut daemon = Daemon::start(&[]);
    for _ in 0..3 {
        assert_eq!(daemon.ask(request(1, "version")).id(), "1");
    }
    daemon.close_and_expect_exit();
}

#[test]
fn an_id_of_1_024_characters_is_echoed_and_a_longer_id_is_refused() {
    let mut daemon = Daemon::start(&[]);
    let id = |length: usize| format!("\"{}\"", "é".repeat(length));
    assert_eq!(daemon.ask(request(id(1_024), "version")).id(), id(1_024));
    for length in [1_025, 1_000_000] {
        daemon.ask(request(id(length), "version")).assert_refusal("null", "id-too-long");
    }
    daemon.close_and_expect_exit();
}
