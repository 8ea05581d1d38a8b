//! Tests of calls that fail: with an error of the peer, or because the request cannot be sent or the response cannot be
//! read.

use std::rc::Rc;

use portway::{CallError, Client, ErrorCode, RpcError, Transport};
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{Add, add, broken, client_and_server, client_and_wire, losable, lose, next, server_and_wire};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Place {
    file: String,
    line: u32,
}

#[wasm_bindgen_test]
async fn an_error_keeps_its_code_message_and_data() {
    let (client, server) = client_and_server();
    server.method("build", |(), _| async {
        let place = Place { file: "main.ts".to_owned(), line: 7 };
        Err::<(), _>(RpcError::new(ErrorCode::new(-32001), "BUILD_FAILED").with_data(&place))
    });
    let Err(CallError::Remote(error)) = client.call::<()>("build", &()).await else { panic!("an error is expected") };
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::new(-32001), "BUILD_FAILED"));
    assert_eq!(error.data(), Some(Ok(Place { file: "main.ts".to_owned(), line: 7 })));
    assert!(error.data::<u32>().unwrap().is_err());
}

#[wasm_bindgen_test]
async fn an_error_without_data_has_no_data_on_the_wire() {
    let (server, wire) = server_and_wire();
    server.method_sync("fail", |(), _| Err::<(), _>(RpcError::internal("no")));
    wire.send(r#"{"jsonrpc":"2.0","method":"fail","id":"x"}"#);
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"no"},"id":"x"}"#);
}

#[wasm_bindgen_test]
async fn an_unknown_method_is_answered_with_an_error() {
    let (client, _server) = client_and_server();
    let Err(CallError::Remote(error)) = client.call::<()>("nowhere", &()).await else { panic!("an error is expected") };
    assert_eq!(error, RpcError::new(ErrorCode::METHOD_NOT_FOUND, "Method not found: nowhere"));
}

#[wasm_bindgen_test]
async fn params_of_a_wrong_type_are_answered_with_the_reason() {
    let (client, server) = client_and_server();
    server.method("add", add);
    for call in
        [client.call::<i32>("add", &[1]), client.call("add", &()), client.call("add", &AddWithText { a: "one" })]
    {
        let Err(CallError::Remote(error)) = call.await else { panic!("an error is expected") };
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
        assert!(error.message.starts_with("Invalid params: "), "{error}");
    }
}

#[derive(Serialize)]
struct AddWithText<'a> {
    a: &'a str,
}

#[wasm_bindgen_test]
async fn an_error_repeats_at_most_100_characters_of_params_of_a_wrong_type() {
    let (client, server) = client_and_server();
    server.method("add", add);
    let a = "é".repeat(1_000_000);
    let Err(CallError::Remote(error)) = client.call::<i32>("add", &AddWithText { a: &a }).await else {
        panic!("an error is expected")
    };
    assert!(error.message.starts_with("Invalid params: "), "{error}");
    assert!(error.message.matches('é').count() <= 100, "{} characters", error.message.len());
}

#[wasm_bindgen_test]
async fn the_details_of_a_failed_call_in_a_handler_are_not_sent_to_the_caller() {
    let (client, server) = client_and_server();
    let (inner, inner_server) = client_and_server();
    inner_server.method_sync("secret", |(), _| Ok::<_, RpcError>("s3cret"));
    let inner = Rc::new(inner);
    let caller = Rc::clone(&inner);
    server.method("deserialize", move |(), _| {
        let inner = Rc::clone(&caller);
        async move { Ok::<u32, RpcError>(inner.call("secret", &()).await?) }
    });
    server.method("send", move |(), _| {
        let inner = Rc::clone(&inner);
        async move {
            let params = js_sys::Array::of1(&js_sys::Function::new_no_args("s3cret"));
            inner.call_js("secret", &params).await?;
            Ok::<(), RpcError>(())
        }
    });
    for (method, message) in
        [("deserialize", "failed to deserialize the result"), ("send", "the message cannot be sent: DataCloneError")]
    {
        let Err(CallError::Remote(error)) = client.call::<u32>(method, &()).await else {
            panic!("an error is expected")
        };
        assert_eq!(error, RpcError::internal(message));
    }
}

#[wasm_bindgen_test]
async fn params_that_are_neither_object_nor_array_are_not_sent() {
    let (client, wire) = client_and_wire();
    assert!(matches!(client.call::<()>("add", &5).await, Err(CallError::Params(_))));
    assert!(matches!(client.call::<()>("add", "text").await, Err(CallError::Params(_))));
    assert!(matches!(client.call_js("add", &JsValue::from(true)).await, Err(CallError::Params(_))));
    assert!(matches!(client.notify("add", &1.5), Err(CallError::Params(_))));
    assert!(matches!(client.call::<()>("add", &[u64::MAX]).await, Err(CallError::Params(_))));
    client.notify("end", &()).unwrap();
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"end"}"#);
}

#[wasm_bindgen_test]
async fn a_result_of_another_type_is_an_error() {
    let (client, server) = client_and_server();
    server.method("add", add);
    let result = client.call::<String>("add", &Add { a: 1, b: 2 }).await;
    assert!(matches!(result, Err(CallError::Deserialize(_))), "{result:?}");
}

#[wasm_bindgen_test]
async fn a_response_without_result_and_error_is_invalid() {
    let (client, wire) = client_and_wire();
    let call = client.call::<u8>("ask", &()).start();
    wire.send(r#"{"jsonrpc":"2.0","id":1}"#);
    assert_eq!(call.await, Err(CallError::InvalidResponse));
}

#[wasm_bindgen_test]
async fn an_uncloneable_value_fails_only_its_call() {
    let (client, wire) = client_and_wire();
    let params = js_sys::Array::of1(&js_sys::Function::new_no_args(""));
    let Err(CallError::Send(problem)) = client.call_js("run", &params).await else { panic!("an error is expected") };
    assert_eq!(problem.to_string(), "the message cannot be sent: DataCloneError");
    assert_eq!(JsValue::from(problem).unchecked_into::<js_sys::Error>().name(), "DataCloneError");
    assert!(matches!(client.notify_js("run", &params, None), Err(CallError::Send(_))));
    assert_eq!(client.pending(), 0);
    let _next = client.call::<()>("next", &()).start();
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"next","id":2}"#);
}

#[wasm_bindgen_test]
async fn a_result_that_cannot_be_cloned_is_an_error() {
    let (client, server) = client_and_server();
    server.method_js("function", |_, _| async { Ok::<_, RpcError>(js_sys::Function::new_no_args("").into()) });
    let Err(CallError::Remote(error)) = client.call_js("function", &JsValue::UNDEFINED).await else { panic!() };
    assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
}

#[wasm_bindgen_test]
async fn a_transport_that_throws_fails_the_call() {
    let client = Client::new(Transport::from_js(broken()).unwrap());
    let Err(CallError::Send(problem)) = client.call::<()>("any", &()).await else { panic!("an error is expected") };
    assert_eq!(JsValue::from(problem).unchecked_into::<js_sys::Error>().message(), "broken");
}

#[wasm_bindgen_test]
fn the_texts_of_errors_describe_the_failure() {
    let error = RpcError::new(ErrorCode::new(-32001), "BUILD_FAILED");
    assert_eq!(error.to_string(), "BUILD_FAILED (-32001)");
    let error = CallError::from(error);
    assert_eq!(error.to_string(), "BUILD_FAILED (-32001)");
    assert!(std::error::Error::source(&error).is_none(), "the source would repeat the text");
    assert_eq!(CallError::TimedOut.to_string(), "the call timed out");
    assert_eq!(CallError::PeerGone.to_string(), "the peer is gone");
    assert_eq!(RpcError::from(CallError::SessionEnded).message, "the peer has ended the session");
}

#[wasm_bindgen_test]
async fn a_call_reports_why_the_peer_was_lost() {
    for (reason, end) in [
        ("session-ended", CallError::SessionEnded),
        ("peer-gone", CallError::PeerGone),
        ("unresponsive", CallError::Unresponsive),
    ] {
        let transport = losable();
        let client = Client::new(Transport::from_js(transport.clone()).unwrap());
        let call = client.call::<()>("wait", &()).start();
        lose(&transport, reason);
        assert_eq!(call.await, Err(end.clone()), "{reason}");
        assert_eq!(client.call::<()>("later", &()).await, Err(end.clone()), "{reason}");
        let error = JsValue::from(end);
        assert_eq!(js_sys::Reflect::get(&error, &"reason".into()), Ok(reason.into()));
    }
}

#[wasm_bindgen_test]
fn errors_are_converted_to_errors_of_javascript() {
    let name = |error: CallError| js_sys::Error::from(JsValue::from(error)).name();
    assert_eq!(name(CallError::Remote(RpcError::internal("no"))), "RPCError");
    assert_eq!(name(CallError::TimedOut), "CallError");
    assert_eq!(name(CallError::Params("no".to_owned())), "Error");
}
