//! Tests of the Rust API with the JavaScript API as its peer.

use portway::{CallError, Client, Context, ErrorCode, RpcError, Server, Transport};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{
    Add, add, channel, js_cancelled_outcome, js_client, js_outcome, js_progress, js_server, sleep, until,
};

/// Returns a client in Rust, and its server in JavaScript. The caller must keep the server until the end of the test.
fn client_of_js() -> (Client, JsValue) {
    let ports = channel();
    let client = Client::new(Transport::port(&ports[0]).unwrap());
    (client, js_server(&ports[1]))
}

/// Returns a server in Rust, and its client in JavaScript.
fn server_for_js() -> (Server, JsValue) {
    let ports = channel();
    let server = Server::new(Transport::port(&ports[0]).unwrap());
    (server, js_client(&ports[1]))
}

async fn outcome(client: &JsValue, method: &str, json: Option<&str>) -> String {
    js_outcome(client, method, json).await.as_string().unwrap()
}

#[wasm_bindgen_test]
async fn rust_calls_javascript() {
    let (client, _server) = client_of_js();
    assert_eq!(client.call("add", &Add { a: 1, b: 2 }).await, Ok(3));
    assert_eq!(client.call("echo", &Add { a: 1, b: 2 }).await, Ok(Add { a: 1, b: 2 }));
    let Err(CallError::Remote(error)) = client.call::<()>("fail", &()).await else { panic!("an error is expected") };
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::new(-32001), "BUILD_FAILED"));
}

#[wasm_bindgen_test]
async fn rust_receives_only_name_code_and_cause_of_a_library_error() {
    let (client, _server) = client_of_js();
    let Err(CallError::Remote(error)) = client.call::<()>("failAsLibrariesDo", &()).await else {
        panic!("an error is expected")
    };
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::INTERNAL_ERROR, "Request failed"));
    let data = js_sys::JSON::stringify(&error.js_data()).unwrap();
    let cause = r#"{"name":"Error","message":"no such file","code":"ENOENT","errno":-2}"#;
    assert_eq!(data, format!(r#"{{"name":"AxiosError","code":"ERR_BAD_REQUEST","cause":{cause}}}"#).as_str());
}

#[wasm_bindgen_test]
async fn rust_receives_progress_of_javascript() {
    let (client, _server) = client_of_js();
    let seen = std::rc::Rc::new(std::cell::Cell::new(0));
    let sum = seen.clone();
    let result = client.call::<String>("count", &()).on_progress(move |n: u32| sum.set(sum.get() * 10 + n)).await;
    assert_eq!(result.as_deref(), Ok("done"));
    assert_eq!(seen.get(), 123);
}

#[wasm_bindgen_test]
async fn a_dropped_call_aborts_the_signal_of_a_handler_in_javascript() {
    let (client, _server) = client_of_js();
    drop(client.call::<()>("wait", &()).start());
    assert_eq!(client.call("cancelled", &()).await, Ok(vec!["wait".to_owned()]));
}

#[wasm_bindgen_test]
async fn javascript_calls_rust() {
    let (server, client) = server_for_js();
    server.method("add", add).method_sync("addNow", |Add { a, b }, _| Ok::<_, RpcError>(a + b));
    let params = Some(r#"{"a":1,"b":2}"#);
    assert_eq!(outcome(&client, "add", params).await, r#"{"result":3}"#);
    assert_eq!(outcome(&client, "addNow", params).await, r#"{"result":3}"#);
    let missing = r#"{"name":"RPCError","code":-32602,"message":"Invalid params: missing field `b`"}"#;
    assert_eq!(outcome(&client, "add", Some(r#"{"a":1}"#)).await, missing);
    assert_eq!(outcome(&client, "addNow", Some(r#"{"a":1}"#)).await, missing);
}

#[wasm_bindgen_test]
async fn javascript_receives_an_error_of_rust() {
    let (server, client) = server_for_js();
    server.method("fail", |(), _| async {
        Err::<(), _>(RpcError::new(ErrorCode::new(-32001), "BUILD_FAILED").with_data(&("main.ts", 7)))
    });
    let error = r#"{"name":"RPCError","code":-32001,"message":"BUILD_FAILED","data":["main.ts",7]}"#;
    assert_eq!(outcome(&client, "fail", None).await, error);
}

#[wasm_bindgen_test]
async fn javascript_receives_progress_of_rust() {
    let (server, client) = server_for_js();
    server.method("count", |(), context: Context| async move {
        for n in 1..=3 {
            context.progress(&n)?;
            sleep(1.0).await;
        }
        Ok::<_, RpcError>(())
    });
    assert_eq!(js_progress(&client, "count").await.as_string().as_deref(), Some("[1,2,3]"));
}

#[wasm_bindgen_test]
async fn an_aborted_signal_in_javascript_cancels_a_handler_in_rust() {
    let (server, client) = server_for_js();
    let cancelled = std::rc::Rc::new(std::cell::Cell::new(false));
    let seen = cancelled.clone();
    server.method("wait", move |(), context: Context| {
        let seen = seen.clone();
        wasm_bindgen_futures::spawn_local(async move {
            context.cancelled().await;
            seen.set(true);
        });
        std::future::pending::<Result<(), RpcError>>()
    });
    let outcome = js_cancelled_outcome(&client, "wait", 20.0).await.as_string().unwrap();
    assert!(outcome.contains("TimeoutError"), "{outcome}");
    until(|| cancelled.get()).await;
}
