//! Tests of a page whose worker in Rust traps. All calls of the page and of the worker must end.

use std::time::Duration;

use portway::{CallError, Client, Transport};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{ask, crashing_worker, sleep};

const TEST_TIMEOUT: Duration = Duration::from_secs(60);

fn client_of(worker: &JsValue) -> Client {
    Client::new(Transport::worker(worker).unwrap()).with_timeout(TEST_TIMEOUT)
}

async fn echo(client: &Client) -> Result<String, CallError> {
    client.call("echo", &("hello",)).await
}

/// Checks that a trap in `method` ends all calls of the page, and the call of the JavaScript client in the worker. Then
/// checks that a new worker answers a call.
async fn check_trap_in(method: &str) {
    let worker = crashing_worker();
    let client = client_of(&worker);
    assert_eq!(echo(&client).await, Ok("hello".to_owned()), "{method}");
    let pending_call = client.call::<()>("wait", &()).start();
    let dropped_call = client.call::<()>("wait", &()).start();
    assert_eq!(client.call::<()>(method, &()).await, Err(CallError::PeerDied), "{method}");
    assert_eq!(pending_call.await, Err(CallError::PeerDied), "{method}");
    drop(dropped_call);
    client.notify("note", &("too late",)).unwrap();
    assert_eq!(echo(&client).await, Err(CallError::PeerDied), "{method}");
    assert_eq!(client.pending(), 0);
    // The worker has also made a call in Rust, with a timeout of 300 ms. Its timer must not call the trapped wasm, so
    // this pause is longer than the timeout.
    sleep(400.0).await;
    let seen = ask(&worker, "how did the other calls end?").await.as_string().unwrap();
    // If a task traps without a panic, the library notices only that the stack pointer has not returned to its value at
    // rest. Reading this pointer is one call of the trapped wasm.
    let calls_after_trap = usize::from(!method.starts_with("panic") && method.ends_with("Elsewhere"));
    let expected = format!(r#"{{"reason":"wasm-died","later":"wasm-died","callsAfterTrap":{calls_after_trap}}}"#);
    assert_eq!(seen, expected, "{method}");

    let worker = crashing_worker();
    assert_eq!(echo(&client_of(&worker)).await, Ok("hello".to_owned()), "a new worker");
}

#[wasm_bindgen_test]
async fn a_handler_that_panics_ends_all_calls() {
    check_trap_in("panic").await;
}

#[wasm_bindgen_test]
async fn a_handler_that_panics_after_an_await_ends_all_calls() {
    check_trap_in("panicLater").await;
}

#[wasm_bindgen_test]
async fn a_task_that_panics_beside_the_handlers_ends_all_calls() {
    check_trap_in("panicElsewhere").await;
}

#[wasm_bindgen_test]
async fn a_stack_overflow_ends_all_calls() {
    check_trap_in("overflow").await;
    check_trap_in("overflowLater").await;
    // Firefox does not report an uncaught stack overflow in a worker.
    let agent = js_sys::Reflect::get(&js_sys::global(), &"navigator".into())
        .and_then(|navigator| js_sys::Reflect::get(&navigator, &"userAgent".into()));
    if !agent.unwrap().as_string().unwrap().contains("Firefox") {
        check_trap_in("overflowElsewhere").await;
    }
}

#[wasm_bindgen_test]
async fn exhausted_memory_ends_all_calls() {
    for method in ["exhaust", "exhaustLater", "exhaustElsewhere"] {
        check_trap_in(method).await;
    }
}

#[wasm_bindgen_test]
async fn a_trap_ends_all_calls() {
    for method in ["trap", "trapLater", "trapElsewhere"] {
        check_trap_in(method).await;
    }
}
