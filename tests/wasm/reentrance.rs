//! Tests of reentrance: handlers call their caller, and calls end while they are sent. With a loopback transport, both
//! peers run on one stack.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use portway::{CallError, Client, Context, Peer, RpcError, Server, Transport};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{Add, add, loopback, transports};

/// Returns two connected transports. Each message is delivered at once, on the stack of its sender.
pub(crate) fn loopback_transports() -> (Transport, Transport) {
    let ends = loopback();
    (Transport::from_js(ends[0].clone()).unwrap(), Transport::from_js(ends[1].clone()).unwrap())
}

#[wasm_bindgen_test]
async fn a_handler_calls_its_caller_back() {
    for (here, there) in [transports(), loopback_transports()] {
        let (here, there) = (Peer::new(here), Peer::new(there));
        here.method("add", add);
        let client = there.client().clone();
        there.method("addTwice", move |params: Add, _| {
            let client = client.clone();
            async move {
                let once: i32 = client.call("add", &params).await?;
                Ok::<_, RpcError>(once + client.call::<i32>("add", &params).await?)
            }
        });
        assert_eq!(here.call("addTwice", &Add { a: 1, b: 2 }).await, Ok(6));
    }
}

#[wasm_bindgen_test]
async fn calls_and_handlers_nest_on_one_stack() {
    let (here, there) = loopback_transports();
    let (here, there) = (Rc::new(Peer::new(here)), Peer::new(there));
    let depth = Rc::new(Cell::new(0));
    let (client, counter) = (there.client().clone(), depth.clone());
    there.on_notify("down", move |(n,): (u32,), _| {
        counter.set(counter.get() + 1);
        client.notify("up", &[n]).unwrap();
    });
    let peer = Rc::downgrade(&here);
    here.on_notify("up", move |(n,): (u32,), _| {
        if n > 0 {
            peer.upgrade().unwrap().notify("down", &[n - 1]).unwrap();
        }
    });
    here.notify("down", &[20]).unwrap();
    assert_eq!(depth.get(), 21);
}

#[wasm_bindgen_test]
async fn a_call_may_end_while_it_is_sent() {
    let (here, there) = loopback_transports();
    let (client, server) = (Client::new(here), Server::new(there));
    server.method_sync("add", |Add { a, b }, _| Ok::<_, RpcError>(a + b));
    let call = client.call::<i32>("add", &Add { a: 1, b: 2 }).start();
    assert_eq!(client.pending(), 0);
    assert_eq!(call.await, Ok(3));
}

#[wasm_bindgen_test]
async fn a_handler_may_drop_its_own_server() {
    for (here, there) in [transports(), loopback_transports()] {
        let client = Client::new(here);
        let server = Rc::new(RefCell::new(Some(Server::new(there))));
        let slot = server.clone();
        server.borrow().as_ref().unwrap().method("shutdown", move |(), context: Context| {
            drop(slot.take());
            assert!(context.is_cancelled());
            async { Ok::<_, RpcError>(()) }
        });
        let Err(CallError::Remote(error)) = client.call::<()>("shutdown", &()).await else {
            panic!("an error is expected")
        };
        assert_eq!(error, RpcError::internal("JSON-RPC server destroyed"));
    }
}

#[wasm_bindgen_test]
async fn the_future_of_a_handler_may_drop_its_server() {
    for (here, there) in [transports(), loopback_transports()] {
        let client = Client::new(here);
        let server = Rc::new(RefCell::new(Some(Server::new(there))));
        let slot = server.clone();
        server.borrow().as_ref().unwrap().method("shutdown", move |(), _| {
            let slot = slot.clone();
            async move {
                drop(slot.take());
                Ok::<_, RpcError>(())
            }
        });
        let Err(CallError::Remote(error)) = client.call::<()>("shutdown", &()).await else {
            panic!("an error is expected")
        };
        assert_eq!(error, RpcError::internal("JSON-RPC server destroyed"));
    }
}

#[wasm_bindgen_test]
async fn a_method_may_register_methods() {
    let (here, there) = transports();
    let (client, server) = (Client::new(here), Rc::new(Server::new(there)));
    let registry = Rc::downgrade(&server);
    server.method_sync("enable", move |(), _| {
        registry.upgrade().unwrap().method("enable", |(), _| async { Ok::<_, RpcError>(false) }).method("add", add);
        Ok::<_, RpcError>(true)
    });
    assert_eq!(client.call("enable", &()).await, Ok(true));
    assert_eq!(client.call("enable", &()).await, Ok(false));
    assert_eq!(client.call("add", &Add { a: 1, b: 2 }).await, Ok(3));
}
