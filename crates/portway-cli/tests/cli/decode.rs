//! `portway decode`: each kind of event, and the events of invalid streams.

use std::error::Error;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::command::{Run, Test, feed, portway};

pub(crate) fn frame(text: &str) -> Vec<u8> {
    format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
}

pub(crate) fn message(text: &str) -> Value {
    json!({ "event": "message", "text": text })
}

fn passthrough(bytes: &[u8]) -> Value {
    json!({ "event": "passthrough", "bytes": STANDARD.encode(bytes) })
}

fn error(code: i64, reason: &str) -> Value {
    json!({ "event": "error", "code": code, "reason": reason })
}

/// Joins consecutive passthrough events, since the command may split a run of bytes at any position.
pub(crate) fn whole(events: Vec<Value>) -> Result<Vec<Value>, Box<dyn Error>> {
    let mut whole: Vec<Value> = Vec::new();
    let mut bytes = Vec::new();
    for event in events {
        if event["event"] == "passthrough" {
            bytes.extend(STANDARD.decode(event["bytes"].as_str().ok_or("no text")?)?);
            continue;
        }
        if !bytes.is_empty() {
            whole.push(passthrough(&std::mem::take(&mut bytes)));
        }
        whole.push(event);
    }
    if !bytes.is_empty() {
        whole.push(passthrough(&bytes));
    }
    Ok(whole)
}

async fn decode(framing: &str, input: &[u8]) -> Result<Run, Box<dyn Error>> {
    feed(["decode", "--framing", framing, "--max-bytes", "1000"], input).await
}

#[tokio::test]
async fn each_part_of_a_stream_of_frames_is_an_event() -> Test {
    let good = r#"{"jsonrpc":"2.0","method":"a"}"#;
    let framed = frame(good);
    let with = |before: &[u8]| [before, &framed].concat();
    let cases: Vec<(Vec<u8>, Vec<Value>)> = vec![
        (Vec::new(), vec![]),
        (with(b""), vec![message(good)]),
        (
            [with(b""), frame(" [1,\r\n\t\"\\u0001 \\\" é\"] ")].concat(),
            vec![message(good), message(" [1,\r\n\t\"\\u0001 \\\" é\"] ")],
        ),
        (with(b"\r\n\r\n"), vec![message(good)]),
        (with(b"INFO \xff\0\n"), vec![passthrough(b"INFO \xff\0\n"), message(good)]),
        (framed.iter().copied().chain(*b"bye").collect(), vec![message(good), passthrough(b"bye")]),
        (with(&frame("{")), vec![error(-32700, "parse-error"), message(good)]),
        (with(&frame("\u{feff}{}")), vec![error(-32700, "parse-error"), message(good)]),
        (with(b"Content-Length: 2\r\n\r\n\"\xff"), vec![error(-32700, "parse-error"), message(good)]),
        (with(b"Content-Length: ten\r\n\r\n"), vec![error(-32700, "invalid-header"), message(good)]),
        (with(b"Content-Length: 1001\r\n\r\n"), vec![error(-32600, "oversize"), message(good)]),
        (
            with(&[b"Content-Length: 1001\r\n\r\n".as_slice(), &[b'7'; 1001]].concat()),
            vec![error(-32600, "oversize"), message(good)],
        ),
        (with(b"Content-Length: 99999999999999999999999\r\n\r\n"), vec![error(-32600, "oversize"), message(good)]),
        (
            with(b"Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}"),
            vec![error(-32600, "unsupported-content-type"), message(good)],
        ),
        (
            with(b"Content-Type: application/vscode-jsonrpc; charset=latin1\r\nContent-Length: 2\r\n\r\n{}"),
            vec![error(-32600, "bad-charset"), message(good)],
        ),
        (
            with(&[b"Content-Length: 2\r\nX: ".as_slice(), &[b'x'; 9000], b"\r\n\r\n{}"].concat()),
            vec![error(-32600, "header-too-large"), message(good)],
        ),
        (b"Content-Length: 100\r\n\r\n{\"a\"".to_vec(), vec![json!({ "event": "truncated", "bytes": 27 })]),
        // If a length is too short, the rest of the body is passed through. If a length is too long, the body contains
        // a part of the next header.
        (
            with(b"Content-Length: 3\r\n\r\n{\"a\":1}"),
            vec![error(-32700, "parse-error"), passthrough(b"\":1}"), message(good)],
        ),
        (with(b"Content-Length: 24\r\n\r\n{\"a\":1}"), vec![error(-32700, "parse-error"), message(good)]),
    ];
    for (input, expected) in cases {
        let outcome = decode("content-length", &input).await?;
        let name = String::from_utf8_lossy(&input).into_owned();
        let mut events = whole(outcome.events()?)?;
        if name.contains("ten\r") || name.contains("X: ") {
            // The rest of a broken header may be passed through.
            events.retain(|event| event["event"] != "passthrough");
        }
        assert_eq!(events, expected, "{name}");
        let is_clean = expected.iter().all(|event| event["event"] == "message" || event["event"] == "passthrough");
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(if is_clean { 0 } else { 1 }), ""), "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn each_line_is_an_event() -> Test {
    let input =
        [b"{\"jsonrpc\":\"2.0\"}\r\n\n  [1]\nnot json\n\"text\"\n".as_slice(), &[b'x'; 1001], b"\n{}\n\xff\n{\"a\":"]
            .concat();
    let expected = [
        message("{\"jsonrpc\":\"2.0\"}"),
        message("[1]"),
        error(-32700, "parse-error"),
        message("\"text\""),
        error(-32600, "oversize"),
        message("{}"),
        error(-32700, "parse-error"),
        error(-32700, "parse-error"),
    ];
    let outcome = decode("newline", &input).await?;
    assert_eq!(outcome.events()?, expected);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
    Ok(())
}

#[tokio::test]
async fn the_lines_of_the_output_are_exactly_as_documented() -> Test {
    let input = [frame("[\"é\\n\"]"), b"!?".to_vec(), frame("x"), b"Content-Length: 9\r\n\r\n[".to_vec()].concat();
    let outcome = decode("content-length", &input).await?;
    let expected = "{\"event\":\"message\",\"text\":\"[\\\"é\\\\n\\\"]\"}\n\
                    {\"event\":\"passthrough\",\"bytes\":\"IT8=\"}\n\
                    {\"event\":\"error\",\"code\":-32700,\"reason\":\"parse-error\"}\n\
                    {\"event\":\"truncated\",\"bytes\":22}\n";
    assert_eq!(outcome.stdout, expected);
    Ok(())
}

#[tokio::test]
async fn the_framing_is_detected_from_the_first_message() -> Test {
    const FIRST: &str = r#"{"jsonrpc":"2.0","method":"a"}"#;
    let frames = [frame(FIRST), frame("[1]")].concat();
    let lines = format!("{FIRST}\n[1]\n");
    let messages = || vec![message(FIRST), message("[1]")];
    for (banner, stream) in [
        ("", &frames[..]),
        ("", lines.as_bytes()),
        ("", format!("\r\n {FIRST}\r\n[1]").as_bytes()),
        ("[INFO] ready\n", &frames),
        ("[INFO] ready\n", lines.as_bytes()),
        ("{\"level\":30,\"msg\":\"ready\"}\n{}\n", &frames),
        ("{\"level\":30,\"msg\":\"ready\"}\n[]\n", lines.as_bytes()),
    ] {
        let outcome = feed(["decode"], &[banner.as_bytes(), stream].concat()).await?;
        let mut expected = messages();
        if !banner.is_empty() {
            expected.insert(0, passthrough(banner.as_bytes()));
        }
        assert_eq!(whole(outcome.events()?)?, expected);
        assert_eq!(outcome.code, Some(0));
    }
    for (input, expected) in [
        (&b""[..], vec![]),
        (b"just text", vec![passthrough(b"just text")]),
        (b"{\"a\":", vec![error(-32700, "parse-error")]),
        (b"Content-Length: 5", vec![json!({ "event": "truncated", "bytes": 17 })]),
    ] {
        assert_eq!(whole(feed(["decode"], input).await?.events()?)?, expected);
    }
    Ok(())
}

#[tokio::test]
async fn a_header_and_a_blank_line_show_that_the_first_line_belongs_to_a_log() -> Test {
    let log = r#"{"jsonrpc":"2.0","level":30}"#;
    let message_of = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#);
    let input = [format!("{log}\n").into_bytes(), frame(&message_of(1)), frame(&message_of(2))].concat();
    let outcome = feed(["decode"], &input).await?;
    assert_eq!(outcome.events()?, [message(log), message(&message_of(1)), message(&message_of(2))]);
    assert_eq!(outcome.code, Some(0));
    // A header without a blank line is decoded as a line.
    let input = format!("{log}\nContent-Length: 5\n{log}\nContent-Length: 5\n");
    let outcome = feed(["decode"], input.as_bytes()).await?;
    let parse_error = || error(-32700, "parse-error");
    assert_eq!(outcome.events()?, [message(log), parse_error(), message(log), parse_error()]);
    Ok(())
}

#[tokio::test]
async fn input_in_another_framing_is_reported_with_the_names_of_both_framings() -> Test {
    let text = r#"{"jsonrpc":"2.0","method":"a"}"#;
    let lines = format!("{text}\n{text}\n").into_bytes();
    let frames = [frame(text), frame(text)].concat();
    let wipc = [b"WIPC\x02".as_slice(), &(text.len() as u32).to_le_bytes(), text.as_bytes(), b"\n"].concat();
    for (input, other, option) in [
        (&lines, "one message a line", "newline"),
        (&frames, "Content-Length frames", "content-length"),
        (&wipc, "WIPC frames", "wipc"),
    ] {
        for (framing, name) in
            [("newline", "one message a line"), ("content-length", "Content-Length frames"), ("wipc", "WIPC frames")]
        {
            let outcome = decode(framing, input).await?;
            let context = format!("{other} as {framing}: {}", outcome.stderr);
            if framing == option {
                assert_eq!(outcome.stderr, "", "{context}");
                continue;
            }
            assert_eq!(outcome.code, Some(1), "{context}");
            assert_eq!(outcome.stderr.matches(&format!("looks like {other}, not {name}")).count(), 1, "{context}");
            assert!(outcome.stderr.contains(&format!("--framing {option}")), "{context}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_byte_order_mark_is_an_error_in_a_message_and_noise_elsewhere() -> Test {
    let text = r#"{"jsonrpc":"2.0","method":"a"}"#;
    let outcome = feed(["decode"], format!("\u{feff}{text}\n{text}\n").as_bytes()).await?;
    assert_eq!(outcome.events()?, [error(-32700, "parse-error"), message(text)]);
    assert_eq!(outcome.code, Some(1));
    let outcome = feed(["decode"], &["\u{feff}".as_bytes(), &frame(text)].concat()).await?;
    assert_eq!(whole(outcome.events()?)?, [passthrough("\u{feff}".as_bytes()), message(text)]);
    Ok(())
}

#[tokio::test]
async fn unreadable_input_exits_with_2() -> Test {
    let folder = tempfile::tempdir()?;
    let output = portway(["decode"]).stdin(std::fs::File::open(folder.path())?).output().await?;
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr)?.contains("cannot read standard input: Is a directory"));
    Ok(())
}
