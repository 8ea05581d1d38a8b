//! Rejects browsers that connect to a TCP port. Any web page can make its browser connect to a port of this machine.
//! The page can choose the body of the HTTP request, which could contain JSON-RPC messages. The connection of a browser
//! must not count as a peer.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use tokio::io::{AsyncRead, ReadBuf};

/// The first bytes that a browser sends: an HTTP method, or the beginning of a TLS record.
const BROWSER_PREFIXES: [&[u8]; 11] = [
    b"GET ",
    b"HEAD ",
    b"POST ",
    b"PUT ",
    b"DELETE ",
    b"CONNECT ",
    b"OPTIONS ",
    b"TRACE ",
    b"PATCH ",
    b"PRI ",
    b"\x16\x03",
];

/// The length of the longest entry of [`BROWSER_PREFIXES`].
const MAX_PREFIX_BYTES: usize = 8;

/// A reader that fails if its input begins with one of [`BROWSER_PREFIXES`]. If the prefix arrives in pieces, the
/// pieces before the last piece were already passed to the decoder. So the decoder never receives a whole prefix, or a
/// byte after the prefix.
#[derive(Debug)]
pub(super) struct BrowserGuard<R> {
    reader: R,
    /// The first bytes of the input.
    first: [u8; MAX_PREFIX_BYTES],
    /// The number of bytes in `first`.
    length: usize,
}

impl<R> BrowserGuard<R> {
    pub(super) const fn new(reader: R) -> Self {
        Self { reader, first: [0; MAX_PREFIX_BYTES], length: 0 }
    }

    /// Checks the next bytes of the input.
    ///
    /// # Errors
    /// If the input begins with one of [`BROWSER_PREFIXES`].
    fn check(&mut self, bytes: &[u8]) -> io::Result<()> {
        for (target, byte) in self.first.iter_mut().skip(self.length).zip(bytes) {
            *target = *byte;
            self.length += 1;
        }
        let first = self.first.get(..self.length).unwrap_or_default();
        if BROWSER_PREFIXES.iter().any(|prefix| first.starts_with(prefix)) {
            let problem =
                "the peer must speak JSON-RPC without HTTP or TLS, got the first bytes of an HTTP or TLS client";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BrowserGuard<R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.reader).poll_read(context, buffer))?;
        Poll::Ready(if this.length < MAX_PREFIX_BYTES {
            this.check(buffer.filled().get(before..).unwrap_or_default())
        } else {
            Ok(())
        })
    }
}
