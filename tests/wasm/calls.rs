//! Tests of calls and their results.

use std::collections::BTreeMap;
use std::time::Duration;

use portway::{CallError, Client, Context, RpcError};
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{Add, add, client_and_server, client_and_wire, next, sleep};

#[wasm_bindgen_test]
async fn a_call_returns_its_result() {
    let (client, server) = client_and_server();
    server.method("add", add);
    assert_eq!(client.call("add", &Add { a: 1, b: 2 }).await, Ok(3));
    assert_eq!(client.pending(), 0);
}

#[wasm_bindgen_test]
async fn a_call_is_sent_as_a_json_rpc_request() {
    let (client, wire) = client_and_wire();
    let call = client.call::<i32>("add", &Add { a: 1, b: 2 }).start();
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"add","params":{"a":1,"b":2},"id":1}"#);
    wire.send(r#"{"jsonrpc":"2.0","result":3,"id":1}"#);
    assert_eq!(call.await, Ok(3));
}

#[wasm_bindgen_test]
async fn unit_params_are_omitted_from_the_request() {
    let (client, wire) = client_and_wire();
    let _call = client.call::<i32>("ping", &()).start();
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"ping","id":1}"#);
}

#[wasm_bindgen_test]
async fn a_call_that_is_never_polled_is_not_sent() {
    let (client, wire) = client_and_wire();
    drop(client.call::<i32>("never", &()));
    client.notify("after", &()).unwrap();
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"after"}"#);
    assert_eq!(client.pending(), 0);
}

#[wasm_bindgen_test]
async fn a_result_may_be_null() {
    let (client, server) = client_and_server();
    server.method("nothing", |(), _| async { Ok::<_, RpcError>(()) });
    assert_eq!(client.call("nothing", &()).await, Ok(()));
    assert_eq!(client.call::<Option<u8>>("nothing", &()).await, Ok(None));
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Rich {
    name: String,
    absent: Option<u8>,
    list: Vec<(f64, bool)>,
    map: BTreeMap<String, Kind>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Kind {
    Plain,
    Sized { width: u32 },
}

#[wasm_bindgen_test]
async fn values_are_sent_in_the_form_of_their_json_text() {
    let rich = Rich {
        name: "é".to_owned(),
        absent: None,
        list: vec![(0.5, true)],
        map: BTreeMap::from([("a".to_owned(), Kind::Plain), ("b".to_owned(), Kind::Sized { width: 3 })]),
    };
    let (client, server) = client_and_server();
    server.method("echo", |rich: Rich, _| async { Ok::<_, RpcError>(rich) });
    assert_eq!(client.call("echo", &rich).await, Ok(rich.clone()));

    let (client, wire) = client_and_wire();
    let _call = client.call::<Rich>("echo", &rich).start();
    let params =
        r#"{"name":"é","absent":null,"list":[[0.5,true]],"map":{"a":{"kind":"plain"},"b":{"kind":"sized","width":3}}}"#;
    assert_eq!(next(&wire).await, format!(r#"{{"jsonrpc":"2.0","method":"echo","params":{params},"id":1}}"#));
}

#[wasm_bindgen_test]
async fn a_thousand_pending_calls_each_get_their_own_result() {
    let (client, server) = client_and_server();
    server.method("double", |(n,): (u32,), _| async move { Ok::<_, RpcError>(n * 2) });
    let calls: Vec<_> = (0..1000).map(|n: u32| client.call::<u32>("double", &(n,)).start()).collect();
    assert_eq!(client.pending(), 1000);
    for (n, call) in (0..).zip(calls) {
        assert_eq!(call.await, Ok(n * 2));
    }
    assert_eq!(client.pending(), 0);
}

#[wasm_bindgen_test]
async fn responses_may_arrive_in_any_order() {
    let (client, server) = client_and_server();
    server.method("after", |(ms,): (f64,), _| async move {
        sleep(ms).await;
        Ok::<_, RpcError>(ms)
    });
    let slow = client.call::<f64>("after", &[40.0]).start();
    let fast = client.call::<f64>("after", &[1.0]).start();
    assert_eq!(fast.await, Ok(1.0));
    assert_eq!(client.pending(), 1);
    assert_eq!(slow.await, Ok(40.0));
}

#[wasm_bindgen_test]
async fn values_of_javascript_are_not_converted() {
    let (client, server) = client_and_server();
    server.method_js("size", |params, _| async move {
        let map = js_sys::Map::from(js_sys::Reflect::get(&params, &"map".into())?);
        Ok::<_, Thrown>(JsValue::from(map.size()))
    });
    let params = js_sys::Object::new();
    js_sys::Reflect::set(&params, &"map".into(), &js_sys::Map::new().set(&"a".into(), &1.into())).unwrap();
    assert_eq!(client.call_js("size", &params).await, Ok(JsValue::from(1)));
}

/// A value that JavaScript threw.
struct Thrown;

impl From<JsValue> for Thrown {
    fn from(_: JsValue) -> Self {
        Self
    }
}

impl From<Thrown> for RpcError {
    fn from(_: Thrown) -> Self {
        Self::internal("thrown")
    }
}

#[wasm_bindgen_test]
async fn a_buffer_can_be_transferred_both_ways() {
    let (client, server) = client_and_server();
    server.method_js("back", |params, context: Context| async move {
        context.transfer(&js_sys::Array::of1(&js_sys::Reflect::get(&params, &0.into()).unwrap()));
        Ok::<_, RpcError>(params)
    });
    let buffer = js_sys::ArrayBuffer::new(1000);
    let params = js_sys::Array::of1(&buffer);
    let result = client.call_js("back", &params).transfer(&params).await.unwrap();
    assert_eq!(buffer.byte_length(), 0);
    assert_eq!(js_sys::ArrayBuffer::from(js_sys::Array::from(&result).get(0)).byte_length(), 1000);
}

#[wasm_bindgen_test]
async fn progress_arrives_before_the_result() {
    let (client, server) = client_and_server();
    server.method("count", |(), context: Context| async move {
        for n in 1..=3 {
            context.progress(&n)?;
        }
        Ok::<_, RpcError>("done".to_owned())
    });
    let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let listener = seen.clone();
    let result = client.call::<String>("count", &()).on_progress(move |n: u32| listener.borrow_mut().push(n)).await;
    assert_eq!(result.as_deref(), Ok("done"));
    assert_eq!(*seen.borrow(), [1, 2, 3]);
}

#[wasm_bindgen_test]
async fn a_call_times_out() {
    let (client, _wire) = client_and_wire();
    let client = client.with_timeout(Duration::from_millis(30));
    let before = js_sys::Date::now();
    assert_eq!(client.call::<()>("wait", &()).await, Err(CallError::TimedOut));
    assert!(js_sys::Date::now() - before >= 29.0);
    let own = client.with_timeout(None).call::<()>("wait", &()).timeout(Duration::from_millis(20)).await;
    assert_eq!(own, Err(CallError::TimedOut));
}

#[wasm_bindgen_test]
async fn a_call_that_times_out_is_cancelled_at_the_peer() {
    let (client, wire) = client_and_wire();
    let call = client.call::<()>("wait", &()).timeout(Duration::from_millis(5));
    assert_eq!(call.await, Err(CallError::TimedOut));
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"wait","id":1}"#);
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#);
    client.notify("last", &()).unwrap();
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"last"}"#);
}

#[wasm_bindgen_test]
async fn progress_restarts_the_timeout_but_not_the_total_timeout() {
    let (client, server) = client_and_server();
    server.method("work", |(steps,): (u32,), context: Context| async move {
        for step in 0..steps {
            context.progress(&step)?;
            sleep(50.0).await;
        }
        Ok::<_, RpcError>(steps)
    });
    let work = |steps: u32| {
        let call = client.call::<u32>("work", &(steps,)).on_progress(|_: u32| {});
        call.timeout(Duration::from_millis(400))
    };
    assert_eq!(work(16).await, Ok(16));
    let before = js_sys::Date::now();
    assert_eq!(work(1_000).total_timeout(Duration::from_millis(600)).await, Err(CallError::TimedOut));
    assert!(js_sys::Date::now() - before >= 599.0);
    assert_eq!(work(16).total_timeout(None).await, Ok(16));
    let alone = client.call::<()>("work", &(1_000,)).timeout(None).total_timeout(Duration::from_millis(20));
    assert_eq!(alone.await, Err(CallError::TimedOut));
}

#[wasm_bindgen_test]
async fn a_late_response_ends_no_call() {
    let (client, wire) = client_and_wire();
    assert_eq!(client.call::<u8>("wait", &()).timeout(Duration::from_millis(5)).await, Err(CallError::TimedOut));
    let second = client.call::<u8>("wait", &()).start();
    wire.send(r#"{"jsonrpc":"2.0","result":1,"id":1}"#);
    wire.send(r#"{"jsonrpc":"2.0","result":2,"id":2}"#);
    assert_eq!(second.await, Ok(2));
}

#[wasm_bindgen_test]
async fn a_clone_of_a_client_shares_its_pending_calls() {
    let (client, wire) = client_and_wire();
    let call = Client::clone(&client).call::<u8>("first", &()).start();
    assert_eq!(client.pending(), 1);
    wire.send(r#"{"jsonrpc":"2.0","result":1,"id":1}"#);
    assert_eq!(call.await, Ok(1));
}
