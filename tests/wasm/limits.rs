//! Tests of some rows of limits.toml: those for which the Rust API in browsers has a constant.

use std::cell::Cell;
use std::rc::Rc;
use std::task::Poll;

use portway::{CallError, Peer};
use serde::Deserialize;
use wasm_bindgen_futures::spawn_local;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{channel, client_and_wire, next, until};

#[derive(Deserialize)]
struct Row {
    name: String,
    value: u32,
}

fn row(name: &str) -> Row {
    let rows: Vec<Row> = serde_json::from_str(include_str!("../data/limits.json")).unwrap();
    rows.into_iter().find(|row| row.name == name).unwrap()
}

/// Checks that a wait of `elapsed` milliseconds matches the row.
fn assert_about(elapsed: f64, row: &Row) {
    let value = f64::from(row.value);
    // The timeout of a call may be late by a sixteenth of its value.
    assert!(elapsed >= value - 2.0 && elapsed < value * 1.07 + 1_500.0, "{}: {elapsed}", row.name);
}

#[wasm_bindgen_test]
async fn defaults_match_the_table() {
    let start = js_sys::Date::now();
    let connected = Rc::new(Cell::new(0.0));
    let (port, ended) = (channel(), connected.clone());
    spawn_local(async move {
        let error = Peer::connect(&port[0]).open(|_| {}).await.unwrap_err();
        assert_eq!(error.reason().as_deref(), Some("no-answer"));
        ended.set(js_sys::Date::now() - start);
    });
    let (client, wire) = client_and_wire();
    let mut items = Box::pin(client.stream::<u8>("items", &()));
    // The stream is requested when it is first polled.
    std::future::poll_fn(|context| {
        let _ = futures_core::Stream::poll_next(items.as_mut(), context);
        Poll::Ready(())
    })
    .await;
    let credit = format!("\"credit\":{}", row("stream-window").value);
    let request = next(&wire).await;
    assert!(request.contains(&credit), "{request}");
    assert_eq!(client.call::<()>("wait", &()).await, Err(CallError::TimedOut));
    assert_about(js_sys::Date::now() - start, &row("call-timeout"));
    until(|| connected.get() > 0.0).await;
    assert_about(connected.get(), &row("connect-timeout"));
}

#[wasm_bindgen_test]
async fn the_size_limit_of_a_conversion_matches_the_table() {
    let value = row("conversion-visits").value;
    let result_of = async |length: usize| {
        let (client, wire) = client_and_wire();
        let call = client.call::<Vec<u8>>("list", &()).start();
        wire.send(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{}0]}}"#, "0,".repeat(length - 1)));
        call.await.map(|list| list.len())
    };
    // The array itself also counts as a visit.
    let max_length = value as usize - 1;
    assert_eq!(result_of(max_length).await, Ok(max_length));
    assert!(result_of(max_length + 1).await.is_err());
}

/// A type whose error is longer than the limit.
#[derive(Debug)]
struct Wordy;

impl<'de> Deserialize<'de> for Wordy {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("y".repeat(100_000)))
    }
}

#[wasm_bindgen_test]
async fn the_text_of_a_conversion_error_matches_the_table() {
    let (client, wire) = client_and_wire();
    let call = client.call::<Wordy>("a", &()).start();
    wire.send(r#"{"jsonrpc":"2.0","id":1,"result":1}"#);
    let Err(CallError::Deserialize(text)) = call.await else { panic!("the value was read") };
    assert_eq!(text.matches('y').count(), row("conversion-error").value as usize);
}
