//! Tests of credit: the number of items that a stream may send, and the time at which its reader sends more credit.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::requests::{request, server};
use crate::connection::streams::{Next, Overflow, Permit, ReceiveStream, SendStreams, TooMuchCredit, is_credit};
use crate::connection::{Connection, Event, RequestKey};
use crate::limits::{MAX_PEER_CREDIT, MAX_STREAM_CREDIT};
use crate::message::Incoming;
use crate::profile::Profile;

/// Consumes all items. Returns the items, and each credit that the driver must send.
fn consume(stream: &mut ReceiveStream<u32>) -> (Vec<u32>, Vec<u32>) {
    let (mut items, mut credits) = (Vec::new(), Vec::new());
    while let Next::Item(item, credit) = stream.next_item() {
        items.push(item);
        credits.extend(credit);
    }
    (items, credits)
}

/// Returns the keys of `count` unanswered requests.
fn requests(count: u32) -> Vec<RequestKey> {
    let mut server: Connection<_> = server(Profile::GENERIC);
    for id in 0..count {
        server.handle(Incoming::Single(request(i64::from(id), &id.to_string())));
    }
    let mut keys = Vec::new();
    while let Some(event) = server.poll_event() {
        if let Event::Request { key, .. } = event {
            keys.push(key);
        }
    }
    keys
}

#[test]
fn credit_is_valid_from_one_to_its_limit() {
    let valid = [0, 1, MAX_STREAM_CREDIT, MAX_STREAM_CREDIT + 1, u32::MAX].map(is_credit);
    assert_eq!(valid, [false, true, true, false, false]);
}

#[test]
fn a_reader_sends_credit_each_time_it_has_consumed_half_of_its_window() {
    for (window, expected) in [(1, Vec::from([1, 1, 1, 1, 1, 1])), (3, Vec::from([2, 2, 2])), (5, Vec::from([3, 3]))] {
        let mut stream = ReceiveStream::new(window);
        let mut credits = Vec::new();
        for item in 0..6 {
            assert_eq!(stream.receive(item), Ok(()));
            let (items, credit) = consume(&mut stream);
            assert_eq!(items, [item]);
            credits.extend(credit);
        }
        assert_eq!(credits, expected, "{window}");
        assert_eq!(stream.next_item(), Next::Pending);
    }
}

#[test]
fn a_peer_can_always_send_while_its_reader_consumes() {
    for window in 1..20 {
        let (mut stream, mut credit) = (ReceiveStream::new(window), window);
        for item in 0..1_000 {
            assert!(credit > 0 && credit <= window, "{window}");
            credit -= 1;
            assert_eq!(stream.receive(item), Ok(()));
            if item % 3 > 0 || credit == 0 {
                credit += consume(&mut stream).1.iter().sum::<u32>();
            }
        }
    }
}

#[test]
fn items_before_the_response_can_be_consumed_after_it_and_cause_no_credit() {
    let mut stream = ReceiveStream::new(2);
    assert_eq!([1, 2].map(|item| stream.receive(item)), [Ok(()); 2]);
    stream.end();
    assert_eq!(stream.receive(3), Ok(()), "an item after the response must be ignored");
    assert_eq!(consume(&mut stream), (Vec::from([1, 2]), Vec::new()));
    assert_eq!(stream.next_item(), Next::End);
}

#[test]
fn an_item_beyond_the_credit_ends_a_stream_at_once() {
    let mut stream = ReceiveStream::new(2);
    assert_eq!([1, 2, 3, 4].map(|item| stream.receive(item)), [Ok(()), Ok(()), Err(Overflow), Ok(())]);
    stream.end();
    assert_eq!(stream.next_item(), Next::Overflow);
}

#[test]
fn a_stream_sends_within_its_credit() {
    let key = requests(1)[0];
    let mut streams = SendStreams::new();
    assert_eq!((streams.take_credit(key), streams.remove(key)), (Permit::Never, false));
    assert_eq!(streams.insert(key, 2), Ok(()));
    let taken = [(); 3].map(|()| streams.take_credit(key));
    assert_eq!(taken, [Permit::Granted, Permit::Granted, Permit::Wait]);
    assert!(streams.add_credit(key, 1));
    assert_eq!([streams.take_credit(key), streams.take_credit(key)], [Permit::Granted, Permit::Wait]);
    assert!(streams.remove(key));
    assert_eq!((streams.take_credit(key), streams.remove(key)), (Permit::Never, false));
}

#[test]
fn after_the_end_of_the_input_a_stream_can_use_its_credit() {
    let key = requests(1)[0];
    let mut streams = SendStreams::new();
    assert_eq!(streams.insert(key, 1), Ok(()));
    streams.end();
    assert_eq!([streams.take_credit(key), streams.take_credit(key)], [Permit::Granted, Permit::Never]);
}

#[test]
fn the_windows_of_all_streams_have_a_limit() {
    let keys = requests(3);
    let mut streams = SendStreams::new();
    assert_eq!(streams.insert(keys[0], MAX_PEER_CREDIT - 3), Ok(()));
    assert_eq!(streams.insert(keys[1], 1), Ok(()));
    assert_eq!((streams.check(3), streams.insert(keys[2], 3)), (Err(TooMuchCredit), Err(TooMuchCredit)));
    assert_eq!(streams.take_credit(keys[1]), Permit::Granted);
    // The window grows from 1 to 3.
    assert!(streams.add_credit(keys[1], MAX_STREAM_CREDIT));
    let granted =
        |streams: &mut SendStreams| (0..9).filter(|_| streams.take_credit(keys[1]) == Permit::Granted).count();
    assert_eq!(granted(&mut streams), 3);
    assert_eq!(streams.check(1), Err(TooMuchCredit));
    assert!(streams.add_credit(keys[1], MAX_STREAM_CREDIT));
    assert_eq!(granted(&mut streams), 3);
    // A removed stream no longer counts towards the limit.
    assert!(streams.remove(keys[0]));
    assert_eq!((streams.check(MAX_PEER_CREDIT - 3), streams.check(MAX_PEER_CREDIT - 2)), (Ok(()), Err(TooMuchCredit)));
    streams.clear();
    assert_eq!(streams.insert(keys[2], MAX_PEER_CREDIT), Ok(()));
}

#[test]
fn credit_that_arrives_before_its_stream_is_inserted_is_added_later() {
    let mut streams = SendStreams::new();
    let keys = requests(2);
    assert!(!streams.add_credit(keys[0], 2));
    assert!(!streams.add_credit(keys[0], u32::MAX));
    assert!(!streams.add_credit(keys[1], 2));
    assert_eq!(streams.insert(keys[0], 1), Ok(()));
    // The credit that arrived before the insertion also counts towards the limit.
    assert_eq!(streams.insert(keys[1], 1), Err(TooMuchCredit));
    assert_eq!((0..=MAX_PEER_CREDIT).filter(|_| streams.take_credit(keys[0]) == Permit::Granted).count(), 65_536);
    assert!(streams.remove(keys[0]));
    // The credit of an answered request is dropped.
    assert!(!streams.remove(keys[1]));
    assert_eq!(streams.insert(keys[1], 1), Ok(()));
    assert_eq!([streams.take_credit(keys[1]), streams.take_credit(keys[1])], [Permit::Granted, Permit::Wait]);
}

#[test]
fn the_key_of_an_earlier_request_in_a_slot_has_no_stream() {
    let mut server = server(Profile::GENERIC);
    let mut next = |id: i64| {
        server.handle(Incoming::Single(request(id, "a")));
        let Some(Event::Request { key, .. }) = server.poll_event() else { panic!("the event must be a request") };
        assert!(server.respond(key, Ok(super::pair::text("done"))));
        key
    };
    let (former, key) = (next(1), next(2));
    assert_eq!(former.slot(), key.slot());
    let mut streams = SendStreams::new();
    assert_eq!(streams.insert(key, 1), Ok(()));
    assert_eq!((streams.add_credit(former, 1), streams.remove(former)), (false, false));
    assert_eq!((streams.take_credit(former), streams.take_credit(key)), (Permit::Never, Permit::Granted));
}

#[test]
fn a_driver_can_poll_the_ends_of_calls_before_earlier_events() {
    let mut server = server(Profile::GENERIC);
    let calls = [(); 2].map(|()| server.call("a".to_string(), None, None).expect("room for a call"));
    server.handle(Incoming::Single(request(7, "b")));
    assert_eq!(server.queued_events(), 1);
    server.handle_end();
    assert_eq!(server.queued_events(), 3);
    assert!(server.poll_ended(3).is_none());
    for call in calls {
        assert_eq!(server.poll_ended(0).map(|(ended, _)| ended), Some(call));
    }
    assert!(server.poll_ended(0).is_none());
    let mut next = || matches!(server.poll_event(), Some(Event::Request { .. }));
    assert_eq!([next(), next()], [true, false]);
}
