//! Tests of dropped clients and servers, which must leave no memory, no references and no listeners behind.

use std::rc::Rc;

use portway::{CallError, Client, Peer, RpcError, Server, Transport};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{add, loopback, sleep, transports};

fn has_handler(transport: &JsValue) -> bool {
    js_sys::Reflect::get(transport, &"hasHandler".into()).unwrap().is_truthy()
}

#[wasm_bindgen_test]
async fn a_thousand_dropped_peers_leak_nothing() {
    let counted = Rc::new(());
    let round = async || {
        let transports = loopback();
        let here = Peer::new(Transport::from_js(transports[0].clone()).unwrap());
        let there = Peer::new(Transport::from_js(transports[1].clone()).unwrap());
        let counter = counted.clone();
        there
            .method("wait", move |(), _| {
                let reference = counter.clone();
                async move {
                    std::future::pending::<()>().await;
                    drop(reference);
                    Ok::<_, RpcError>(())
                }
            })
            .on_notify("tick", |(_n,): (u32,), _| {});
        let pending_call = here.call::<()>("wait", &()).start();
        here.notify("tick", &[1]).unwrap();
        drop((here, there));
        assert_eq!(pending_call.await, Err(CallError::Destroyed));
        assert!(!has_handler(&transports[0]) && !has_handler(&transports[1]));
    };
    let table = || -> u32 {
        // This table of wasm-bindgen has the references to values of JavaScript. It grows only if it has no free entry.
        let table = js_sys::Reflect::get(&wasm_bindgen::exports(), &"__wbindgen_externrefs".into()).unwrap();
        js_sys::WebAssembly::Table::from(table).length()
    };
    // In the first rounds, the code makes one-time allocations, and the allocator reserves memory.
    for _ in 0..1000 {
        round().await;
    }
    sleep(0.0).await;
    let (memory, references) = (core::arch::wasm32::memory_size(0), table());
    for _ in 0..1000 {
        round().await;
    }
    sleep(0.0).await;
    assert_eq!(Rc::strong_count(&counted), 1);
    assert_eq!(core::arch::wasm32::memory_size(0), memory);
    assert_eq!(table(), references);
}

#[wasm_bindgen_test]
fn an_unused_transport_is_closed() {
    let transports = loopback();
    drop(Transport::from_js(transports[0].clone()).unwrap());
    let used = Transport::from_js(transports[1].clone()).unwrap();
    let client = Client::new(used.clone());
    drop(used);
    assert!(has_handler(&transports[1]));
    drop(client);
    assert!(!has_handler(&transports[1]));
}

#[wasm_bindgen_test]
async fn a_shared_transport_stays_open_until_its_last_user_is_dropped() {
    let (here, there) = transports();
    let client = Client::new(here.clone());
    let server = Server::new(here);
    server.method("add", add);
    let other = Client::new(there);
    drop(client);
    assert_eq!(other.call("add", &crate::wire::Add { a: 1, b: 2 }).await, Ok(3));
}

#[wasm_bindgen_test]
async fn an_object_of_javascript_can_be_the_transport_of_another_client_after_its_client_is_dropped() {
    let transports = loopback();
    let (one, two) = (transports[0].clone(), transports[1].clone());
    let server = Server::new(Transport::from_js(two).unwrap());
    server.method("add", add);
    for _ in 0..2 {
        let client = Client::new(Transport::from_js(one.clone()).unwrap());
        assert_eq!(client.call("add", &crate::wire::Add { a: 1, b: 2 }).await, Ok(3));
    }
}

#[wasm_bindgen_test]
async fn a_dropped_peer_ends_even_if_its_handlers_own_clones_of_its_client() {
    let transports = loopback();
    let peer = Peer::new(Transport::from_js(transports[0].clone()).unwrap());
    let client = peer.client().clone();
    peer.method("again", move |(), _| {
        let client = client.clone();
        async move { client.call::<u8>("again", &()).await.map_err(RpcError::from) }
    });
    drop(peer);
    assert!(!has_handler(&transports[0]));
}
