//! Tests of WebSockets with the client and the server of the crate `jsonrpsee`: calls, errors, batches and
//! subscriptions. `cargo xtask test --only peers` runs these tests. It sets PORTWAY_NODE to the path of Node, which the
//! test of `subscribe` in JavaScript needs.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failed test is a panic")]

use std::env;
use std::time::Duration;

use jsonrpsee::core::SubscriptionError;
use jsonrpsee::core::client::{ClientT, Error, SubscriptionClientT};
use jsonrpsee::core::params::BatchRequestBuilder;
use jsonrpsee::rpc_params;
use jsonrpsee::server::{RpcModule, Server, ServerHandle};
use jsonrpsee::types::ErrorObjectOwned;
use jsonrpsee_ws_client::{WsClient, WsClientBuilder};
use portway::{Client, Closed, Context, ErrorCode, Listener, Peer, RpcError, Transport};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;

const TEST_TIMEOUT: Duration = Duration::from_secs(60);
const FAILURE: i32 = -32001;

/// Starts a server of jsonrpsee. Returns its URL and its handle. The subscription `subscribe_count` sends the numbers
/// below its param.
async fn jsonrpsee_server() -> (String, ServerHandle) {
    let server = Server::builder().build("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/", server.local_addr().unwrap());
    let mut module = RpcModule::new(());
    module
        .register_method("add", |params, (), _| {
            let (a, b): (i64, i64) = params.parse()?;
            Ok::<_, ErrorObjectOwned>(a + b)
        })
        .unwrap();
    module
        .register_method("fail", |_, (), _| {
            Err::<(), _>(ErrorObjectOwned::owned(FAILURE, "no such file", Some(["main.rs"])))
        })
        .unwrap();
    module
        .register_subscription("subscribe_count", "counted", "unsubscribe_count", |params, pending, _, _| async move {
            let to: u32 = params.one()?;
            let sink = pending.accept().await?;
            for number in 0..to {
                sink.send(to_raw_value(&number)?).await?;
            }
            sink.closed().await;
            Ok::<_, SubscriptionError>(())
        })
        .unwrap();
    (url, server.start(module))
}

/// Starts our server, and returns its URL. The method `subscribe_count` returns the id of a subscription, and `begin`
/// sends the items of this subscription.
async fn portway_server() -> String {
    let listener = Listener::websocket("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/", listener.address().unwrap());
    tokio::spawn(listener.serve(|peer| {
        let client = peer.client().clone();
        peer.method_sync("add", |(a, b): (i64, i64), _: Context| Ok::<_, RpcError>(a + b));
        peer.method_sync("fail", |_: Value, _: Context| {
            Err::<(), _>(RpcError::new(ErrorCode::new(FAILURE.into()), "no such file").with_data(&["main.rs"]))
        });
        peer.method_sync("subscribe_count", |_: Value, _: Context| Ok::<_, RpcError>("0x1"));
        peer.method_sync("unsubscribe_count", |(id,): (String,), _: Context| Ok::<_, RpcError>(id == "0x1"));
        peer.method("begin", move |(to,): (u32,), _: Context| {
            let client = client.clone();
            async move {
                for number in 0..to {
                    client
                        .notify("counted", &json!({ "subscription": "0x1", "result": number }))
                        .map_err(|error| RpcError::internal(error.to_string()))?;
                }
                Ok::<_, RpcError>(())
            }
        });
    }));
    url
}

/// Starts our server. Returns a client of jsonrpsee that is connected to our server.
async fn jsonrpsee_client() -> WsClient {
    WsClientBuilder::default().build(portway_server().await).await.unwrap()
}

#[tokio::test]
async fn our_client_calls_a_jsonrpsee_server() {
    let (url, server) = jsonrpsee_server().await;
    let client = Client::new(Transport::websocket(&url).await.unwrap()).with_timeout(TEST_TIMEOUT);
    assert_eq!(client.call::<i64>("add", &(1, 2)).await.unwrap(), 3);
    let failure = client.call::<Value>("fail", &()).await.unwrap_err();
    let error = failure.remote().unwrap_or_else(|| panic!("{failure:?}"));
    assert_eq!((error.code.value(), error.message.as_str()), (FAILURE.into(), "no such file"));
    assert_eq!(error.data::<Value>(), Some(Ok(json!(["main.rs"]))));
    let failure = client.call::<Value>("nope", &()).await.unwrap_err();
    assert_eq!(failure.remote().map(|error| error.code), Some(ErrorCode::METHOD_NOT_FOUND), "{failure:?}");
    for number in 0..100 {
        assert_eq!(client.call::<i64>("add", &(number, 1)).await.unwrap(), number + 1);
    }
    server.stop().unwrap();
    let closed = timeout(TEST_TIMEOUT, client.closed()).await.unwrap();
    assert!(matches!(closed, Closed::WebSocket { .. } | Closed::End), "{closed:?}");
}

#[tokio::test]
async fn our_client_reads_a_subscription_of_a_jsonrpsee_server() {
    let (url, _server) = jsonrpsee_server().await;
    let peer = Peer::new(Transport::websocket(&url).await.unwrap()).with_timeout(TEST_TIMEOUT);
    let (sender, mut items) = unbounded_channel();
    peer.on_notify("counted", move |event: Value, _: Context| {
        // Sending fails if the test has ended.
        let _ = sender.send(event);
    });
    let id: Value = peer.call("subscribe_count", &[1_000]).await.unwrap();
    for number in 0..1_000 {
        let item = timeout(TEST_TIMEOUT, items.recv()).await.unwrap();
        assert_eq!(item, Some(json!({ "subscription": id, "result": number })));
    }
    assert!(peer.call::<bool>("unsubscribe_count", &[id]).await.unwrap());
}

#[tokio::test]
async fn a_jsonrpsee_client_calls_our_server() {
    let client = jsonrpsee_client().await;
    assert_eq!(client.request::<i64, _>("add", rpc_params![1, 2]).await.unwrap(), 3);
    let Err(Error::Call(error)) = client.request::<Value, _>("fail", rpc_params![]).await else {
        panic!("the call must fail")
    };
    assert_eq!((error.code(), error.message()), (FAILURE, "no such file"));
    assert_eq!(error.data().map(|data| data.get()), Some(r#"["main.rs"]"#));
    client.notification("add", rpc_params![1, 2]).await.unwrap();

    let mut batch = BatchRequestBuilder::new();
    batch.insert("add", rpc_params![1, 2]).unwrap();
    batch.insert("nope", rpc_params![]).unwrap();
    batch.insert("add", rpc_params![40, 2]).unwrap();
    let answers = client.batch_request::<i64>(batch).await.unwrap();
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.map_err(|error| error.code())).collect();
    assert_eq!(answers, [Ok(3), Err(-32601), Ok(42)]);
}

#[tokio::test]
async fn a_jsonrpsee_client_reads_a_subscription_of_our_server() {
    let client = jsonrpsee_client().await;
    let mut items = client.subscribe::<u32, _>("subscribe_count", rpc_params![], "unsubscribe_count").await.unwrap();
    client.request::<(), _>("begin", rpc_params![500]).await.unwrap();
    for number in 0..500 {
        let item = timeout(TEST_TIMEOUT, items.next()).await.unwrap();
        assert_eq!(item.unwrap().unwrap(), number);
    }
    items.unsubscribe().await.unwrap();
    assert_eq!(client.request::<i64, _>("add", rpc_params![1, 2]).await.unwrap(), 3);
}

#[tokio::test]
async fn the_function_subscribe_in_javascript_reads_a_subscription_of_a_jsonrpsee_server() {
    let Some(node) = env::var_os("PORTWAY_NODE") else {
        println!("nothing is tested: PORTWAY_NODE is not set; `cargo xtask test --only peers` sets this variable");
        return;
    };
    let (url, _server) = jsonrpsee_server().await;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../websocket/counted.mjs");
    let run = Command::new(node).args([script, &url]).kill_on_drop(true).output();
    let output = timeout(TEST_TIMEOUT, run).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.trim(), "0 1 2 3 4", "{}", String::from_utf8_lossy(&output.stderr));
}
