//! Tests of the rows in limits.toml. A row has a value and states an effect. The library accepts everything up to the
//! value. Above the value, the effect must occur.

use std::error::Error;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use portway::codec::frame::FrameFault;
use portway::codec::wipc::Decoder;
use portway::connection::{Config, Connection};
use portway::profile::Profile;
use portway::{CallError, Client, Closed, Context, Diagnostic, Framing, RpcError, Server, Transport};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::wire::{RemoteEnd, TEST_TIMEOUT, frame, transport_with_remote_end, transport_with_remote_end_of};

type Test = Result<(), Box<dyn Error>>;

const TABLE: &str = include_str!("../data/limits.json");
const THIS_FILE: &str = "tests/native/limits.rs";

fn rows() -> Result<Vec<Value>, serde_json::Error> {
    serde_json::from_str(TABLE)
}

/// Returns whether the member `list` of a row contains `wanted`.
fn has(row: &Value, list: &str, wanted: &str) -> bool {
    row[list].as_array().is_some_and(|items| items.iter().any(|item| item == wanted))
}

fn value_of(name: &str) -> Result<u64, Box<dyn Error>> {
    let rows = rows()?;
    let row = rows.iter().find(|row| row["name"] == name).ok_or("there is no such row")?;
    Ok(row["value"].as_u64().ok_or("the row has no value")?)
}

/// Generates a test for each driver, and the list `DRIVERS`. A driver is the function that tests a row. Its parameter
/// is the value of the row.
macro_rules! drivers {
    ($($name:literal => $driver:ident $(($($paused:tt)+))?),+ $(,)?) => {
        const DRIVERS: &[&str] = &[$($name),+];

        mod row {
            $(
                #[tokio::test$(($($paused)+))?]
                async fn $driver() -> super::Test {
                    super::$driver(super::value_of($name)?).await
                }
            )+
        }
    };
}

drivers! {
    "call-timeout" => call_timeout(start_paused = true),
    "pending-calls" => pending_calls,
    "in-flight" => in_flight,
    "in-flight-bytes" => in_flight_bytes,
    "batch-items" => batch_items,
    "id-length" => id_length,
    "method-length" => method_length,
    "error-echo" => error_echo,
    "stream-window" => stream_window,
    "stream-credit" => stream_credit,
    "peer-credit" => peer_credit,
    "message-bytes" => message_bytes,
    "header-bytes" => header_bytes,
    "partial-frame" => partial_frame(start_paused = true),
    "depth" => depth,
    "unwritten-bytes" => unwritten_bytes,
    "lines-without-message" => lines_without_message,
    "link-grace" => link_grace(start_paused = true),
    "wipc-payload" => wipc_payload,
}

#[test]
fn every_row_for_this_file_has_a_driver_and_every_driver_has_a_row() -> Test {
    let mut named: Vec<_> = rows()?;
    named.retain(|row| has(row, "drivers", THIS_FILE));
    let mut named: Vec<_> = named.iter().filter_map(|row| row["name"].as_str()).collect();
    let mut drivers = DRIVERS.to_vec();
    named.sort_unstable();
    drivers.sort_unstable();
    assert_eq!(named, drivers);
    Ok(())
}

fn request(id: &Value, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// Starts a server with three methods: one answers at once, one never answers, and one returns endless items.
fn serve_methods(transport: Transport) {
    let server = Server::new(transport);
    server.method("now", |_: Value, _: Context| async { Ok::<_, RpcError>(1) });
    server.method("never", |_: Value, _: Context| pending::<Result<(), RpcError>>());
    server.stream_method("endless", |_: Value, _: Context| stream::repeat_with(|| Ok::<_, RpcError>(1)));
    server.forget();
}

/// Starts the server of [`serve_methods`] over `Content-Length` frames. Returns its remote end.
fn remote_end_of_server() -> Result<RemoteEnd, Box<dyn Error>> {
    let (transport, there) = transport_with_remote_end_of(1024 * 1024, Framing::ContentLength)?;
    serve_methods(transport);
    Ok(there)
}

/// Sends messages and a last request to a server. Returns the answers before the answer to the last request.
async fn answers(messages: &[String]) -> Result<Vec<Value>, Box<dyn Error>> {
    let mut there = remote_end_of_server()?;
    for message in messages {
        there.send(message).await?;
    }
    there.send(r#"{"jsonrpc":"2.0","id":"last","method":"nope"}"#).await?;
    let mut answers = Vec::new();
    loop {
        let answer = there.receive().await?;
        if answer["id"] == "last" {
            return Ok(answers);
        }
        answers.push(answer);
    }
}

fn assert_refused(answer: &Value, id: &Value, reason: &str) {
    let error = &answer["error"];
    assert_eq!((&answer["id"], &error["code"], &error["data"]["reason"]), (id, &json!(-32600), &json!(reason)));
}

fn assert_about(elapsed: Duration, milliseconds: u64) {
    assert!((milliseconds..milliseconds + 100).contains(&(elapsed.as_millis() as u64)), "{elapsed:?}");
}

async fn call_timeout(limit: u64) -> Test {
    let (transport, _there) = transport_with_remote_end()?;
    let start = Instant::now();
    assert_eq!(Client::new(transport).call::<()>("a", &()).await, Err(CallError::TimedOut));
    assert_about(start.elapsed(), limit);
    Ok(())
}

async fn pending_calls(limit: u64) -> Test {
    let mut connection = Connection::<Box<RawValue>>::new(Config::new(Profile::GENERIC));
    for number in 0..limit {
        assert!(connection.call("a".into(), None, None).is_ok(), "{number}");
        while connection.poll_transmit().is_some() {}
    }
    assert!(connection.call("a".into(), None, None).is_err());
    Ok(())
}

async fn in_flight(limit: u64) -> Test {
    let mut there = remote_end_of_server()?;
    for id in 0..=limit {
        there.send(&request(&json!(id), "never", &json!([]))).await?;
    }
    assert_refused(&there.receive().await?, &json!(limit), "too-many-requests");
    Ok(())
}

async fn in_flight_bytes(limit: u64) -> Test {
    let megabyte = "x".repeat(1_000_000);
    let fitting = limit / 1_000_100;
    let mut there = remote_end_of_server()?;
    for id in 0..fitting + 2 {
        there.send(&request(&json!(id), "never", &json!([megabyte]))).await?;
    }
    let refused = timeout(TEST_TIMEOUT, there.receive()).await??;
    assert!(refused["id"].as_u64().is_some_and(|id| id.abs_diff(fitting) <= 1), "{}", refused["id"]);
    assert_eq!(refused["error"]["code"], -32600);
    Ok(())
}

async fn batch_items(limit: u64) -> Test {
    let batch = |length: u64| {
        let items: Vec<_> = (0..length).map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "now" })).collect();
        Value::from(items).to_string()
    };
    let answers = answers(&[batch(limit + 1), batch(limit)]).await?;
    assert_refused(&answers[0], &Value::Null, "batch-too-large");
    assert_eq!(answers[1].as_array().map(|answers| answers.len() as u64), Some(limit));
    Ok(())
}

async fn id_length(limit: u64) -> Test {
    // `é` has two bytes. `😀` has two UTF-16 code units and four bytes.
    for (character, units) in [("x", 1), ("é", 1), ("😀", 2)] {
        let id = character.repeat(limit as usize / units);
        let longer = format!("{id}x");
        let messages = [id.clone(), longer].map(|id| request(&json!(id), "now", &json!([])));
        let answers = answers(&messages).await?;
        assert_eq!(answers[0]["id"], id.as_str());
        assert_refused(&answers[1], &Value::Null, "id-too-long");
    }
    Ok(())
}

async fn method_length(limit: u64) -> Test {
    let messages = [limit, limit + 1].map(|length| request(&json!(length), &"m".repeat(length as usize), &json!([])));
    let answers = answers(&messages).await?;
    assert_eq!((&answers[0]["error"]["code"], &answers[1]["error"]["code"]), (&json!(-32601), &json!(-32600)));
    assert!(!answers[1].to_string().contains("mmm"), "{}", answers[1]);
    Ok(())
}

async fn error_echo(limit: u64) -> Test {
    let messages = [limit, limit + 1].map(|length| request(&json!(length), &"m".repeat(length as usize), &json!([])));
    let answers = answers(&messages).await?;
    let longest = |answer: &Value| answer.to_string().split(|letter| letter != 'm').map(str::len).max();
    assert_eq!(longest(&answers[0]), Some(limit as usize));
    assert!(longest(&answers[1]) <= Some(limit as usize), "{}", answers[1]);
    Ok(())
}

async fn stream_window(limit: u64) -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let mut items = client.stream::<u32>("a", &());
    let first = tokio::spawn(async move { items.next().await });
    assert_eq!(there.receive().await?["params"]["credit"], limit);
    first.abort();
    Ok(())
}

/// Starts endless streams, each with this credit. Returns the number of items that all streams send together.
async fn items_of(streams: u64, credit: u64) -> Result<u64, Box<dyn Error>> {
    let mut there = remote_end_of_server()?;
    for id in 0..streams {
        there.send(&request(&json!(id), "rpc.stream", &json!({ "method": "endless", "credit": credit }))).await?;
    }
    let mut count = 0;
    while let Ok(message) = timeout(Duration::from_millis(1_000), there.receive()).await {
        count += u64::from(message?["method"] == "rpc.item");
    }
    Ok(count)
}

async fn stream_credit(limit: u64) -> Test {
    let stream_request =
        |credit: u64| request(&json!(credit), "rpc.stream", &json!({ "method": "endless", "credit": credit }));
    let mut there = remote_end_of_server()?;
    there.send(&stream_request(limit + 1)).await?;
    assert_eq!(there.receive().await?["error"]["code"], -32602);
    assert_eq!(items_of(1, limit).await?, limit);
    Ok(())
}

async fn peer_credit(limit: u64) -> Test {
    assert!(items_of(4, limit / 2).await? <= limit);
    Ok(())
}

async fn message_bytes(limit: u64) -> Test {
    let message = |length: usize| {
        let short = request(&json!(length), "now", &json!([""])).len();
        request(&json!(length), "now", &json!(["x".repeat(length - short)]))
    };
    let limit = limit as usize;
    assert_eq!((message(limit).len(), message(limit + 1).len()), (limit, limit + 1));
    let answers = answers(&[message(limit), message(limit + 1)]).await?;
    assert_eq!(answers[0]["result"], 1);
    assert_refused(&answers[1], &Value::Null, "oversize");
    Ok(())
}

async fn header_bytes(limit: u64) -> Test {
    let body = request(&json!(1), "now", &json!([]));
    let message_with_header_length = |length: usize| {
        let start = format!("Content-Length: {}\r\nX-Padding: ", body.len());
        format!("{start}{}\r\n\r\n{body}", "x".repeat(length - start.len() - 2))
    };
    let mut there = remote_end_of_server()?;
    there.send_bytes(message_with_header_length(limit as usize).as_bytes()).await?;
    assert_eq!(there.receive().await?["result"], 1);
    there.send_bytes(message_with_header_length(limit as usize + 1).as_bytes()).await?;
    assert_refused(&there.receive().await?, &Value::Null, "header-too-large");
    Ok(())
}

async fn partial_frame(limit: u64) -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    serve_methods(transport.on_diagnostic(move |diagnostic| {
        if let Diagnostic::Frame(fault) = diagnostic {
            let _ = sender.send(fault);
        }
    }));
    let message = frame(&request(&json!(1), "now", &json!([])));
    let (start, rest) = message.split_at(30);
    // A message that is complete 100 ms before the timeout is accepted.
    there.send_bytes(start).await?;
    tokio::time::sleep(Duration::from_millis(limit - 100)).await;
    there.send_bytes(rest).await?;
    assert_eq!(there.receive().await?["result"], 1);
    let began = Instant::now();
    there.send_bytes(start).await?;
    assert_eq!(received.recv().await, Some(FrameFault::TimedOut { received_bytes: 30 }));
    assert_about(began.elapsed(), limit);
    Ok(())
}

async fn depth(limit: u64) -> Test {
    // The message itself is the first level.
    let message = |levels: usize| {
        let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
        format!(r#"{{"jsonrpc":"2.0","id":{levels},"method":"now","params":{open}{close}}}"#)
    };
    let limit = limit as usize;
    let answers = answers(&[message(limit), message(limit + 1)]).await?;
    assert_eq!(answers[0]["result"], 1);
    assert_refused(&answers[1], &json!(limit + 1), "nesting-too-deep");
    Ok(())
}

async fn unwritten_bytes(limit: u64) -> Test {
    for framing in [Framing::ContentLength, Framing::Wipc] {
        let (transport, mut there) = transport_with_remote_end_of(4_096, framing)?;
        let server = Server::new(transport);
        let begun = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&begun);
        server.method_sync("big", move |(): (), _: Context| {
            count.fetch_add(1, Ordering::SeqCst);
            Ok::<_, RpcError>("x".repeat(1_000_000))
        });
        server.forget();
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"big"}"#;
        let message = match framing {
            Framing::Wipc => [b"WIPC\x02", &(body.len() as u32).to_le_bytes()[..], body.as_bytes()].concat(),
            _ => frame(body),
        };
        while timeout(Duration::from_millis(500), there.send_bytes(&message)).await.is_ok() {
            assert!(begun.load(Ordering::SeqCst) < 100, "the server must stop reading");
        }
        // Up to two answers more than the limit are possible: one is being written, and one exceeds the limit.
        let begun = begun.load(Ordering::SeqCst) as u64;
        assert!((limit / 1_000_000..=limit / 1_000_000 + 2).contains(&begun), "{begun} with {framing}");
    }
    Ok(())
}

async fn lines_without_message(limit: u64) -> Test {
    for (lines, is_over) in [(limit - 1, false), (limit, true)] {
        let (transport, mut there) = transport_with_remote_end_of(64 * 1024, Framing::Newline)?;
        let client = Client::new(transport);
        let call = client.call::<u32>("a", &()).start();
        there.receive_line().await?;
        there.send_bytes("no message\n".repeat(lines as usize).as_bytes()).await?;
        there.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":3}\n").await?;
        let expected = if is_over { Err(CallError::Lost(Closed::NoMessages(lines as usize))) } else { Ok(3) };
        assert_eq!(timeout(TEST_TIMEOUT, call).await?, expected);
    }
    Ok(())
}

async fn link_grace(limit: u64) -> Test {
    for (work, is_answered) in [(limit - 50, true), (limit + 50, false)] {
        let (transport, mut there) = transport_with_remote_end()?;
        let server = Server::new(transport);
        server.method("slow", move |(): (), _: Context| async move {
            tokio::time::sleep(Duration::from_millis(work)).await;
            Ok::<_, RpcError>(1)
        });
        let running = tokio::spawn(server.run());
        there.send(r#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#).await?;
        there.finish().await?;
        assert_eq!(running.await?, Closed::End);
        assert_eq!(there.rest().await?.contains("result"), is_answered, "{work} ms");
    }
    Ok(())
}

async fn wipc_payload(limit: u64) -> Test {
    let header = |length: u32| [b"WIPC\x02", &length.to_le_bytes()[..]].concat();
    // A header cannot state a length above the limit, so this test only checks that the limit itself is accepted.
    let limit = u32::try_from(limit)?;
    let mut decoder = Decoder::new();
    assert!(decoder.next(&mut &header(limit)[..]).is_none() && decoder.unfinished().is_some());
    for (length, is_header) in [(1_000, true), (1_001, false)] {
        let mut decoder = Decoder::with_max_payload(1_000);
        let bytes = header(length);
        let mut input = &bytes[..];
        while decoder.next(&mut input).is_some() {}
        assert_eq!(decoder.unfinished().is_some(), is_header, "{length}");
    }
    Ok(())
}
