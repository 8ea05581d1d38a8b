//! The header Content-Type: one media type and one charset are accepted, in every spelling. Any other media type or
//! charset is refused with a reason.

use crate::daemon::Daemon;
use crate::frames::{request, with_header};

/// Returns a frame with the headers Content-Length and Content-Type. `is_type_first` puts Content-Type first.
fn typed(content_type: &str, body: &str, is_type_first: bool) -> Vec<u8> {
    let length = format!("Content-Length: {}\r\n", body.len());
    let content_type = format!("Content-Type: {content_type}\r\n");
    let lines = if is_type_first { content_type + &length } else { length + &content_type };
    with_header(&lines, body)
}

#[test]
fn the_content_type_is_accepted_in_every_spelling() {
    let mut daemon = Daemon::start(&[]);
    for content_type in [
        "application/vscode-jsonrpc; charset=utf-8",
        "application/vscode-jsonrpc; charset=UTF-8",
        "application/vscode-jsonrpc; charset=utf8",
        "application/vscode-jsonrpc;charset=utf-8",
        "application/vscode-jsonrpc ; charset=utf-8 ",
        "Application/VSCode-JSONRPC; Charset=Utf-8",
        "application/vscode-jsonrpc; version=1; charset=utf-8",
        "application/vscode-jsonrpc; charset=utf-8; version=1",
        "application/vscode-jsonrpc; charset=\"utf-8\"",
        "application/vscode-jsonrpc",
    ] {
        for is_type_first in [false, true] {
            daemon.write(typed(content_type, &request(1, "version"), is_type_first));
            let answer = daemon.answer();
            assert_eq!(answer.id(), "1", "{content_type}: {}", answer.text);
            answer.result();
        }
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn the_name_of_the_header_may_have_any_case() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "version");
    daemon.write(with_header(&format!("content-type:text/plain\r\ncontent-length:{}\r\n", body.len()), &body));
    daemon.answer().assert_refusal("1", "unsupported-content-type");
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn a_request_with_another_media_type_is_refused_with_its_id() {
    let mut daemon = Daemon::start(&[]);
    for content_type in [
        "application/json",
        "application/json; charset=utf-8",
        "text/plain",
        "application/vscode-jsonrpc2; charset=utf-8",
        "vscode-jsonrpc",
    ] {
        for is_type_first in [false, true] {
            let answer =
                daemon.send_and_expect_one_answer(typed(content_type, &request(r#""a""#, "version"), is_type_first));
            answer.assert_refusal(r#""a""#, "unsupported-content-type");
        }
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_request_with_another_charset_is_refused_with_its_id() {
    let mut daemon = Daemon::start(&[]);
    for charset in ["iso-8859-1", "utf-16", "us-ascii", "utf-8-sig", "utf"] {
        let content_type = format!("application/vscode-jsonrpc; charset={charset}");
        let answer = daemon.send_and_expect_one_answer(typed(&content_type, &request("1.0", "version"), false));
        answer.assert_refusal("1.0", "bad-charset");
    }
    daemon.close_and_expect_exit();
}

#[test]
fn a_refused_body_has_no_effect() {
    let mut daemon = Daemon::start(&[]);
    let body = request(1, "shutdown");
    daemon
        .send_and_expect_one_answer(typed("application/json", &body, false))
        .assert_refusal("1", "unsupported-content-type");
    daemon.close_and_expect_exit();
}

#[test]
fn a_refused_body_without_a_method_is_answered_with_its_id() {
    let mut daemon = Daemon::start(&[]);
    let body = r#"{"jsonrpc":"2.0","id":7}"#;
    daemon.send_and_expect_one_answer(typed("text/plain", body, false)).assert_refusal("7", "unsupported-content-type");
    daemon.close_and_expect_exit();
}

#[test]
fn a_refused_response_is_not_answered() {
    let mut daemon = Daemon::start(&[]);
    daemon.write(typed("text/plain", r#"{"jsonrpc":"2.0","id":7,"result":1}"#, false));
    let id = daemon.probe();
    assert_eq!(daemon.answer().id(), id, "the first answer must belong to the request after the response");
    daemon.close_and_expect_exit();
}

#[test]
fn a_refused_body_without_a_valid_id_is_answered_with_the_id_null() {
    let mut daemon = Daemon::start(&[]);
    let bodies = ["hello", "[1]", r#"{"jsonrpc":"2.0","id":true,"method":"version"}"#, r#"{"jsonrpc":"2.0","id":[1]}"#];
    for body in bodies {
        daemon
            .send_and_expect_one_answer(typed("text/plain", body, false))
            .assert_refusal("null", "unsupported-content-type");
        let latin = "application/vscode-jsonrpc; charset=latin1";
        daemon.send_and_expect_one_answer(typed(latin, body, false)).assert_refusal("null", "bad-charset");
    }
    let mut not_utf_8 = typed("text/plain", "1234", false);
    not_utf_8.truncate(not_utf_8.len() - 4);
    not_utf_8.extend([0xff, 0xfe, 0xfd, 0xfc]);
    daemon.send_and_expect_one_answer(not_utf_8).assert_refusal("null", "unsupported-content-type");
    daemon.close_and_expect_exit();
}
