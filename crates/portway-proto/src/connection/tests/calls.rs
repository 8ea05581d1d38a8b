//! Tests of outgoing calls. Each call must end exactly once.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use super::pair::{LATENCY, Pair, Text, call_batch, text};
use super::requests::request;
use crate::connection::{CallKey, Config, Connection, End, Event, Ignored, Refused};
use crate::message::{Entry, ErrorObject, Id, Incoming, Message, RequestId, Response, Unreadable, Unusable};
use crate::profile::Profile;
use crate::{ErrorCode, Limits};

/// Returns a response of the peer with a result.
fn response(id: impl Into<Id>, result: &str) -> Incoming<Text> {
    Incoming::Single(Ok(Message::Response(Response { id: id.into(), outcome: Ok(text(result)) })))
}

/// Returns a response of the peer with an error.
fn failure(id: Id) -> Incoming<Text> {
    let error = ErrorObject { code: ErrorCode::INVALID_REQUEST, message: "no".into(), data: None };
    Incoming::Single(Ok(Message::Response(Response { id, outcome: Err(error) })))
}

/// Answers every request that the server has received. Each result is the params of the request.
fn echo(pair: &mut Pair) {
    for event in core::mem::take(&mut pair.server_events) {
        if let Event::Request { key, params, .. } = event {
            assert!(pair.server.respond(key, Ok(params.unwrap_or_else(|| text("nothing")))));
        }
    }
    pair.drain();
}

/// Removes all events of the client. Returns the id and the outcome of each call that has ended.
fn ends(pair: &mut Pair) -> Vec<(u64, &'static str)> {
    let events = core::mem::take(&mut pair.client_events);
    let ends = events.into_iter().filter_map(|event| match event {
        Event::Ended { call, end } => Some((
            call.id(),
            match end {
                End::Answered(Ok(_)) => "result",
                End::Answered(Err(_)) => "error",
                End::Invalid => "invalid",
                End::Unreadable(_) => "unreadable",
                End::TimedOut => "timed out",
                End::Closed => "closed",
            },
        )),
        _ => None,
    });
    ends.collect()
}

/// Makes a call of the client. `timeout` is in milliseconds.
fn call(pair: &mut Pair, timeout: Option<u64>) -> CallKey {
    pair.client.call("echo".to_string(), Some(text("x")), timeout).expect("room for a call")
}

#[test]
fn a_call_ends_with_the_result_of_its_response() {
    let mut pair = Pair::new();
    call(&mut pair, Some(1_000));
    pair.step();
    echo(&mut pair);
    pair.step();
    assert_eq!(pair.now, 2 * LATENCY);
    let events = core::mem::take(&mut pair.client_events);
    assert!(matches!(&events[..], [Event::Ended { end: End::Answered(Ok(Text(x))), .. }] if x == "x"), "{events:?}");
    pair.drain();
    assert_eq!((pair.client.pending_calls(), pair.client.poll_timeout()), (0, None));
}

#[test]
fn each_of_a_thousand_responses_in_any_order_ends_the_call_with_its_id() {
    let mut pair = Pair::new();
    let keys: Vec<CallKey> = (0..1_000).map(|_| call(&mut pair, Some(1_000))).collect();
    pair.drain();
    for step in 0..1_000_usize {
        let key = keys[step * 617 % 1_000];
        pair.client.handle(response(key.id() as i64, &key.id().to_string()));
    }
    pair.drain();
    let events = core::mem::take(&mut pair.client_events);
    assert_eq!(events.len(), 1_000);
    for event in events {
        let Event::Ended { call, end: End::Answered(Ok(Text(result))) } = event else { panic!("{event:?}") };
        assert_eq!(result, call.id().to_string());
    }
}

#[test]
fn a_call_times_out_once_and_a_late_response_is_reported_as_ignored() {
    let mut pair = Pair::new();
    pair.cut = true;
    let key = call(&mut pair, Some(50));
    pair.drive();
    assert_eq!(pair.now, 50);
    assert_eq!(ends(&mut pair), [(1, "timed out")]);
    assert_eq!(pair.client.pending_calls(), 0);
    pair.client.handle(response(key.id() as i64, "late"));
    pair.drain();
    let events = &pair.client_events;
    assert!(matches!(&events[..], [Event::Ignored(Ignored::LateResponse(Id::Integer(1)))]), "{events:?}");
}

#[test]
fn calls_that_time_out_are_cancelled_at_the_peer_inside_and_outside_of_batches() {
    let mut pair = Pair::new();
    call(&mut pair, Some(50));
    assert_eq!(call_batch(&mut pair.client, 1, &["a", "a"], 60).len(), 2);
    pair.drive();
    assert_eq!(ends(&mut pair), [(1, "timed out"), (2, "timed out"), (3, "timed out")]);
    let events = core::mem::take(&mut pair.server_events);
    let mut requests = Vec::new();
    let mut cancelled = Vec::new();
    for event in events {
        match event {
            Event::Request { key, .. } => requests.push(key),
            Event::Cancelled(key) => cancelled.push(key),
            _ => panic!("{event:?}"),
        }
    }
    assert_eq!((requests.len(), &cancelled), (3, &requests));
    for key in requests {
        assert!(pair.server.respond(key, Ok(text("late"))));
    }
    pair.drive();
    let late = pair.client_events.iter().filter(|event| matches!(event, Event::Ignored(Ignored::LateResponse(_))));
    assert_eq!((late.count(), pair.client_events.len()), (3, 3), "{:?}", pair.client_events);
}

#[test]
fn a_response_to_a_request_that_was_never_sent_is_not_a_late_response() {
    let mut client = Connection::<Text>::new(Config::new(Profile::GENERIC).with_last_id(5));
    let key = client.call("a".to_string(), None, None).expect("room for a call");
    assert!(client.cancel(key));
    let mut is_late = |id: i64| {
        client.handle(response(id, "x"));
        matches!(client.poll_event(), Some(Event::Ignored(Ignored::LateResponse(_))))
    };
    assert_eq!([-1, 0, 1, 5, 6, 7].map(&mut is_late), [false, false, false, false, true, false]);
}

#[test]
fn progress_restarts_the_timeout_of_its_call_but_not_beyond_the_latest_end() {
    let mut pair = Pair::new();
    pair.cut = true;
    let observed = call(&mut pair, Some(100));
    call(&mut pair, Some(100));
    for now in [0, 90, 180, 240] {
        pair.now = now;
        pair.client.handle_progress(observed, Some(100), Some(250), now);
        pair.drain();
    }
    assert_eq!(ends(&mut pair), [(2, "timed out")]);
    pair.step();
    assert_eq!((pair.now, ends(&mut pair)), (250, vec![(1, "timed out")]));
    // Progress of an ended call has no effect.
    pair.client.handle_progress(observed, Some(100), Some(900), 250);
    pair.drain();
    assert_eq!(pair.client.poll_timeout(), None);
}

#[test]
fn a_restart_extends_only_the_timeout_of_its_call() {
    let mut pair = Pair::new();
    pair.cut = true;
    let restarted = call(&mut pair, Some(100));
    call(&mut pair, Some(100));
    pair.drain();
    pair.now = 60;
    assert!(pair.client.restart(restarted, Some(100)));
    pair.drain();
    pair.step();
    assert_eq!((pair.now, ends(&mut pair)), (100, vec![(2, "timed out")]));
    pair.now = 150;
    assert!(pair.client.restart(restarted, Some(30)), "a restart with another timeout must succeed");
    pair.drain();
    pair.step();
    assert_eq!((pair.now, ends(&mut pair)), (180, vec![(1, "timed out")]));
    assert!(!pair.client.restart(restarted, Some(100)), "a restart after the end of the call must fail");
    pair.drain();
    assert_eq!(pair.client.poll_timeout(), None);
}

#[test]
fn a_timeout_may_be_removed_from_a_call_and_set_again() {
    let mut pair = Pair::new();
    pair.cut = true;
    let key = call(&mut pair, Some(100));
    pair.drain();
    assert!(pair.client.restart(key, None));
    pair.now = 1_000_000;
    pair.drain();
    assert_eq!((ends(&mut pair), pair.client.poll_timeout()), (vec![], None));
    assert!(pair.client.restart(key, Some(100)));
    pair.drain();
    pair.step();
    assert_eq!((pair.now, ends(&mut pair)), (1_000_100, vec![(1, "timed out")]));
}

#[test]
fn a_call_without_timeout_waits_for_ever() {
    let mut pair = Pair::new();
    pair.cut = true;
    call(&mut pair, None);
    pair.drain();
    assert_eq!(pair.client.poll_timeout(), None);
    pair.client.handle_timeout(u64::MAX);
    pair.drain();
    assert_eq!(pair.client.pending_calls(), 1);
}

#[test]
fn a_response_whose_id_has_another_type_ends_no_call() {
    let mut pair = Pair::new();
    call(&mut pair, None);
    pair.drain();
    pair.client.handle(response("1", "string"));
    pair.client.handle(response(Id::from_number_text("1.5").expect("a number"), "fraction"));
    pair.client.handle(response(-1, "negative"));
    pair.drain();
    assert_eq!((ends(&mut pair), pair.client.pending_calls()), (vec![], 1));
    pair.client.handle(response(1, "integer"));
    pair.drain();
    assert_eq!(ends(&mut pair), [(1, "result")]);
}

#[test]
fn the_id_of_a_response_may_be_written_as_a_double() {
    let mut pair = Pair::new();
    call(&mut pair, None);
    pair.client.handle(response(Id::from_number_text("1.0").expect("a number"), "double"));
    pair.drain();
    assert_eq!((ends(&mut pair), pair.client.pending_calls()), (vec![(1, "result")], 0));
}

#[test]
fn a_second_response_does_not_end_its_call_again() {
    let mut pair = Pair::new();
    call(&mut pair, None);
    pair.client.handle(response(1, "a"));
    pair.client.handle(response(1, "b"));
    pair.drain();
    assert_eq!(ends(&mut pair), [(1, "result")]);
}

#[test]
fn a_response_with_neither_result_nor_error_ends_the_call_as_invalid() {
    let mut pair = Pair::new();
    call(&mut pair, None);
    pair.client.handle(Incoming::Single(Err(Unusable::Empty(Id::Integer(1)))));
    pair.drain();
    assert_eq!(ends(&mut pair), [(1, "invalid")]);
}

#[test]
fn closing_ends_every_call_and_later_calls_and_notifications_are_refused() {
    let mut pair = Pair::new();
    for _ in 0..3 {
        call(&mut pair, Some(1_000));
    }
    pair.client.close();
    pair.client.close();
    pair.drain();
    let mut ended = ends(&mut pair);
    ended.sort_unstable();
    assert_eq!(ended, [(1, "closed"), (2, "closed"), (3, "closed")]);
    assert_eq!(pair.client.poll_timeout(), None);
    assert_eq!(pair.client.call("echo".to_string(), None, None), Err(Refused::Closed));
    assert_eq!(pair.client.notify("echo".to_string(), None), Err(Refused::Closed));
    assert!(pair.client.poll_transmit().is_none());
}

#[test]
fn a_cancelled_call_has_no_event_and_sends_a_cancellation() {
    let mut pair = Pair::new();
    let key = call(&mut pair, Some(1_000));
    pair.step();
    assert!(pair.client.cancel(key));
    assert!(!pair.client.cancel(key), "a second cancellation must have no effect");
    pair.step();
    let events = core::mem::take(&mut pair.server_events);
    let [Event::Request { key, .. }, Event::Cancelled(cancelled)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(key, cancelled);
    assert!(pair.server.respond(*key, Ok(text("anyway"))), "a response to a cancelled request must be accepted");
    pair.drive();
    let events = &pair.client_events;
    assert!(matches!(&events[..], [Event::Ignored(Ignored::LateResponse(Id::Integer(1)))]), "{events:?}");
}

#[test]
fn an_abandoned_call_leaves_no_state() {
    let mut pair = Pair::new();
    let key = call(&mut pair, Some(1_000));
    assert!(pair.client.poll_transmit().is_some());
    assert!(pair.client.abandon(key));
    assert!(!pair.client.abandon(key));
    pair.drive();
    assert_eq!((ends(&mut pair), pair.client.pending_calls(), pair.client.poll_timeout()), (vec![], 0, None));
}

#[test]
fn the_key_of_an_ended_call_does_not_end_the_next_call_in_its_slot() {
    let mut pair = Pair::new();
    let first = call(&mut pair, None);
    pair.client.abandon(first);
    let second = call(&mut pair, None);
    assert_eq!(first.slot(), second.slot());
    assert!(!pair.client.cancel(first));
    assert_eq!(pair.client.pending_calls(), 1);
}

#[test]
fn too_many_pending_calls_are_refused() {
    let mut limits = crate::Limits::DEFAULT;
    limits.pending_calls = 2;
    let config = crate::connection::Config::new(crate::profile::Profile::GENERIC).with_limits(limits);
    let mut client = Connection::<Text>::new(config);
    assert!(client.call("a".to_string(), None, None).is_ok());
    assert!(client.begin_call(None, NonZeroU32::new(1)).is_ok());
    assert_eq!(client.begin_call(None, NonZeroU32::new(1)), Err(Refused::TooManyCalls));
    assert_eq!(client.call("a".to_string(), None, None), Err(Refused::TooManyCalls));
}

#[test]
fn each_call_of_a_batch_ends_separately() {
    let mut pair = Pair::new();
    assert_eq!(call_batch(&mut pair.client, 1, &["a", "b"], 1_000).len(), 2);
    pair.step();
    assert_eq!(pair.server_events.len(), 2);
    echo(&mut pair);
    pair.step();
    let mut ended = ends(&mut pair);
    ended.sort_unstable();
    assert_eq!(ended, [(1, "result"), (2, "result")]);
}

#[test]
fn one_error_for_a_refused_batch_ends_all_calls_of_the_batch() {
    let mut pair = Pair::with(crate::connection::Config::new(crate::profile::Profile::LSP));
    let keys = call_batch(&mut pair.client, 1, &["a", "a"], 1_000);
    for _ in 0..3 {
        pair.step();
    }
    let events = core::mem::take(&mut pair.client_events);
    for (event, key) in events.iter().zip(&keys) {
        let Event::Ended { call, end: End::Answered(Err(error)) } = event else { panic!("{event:?}") };
        assert_eq!(call, key);
        assert_eq!(error.message.as_ref(), "Batch requests not supported");
        assert_eq!(error.data, Some(text("batch-not-supported")));
    }
    assert_eq!(events.len(), 2);
}

#[test]
fn the_responses_in_a_refused_batch_end_their_calls() {
    let too_long = Config::new(Profile::GENERIC).with_limits(Limits { batch_items: 1, ..Limits::DEFAULT });
    for config in [Config::new(Profile::LSP), too_long] {
        let mut pair = Pair::with(config);
        let [answered, unreadable] = [(); 2].map(|()| call(&mut pair, None).id());
        let response = Response { id: Id::from_call(answered), outcome: Ok(text("result")) };
        pair.client.handle(Incoming::Batch(vec![
            request(1, "a"),
            Ok(Message::Response(response)),
            request(2, "a"),
            Err(Unusable::Unreadable { id: Some(Id::from_call(unreadable)), why: Unreadable::TooDeep }),
        ]));
        pair.drain();
        assert_eq!(ends(&mut pair), [(answered, "result"), (unreadable, "unreadable")]);
    }
}

#[test]
fn a_batch_of_responses_alone_gets_no_response_if_the_profile_rejects_batches() {
    let mut client = Connection::<Text>::new(Config::new(Profile::LSP));
    client.handle(Incoming::Batch(vec![Ok(Message::Response(Response {
        id: Id::from(1),
        outcome: Ok(text("result")),
    }))]));
    assert!(client.poll_transmit().is_none());
}

/// Sends a batch of `calls` calls of the client.
fn batch_of(pair: &mut Pair, calls: usize) {
    let batch = pair.client.pending_calls() as u32 + 1;
    assert_eq!(call_batch(&mut pair.client, batch, &vec!["a"; calls], 1_000).len(), calls);
}

/// Returns a response of the peer, as an element of an array. The `id` 0 stands for the id null.
fn element(id: i64, failed: bool) -> Entry<Text> {
    let error = ErrorObject { code: ErrorCode::INVALID_REQUEST, message: "broken".into(), data: None };
    let outcome = if failed { Err(error) } else { Ok(text("1")) };
    Ok(Message::Response(Response { id: if id == 0 { Id::Null } else { Id::from(id) }, outcome }))
}

/// Passes an array of the peer to the client. Returns the ids and outcomes of the calls that have ended.
fn handle_array(pair: &mut Pair, elements: Vec<Entry<Text>>) -> Vec<(u64, &'static str)> {
    pair.client.handle(Incoming::Batch(elements));
    pair.drain();
    ends(pair)
}

#[test]
fn an_error_with_id_null_in_an_array_ends_only_calls_without_a_response_in_the_array() {
    for order in [[0, 2, 3], [2, 0, 3], [2, 3, 0]] {
        let mut pair = Pair::new();
        batch_of(&mut pair, 3);
        let elements = order.iter().map(|&id| element(id, id == 0)).collect();
        assert_eq!(handle_array(&mut pair, elements), [(2, "result"), (3, "result"), (1, "error")]);
    }
}

#[test]
fn an_error_with_id_null_is_ignored_if_the_array_has_responses_to_all_calls() {
    let mut pair = Pair::new();
    batch_of(&mut pair, 2);
    let elements = vec![element(0, true), element(1, false), element(2, false)];
    pair.client.handle(Incoming::Batch(elements));
    pair.drain();
    let [.., Event::Ignored(Ignored::PeerError(error))] = &pair.client_events[..] else {
        panic!("{:?}", pair.client_events)
    };
    assert_eq!(error.message.as_ref(), "broken");
    assert_eq!(pair.client_events.len(), 3);
}

#[test]
fn an_error_with_id_null_beside_responses_to_one_batch_does_not_end_another_batch() {
    let mut pair = Pair::new();
    batch_of(&mut pair, 2);
    batch_of(&mut pair, 1);
    let elements = vec![element(0, true), element(1, false), element(2, false)];
    assert_eq!(handle_array(&mut pair, elements), [(1, "result"), (2, "result")]);
    assert_eq!(pair.client.pending_calls(), 1);
}

#[test]
fn an_array_of_errors_with_id_null_ends_the_calls_of_the_only_pending_batch() {
    let mut pair = Pair::new();
    batch_of(&mut pair, 2);
    call(&mut pair, None);
    assert_eq!(handle_array(&mut pair, vec![element(0, true), element(0, true)]), [(1, "error"), (2, "error")]);
}

#[test]
fn an_error_with_id_null_outside_of_an_array_ends_no_batch_while_another_call_is_pending() {
    let mut pair = Pair::new();
    batch_of(&mut pair, 2);
    call(&mut pair, None);
    pair.client.handle(failure(Id::Null));
    pair.drain();
    assert!(matches!(&pair.client_events[..], [Event::Ignored(Ignored::PeerError(_))]));
    assert_eq!(pair.client.pending_calls(), 3);
}

#[test]
fn an_error_with_id_null_ends_no_call_outside_of_batches() {
    let mut pair = Pair::new();
    call(&mut pair, None);
    pair.client.handle(failure(Id::Null));
    pair.drain();
    assert!(matches!(&pair.client_events[..], [Event::Ignored(Ignored::PeerError(_))]));
    assert_eq!(pair.client.pending_calls(), 1);
}
