//! Reads and writes the heads of HTTP messages. The length of a head is limited.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tungstenite::handshake::machine::TryParse;
use tungstenite::http::HeaderMap;

use crate::native::limits::WEBSOCKET_HEAD_BYTES;

/// Maximum bytes of one read.
const READ_BYTES: usize = 1024;

/// Why a head was not read.
#[derive(Debug)]
pub(super) enum HeadError {
    /// The head is longer than [`WEBSOCKET_HEAD_BYTES`].
    TooLong,
    /// The head is not valid. The text is the reason, without content of the head.
    Invalid(String),
    /// The stream failed or ended.
    Io(io::Error),
}

/// Reads a head. Returns the head, and the bytes that were read after it.
pub(super) async fn read<T: TryParse>(stream: &mut (impl AsyncRead + Unpin)) -> Result<(T, Vec<u8>), HeadError> {
    let mut bytes = Vec::with_capacity(READ_BYTES);
    loop {
        let room = WEBSOCKET_HEAD_BYTES.saturating_sub(bytes.len()).min(READ_BYTES);
        if room == 0 {
            return Err(HeadError::TooLong);
        }
        let read = (&mut *stream).take(room as u64).read_buf(&mut bytes).await.map_err(HeadError::Io)?;
        if read == 0 {
            return Err(HeadError::Io(io::ErrorKind::UnexpectedEof.into()));
        }
        // A head is parsed only when it is complete. If each byte arrives alone, parsing after each read would take
        // quadratic time.
        if !has_blank_line(&bytes, read) {
            continue;
        }
        match T::try_parse(&bytes) {
            Ok(Some((length, head))) => return Ok((head, bytes.split_off(length))),
            Ok(None) => {}
            Err(error) => return Err(HeadError::Invalid(error.to_string())),
        }
    }
}

/// Returns whether the end of a blank line is within the last `latest` bytes.
fn has_blank_line(bytes: &[u8], latest: usize) -> bool {
    let from = bytes.len().saturating_sub(latest + 3);
    let latest = bytes.get(from..).unwrap_or_default();
    latest.windows(2).any(|pair| pair == b"\n\n") || latest.windows(3).any(|three| three == b"\n\r\n")
}

/// Writes the head of a response that accepts the upgrade.
pub(super) async fn write_accept(
    stream: &mut (impl AsyncWrite + Unpin),
    accept: &str,
    subprotocol: Option<&str>,
) -> io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: \
         {accept}\r\n"
    );
    if let Some(subprotocol) = subprotocol {
        head.push_str(&format!("Sec-WebSocket-Protocol: {subprotocol}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.flush().await
}

/// Returns the only value of a header. Returns `None` if the header is missing.
///
/// # Errors
/// If the header occurs several times, or is not visible ASCII.
pub(super) fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() { Err(()) } else { value.to_str().map(Some).map_err(|_| ()) }
}

/// Returns the elements of a header that is a list, such as the subprotocols.
pub(super) fn list<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|element| !element.is_empty())
}
