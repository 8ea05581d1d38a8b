//! Peers that do not read, or that send too much. The memory of a link must stay within its limits, and the link must
//! lose no accepted message.

use std::error::Error;
use std::time::Duration;

use portway::Limits;
use portway::profile::Profile;
use portway::{CallError, Client, Context, Diagnostic, Framing, Peer, RpcError, Server, Transport};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::wire::{TEST_TIMEOUT, frame, limits, transport_with_remote_end_of};

type Test = Result<(), Box<dyn Error>>;

#[tokio::test]
async fn the_server_reads_until_its_unwritten_replies_reach_the_limit() -> Test {
    let (transport, mut there) = transport_with_remote_end_of(4_096, Framing::ContentLength)?;
    let limits = limits(|limits: &mut Limits| limits.unwritten_bytes = 300_000);
    let server = Server::new(transport.with_limits(limits));
    server.method_sync("big", |(): (), _: Context| Ok::<_, RpcError>("x".repeat(100_000)));
    server.forget();
    // Three replies fit into the limit. After the fourth reply, the server reads nothing until the peer reads replies.
    let request = |id: u32| frame(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"big"}}"#));
    let mut sent = 0;
    while timeout(Duration::from_millis(200), there.send_bytes(&request(sent))).await.is_ok() {
        sent += 1;
        assert!(sent < 1_000, "the link must stop reading");
    }
    assert!(sent >= 4, "{sent}");
    // The last request is incomplete. All complete requests are answered, in order.
    for id in 0..sent {
        let answer = there.receive().await?;
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"].as_str().map(str::len), Some(100_000));
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn calls_to_a_peer_that_does_not_read_are_refused_beyond_the_limit() -> Test {
    for cancels in [false, true] {
        let (transport, mut there) = transport_with_remote_end_of(4_096, Framing::ContentLength)?;
        let limits = limits(|limits: &mut Limits| limits.unwritten_bytes = 100_000);
        let client = Client::new(transport.with_limits(limits)).with_timeout(Duration::from_millis(100));
        let filler = "x".repeat(10_000);
        let mut ended = 0;
        loop {
            let call = client.call::<Value>("work", &(&filler,));
            // In the second round, `timeout` drops the call after 10 ms, and so cancels it.
            let outcome = if cancels { timeout(Duration::from_millis(10), call).await } else { Ok(call.await) };
            match outcome {
                Ok(Err(CallError::Congested)) => break,
                Ok(Err(CallError::TimedOut)) | Err(_) => ended += 1,
                Ok(other) => return Err(format!("{other:?}").into()),
            }
            assert!(ended < 100, "a call must be refused");
        }
        // The limit allows about ten requests of this length.
        assert!((8..=14).contains(&ended), "{ended}");
        // Once the peer reads, calls are possible again.
        let serving = tokio::spawn(async move {
            loop {
                let message = there.receive().await?;
                if message["method"] == "again" {
                    there.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": 1 }).to_string()).await?;
                }
            }
            #[allow(unreachable_code, reason = "this line sets the type of the error")]
            Ok::<_, Box<dyn Error + Send + Sync>>(())
        });
        timeout(TEST_TIMEOUT, client.ready()).await?;
        assert_eq!(client.call::<i64>("again", &()).await, Ok(1));
        serving.abort();
    }
    Ok(())
}

#[tokio::test]
async fn notifications_beyond_the_limit_are_refused_if_the_peer_does_not_read_and_all_others_arrive() -> Test {
    let (transport, mut there) = transport_with_remote_end_of(4_096, Framing::ContentLength)?;
    let limits = limits(|limits: &mut Limits| limits.unwritten_bytes = 100_000);
    let client = Client::new(transport.with_limits(limits));
    let mut sent = 0;
    loop {
        match client.notify("line", &(sent, "x".repeat(1_000))) {
            Ok(()) => sent += 1,
            Err(error) => {
                assert_eq!(error, CallError::Congested);
                break;
            }
        }
        assert!(sent < 1_000, "a notification must be refused");
    }
    let reader = tokio::spawn(async move {
        for number in 0..=sent {
            let message = there.receive().await?;
            assert_eq!(message["params"][0], number);
        }
        Ok::<_, std::io::Error>(())
    });
    timeout(TEST_TIMEOUT, client.ready()).await?;
    client.notify("line", &(sent, "and one more"))?;
    timeout(TEST_TIMEOUT, reader).await???;
    Ok(())
}

#[tokio::test]
async fn a_dropped_call_ends_at_once_even_if_the_peer_does_not_read() -> Test {
    let (transport, there) = transport_with_remote_end_of(64, Framing::ContentLength)?;
    let client = Client::new(transport);
    let call = client.call::<()>("big", &["x".repeat(100_000)]).start();
    tokio::task::yield_now().await;
    drop(call);
    assert_eq!(client.pending(), 0);
    drop(there);
    Ok(())
}

#[tokio::test]
async fn a_large_reply_through_a_small_pipe_is_complete() -> Test {
    let (transport, mut there) = transport_with_remote_end_of(4_096, Framing::ContentLength)?;
    let server = Server::new(transport);
    server.method("echo", |value: Value, _: Context| async move { Ok::<_, RpcError>(value) });
    server.forget();
    let large = json!(["é€😀".repeat(1_000_000)]);
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "echo", "params": large }).to_string();
    there.send(&request).await?;
    let answer = there.receive().await?;
    assert_eq!(answer["result"], large);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_of_many_writers_never_mix() -> Test {
    let (transport, mut there) = transport_with_remote_end_of(100, Framing::ContentLength)?;
    let client = Client::new(transport);
    for writer in 0..8 {
        let client = client.clone();
        tokio::spawn(async move {
            for number in 0..200 {
                let sent = client.notify("line", &(writer, number, "x".repeat(number % 37)));
                assert_eq!(sent, Ok(()));
            }
        });
    }
    let mut next = [0_u64; 8];
    for _ in 0..1_600 {
        let message = there.receive().await?;
        let writer = message["params"][0].as_u64().and_then(|writer| next.get_mut(writer as usize));
        let Some(expected) = writer else { return Err("the message must name a writer".into()) };
        assert_eq!(message["params"][1], *expected);
        *expected += 1;
    }
    assert_eq!(next, [200; 8]);
    Ok(())
}

#[tokio::test]
async fn requests_beyond_the_limit_of_running_requests_are_refused_and_the_others_are_answered() -> Test {
    let (transport, mut there) = transport_with_remote_end_of(64 * 1024, Framing::ContentLength)?;
    let limits = limits(|limits: &mut Limits| limits.in_flight = 2);
    let server = Server::new(transport.with_limits(limits));
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    server.method("wait", {
        let gate = std::sync::Arc::clone(&gate);
        move |(): (), _: Context| {
            let gate = std::sync::Arc::clone(&gate);
            async move {
                gate.acquire().await.map_err(|_| RpcError::internal("closed"))?.forget();
                Ok::<_, RpcError>("waited")
            }
        }
    });
    server.forget();
    for id in 1..=3 {
        there.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"wait"}}"#)).await?;
    }
    let refused = there.receive().await?;
    assert_eq!((&refused["id"], &refused["error"]["data"]["reason"]), (&json!(3), &json!("too-many-requests")));
    gate.add_permits(2);
    let mut answered = Vec::new();
    for _ in 0..2 {
        let answer = there.receive().await?;
        assert_eq!(answer["result"], "waited");
        answered.push(answer["id"].as_u64());
    }
    answered.sort_unstable();
    assert_eq!(answered, [Some(1), Some(2)]);
    Ok(())
}

#[tokio::test]
async fn requests_beyond_the_limit_in_bytes_are_refused_and_the_others_still_run() -> Test {
    let (transport, mut there) = transport_with_remote_end_of(64 * 1024, Framing::ContentLength)?;
    let server = Server::new(transport);
    server.method("wait", |_: Value, _: Context| async {
        std::future::pending::<()>().await;
        Ok::<_, RpcError>(())
    });
    server.method_sync("version", |(): (), _: Context| Ok::<_, RpcError>(1));
    server.forget();
    // The limit of 64 MiB allows 67 requests of this length.
    let params = format!("[\"{}\"]", "p".repeat(1_000_000));
    for id in 1..=70 {
        there.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"wait","params":{params}}}"#)).await?;
    }
    for id in 68..=70 {
        let refused = there.receive().await?;
        assert_eq!((&refused["id"], &refused["error"]["data"]["reason"]), (&json!(id), &json!("too-many-requests")));
    }
    // A request without params still fits into the limit. The cancellation of request 5 makes room for request 72.
    there.send(r#"{"jsonrpc":"2.0","id":71,"method":"version"}"#).await?;
    assert_eq!(there.receive().await?["result"], 1);
    there.send(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":5}}"#).await?;
    assert_eq!(there.receive().await?["id"], 5);
    there.send(&format!(r#"{{"jsonrpc":"2.0","id":72,"method":"version","params":{params}}}"#)).await?;
    assert_eq!(there.receive().await?["error"]["code"], -32602, "the request must not be refused for its size");
    Ok(())
}

/// Sends messages until the link stops reading. Returns the number of messages that were sent completely.
async fn send_until_pause(
    there: &mut crate::wire::RemoteEnd,
    message: impl Fn(u32) -> Vec<u8>,
) -> Result<u32, &'static str> {
    let mut sent = 0;
    while timeout(Duration::from_millis(300), there.send_bytes(&message(sent))).await.is_ok() {
        sent += 1;
        if sent == 20_000 {
            return Err("the link must stop reading");
        }
    }
    Ok(sent)
}

#[tokio::test]
async fn a_sequential_server_pauses_reading_while_its_queue_is_full() -> Test {
    // A message without an id is a notification.
    for (method, id, bytes) in [("then", "7", 50_000), ("notified", "", 50_000), ("notified", "", 0)] {
        let (transport, mut there) = transport_with_remote_end_of(4_096, Framing::ContentLength)?;
        let limits = limits(|limits: &mut Limits| limits.in_flight_bytes = 300_000);
        let (open, gate) = tokio::sync::oneshot::channel::<()>();
        let gate = std::sync::Mutex::new(Some(gate));
        let server = Server::new(transport.with_profile(Profile::DAEMON).with_limits(limits));
        server.method("first", move |(): (), _: Context| {
            let gate = gate.lock().ok().and_then(|mut gate| gate.take());
            async move {
                if let Some(gate) = gate {
                    let _ = gate.await;
                }
                Ok::<_, RpcError>(())
            }
        });
        server.method("then", |_: Value, _: Context| async move { Ok::<_, RpcError>(()) });
        server.forget();
        there.send(r#"{"jsonrpc":"2.0","id":0,"method":"first"}"#).await?;
        let id = if id.is_empty() { String::new() } else { format!(r#""id":{id},"#) };
        let params = format!("[\"{}\"]", "x".repeat(bytes));
        let message = frame(&format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{params}}}"#));
        let sent = send_until_pause(&mut there, |_| message.clone()).await?;
        assert!(sent >= 5, "{method}: {sent}");
        let _ = open.send(());
        // The server continues at the position at which it paused. The last frame was not sent completely, so its
        // request is not answered.
        assert_eq!(there.receive().await?["id"], 0);
        if method == "then" {
            for _ in 0..sent {
                assert_eq!(there.receive().await?["id"], 7, "no request may be refused");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn in_every_role_and_framing_a_link_stops_reading_if_its_peer_does_not_read() -> Test {
    let message = |framing: Framing, text: &str| {
        let mut bytes = Vec::new();
        framing.encode(text, &mut bytes);
        bytes
    };
    for framing in [Framing::ContentLength, Framing::Newline, Framing::Wipc] {
        for role in ["client", "server", "peer"] {
            let (transport, mut there) = transport_with_remote_end_of(4_096, framing)?;
            let transport = transport.with_limits(limits(|limits: &mut Limits| limits.unwritten_bytes = 100_000));
            let (client, peer);
            match role {
                "client" => {
                    client = Client::new(transport);
                    client.notify("hello", &())?;
                }
                "server" => Server::new(transport).forget(),
                _ => {
                    peer = Peer::new(transport);
                    peer.forget();
                }
            }
            // Each request, alone or in a batch, is answered with "Method not found".
            let one = r#"{"jsonrpc":"2.0","id":1,"method":"nothing of the kind"}"#;
            for text in [one.to_owned(), format!("[{one},{one}]")] {
                let bytes = message(framing, &text).repeat(10);
                let sent = send_until_pause(&mut there, |_| bytes.clone()).await;
                let sent = sent.map_err(|problem| format!("{framing}, {role}: {problem}"))?;
                assert!(sent < 1_000, "{framing}, {role}: {sent}");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_client_reads_answers_before_the_peer_has_read_all_calls() -> Test {
    let (here, there) = Transport::pair()?;
    let server = Server::new(there);
    server.method("echo", |value: Value, _: Context| async move { Ok::<_, RpcError>(value) });
    server.forget();
    let client = Client::new(here);
    // The calls and the answers both exceed the limit of unwritten bytes.
    let params = json!(["x".repeat(100_000)]);
    let calls: Vec<_> = (0..400).map(|_| client.call::<Value>("echo", &params).timeout(None).start()).collect();
    for call in calls {
        assert_eq!(timeout(TEST_TIMEOUT, call).await??, params);
    }
    Ok(())
}

#[tokio::test]
async fn notifications_beyond_the_limit_of_running_handlers_are_dropped() -> Test {
    for (params, in_flight, in_flight_bytes) in [("[]", 2, usize::MAX), (r#"["xxxxxxxx"]"#, 1_024, 30)] {
        let (transport, mut there) = transport_with_remote_end_of(64 * 1024, Framing::ContentLength)?;
        let limits = limits(|limits: &mut Limits| {
            (limits.in_flight, limits.in_flight_bytes) = (in_flight, in_flight_bytes);
        });
        let (sender, mut dropped) = tokio::sync::mpsc::unbounded_channel();
        let server = Server::new(transport.with_limits(limits).on_diagnostic(move |diagnostic| {
            if let Diagnostic::DroppedNotification { method } = diagnostic {
                let _ = sender.send(method.to_owned());
            }
        }));
        let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
        let (begin, mut begun) = tokio::sync::mpsc::unbounded_channel();
        server.method("wait", {
            let gate = std::sync::Arc::clone(&gate);
            move |_: Value, _: Context| {
                let (gate, begin) = (std::sync::Arc::clone(&gate), begin.clone());
                async move {
                    let _ = begin.send(());
                    gate.acquire().await.map_err(|_| RpcError::internal("closed"))?.forget();
                    Ok::<_, RpcError>(())
                }
            }
        });
        server.forget();
        let notification = format!(r#"{{"jsonrpc":"2.0","method":"wait","params":{params}}}"#);
        for _ in 0..5 {
            there.send(&notification).await?;
        }
        for _ in 0..3 {
            assert_eq!(timeout(TEST_TIMEOUT, dropped.recv()).await?.as_deref(), Some("wait"));
        }
        for _ in 0..2 {
            timeout(TEST_TIMEOUT, begun.recv()).await?.ok_or("the handler has not begun")?;
        }
        // The end of a handler makes room for another notification.
        gate.add_permits(2);
        let next_begins = async {
            loop {
                there.send(&notification).await?;
                tokio::select! {
                    _ = begun.recv() => return Ok::<_, std::io::Error>(()),
                    _ = dropped.recv() => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        };
        timeout(TEST_TIMEOUT, next_begins).await??;
    }
    Ok(())
}

#[tokio::test]
async fn a_client_stops_reading_items_while_the_peer_does_not_read_the_credit_for_them() -> Test {
    for framing in [Framing::ContentLength, Framing::Newline, Framing::Wipc] {
        let (transport, mut there) = transport_with_remote_end_of(4_096, framing)?;
        let limits = limits(|limits: &mut Limits| limits.unwritten_bytes = 20_000);
        let client = Client::new(transport.with_limits(limits));
        let mut items = client.stream::<u32>("count", &()).window(1);
        let (report_item, mut read_items) = tokio::sync::mpsc::unbounded_channel();
        let consumer = tokio::spawn(async move {
            while let Some(Ok(_)) = futures_util::StreamExt::next(&mut items).await {
                let _ = report_item.send(());
            }
        });
        let mut item = Vec::new();
        framing.encode(r#"{"jsonrpc":"2.0","method":"rpc.item","params":{"id":1,"value":5}}"#, &mut item);
        // The window of the stream is one item. After each item that the application reads, the client sends a
        // notification with credit for one further item. The peer does not read these notifications.
        assert_eq!(there.receive_frame(framing).await?["method"], "rpc.stream");
        let mut sent = 0;
        loop {
            let exchange = async {
                there.send_bytes(&item).await.map_err(|_| "the item cannot be sent")?;
                read_items.recv().await.ok_or("the stream has ended")
            };
            match timeout(Duration::from_secs(1), exchange).await {
                Ok(exchanged) => exchanged?,
                Err(_) => break,
            }
            sent += 1;
            assert!(sent < 5_000, "{framing}: the link must stop reading");
        }
        assert!(sent > 100, "{framing}: {sent}");
        // Once the peer reads the credit, the client reads items again.
        for _ in 0..sent {
            let credit = there.receive_frame(framing).await?;
            assert_eq!((&credit["method"], &credit["params"]["count"]), (&json!("rpc.credit"), &json!(1)));
        }
        timeout(TEST_TIMEOUT, read_items.recv()).await?.ok_or("the stream has ended")?;
        drop(there);
        timeout(TEST_TIMEOUT, consumer).await??;
    }
    Ok(())
}

/// A peer may send a message with a million unknown members. A list of their names would need much memory.
#[test]
fn the_link_allocates_no_list_of_the_members_of_a_rejected_message() -> Test {
    let peak_bytes = |other_members: &str| -> Result<u64, Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let message = frame(&format!(r#"{{"jsonrpc":"2.0","id":[],"method":"m",{other_members}}}"#));
        let mut outcome = Ok(Value::Null);
        let memory = allocation_counter::measure(|| {
            outcome = runtime.block_on(async {
                let (transport, mut there) = transport_with_remote_end_of(4_096, Framing::ContentLength)?;
                let server = Server::new(transport.on_diagnostic(|diagnostic| {
                    assert!(matches!(diagnostic, Diagnostic::Rejected { method: Some("m"), .. }), "{diagnostic:?}");
                }));
                server.forget();
                there.send_bytes(&message).await?;
                there.receive().await
            });
        });
        assert_eq!(outcome?["error"]["data"]["reason"], "invalid-id-type");
        Ok(memory.bytes_max)
    };
    let many: Vec<String> = (0..100_000).map(|number| format!(r#""{number}":0"#)).collect();
    let many = many.join(",");
    let one = format!(r#""text":"{}""#, "x".repeat(many.len()));
    let (one, many) = (peak_bytes(&one)?, peak_bytes(&many)?);
    assert!(many < one + 1_000_000, "{many} bytes for many members, {one} bytes for one member");
    Ok(())
}

/// Neither peer reads until the other peer reads. So no further answer arrives, and all calls without an answer time
/// out. See SECURITY.md.
#[tokio::test]
async fn two_peers_that_both_leave_too_many_answers_unread_wait_for_each_other_and_their_calls_time_out() -> Test {
    for framing in [Framing::ContentLength, Framing::Newline, Framing::Wipc] {
        let (near, far) = tokio::io::duplex(4_096);
        let peers = [near, far].map(|end| {
            let (reader, writer) = tokio::io::split(end);
            let transport = Transport::new(reader, writer, framing)?;
            let peer = Peer::new(transport.with_limits(limits(|limits: &mut Limits| limits.unwritten_bytes = 100_000)));
            peer.server().method("big", |(): (), _: Context| async { Ok::<_, RpcError>("x".repeat(10_000)) });
            Ok::<_, std::io::Error>(peer)
        });
        let [one, other] = peers;
        let (one, other) = (one?, other?);
        let limit = Duration::from_secs(2);
        let calls: Vec<_> = (0..400)
            .flat_map(|_| {
                [one.client(), other.client()].map(|client| client.call::<String>("big", &()).timeout(limit).start())
            })
            .collect();
        let mut timed_out = 0;
        for call in calls {
            match timeout(TEST_TIMEOUT, call).await? {
                Ok(text) => assert_eq!(text.len(), 10_000),
                Err(error) => {
                    assert_eq!(error, CallError::TimedOut, "{framing}");
                    timed_out += 1;
                }
            }
        }
        assert!(timed_out > 0, "{framing}: a call must time out, or SECURITY.md is wrong");
        let later = one.client().call::<String>("big", &()).timeout(Duration::from_millis(50));
        assert_eq!(timeout(TEST_TIMEOUT, later).await?, Err(CallError::TimedOut));
        // The end of one link also ends the other link.
        one.client().destroy();
        timeout(TEST_TIMEOUT, one.client().closed()).await?;
        timeout(TEST_TIMEOUT, other.client().closed()).await?;
    }
    Ok(())
}
