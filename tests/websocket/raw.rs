//! A WebSocket client without the library. It reads and writes the bytes of a TCP connection.

use std::error::Error;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use portway::{Context, Listener, Peer, RpcError, WebSocketPolicy};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

pub(crate) type Test = Result<(), Box<dyn Error>>;

/// Maximum time of one wait in a test. It is long enough for a slow machine.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) const TEXT: u8 = 1;
pub(crate) const CLOSE: u8 = 8;
pub(crate) const PING: u8 = 9;
pub(crate) const PONG: u8 = 10;
/// The bit that marks the last fragment of a message.
pub(crate) const FINAL: u8 = 0x80;

/// A frame from the server.
#[derive(Debug, PartialEq)]
pub(crate) struct ServerFrame {
    pub(crate) opcode: u8,
    pub(crate) is_final: bool,
    pub(crate) payload: Vec<u8>,
}

pub(crate) struct RawClient {
    pub(crate) stream: TcpStream,
    /// The bytes that were received and do not belong to a returned head or frame.
    unparsed: Vec<u8>,
}

/// Registers the methods that the tests call.
pub(crate) fn register_methods(peer: &Peer) {
    peer.method("echo", |value: Value, _: Context| async move { Ok::<_, RpcError>(value) });
    peer.method("never", |_: Value, _: Context| std::future::pending::<Result<(), RpcError>>());
}

/// Starts a server with [`register_methods`] and this policy, in a separate task. Returns its address.
pub(crate) async fn serve(policy: WebSocketPolicy) -> io::Result<SocketAddr> {
    serve_with(policy, |transport| transport).await
}

/// Starts a server as [`serve`] does. `change` changes the transport of each connection.
pub(crate) async fn serve_with(
    policy: WebSocketPolicy,
    change: impl Fn(portway::Transport) -> portway::Transport + Send + Sync + 'static,
) -> io::Result<SocketAddr> {
    let listener = Listener::websocket_with("127.0.0.1:0", policy).await?.with(change);
    let address = listener.address().ok_or_else(|| io::Error::other("no address"))?;
    tokio::spawn(listener.serve(register_methods));
    Ok(address)
}

/// Returns the head of a handshake request. `headers` contains further header lines, each with `\r\n` at its end.
pub(crate) fn request(host: &str, headers: &str) -> String {
    format!(
        "GET /rpc HTTP/1.1\r\nHost: {host}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
    )
}

/// Returns a masked frame, as a client must send it. `first_byte` contains the opcode, and [`FINAL`] for the last
/// fragment of a message.
pub(crate) fn frame(first_byte: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [0x12, 0x34, 0x56, 0x78];
    let mut frame = header(first_byte, 0x80, payload.len());
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

/// Returns the header of a frame, without its masking key. `first_byte` is as in [`frame`]. `mask_bit` is 0x80 for a
/// masked frame, and otherwise 0.
pub(crate) fn header(first_byte: u8, mask_bit: u8, length: usize) -> Vec<u8> {
    let mut header = vec![first_byte];
    match length {
        0..126 => header.push(mask_bit | length as u8),
        126..65_536 => {
            header.push(mask_bit | 126);
            header.extend((length as u16).to_be_bytes());
        }
        _ => {
            header.push(mask_bit | 127);
            header.extend((length as u64).to_be_bytes());
        }
    }
    header
}

/// Returns the output of the future, or an error after [`TEST_TIMEOUT`].
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> io::Result<T> {
    timeout(TEST_TIMEOUT, future).await.map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "the test took too long"))
}

impl RawClient {
    /// Connects and sends a request. Returns a client for the connection, and the head of the response.
    pub(crate) async fn ask(address: SocketAddr, request: impl AsRef<[u8]>) -> io::Result<(Self, String)> {
        let mut client = Self { stream: TcpStream::connect(address).await?, unparsed: Vec::new() };
        client.stream.set_nodelay(true)?;
        client.stream.write_all(request.as_ref()).await?;
        let head = client.read_head().await?;
        Ok((client, head))
    }

    /// Connects and opens a WebSocket.
    pub(crate) async fn open(address: SocketAddr) -> io::Result<Self> {
        let (client, head) = Self::ask(address, &request(&address.to_string(), "")).await?;
        if head.starts_with("HTTP/1.1 101 ") { Ok(client) } else { Err(io::Error::other(head)) }
    }

    async fn read_head(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.unparsed.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = self.unparsed.drain(..end + 4).collect();
                return Ok(String::from_utf8_lossy(&head).into_owned());
            }
            if within(self.stream.read_buf(&mut self.unparsed)).await?? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        within(self.stream.write_all(bytes)).await?
    }

    /// Returns the next frame from the server, or `None` at the end of the connection.
    pub(crate) async fn next(&mut self) -> io::Result<Option<ServerFrame>> {
        loop {
            if let Some(frame) = self.take_frame() {
                return Ok(Some(frame));
            }
            match within(self.stream.read_buf(&mut self.unparsed)).await? {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn take_frame(&mut self) -> Option<ServerFrame> {
        let [first, second, ..] = *self.unparsed.as_slice() else { return None };
        assert_eq!(second & 0x80, 0, "a server must not mask its frames");
        let (start, length) = match second {
            126 => (4, u16::from_be_bytes(self.unparsed.get(2..4)?.try_into().ok()?) as usize),
            127 => (10, u64::from_be_bytes(self.unparsed.get(2..10)?.try_into().ok()?) as usize),
            length => (2, length as usize),
        };
        let payload = self.unparsed.get(start..start + length)?.to_vec();
        self.unparsed.drain(..start + length);
        Some(ServerFrame { opcode: first & 0x0f, is_final: first & 0x80 != 0, payload })
    }

    /// Reads all fragments of the next message. Ignores pings and pongs.
    pub(crate) async fn message(&mut self) -> io::Result<Value> {
        let mut text = Vec::new();
        loop {
            let frame = self.next().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
            match frame.opcode {
                PING | PONG => continue,
                CLOSE => return Err(io::Error::other(format!("closed: {frame:?}"))),
                _ => text.extend(frame.payload),
            }
            if frame.is_final {
                return Ok(serde_json::from_slice(&text)?);
            }
        }
    }

    /// Calls `echo` of the server, and checks the response.
    pub(crate) async fn assert_served(&mut self) -> Test {
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": "echo", "params": ["still there"]});
        self.send(&frame(FINAL | TEXT, request.to_string().as_bytes())).await?;
        assert_eq!(self.message().await?, json!({"jsonrpc": "2.0", "id": 7, "result": ["still there"]}));
        Ok(())
    }

    /// Reads until the server has closed the connection. Returns the code and the reason of its close frame.
    pub(crate) async fn closed(&mut self) -> io::Result<(u16, String)> {
        let mut closed = None;
        while let Some(frame) = self.next().await? {
            if frame.opcode == CLOSE {
                assert_eq!(closed, None, "the server must send only one close frame");
                let code =
                    frame.payload.get(..2).and_then(|code| code.try_into().ok()).map_or(1005, u16::from_be_bytes);
                let reason = String::from_utf8_lossy(frame.payload.get(2..).unwrap_or_default()).into_owned();
                closed = Some((code, reason));
            }
        }
        closed.ok_or_else(|| io::Error::other("closed without a close frame"))
    }
}
