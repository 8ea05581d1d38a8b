//! Tests of streams.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use futures_core::Stream;
use portway::{CallError, Client, Context, ErrorCode, Items, Peer, RpcError, Server, Transport};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{channel, client_and_server, client_and_wire, js_server, next, sleep, transports, until};

async fn next_item<T: serde::de::DeserializeOwned>(items: &mut Items<T>) -> Option<Result<T, CallError>> {
    poll_fn(|context| Pin::new(&mut *items).poll_next(context)).await
}

/// Returns a client of a server that is written in JavaScript.
fn client_of_javascript() -> Client {
    let ports = channel();
    js_server(&ports[1]);
    Client::new(Transport::port(&ports[0]).unwrap())
}

#[wasm_bindgen_test]
async fn a_stream_returns_all_items_in_order_and_ends() {
    let client = client_of_javascript();
    let mut items = client.stream::<u32>("numbers", &[100]).window(3);
    for n in 0..100 {
        assert_eq!(next_item(&mut items).await, Some(Ok(n)));
    }
    assert_eq!(next_item(&mut items).await, None);
    assert_eq!(next_item(&mut items).await, None);
    assert_eq!(client.pending(), 0);
}

#[wasm_bindgen_test]
async fn a_dropped_stream_is_cancelled_at_the_peer() {
    let client = client_of_javascript();
    let mut items = client.stream::<u32>("numbers", &[1_000_000_000]);
    assert_eq!(next_item(&mut items).await, Some(Ok(0)));
    drop(items);
    let cancelled = async || client.call::<Vec<String>>("cancelled", &()).await.unwrap();
    for _ in 0..100 {
        if cancelled().await == ["numbers"] {
            return;
        }
        sleep(10.0).await;
    }
    panic!("the signal of the handler was not aborted");
}

#[wasm_bindgen_test]
async fn a_dropped_stream_sends_a_cancellation() {
    let (client, wire) = client_and_wire();
    let mut items = client.stream::<u32>("numbers", &[9]).window(2);
    let first = poll_fn(|context| std::task::Poll::Ready(Pin::new(&mut items).poll_next(context))).await;
    assert!(first.is_pending());
    let request =
        r#"{"jsonrpc":"2.0","method":"rpc.stream","params":{"method":"numbers","params":[9],"credit":2},"id":1}"#;
    assert_eq!(next(&wire).await, request);
    drop(items);
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#);
}

#[wasm_bindgen_test]
async fn an_unpolled_stream_is_never_requested() {
    let (client, wire) = client_and_wire();
    drop(client.stream::<u32>("numbers", &[9]));
    client.notify("end", &()).unwrap();
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"end"}"#);
}

#[wasm_bindgen_test]
async fn a_stream_ends_with_the_error_of_its_handler() {
    let client = client_of_javascript();
    let mut items = client.stream::<u32>("badNumbers", &());
    assert_eq!(next_item(&mut items).await, Some(Ok(1)));
    let Some(Err(CallError::Remote(error))) = next_item(&mut items).await else { panic!("an error is expected") };
    assert_eq!(error.code, ErrorCode::new(-32001));
    assert_eq!(next_item(&mut items).await, None);
}

#[wasm_bindgen_test]
async fn a_stream_ends_with_its_client() {
    let (client, _wire) = client_and_wire();
    let mut items = client.stream::<u32>("numbers", &());
    let first = poll_fn(|context| std::task::Poll::Ready(Pin::new(&mut items).poll_next(context))).await;
    assert!(first.is_pending());
    client.destroy();
    assert_eq!(next_item(&mut items).await, Some(Err(CallError::Destroyed)));
    let mut late = client.stream::<u32>("numbers", &());
    assert_eq!(next_item(&mut late).await, Some(Err(CallError::Destroyed)));
}

/// A stream of the numbers from 1 to `end`. If `fails` is true, an error follows. `produced` counts the produced
/// numbers, and `dropped` records the drop.
struct Numbers {
    next: u32,
    end: u32,
    produced: Rc<Cell<u32>>,
    dropped: Rc<Cell<bool>>,
    fails: bool,
}

impl Stream for Numbers {
    type Item = Result<u32, RpcError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<Option<Self::Item>> {
        if self.next == self.end {
            return Poll::Ready(if self.fails { Some(Err(RpcError::new(ErrorCode::new(7), "no more"))) } else { None });
        }
        self.next += 1;
        self.produced.set(self.produced.get() + 1);
        Poll::Ready(Some(Ok(self.next)))
    }
}

impl Drop for Numbers {
    fn drop(&mut self) {
        self.dropped.set(true);
    }
}

/// Serves `count`, a stream of numbers. Returns two cells: the count of produced numbers, and whether the last stream
/// was dropped.
fn serve_numbers(server: &Server) -> (Rc<Cell<u32>>, Rc<Cell<bool>>) {
    let counts = (Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
    let (produced, dropped) = (counts.0.clone(), counts.1.clone());
    server.stream_method("count", move |(end, fails): (u32, bool), _: Context| {
        dropped.set(false);
        Numbers { next: 0, end, fails, produced: produced.clone(), dropped: dropped.clone() }
    });
    counts
}

#[wasm_bindgen_test]
async fn a_server_in_rust_sends_a_stream() {
    let (client, server) = client_and_server();
    let (_, dropped) = serve_numbers(&server);
    for window in [1, 16] {
        let mut items = client.stream::<u32>("count", &(100, false)).window(window);
        for n in 1..=100 {
            assert_eq!(next_item(&mut items).await, Some(Ok(n)));
        }
        assert_eq!(next_item(&mut items).await, None);
        assert!(dropped.get());
    }
    let mut empty = client.stream::<u32>("count", &(0, false));
    assert_eq!(next_item(&mut empty).await, None);
}

#[wasm_bindgen_test]
async fn an_error_of_a_stream_in_rust_is_its_last_item() {
    let (client, server) = client_and_server();
    serve_numbers(&server);
    let mut items = client.stream::<u32>("count", &(1, true));
    assert_eq!(next_item(&mut items).await, Some(Ok(1)));
    let Some(Err(CallError::Remote(error))) = next_item(&mut items).await else { panic!("an error is expected") };
    assert_eq!(error.code, ErrorCode::new(7));
    assert_eq!(next_item(&mut items).await, None);
    let mut with_wrong_params = client.stream::<u32>("count", &("no number",));
    let Some(Err(CallError::Remote(error))) = next_item(&mut with_wrong_params).await else {
        panic!("an error is expected")
    };
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
}

#[wasm_bindgen_test]
async fn a_stream_in_rust_waits_for_credit_and_is_dropped_with_its_reader_or_its_server() {
    let (client, server) = client_and_server();
    let (produced, dropped) = serve_numbers(&server);
    let mut items = client.stream::<u32>("count", &(1_000_000, false)).window(8);
    assert_eq!(next_item(&mut items).await, Some(Ok(1)));
    sleep(50.0).await;
    assert!(produced.get() <= 9, "{}", produced.get());
    assert!(!dropped.get());
    // The reader is dropped while the stream waits for credit.
    drop(items);
    until(|| dropped.get()).await;
    // The server is dropped while the stream waits for credit.
    let mut items = client.stream::<u32>("count", &(1_000_000, false)).window(8);
    assert_eq!(next_item(&mut items).await, Some(Ok(1)));
    assert!(!dropped.get());
    drop(server);
    assert!(dropped.get());
}

#[wasm_bindgen_test]
async fn a_stream_method_refuses_a_call_and_a_plain_method_refuses_a_stream() {
    let (client, server) = client_and_server();
    serve_numbers(&server);
    server.method_sync("plain", |(), _: Context| Ok::<_, RpcError>(1));
    let Err(CallError::Remote(error)) = client.call::<u32>("count", &(1, false)).await else {
        panic!("an error is expected")
    };
    assert!(error.message.contains("stream()"), "{error}");
    let mut items = client.stream::<u32>("plain", &());
    let Some(Err(CallError::Remote(error))) = next_item(&mut items).await else { panic!("an error is expected") };
    assert!(error.message.contains("does not return a stream"), "{error}");
}

#[wasm_bindgen_test]
async fn a_peer_answers_a_call_while_it_serves_a_stream() {
    let (here, there) = transports();
    let (one, other) = (Peer::new(here), Peer::new(there));
    one.stream_method("count", |(end,): (u32,), _: Context| Numbers {
        next: 0,
        end,
        fails: false,
        produced: Rc::default(),
        dropped: Rc::default(),
    });
    one.method_sync("add", |(a, b): (u32, u32), _: Context| Ok::<_, RpcError>(a + b));
    let mut items = other.stream::<u32>("count", &(2,));
    assert_eq!(next_item(&mut items).await, Some(Ok(1)));
    assert_eq!(other.call("add", &(1, 2)).await, Ok(3));
    assert_eq!(next_item(&mut items).await, Some(Ok(2)));
    assert_eq!(next_item(&mut items).await, None);
    // A destroyed peer makes and answers no calls. It may be destroyed twice.
    one.destroy();
    one.destroy();
    assert_eq!(one.call::<u32>("add", &()).await, Err(CallError::Destroyed));
    let after = other.call::<u32>("add", &(1, 2)).timeout(std::time::Duration::from_millis(50)).await;
    assert_eq!(after, Err(CallError::TimedOut));
}
