//! Guests whose standard streams become non-blocking, before their start or later.

use std::process::Command;

use portway::codec::wipc::{FrameType, encode};

use crate::guests::guest;
use crate::non_blocking_streams::{
    Subject, carries_100_megabytes_each_way, serves_under_node, serves_whenever_the_flag_is_set,
};

fn frame(frame_type: FrameType, payload: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(frame_type, payload.as_bytes(), &mut bytes).unwrap();
    bytes
}

/// Returns a guest that sends each DATA frame back.
const fn echo(command: fn() -> Command) -> Subject {
    let data = |payload: &str| frame(FrameType::Data, payload);
    Subject { command, preamble: b"ready\n", request: data, answer: data }
}

const ECHO: Subject = echo(|| guest("ready echo").into_std());
const ASYNC_ECHO: Subject = echo(|| guest("ready async echo").into_std());

/// A blocking guest that answers calls.
const SERVER: Subject = Subject {
    command: || guest("ready serve").into_std(),
    // The server sends OPEN first.
    preamble: b"ready\nWIPC\0\0\0\0\0",
    request: |payload| {
        let call = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"echo","params":["{payload}"]}}"#);
        frame(FrameType::Call, &call)
    },
    answer: |payload| frame(FrameType::Call, &format!(r#"{{"jsonrpc":"2.0","id":"a","result":["{payload}"]}}"#)),
};

/// A guest with a peer on tokio, which also answers calls.
const PEER: Subject = Subject { command: || guest("ready peer").into_std(), preamble: b"ready\n", ..SERVER };

#[test]
fn a_guest_serves_whenever_its_streams_become_non_blocking() {
    serves_whenever_the_flag_is_set(ECHO);
}

#[test]
fn a_guest_server_serves_whenever_its_streams_become_non_blocking() {
    serves_whenever_the_flag_is_set(SERVER);
}

#[test]
fn a_channel_serves_whenever_its_streams_become_non_blocking() {
    serves_whenever_the_flag_is_set(ASYNC_ECHO);
}

#[test]
fn a_peer_of_a_host_serves_whenever_its_streams_become_non_blocking() {
    serves_whenever_the_flag_is_set(PEER);
}

#[test]
fn guests_serve_under_a_node_script_that_uses_their_streams() {
    [ECHO, SERVER, ASYNC_ECHO].into_iter().for_each(serves_under_node);
}

#[test]
fn a_hundred_megabytes_each_way_pass_a_guest_through_non_blocking_pipes() {
    carries_100_megabytes_each_way(ECHO);
}

#[test]
fn a_hundred_megabytes_each_way_pass_a_channel_through_non_blocking_pipes() {
    carries_100_megabytes_each_way(ASYNC_ECHO);
}
