//! Tests of requests that run one at a time. They check waiting requests and notifications, and responses to requests
//! that have not begun.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::pair::text;
use super::requests::{events, notification, request, request_of, requests, sent, server, server_within};
use crate::message::{Id, Incoming};
use crate::profile::Profile;

#[test]
fn a_sequential_profile_runs_one_request_at_a_time() {
    let mut server = server(Profile::DAEMON);
    for id in 1..=3 {
        server.handle(Incoming::Single(request(id, "m")));
    }
    for id in 1..=3 {
        let running = requests(&mut server);
        assert_eq!(running.len(), 1, "request {id}");
        server.respond(running[0].0, Ok(text("ok")));
        assert_eq!(sent(&mut server), [alloc::format!("{id}: ok")]);
    }
}

#[test]
fn sequential_requests_over_the_limit_of_bytes_are_accepted_and_counted() {
    let mut server = server_within(Profile::DAEMON, 100);
    for id in 1..=3 {
        server.handle(Incoming::Single(request_of(id, 60)));
    }
    assert_eq!(server.in_flight_bytes(), 180);
    server.handle(Incoming::Single(notification("n")));
    assert!(server.in_flight_bytes() > 1_000, "a waiting notification must count towards the limit of bytes");
    for _ in 1..=3 {
        let (running, _) = requests(&mut server).remove(0);
        server.respond(running, Ok(text("ok")));
    }
    assert_eq!(sent(&mut server), ["1: ok", "2: ok", "3: ok"]);
    assert_eq!((events(&mut server), server.in_flight_bytes()), (vec!["n".to_string()], 0));
}

#[test]
fn waiting_notifications_keep_their_place_among_requests() {
    let mut server = server(Profile::DAEMON);
    for entry in [request(1, "a"), notification("b"), request(2, "c"), notification("d")] {
        server.handle(Incoming::Single(entry));
    }
    assert_eq!(events(&mut server), ["a"]);
    let first = server.request_in_slot(0);
    assert!(first.is_some_and(|key| server.respond(key, Ok(text("1")))));
    assert_eq!(events(&mut server), ["b", "c"]);
    let second = server.request_in_slot(1);
    assert!(second.is_some_and(|key| server.respond(key, Ok(text("2")))));
    assert_eq!(events(&mut server), ["d"]);
    server.handle(Incoming::Single(notification("e")));
    assert_eq!(events(&mut server), ["e"], "a notification must not wait if no request is running");
}

#[test]
fn a_waiting_request_that_is_already_answered_is_skipped_and_starts_no_other_request() {
    // Each bit of `answered` stands for a request that is answered before it begins. If the serial numbers begin near
    // `u32::MAX`, they wrap around to 0.
    for (answered, serial) in (0_u32..32).flat_map(|answered| [(answered, 0), (answered, u32::MAX - 6)]) {
        let mut server = server(Profile::DAEMON);
        server.inbound.serial = serial;
        let first = server.begin_request(Id::from(0)).expect("no request is running");
        let mut expected_order = Vec::new();
        for index in 0_u32..5 {
            let name = alloc::format!("request {index}");
            server.handle(Incoming::Single(request(i64::from(index) + 1, &name)));
            let note = alloc::format!("note {index}");
            server.handle(Incoming::Single(notification(&note)));
            expected_order.extend((answered & (1 << index) == 0).then_some(name).into_iter().chain([note]));
        }
        for index in (0_u32..5).filter(|index| answered & (1 << index) != 0) {
            let key = server.request_with_id(&Id::from(i64::from(index) + 1)).expect("the request is waiting");
            assert!(server.respond(key, Ok(text("early"))));
            assert_eq!(events(&mut server), Vec::<String>::new(), "the first request must run alone");
        }
        assert!(server.end_request(first));
        let mut order = events(&mut server);
        while let Some(index) = order.last().and_then(|last| last.strip_prefix("request ")) {
            let id = index.parse::<i64>().expect("a number") + 1;
            let running = server.request_with_id(&Id::from(id)).expect("the request is running");
            assert!(server.respond(running, Ok(text("ok"))));
            order.extend(events(&mut server));
        }
        assert_eq!(order, expected_order, "bits of the requests that were answered before they began: {answered:b}");
        assert_eq!(server.in_flight_bytes(), 0);
    }
}

#[test]
fn a_waiting_request_is_removed_from_the_queue_when_it_is_answered() {
    let mut server = server(Profile::DAEMON);
    let first = server.begin_request(Id::from(0)).expect("no request is running");
    server.handle(Incoming::Single(request(1, "second")));
    for _ in 0..1_000 {
        server.handle(Incoming::Single(request_of(2, 10)));
        let key = server.request_with_id(&Id::from(2)).expect("the request is waiting");
        assert!(server.respond(key, Ok(text("early"))));
        // The request `second` still waits. Answered entries are removed when they are more than half of the queue.
        assert!(server.inbound.waiting() <= 3, "{}", server.inbound.waiting());
    }
    assert!(server.end_request(first));
    assert_eq!(events(&mut server), ["second"]);
}

#[test]
fn on_the_fast_path_a_request_begins_only_if_no_other_runs_and_its_end_starts_the_next() {
    let mut server = server(Profile::DAEMON);
    let first = server.begin_request(Id::from(1)).expect("no request is running");
    assert_eq!(server.begin_request(Id::from(2)), None);
    server.handle(Incoming::Single(request(2, "second")));
    assert_eq!(requests(&mut server), []);
    assert!(server.end_request(first));
    assert_eq!(requests(&mut server).into_iter().map(|(_, method)| method).collect::<Vec<_>>(), ["second"]);
}
