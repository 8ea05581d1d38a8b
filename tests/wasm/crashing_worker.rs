//! The Rust part of a worker that traps on request. `crashing_worker.js` is its JavaScript part.

use std::hint::black_box;

use portway::{Client, Context, RpcError, Server, Transport};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen_futures::spawn_local;

use crate::wire::sleep;

// Because of these declarations, wasm-bindgen copies both files beside the built wasm. The page starts the first file
// as the worker.
#[wasm_bindgen(module = "/tests/wasm/crashing_worker.js")]
#[allow(dead_code, reason = "the function is never called")]
extern "C" {
    fn crashing_worker();
}
#[wasm_bindgen(module = "/tests/web/support/small-memory.js")]
#[allow(dead_code, reason = "the function is never called")]
extern "C" {
    fn small_memory();
}

/// Serves the methods that trap. The worker calls this function. The function makes a call on the port
/// `unanswered`, and gets no response.
#[wasm_bindgen(js_name = serveUntilTrap)]
#[allow(unreachable_pub, reason = "wasm-bindgen exports what is public")]
pub fn serve_until_trap(unanswered: &JsValue) {
    let server = Server::new(Transport::current_worker().unwrap());
    server
        .method("echo", |(text,): (String,), _: Context| async move { Ok::<_, RpcError>(text) })
        .method("wait", |(), _| std::future::pending::<Result<(), RpcError>>())
        .on_notify("note", |(_text,): (String,), _| {});
    for (name, trap) in TRAPS {
        server
            .method_sync(name, move |(), _| {
                trap();
                Ok::<_, RpcError>(())
            })
            .method(&format!("{name}Later"), move |(), _| async move {
                sleep(0.0).await;
                trap();
                Ok::<_, RpcError>(())
            })
            .method(&format!("{name}Elsewhere"), move |(), _| {
                spawn_local(async move {
                    sleep(0.0).await;
                    trap();
                });
                std::future::pending::<Result<(), RpcError>>()
            });
    }
    server.forget();
    // The worker also makes a call, which has a timer. When the timer fires after a trap, it must not call the wasm.
    let client = Client::new(Transport::port(unanswered).unwrap()).with_timeout(std::time::Duration::from_millis(300));
    spawn_local(async move {
        let _ = client.call::<()>("unanswered", &()).await;
    });
}

/// The functions that trap, by the names of their methods.
pub(crate) const TRAPS: [(&str, fn()); 4] =
    [("panic", || panic!("a secret")), ("overflow", overflow), ("exhaust", exhaust), ("trap", trap)];

fn overflow() {
    fn deeper(level: u64) -> u64 {
        let here = black_box([level; 4]);
        if level == u64::MAX { 0 } else { deeper(black_box(level + 1)) + here[1] }
    }
    black_box(deeper(0));
}

fn exhaust() {
    loop {
        std::mem::forget(black_box(Vec::<u8>::with_capacity(1 << 16)));
    }
}

fn trap() {
    core::arch::wasm32::unreachable();
}
