//! The six methods and their results.

use std::time::Instant;

use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::frames::{request, request_with};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const NAMES: [&str; 6] = ["initialize", "listMethods", "describeMethods", "version", "setLogLevel", "shutdown"];

/// Returns the result of a method without params.
fn result_of(method: &str) -> Value {
    let mut daemon = Daemon::start(&[]);
    let answer = daemon.ask(request(1, method));
    assert_eq!(answer.id(), "1");
    daemon.close_and_expect_exit();
    answer.result().clone()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn initialize_returns_the_server_and_the_version_of_the_protocol() {
    let expected = json!({ "serverInfo": { "name": "duet-rpc", "version": VERSION }, "protocolVersion": "2.0" });
    assert_eq!(result_of("initialize"), expected);
}

#[test]
fn version_returns_the_version() {
    assert_eq!(result_of("version"), json!({ "version": VERSION }));
}

#[test]
fn the_version_is_three_numbers() {
    let parts: Vec<&str> = VERSION.split('.').collect();
    assert_eq!(parts.len(), 3);
    for part in parts {
        assert_eq!(part.parse::<u32>().map(|number| number.to_string()).as_deref(), Ok(part));
    }
}

#[test]
fn list_methods_returns_six_names_with_descriptions() {
    let methods = result_of("listMethods");
    let methods = methods.as_array().unwrap();
    assert_eq!(methods.iter().map(|method| method["name"].as_str().unwrap()).collect::<Vec<_>>(), NAMES);
    for method in methods {
        assert_eq!(keys(method), ["description", "name"]);
        assert!(method["description"].as_str().is_some_and(|text| text.len() > 10), "{method}");
    }
}

#[test]
fn describe_methods_returns_six_signatures() {
    let methods = result_of("describeMethods");
    let methods = methods.as_array().unwrap();
    assert_eq!(methods.iter().map(|method| method["name"].as_str().unwrap()).collect::<Vec<_>>(), NAMES);
    for method in methods {
        assert_eq!(keys(method), ["name", "params", "returns"]);
        let params = if method["name"] == "setLogLevel" { json!(["level: string"]) } else { json!([]) };
        assert_eq!(method["params"], params);
        assert!(method["returns"].as_str().is_some_and(|text| !text.is_empty()), "{method}");
    }
}

#[test]
fn each_listed_method_can_be_called() {
    let mut daemon = Daemon::start(&[]);
    for (id, name) in NAMES.iter().enumerate().filter(|(_, name)| !["setLogLevel", "shutdown"].contains(name)) {
        daemon.ask(request(id, name)).result();
    }
    daemon.ask(request_with(1, "setLogLevel", r#"{"level":"warn"}"#)).result();
    daemon.ask(request(2, "shutdown")).result();
    daemon.wait_for_exit().assert_graceful();
}

#[test]
fn set_log_level_returns_the_level_in_lower_case() {
    let mut daemon = Daemon::start(&[]);
    for level in ["debug", "info", "warn", "error", "DEBUG", "Info", "wArN", "ERROR"] {
        let answer = daemon.ask(request_with(1, "setLogLevel", &format!(r#"{{"level":"{level}"}}"#)));
        assert_eq!(*answer.result(), json!({ "level": level.to_lowercase(), "success": true }));
    }
    daemon.close_and_expect_exit();
}

#[test]
fn shutdown_is_answered_and_ends_the_daemon() {
    let mut daemon = Daemon::start(&[]);
    let trigger = Instant::now();
    let answer = daemon.ask(request(r#""last""#, "shutdown"));
    assert_eq!(*answer.result(), json!({ "message": "Shutting down gracefully" }));
    assert_eq!(answer.id(), r#""last""#);
    daemon.wait_for_exit().assert_graceful_since(trigger);
}

#[test]
fn any_method_can_be_called_first() {
    for method in ["version", "listMethods", "shutdown"] {
        let mut daemon = Daemon::start(&[]);
        daemon.ask(request(1, method)).result();
        daemon.close_input();
        daemon.wait_for_exit().assert_graceful();
    }
}

#[test]
fn initialize_may_be_called_later_and_repeatedly() {
    let mut daemon = Daemon::start(&[]);
    daemon.wait_until_serving();
    let first = daemon.ask(request(1, "initialize")).result().clone();
    assert_eq!(*daemon.ask(request(2, "initialize")).result(), first);
    daemon.close_and_expect_exit();
}
