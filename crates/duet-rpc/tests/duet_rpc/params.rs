//! Valid params, and the error -32602 for invalid params.

use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::frames::request_with;

const WITHOUT_PARAMS: [&str; 4] = ["initialize", "listMethods", "describeMethods", "version"];

/// Calls `method` with invalid `params`. Returns the data of the error.
fn refusal(daemon: &mut Daemon, method: &str, params: &str) -> Value {
    let answer = daemon.ask(request_with(7, method, params));
    let failure = answer.failure();
    assert_eq!((failure.code, answer.id().as_str()), (-32602, "7"), "{}", answer.text);
    assert!(failure.message.starts_with("Invalid params"), "{}", answer.text);
    let data = failure.data.unwrap_or_else(|| panic!("no data: {}", answer.text));
    for name in data.as_object().unwrap().keys() {
        assert!(["param", "expected", "received", "accepted"].contains(&name.as_str()), "{}", answer.text);
    }
    for name in ["param", "expected", "received"] {
        assert!(data[name].as_str().is_some_and(|text| !text.is_empty()), "{name}: {}", answer.text);
    }
    data
}

#[test]
fn methods_without_params_accept_null_and_empty_params() {
    let mut daemon = Daemon::start(&[]);
    for method in WITHOUT_PARAMS {
        for params in ["null", "{}", "[]", " { } ", "[ ]"] {
            daemon.ask(request_with(1, method, params)).result();
        }
    }
    daemon.ask(request_with(1, "shutdown", "[]")).result();
    daemon.wait_for_exit().assert_graceful();
}

#[test]
fn methods_without_params_refuse_params() {
    let mut daemon = Daemon::start(&[]);
    for method in WITHOUT_PARAMS {
        assert_eq!(refusal(&mut daemon, method, "[1]")["received"], "array");
        assert_eq!(refusal(&mut daemon, method, r#"{"a":1}"#)["received"], "object");
        assert_eq!(refusal(&mut daemon, method, "[null]")["param"], "params");
    }
    daemon.close_and_expect_exit();
}

#[test]
fn shutdown_with_params_is_refused_and_does_not_end_the_daemon() {
    let mut daemon = Daemon::start(&[]);
    refusal(&mut daemon, "shutdown", r#"{"force":true}"#);
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn params_that_are_neither_array_nor_object_are_an_invalid_request() {
    let mut daemon = Daemon::start(&[]);
    for params in ["5", "true", "false", r#""bar""#, "1e3"] {
        for method in ["version", "setLogLevel", "shutdown", "nope"] {
            daemon.ask(request_with(7, method, params)).assert_invalid_request("7");
        }
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn the_error_names_a_missing_level() {
    let mut daemon = Daemon::start(&[]);
    let mut data: Vec<Value> =
        ["null", "[]", "{}", r#"{"Level":"info"}"#].map(|params| refusal(&mut daemon, "setLogLevel", params)).to_vec();
    daemon.send(r#"{"jsonrpc":"2.0","id":7,"method":"setLogLevel"}"#);
    data.push(daemon.answer().failure().data.unwrap());
    for data in data {
        assert_eq!((&data["param"], &data["received"]), (&json!("level"), &json!("nothing")), "{data}");
        assert_eq!(data["accepted"], json!(["debug", "info", "warn", "error"]));
    }
    daemon.close_and_expect_exit();
}

#[test]
fn the_error_for_a_level_of_another_type_names_this_type() {
    let mut daemon = Daemon::start(&[]);
    for (level, received) in
        [("1", "number"), ("null", "null"), ("true", "boolean"), (r#"["info"]"#, "array"), (r#"{"a":1}"#, "object")]
    {
        let data = refusal(&mut daemon, "setLogLevel", &format!(r#"{{"level":{level}}}"#));
        assert_eq!((&data["param"], &data["received"]), (&json!("level"), &json!(received)));
    }
    daemon.close_and_expect_exit();
}

#[test]
fn the_error_of_an_unknown_level_lists_the_known_levels() {
    let mut daemon = Daemon::start(&[]);
    for level in ["verbose", "trace", "warning", "", " info", "info ", "deb\\u0075g2", "off"] {
        let data = refusal(&mut daemon, "setLogLevel", &format!(r#"{{"level":"{level}"}}"#));
        assert_eq!((&data["param"], &data["accepted"]), (&json!("level"), &json!(["debug", "info", "warn", "error"])));
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_level_may_contain_json_escapes() {
    let mut daemon = Daemon::start(&[]);
    let answer = daemon.ask(request_with(1, "setLogLevel", r#"{"level":"\u0069nfo"}"#));
    assert_eq!(answer.result()["level"], "info");
    daemon.close_and_expect_exit();
}

#[test]
fn a_level_in_an_array_of_params_is_refused() {
    let mut daemon = Daemon::start(&[]);
    assert_eq!(refusal(&mut daemon, "setLogLevel", r#"["info"]"#)["received"], "array");
    daemon.close_and_expect_exit();
}

#[test]
fn a_refusal_repeats_no_value_that_could_be_a_secret() {
    let mut daemon = Daemon::start(&[]);
    for secret in ["/home/alice/.netrc", "sk-live-0123456789abcdef", "hunter2 and more", "C:\\\\Users\\\\alice"] {
        daemon.send(request_with(1, "setLogLevel", &format!(r#"{{"level":"{secret}"}}"#)));
        let answer = daemon.answer();
        assert_eq!(answer.failure().data.unwrap()["received"], "string");
        assert!(!answer.text.contains(secret), "{}", answer.text);
        daemon.send(request_with(1, "version", &format!(r#"{{"token":"{secret}"}}"#)));
        let answer = daemon.answer();
        assert!(!answer.text.contains(secret), "{}", answer.text);
    }
    daemon.close_and_expect_exit();
}
