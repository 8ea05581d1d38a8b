//! Tests that each transport sends a call and its response.

use portway::{Client, Origin, Server, Transport};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{Add, add};

async fn assert_answers(client: Transport, server: Transport) {
    let (client, server) = (Client::new(client), Server::new(server));
    server.method("add", add);
    assert_eq!(client.call("add", &Add { a: 1, b: 2 }).await, Ok(3));
}

#[wasm_bindgen_test]
async fn a_broadcast_channel_sends_a_call_and_its_response() {
    let channel = || Transport::broadcast("portway-rust-test").unwrap();
    assert_answers(channel(), channel()).await;
}

/// A window that is its own peer receives and answers its own requests.
#[wasm_bindgen_test]
async fn a_window_sends_a_call_and_its_response() {
    let window: JsValue = js_sys::global().into();
    let location = js_sys::Reflect::get(&window, &"origin".into()).unwrap().as_string().unwrap();
    for origin in [Origin::Own, Origin::Only(&location), Origin::OneOf(&[&location, "https://portway.example"])] {
        let transport = Transport::window(&window, origin).unwrap();
        assert_answers(transport.clone(), transport).await;
    }
}

#[wasm_bindgen_test]
fn a_value_that_is_not_a_transport_is_refused() {
    let nothing = JsValue::from(js_sys::Object::new());
    assert!(Transport::port(&nothing).is_err());
    assert!(Transport::worker(&nothing).is_err());
    assert!(Transport::window(&nothing, Origin::Any).is_err());
    assert!(Transport::from_js(nothing).is_err());
    assert!(Transport::from_js(JsValue::NULL).is_err());
    let window: JsValue = js_sys::global().into();
    // This origin has no scheme.
    let error = Transport::window(&window, Origin::Only("portway.example")).unwrap_err();
    assert!(error.to_string().contains("origin must be like"), "{error}");
    // This code runs in a page, not in a worker.
    let error = Transport::current_worker().unwrap_err();
    assert!(error.to_string().contains("dedicated workers"), "{error}");
}
