//! One service for two environments. This library serves the methods in a web worker, and `main.rs` serves the same
//! methods on a socket.

mod pause;
mod service;

pub use service::add_methods;

/// Starts the server. `wasm_bindgen` calls this function when a worker loads the module.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[wasm_bindgen::prelude::wasm_bindgen(start)]
fn start() -> Result<(), wasm_bindgen::JsValue> {
    let server = portway::Server::new(portway::Transport::current_worker()?);
    add_methods(&server);
    server.forget();
    Ok(())
}
