//! Answers arrive in the order of their requests, even if some of the requests are invalid. The client may write all
//! requests before it reads an answer.

use crate::daemon::{Builder, Daemon};
use crate::frames::{frame, frame_with_length, notification_with, request, with_header};

#[test]
fn a_thousand_pipelined_requests_are_answered_in_order() {
    let mut daemon = Daemon::start(&[]);
    let methods = ["version", "listMethods", "nope", "describeMethods", "initialize"];
    let bytes: Vec<u8> =
        (0..1_000).zip(methods.iter().cycle()).flat_map(|(id, method)| frame(request(id, method))).collect();
    daemon.write(bytes);
    for id in 0..1_000 {
        assert_eq!(daemon.answer().id(), id.to_string());
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn errors_are_sent_in_the_order_of_their_messages() {
    let mut daemon = Daemon::start(&[]);
    let good = |id: u32| frame(request(id, "version"));
    let json_type = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", request(4, "version").len());
    daemon.write(
        [
            good(1),
            frame("hello"),
            good(2),
            frame("[]"),
            frame_with_length("99999999999", ""),
            good(3),
            with_header(&json_type, request(4, "version")),
            frame(notification_with("nope", "[]")),
            frame(request(5, "nope")),
            frame_with_length("abc", "{}"),
            good(6),
            b"noise\n".to_vec(),
            frame(r#"{"jsonrpc":"2.0","id":true,"method":"version"}"#),
            good(7),
        ]
        .concat(),
    );
    let order: Vec<(String, i64)> = (0..13)
        .map(|_| {
            let answer = daemon.answer();
            let code = if answer.text.contains("\"error\"") { answer.failure().code } else { 0 };
            (answer.id(), code)
        })
        .collect();
    let expected = [
        ("1", 0),
        ("null", -32700),
        ("2", 0),
        ("null", -32600),
        ("null", -32600),
        ("3", 0),
        ("4", -32600),
        ("5", -32601),
        ("null", -32700),
        ("6", 0),
        ("null", -32700),
        ("null", -32600),
        ("7", 0),
    ];
    assert_eq!(order, expected.map(|(id, code)| (id.to_owned(), code)));
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}

#[test]
fn a_client_that_writes_everything_before_it_reads_is_served() {
    // The requests and the answers are much larger than the buffers of the pipes.
    const REQUESTS: usize = 10_000;
    let mut daemon = Builder::new(&["rpc"]).with_unread_stdout().start();
    let bytes: Vec<u8> = (0..REQUESTS).flat_map(|id| frame(request(id, "listMethods"))).collect();
    daemon.write(bytes);
    daemon.start_reading();
    for id in 0..REQUESTS {
        assert_eq!(daemon.answer().id(), id.to_string());
    }
    daemon.assert_no_pending_answer();
    daemon.close_and_expect_exit();
}
