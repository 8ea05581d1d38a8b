//! The refusal of an HTTP connection.

use core::fmt::Display;
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::limits::REFUSAL_LINGER_TIMEOUT;

/// If at least this number of refusals or handshakes is running, a connection without a place is closed without a
/// response.
pub(super) const MAX_REFUSALS: usize = 256;

/// The reason of a refusal because all places are taken.
pub(super) const NO_PLACE: &str = "the server has too many connections; try again later";

/// Maximum bytes of one read.
const READ_BYTES: usize = 1024;

/// Refuses a request, and closes the connection. `status` is the code with its text. `header` contains complete header
/// lines for the response, or is empty. Errors are ignored, because the connection ends in any case.
pub(super) async fn refuse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    status: impl Display,
    header: &str,
    reason: &str,
) {
    let response = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\n{header}Content-Type: text/plain; charset=utf-8\r\nContent-Length: \
         {}\r\n\r\n{reason}\n",
        reason.len() + 1
    );
    let refused = async {
        stream.write_all(response.as_bytes()).await?;
        stream.shutdown().await?;
        // If bytes of the peer arrive after the socket is closed, the peer may not receive the response. So these bytes
        // are read first.
        let mut rest = [0; READ_BYTES];
        while stream.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    let _ = timeout(REFUSAL_LINGER_TIMEOUT, refused).await;
}
