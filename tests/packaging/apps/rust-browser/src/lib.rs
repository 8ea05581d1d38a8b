//! A program for the browser that depends on portway and has its own start function.

use portway::{Client, Context, RpcError, Server, Transport};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use wasm_bindgen_futures::spawn_local;
use web_sys::MessageChannel;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = globalThis, js_name = setOutcome)]
    fn set_outcome(outcome: i32);
}

#[wasm_bindgen(start)]
fn start() -> Result<(), JsValue> {
    let channel = MessageChannel::new()?;
    let client = Client::new(Transport::port(&channel.port1())?);
    let server = Server::new(Transport::port(&channel.port2())?);
    server.method_sync("add", |(a, b): (i32, i32), _: Context| Ok::<_, RpcError>(a + b));
    spawn_local(async move {
        set_outcome(client.call("add", &(1, 2)).await.unwrap_or(-1));
        drop(server);
    });
    Ok(())
}
