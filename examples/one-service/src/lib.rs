//! One service, served in a worker by this library, and on a socket by `main.rs`.

mod pause;
mod service;

pub use service::add_methods;

/// Runs when a worker loads the module.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[wasm_bindgen::prelude::wasm_bindgen(start)]
fn start() -> Result<(), wasm_bindgen::JsValue> {
    let server = portway::Server::new(portway::Transport::current_worker()?);
    add_methods(&server);
    server.forget();
    Ok(())
}
