//! Streams of items.

use std::future::poll_fn;
use std::pin::Pin;

use futures_core::Stream;
use portway::{CallError, Client, ErrorCode, Items, Transport};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{channel, client_and_wire, js_server, next, sleep};

async fn item<T: serde::de::DeserializeOwned>(items: &mut Items<T>) -> Option<Result<T, CallError>> {
    poll_fn(|context| Pin::new(&mut *items).poll_next(context)).await
}

fn client_of_javascript() -> Client {
    let ports = channel();
    js_server(&ports[1]);
    Client::new(Transport::port(&ports[0]).unwrap())
}

#[wasm_bindgen_test]
async fn a_stream_gives_all_items_in_order_and_ends() {
    let client = client_of_javascript();
    let mut items = client.stream::<u32>("numbers", &[100]).window(3);
    for n in 0..100 {
        assert_eq!(item(&mut items).await, Some(Ok(n)));
    }
    assert_eq!(item(&mut items).await, None);
    assert_eq!(item(&mut items).await, None);
    assert_eq!(client.pending(), 0);
}

#[wasm_bindgen_test]
async fn a_dropped_stream_is_cancelled_at_the_other_side() {
    let client = client_of_javascript();
    let mut items = client.stream::<u32>("numbers", &[1_000_000_000]);
    assert_eq!(item(&mut items).await, Some(Ok(0)));
    drop(items);
    let cancelled = async || client.call::<Vec<String>>("cancelled", &()).await.unwrap();
    for _ in 0..100 {
        if cancelled().await == ["numbers"] {
            return;
        }
        sleep(10.0).await;
    }
    panic!("the handler was not told");
}

#[wasm_bindgen_test]
async fn a_dropped_stream_is_cancelled_on_the_wire() {
    let (client, wire) = client_and_wire();
    let mut items = client.stream::<u32>("numbers", &[9]).window(2);
    let first = poll_fn(|context| std::task::Poll::Ready(Pin::new(&mut items).poll_next(context))).await;
    assert!(first.is_pending());
    let asked =
        r#"{"jsonrpc":"2.0","method":"rpc.stream","params":{"method":"numbers","params":[9],"credit":2},"id":1}"#;
    assert_eq!(next(&wire).await, asked);
    drop(items);
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#);
}

#[wasm_bindgen_test]
async fn a_stream_that_nobody_polls_is_never_asked_for() {
    let (client, wire) = client_and_wire();
    drop(client.stream::<u32>("numbers", &[9]));
    client.notify("end", &()).unwrap();
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"end"}"#);
}

#[wasm_bindgen_test]
async fn a_stream_ends_with_the_error_of_its_handler() {
    let client = client_of_javascript();
    let mut items = client.stream::<u32>("badNumbers", &());
    assert_eq!(item(&mut items).await, Some(Ok(1)));
    let Some(Err(CallError::Remote(error))) = item(&mut items).await else { panic!("no error") };
    assert_eq!(error.code, ErrorCode::new(-32001));
    assert_eq!(item(&mut items).await, None);
}

#[wasm_bindgen_test]
async fn a_stream_ends_with_its_client() {
    let (client, _wire) = client_and_wire();
    let mut items = client.stream::<u32>("numbers", &());
    let first = poll_fn(|context| std::task::Poll::Ready(Pin::new(&mut items).poll_next(context))).await;
    assert!(first.is_pending());
    client.destroy();
    assert_eq!(item(&mut items).await, Some(Err(CallError::Destroyed)));
    let mut late = client.stream::<u32>("numbers", &());
    assert_eq!(item(&mut late).await, Some(Err(CallError::Destroyed)));
}
