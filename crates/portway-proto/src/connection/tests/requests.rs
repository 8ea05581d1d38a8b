//! Tests of requests from the peer. Each request must be answered exactly once.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::pair::{Text, text};
use crate::Limits;
use crate::connection::{Config, Connection, Event, Refused, RequestKey};
use crate::message::{
    Entry, Fault, Id, Incoming, Message, Notification, Outgoing, Payload, Rejected, Request, RequestId, Response,
    Unusable,
};
use crate::profile::Profile;

pub(super) fn server(profile: Profile) -> Connection<Text> {
    Connection::new(Config::new(profile))
}

pub(super) fn request(id: impl Into<Id>, method: &str) -> Entry<Text> {
    Ok(Message::Request(Request { id: id.into(), method: method.to_string(), params: None }))
}

pub(super) fn notification(method: &str) -> Entry<Text> {
    Ok(Message::Notification(Notification { method: method.to_string(), params: None }))
}

/// Removes all events. Returns the key and the method of each request.
pub(super) fn requests(server: &mut Connection<Text>) -> Vec<(RequestKey, String)> {
    let mut requests = Vec::new();
    while let Some(event) = server.poll_event() {
        if let Event::Request { key, method, .. } = event {
            requests.push((key, method));
        }
    }
    requests
}

/// Returns the messages that the server sends, as `id: result` or `id: code reason`. The messages of a batch are in
/// brackets.
pub(super) fn sent(server: &mut Connection<Text>) -> Vec<String> {
    let line = |message: &Message<Text>| match message {
        Message::Response(Response { id, outcome: Ok(Text(result)) }) => alloc::format!("{id}: {result}"),
        Message::Response(Response { id, outcome: Err(error) }) => match &error.data {
            Some(Text(reason)) => alloc::format!("{id}: {} {reason}", error.code),
            None => alloc::format!("{id}: {}", error.code),
        },
        other => alloc::format!("{other:?}"),
    };
    let mut lines = Vec::new();
    while let Some(outgoing) = server.poll_transmit() {
        lines.push(match &outgoing {
            Outgoing::Single(message) => line(message),
            Outgoing::Batch(messages) => {
                let mut lines: Vec<String> = messages.iter().map(line).collect();
                lines.sort();
                alloc::format!("[{}]", lines.join(", "))
            }
            Outgoing::Cancel(id) => alloc::format!("cancel {id}"),
        });
    }
    lines
}

#[test]
fn ids_are_echoed_unchanged() {
    let mut server = server(Profile::GENERIC);
    let ids = [Id::Null, Id::from(1), Id::from("1"), Id::from(""), Id::from_number_text("1e2").expect("a number")];
    for id in ids {
        server.handle(Incoming::Single(request(id, "m")));
    }
    for (key, _) in requests(&mut server) {
        server.respond(key, Ok(text("ok")));
    }
    assert_eq!(sent(&mut server), ["null: ok", "1: ok", "\"1\": ok", "\"\": ok", "1e2: ok"]);
}

#[test]
fn a_second_answer_is_not_sent() {
    let mut server = server(Profile::GENERIC);
    server.handle(Incoming::Single(request(1, "m")));
    let (key, _) = requests(&mut server).remove(0);
    assert!(server.is_unanswered(key));
    assert!(server.respond(key, Ok(text("first"))));
    assert!(!server.respond(key, Ok(text("second"))));
    // A request with another key reuses the slot.
    server.handle(Incoming::Single(request(2, "m")));
    assert!(!server.respond(key, Ok(text("third"))));
    assert_eq!(sent(&mut server), ["1: first"]);
}

#[test]
fn the_replies_of_a_batch_are_sent_together() {
    let mut server = server(Profile::GENERIC);
    let invalid = Err(Unusable::from(Fault::InvalidRequest));
    server.handle(Incoming::Batch(vec![request(1, "a"), notification("n"), invalid, request(2, "b")]));
    let unanswered = requests(&mut server);
    assert_eq!(sent(&mut server), Vec::<String>::new());
    for (key, method) in unanswered.into_iter().rev() {
        server.respond(key, Ok(Text(method)));
    }
    assert_eq!(sent(&mut server), ["[1: a, 2: b, null: -32600]"]);
}

#[test]
fn a_batch_of_notifications_is_not_answered() {
    let mut server = server(Profile::GENERIC);
    server.handle(Incoming::Batch(vec![notification("a"), notification("b")]));
    assert_eq!(sent(&mut server), Vec::<String>::new());
    assert_eq!(core::iter::from_fn(|| server.poll_event()).count(), 2);
}

#[test]
fn an_empty_batch_is_answered_with_one_error() {
    let mut server = server(Profile::GENERIC);
    server.handle(Incoming::Batch(vec![]));
    assert_eq!(sent(&mut server), ["null: -32600"]);
}

#[test]
fn a_batch_of_faults_is_answered_at_once() {
    let mut server = server(Profile::GENERIC);
    let invalid = || Err(Unusable::from(Fault::InvalidRequest));
    server.handle(Incoming::Batch(vec![invalid(), invalid()]));
    assert_eq!(sent(&mut server), ["[null: -32600, null: -32600]"]);
}

#[test]
fn the_second_request_with_the_same_id_in_a_batch_is_refused() {
    let mut server = server(Profile::GENERIC);
    let batch =
        vec![request(1, "a"), request(1, "b"), request("1", "c"), request(Id::Null, "d"), request(Id::Null, "e")];
    server.handle(Incoming::Batch(batch));
    for (key, method) in requests(&mut server) {
        server.respond(key, Ok(Text(method)));
    }
    // The ids 1 and "1" differ. The id null may occur several times.
    assert_eq!(sent(&mut server), ["[\"1\": c, 1: -32600 duplicate-id, 1: a, null: d, null: e]"]);
}

#[test]
fn a_profile_without_batches_answers_a_batch_with_one_error() {
    let mut server = server(Profile::KAIAK);
    server.handle(Incoming::Batch(vec![request(1, "a"), request(2, "b")]));
    server.handle(Incoming::Batch(vec![]));
    assert_eq!(sent(&mut server), ["null: -32600 batch-not-supported", "null: -32600 batch-not-supported"]);
    assert_eq!(requests(&mut server), []);
}

#[test]
fn requests_beyond_the_limit_are_refused_and_other_requests_run() {
    let limits = Limits { in_flight: 2, ..Limits::DEFAULT };
    let mut server = Connection::<Text>::new(Config::new(Profile::GENERIC).with_limits(limits));
    for id in 1..=3 {
        server.handle(Incoming::Single(request(id, "m")));
    }
    assert_eq!(sent(&mut server), ["3: -32600 too-many-requests"]);
    let unanswered = requests(&mut server);
    server.respond(unanswered[0].0, Ok(text("ok")));
    server.handle(Incoming::Single(request(4, "m")));
    assert_eq!(sent(&mut server), ["1: ok"]);
    assert_eq!(requests(&mut server).len(), 1);
}

/// Returns a request whose params have `bytes` bytes.
pub(super) fn request_of(id: i64, bytes: usize) -> Entry<Text> {
    let params = Some(Text("x".repeat(bytes)));
    Ok(Message::Request(Request { id: id.into(), method: "m".to_string(), params }))
}

/// Returns a server whose limit [`Limits::in_flight_bytes`] is `in_flight_bytes`.
pub(super) fn server_within(profile: Profile, in_flight_bytes: usize) -> Connection<Text> {
    let limits = Limits { in_flight_bytes, ..Limits::DEFAULT };
    Connection::new(Config::new(profile).with_limits(limits))
}

#[test]
fn requests_beyond_the_limit_of_bytes_are_refused_and_other_requests_run() {
    let mut server = server_within(Profile::GENERIC, 100);
    for (id, bytes) in [(1, 60), (2, 41), (3, 40), (4, 0), (5, 1)] {
        server.handle(Incoming::Single(request_of(id, bytes)));
    }
    assert_eq!(sent(&mut server), ["2: -32600 too-many-requests", "5: -32600 too-many-requests"]);
    assert_eq!(server.in_flight_bytes(), 100);
    let unanswered = requests(&mut server);
    assert_eq!(unanswered.len(), 3);
    server.respond(unanswered[0].0, Ok(text("ok")));
    assert_eq!(server.in_flight_bytes(), 40);
    server.handle(Incoming::Single(request_of(6, 60)));
    assert_eq!(sent(&mut server), ["1: ok"]);
    assert_eq!(requests(&mut server).len(), 1);
    server.close();
    assert_eq!(server.in_flight_bytes(), 0);
}

#[test]
fn a_request_over_the_limit_of_bytes_is_accepted_if_no_other_request_runs() {
    let mut server = server_within(Profile::GENERIC, 100);
    server.handle(Incoming::Single(request_of(1, 500)));
    server.handle(Incoming::Single(request_of(2, 1)));
    assert_eq!(sent(&mut server), ["2: -32600 too-many-requests"]);
    let (running, _) = requests(&mut server).remove(0);
    assert!(server.end_request(running));
    assert_eq!(server.in_flight_bytes(), 0);
}

#[test]
fn stored_replies_of_a_batch_count_towards_the_limit_until_the_batch_is_sent() {
    let mut server = server_within(Profile::GENERIC, 100 + 2 * Text::REPLY_BYTES);
    server.handle(Incoming::Batch(vec![request_of(1, 10), request_of(2, 10), request_of(3, 10)]));
    let unanswered = requests(&mut server);
    server.respond(unanswered[0].0, Ok(Text("x".repeat(60))));
    let failure = crate::message::ErrorObject { data: Some(text("12345")), ..Fault::ParseError.into() };
    server.respond(unanswered[1].0, Err(failure));
    assert_eq!(server.in_flight_bytes(), 60 + "Parse error".len() + 5 + 2 * Text::REPLY_BYTES + 10);
    server.handle(Incoming::Single(request_of(4, 20)));
    assert_eq!(sent(&mut server), ["4: -32600 too-many-requests"]);
    server.respond(unanswered[2].0, Ok(text("ok")));
    assert_eq!((sent(&mut server).len(), server.in_flight_bytes()), (1, 0));
}

/// Returns a batch of one request and of `refused` elements that are rejected with the id `refused_id`. The batch is
/// incomplete until the test answers the request.
fn incomplete_batch(request_id: i64, refused: usize, refused_id: &str) -> Incoming<Text> {
    let mut entries = vec![request(request_id, "m")];
    entries.extend((0..refused).map(|_| {
        let rejected = Rejected { id: refused_id.into(), fault: Fault::InvalidRequest };
        Err(Unusable::Reject(rejected))
    }));
    Incoming::Batch(entries)
}

#[test]
fn a_stored_reply_counts_as_the_bytes_of_its_id_and_error_and_a_fixed_cost() {
    for id in ["", "a long id of a request that is refused"] {
        let mut server = server_within(Profile::GENERIC, usize::MAX);
        server.handle(incomplete_batch(1, 10, id));
        let each = id.len() + "Invalid Request".len() + Text::REPLY_BYTES;
        assert_eq!(server.in_flight_bytes(), 10 * each);
        let unanswered = requests(&mut server);
        server.respond(unanswered[0].0, Ok(text("ok")));
        assert_eq!((sent(&mut server).len(), server.in_flight_bytes()), (1, 0));
    }
}

#[test]
fn a_request_is_refused_if_the_replies_to_the_rest_of_its_batch_exceed_the_limit() {
    let mut server = server_within(Profile::GENERIC, 20_000);
    let mut refused = 0;
    for number in 0..1_000 {
        server.handle(incomplete_batch(number, 10, &"x".repeat(1_000)));
        // A refused batch is answered at once, with the ids of its elements.
        let answers = sent(&mut server);
        refused +=
            answers.iter().filter(|line| line.contains(&alloc::format!("{number}: -32600 too-many-requests"))).count();
    }
    assert_eq!(refused, 999, "the limit has room for one batch with 10 000 bytes of ids, but not for two");
    assert!(server.in_flight_bytes() < 20_000, "{}", server.in_flight_bytes());
    // Elements without a response need no room. After the stored responses are sent, a new batch has room again.
    let call = server.call("theirs".to_string(), None, None).expect("the connection is open");
    let answer = Message::Response(Response { id: Id::from_call(call.id()), outcome: Ok(text("ok")) });
    server.handle(Incoming::Batch(vec![notification("n"), Ok(answer)]));
    let _ = sent(&mut server);
    let mut unanswered = Vec::new();
    let mut others = 0;
    while let Some(event) = server.poll_event() {
        match event {
            Event::Request { key, .. } => unanswered.push(key),
            _ => others += 1,
        }
    }
    assert_eq!((unanswered.len(), others), (1, 2));
    server.respond(unanswered[0], Ok(text("ok")));
    assert_eq!((sent(&mut server).len(), server.in_flight_bytes()), (1, 0));
    server.handle(incomplete_batch(1, 10, &"x".repeat(1_000)));
    assert_eq!((sent(&mut server).len(), requests(&mut server).len()), (0, 1));
}

#[test]
fn an_answer_in_a_batch_becomes_an_error_if_it_exceeds_the_limit_of_bytes() {
    let mut server = server_within(Profile::GENERIC, 2_200);
    server.handle(Incoming::Batch((1..=5).map(|id| request(id, "m")).collect()));
    for (index, (key, _)) in requests(&mut server).into_iter().enumerate() {
        let long = Text("x".repeat(1_000));
        let failure = crate::message::ErrorObject { data: Some(long.clone()), ..Fault::ParseError.into() };
        assert!(
            server.respond(key, if index == 2 { Err(failure) } else { Ok(if index == 3 { text("ok") } else { long }) })
        );
        assert!(server.in_flight_bytes() < 2_500, "{}", server.in_flight_bytes());
    }
    let refused = "-32600 too-many-requests";
    let long = "x".repeat(1_000);
    let replies = alloc::format!("[1: {long}, 2: {refused}, 3: {refused}, 4: ok, 5: {refused}]");
    assert_eq!((sent(&mut server), server.in_flight_bytes()), (vec![replies], 0));
    // If no other response is stored, a response of any length is sent.
    let mut server = server_within(Profile::GENERIC, 100);
    server.handle(Incoming::Batch(vec![request(1, "m")]));
    let (key, _) = requests(&mut server).remove(0);
    assert!(server.respond(key, Ok(Text(long.clone()))));
    assert_eq!(sent(&mut server), [alloc::format!("[1: {long}]")]);
}

#[test]
fn the_ids_of_running_requests_count_towards_the_limit() {
    let mut server = server_within(Profile::GENERIC, 1_000);
    server.handle(Incoming::Single(request("x".repeat(600).as_str(), "m")));
    assert_eq!(server.in_flight_bytes(), 600);
    server.handle(Incoming::Single(request("y".repeat(600).as_str(), "m")));
    assert_eq!(sent(&mut server).len(), 1, "the second request must be refused");
}

#[test]
fn a_batch_beyond_the_limit_is_answered_with_one_error() {
    let limits = Limits { batch_items: 2, ..Limits::DEFAULT };
    let mut server = Connection::<Text>::new(Config::new(Profile::GENERIC).with_limits(limits));
    server.handle(Incoming::Batch((1..=3).map(|id| request(id, "m")).collect()));
    assert_eq!(sent(&mut server), ["null: -32600 batch-too-large"]);
}

#[test]
fn an_unreadable_message_is_answered_and_the_next_message_is_handled() {
    let mut server = server(Profile::GENERIC);
    server.handle(Incoming::Single(Err(Unusable::from(Fault::ParseError))));
    server.handle(Incoming::Single(request(1, "m")));
    assert_eq!(sent(&mut server), ["null: -32700"]);
    assert_eq!(requests(&mut server).len(), 1);
}

#[test]
fn an_object_with_only_an_id_is_invalid_unless_the_profile_ignores_foreign_messages() {
    for (profile, answer) in [(Profile::GENERIC, &["9: -32600"][..]), (Profile::MESSAGE_BOUNDARY, &[])] {
        let mut server = server(profile);
        server.handle(Incoming::Single(Err(Unusable::Empty(Id::Integer(9)))));
        assert_eq!(sent(&mut server), answer);
    }
}

#[test]
fn notifications_keep_their_order_between_requests() {
    let mut server = server(Profile::GENERIC);
    server.handle(Incoming::Single(notification("a")));
    server.handle(Incoming::Batch(vec![notification("b"), request(1, "r"), notification("c")]));
    server.handle(Incoming::Single(notification("d")));
    let order: Vec<String> = core::iter::from_fn(|| server.poll_event())
        .map(|event| match event {
            Event::Notification(notification) => notification.method,
            Event::Request { method, .. } => method,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(order, ["a", "b", "r", "c", "d"]);
}

#[test]
fn after_close_no_message_is_answered_or_accepted() {
    let mut server = server(Profile::GENERIC);
    server.handle(Incoming::Batch(vec![request(1, "a")]));
    server.handle(Incoming::Single(request(2, "b")));
    let unanswered = requests(&mut server);
    server.close();
    for (key, _) in unanswered {
        assert!(!server.respond(key, Ok(text("late"))));
    }
    server.handle(Incoming::Single(request(3, "c")));
    assert_eq!((sent(&mut server), requests(&mut server)), (vec![], vec![]));
}

#[test]
fn a_cancellation_with_an_unknown_or_answered_id_has_no_effect() {
    let mut server = server(Profile::GENERIC);
    server.handle(Incoming::Single(request(1, "m")));
    let (key, _) = requests(&mut server).remove(0);
    server.respond(key, Ok(text("ok")));
    server.handle_cancel(&Id::Integer(1));
    server.handle_cancel(&Id::from("x"));
    assert!(server.poll_event().is_none());
}

#[test]
fn a_request_can_be_answered_after_the_end_of_the_input() {
    let mut server = server(Profile::GENERIC);
    server.handle(Incoming::Single(request(1, "slow")));
    let call = server.call("theirs".to_string(), None, None);
    server.handle_end();
    assert!(server.call("more".to_string(), None, None).is_err(), "a call after the end of the input must fail");
    let mut ended = Vec::new();
    let mut key = None;
    while let Some(event) = server.poll_event() {
        match event {
            Event::Request { key: running, .. } => key = Some(running),
            Event::Ended { call, .. } => ended.push(call),
            _ => {}
        }
    }
    // The pending call of the server has ended.
    assert_eq!(ended.first(), call.as_ref().ok());
    assert!(key.is_some_and(|key| server.respond(key, Ok(text("42")))));
    assert!(sent(&mut server).contains(&"1: 42".to_string()));
}

/// Removes all events. Returns the methods of the requests and notifications, in order.
pub(super) fn events(server: &mut Connection<Text>) -> Vec<String> {
    core::iter::from_fn(|| server.poll_event())
        .filter_map(|event| match event {
            Event::Request { method, .. } => Some(method),
            Event::Notification(notification) => Some(notification.method),
            _ => None,
        })
        .collect()
}

#[test]
fn on_the_fast_path_a_request_begins_without_an_event_and_ends_without_a_queued_reply() {
    let mut server = server(Profile::GENERIC);
    let key = server.begin_request(Id::from(1)).expect("there is room");
    assert_eq!(server.request_id(key), Some(&Id::from(1)));
    assert!(server.end_request(key));
    assert!(!server.end_request(key) && !server.respond(key, Ok(text("late"))));
    assert_eq!((sent(&mut server), requests(&mut server)), (vec![], vec![]));
}

#[test]
fn the_fast_path_begins_no_request_beyond_the_limit_or_after_close() {
    let limits = Limits { in_flight: 1, ..Limits::DEFAULT };
    let mut server = Connection::<Text>::new(Config::new(Profile::GENERIC).with_limits(limits));
    assert!(server.begin_request(Id::from(1)).is_some());
    assert_eq!(server.begin_request(Id::from(2)), None);
    server.close();
    assert_eq!(server.begin_request(Id::from(3)), None);
}

#[test]
fn the_fast_path_does_not_end_a_request_of_a_batch() {
    let mut server = server(Profile::GENERIC);
    server.handle(Incoming::Batch(vec![request(1, "a"), request(2, "b")]));
    let running = requests(&mut server);
    for (key, method) in running {
        assert!(!server.end_request(key));
        assert!(server.respond(key, Ok(text(&method))));
    }
    assert_eq!(sent(&mut server), ["[1: a, 2: b]"]);
}

#[test]
fn the_bytes_of_begin_counted_request_count_towards_the_limit_and_take_request_returns_the_id() {
    let limits = Limits { in_flight_bytes: 10, ..Limits::DEFAULT };
    let mut server = Connection::<Text>::new(Config::new(Profile::GENERIC).with_limits(limits));
    let first = server.begin_counted_request(&Id::from("a"), 100).expect("nothing else counts yet");
    assert_eq!(server.in_flight_bytes(), 101);
    assert_eq!(server.begin_counted_request(&Id::from(2), 1), None);
    assert_eq!((server.take_request(first), server.take_request(first)), (Some(Id::from("a")), None));
    assert_eq!(server.in_flight_bytes(), 0);
    assert!(server.begin_counted_request(&Id::from(2), 10).is_some());
}

#[test]
fn after_close_the_fast_path_refuses_counted_requests_and_notifications() {
    let mut server = server(Profile::GENERIC);
    assert_eq!(server.check_notification(), Ok(()));
    server.close();
    assert_eq!(server.begin_counted_request(&Id::from(1), 0), None);
    assert_eq!(server.check_notification(), Err(Refused::Closed));
}
