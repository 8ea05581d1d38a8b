//! Streams: items arrive in order and within the credit, and each stream ends once.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use portway::{CallError, Client, Context, ErrorCode, RpcError, Server, Transport};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::serving::ReportsDrop;
use crate::wire::{TEST_TIMEOUT, transport_with_remote_end};

type Test = Result<(), Box<dyn Error>>;

/// Serves `count`, a stream of numbers, and `plain`, a method without a stream. Returns the counter of the produced
/// items.
fn serve_numbers(transport: Transport) -> Arc<AtomicU32> {
    let produced = Arc::new(AtomicU32::new(0));
    let server = Server::new(transport);
    let counter = Arc::clone(&produced);
    server.stream_method("count", move |(below,): (u32,), _: Context| {
        let counter = Arc::clone(&counter);
        stream::iter(0..below).map(move |number| {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok::<_, RpcError>(number)
        })
    });
    server.method("plain", |(): (), _: Context| async { Ok::<_, RpcError>(1) });
    server.forget();
    produced
}

#[tokio::test]
async fn all_items_arrive_in_order_before_the_end() -> Test {
    let (here, there) = Transport::pair()?;
    serve_numbers(there);
    let client = Client::new(here);
    for window in [1, 16, 1_000] {
        let items = client.stream::<u32>("count", &(500,)).window(window);
        let numbers: Result<Vec<u32>, _> =
            timeout(TEST_TIMEOUT, items.collect::<Vec<_>>()).await?.into_iter().collect();
        assert_eq!(numbers?, (0..500).collect::<Vec<_>>());
    }
    assert_eq!(client.pending(), 0);
    Ok(())
}

#[tokio::test]
async fn an_unread_stream_produces_one_item_more_than_its_credit() -> Test {
    let (here, there) = Transport::pair()?;
    let produced = serve_numbers(there);
    let client = Client::new(here);
    let mut items = client.stream::<u32>("count", &(1_000_000,)).window(8);
    assert_eq!(items.next().await, Some(Ok(0)));
    tokio::time::sleep(Duration::from_millis(50)).await;
    // Eight items were sent, and one item waits for credit.
    assert_eq!(produced.load(Ordering::SeqCst), 9);
    for number in 1..100 {
        assert_eq!(items.next().await, Some(Ok(number)));
    }
    drop(items);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(produced.load(Ordering::SeqCst) < 120);
    Ok(())
}

#[tokio::test]
async fn the_messages_of_a_stream_have_the_form_of_the_protocol() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let mut items = client.stream::<u32>("count", &(3,)).window(2);
    let first = tokio::spawn(async move { (items.next().await, items) });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "rpc.stream",
        "params": { "method": "count", "params": [3], "credit": 2 } });
    assert_eq!(there.receive().await?, request);
    there.send(r#"{"jsonrpc":"2.0","method":"rpc.item","params":{"id":1,"value":7}}"#).await?;
    let (item, mut items) = timeout(TEST_TIMEOUT, first).await??;
    assert_eq!(item, Some(Ok(7)));
    let credit = json!({ "jsonrpc": "2.0", "method": "rpc.credit", "params": { "id": 1, "count": 1 } });
    assert_eq!(there.receive().await?, credit);
    there.send(r#"{"jsonrpc":"2.0","method":"rpc.item","params":{"id":1,"value":8}}"#).await?;
    there.send(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no more"}}"#).await?;
    // The items before the error are not lost.
    assert_eq!(items.next().await, Some(Ok(8)));
    let error = RpcError::new(ErrorCode::new(-32001), "no more");
    assert_eq!(items.next().await, Some(Err(CallError::Remote(error))));
    assert_eq!(items.next().await, None);
    Ok(())
}

#[tokio::test]
async fn an_item_beyond_the_credit_ends_the_stream() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let mut items = client.stream::<u32>("count", &()).window(1);
    let all =
        tokio::spawn(async move { (items.next().await, items.next().await, items.next().await, items.next().await) });
    there.receive().await?;
    for value in 1..=4 {
        let item = json!({ "jsonrpc": "2.0", "method": "rpc.item", "params": { "id": 1, "value": value } });
        there.send(&item.to_string()).await?;
    }
    // The first item beyond the credit ends the stream at once. Items that the consumer has not read are dropped.
    let (first, second, third, fourth) = timeout(TEST_TIMEOUT, all).await??;
    let reads = [first, second, third, fourth];
    let items = reads.iter().take_while(|read| matches!(read, Some(Ok(_)))).count();
    assert!(items < 3, "{reads:?}");
    assert_eq!(reads.get(items), Some(&Some(Err(CallError::InvalidResponse))), "{reads:?}");
    assert_eq!(reads.get(items + 1), Some(&None), "{reads:?}");
    let mut last = Value::Null;
    while last["method"] != "$/cancelRequest" {
        last = there.receive().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_dropped_stream_is_cancelled_and_the_server_drops_its_items() -> Test {
    let (here, there) = Transport::pair()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    let server = Server::new(there);
    server.stream_method("endless", move |(): (), _: Context| {
        let guard = ReportsDrop(sender.clone(), "dropped");
        stream::repeat(1).map(move |number| {
            let _kept = &guard;
            Ok::<_, RpcError>(number)
        })
    });
    server.forget();
    let client = Client::new(here);
    let mut items = client.stream::<u32>("endless", &());
    assert_eq!(items.next().await, Some(Ok(1)));
    drop(items);
    assert_eq!(timeout(TEST_TIMEOUT, received.recv()).await?, Some("dropped"));
    assert_eq!(client.pending(), 0);
    Ok(())
}

#[tokio::test]
async fn a_stream_that_is_never_polled_sends_no_request() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    drop(client.stream::<u32>("count", &()));
    client.notify("note", &())?;
    assert_eq!(there.receive().await?["method"], "note");
    Ok(())
}

#[tokio::test]
async fn a_call_of_a_stream_method_and_a_stream_of_a_plain_method_are_errors() -> Test {
    let (here, there) = Transport::pair()?;
    serve_numbers(there);
    let client = Client::new(here);
    let error = |item: Option<Result<u32, CallError>>| match item {
        Some(Err(CallError::Remote(error))) => Some(error.code.value()),
        _ => None,
    };
    assert_eq!(error(client.stream("plain", &()).next().await), Some(-32603));
    assert_eq!(error(client.stream("unknown", &()).next().await), Some(-32601));
    assert_eq!(error(client.stream("count", &["x"]).next().await), Some(-32602));
    assert_eq!(error(Some(client.call("count", &(1,)).await)), Some(-32603));
    assert_eq!(error(Some(client.call("rpc.stream", &("count", 1)).await)), Some(-32602));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_timeout_of_a_stream_runs_only_while_its_consumer_waits() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let mut items = client.stream::<u32>("slow", &()).timeout(Duration::from_secs(5));
    let item_message = |value: u32| {
        json!({ "jsonrpc": "2.0", "method": "rpc.item", "params": { "id": 1, "value": value } }).to_string()
    };
    let first = tokio::spawn(async move { (items.next().await, items) });
    there.receive().await?;
    tokio::time::sleep(Duration::from_secs(4)).await;
    there.send(&item_message(1)).await?;
    let (item, mut items) = first.await?;
    assert_eq!(item, Some(Ok(1)));
    // No consumer waits during this hour.
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    there.send(&item_message(2)).await?;
    assert_eq!(items.next().await, Some(Ok(2)));
    let start = tokio::time::Instant::now();
    assert_eq!(items.next().await, Some(Err(CallError::TimedOut)));
    assert!((5_000..5_100).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    assert_eq!(there.receive().await?["method"], "$/cancelRequest");
    Ok(())
}

#[tokio::test]
async fn the_end_of_the_link_ends_streams() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let mut items = client.stream::<u32>("count", &());
    let item = tokio::spawn(async move { items.next().await });
    there.receive().await?;
    drop(there);
    assert_eq!(timeout(TEST_TIMEOUT, item).await??, Some(Err(CallError::PeerGone)));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_waits_for_credit_does_not_delay_the_end_of_the_link() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let server = Server::new(transport);
    server.stream_method("count", |(): (), _: Context| stream::iter((0..5).map(Ok::<u32, RpcError>)));
    let running = tokio::spawn(server.run());
    let start = tokio::time::Instant::now();
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"rpc.stream","params":{"method":"count","credit":1}}"#).await?;
    assert_eq!(there.receive().await?["params"], json!({ "id": 1, "value": 0 }));
    there.finish().await?;
    assert!(there.receive().await?["error"].is_object());
    running.await?;
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    Ok(())
}

/// Returns a request for a stream of a million items.
fn stream_request(id: u32, credit: u32) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": "rpc.stream",
        "params": { "method": "count", "params": [1_000_000], "credit": credit } })
    .to_string()
}

#[tokio::test]
async fn streams_whose_items_are_always_ready_let_other_tasks_run() -> Test {
    for (streams, credit) in [(1, 60_000), (64, 1_000)] {
        let (transport, mut there) = transport_with_remote_end()?;
        let produced = serve_numbers(transport);
        let all: Vec<_> = (1..=streams).map(|id| stream_request(id, credit)).collect();
        there.send(&format!("[{}]", all.join(","))).await?;
        let reader = tokio::spawn(async move { while there.receive().await.is_ok() {} });
        let (mut last, mut most) = (0, 0);
        while produced.load(Ordering::SeqCst) < streams * credit {
            tokio::task::yield_now().await;
            let now = produced.load(Ordering::SeqCst);
            most = most.max(now - last);
            last = now;
        }
        // The link may have two turns between two polls of this test. In a turn, its streams produce up to 256 items
        // (`stream-turn-items` in limits.toml). In its first turn, each stream also produces its first two items.
        assert!(most <= 2 * 256 + 2 * streams, "{most} items of {streams} streams");
        reader.abort();
    }
    Ok(())
}

#[tokio::test]
async fn the_credit_of_all_streams_of_a_peer_is_bounded() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let produced = serve_numbers(transport);
    let mut items = [0, 0];
    let mut answers = Vec::new();
    let mut note = |message: Value| match message["params"]["id"].as_u64() {
        Some(1) => items[0] += 1,
        Some(_) => items[1] += 1,
        None => answers.push(message),
    };
    there.send(&stream_request(2, 2)).await?;
    for _ in 0..2 {
        note(timeout(TEST_TIMEOUT, there.receive()).await??);
    }
    there.send(&stream_request(1, 65_526)).await?;
    there.send(&stream_request(3, 9)).await?;
    // The windows of all streams of a peer may have 65 536 items in total, and stream 1 uses 65 526 of these. So
    // request 3, which needs 9 items, is refused, and the window of stream 2 may grow from 2 to 10 items. Two items of
    // stream 2 were sent before, so 10 further items follow.
    there.send(r#"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":2,"count":100}}"#).await?;
    for _ in 0..65_526 + 10 + 1 {
        note(timeout(TEST_TIMEOUT, there.receive()).await??);
    }
    assert!(timeout(Duration::from_millis(100), there.receive()).await.is_err());
    let error = json!({ "code": -32600, "message": "Invalid Request", "data": { "reason": "too-much-credit" } });
    assert_eq!((items, answers), ([65_526, 12], vec![json!({ "jsonrpc": "2.0", "id": 3, "error": error })]));
    // Each stream has produced one further item, which waits for credit.
    assert_eq!(produced.load(Ordering::SeqCst), 65_526 + 12 + 2);
    there.send(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#).await?;
    assert_eq!(timeout(TEST_TIMEOUT, there.receive()).await??["error"]["code"], -32800);
    there.send(&stream_request(4, 100)).await?;
    assert_eq!(timeout(TEST_TIMEOUT, there.receive()).await??["params"]["id"], 4);
    Ok(())
}
