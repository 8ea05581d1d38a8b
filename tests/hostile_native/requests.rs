//! Requests that try to make a server send many bytes, or fill its memory.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::connection::{Connection, frame, longest_run_of_x};
use crate::process::{Running, Test};

/// Returns a server, its folder, and a connection to the server.
fn server_with_connection() -> Result<(Running, tempfile::TempDir, Connection), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sock");
    let server = Running::server(&path)?;
    let connection = Connection::to(&path)?;
    Ok((server, folder, connection))
}

#[test]
fn an_id_of_more_than_1_024_characters_is_refused_and_never_repeated() -> Test {
    let (_server, _folder, mut connection) = server_with_connection()?;
    for length in [1_025, 100_000, 9_000_000] {
        connection.send(&json!({"jsonrpc": "2.0", "id": "x".repeat(length), "method": "steps"}))?;
    }
    let answers = connection.messages_so_far()?;
    assert_eq!(answers.len(), 3, "each request must have one answer, and no handler may run");
    for answer in &answers {
        assert_eq!(answer["id"], Value::Null);
        assert_eq!(answer["error"]["code"], -32_600);
        assert_eq!(answer["error"]["data"]["reason"], "id-too-long");
    }
    assert!(connection.bytes < 4_096, "{} bytes", connection.bytes);
    Ok(())
}

#[test]
fn an_id_of_1_024_characters_is_served() -> Test {
    let (_server, _folder, mut connection) = server_with_connection()?;
    let id = "x".repeat(1_024);
    connection.send(&json!({"jsonrpc": "2.0", "id": id, "method": "echo", "params": [1]}))?;
    let answer = connection.receive()?;
    assert_eq!((&answer["id"], &answer["result"]), (&json!(id), &json!([1])));
    Ok(())
}

#[test]
fn a_name_of_more_than_1_024_characters_is_refused_and_not_repeated() -> Test {
    let (_server, _folder, mut connection) = server_with_connection()?;
    for length in [1_025, 1_000_000] {
        let name = "x".repeat(length);
        connection.send(&json!({"jsonrpc": "2.0", "id": length, "method": name}))?;
        connection.send(&json!({"jsonrpc": "2.0", "method": name}))?;
        connection.send(&json!([{"jsonrpc": "2.0", "id": length, "method": name}]))?;
    }
    let answers = connection.messages_so_far()?;
    assert_eq!(answers.len(), 4);
    for answer in answers.iter().map(|answer| if answer.is_array() { &answer[0] } else { answer }) {
        assert_eq!(answer["error"]["code"], -32_600, "{:.200}", answer.to_string());
        assert!(longest_run_of_x(&answer.to_string()) < 2, "{:.200}", answer.to_string());
    }
    Ok(())
}

#[test]
fn no_error_repeats_more_than_100_characters_of_a_message() -> Test {
    let (_server, _folder, mut connection) = server_with_connection()?;
    let long = "x".repeat(1_024);
    let stream = |method: &str| json!({"method": method, "credit": 1});
    for (id, (method, params)) in [
        (long.as_str(), json!([])),
        ("secret", json!(long)),
        ("secret", json!([long])),
        ("secret", json!({ long.as_str(): long })),
        ("rpc.stream", stream(&long)),
        ("rpc.stream", json!({"method": "secret", "credit": long})),
        ("rpc.stream", json!({ long.as_str(): 1 })),
    ]
    .into_iter()
    .enumerate()
    {
        connection.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
    }
    connection.send(&json!({"jsonrpc": long, "id": 100, "method": "secret"}))?;
    connection.send(&json!({ "jsonrpc": "2.0", long.as_str(): 1 }))?;
    connection.stream.write_all(&frame(&long))?;
    connection.stream.write_all(&frame(&format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"{long}")))?;
    connection.stream.write_all(format!("{long}\r\n\r\n").as_bytes())?;
    for answer in connection.messages_so_far()? {
        assert!(longest_run_of_x(&answer.to_string()) <= 100, "{:.300}", answer.to_string());
    }
    Ok(())
}

#[test]
fn running_requests_are_bounded_in_bytes() -> Test {
    let (server, folder, mut connection) = server_with_connection()?;
    let before = server.peak_mib()?;
    let filler = "x".repeat(1_000_000);
    connection.stream.set_write_timeout(Some(Duration::from_secs(2)))?;
    let mut sent = 0;
    for id in 0..500 {
        // The handler waits longer than this test. The server may refuse a request beyond the limit, or stop reading.
        if connection.send(&json!({"jsonrpc": "2.0", "id": id, "method": "hang", "params": [filler]})).is_err() {
            break;
        }
        sent += 1;
    }
    let growth_mib = server.peak_mib()? - before;
    // The bound covers the limit of 64 MiB for running requests, and the buffers for reading.
    assert!(growth_mib <= 160, "{growth_mib} MiB for {sent} requests of a megabyte");
    assert!(Connection::to(&folder.path().join("a.sock"))?.ping()? < Duration::from_secs(2));
    Ok(())
}

#[test]
fn queued_requests_that_are_cancelled_release_their_memory() -> Test {
    let pairs = 300;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sock");
    let server = Running::server_in(&path, "serve one by one")?;
    let mut connection = Connection::to(&path)?;
    // This server runs one request at a time. The first request hangs, so all later requests are queued.
    connection.send(&json!({"jsonrpc": "2.0", "id": "first", "method": "hang", "params": []}))?;
    let before = server.peak_mib()?;
    let filler = "x".repeat(1_000_000);
    for id in 0..pairs {
        connection.send(&json!({"jsonrpc": "2.0", "id": id, "method": "hang", "params": [filler]}))?;
        connection.send(&json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}}))?;
    }
    for id in 0..pairs {
        let answer = connection.receive()?;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32_800)));
    }
    let growth_mib = server.peak_mib()? - before;
    assert!(growth_mib <= 64, "{growth_mib} MiB for {pairs} requests of a megabyte");
    Ok(())
}

#[test]
fn replies_that_wait_for_the_rest_of_their_batch_are_bounded_in_bytes() -> Test {
    let invalid_with_long_id = |index: usize| match index % 2 {
        // All elements are invalid. The error for every second element is long, since it repeats the long id.
        0 => json!(1),
        _ => json!({"jsonrpc": "2.0", "id": "x".repeat(1_024), "method": 1}),
    };
    let unknown = |index: usize| json!({"jsonrpc": "2.0", "id": format!("{index:x>1024}"), "method": "no such method"});
    let invalid = |_: usize| json!(1);
    let kinds: [(&dyn Fn(usize) -> Value, i64); 3] = [(&invalid_with_long_id, 400), (&unknown, 200), (&invalid, 1_000)];
    for (number, (element, batches)) in kinds.into_iter().enumerate() {
        let (server, folder, mut connection) = server_with_connection()?;
        let before = server.peak_mib()?;
        let rest: Vec<Value> = (0..999).map(element).collect();
        let mut refused_batches = 0;
        for id in 0..batches {
            let mut batch = vec![json!({"jsonrpc": "2.0", "id": id, "method": "hang", "params": []})];
            batch.extend_from_slice(&rest);
            connection.send(&Value::Array(batch))?;
            for answers in connection.messages_so_far()? {
                // The first request of a batch hangs, so the server buffers the replies to all other elements. If these
                // replies exceed the limit, the server refuses the first request, and then sends all replies.
                let answers = answers.as_array().ok_or("the answer must be a batch")?;
                let first = answers.iter().find(|answer| answer["id"] == id).ok_or("the request must be answered")?;
                assert_eq!(first["error"]["data"]["reason"], "too-many-requests");
                assert_eq!(answers.len(), 1_000);
                refused_batches += 1;
            }
        }
        let growth_mib = server.peak_mib()? - before;
        // The bound covers the limit of 64 MiB for waiting replies, and the buffers for reading.
        assert!(growth_mib <= 130, "{growth_mib} MiB, kind {number}, {refused_batches} batches refused");
        assert_ne!(refused_batches, 0, "no batch of kind {number} was refused");
        assert!(Connection::to(&folder.path().join("a.sock"))?.ping()? < Duration::from_secs(5));
    }
    Ok(())
}

#[test]
fn noise_and_broken_messages_neither_stop_a_server_nor_fill_its_memory() -> Test {
    let (server, _folder, mut connection) = server_with_connection()?;
    let before = server.peak_mib()?;
    let deep = "[".repeat(1_000_000);
    let broken = [
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
        b"Content-Length: 18446744073709551616\r\n\r\n".to_vec(),
        b"Content-Length: -1\r\n\r\n".to_vec(),
        b"Content-Length: 5\r\nContent-Length: 7\r\n\r\n12345".to_vec(),
        frame(&deep),
        frame(&format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{deep}")),
        frame("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\ud800\"}"),
        frame(&format!("[{}]", vec!["1"; 100_000].join(","))),
        vec![0xff; 100_000],
        vec![b'\n'; 100_000],
    ];
    let mut sent = 0;
    for round in 0..10 {
        for bytes in &broken {
            connection.stream.write_all(bytes)?;
            sent += bytes.len();
        }
        // The server answers each run of noise, and then this request.
        connection.send(&json!({"jsonrpc": "2.0", "id": round, "method": "echo", "params": [round]}))?;
        while connection.receive()?["result"] != json!([round]) {}
    }
    assert!(connection.bytes < sent, "{} bytes of answers to {sent} bytes", connection.bytes);
    let growth_mib = server.peak_mib()? - before;
    assert!(growth_mib <= 64, "{growth_mib} MiB");
    Ok(())
}
