//! Tests of calls that are dropped or cancelled.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use portway::{CallError, Context, ErrorCode, RpcError, Server};
use wasm_bindgen_futures::spawn_local;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{assert_no_further_message, client_and_server, client_and_wire, next, server_and_wire, sleep, until};

/// A value that sets a flag when it is dropped.
struct Flag(Rc<Cell<bool>>);

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// Serves `wait`, whose future waits for a minute. Returns a flag that is set when this future is dropped.
fn serve_wait(server: &Server) -> Rc<Cell<bool>> {
    let dropped = Rc::new(Cell::new(false));
    let flag = dropped.clone();
    server.method("wait", move |(), _| {
        let flag = Flag(flag.clone());
        async move {
            sleep(60_000.0).await;
            drop(flag);
            Ok::<_, RpcError>(())
        }
    });
    dropped
}

#[wasm_bindgen_test]
async fn dropping_a_call_cancels_it() {
    let (client, wire) = client_and_wire();
    let call = client.call::<()>("wait", &()).start();
    assert_eq!(client.pending(), 1);
    drop(call);
    assert_eq!(client.pending(), 0);
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"wait","id":1}"#);
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#);
}

#[wasm_bindgen_test]
async fn an_answered_call_is_not_cancelled() {
    let (client, wire) = client_and_wire();
    let call = client.call::<u8>("ask", &()).start();
    wire.send(r#"{"jsonrpc":"2.0","result":1,"id":1}"#);
    until(|| client.pending() == 0).await;
    drop(call);
    client.notify("end", &()).unwrap();
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"ask","id":1}"#);
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","method":"end"}"#);
}

#[wasm_bindgen_test]
async fn a_handler_that_only_computes_is_dropped_when_it_yields() {
    let (client, server) = client_and_server();
    let steps = Rc::new(Cell::new(0_u32));
    let count = steps.clone();
    server.method("compute", move |(), context: Context| {
        let count = count.clone();
        async move {
            loop {
                count.set(count.get() + 1);
                context.yield_now().await;
            }
            #[allow(unreachable_code, reason = "the line states the result type of the handler")]
            Ok::<(), RpcError>(())
        }
    });
    let call = client.call::<()>("compute", &()).start();
    until(|| steps.get() > 5).await;
    drop(call);
    // The test and the handler keep their references. The future has a third reference until it is dropped.
    until(|| Rc::strong_count(&steps) == 2).await;
    let last = steps.get();
    sleep(20.0).await;
    assert_eq!(steps.get(), last);
}

#[wasm_bindgen_test]
async fn the_future_of_a_handler_is_dropped_when_the_caller_cancels_its_request() {
    let (client, server) = client_and_server();
    let dropped = serve_wait(&server);
    let call = client.call::<()>("wait", &()).start();
    // The test, the handler and its future each have a reference.
    until(|| Rc::strong_count(&dropped) == 3).await;
    assert!(!dropped.get());
    drop(call);
    until(|| dropped.get()).await;
}

#[wasm_bindgen_test]
async fn a_cancelled_request_is_answered() {
    let (server, wire) = server_and_wire();
    server.method("wait", |(), _| async {
        sleep(60_000.0).await;
        Ok::<_, RpcError>(())
    });
    wire.send(r#"{"jsonrpc":"2.0","method":"wait","id":"a"}"#);
    wire.send(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"a"}}"#);
    let answer = r#"{"jsonrpc":"2.0","error":{"code":-32800,"message":"Request cancelled"},"id":"a"}"#;
    assert_eq!(next(&wire).await, answer);
    // A second cancellation, and a cancellation of an unknown id, have no effect.
    wire.send(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"a"}}"#);
    wire.send(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}"#);
    assert_no_further_message(&wire).await;
}

#[wasm_bindgen_test]
async fn a_spawned_task_can_wait_for_the_cancellation() {
    let (client, server) = client_and_server();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    server.method("wait", move |(), context: Context| {
        let log = log.clone();
        log.borrow_mut().push(context.is_cancelled());
        let context_of_task = context.clone();
        spawn_local(async move {
            context_of_task.cancelled().await;
            log.borrow_mut().push(context_of_task.is_cancelled());
        });
        async move {
            sleep(60_000.0).await;
            Ok::<_, RpcError>(())
        }
    });
    let call = client.call::<()>("wait", &()).start();
    until(|| *seen.borrow() == [false]).await;
    drop(call);
    until(|| *seen.borrow() == [false, true]).await;
}

#[wasm_bindgen_test]
async fn dropping_the_last_clone_of_a_client_ends_all_calls() {
    let (client, _wire) = client_and_wire();
    let first = client.call::<()>("wait", &()).start();
    let second = client.clone().call::<()>("wait", &()).start();
    let unsent = client.call::<()>("wait", &());
    drop(client);
    assert_eq!(first.await, Err(CallError::Destroyed));
    assert_eq!(second.await, Err(CallError::Destroyed));
    assert_eq!(unsent.await, Err(CallError::Destroyed));
}

#[wasm_bindgen_test]
async fn dropping_the_server_drops_its_handlers_and_answers_their_requests() {
    let (client, server) = client_and_server();
    let dropped = serve_wait(&server);
    let call = client.call::<()>("wait", &()).start();
    until(|| Rc::strong_count(&dropped) == 3).await;
    drop(server);
    assert!(dropped.get());
    let Err(CallError::Remote(error)) = call.await else { panic!("an error is expected") };
    assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
}
