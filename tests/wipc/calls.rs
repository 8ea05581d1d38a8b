//! JSON-RPC in `CALL` frames.

use std::ops::Range;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portway::RpcError;
use portway::codec::wipc::FrameType;
use portway::codec::wipc::{Decoder, Event, encode, header};
use portway::wipc::Host;
use portway::{
    CallError, Client, Closed, Context, Diagnostic, ErrorCode, Framing, Limits, Listener, Peer, Server, Transport,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, split};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::guests::{TEST_TIMEOUT, Test, guest};

/// Returns a client of a guest, and the text that the guest prints between its frames.
fn client(role: &str) -> std::io::Result<(Client, Arc<Mutex<Vec<u8>>>)> {
    let printed = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&printed);
    let transport = Transport::child(&mut guest(role), Framing::Wipc)?.on_diagnostic(move |diagnostic| {
        if let Diagnostic::Noise(bytes) = diagnostic {
            listener.lock().unwrap().extend(bytes);
        }
    });
    Ok((Client::new(transport), printed))
}

/// Returns a transport, and the remote end of its stream. The test reads and writes the remote end.
fn transport_with_remote_end() -> std::io::Result<(Transport, DuplexStream)> {
    let (near, far) = duplex(100_000);
    let (reader, writer) = split(near);
    Ok((Transport::new(reader, writer, Framing::Wipc)?, far))
}

fn frame(frame_type: FrameType, payload: &str) -> Vec<u8> {
    let mut out = Vec::new();
    encode(frame_type, payload.as_bytes(), &mut out).unwrap();
    out
}

/// Returns the next `count` frames.
async fn frames(stream: &mut DuplexStream, count: usize) -> std::io::Result<Vec<(FrameType, String)>> {
    let mut decoder = Decoder::new();
    let mut found = Vec::new();
    while found.len() < count {
        let byte = [stream.read_u8().await?];
        if let Some(Event::Frame(frame)) = decoder.next(&mut &byte[..]) {
            found.push((frame.frame_type, String::from_utf8_lossy(frame.payload).into_owned()));
        }
    }
    Ok(found)
}

#[tokio::test]
async fn a_guest_without_a_runtime_answers_calls() -> Test {
    let (client, printed) = client("serve")?;
    assert_eq!(timeout(TEST_TIMEOUT, client.call::<i64>("add", &(1, 2))).await?, Ok(3));
    let outcome = timeout(TEST_TIMEOUT, client.call::<i64>("add", &(1, i64::MAX))).await?;
    assert_eq!(outcome, Err(CallError::Remote(RpcError::invalid_params("too large"))));
    let unknown = timeout(TEST_TIMEOUT, client.call::<i64>("subtract", &(1, 2))).await?;
    assert_eq!(unknown.unwrap_err().remote().map(|error| error.code), Some(ErrorCode::METHOD_NOT_FOUND));
    let panics = timeout(TEST_TIMEOUT, client.call::<()>("panic", &())).await?;
    assert_eq!(panics, Err(CallError::HandlerPanicked));
    let big = json!(["WIPC\u{2}".repeat(100_000)]);
    assert_eq!(timeout(TEST_TIMEOUT, client.call::<Value>("echo", &big)).await?, Ok(big));
    assert_eq!(timeout(TEST_TIMEOUT, client.call::<i64>("count", &(4,))).await?, Ok(4));
    assert!(printed.lock().unwrap().ends_with(b"the total is 4\n"), "the printed text must be passed through");
    client.destroy();
    let Closed::Exited(status) = timeout(TEST_TIMEOUT, client.closed()).await? else {
        // `destroy` may end the link before the exit status of the guest is known.
        return Ok(());
    };
    assert_eq!(status.code(), Some(0));
    Ok(())
}

#[tokio::test]
async fn a_guest_calls_its_host_during_a_call_of_the_host() -> Test {
    let (sender, mut received) = mpsc::unbounded_channel();
    let transport = Transport::child(&mut guest("peer"), Framing::Wipc)?.on_frame(move |frame| {
        let _ = sender.send((frame.frame_type, frame.payload.to_vec()));
    });
    let host = Peer::new(transport);
    host.method(
        "answer",
        |(question,): (String,), _: Context| async move { Ok::<_, RpcError>(format!("{question}? 42")) },
    );
    assert_eq!(timeout(TEST_TIMEOUT, host.call::<String>("ask", &("why",))).await?, Ok("why? 42".to_owned()));
    assert_eq!(received.recv().await, Some((FrameType::Open, b"ready".to_vec())));
    Ok(())
}

#[tokio::test]
async fn a_guest_answers_its_running_requests_before_its_link_ends() -> Test {
    let (near, mut far) = transport_with_remote_end()?;
    let server = Server::new(near);
    server.method("slow", |(): (), _: Context| async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok::<_, RpcError>(1)
    });
    let run = tokio::spawn(server.run());
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#;
    far.write_all(&[frame(FrameType::Call, call), frame(FrameType::Close, ""), frame(FrameType::Call, call)].concat())
        .await?;
    let answers = timeout(TEST_TIMEOUT, frames(&mut far, 2)).await??;
    let answer = (FrameType::Call, r#"{"jsonrpc":"2.0","id":1,"result":1}"#.to_owned());
    assert_eq!(answers, [answer.clone(), answer], "a call after CLOSE in the same read must be answered");
    assert_eq!(timeout(TEST_TIMEOUT, run).await??, Closed::End);
    let mut rest = Vec::new();
    timeout(TEST_TIMEOUT, far.read_to_end(&mut rest)).await??;
    assert_eq!(rest, b"", "CLOSE must not be answered");
    Ok(())
}

#[tokio::test]
async fn destroy_sends_close_after_all_other_frames() -> Test {
    let (near, mut far) = transport_with_remote_end()?;
    let client = Client::new(near);
    client.notify("hello", &())?;
    client.send_frame(FrameType::Data, b"bytes")?;
    client.destroy();
    let found = timeout(TEST_TIMEOUT, frames(&mut far, 3)).await??;
    let hello = r#"{"jsonrpc":"2.0","method":"hello"}"#;
    let data = (FrameType::Data, "bytes".to_owned());
    assert_eq!(found, [(FrameType::Call, hello.to_owned()), data, (FrameType::Close, String::new())]);
    assert_eq!(timeout(TEST_TIMEOUT, far.read_u8()).await?.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
    Ok(())
}

#[tokio::test]
async fn a_guest_exits_before_it_is_killed_when_its_host_destroys_the_client() -> Test {
    for role in ["serve", "peer", "echo"] {
        let start = Instant::now();
        let (client, _) = client(role)?;
        client.notify("nothing", &())?;
        client.destroy();
        timeout(TEST_TIMEOUT, client.closed()).await?;
        assert!(start.elapsed() < Duration::from_millis(1_900), "{role} was killed after {:?}", start.elapsed());
    }
    Ok(())
}

#[tokio::test]
async fn after_a_guest_sends_close_its_host_sends_no_frames_but_receives_later_frames() -> Test {
    let (client, printed) = client("sends close")?;
    // The guest sends the answer after CLOSE.
    assert_eq!(timeout(TEST_TIMEOUT, client.call::<i64>("count", &())).await?, Ok(5));
    let late = timeout(TEST_TIMEOUT, client.call::<i64>("count", &())).await?;
    assert!(matches!(late, Err(CallError::PeerGone | CallError::Lost(_))), "{late:?}");
    assert!(client.notify("late", &()).is_err());
    assert!(client.send_frame(FrameType::Data, b"late").is_err());
    let Closed::Exited(status) = timeout(TEST_TIMEOUT, client.closed()).await? else {
        return Err("the link must end with an exit status".into());
    };
    assert_eq!(status.code(), Some(4));
    assert!(printed.lock().unwrap().ends_with(b"and good night\n"));
    Ok(())
}

/// Returns a client of a shell script, and a receiver of the types of the frames from this script.
fn client_of(script: &str) -> std::io::Result<(Client, mpsc::UnboundedReceiver<FrameType>)> {
    let (sender, received) = mpsc::unbounded_channel();
    let transport = Transport::child(Command::new("sh").args(["-c", script]), Framing::Wipc)?;
    let transport = transport.on_frame(move |frame| sender.send(frame.frame_type).unwrap());
    Ok((Client::new(transport.with_grace(TEST_TIMEOUT)), received))
}

#[tokio::test]
async fn unread_input_of_a_guest_does_not_delay_the_end_of_the_link_after_close() -> Test {
    let script = "printf 'WIPC\\001\\0\\0\\0\\0'; sleep 0.2; printf 'WIPC\\003\\0\\0\\0\\0'; exit 3";
    let (client, mut received) = client_of(script)?;
    client.send_frame(FrameType::Data, &vec![0; 1_000_000])?;
    let Closed::Exited(status) = timeout(TEST_TIMEOUT / 2, client.closed()).await? else {
        return Err("the link must end with an exit status".into());
    };
    assert_eq!(status.code(), Some(3));
    assert_eq!((received.recv().await, received.recv().await), (Some(FrameType::Close), Some(FrameType::Data)));
    Ok(())
}

#[tokio::test]
async fn frames_of_a_guest_are_received_even_if_it_exited_before_it_read_all_input() -> Test {
    let (client, mut received) = client_of("printf 'WIPC\\003\\0\\0\\0\\0WIPC\\001\\0\\0\\0\\0'; sleep 0.2; exit 3")?;
    // The payload is larger than the buffer of the pipe, and the guest reads nothing.
    client.send_frame(FrameType::Data, &vec![0; 20_000_000])?;
    let Closed::Exited(status) = timeout(TEST_TIMEOUT / 2, client.closed()).await? else {
        return Err("the link must end with an exit status".into());
    };
    assert_eq!(status.code(), Some(3));
    assert_eq!((received.recv().await, received.recv().await), (Some(FrameType::Data), Some(FrameType::Close)));
    assert!(client.send_frame(FrameType::Data, b"late").is_err());
    Ok(())
}

#[tokio::test]
async fn a_guest_that_sends_close_and_stays_is_killed() -> Test {
    let script = "read -r line; printf 'WIPC\\001\\0\\0\\0\\0'; exec sleep 600";
    let transport = Transport::child(Command::new("sh").args(["-c", script]), Framing::Wipc)?;
    let client = Client::new(transport.with_grace(Duration::from_millis(100)));
    client.send_frame(FrameType::Data, b"\n")?;
    let outcome = timeout(TEST_TIMEOUT, client.call::<()>("wait", &()).timeout(None)).await?;
    assert!(matches!(outcome, Err(CallError::PeerGone | CallError::Lost(_))), "{outcome:?}");
    assert_eq!(timeout(TEST_TIMEOUT, client.closed()).await?, Closed::End);
    Ok(())
}

/// Returns the times that a test accepts for one grace period. Two grace periods are too long.
fn one_grace(grace: Duration) -> Range<Duration> {
    grace.mul_f32(0.9)..grace.mul_f32(1.8)
}

#[tokio::test]
async fn a_guest_that_sends_close_and_stays_is_killed_after_one_grace_period() -> Test {
    let script = "printf 'WIPC\\001\\0\\0\\0\\0'; exec sleep 600";
    let (sender, mut frames) = mpsc::unbounded_channel();
    let transport = Transport::child(Command::new("sh").args(["-c", script]), Framing::Wipc)?;
    let client = Client::new(transport.on_frame(move |_| sender.send(Instant::now()).unwrap_or_default()));
    let start = timeout(TEST_TIMEOUT, frames.recv()).await?.ok_or("the guest must send CLOSE")?;
    assert_eq!(timeout(TEST_TIMEOUT, client.closed()).await?, Closed::End);
    assert!(one_grace(Duration::from_secs(2)).contains(&start.elapsed()), "{:?}", start.elapsed());
    Ok(())
}

#[tokio::test]
async fn a_guest_is_killed_after_close_while_its_request_is_pending() -> Test {
    let grace = Duration::from_secs(2);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"hang"}"#;
    let script = format!(
        "echo $$; printf 'WIPC\\002\\{:03o}\\0\\0\\0%sWIPC\\001\\0\\0\\0\\0' '{call}'; exec sleep 600",
        call.len()
    );
    let (sender, mut printed) = mpsc::unbounded_channel();
    let transport = Transport::child(Command::new("sh").args(["-c", &script]), Framing::Wipc)?.with_grace(grace);
    let host = Peer::new(transport.on_diagnostic(move |diagnostic| {
        if let Diagnostic::Noise(bytes) = diagnostic {
            let _ = sender.send(String::from_utf8_lossy(bytes).into_owned());
        }
    }));
    let (called, mut calls) = mpsc::unbounded_channel();
    host.method("hang", move |_: Option<Value>, _: Context| {
        let _ = called.send(Instant::now());
        std::future::pending::<Result<(), RpcError>>()
    });
    host.forget();
    let start = timeout(TEST_TIMEOUT, calls.recv()).await?.ok_or("the guest must make a call")?;
    let pid = timeout(TEST_TIMEOUT, printed.recv()).await?.ok_or("the process must print its id")?.trim().parse()?;
    let pid = rustix::process::Pid::from_raw(pid).ok_or("the process must print its id")?;
    while rustix::process::test_kill_process(pid).is_ok() && start.elapsed() < TEST_TIMEOUT {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(one_grace(grace).contains(&start.elapsed()), "{:?}", start.elapsed());
    Ok(())
}

#[tokio::test]
async fn after_the_host_sends_close_a_guest_reads_the_end_of_its_input_and_is_killed_if_it_stays() -> Test {
    let grace = Duration::from_secs(2);
    let transport = Transport::child(Command::new("sh").args(["-c", "cat >/dev/null; exit 5"]), Framing::Wipc)?;
    let client = Client::new(transport.with_grace(TEST_TIMEOUT));
    client.send_frame(FrameType::Close, b"")?;
    let Closed::Exited(status) = timeout(TEST_TIMEOUT / 2, client.closed()).await? else {
        return Err("the link must end with an exit status".into());
    };
    assert_eq!(status.code(), Some(5));
    let transport = Transport::child(Command::new("sleep").arg("600"), Framing::Wipc)?.with_grace(grace);
    let client = Client::new(transport);
    let waiting = client.call::<()>("wait", &()).timeout(None).start();
    client.send_frame(FrameType::Close, b"")?;
    let start = Instant::now();
    let outcome = timeout(TEST_TIMEOUT, waiting).await?;
    assert!(matches!(outcome, Err(CallError::PeerGone | CallError::Lost(_))), "{outcome:?}");
    assert_eq!(timeout(TEST_TIMEOUT, client.closed()).await?, Closed::End);
    assert!(one_grace(grace).contains(&start.elapsed()), "{:?}", start.elapsed());
    Ok(())
}

#[tokio::test]
async fn a_guest_that_exits_within_a_frame_ends_all_calls() -> Test {
    let (client, printed) = client("torn")?;
    let outcome = timeout(TEST_TIMEOUT, client.call::<()>("wait", &()).timeout(None)).await?;
    assert!(outcome.is_err(), "{outcome:?}");
    let closed = timeout(TEST_TIMEOUT, client.closed()).await?;
    assert!(matches!(closed, Closed::Truncated(13) | Closed::Io(..)), "{closed:?}");
    assert!(printed.lock().unwrap().ends_with(b"text\nWIPC\x02\x0a\0\0\0half") || matches!(closed, Closed::Io(..)));
    Ok(())
}

#[tokio::test]
async fn an_invalid_call_is_answered_and_later_frames_are_read() -> Test {
    let (near, mut far) = transport_with_remote_end()?;
    let server = Server::new(near);
    server.method_sync("one", |(): (), _: Context| Ok::<_, RpcError>(1));
    server.forget();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"one"}"#;
    let stream = [
        b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"one\"}\nContent-Length: 5\r\n\r\nWIPC is what I speak\n".to_vec(),
        frame(FrameType::Call, "no json Content-Length: 2\r\n\r\n{}"),
        frame(FrameType::Call, r#"{"id":2,"method":"one"}"#),
        frame(FrameType::Data, call),
        b"WIPC\x09\x02\0\0\0{}".to_vec(),
        frame(FrameType::Call, call),
    ]
    .concat();
    far.write_all(&stream).await?;
    let found = timeout(TEST_TIMEOUT, frames(&mut far, 3)).await??;
    let answers: Vec<Value> = found.iter().map(|(_, text)| serde_json::from_str(text).unwrap()).collect();
    assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&Value::Null, &json!(-32700)));
    assert_eq!(
        (&answers[1]["id"], &answers[1]["error"]["code"]),
        (&json!(2), &json!(-32600)),
        "a message without a version must be refused"
    );
    assert_eq!(answers[2], json!({ "jsonrpc": "2.0", "id": 1, "result": 1 }), "only CALL frames may be answered");
    Ok(())
}

#[tokio::test]
async fn an_incomplete_payload_blocks_later_frames_for_the_configured_time() -> Test {
    let (near, mut far) = transport_with_remote_end()?;
    let server = Server::new(near.with_payload_timeout(Duration::from_millis(100)));
    server.method_sync("one", |(): (), _: Context| Ok::<_, RpcError>(1));
    server.forget();
    let call = frame(FrameType::Call, r#"{"jsonrpc":"2.0","id":1,"method":"one"}"#);
    let start = Instant::now();
    far.write_all(&[b"WIPC\x03\x00\x00\x10\x00 ...", &call[..]].concat()).await?;
    let found = timeout(TEST_TIMEOUT, frames(&mut far, 1)).await??;
    assert_eq!(found[0].1, r#"{"jsonrpc":"2.0","id":1,"result":1}"#);
    assert!(start.elapsed() >= Duration::from_millis(100));
    Ok(())
}

#[tokio::test]
async fn framings_other_than_wipc_cannot_send_raw_frames() -> Test {
    let (near, _far) = Transport::pair()?;
    let client = Client::new(near);
    let refused = client.send_frame(FrameType::Data, b"").unwrap_err();
    assert_eq!(refused, CallError::NoFrames(Some(Framing::ContentLength)));
    assert_eq!(refused.to_string(), "Content-Length frames cannot carry raw frames; use Framing::Wipc");
    Ok(())
}

#[tokio::test]
async fn frames_pass_through_a_socket() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("socket");
    let listener = Listener::unix(&path, Framing::Wipc).await?;
    tokio::spawn(listener.serve(|peer| {
        peer.method("add", |(a, b): (i64, i64), _: Context| async move { Ok::<_, RpcError>(a + b) });
    }));
    let client = Client::new(Transport::unix(&path, Framing::Wipc).await?);
    let calls = (0..1_000).map(|number| tokio::spawn(client.call::<i64>("add", &(number, 1))));
    for (number, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(timeout(TEST_TIMEOUT, call).await??, Ok(number as i64 + 1));
    }
    Ok(())
}

#[tokio::test]
async fn a_client_whose_framing_is_lines_recognises_wipc_frames() -> Test {
    let (near, mut far) = duplex(1_000);
    let (reader, writer) = split(near);
    let client = Client::new(Transport::new(reader, writer, Framing::Newline)?);
    let call = client.call::<()>("wait", &()).timeout(None);
    far.write_all(&[&frame(FrameType::Open, "")[..], b"\n"].concat()).await?;
    let lost = Closed::OtherFraming { peer: Framing::Wipc, own: Framing::Newline };
    assert_eq!(timeout(TEST_TIMEOUT, call).await?, Err(CallError::Lost(lost)));
    Ok(())
}

#[tokio::test]
async fn frames_that_are_not_calls_are_passed_to_the_application_and_not_answered() -> Test {
    let (near, mut far) = transport_with_remote_end()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    let server = Server::new(near.on_frame(move |frame| {
        let _ = sender.send((frame.frame_type, frame.payload.to_vec()));
    }));
    server.method_sync("one", |(): (), _: Context| Ok::<_, RpcError>(1));
    let run = tokio::spawn(server.run());
    let call = frame(FrameType::Call, r#"{"jsonrpc":"2.0","id":1,"method":"one"}"#);
    far.write_all(&[frame(FrameType::Open, "hello"), call.clone()].concat()).await?;
    assert_eq!(timeout(TEST_TIMEOUT, frames(&mut far, 1)).await??[0].0, FrameType::Call, "OPEN must not be answered");
    far.write_all(&[frame(FrameType::Close, "bye"), frame(FrameType::Data, "late"), call].concat()).await?;
    assert_eq!(timeout(TEST_TIMEOUT, frames(&mut far, 1)).await??[0].0, FrameType::Call);
    assert_eq!(timeout(TEST_TIMEOUT, run).await??, Closed::End);
    for expected in [(FrameType::Open, "hello"), (FrameType::Close, "bye"), (FrameType::Data, "late")] {
        assert_eq!(received.recv().await, Some((expected.0, expected.1.as_bytes().to_vec())));
    }
    Ok(())
}

#[tokio::test]
async fn a_panic_in_the_function_for_frames_is_reported_and_does_not_end_the_link() -> Test {
    let (sender, mut received) = mpsc::unbounded_channel();
    let transport = Transport::child(&mut guest("serve"), Framing::Wipc)?
        .on_frame(|frame| assert_ne!(frame.frame_type, FrameType::Open, "on purpose"))
        .on_diagnostic(move |diagnostic| {
            if let Diagnostic::Panicked { method, message } = diagnostic {
                sender.send((method.to_owned(), message.contains("on purpose"))).unwrap();
            }
        });
    let client = Client::new(transport);
    assert_eq!(timeout(TEST_TIMEOUT, client.call::<i64>("add", &(1, 2))).await?, Ok(3));
    assert_eq!(timeout(TEST_TIMEOUT, received.recv()).await?, Some(("OPEN".to_owned(), true)));
    Ok(())
}

#[tokio::test]
async fn payloads_may_exceed_the_limit_of_messages_unless_a_limit_of_payloads_is_set() -> Test {
    let long = vec![b'x'; Limits::DEFAULT.message_bytes + 1];
    for limit in [None, Some(10_000_000)] {
        let (near, mut far) = transport_with_remote_end()?;
        let (sender, mut received) = mpsc::unbounded_channel();
        let near = near.on_frame(move |frame| {
            let _ = sender.send(frame.payload.len());
        });
        let server = Server::new(if let Some(limit) = limit { near.with_max_payload(limit) } else { near });
        server.forget();
        far.write_all(&header(FrameType::Data, long.len())?).await?;
        far.write_all(&long).await?;
        far.write_all(&frame(FrameType::Open, "")).await?;
        let first = timeout(TEST_TIMEOUT, received.recv()).await?;
        assert_eq!(first, Some(if limit.is_none() { long.len() } else { 0 }), "{limit:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_call_over_the_limit_of_messages_is_answered_and_the_next_one_is_served() -> Test {
    let (near, mut far) = transport_with_remote_end()?;
    let mut limits = Limits::DEFAULT;
    limits.message_bytes = 60;
    let server = Server::new(near.with_limits(limits));
    server.method_sync("one", |(): (), _: Context| Ok::<_, RpcError>(1));
    server.forget();
    far.write_all(&frame(FrameType::Call, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(60))))
        .await?;
    far.write_all(&frame(FrameType::Call, r#"{"jsonrpc":"2.0","id":1,"method":"one"}"#)).await?;
    let found = timeout(TEST_TIMEOUT, frames(&mut far, 2)).await??;
    let refused: Value = serde_json::from_str(&found[0].1)?;
    assert_eq!((&refused["id"], &refused["error"]["data"]["reason"]), (&Value::Null, &json!("oversize")));
    assert_eq!(found[1].1, r#"{"jsonrpc":"2.0","id":1,"result":1}"#);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_payload_may_take_an_hour_if_no_timeout_of_payloads_is_set() -> Test {
    let (near, mut far) = transport_with_remote_end()?;
    let server = Server::new(near.with_limits(Limits::DEFAULT));
    server.method_sync("one", |(): (), _: Context| Ok::<_, RpcError>(1));
    server.forget();
    let call = frame(FrameType::Call, r#"{"jsonrpc":"2.0","id":1,"method":"one"}"#);
    far.write_all(&call[..30]).await?;
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    far.write_all(&call[30..]).await?;
    assert_eq!(frames(&mut far, 1).await?[0].1, r#"{"jsonrpc":"2.0","id":1,"result":1}"#);
    Ok(())
}

#[tokio::test]
async fn nothing_is_sent_after_close() -> Test {
    let (near, mut far) = transport_with_remote_end()?;
    let peer = Peer::new(near);
    peer.method("slow", |(): (), _: Context| async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok::<_, RpcError>(())
    });
    let client = peer.client().clone();
    peer.forget();
    client.notify("before", &())?;
    far.write_all(&frame(FrameType::Call, r#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#)).await?;
    tokio::time::sleep(Duration::from_millis(20)).await;
    client.send_frame(FrameType::Close, b"bye")?;
    assert!(client.notify("behind", &()).is_err());
    assert!(client.send_frame(FrameType::Data, b"behind").is_err());
    assert!(client.call::<()>("behind", &()).await.is_err());
    // After CLOSE, the peer ends its output stream.
    let mut bytes = Vec::new();
    timeout(TEST_TIMEOUT, far.read_to_end(&mut bytes)).await??;
    let before = frame(FrameType::Call, r#"{"jsonrpc":"2.0","method":"before"}"#);
    assert_eq!(bytes, [before, frame(FrameType::Close, "bye")].concat());
    // The remote end stays open. The link ends after the grace period.
    assert_eq!(timeout(TEST_TIMEOUT, client.closed()).await?, Closed::End);
    Ok(())
}

#[tokio::test]
async fn a_guest_that_closes_its_input_is_reported_when_it_exits() -> Test {
    let script = "exec 0<&-; sleep 20 & sleep 0.4; exit 3";
    let client = Client::new(Transport::child(Command::new("sh").args(["-c", script]), Framing::Wipc)?);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let start = Instant::now();
    let outcome = timeout(TEST_TIMEOUT, client.call::<()>("wait", &()).timeout(None)).await?;
    assert!(matches!(outcome, Err(CallError::PeerGone | CallError::Lost(_))), "{outcome:?}");
    let Closed::Exited(status) = timeout(TEST_TIMEOUT, client.closed()).await? else {
        return Err("the link must end with an exit status".into());
    };
    assert_eq!(status.code(), Some(3));
    assert!(start.elapsed() < Duration::from_millis(1_500), "{:?}", start.elapsed());
    Ok(())
}

#[tokio::test]
async fn the_exit_of_a_guest_is_noticed_though_another_process_has_its_output_open() -> Test {
    let script = "sleep 20 & exit 3";
    let client = Client::new(Transport::child(Command::new("sh").args(["-c", script]), Framing::Wipc)?);
    let start = Instant::now();
    let outcome = timeout(TEST_TIMEOUT, client.call::<()>("wait", &()).timeout(None)).await?;
    assert!(matches!(outcome, Err(CallError::PeerGone | CallError::Lost(_))), "{outcome:?}");
    let Closed::Exited(status) = timeout(TEST_TIMEOUT, client.closed()).await? else {
        return Err("the link must end with an exit status".into());
    };
    assert_eq!(status.code(), Some(3));
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());

    let mut host = Host::spawn(Command::new("sh").args(["-c", script]))?;
    let start = Instant::now();
    assert_eq!(timeout(TEST_TIMEOUT, host.receive()).await??, None);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    Ok(())
}

/// Returns the peak memory of a process so far, in KiB.
#[cfg(target_os = "linux")]
fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_kind_of_guest_buffers_a_call_of_two_hundred_megabytes() -> Test {
    for role in ["serve", "peer"] {
        let mut child = guest(role).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut output = frames_of(&mut stdout);
        stdin.write_all(&header(FrameType::Call, 200_000_000)?).await?;
        // An application may use a `Peer` only as a client. So the role `peer` sends no answer with the id null.
        if role == "serve" {
            let refused: Value = serde_json::from_str(&timeout(TEST_TIMEOUT, output.next_call()).await??)?;
            assert_eq!((&refused["id"], &refused["error"]["data"]["reason"]), (&Value::Null, &json!("oversize")));
        }
        let piece = vec![b'x'; 1_000_000];
        for _ in 0..200 {
            stdin.write_all(&piece).await?;
        }
        stdin.write_all(&frame(FrameType::Call, r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#)).await?;
        let answer: Value = serde_json::from_str(&timeout(TEST_TIMEOUT, output.next_call()).await??)?;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32601)), "{role}");
        let peak = peak_memory(child.id().unwrap());
        assert!(peak < 64_000, "{role}: {peak} KiB");
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_guest_stops_reading_and_buffers_little_if_its_host_does_not_read() -> Test {
    for role in ["serve", "peer", "async echo"] {
        let mut child = guest(role).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let mut stdin = child.stdin.take().unwrap();
        let call = frame(FrameType::Call, r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#).repeat(1_000);
        let mut sent = 0;
        while timeout(Duration::from_secs(1), stdin.write_all(&call)).await.is_ok() {
            sent += call.len();
            assert!(sent < 100_000_000, "{role} must stop reading");
        }
        let peak = peak_memory(child.id().unwrap());
        assert!(peak < 150_000, "{role}: {peak} KiB");
    }
    Ok(())
}

/// A reader of the frames of a guest.
struct Frames<'a, R> {
    reader: &'a mut R,
    decoder: Decoder,
    found: Vec<(FrameType, String)>,
}

fn frames_of<R: AsyncReadExt + Unpin>(reader: &mut R) -> Frames<'_, R> {
    Frames { reader, decoder: Decoder::new(), found: Vec::new() }
}

impl<R: AsyncReadExt + Unpin> Frames<'_, R> {
    /// Returns the payload of the next `CALL`.
    async fn next_call(&mut self) -> std::io::Result<String> {
        loop {
            if !self.found.is_empty() {
                let (frame_type, payload) = self.found.remove(0);
                if frame_type == FrameType::Call {
                    return Ok(payload);
                }
                continue;
            }
            let mut chunk = [0; 4_096];
            let count = self.reader.read(&mut chunk).await?;
            if count == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let mut bytes = &chunk[..count];
            while let Some(event) = self.decoder.next(&mut bytes) {
                if let Event::Frame(frame) = event {
                    self.found.push((frame.frame_type, String::from_utf8_lossy(frame.payload).into_owned()));
                }
            }
        }
    }
}
