//! Tests of `Peer::connect`. Both peers of a session run in one page.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use portway::{CallError, Context, Peer, RpcError};
use wasm_bindgen_futures::spawn_local;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{Add, add, channel, until};

#[wasm_bindgen_test]
async fn two_peers_connect_and_one_is_notified_when_the_other_ends() {
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
async fn the_context_of_an_ended_session_sends_nothing_to_the_next_session() {
    let ports = channel();
    let contexts_of_there: Rc<RefCell<Vec<Context>>> = Rc::default();
    let there = Rc::new(RefCell::new(None));
    let (contexts, slot, port) = (contexts_of_there.clone(), there.clone(), ports[1].clone());
    spawn_local(async move {
        let peer = Peer::connect(&port)
            .open(|peer| {
                let (noted, asked) = (contexts.clone(), contexts);
                peer.on_notify("note", move |(), context: Context| noted.borrow_mut().push(context));
                peer.method("ask", move |(), context: Context| {
                    asked.borrow_mut().push(context);
                    async { Ok::<_, RpcError>(()) }
                });
            })
            .await
            .unwrap();
        *slot.borrow_mut() = Some(peer);
    });
    let first = Peer::connect(&ports[0]).open(|_| {}).await.unwrap();
    first.notify("note", &()).unwrap();
    assert_eq!(first.call("ask", &()).await, Ok(()));
    drop(first);
    let received = Rc::new(RefCell::new(Vec::new()));
    let (secrets, others) = (received.clone(), received.clone());
    let second = Peer::connect(&ports[0])
        .open(|peer| {
            peer.on_notify("secret", move |(), _| secrets.borrow_mut().push("secret"));
            peer.on_notify("public", move |(), _| others.borrow_mut().push("public"));
        })
        .await
        .unwrap();
    assert_eq!(second.call("ask", &()).await, Ok(()));
    assert_eq!(contexts_of_there.borrow().len(), 3);
    for context in &contexts_of_there.borrow()[..2] {
        context.notify("secret", &()).unwrap();
    }
    contexts_of_there.borrow()[2].notify("public", &()).unwrap();
    until(|| !received.borrow().is_empty()).await;
    assert_eq!(second.call("ask", &()).await, Ok(()));
    assert_eq!(*received.borrow(), ["public"]);
    drop(there.take());
}

#[wasm_bindgen_test]
async fn connecting_without_a_peer_times_out() {
    let ports = channel();
    let error = Peer::connect(&ports[0]).timeout(Duration::from_millis(50)).open(|_| {}).await.unwrap_err();
    assert_eq!(error.reason().as_deref(), Some("no-answer"));
    // A number is not a target. The error of an invalid target has no reason.
    let error = Peer::connect(&wasm_bindgen::JsValue::from(1)).open(|_| {}).await.unwrap_err();
    assert_eq!(error.reason(), None);
}
