//! Fuzzes a whole session of a WebSocket server. The input consists of the bytes of a client.
//!
//! The first byte selects one of three beginnings of the session. In the first, the server has already accepted the
//! request. In the second, the client sends a valid head before its bytes. In the third, the bytes of the client must
//! contain the head. The second byte selects the length of the pieces of the input. The other bytes are the bytes of
//! the client.

use std::net::SocketAddr;

use portway::{Context, Limits, RpcError, Server, Transport, WebSocketPolicy};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// The head of a valid request.
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// The close codes that the server itself chooses.
const OWN_CODES: [u16; 5] = [1001, 1002, 1007, 1008, 1009];

/// Checks any session.
pub fn websocket(bytes: &[u8]) {
    let Some((&[beginning, cut], sent)) = bytes.split_first_chunk() else { return };
    let length = usize::from(cut) + 1;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime");
    let (response, has_no_head) = runtime.block_on(session(beginning % 3, sent, length));
    let frames = if has_no_head { response.as_slice() } else { check_head(&response) };
    check_frames(frames, sent);
}

/// Runs a server whose client sends the bytes `sent` in pieces of `length` bytes. Returns the output of the server, and
/// whether the output has no head.
async fn session(beginning: u8, sent: &[u8], length: usize) -> (Vec<u8>, bool) {
    let (server_end, client_end) = tokio::io::duplex(4_096);
    let (mut reader, writer) = tokio::io::split(client_end);
    let head = if beginning == 1 { REQUEST } else { &[] };
    let sending = send(writer, [head, sent].concat(), length);
    let serving = async {
        let transport = if beginning == 0 { Transport::upgraded(server_end) } else { accept(server_end).await };
        if let Ok(transport) = transport {
            serve(transport).await;
        }
    };
    let mut response = Vec::new();
    let (_, _, read) = tokio::join!(serving, sending, reader.read_to_end(&mut response));
    read.expect("the server must end");
    (response, beginning == 0)
}

/// Sends bytes in pieces of `length` bytes, and closes the stream.
async fn send(mut writer: tokio::io::WriteHalf<DuplexStream>, bytes: Vec<u8>, length: usize) {
    for piece in bytes.chunks(length) {
        if writer.write_all(piece).await.is_err() {
            return;
        }
    }
    let _ = writer.shutdown().await;
}

async fn accept(stream: DuplexStream) -> std::io::Result<Transport> {
    let address = SocketAddr::from(([127, 0, 0, 1], 80));
    WebSocketPolicy::new().accept(stream, address, address).await
}

async fn serve(transport: Transport) {
    let mut limits = Limits::DEFAULT;
    limits.message_bytes = 500;
    let server = Server::new(transport.with_limits(limits));
    server.method("echo", |value: Value, _: Context| async move { Ok::<_, RpcError>(value) });
    server.run().await;
}

/// Checks the head of the response. Returns the frames after the head, or no bytes if the request was refused.
fn check_head(response: &[u8]) -> &[u8] {
    // The client may have ended within its head.
    let Some(end) = response.windows(4).position(|four| four == b"\r\n\r\n") else {
        assert!(response.is_empty(), "a head is incomplete");
        return &[];
    };
    let (head, rest) = response.split_at(end + 4);
    assert!(head.starts_with(b"HTTP/1.1 "), "the response is not HTTP");
    if head.starts_with(b"HTTP/1.1 101 ") { rest } else { &[] }
}

/// Checks that the frames of the server follow the rules, and that no frame follows a close frame.
fn check_frames(mut frames: &[u8], sent: &[u8]) {
    let mut text = None;
    let mut is_closed = false;
    while let [first, second, ..] = *frames {
        assert!(!is_closed, "a frame follows the close frame");
        assert_eq!(first & 0x70, 0, "a reserved bit is set");
        assert_eq!(second & 0x80, 0, "a frame of the server has a mask");
        let (start, length) = match second {
            126 => (4, u16::from_be_bytes(frames[2..4].try_into().expect("two bytes")) as usize),
            127 => (10, u64::from_be_bytes(frames[2..10].try_into().expect("eight bytes")) as usize),
            length => (2, usize::from(length)),
        };
        let payload = &frames[start..start + length];
        frames = &frames[start + length..];
        let is_final = first & 0x80 != 0;
        match first & 0x0f {
            8 => {
                is_closed = true;
                check_close(payload, sent);
            }
            9 | 10 => assert!(is_final && length <= 125, "a control frame is fragmented or too long"),
            opcode @ (0 | 1) => {
                assert_eq!(opcode == 0, text.is_some(), "a fragment is not in order");
                let text = text.get_or_insert_with(Vec::new);
                text.extend_from_slice(payload);
                if is_final {
                    let message: Value = serde_json::from_slice(text).expect("JSON");
                    assert!(message.is_object() || message.is_array(), "not a message: {message}");
                }
            }
            opcode => panic!("an unexpected opcode: {opcode}"),
        }
        if is_final && first & 0x0f < 2 {
            text = None;
        }
    }
    assert!(frames.is_empty(), "a frame is incomplete");
}

fn check_close(payload: &[u8], sent: &[u8]) {
    let Some(code) = payload.first_chunk() else {
        assert!(payload.is_empty(), "a close code is incomplete");
        return;
    };
    let code = u16::from_be_bytes(*code);
    // The server either chooses a code, or repeats the code of the client. A close frame of the client with a code has
    // at least eight bytes.
    assert!(OWN_CODES.contains(&code) || (1000..5000).contains(&code) && sent.len() >= 8, "code {code}");
    std::str::from_utf8(&payload[2..]).expect("the reason must be UTF-8");
}
