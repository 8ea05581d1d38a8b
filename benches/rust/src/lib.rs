//! A client and a server that use the Rust API. The loops of the workloads are in Rust, so that no call passes through
//! the JavaScript API.
#![cfg(all(target_family = "wasm", target_os = "unknown"))]

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use portway::{Client, RpcError, Server, Transport, TransportError};
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// The params of a call. The result of the call is `n`.
#[derive(Serialize, Deserialize)]
struct Echo {
    n: u32,
}

/// A timeout that no workload reaches.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The client.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Caller(Client);

#[wasm_bindgen]
impl Caller {
    /// Creates a client on a transport.
    #[wasm_bindgen(constructor)]
    pub fn new(kind: &str, target: &JsValue) -> Result<Self, JsValue> {
        Ok(Self(Client::new(transport(kind, target)?).with_timeout(TIMEOUT)))
    }

    /// Makes `size` calls, one after the other. Returns the last result.
    pub async fn in_turn(&self, size: u32) -> Result<u32, JsValue> {
        let mut last = 0;
        for n in 0..size {
            last = self.0.call("echo", &Echo { n }).await?;
        }
        Ok(last)
    }

    /// Makes `size` calls at once. Returns the last result.
    pub async fn at_once(&self, size: u32) -> Result<u32, JsValue> {
        let calls: Vec<_> = (0..size).map(|n| self.0.call("echo", &Echo { n }).start()).collect();
        let mut last = 0;
        for call in calls {
            last = call.await?;
        }
        Ok(last)
    }

    /// Sends `size` notifications. Returns the number of notifications that the server has received.
    pub async fn ticks(&self, size: u32) -> Result<u32, JsValue> {
        for n in 0..size {
            self.0.notify("tick", &Echo { n })?;
        }
        Ok(self.0.call("flush", &Echo { n: 0 }).await?)
    }
}

/// Starts the server.
#[wasm_bindgen]
pub fn serve(kind: &str, target: &JsValue) -> Result<(), JsValue> {
    let server = Server::new(transport(kind, target)?);
    let ticks = Rc::new(Cell::new(0));
    let count = Rc::clone(&ticks);
    server.method_sync("echo", |Echo { n }, _| Ok::<_, RpcError>(n));
    server.on_notify("tick", move |Echo { .. }, _| count.set(count.get() + 1));
    server.method_sync("flush", move |Echo { .. }, _| Ok::<u32, RpcError>(ticks.take()));
    server.forget();
    Ok(())
}

fn transport(kind: &str, target: &JsValue) -> Result<Transport, TransportError> {
    match kind {
        "worker" => Transport::worker(target),
        "self" => Transport::current_worker(),
        _ => Transport::port(target),
    }
}
