//! Tests of notifications in both directions.

use std::cell::RefCell;
use std::rc::Rc;

use portway::{CallError, Context, Peer, RpcError};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{assert_no_further_message, client_and_server, server_and_wire, transports, until};

#[wasm_bindgen_test]
async fn notifications_arrive_in_order() {
    let (client, server) = client_and_server();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    server.on_notify("tick", move |(n,): (u32,), _| log.borrow_mut().push(n));
    server.method("end", |(), _| async { Ok::<_, RpcError>(()) });
    for n in 0..500 {
        client.notify("tick", &[n]).unwrap();
    }
    client.call::<()>("end", &()).await.unwrap();
    assert_eq!(*seen.borrow(), (0..500).collect::<Vec<u32>>());
}

#[wasm_bindgen_test]
async fn a_handler_notifies_its_caller() {
    let (here, there) = transports();
    let (here, there) = (Peer::new(here), Peer::new(there));
    there.method("build", |(), context: Context| async move {
        context.notify("buildProgress", &[50])?;
        Ok::<_, RpcError>(())
    });
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    here.on_notify("buildProgress", move |(n,): (u32,), context: Context| {
        log.borrow_mut().push((context.method(), n));
    });
    here.call::<()>("build", &()).await.unwrap();
    assert_eq!(*seen.borrow(), [("buildProgress".to_owned(), 50)]);
}

#[wasm_bindgen_test]
async fn a_notification_with_params_of_a_wrong_type_is_ignored() {
    let (server, wire) = server_and_wire();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    server.on_notify("tick", move |(n,): (u32,), _| log.borrow_mut().push(n));
    wire.send(r#"{"jsonrpc":"2.0","method":"tick","params":["one"]}"#);
    wire.send(r#"{"jsonrpc":"2.0","method":"tick","params":[2]}"#);
    assert_no_further_message(&wire).await;
    assert_eq!(*seen.borrow(), [2]);
}

#[wasm_bindgen_test]
async fn a_notification_with_the_name_of_a_method_runs_the_method_without_an_answer() {
    let (server, wire) = server_and_wire();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    server.method("save", move |(n,): (u32,), _| {
        let log = log.clone();
        async move {
            log.borrow_mut().push(n);
            Ok::<_, RpcError>(())
        }
    });
    wire.send(r#"{"jsonrpc":"2.0","method":"save","params":[1]}"#);
    assert_no_further_message(&wire).await;
    assert_eq!(*seen.borrow(), [1]);
}

#[wasm_bindgen_test]
async fn values_of_javascript_are_sent_without_conversion() {
    let (client, server) = client_and_server();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    server.on_notify_js("bytes", move |params, _| log.borrow_mut().push(params));
    let buffer = js_sys::ArrayBuffer::new(8);
    let params = js_sys::Array::of1(&buffer);
    client.notify_js("bytes", &params, Some(&params)).unwrap();
    assert_eq!(buffer.byte_length(), 0);
    until(|| !seen.borrow().is_empty()).await;
    let received_buffer = js_sys::ArrayBuffer::from(js_sys::Array::from(&seen.borrow()[0]).get(0));
    assert_eq!(received_buffer.byte_length(), 8);
}

#[wasm_bindgen_test]
fn a_destroyed_client_sends_no_notifications() {
    let (client, _server) = client_and_server();
    client.destroy();
    assert_eq!(client.notify("tick", &()), Err(CallError::Destroyed));
    assert_eq!(client.notify_js("tick", &JsValue::UNDEFINED, None), Err(CallError::Destroyed));
}
