//! Browsers at a TCP port. A web page of any origin can have its browser connect to a port of this machine and send a body of
//! its choice there. It is not to be taken for a peer.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use tokio::io::{AsyncRead, ReadBuf};

/// What a connection of a browser begins with: an HTTP request, or the first record of TLS.
const STARTS: [&[u8]; 11] = [
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

/// The longest of [`STARTS`], in bytes.
const LONGEST: usize = 8;

/// A reader that fails if what comes is from a browser. Nothing but a part of the first word has been read by then.
#[derive(Debug)]
pub(super) struct NoBrowser<R> {
    reader: R,
    first: [u8; LONGEST],
    /// How many bytes have come; those beyond `first` do not count.
    length: usize,
}

impl<R> NoBrowser<R> {
    pub(super) const fn new(reader: R) -> Self {
        Self { reader, first: [0; LONGEST], length: 0 }
    }

    /// # Errors
    /// If the first bytes are those of a browser.
    fn check(&mut self, bytes: &[u8]) -> io::Result<()> {
        for (place, byte) in self.first.iter_mut().skip(self.length).zip(bytes) {
            *place = *byte;
            self.length += 1;
        }
        let first = self.first.get(..self.length).unwrap_or_default();
        if STARTS.iter().any(|start| first.starts_with(start)) {
            let problem =
                "the other side is a browser or another client of HTTP: it must speak JSON-RPC without HTTP or TLS";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for NoBrowser<R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.reader).poll_read(context, buffer))?;
        Poll::Ready(if this.length < LONGEST {
            this.check(buffer.filled().get(before..).unwrap_or_default())
        } else {
            Ok(())
        })
    }
}
