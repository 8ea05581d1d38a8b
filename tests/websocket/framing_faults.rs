//! Violations of RFC 6455. After a violation, the server closes this connection with the code of the RFC, and still
//! serves its other connections.

use portway::{Limits, WebSocketPolicy};
use serde_json::json;

use crate::raw::{CLOSE, FINAL, PING, PONG, RawClient, TEXT, Test, frame, header, request, serve, serve_with};

const BINARY: u8 = 2;

/// Opens a connection, and sends `bytes` in pieces of `piece_length` bytes. Returns the code with which the server
/// closes this connection. Asserts that the server serves another client before and after this attack.
async fn close_code(bytes: &[u8], piece_length: usize) -> Result<u16, Box<dyn std::error::Error>> {
    let address = serve(WebSocketPolicy::new()).await?;
    let mut neighbour = RawClient::open(address).await?;
    neighbour.assert_served().await?;
    let mut client = RawClient::open(address).await?;
    client.assert_served().await?;
    for piece in bytes.chunks(piece_length) {
        if client.send(piece).await.is_err() {
            break;
        }
    }
    let (code, reason) = client.closed().await?;
    assert!(!reason.contains('/'), "a reason must not contain paths: {reason}");
    neighbour.assert_served().await?;
    Ok(code)
}

#[tokio::test]
async fn faults_of_the_framing_close_the_connection_with_1002() -> Test {
    let unmasked = [header(FINAL | TEXT, 0, 2), b"{}".to_vec()].concat();
    let mut cases = vec![
        ("an unmasked frame", unmasked),
        ("a continuation without a beginning", frame(FINAL, b"{}")),
        ("a text frame within a fragmented message", [frame(TEXT, b"{"), frame(FINAL | TEXT, b"}")].concat()),
        ("a binary frame within a fragmented message", [frame(TEXT, b"{"), frame(FINAL | BINARY, b"}")].concat()),
        ("a ping over 125 bytes", frame(FINAL | PING, &[b'x'; 126])),
        ("a pong over 125 bytes", frame(FINAL | PONG, &[b'x'; 126])),
        ("a close frame over 125 bytes", frame(FINAL | CLOSE, &[&1000u16.to_be_bytes()[..], &[b'x'; 124]].concat())),
        ("a fragment of a ping", frame(PING, b"x")),
        ("a fragment of a close frame", frame(CLOSE, &1000u16.to_be_bytes())),
        ("a close frame with a payload of one byte", frame(FINAL | CLOSE, &[3])),
    ];
    let long = |second: u8, length: &[u8], payload: &[u8]| {
        [&[FINAL | TEXT, 0x80 | second][..], length, &[0; 4], payload].concat()
    };
    for (length, payload) in [(0_u16, ""), (2, "{}"), (125, "")] {
        cases.push(("a length in 2 bytes that fits in 7 bits", long(126, &length.to_be_bytes(), payload.as_bytes())));
    }
    for (length, payload) in [(0_u64, ""), (2, "{}"), (65_535, ""), (1 << 63, ""), (u64::MAX, "")] {
        cases.push((
            "a length in 8 bytes that fits in 2 bytes, or needs 64 bits",
            long(127, &length.to_be_bytes(), payload.as_bytes()),
        ));
    }
    for bit in [0x40, 0x20, 0x10] {
        cases.push(("a reserved bit", frame(FINAL | bit | TEXT, b"{}")));
        cases.push(("a reserved bit of a control frame", frame(FINAL | bit | PING, b"")));
    }
    for opcode in (3..8).chain(11..16) {
        cases.push(("a reserved opcode", frame(FINAL | opcode, b"{}")));
    }
    for code in [0u16, 999, 1004, 1005, 1006, 1015, 1100, 2000, 2999, 5000, u16::MAX] {
        cases.push(("a close code that must not be sent", frame(FINAL | CLOSE, &code.to_be_bytes())));
    }
    for (name, bytes) in cases {
        for piece_length in [bytes.len(), 1] {
            assert_eq!(
                close_code(&bytes, piece_length).await.map_err(|error| format!("{name}: {error}"))?,
                1002,
                "{name}"
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_message_before_a_length_of_the_wrong_form_is_answered() -> Test {
    let address = serve(WebSocketPolicy::new()).await?;
    let host = address.to_string();
    let call = frame(FINAL | TEXT, br#"{"jsonrpc":"2.0","id":7,"method":"echo","params":[1]}"#);
    let fault = [FINAL | TEXT, 0x80 | 126, 0, 2, 0, 0, 0, 0, b'{', b'}'];
    // The first client sends all bytes with the head of its request, and the second one sends them after the upgrade.
    let head = request(&host, "");
    let (client, _) = RawClient::ask(address, &[head.as_bytes(), &call, &fault].concat()).await?;
    let mut second = RawClient::open(address).await?;
    second.send(&[&call[..], &fault].concat()).await?;
    for mut client in [client, second] {
        assert_eq!(client.message().await?, json!({"jsonrpc": "2.0", "id": 7, "result": [1]}));
        let (code, reason) = client.closed().await?;
        assert_eq!((code, &*reason), (1002, "the length of a frame must have the shortest form"));
    }
    Ok(())
}

#[tokio::test]
async fn text_that_is_not_utf_8_closes_the_connection_with_1007() -> Test {
    // In UTF-8, "ä" is C3 A4. The first fragment ends with C3, and the second begins with C3 instead of A4.
    let across = [frame(TEXT, b"\"\xc3"), frame(FINAL | PING, b""), frame(FINAL, b"\xc3\"")].concat();
    let unfinished = [frame(TEXT, b"\"\xc3"), frame(FINAL, b"")].concat();
    for (name, bytes) in [
        ("a bad byte", frame(FINAL | TEXT, b"\"\xff\"")),
        ("an encoded surrogate", frame(FINAL | TEXT, b"\"\xed\xa0\x80\"")),
        ("an overlong form", frame(FINAL | TEXT, b"\"\xc0\xaf\"")),
        ("a code point over 10FFFF", frame(FINAL | TEXT, b"\"\xf4\x90\x80\x80\"")),
        ("a bad character in two fragments", across),
        ("an end within a character", unfinished),
        ("the reason of a close frame", frame(FINAL | CLOSE, b"\x03\xe8\xff")),
    ] {
        for piece_length in [bytes.len(), 1] {
            assert_eq!(
                close_code(&bytes, piece_length).await.map_err(|error| format!("{name}: {error}"))?,
                1007,
                "{name}"
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn characters_may_be_split_between_fragments_with_pings_between_them() -> Test {
    let address = serve(WebSocketPolicy::new()).await?;
    let mut client = RawClient::open(address).await?;
    let text = json!({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": ["ä€😀"]}).to_string();
    let bytes = text.as_bytes();
    let mut sent = frame(TEXT, &[]);
    for byte in bytes {
        sent.extend(frame(0, &[*byte]));
        sent.extend(frame(FINAL | PING, b"between"));
    }
    sent.extend(frame(FINAL, &[]));
    client.send(&sent).await?;
    let mut pongs = 0;
    let response = loop {
        let frame = client.next().await?.ok_or("the server must not close the connection here")?;
        match frame.opcode {
            PONG => {
                assert_eq!(frame.payload, b"between");
                pongs += 1;
            }
            _ => break frame,
        }
    };
    assert!(pongs > 0, "the server must answer pings");
    let response: serde_json::Value = serde_json::from_slice(&response.payload)?;
    assert_eq!(response["result"], json!(["ä€😀"]));
    Ok(())
}

#[tokio::test]
async fn a_message_at_the_limit_is_served_and_a_longer_one_closes_the_connection_with_1009() -> Test {
    const LIMIT: usize = 100_000;
    let mut limits = Limits::DEFAULT;
    limits.message_bytes = LIMIT;
    let address = serve_with(WebSocketPolicy::new(), move |transport| transport.with_limits(limits)).await?;
    let message = |length: usize| {
        let empty = json!({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": [""]}).to_string();
        let text = "x".repeat(length - empty.len());
        json!({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": [text]}).to_string()
    };
    let mut neighbour = RawClient::open(address).await?;
    let mut client = RawClient::open(address).await?;
    client.send(&frame(FINAL | TEXT, message(LIMIT).as_bytes())).await?;
    assert_eq!(client.message().await?["id"], 1);
    // A frame over the limit is refused at its header, before its payload arrives.
    client.send(&header(FINAL | TEXT, 0x80, LIMIT + 1)).await?;
    client.send(&[0; 4]).await?;
    assert_eq!(client.closed().await?.0, 1009);
    // Each of these two fragments is shorter than the limit.
    let mut client = RawClient::open(address).await?;
    let text = message(LIMIT + 1);
    let (start, rest) = text.as_bytes().split_at(LIMIT / 2);
    client.send(&frame(TEXT, start)).await?;
    client.send(&frame(0, rest)).await?;
    assert_eq!(client.closed().await?.0, 1009);
    // This client sends the whole message before it reads. It must still receive the code.
    let mut client = RawClient::open(address).await?;
    client.send(&frame(FINAL | TEXT, &vec![b'x'; 4 * LIMIT])).await?;
    assert_eq!(client.closed().await?.0, 1009);
    neighbour.assert_served().await
}

#[tokio::test]
async fn a_message_that_is_not_json_is_answered_and_the_link_stays_open() -> Test {
    let address = serve(WebSocketPolicy::new()).await?;
    let mut client = RawClient::open(address).await?;
    for opcode in [TEXT, BINARY] {
        for _ in 0..3 {
            client.send(&frame(FINAL | opcode, b"{")).await?;
            let response = client.message().await?;
            assert_eq!(response["error"]["code"], -32700, "{response}");
            assert!(response["id"].is_null());
        }
    }
    // The server decodes a binary message as UTF-8.
    client.send(&frame(FINAL | BINARY, b"\"\xff\"")).await?;
    assert_eq!(client.message().await?["error"]["code"], -32700);
    client.send(&frame(FINAL | TEXT, b"")).await?;
    assert_eq!(client.message().await?["error"]["code"], -32700);
    client.assert_served().await
}

#[tokio::test]
async fn a_close_frame_is_answered_with_its_code_and_ends_the_connection() -> Test {
    let address = serve(WebSocketPolicy::new()).await?;
    for code in [1000u16, 1001, 1011, 3000, 4999] {
        let mut client = RawClient::open(address).await?;
        client.send(&frame(FINAL | CLOSE, &code.to_be_bytes())).await?;
        assert_eq!(client.closed().await?.0, code);
    }
    let mut client = RawClient::open(address).await?;
    client.send(&frame(FINAL | CLOSE, &[])).await?;
    assert_eq!(client.closed().await?.0, 1005);
    Ok(())
}
