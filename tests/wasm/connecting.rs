//! Peers that find each other.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use portway::{CallError, Peer};
use wasm_bindgen_futures::spawn_local;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{Add, add, channel, until};

#[wasm_bindgen_test]
async fn two_peers_connect_and_each_hears_the_end_of_the_other() {
    let ports = channel();
    let there = Rc::new(RefCell::new(None));
    let (slot, port) = (there.clone(), ports[1].clone());
    spawn_local(async move {
        let peer = Peer::connect(&port)
            .open(|peer| {
                peer.method("add", add);
            })
            .await
            .unwrap();
        *slot.borrow_mut() = Some(peer);
    });
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (sessions, losses) = (seen.clone(), seen.clone());
    let here = Peer::connect(&ports[0])
        .on_session(move |number| sessions.borrow_mut().push(Ok(number)))
        .on_lost(move |reason| losses.borrow_mut().push(Err(reason)))
        .open(|_| {})
        .await
        .unwrap();
    assert_eq!(here.call("add", &Add { a: 1, b: 2 }).await, Ok(3));
    assert_eq!(*seen.borrow(), [Ok(1)]);
    until(|| there.borrow().is_some()).await;
    drop(there.take());
    until(|| seen.borrow().len() == 2).await;
    assert_eq!(*seen.borrow(), [Ok(1), Err(CallError::SessionEnded)]);
}

#[wasm_bindgen_test]
async fn nobody_at_the_other_end_is_an_error_in_time() {
    let ports = channel();
    let error = Peer::connect(&ports[0]).timeout(Duration::from_millis(50)).open(|_| {}).await.unwrap_err();
    assert_eq!(error.reason().as_deref(), Some("no-answer"));
    let error = Peer::connect(&wasm_bindgen::JsValue::from(1)).open(|_| {}).await.unwrap_err();
    assert_eq!(error.reason(), None);
}
