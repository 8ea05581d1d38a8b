//! The blocking guest, on streams in memory.

use std::io::{self, Cursor, ErrorKind, Read};

use portway::Limits;
use portway::RpcError;
use portway::codec::wipc::FrameType;
use portway::codec::wipc::encode;
use portway::wipc::{Guest, GuestServer, OwnedFrame};
use serde_json::{Value, json};

use crate::guests::Test;

fn stream(frames: &[(FrameType, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (frame_type, payload) in frames {
        encode(*frame_type, payload.as_bytes(), &mut bytes).unwrap();
    }
    bytes
}

fn calls(texts: &[&str]) -> Vec<u8> {
    stream(&texts.iter().map(|text| (FrameType::Call, *text)).collect::<Vec<_>>())
}

/// Returns the frames in the output of a guest.
fn frames_in(bytes: &[u8]) -> Vec<(FrameType, String)> {
    let mut guest = Guest::on(bytes, io::sink());
    let mut frames = Vec::new();
    while let Some(OwnedFrame { frame_type, payload }) = guest.receive().unwrap() {
        frames.push((frame_type, String::from_utf8(payload).unwrap()));
    }
    frames
}

/// Serves the input. Returns the payloads of all frames that the server sends after OPEN, as JSON.
fn payloads_after_open(server: GuestServer<'_>, input: &[u8]) -> Vec<Value> {
    let mut out = Vec::new();
    server.serve(&mut Guest::on(input, &mut out)).unwrap();
    let mut frames = frames_in(&out).into_iter();
    assert_eq!(frames.next(), Some((FrameType::Open, String::new())), "the first frame must be OPEN");
    frames.map(|(_, text)| serde_json::from_str(&text).unwrap()).collect()
}

fn server_with_add() -> GuestServer<'static> {
    GuestServer::new()
        .method("add", |(a, b): (i64, i64), _| a.checked_add(b).ok_or_else(|| RpcError::invalid_params("too large")))
}

/// An input that returns the error `Interrupted` before each byte.
struct InterruptedReader {
    input: Cursor<Vec<u8>>,
    is_interrupted: bool,
}

impl Read for InterruptedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.is_interrupted = !self.is_interrupted;
        if self.is_interrupted { Err(ErrorKind::Interrupted.into()) } else { self.input.read(&mut buffer[..1]) }
    }
}

#[test]
fn frames_in_any_pieces_are_received_and_other_bytes_are_dropped() -> Test {
    let bytes = [b"noise WIPC ", &stream(&[(FrameType::Call, "{}"), (FrameType::Data, "")])[..], b"more"].concat();
    let mut guest = Guest::on(InterruptedReader { input: Cursor::new(bytes), is_interrupted: false }, io::sink());
    let call = OwnedFrame { frame_type: FrameType::Call, payload: b"{}".to_vec() };
    let data = OwnedFrame { frame_type: FrameType::Data, payload: Vec::new() };
    assert_eq!(
        (guest.receive()?, guest.receive()?, guest.receive()?, guest.receive()?),
        (Some(call), Some(data), None, None)
    );
    Ok(())
}

#[test]
fn frames_in_the_same_read_as_close_are_received_and_the_guest_does_not_read_again() -> Test {
    let bytes = stream(&[(FrameType::Close, "bye"), (FrameType::Data, "with it")]);
    let late = stream(&[(FrameType::Data, "late")]);
    let mut guest = Guest::on(bytes.chain(&late[..]), Vec::new());
    assert_eq!(guest.receive()?.map(|frame| frame.payload), Some(b"bye".to_vec()));
    assert_eq!(guest.receive()?.map(|frame| frame.payload), Some(b"with it".to_vec()));
    assert_eq!(guest.receive()?, None);
    guest.send(FrameType::Data, b"work that was begun")?;
    Ok(())
}

#[test]
fn frames_that_are_not_calls_are_passed_to_on_frame_with_their_payload() {
    let input = stream(&[
        (FrameType::Open, "hello"),
        (FrameType::Data, "bytes"),
        (FrameType::Close, "bye"),
        (FrameType::Call, r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#),
    ]);
    let mut reported = Vec::new();
    let payloads = payloads_after_open(
        server_with_add().on_frame(|frame, _| reported.push((frame.frame_type, frame.payload.to_vec()))),
        &input,
    );
    assert_eq!(
        payloads,
        [json!({ "jsonrpc": "2.0", "id": 1, "result": 3 })],
        "a call after CLOSE in the same read must be answered"
    );
    let expected = [(FrameType::Open, "hello"), (FrameType::Data, "bytes"), (FrameType::Close, "bye")];
    assert_eq!(reported, expected.map(|(frame_type, payload)| (frame_type, payload.as_bytes().to_vec())));
}

#[test]
fn a_server_ends_when_its_handler_sends_close() {
    let server = GuestServer::new().method("leave", |(): (), host| {
        host.send(FrameType::Close, b"\"bye\"").unwrap();
        Ok::<_, RpcError>(())
    });
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"leave"}"#;
    assert_eq!(payloads_after_open(server, &calls(&[call, call])), [json!("bye")], "CLOSE must be the last frame");
}

#[test]
fn nothing_is_sent_after_close() -> Test {
    let mut out = Vec::new();
    let mut guest = Guest::on(io::empty(), &mut out);
    guest.send(FrameType::Close, b"")?;
    let refused = guest.send(FrameType::Data, b"late").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::BrokenPipe);
    assert_eq!(refused.to_string(), "cannot send after CLOSE");
    assert_eq!(frames_in(&out), [(FrameType::Close, String::new())]);
    Ok(())
}

#[test]
fn an_input_that_ends_inside_a_frame_is_reported_once() -> Test {
    let bytes = stream(&[(FrameType::Data, "0123456789")]);
    let mut guest = Guest::on(&bytes[..15], io::sink());
    let problem = guest.receive().unwrap_err();
    assert_eq!(problem.kind(), ErrorKind::UnexpectedEof);
    assert_eq!(problem.to_string(), "the input ended within a frame, after 15 of its bytes");
    assert_eq!(guest.receive()?, None);
    Ok(())
}

#[test]
fn a_payload_over_the_limit_is_not_a_frame() -> Test {
    let bytes = stream(&[(FrameType::Data, "0123456789"), (FrameType::Data, "012345678")]);
    let mut guest = Guest::on(&bytes[..], io::sink()).with_max_payload(9);
    assert_eq!(guest.receive()?.map(|frame| frame.payload.len()), Some(9));
    Ok(())
}

#[test]
fn calls_are_answered_with_results_and_errors() {
    let input = calls(&[
        r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"add","params":[1]}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"add","params":[1,9223372036854775807]}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"subtract"}"#,
        r#"{"jsonrpc":"2.0","method":"add","params":[1,2]}"#,
        r#"[{"jsonrpc":"2.0","id":5,"method":"add","params":[2,2]},{"jsonrpc":"2.0","id":6,"method":"add","params":[3,3]}]"#,
    ]);
    let payloads = payloads_after_open(server_with_add(), &input);
    assert_eq!(payloads[0], json!({ "jsonrpc": "2.0", "id": 1, "result": 3 }));
    assert_eq!((&payloads[1]["id"], &payloads[1]["error"]["code"]), (&json!("x"), &json!(-32602)));
    assert_eq!(payloads[2]["error"], json!({ "code": -32602, "message": "too large" }));
    assert_eq!(payloads[3]["error"], json!({ "code": -32601, "message": "Method not found: subtract" }));
    let batch = [json!({ "jsonrpc": "2.0", "id": 5, "result": 4 }), json!({ "jsonrpc": "2.0", "id": 6, "result": 6 })];
    assert_eq!(payloads[4], json!(batch));
    assert_eq!(payloads.len(), 5, "a notification is not answered");
}

#[test]
fn a_call_that_cannot_be_read_is_answered_and_the_next_call_is_read() {
    let good = r#"{"jsonrpc":"2.0","id":9,"method":"add","params":[1,2]}"#;
    for (bad, id, code) in [
        ("", Value::Null, -32700),
        ("{", Value::Null, -32700),
        ("\u{feff}{}", Value::Null, -32700),
        ("[]", Value::Null, -32600),
        ("1", Value::Null, -32600),
        (r#"{"id":1,"method":"add","params":[1,2]}"#, json!(1), -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"add","params":[1,2]}"#, json!(1), -32600),
    ] {
        let payloads = payloads_after_open(server_with_add(), &calls(&[bad, good]));
        assert_eq!((&payloads[0]["id"], &payloads[0]["error"]["code"]), (&id, &json!(code)), "{bad}");
        assert_eq!(payloads[1]["result"], json!(3), "{bad}");
    }
}

#[test]
fn a_call_over_the_limit_is_refused_and_the_next_call_is_answered() {
    let mut limits = Limits::DEFAULT;
    limits.message_bytes = 60;
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"add","params":[1,{}]}}"#, "1".repeat(60));
    let good = r#"{"jsonrpc":"2.0","id":9,"method":"add","params":[1,2]}"#;
    let payloads = payloads_after_open(server_with_add().with_limits(limits), &calls(&[&long, good]));
    assert_eq!(payloads[0]["error"]["data"], json!({ "reason": "oversize" }));
    assert_eq!(payloads[1]["result"], json!(3));
}

#[test]
fn a_handler_can_send_notifications_and_frames_before_it_answers() {
    let server = GuestServer::new().method("work", |(): (), host| {
        host.notify("progress", &[50]).unwrap();
        host.send(FrameType::Data, b"{\"half\":true}").unwrap();
        assert_eq!(host.notify("progress", &50).unwrap_err().kind(), ErrorKind::InvalidInput);
        Ok::<_, RpcError>(())
    });
    let payloads = payloads_after_open(server, &calls(&[r#"{"jsonrpc":"2.0","id":1,"method":"work"}"#]));
    assert_eq!(payloads[0], json!({ "jsonrpc": "2.0", "method": "progress", "params": [50] }));
    assert_eq!(payloads[1], json!({ "half": true }));
    assert_eq!(payloads[2], json!({ "jsonrpc": "2.0", "id": 1, "result": null }));
}

#[test]
fn the_server_continues_after_a_panic_in_any_handler() {
    const PANIC: &str = "a panic of the test";
    let boom = r#"{"jsonrpc":"2.0","method":"boom"}"#;
    let bad_params = r#"{"jsonrpc":"2.0","method":"read"}"#;
    let add = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"add","params":[1,2]}}"#);
    let batch = format!(r#"[{boom},{},{{"jsonrpc":"2.0","id":3,"method":"fail"}},{}]"#, add(2), add(4));
    let input = stream(&[
        (FrameType::Call, boom),
        (FrameType::Open, "boom"),
        (FrameType::Call, &add(1)),
        (FrameType::Call, &batch),
        (FrameType::Data, "boom"),
        (FrameType::Call, bad_params),
        (FrameType::Call, &add(5)),
        (FrameType::Close, "boom"),
    ]);
    let mut frames = 0;
    let server = server_with_add()
        .method("fail", |(): (), _| -> Result<(), RpcError> { panic!("{PANIC}") })
        .on_notify("boom", |(): (), _| panic!("{PANIC}"))
        .on_notify("read", |_: Unreadable, _| ())
        .on_frame(|frame, _| {
            frames += 1;
            assert_ne!(frame.payload, b"boom", "{PANIC}");
        });
    let payloads = payloads_after_open(server, &input);
    assert_eq!(frames, 3);
    assert_eq!(payloads.len(), 3, "{payloads:?}");
    assert_eq!((&payloads[0]["id"], &payloads[0]["result"]), (&json!(1), &json!(3)));
    assert_eq!((&payloads[1][0]["result"], &payloads[1][2]["result"]), (&json!(3), &json!(3)));
    assert_eq!((&payloads[1][1]["id"], &payloads[1][1]["error"]["code"]), (&json!(3), &json!(-32603)));
    assert_eq!((&payloads[2]["id"], &payloads[2]["result"]), (&json!(5), &json!(3)));
}

/// Params that panic when they are deserialized.
struct Unreadable;

impl<'de> serde::Deserialize<'de> for Unreadable {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("these params cannot be read")
    }
}

#[test]
fn a_reserved_method_name_is_refused_before_the_guest_sends_a_frame() {
    let mut out = Vec::new();
    let server = GuestServer::new().method("rpc.hello", |(): (), _| Ok::<_, RpcError>(()));
    let problem = server.serve(&mut Guest::on(io::empty(), &mut out)).unwrap_err();
    assert_eq!(problem.to_string(), "\"rpc.hello\" cannot be registered: names that begin with rpc. are reserved");
    assert!(out.is_empty());
}
