//! The fields of a line of the log, and data that no line contains.

use crate::daemon::Daemon;
use crate::frames::{frame, frame_with_length, notification_with, request, request_with, with_header};
use crate::log::Line;

/// Sends `bytes` to a daemon. Asserts that the daemon logs exactly one line. Returns this line.
fn line_for(bytes: impl AsRef<[u8]>) -> Line {
    let mut daemon = Daemon::start(&[]);
    daemon.write(bytes);
    // Once the daemon has answered a later request, the line about `bytes` is in the queue of the log.
    let id = daemon.probe();
    while daemon.answer().id() != id {}
    let lines = daemon.close_and_expect_exit();
    let [line] = lines.as_slice() else { panic!("the log must have one line, got {lines:#?}") };
    Line::read(line)
}

/// Returns the severity, the method and the id of a line.
fn fields(line: &Line) -> (&str, Option<&str>, Option<&str>) {
    (&line.severity, line.method.as_deref(), line.id.as_deref())
}

#[test]
fn an_unknown_method_is_a_warning_with_method_and_id() {
    for id in ["7", "1.0", r#""a""#, "null"] {
        let line = line_for(frame(request(id, "nope")));
        assert_eq!(fields(&line), ("warn", Some("\"nope\""), Some(id)));
        assert!(line.message.contains("-32601"), "{line:?}");
    }
}

#[test]
fn an_unknown_notification_is_a_warning_without_id() {
    let line = line_for(frame(notification_with("nope", "[]")));
    assert_eq!(fields(&line), ("warn", Some("\"nope\""), None));
}

#[test]
fn invalid_params_are_a_warning_with_method_and_id() {
    let line = line_for(frame(request_with(7, "setLogLevel", "{}")));
    assert_eq!(fields(&line), ("warn", Some("\"setLogLevel\""), Some("7")));
    assert!(line.message.contains("-32602"), "{line:?}");
    let line = line_for(frame(request_with(8, "version", "[1]")));
    assert_eq!(fields(&line), ("warn", Some("\"version\""), Some("8")));
}

#[test]
fn invalid_params_of_a_notification_are_logged_as_an_error() {
    // A notification has no answer, so only the log reports its invalid params.
    let line = line_for(frame(notification_with("setLogLevel", r#"{"level":"verbose"}"#)));
    assert_eq!(fields(&line), ("error", Some("\"setLogLevel\""), None));
    let line = line_for(frame(notification_with("version", "[1]")));
    assert_eq!(fields(&line), ("error", Some("\"version\""), None));
}

#[test]
fn an_invalid_request_is_a_warning_with_its_id_if_the_id_is_valid() {
    let line = line_for(frame(r#"{"jsonrpc":"1.0","id":7,"method":"version"}"#));
    assert_eq!(fields(&line), ("warn", Some("\"version\""), Some("7")));
    assert!(line.message.contains("-32600"), "{line:?}");
    let line = line_for(frame(r#"{"jsonrpc":"2.0","id":8,"method":"version","params":5}"#));
    assert_eq!(fields(&line), ("warn", Some("\"version\""), Some("8")));
    let line = line_for(frame(r#"{"jsonrpc":"2.0","id":7}"#));
    assert_eq!(fields(&line), ("warn", None, Some("7")));
    let line = line_for(frame(r#"{"jsonrpc":"1.0","id":7,"method":"/home/me\n"}"#));
    assert_eq!(fields(&line), ("warn", None, Some("7")), "a method that does not look like a name must not be logged");
    let line = line_for(frame(r#"{"jsonrpc":"2.0","id":null,"method":5}"#));
    assert_eq!((line.severity.as_str(), line.id.as_deref()), ("warn", Some("null")));
    let line = line_for(frame(r#"{"jsonrpc":"2.0","id":true,"method":"version"}"#));
    assert_eq!((line.severity.as_str(), line.id.as_deref()), ("warn", None));
    assert!(line.message.contains("invalid-id-type"), "{line:?}");
}

#[test]
fn an_unreadable_message_is_a_warning_without_method_and_id() {
    for (bytes, part) in [
        (frame("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"nope\""), "-32700"),
        (frame_with_length("abc", ""), "-32700"),
        (b"noise\n".to_vec(), "-32700"),
        (frame("[]"), "batch-not-supported"),
        (frame_with_length(99_999_999_999_u64, ""), "oversize"),
        (with_header(&format!("X-Padding: {}\r\n", "p".repeat(9_000)), ""), "header-too-large"),
    ] {
        let line = line_for(bytes);
        assert_eq!(fields(&line), ("warn", None, None), "{line:?}");
        assert!(line.message.contains(part), "{part}: {line:?}");
    }
}

#[test]
fn an_oversize_message_is_logged_with_its_size() {
    let line = line_for(frame_with_length(99_999_999_999_u64, ""));
    assert!(line.message.contains("99999999999"), "{line:?}");
}

#[test]
fn a_request_with_a_refused_content_type_is_a_warning_with_its_id() {
    let body = request(7, "version");
    let lines = format!("Content-Length: {}\r\nContent-Type: text/html; charset=hunter2\r\n", body.len());
    let line = line_for(with_header(&lines, body));
    assert_eq!((line.severity.as_str(), line.id.as_deref()), ("warn", Some("7")));
    assert!(line.message.contains("unsupported-content-type") && !line.message.contains("hunter2"), "{line:?}");
}

#[test]
fn a_truncated_message_is_a_warning() {
    let mut daemon = Daemon::start(&[]);
    daemon.write("Content-Length: 57\r\n\r\n{\"hunter2\"");
    daemon.close_input();
    daemon.answer().assert_parse_error();
    let ending = daemon.wait_for_exit();
    ending.assert_graceful();
    let [line] = ending.lines.as_slice() else { panic!("the log must have one line, got {:#?}", ending.lines) };
    assert_eq!(fields(&Line::read(line)), ("warn", None, None));
    assert!(!line.contains("hunter2"), "{line}");
}

#[test]
fn a_served_request_is_logged_at_debug_with_method_and_id() {
    let mut daemon = Daemon::start(&["--log-level", "debug"]);
    daemon.ask(request(r#""a b""#, "version")).result();
    let line = Line::read(&daemon.wait_for_log_line(&["version", "a b"]));
    assert_eq!(fields(&line), ("debug", Some("\"version\""), Some(r#""a b""#)));
    daemon.close_and_expect_exit();
}

#[test]
fn the_shutdown_is_logged_at_info() {
    let mut daemon = Daemon::start(&["--log-level", "info"]);
    daemon.ask(request(9, "shutdown")).result();
    let ending = daemon.wait_for_exit();
    ending.assert_graceful();
    let line = ending.lines.iter().find(|line| line.contains("shutdown requested, shutting down gracefully")).unwrap();
    assert_eq!(fields(&Line::read(line)), ("info", Some("\"shutdown\""), Some("9")));
}

#[test]
fn ids_and_methods_cannot_forge_a_line() {
    let forged = r"a\n2026-01-01T00:00:00.000Z error forged\u001b[31m\u2028\r";
    let mut daemon = Daemon::start(&["--log-level", "debug"]);
    daemon.ask(request(format!("\"{forged}\""), "version")).result();
    daemon.ask(request(1, forged)).failure();
    daemon.send(notification_with(forged, "[]"));
    daemon.assert_no_pending_answer();
    for line in daemon.close_and_expect_exit() {
        assert!(!line.contains('\u{1b}') && !line.contains('\r') && !line.contains('\u{2028}'), "{line:?}");
        assert_ne!(Line::read(&line).message, "forged");
    }
}

#[test]
fn invisible_characters_in_an_id_are_escaped() {
    let line = line_for(frame(request("\"a\u{3164}\u{34f}\u{202e}\u{e0041}b\"", "nope")));
    assert_eq!(line.id.as_deref(), Some("\"a\\u{3164}\\u{34f}\\u{202e}\\u{e0041}b\""));
}

#[test]
fn long_ids_and_methods_are_truncated_in_the_log() {
    let long = "x".repeat(100_000);
    let mut daemon = Daemon::start(&["--log-level", "debug"]);
    // This id has the maximum number of characters, and each character has several bytes.
    let id = format!("\"{}\"", "€".repeat(1_024));
    daemon.ask(request(&id, "version")).result();
    daemon.ask(request(&id, "nope")).failure();
    daemon.ask(request(1, &long)).failure();
    daemon.ask(request("1".repeat(300), "version")).result();
    for line in daemon.close_and_expect_exit() {
        assert!(line.len() < 1_500, "{} bytes", line.len());
    }
}

#[test]
fn no_line_contains_a_part_of_a_payload() {
    const SECRETS: [&str; 4] = ["hunter2", "sk-live-0123456789", "/home/alice/.ssh/id_rsa", "alice@example.com"];
    let mut daemon = Daemon::start(&["--log-level", "debug"]);
    for secret in SECRETS {
        let text = format!("{{\"password\":\"{secret}\"}}");
        for bytes in [
            frame(format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"version\",\"params\":{text}")),
            frame(request_with(1, "version", &text)),
            frame(request_with(1, "setLogLevel", &format!("{{\"level\":\"{secret}\"}}"))),
            frame(request_with(1, "setLogLevel", &text)),
            frame(request_with(1, "nope", &text)),
            frame(notification_with("nope", &text)),
            frame(notification_with("setLogLevel", &text)),
            frame(format!("[{text}]")),
            frame(text.clone()),
            frame(secret),
            frame_with_length(text.len() - 3, &text),
            frame_with_length(99_999_999_999_u64, ""),
            format!("{secret}\n").into_bytes(),
            frame_with_length(secret, ""),
            with_header(&format!("Content-Length: 2\r\nContent-Type: {secret}; charset={secret}\r\n"), "{}"),
            with_header(&format!("X-Token: {secret}\r\n"), ""),
            with_header(&format!("X-Token: {}\r\n", secret.repeat(1_000)), ""),
        ] {
            daemon.write(bytes);
            let id = daemon.probe();
            while daemon.answer().id() != id {}
        }
    }
    let lines = daemon.close_and_expect_exit();
    assert!(lines.len() > 60, "{} lines", lines.len());
    for line in lines {
        for secret in SECRETS {
            assert!(!line.contains(secret), "{line}");
        }
    }
}

#[test]
fn only_a_method_that_looks_like_a_name_is_logged() {
    for method in ["/home/alice/.ssh/id_rsa", "C:\\\\Users\\\\alice", "~/secret", "../../etc/passwd", "a b", "é"] {
        let line = line_for(frame(request(7, method)));
        assert_eq!(fields(&line), ("warn", None, Some("7")), "{line:?}");
    }
    for method in ["textDocument/didOpen", "$/cancel", "rpc.discover", "a-b_c:d"] {
        let line = line_for(frame(request(7, method)));
        assert_eq!(fields(&line), ("warn", Some(format!("\"{method}\"").as_str()), Some("7")), "{line:?}");
    }
}
