//! A service for two places. This library serves it in a web worker, and `main.rs` serves it on a socket.

mod pause;
mod service;

pub use service::add_methods;

/// Starts the server. `wasm_bindgen` calls it when a worker loads the module.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[wasm_bindgen::prelude::wasm_bindgen(start)]
fn start() -> Result<(), wasm_bindgen::JsValue> {
    let server = portway::Server::new(portway::Transport::current_worker()?);
    add_methods(&server);
    server.forget();
    Ok(())
}
