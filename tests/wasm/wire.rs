//! Connections for the tests: between two peers of the library, or between a peer and the test itself.

use portway::{Client, Context, RpcError, Server, Transport};
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Add {
    pub a: i32,
    pub b: i32,
}

#[wasm_bindgen(module = "/tests/wasm/wire.js")]
extern "C" {
    pub fn channel() -> Vec<JsValue>;
    pub fn loopback() -> Vec<JsValue>;
    pub fn broken() -> JsValue;
    pub fn losable() -> JsValue;
    pub fn nested(levels: u32, ring: bool) -> JsValue;
    #[wasm_bindgen(js_name = specialParams)]
    pub fn special_params(name: &str) -> JsValue;
    #[wasm_bindgen(js_name = costlyNames)]
    pub fn costly_names() -> Vec<String>;
    #[wasm_bindgen(js_name = costly)]
    pub fn costly_value(name: &str) -> JsValue;
    #[wasm_bindgen(js_name = large)]
    pub fn large_value(name: &str) -> JsValue;
    #[wasm_bindgen(js_name = unsteady)]
    pub fn unsteady_value(name: &str) -> JsValue;
    #[wasm_bindgen(js_name = kinds)]
    pub fn values_of_all_kinds() -> Vec<JsValue>;
    pub async fn together(port: &JsValue, method: &str, value: &JsValue) -> JsValue;
    pub fn lose(transport: &JsValue, reason: &str);
    pub async fn sleep(ms: f64);
    #[wasm_bindgen(js_name = crashingWorker)]
    pub fn crashing_worker() -> JsValue;
    pub async fn ask(worker: &JsValue, question: &str) -> JsValue;

    pub type Wire;
    #[wasm_bindgen(constructor)]
    pub fn new(port: &JsValue) -> Wire;
    #[wasm_bindgen(method)]
    async fn next(this: &Wire) -> JsValue;
    #[wasm_bindgen(method)]
    pub fn send(this: &Wire, json: &str);
    #[wasm_bindgen(method, js_name = sendWith)]
    pub fn send_with(this: &Wire, json: &str, value: &JsValue);

    #[wasm_bindgen(js_name = connect)]
    pub fn js_client(port: &JsValue) -> JsValue;
    #[wasm_bindgen(js_name = serve)]
    pub fn js_server(port: &JsValue) -> JsValue;
    #[wasm_bindgen(js_name = outcome)]
    pub async fn js_outcome(client: &JsValue, method: &str, json: Option<&str>) -> JsValue;
    #[wasm_bindgen(js_name = cancelledOutcome)]
    pub async fn js_cancelled_outcome(client: &JsValue, method: &str, ms: f64) -> JsValue;
    #[wasm_bindgen(js_name = progressOf)]
    pub async fn js_progress(client: &JsValue, method: &str) -> JsValue;
}

/// Returns the two transports of a channel.
pub(crate) fn transports() -> (Transport, Transport) {
    Transport::pair().unwrap()
}

/// Returns a client and a server that are connected by a channel.
pub(crate) fn client_and_server() -> (Client, Server) {
    let (client, server) = transports();
    (Client::new(client), Server::new(server))
}

/// Returns a client, and the wire to it. With the wire, the test acts as the server: it reads and writes raw messages.
pub(crate) fn client_and_wire() -> (Client, Wire) {
    let ports = channel();
    (Client::new(Transport::port(&ports[0]).unwrap()), Wire::new(&ports[1]))
}

/// Returns a server, and the wire to it. With the wire, the test acts as the client: it reads and writes raw messages.
pub(crate) fn server_and_wire() -> (Server, Wire) {
    let ports = channel();
    (Server::new(Transport::port(&ports[0]).unwrap()), Wire::new(&ports[1]))
}

/// Returns the next message on the wire as JSON.
pub(crate) async fn next(wire: &Wire) -> String {
    wire.next().await.as_string().unwrap()
}

pub(crate) async fn add(params: Add, _: Context) -> Result<i32, RpcError> {
    Ok(params.a + params.b)
}

/// Waits until `happened` returns true. Panics if it is still false after five seconds.
pub(crate) async fn until(happened: impl Fn() -> bool) {
    for _ in 0..500 {
        if happened() {
            return;
        }
        sleep(10.0).await;
    }
    panic!("the condition must become true within five seconds");
}

/// Checks that the server has sent no further message: sends a request, whose response must be the next message on the
/// wire.
pub(crate) async fn assert_no_further_message(wire: &Wire) {
    wire.send(r#"{"jsonrpc":"2.0","method":"?","id":"last"}"#);
    let answer = r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found: ?"},"id":"last"}"#;
    assert_eq!(next(wire).await, answer);
}
