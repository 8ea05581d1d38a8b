//! Taps, which record the messages of a link. The last two tests cover `ChildTree` and `Listener::accept_unix`, which a
//! program needs if it reads and writes the bytes of a tapped link itself.

use std::convert::Infallible;
use std::error::Error;
use std::fs;
use std::future::pending;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_channel::mpsc as messages;
use futures_util::StreamExt;
use portway::tap::{Content, Direction, Record, RecordKind, Records, Tap, TapLink, TapStream, TapTransport};
use portway::{ChildTree, Client, Context, Framing, Limits, Listener, RpcError, Server, Transport};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use crate::wire::{TEST_TIMEOUT, frame, transport_with_remote_end_of};

type Test = Result<(), Box<dyn Error>>;

/// Reads records until the link has ended.
async fn until_close(records: &mut Records) -> Result<Vec<Record>, Box<dyn Error>> {
    let mut read = Vec::new();
    loop {
        let record = timeout(TEST_TIMEOUT, records.next()).await?.ok_or("the records have ended")?;
        let is_last = matches!(record.kind, RecordKind::Close { .. });
        read.push(record);
        if is_last {
            return Ok(read);
        }
    }
}

fn texts(records: &[Record], wanted: Direction) -> Vec<String> {
    let text = |record: &Record| match &record.kind {
        RecordKind::Message { direction, text, .. } if *direction == wanted => Some(text.clone()),
        _ => None,
    };
    records.iter().filter_map(text).collect()
}

fn echo(transport: Transport) {
    let server = Server::new(transport);
    server.method_sync("echo", |value: Value, _: Context| Ok::<_, RpcError>(value));
    server.forget();
}

fn pipe(framing: Framing) -> std::io::Result<(Transport, Transport)> {
    let (one, two) = tokio::io::duplex(1_000);
    let end = |stream| {
        let (reader, writer) = tokio::io::split(stream);
        Transport::new(reader, writer, framing)
    };
    Ok((end(one)?, end(two)?))
}

fn message_pipe() -> std::io::Result<(Transport, Transport)> {
    let (requests, at_server) = messages::channel(16);
    let (responses, at_client) = messages::channel(16);
    let server = Transport::messages(responses, at_server.map(Ok::<String, Infallible>))?;
    Ok((Transport::messages(requests, at_client.map(Ok::<String, Infallible>))?, server))
}

#[tokio::test]
async fn both_ends_record_the_same_messages_in_every_framing() -> Test {
    let pipes = [
        pipe(Framing::ContentLength)?,
        pipe(Framing::Newline)?,
        pipe(Framing::Wipc)?,
        message_pipe()?,
        Transport::pair()?,
    ];
    for (near, far) in pipes {
        let name = format!("{near:?}");
        let (tap, mut records) = Tap::channel();
        let (other_tap, mut other_records) = Tap::channel();
        echo(far.with_tap(&other_tap));
        let client = Client::new(near.with_tap(&tap.named("a client")));
        for number in 0..200_usize {
            let params = json!({ "text": "ä\n\"".repeat(number * 7 % 300), "number": number });
            let result = client.call::<Value>("echo", &params).timeout(TEST_TIMEOUT).await?;
            assert_eq!(result, params, "{name}");
        }
        drop(client);
        let records = until_close(&mut records).await?;
        let others = until_close(&mut other_records).await?;
        let first = records.first().map(|record| record.kind.clone());
        let open = RecordKind::Open { name: "a client".into(), transport: TapTransport::Custom };
        assert_eq!(first, Some(open), "{name}");
        // The frame CLOSE of WIPC is not a message.
        let is_close = |record: &&Record| matches!(record.kind, RecordKind::Invalid { .. });
        let closes = (records.iter().filter(is_close).count(), others.iter().filter(is_close).count());
        assert_eq!(closes, if name.contains("Wipc") { (1, 1) } else { (0, 0) }, "{name}");
        // The other records are 200 requests, 200 responses, `open` and `close`.
        assert_eq!((records.len(), others.len()), (402 + closes.0, 402 + closes.1), "{name}");
        for (direction, other) in [(Direction::Sent, Direction::Received), (Direction::Received, Direction::Sent)] {
            assert_eq!(texts(&records, direction), texts(&others, other), "{name}");
        }
        assert!(records.iter().all(|record| record.link == records[0].link));
        assert_ne!(records[0].link, others[0].link);
        // Each request is recorded before its response.
        let directions: Vec<_> = records.iter().filter_map(direction_of).collect();
        assert!(directions.chunks(2).all(|pair| pair == [Direction::Sent, Direction::Received]), "{name}");
    }
    Ok(())
}

fn direction_of(record: &Record) -> Option<Direction> {
    match record.kind {
        RecordKind::Message { direction, .. } => Some(direction),
        _ => None,
    }
}

#[tokio::test]
async fn a_stopped_reader_does_not_stop_the_link_and_gaps_count_the_messages_without_a_record() -> Test {
    const MESSAGES: usize = 2_000;
    const TAP_BYTES: u64 = 1_048_576;
    let (stop, stopped) = mpsc::channel::<()>();
    let read = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&read);
    let tap = Tap::new(move |record| {
        // The reader is stopped until the test drops `stop`.
        let _ = stopped.recv();
        sink.lock().unwrap_or_else(PoisonError::into_inner).push(record.clone());
    })?;
    let (near, far) = pipe(Framing::ContentLength)?;
    echo(far);
    let client = Client::new(near.with_tap(&tap));
    let params = "x".repeat(1_000);
    for _ in 0..MESSAGES {
        client.call::<(String,)>("echo", &(&params,)).timeout(TEST_TIMEOUT).await?;
    }
    client.destroy();
    client.closed().await;
    drop(stop);
    timeout(TEST_TIMEOUT, tap.flushed()).await??;
    let records = read.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut recorded_bytes, mut recorded, mut left_out) = (0, [0, 0], [0, 0]);
    for record in &*records {
        match &record.kind {
            RecordKind::Message { direction, size, .. } => {
                recorded[usize::from(*direction == Direction::Sent)] += 1;
                recorded_bytes += size;
            }
            RecordKind::Gap { direction, messages, bytes } => {
                left_out[usize::from(*direction == Direction::Sent)] += messages;
                assert!(*bytes > messages * 1_000, "{record:?}");
            }
            _ => {}
        }
    }
    assert_eq!(recorded[0] + left_out[0], MESSAGES as u64);
    assert_eq!(recorded[1] + left_out[1], MESSAGES as u64);
    assert!(recorded_bytes <= TAP_BYTES && recorded_bytes > TAP_BYTES / 2, "{recorded_bytes}");
    assert!(matches!(records.last().map(|last| &last.kind), Some(RecordKind::Close { .. })), "{:?}", records.last());
    Ok(())
}

#[tokio::test]
async fn a_reader_that_panics_or_is_dropped_ends_only_the_tap() -> Test {
    let (tap, records) = Tap::channel();
    drop(records);
    let panics = Tap::new(|record| assert!(matches!(record.kind, RecordKind::Open { .. }), "a fault of the reader"))?;
    for tap in [tap, panics] {
        let (near, far) = pipe(Framing::Newline)?;
        echo(far);
        let client = Client::new(near.with_tap(&tap));
        for number in 0..100 {
            assert_eq!(client.call::<(u32,)>("echo", &(number,)).timeout(TEST_TIMEOUT).await, Ok((number,)));
            timeout(TEST_TIMEOUT, tap.flushed()).await??;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_long_text_is_cut_unless_the_records_go_to_a_file() -> Test {
    const TEXT_BYTES: usize = 262_144;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("records.jsonl");
    let (cutting, mut records) = Tap::channel();
    let whole = Tap::to_file(&file)?;
    for (length, is_cut) in [(TEXT_BYTES, false), (TEXT_BYTES + 1, true), (3_000_000, true)] {
        // In a text over the limit, the limit is in the middle of the character ä.
        let text =
            format!("[\"{}ä{}\"]", "x".repeat(TEXT_BYTES - 3), "x".repeat(length.saturating_sub(TEXT_BYTES + 1)));
        let text = if length == TEXT_BYTES { format!("\"{}\"", "x".repeat(length - 2)) } else { text };
        for tap in [&cutting, &whole] {
            tap.open(TapTransport::Custom).message(Direction::Sent, &text);
            timeout(TEST_TIMEOUT, whole.flushed()).await??;
        }
        let read = until_close(&mut records).await?;
        let RecordKind::Message { text: cut, size, omitted, .. } = &read[1].kind else {
            return Err(format!("{read:?}").into());
        };
        assert_eq!(*size, text.len() as u64);
        assert!(cut.len() <= TEXT_BYTES && text.starts_with(cut.as_str()), "{length}");
        assert_eq!(*omitted, text.chars().count() as u64 - cut.chars().count() as u64, "{length}");
        assert_eq!(*omitted > 0, is_cut, "{length}");
        let last = fs::read_to_string(&file)?.lines().rev().nth(1).map(serde_json::from_str::<Value>);
        let last = last.ok_or("no record")??;
        assert!(last["text"] == *text && last["omitted"].is_null(), "{length}");
    }
    Ok(())
}

#[tokio::test]
async fn input_that_is_not_a_message_is_recorded_with_a_reason() -> Test {
    let (tap, mut records) = Tap::channel();
    let (transport, mut remote) = transport_with_remote_end_of(10_000, Framing::ContentLength)?;
    let mut limits = Limits::DEFAULT;
    limits.message_bytes = 1_000;
    let client = Client::new(transport.with_tap(&tap).with_limits(limits));
    remote.send_bytes(b"a log line\n").await?;
    remote.send(r#"{"jsonrpc":"2.0","method":"one"}"#).await?;
    remote.send_bytes(b"Content-Length: 7\r\n\r\nnot").await?;
    remote.send_bytes(b"json").await?;
    remote.send_bytes(&frame("\u{1F980}").iter().copied().take(24).collect::<Vec<_>>()).await?;
    remote.send_bytes(b"\n\n").await?;
    remote.send(&format!("\"the beginning{}\"", "x".repeat(1_000))).await?;
    remote.send(r#"{"jsonrpc":"2.0","method":"two"}"#).await?;
    remote.finish().await?;
    client.closed().await;
    let records = until_close(&mut records).await?;
    let methods = [r#"{"jsonrpc":"2.0","method":"one"}"#, r#"{"jsonrpc":"2.0","method":"two"}"#];
    assert_eq!(texts(&records, Direction::Received), methods);
    let mut bytes = Vec::new();
    for record in &records {
        if let RecordKind::Invalid { content, direction, reason, .. } = &record.kind {
            assert_eq!(*direction, Direction::Received);
            assert!(!reason.is_empty());
            match content {
                Content::Text(text) => bytes.extend_from_slice(text.as_bytes()),
                Content::Bytes(some) => bytes.extend_from_slice(some),
            }
        }
    }
    let shown = String::from_utf8_lossy(&bytes).into_owned();
    for part in ["a log line", "notjson", "the beginning"] {
        assert!(shown.contains(part), "{part}: {records:?}");
    }
    let json = serde_json::to_string(&records)?;
    assert!(json.contains("outside of messages") && json.contains("more than the maximum"), "{json}");
    Ok(())
}

#[tokio::test]
async fn a_relay_and_the_exit_of_a_process_are_recorded() -> Test {
    let (near, left) = pipe(Framing::ContentLength)?;
    let (tap, mut records) = Tap::channel();
    let (process_tap, mut process_records) = Tap::channel();
    let script = r#"read -r line; echo '{"jsonrpc":"2.0","id":1,"result":true}'; exit 7"#;
    let process = Transport::child(Command::new("sh").args(["-c", script]), Framing::Newline)?;
    let relay = tokio::spawn(left.with_tap(&tap).relay(process.with_tap(&process_tap), pending()));
    let client = Client::new(near);
    assert_eq!(client.call::<bool>("ask", &()).timeout(TEST_TIMEOUT).await, Ok(true));
    timeout(TEST_TIMEOUT, relay).await??;
    let records = until_close(&mut records).await?;
    let process_records = until_close(&mut process_records).await?;
    assert_eq!(texts(&records, Direction::Received), texts(&process_records, Direction::Sent));
    assert_eq!(texts(&records, Direction::Sent), texts(&process_records, Direction::Received));
    let end = process_records.last().map(|last| last.kind.clone());
    assert!(matches!(end, Some(RecordKind::Close { code: Some(7), .. })), "{end:?}");
    let open = process_records.first().map(|first| first.kind.clone());
    assert!(matches!(open, Some(RecordKind::Open { transport: TapTransport::Stdio, .. })), "{open:?}");
    Ok(())
}

#[tokio::test]
async fn a_fifo_without_a_reader_blocks_neither_the_link_nor_the_creation_of_the_tap() -> Test {
    let folder = tempfile::tempdir()?;
    let fifo = folder.path().join("records");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status()?.success());
    let tap = Tap::to_file(&fifo)?;
    let (near, far) = Transport::pair()?;
    echo(far);
    let client = Client::new(near.with_tap(&tap));
    for number in 0..100 {
        assert_eq!(client.call::<(u32,)>("echo", &(number,)).timeout(TEST_TIMEOUT).await, Ok((number,)));
    }
    // The tap can open the FIFO for writing only after a reader has opened it.
    let reader = tokio::task::spawn_blocking(move || fs::read_to_string(fifo));
    drop(client);
    timeout(TEST_TIMEOUT, tap.flushed()).await??;
    drop(tap);
    let text = timeout(TEST_TIMEOUT, reader).await???;
    assert!(text.lines().count() >= 201, "{text}");
    Ok(())
}

#[tokio::test]
async fn a_full_disk_is_reported_and_ends_only_the_tap() -> Test {
    let tap = Tap::to_file("/dev/full")?;
    let (near, far) = Transport::pair()?;
    echo(far);
    let client = Client::new(near.with_tap(&tap));
    assert_eq!(client.call::<(u32,)>("echo", &(1,)).timeout(TEST_TIMEOUT).await, Ok((1,)));
    let error = timeout(TEST_TIMEOUT, tap.flushed()).await?.err().ok_or("no error")?;
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(client.call::<(u32,)>("echo", &(2,)).timeout(TEST_TIMEOUT).await, Ok((2,)));
    Ok(())
}

#[tokio::test]
async fn a_connection_without_room_for_its_opening_is_recorded_later_or_counted_in_a_gap() -> Test {
    let (tap, mut records) = Tap::channel();
    let text = format!("[{}1]", "1,".repeat(100_000));
    let first = tap.open(TapTransport::Tcp);
    for _ in 0..10 {
        first.message(Direction::Sent, &text);
    }
    let links: Vec<TapLink> = (0..2_000).map(|_| tap.open(TapTransport::Tcp)).collect();
    let late = links.last().ok_or("no link")?;
    late.message(Direction::Sent, "[1]");
    let lost = &links[links.len() - 2];
    lost.message(Direction::Received, "[2]");
    lost.close("gone", None);
    // Some records are taken, so there is room for further ones.
    for _ in 0..5 {
        records.next().await;
    }
    late.message(Direction::Received, "[3]");
    let late_id = late.id().to_owned();
    let lost_id = lost.id().to_owned();
    drop((first, links, tap));
    let mut rest = Vec::new();
    while let Some(record) = timeout(TEST_TIMEOUT, records.next()).await? {
        rest.push(record);
    }
    let kinds = |id: &str| {
        rest.iter().filter(|record| *record.link == *id).map(|record| record.kind.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&late_id), ["open", "gap", "message", "close"]);
    assert_eq!(kinds(&lost_id), ["gap"]);
    Ok(())
}

#[tokio::test]
async fn bytes_outside_of_messages_are_recorded_in_bounded_pieces() -> Test {
    for (length, expected) in [(4_096, vec![4_096]), (4_097, vec![4_096, 1]), (10_000, vec![4_096, 4_096, 1_808])] {
        let (tap, mut records) = Tap::channel();
        let link = Arc::new(tap.open(TapTransport::Stdio));
        let mut stream = TapStream::new(Arc::clone(&link), Direction::Sent, Framing::ContentLength, &Limits::DEFAULT);
        stream.push("x".repeat(length).as_bytes());
        stream.finish();
        link.close("", None);
        let records = until_close(&mut records).await?;
        let size = |record: &Record| match &record.kind {
            RecordKind::Invalid { size, .. } => Some(*size),
            _ => None,
        };
        assert_eq!(records.iter().filter_map(size).collect::<Vec<u64>>(), expected);
    }
    Ok(())
}

#[tokio::test]
async fn the_reason_of_a_close_is_cut() -> Test {
    for length in [96, 97] {
        let (tap, mut records) = Tap::channel();
        tap.open(TapTransport::Stdio).close(&"é".repeat(length), None);
        let records = until_close(&mut records).await?;
        let Some(RecordKind::Close { reason, .. }) = records.last().map(|record| &record.kind) else {
            return Err("the last record must be a close".into());
        };
        assert_eq!(reason.chars().count(), 96);
    }
    Ok(())
}

#[test]
fn a_stream_of_any_chunks_has_the_same_records() {
    let texts: Vec<String> = (0..50).map(|number| format!("{{\"id\":{number},\"result\":\"ä\"}}")).collect();
    for framing in [Framing::ContentLength, Framing::Newline, Framing::Wipc] {
        let mut bytes = Vec::new();
        texts.iter().for_each(|text| framing.encode(text, &mut bytes));
        for size in [1, 2, 7, 64, 100_000] {
            let (tap, records) = Tap::channel();
            let link = Arc::new(tap.open(TapTransport::Custom));
            let mut stream = TapStream::new(link, Direction::Received, framing, &Limits::DEFAULT);
            bytes.chunks(size).for_each(|chunk| stream.push(chunk));
            stream.finish();
            drop((stream, tap));
            let read: Vec<Record> = futures_util::FutureExt::now_or_never(records.collect()).unwrap_or_default();
            assert_eq!(self::texts(&read, Direction::Received), texts, "{framing} {size}");
            assert_eq!(read.len(), texts.len() + 2, "{framing} {size}");
        }
    }
}

#[tokio::test]
async fn a_child_tree_returns_the_exit_status_or_none_if_it_was_killed_after_the_grace() -> Test {
    let mut command = Command::new("sh");
    command.args(["-c", "exit 3"]).process_group(0);
    let mut tree = ChildTree::new(command.spawn()?);
    assert_eq!(timeout(TEST_TIMEOUT, tree.exit()).await??.code(), Some(3));
    assert_eq!(timeout(TEST_TIMEOUT, tree.end(Duration::ZERO)).await?.and_then(|status| status.code()), Some(3));
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' TERM; while :; do sleep 0.05; done"]).process_group(0);
    let mut tree = ChildTree::new(command.spawn()?);
    assert_eq!(timeout(TEST_TIMEOUT, tree.end(Duration::from_millis(10))).await?, None);
    Ok(())
}

#[tokio::test]
async fn a_listener_on_a_unix_socket_returns_streams_without_transports() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sock");
    let listener = Listener::unix(&path, Framing::Newline).await?;
    let (accepted, connected) = tokio::join!(listener.accept_unix(), tokio::net::UnixStream::connect(&path));
    accepted?.try_write(b"x")?;
    drop(connected?);
    let tcp = Listener::tcp("127.0.0.1:0", Framing::Newline).await?;
    let address = tcp.address().ok_or("no address")?;
    let (refused, connected) = tokio::join!(tcp.accept_unix(), tokio::net::TcpStream::connect(address));
    connected?;
    assert_eq!(refused.err().map(|error| error.kind()), Some(std::io::ErrorKind::Unsupported));
    Ok(())
}
