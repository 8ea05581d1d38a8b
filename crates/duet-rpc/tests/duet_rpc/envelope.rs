//! Requests, notifications, and messages that are neither.

use crate::daemon::Daemon;
use crate::frames::{notification_with, request, request_with};

#[test]
fn an_unknown_method_is_not_found() {
    let mut daemon = Daemon::start(&[]);
    for method in ["nope", "Version", "version ", "rpc.discover", "$/cancelRequest2", "", "__proto__", "toString"] {
        let answer = daemon.ask(request(7, method));
        let failure = answer.failure();
        assert_eq!((failure.code, failure.data), (-32601, None), "{}", answer.text);
        assert!(failure.message.starts_with("Method not found"), "{}", answer.text);
        assert_eq!(answer.id(), "7");
    }
    daemon.close_and_expect_exit();
}

#[test]
fn an_array_is_refused_because_batches_are_not_supported() {
    let mut daemon = Daemon::start(&[]);
    let one = request(1, "version");
    for batch in ["[]".to_owned(), format!("[{one}]"), format!("[{one},{one}]"), "[1,2,3]".to_owned(), " [ ] ".into()] {
        daemon.ask(batch).assert_refusal("null", "batch-not-supported");
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn an_incomplete_array_is_a_parse_error() {
    let mut daemon = Daemon::start(&[]);
    daemon.ask(format!("[{}", request(1, "version"))).assert_parse_error();
    daemon.close_and_expect_exit();
}

#[test]
fn a_request_without_jsonrpc_2_0_is_an_invalid_request_with_its_own_id() {
    let mut daemon = Daemon::start(&[]);
    for body in [
        r#"{"id":7,"method":"version"}"#,
        r#"{"jsonrpc":2.0,"id":7,"method":"version"}"#,
        r#"{"jsonrpc":"1.0","id":7,"method":"version"}"#,
        r#"{"jsonrpc":"2","id":7,"method":"version"}"#,
        r#"{"jsonrpc":null,"id":7,"method":"version"}"#,
    ] {
        daemon.ask(body).assert_invalid_request("7");
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_request_whose_method_is_not_a_string_is_an_invalid_request_with_its_own_id() {
    let mut daemon = Daemon::start(&[]);
    for method in ["1", "null", "true", "[]", r#"{"name":"version"}"#] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":{method}}}"#);
        daemon.ask(body).assert_invalid_request("7");
    }
    daemon.ask(r#"{"jsonrpc":"2.0","id":7}"#).assert_invalid_request("7");
    daemon.close_and_expect_exit();
}

#[test]
fn a_message_with_neither_method_nor_id_is_an_invalid_request_with_the_id_null() {
    let mut daemon = Daemon::start(&[]);
    for body in ["null", r#""hey""#, "42", "true", "{}", r#"{"jsonrpc":"2.0"}"#] {
        daemon.ask(body).assert_invalid_request("null");
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_repeated_member_is_an_invalid_request_with_the_id_null() {
    let mut daemon = Daemon::start(&[]);
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"version"}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"version"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"version","method":"shutdown"}"#,
        r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"version"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"setLogLevel","params":{"level":"info"},"params":{"level":"info"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"m\u0065thod":"version","method":"version"}"#,
    ] {
        daemon.ask(body).assert_invalid_request("null");
    }
    daemon.close_and_expect_exit();
}

#[test]
fn unknown_members_are_ignored() {
    let mut daemon = Daemon::start(&[]);
    daemon.ask(r#"{"jsonrpc":"2.0","id":1,"method":"version","meta":{"id":2,"method":[]},"":null}"#).result();
    daemon.close_and_expect_exit();
}

#[test]
fn the_order_of_the_members_does_not_matter() {
    let members = [r#""jsonrpc":"2.0""#, r#""id":1"#, r#""method":"setLogLevel""#, r#""params":{"level":"info"}"#];
    let mut daemon = Daemon::start(&[]);
    let mut orders = 0;
    // Each code has four digits in base 4, and each digit is the index of a member. The codes with four different
    // digits are the permutations of the four members.
    for code in 0..256_usize {
        let order: Vec<usize> = (0..4).map(|position| code >> (2 * position) & 3).collect();
        if (0..4).any(|member| !order.contains(&member)) {
            continue;
        }
        orders += 1;
        let body = order.iter().map(|&member| members[member]).collect::<Vec<_>>().join(",");
        assert_eq!(daemon.ask(format!("{{{body}}}")).result()["level"], "info");
    }
    assert_eq!(orders, 24);
    daemon.close_and_expect_exit();
}

#[test]
fn a_notification_is_never_answered() {
    let mut daemon = Daemon::start(&[]);
    for (method, params) in [
        ("version", "null"),
        ("version", "[1]"),
        ("nope", "{}"),
        ("rpc.discover", "[]"),
        ("setLogLevel", r#"{"level":"error"}"#),
        ("setLogLevel", r#"{"level":"verbose"}"#),
        ("setLogLevel", "null"),
        ("setLogLevel", "5"),
        ("shutdown", "[1]"),
        ("$/cancelRequest", r#"{"id":1}"#),
        ("exit", "null"),
    ] {
        daemon.send(notification_with(method, params));
        daemon.assert_no_pending_answer();
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_response_is_never_answered() {
    let mut daemon = Daemon::start(&[]);
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
        r#"{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
        r#"{"jsonrpc":"2.0","id":true,"result":1}"#,
    ] {
        daemon.send(body);
        daemon.assert_no_pending_answer();
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_message_with_method_and_result_is_an_invalid_request() {
    let mut daemon = Daemon::start(&[]);
    daemon.ask(r#"{"jsonrpc":"2.0","id":7,"method":"version","result":1}"#).assert_invalid_request("7");
    daemon.close_and_expect_exit();
}

#[test]
fn requests_of_emacs_are_served() {
    let mut daemon = Daemon::start(&[]);
    daemon.write("Content-Length: 57\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"version\",\"params\":null}");
    assert_eq!(daemon.answer().id(), "1");
    daemon.ask(request_with(2, "setLogLevel", r#"{"level":"info"}"#)).result();
    daemon.send(r#"{"jsonrpc":"2.0","method":"version","params":null}"#);
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}
