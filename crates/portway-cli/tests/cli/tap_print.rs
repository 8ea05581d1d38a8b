//! `portway tap --print`: lines for people.

use std::process::{Command, Stdio};

use crate::command::{Test, feed};
use crate::tap::Tapping;

/// A session: a request and its response, a notification, an error, a batch, and text that is not a message.
const SESSION: &str = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}
{"jsonrpc":"2.0","method":"text/log","params":{"text":"\u001b[31mred"}}
{"jsonrpc":"2.0","id":"x","method":"text/fail"}
a log line
[{"jsonrpc":"2.0","id":2,"method":"one"},{"jsonrpc":"2.0","method":"two"}]
{"event":"tick"}
"#;

/// A program that answers the requests of the session.
const PROGRAM: &str = r#"read -r line; echo '{"jsonrpc":"2.0","id":1,"result":3}'
read -r line; read -r line
echo '{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"Method not found"}}'; cat >/dev/null"#;

/// Runs the session through the command. Returns the printed lines without the time.
async fn lines(options: &[&str]) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let arguments = [&["tap"], options, &["--", "sh", "-c", PROGRAM]].concat();
    let outcome = feed(arguments, SESSION.as_bytes()).await?;
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    // The first column is the time.
    Ok(outcome.stderr.lines().map(|line| line.get(10..).unwrap_or_default().to_owned()).collect())
}

#[tokio::test]
async fn each_message_has_a_line_with_its_direction_kind_method_and_id() -> Test {
    let lines = lines(&[]).await?;
    for expected in [
        "→ request       add #1 [1,2]",
        "→ notification  text/log {\"text\":\"\\u001b[31mred\"}",
        "→ request       text/fail #\"x\"",
        "→ invalid       10 bytes, the message is not JSON: a log line",
        "→ request       batch of 2: one #2",
        "→ notification  batch of 2: two",
        "→ invalid       not JSON-RPC: {\"event\":\"tick\"}",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected}: {lines:#?}");
    }
    // A response has the method of its request, and the time since the request.
    for (start, end) in
        [("← result        add #1 ", " ms 3"), ("← error         text/fail #\"x\" ", " ms -32601 Method not found")]
    {
        let is_answer = |line: &&String| line.starts_with(start) && line.ends_with(end);
        let answer = lines.iter().find(is_answer).ok_or_else(|| format!("{start}: {lines:#?}"))?;
        let time: f64 = answer.strip_prefix(start).and_then(|rest| rest.strip_suffix(end)).ok_or("no time")?.parse()?;
        assert!((0.0..60_000.0).contains(&time), "{answer}");
    }
    assert!(lines.first().is_some_and(|line| line == "  open sh"), "{lines:#?}");
    assert!(lines.last().is_some_and(|line| line == "  close the program ended (exit status: 0)"), "{lines:#?}");
    Ok(())
}

#[tokio::test]
async fn the_printed_messages_of_a_batch_are_bounded() -> Test {
    for count in [1_000, 1_001] {
        let batch = format!("[{}]\n", vec![r#"{"jsonrpc":"2.0","method":"one"}"#; count].join(","));
        let outcome = feed(["tap", "--", "cat"], batch.as_bytes()).await?;
        let ends_of = |direction: &str, end: &str| {
            outcome.stderr.lines().filter(|line| line.contains(direction) && line.ends_with(end)).count()
        };
        assert_eq!(ends_of("→", &format!("batch of {count}: one")), 1_000);
        assert_eq!(ends_of("→", "batch of 1001: 1 messages were left out"), count - 1_000);
    }
    Ok(())
}

#[tokio::test]
async fn lines_are_filtered_by_direction_kind_and_method() -> Test {
    let kinds = |lines: &[String]| -> Vec<String> {
        let words = |line: &String| line.split_whitespace().nth(1).unwrap_or_default().to_owned();
        let shown = lines.iter().filter(|line| !line.starts_with("  "));
        shown.map(words).collect()
    };
    for (options, expected) in [
        (&["--direction", "received"][..], &["result", "error"][..]),
        (&["--only", "requests"], &["request", "request", "request"]),
        (&["--only", "responses"], &["result", "error"]),
        (&["--only", "errors,notifications"], &["notification", "notification", "error"]),
        (&["--only", "invalid"], &["invalid", "invalid"]),
        (&["--method", "text/*", "--print"], &["notification", "request", "error"]),
        (&["--method", "a?d", "--method", "two"], &["request", "notification", "result"]),
        (&["--method", "*", "--only", "invalid"], &[]),
    ] {
        let mut got = kinds(&lines(options).await?);
        let mut expected = expected.to_vec();
        // The order of the two directions depends on the machine.
        got.sort_unstable();
        expected.sort_unstable();
        assert_eq!(got, expected, "{options:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_line_has_a_bounded_width_and_no_control_characters() -> Test {
    let long = "ä".repeat(20_000);
    let input = format!(
        "{}\n\u{202e}\u{1b}[2J garbage \u{7}\n",
        serde_json::json!({ "jsonrpc": "2.0", "id": long, "method": long, "params": [long] })
    );
    let outcome = feed(["tap", "--framing", "newline", "--", "sh", "-c", "cat >/dev/null"], input.as_bytes()).await?;
    let lines: Vec<_> = outcome.stderr.lines().collect();
    assert_eq!(lines.len(), 4, "{}", outcome.stderr);
    assert!(lines.iter().all(|line| line.chars().count() <= 160), "{}", outcome.stderr);
    assert!(lines[1].contains("→ request       ääää") && lines[1].ends_with('…'), "{}", lines[1]);
    let is_hidden = |character: char| character.is_control() || character == '\u{202e}';
    assert!(!lines.iter().any(|line| line.contains(is_hidden)), "{}", outcome.stderr);
    Ok(())
}

#[test]
fn colours_are_printed_only_on_a_terminal_and_only_without_no_color() -> Test {
    let command = format!("'{}' tap --print -- sh -c 'cat >/dev/null'", env!("CARGO_BIN_EXE_portway"));
    for (no_color, has_colours) in [("", true), ("1", false)] {
        // `script` of the package bsdutils runs a program on a terminal.
        let message = r#"{"jsonrpc":"2.0","id":1,"method":"add"}"#;
        let line = format!("printf '%s\\n' '{message}' | {command}");
        let output = Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .env("NO_COLOR", no_color)
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::null())
            .output()?;
        let shown = String::from_utf8(output.stdout)?;
        assert!(shown.contains("add"), "{shown}");
        assert_eq!(shown.contains("\x1b[36m→ \x1b[0m"), has_colours, "{shown:?}");
        assert_eq!(shown.contains('\x1b'), has_colours, "{shown:?}");
    }
    let (_, _, stderr) = Tapping::start(&["--", "true"])?.end()?;
    assert!(!stderr.contains('\x1b'), "{stderr}");
    Ok(())
}
