//! Bytes outside of frames, and frames without a message. A link reports or answers both, and serves the next valid
//! frame.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use portway::Limits;
use portway::codec::frame::FrameFault;
use portway::{CallError, Client, Closed, Context, Diagnostic, Framing, Peer, RpcError, Server, Transport};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::wire::{RemoteEnd, TEST_TIMEOUT, frame, limits, transport_with_remote_end, transport_with_remote_end_of};

type Test = Result<(), Box<dyn Error>>;

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

fn serve_ping(transport: Transport) {
    let server = Server::new(transport);
    server.method_sync("ping", |(): (), _: Context| Ok::<_, RpcError>("pong"));
    server.forget();
}

/// Returns the errors that the server sends before its answer to [`PING`].
async fn errors_before_pong(there: &mut RemoteEnd) -> Result<Vec<Value>, Box<dyn Error>> {
    let mut errors = Vec::new();
    loop {
        let answer = there.receive().await?;
        if answer["id"] == 7 {
            assert_eq!(answer["result"], "pong");
            return Ok(errors);
        }
        errors.push(answer);
    }
}

/// Sends bytes and then a valid request. Returns the errors with which the server answers the bytes.
async fn answers_to(bytes: &[u8]) -> Result<Vec<Value>, Box<dyn Error>> {
    let (transport, mut there) = transport_with_remote_end()?;
    serve_ping(transport);
    there.send_bytes(bytes).await?;
    there.send(PING).await?;
    errors_before_pong(&mut there).await
}

fn error(code: i64, message: &str, reason: Option<&str>) -> Value {
    let mut error = json!({ "code": code, "message": message });
    if let (Some(reason), Value::Object(members)) = (reason, &mut error) {
        members.insert("data".to_owned(), json!({ "reason": reason }));
    }
    json!({ "jsonrpc": "2.0", "id": null, "error": error })
}

#[tokio::test]
async fn each_fault_is_answered_once_and_the_next_request_is_served() -> Test {
    let parse_error = || error(-32700, "Parse error", None);
    let message_and_noise = {
        let mut bytes = frame(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        bytes.extend_from_slice(b"}}}");
        bytes
    };
    let length_too_short = b"Content-Length: 37\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}".to_vec();
    for (bytes, expected) in [
        (b"".to_vec(), vec![]),
        (b"\r\n\r\n".to_vec(), vec![]),
        (frame("{"), vec![parse_error()]),
        (frame(""), vec![parse_error()]),
        (b"INFO starting up\nINFO still starting\n".to_vec(), vec![parse_error()]),
        (b"Content-Length: x\r\n\r\n".to_vec(), vec![parse_error()]),
        (b"Content-Length: -5\r\n\r\n".to_vec(), vec![parse_error()]),
        (
            b"Content-Length: 99999999999999999999999\r\n\r\n".to_vec(),
            vec![error(-32600, "Invalid Request", Some("oversize"))],
        ),
        (length_too_short, vec![parse_error()]),
        (frame("[1"), vec![parse_error()]),
    ] {
        assert_eq!(answers_to(&bytes).await?, expected, "{}", String::from_utf8_lossy(&bytes));
    }
    // A fault after a valid message has a separate answer.
    let answers = answers_to(&message_and_noise).await?;
    assert_eq!(answers.len(), 2);
    assert_eq!(answers.get(1), Some(&parse_error()));
    Ok(())
}

#[tokio::test]
async fn if_a_length_is_too_large_the_next_message_is_served() -> Test {
    let answers = answers_to(b"Content-Length: 43\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}").await?;
    assert_eq!(answers, [error(-32700, "Parse error", None)]);
    Ok(())
}

#[tokio::test]
async fn a_message_with_a_refused_header_is_answered_with_its_id() -> Test {
    let body = r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#;
    for (kind, reason) in [
        ("application/json", "unsupported-content-type"),
        ("application/vscode-jsonrpc; charset=iso-8859-1", "bad-charset"),
    ] {
        let bytes = format!("Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let answers = answers_to(bytes.as_bytes()).await?;
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0]["id"], "a");
        assert_eq!(answers[0]["error"]["data"]["reason"], reason);
    }
    Ok(())
}

#[tokio::test]
async fn a_notification_with_a_refused_header_is_not_answered() -> Test {
    let body = r#"{"jsonrpc":"2.0","method":"ping"}"#;
    let bytes = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    assert_eq!(answers_to(bytes.as_bytes()).await?, [] as [Value; 0]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_stalled_message_is_abandoned_without_a_reply() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    serve_ping(transport.on_diagnostic(move |diagnostic| {
        if let Diagnostic::Frame(fault) = diagnostic {
            let _ = sender.send(fault);
        }
    }));
    let start = tokio::time::Instant::now();
    there.send_bytes(b"Content-Length: 100\r\n\r\n{\"jsonrpc\"").await?;
    assert_eq!(received.recv().await, Some(FrameFault::TimedOut { received_bytes: 33 }));
    assert!((30_000..30_100).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    there.send(PING).await?;
    assert_eq!(errors_before_pong(&mut there).await?, [] as [Value; 0]);
    // The timeout applies only to an incomplete message, not to the time between two messages.
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    there.send(PING).await?;
    assert_eq!(errors_before_pong(&mut there).await?, [] as [Value; 0]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn stalled_messages_are_abandoned_one_after_the_other() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    serve_ping(transport.on_diagnostic(move |diagnostic| {
        if let Diagnostic::Frame(fault) = diagnostic {
            let _ = sender.send(fault);
        }
    }));
    for part in ["Content-Le", "Content-Length: 100\r\n\r\n{\"jsonrpc\"", "Content-Length: 37\r\n\r\n"] {
        let start = tokio::time::Instant::now();
        there.send_bytes(part.as_bytes()).await?;
        assert_eq!(received.recv().await, Some(FrameFault::TimedOut { received_bytes: part.len() }));
        assert!((30_000..30_100).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    }
    there.send(PING).await?;
    assert_eq!(errors_before_pong(&mut there).await?, [] as [Value; 0]);
    assert!(received.try_recv().is_err(), "each fault must be reported once");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_stalled_message_over_the_limit_is_abandoned_and_the_report_counts_its_received_bytes() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    let limits = limits(|limits: &mut Limits| limits.message_bytes = 100);
    serve_ping(transport.with_limits(limits).on_diagnostic(move |diagnostic| {
        if let Diagnostic::Frame(fault) = diagnostic {
            let _ = sender.send(fault);
        }
    }));
    let header = b"Content-Length: 1000\r\n\r\n";
    for pieces in [&[&[b'x'; 500][..]][..], &[b"{", b"}}", &[b'x'; 300]], &[]] {
        there.send_bytes(header).await?;
        for piece in pieces {
            there.send_bytes(piece).await?;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(received.recv().await, Some(FrameFault::Oversize { length: Some(1_000) }));
        let received_bytes = header.len() + pieces.concat().len();
        assert_eq!(received.recv().await, Some(FrameFault::TimedOut { received_bytes }));
    }
    there.send(PING).await?;
    assert_eq!(errors_before_pong(&mut there).await?.len(), 3, "each message must have one answer");
    Ok(())
}

#[tokio::test]
async fn a_client_passes_noise_to_the_application_and_does_not_answer_the_noise() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    let client = Client::new(transport.on_diagnostic(move |diagnostic| {
        if let Diagnostic::Noise(bytes) = diagnostic {
            let _ = sender.send(String::from_utf8_lossy(bytes).into_owned());
        }
    }));
    let call = client.call::<u32>("count", &()).start();
    there.receive().await?;
    there.send_bytes(b"warming up ...\n").await?;
    there.send(r#"{"jsonrpc":"2.0","id":1,"result":3}"#).await?;
    assert_eq!(call.await, Ok(3));
    client.notify("next", &())?;
    assert_eq!(there.receive().await?["method"], "next", "the client must not answer noise");
    let mut noise = String::new();
    while let Ok(piece) = received.try_recv() {
        noise.push_str(&piece);
    }
    assert_eq!(noise, "warming up ...\n");
    Ok(())
}

#[tokio::test]
async fn a_message_may_arrive_one_byte_at_a_time() -> Test {
    let (transport, mut there) = transport_with_remote_end_of(1, Framing::ContentLength)?;
    let server = Server::new(transport);
    server.method("echo", |(text,): (String,), _: Context| async move { Ok::<_, RpcError>(text) });
    server.forget();
    let sender = async {
        there.send(r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":["é€😀"]}"#).await?;
        there.receive().await
    };
    let answer = timeout(TEST_TIMEOUT, sender).await??;
    assert_eq!(answer["result"], "é€😀");
    Ok(())
}

/// An input that returns the error `Interrupted` before each byte.
struct Interrupted<R> {
    input: R,
    was_interrupted: bool,
}

impl<R: AsyncRead + Unpin> AsyncRead for Interrupted<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.was_interrupted {
            self.was_interrupted = true;
            return Poll::Ready(Err(io::ErrorKind::Interrupted.into()));
        }
        let mut byte = [0];
        let mut one = ReadBuf::new(&mut byte);
        ready!(Pin::new(&mut self.input).poll_read(context, &mut one))?;
        buffer.put_slice(one.filled());
        self.was_interrupted = false;
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn an_input_with_an_interruption_before_each_byte_is_read_completely() -> Test {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let mut there = RemoteEnd::new(far);
    let (input, output) = tokio::io::split(near);
    let transport = Transport::new(Interrupted { input, was_interrupted: false }, output, Framing::ContentLength)?;
    let server = Server::new(transport);
    server.method_sync("ping", |(): (), _: Context| Ok::<_, RpcError>("pong"));
    let running = tokio::spawn(server.run());
    for _ in 0..3 {
        there.send(PING).await?;
        assert_eq!(errors_before_pong(&mut there).await?, [] as [Value; 0]);
    }
    there.finish().await?;
    assert_eq!(there.rest().await?, "");
    assert_eq!(timeout(TEST_TIMEOUT, running).await??, Closed::End);
    Ok(())
}

#[tokio::test]
async fn a_link_may_use_lines_as_its_framing() -> Test {
    let (transport, mut there) = transport_with_remote_end_of(64 * 1024, Framing::Newline)?;
    let server = Server::new(transport);
    server.method("echo", |(text,): (String,), _: Context| async move { Ok::<_, RpcError>(text) });
    server.forget();
    there
        .send_bytes(
            "\r\n  {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":[\"a\\nb\u{2028}\"]}\r\n".as_bytes(),
        )
        .await?;
    assert_eq!(there.receive_line().await?, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\\nb\u{2028}\"}\n");
    there.send_bytes(b"nonsense\n").await?;
    assert!(there.receive_line().await?.contains("-32700"));
    Ok(())
}

#[tokio::test]
async fn consecutive_lines_that_are_not_json_are_answered_once() -> Test {
    let (transport, mut there) = transport_with_remote_end_of(64 * 1024, Framing::Newline)?;
    Server::new(transport).forget();
    let sent = [
        &b"{\n\"jsonrpc\": \"2.0\",\n\n\"id\": 1\n}\n"[..],
        &b"{}\nx\n7\n"[..],
        &b"x\n".repeat(1_000),
        b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"none\"}\n",
    ];
    there.send_bytes(&sent.concat()).await?;
    // Each JSON value is answered, and ends a run of lines that are not JSON.
    let mut answers = Vec::new();
    for _ in 0..6 {
        let answer: Value = serde_json::from_str(&there.receive_line().await?)?;
        answers.push(answer["error"]["code"].as_i64());
    }
    assert_eq!(answers, [-32700, -32600, -32700, -32600, -32700, -32601].map(Some));
    there.finish().await?;
    assert_eq!(there.rest().await?, "");
    Ok(())
}

#[tokio::test]
async fn a_client_ignores_a_banner_before_the_first_message() -> Test {
    let (transport, mut there) = transport_with_remote_end_of(64 * 1024, Framing::Newline)?;
    let client = Client::new(transport);
    let call = client.call::<u32>("count", &()).start();
    there.receive_line().await?;
    there.send_bytes(b"\x1b[32mwelcome\x1b[0m\nnine\n").await?;
    there.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":3}\n").await?;
    assert_eq!(call.await, Ok(3));
    Ok(())
}

#[tokio::test]
async fn ten_lines_that_are_not_messages_end_the_link_and_the_error_contains_their_number() -> Test {
    let (transport, mut there) = transport_with_remote_end_of(64 * 1024, Framing::Newline)?;
    let client = Client::new(transport);
    let call = client.call::<u32>("count", &()).start();
    there.receive_line().await?;
    for _ in 0..10 {
        there.send_bytes(b"not a message\n").await?;
    }
    assert_eq!(timeout(TEST_TIMEOUT, call).await?, Err(CallError::Lost(Closed::NoMessages(10))));
    Ok(())
}

#[tokio::test]
async fn lines_that_are_not_messages_do_not_end_the_link_after_the_first_message() -> Test {
    for first in ["{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n", "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":NaN}\n"] {
        let (transport, mut there) = transport_with_remote_end_of(64 * 1024, Framing::Newline)?;
        let client = Client::new(transport);
        let call = client.call::<u32>("count", &()).start();
        there.receive_line().await?;
        there.send_bytes(&b"not a message\n".repeat(9)).await?;
        there.send_bytes(first.as_bytes()).await?;
        there.send_bytes(&b"not a message\n".repeat(30)).await?;
        there.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":3}\n").await?;
        assert_eq!(timeout(TEST_TIMEOUT, call).await?, Ok(3), "{first}");
    }
    Ok(())
}

#[tokio::test]
async fn an_error_or_a_diagnostic_names_the_framing_of_a_peer_with_another_framing() -> Test {
    // A link with lines ends with an error.
    let (transport, mut there) = transport_with_remote_end_of(64 * 1024, Framing::Newline)?;
    let client = Client::new(transport);
    let call = client.call::<u32>("count", &()).start();
    there.receive_line().await?;
    there.send(r#"{"jsonrpc":"2.0","id":1,"result":3}"#).await?;
    let lost = Closed::OtherFraming { peer: Framing::ContentLength, own: Framing::Newline };
    assert_eq!(timeout(TEST_TIMEOUT, call).await?, Err(CallError::Lost(lost)));

    let (transport, mut there) = transport_with_remote_end()?;
    // A link with `Content-Length` reports a diagnostic.
    let (sender, mut received) = mpsc::unbounded_channel();
    let peer = Peer::new(transport.on_diagnostic(move |diagnostic| {
        if let Diagnostic::OtherFraming { peer, own } = diagnostic {
            let _ = sender.send((peer, own));
        }
    }));
    let _call = peer.call::<u32>("count", &()).start();
    there.receive().await?;
    there.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":3}\n").await?;
    assert_eq!(timeout(TEST_TIMEOUT, received.recv()).await?, Some((Framing::Newline, Framing::ContentLength)));
    Ok(())
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused_before_its_body_arrives() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    serve_ping(transport.with_limits(limits(|limits: &mut Limits| limits.message_bytes = 100)));
    there.send_bytes(b"Content-Length: 101\r\n\r\n").await?;
    assert_eq!(there.receive().await?, error(-32600, "Invalid Request", Some("oversize")));
    there.send_bytes(&[b'x'; 101]).await?;
    there.send(PING).await?;
    assert_eq!(errors_before_pong(&mut there).await?, [] as [Value; 0]);
    Ok(())
}

#[tokio::test]
async fn a_rejected_message_is_reported_with_its_id_even_if_the_id_is_null() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    serve_ping(transport.on_diagnostic(move |diagnostic| {
        let line = match diagnostic {
            Diagnostic::Rejected { id, method, error } => format!("{} {id:?} {method:?}", error.code),
            Diagnostic::Frame(fault) => format!("{fault:?}"),
            Diagnostic::Answered { method, id, error } => format!("{method} {id} {}", error.is_some()),
            other => format!("{other:?}"),
        };
        let _ = sender.send(line);
    }));
    let bodies = [
        ("{", "-32700 None None"),
        (r#"{"jsonrpc":"2.0","method":5}"#, "-32600 None None"),
        (r#"{"jsonrpc":"2.0","id":null,"method":5}"#, "-32600 Some(null) None"),
        (r#"{"jsonrpc":"2.0","id":"a","method":5}"#, "-32600 Some(\"a\") None"),
        (r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, "-32600 None Some(\"ping\")"),
        (r#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#, "-32600 Some(3) Some(\"ping\")"),
        (r#"{"jsonrpc":"2.0","id":7}"#, "-32600 Some(7) None"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "ping null false"),
        (r#"{"jsonrpc":"2.0","id":1.0,"method":"pong"}"#, "pong 1.0 true"),
    ];
    for (body, expected) in bodies {
        there.send(body).await?;
        there.receive().await?;
        assert_eq!(timeout(TEST_TIMEOUT, received.recv()).await?.as_deref(), Some(expected), "{body}");
    }
    there.send_bytes(b"Content-Length: x\r\n\r\n").await?;
    there.receive().await?;
    assert_eq!(
        timeout(TEST_TIMEOUT, received.recv()).await?.as_deref(),
        Some("InvalidHeader"),
        "a fault must be reported once"
    );
    there.send(PING).await?;
    there.receive().await?;
    assert_eq!(timeout(TEST_TIMEOUT, received.recv()).await?.as_deref(), Some("ping 7 false"));
    Ok(())
}
