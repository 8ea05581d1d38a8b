//! A byte stream for the library `tungstenite`, which does no IO itself. A read or a flush that would wait returns
//! `WouldBlock` instead. A write only buffers its bytes.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::cell::Cell;
use std::io::{self, Read, Write};
use std::mem;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::frame_tracker::FrameTracker;
use crate::native::scratch::with_scratch;

/// Number of bytes that are buffered before they are written. Longer messages are sent in fragments of this length,
/// because a longer buffer would stay allocated.
pub(super) const WRITE_BYTES: usize = 64 * 1024;

/// Maximum capacity of the spare buffer for output.
const MAX_SPARE_BYTES: usize = 2 * WRITE_BYTES;

/// A byte stream that records its reads and writes.
#[derive(Debug)]
pub(super) struct ObservedStream<S> {
    stream: S,
    pub(super) tracker: FrameTracker,
    /// Bytes that were read and not passed to the library yet, from `ahead_start` on.
    ahead: Vec<u8>,
    ahead_start: usize,
    /// Frames that are not completely written yet. The first `written` bytes are written.
    output: Vec<u8>,
    written: usize,
    /// The number of bytes that were passed to the library.
    pub(super) read: u64,
    /// The latest time at which the peer has shown that it exists. The peer shows this when it sends bytes, or when the
    /// stream has room again after a write had to wait.
    pub(super) last_seen: Instant,
    /// Whether the latest write had to wait.
    is_blocked: bool,
}

thread_local! {
    /// An empty buffer for output. The next connection with output takes this buffer. So an idle connection needs no
    /// buffer.
    static SPARE_OUTPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The stream, while it is polled.
pub(super) struct Polled<'a, 'b, 'c, S> {
    pub(super) stream: &'a mut ObservedStream<S>,
    pub(super) context: &'b mut Context<'c>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> ObservedStream<S> {
    /// Wraps a stream. `unread` are bytes of the stream that were read before. Bytes that must not be passed to the
    /// library are removed from `unread`.
    pub(super) fn new(stream: S, unread: &mut Vec<u8>) -> Self {
        let mut tracker = FrameTracker::default();
        unread.truncate(tracker.advance(unread));
        Self {
            stream,
            tracker,
            ahead: Vec::new(),
            ahead_start: 0,
            output: Vec::new(),
            written: 0,
            read: unread.len() as u64,
            last_seen: Instant::now(),
            is_blocked: false,
        }
    }

    /// Reads bytes. The library asks for few bytes at a time, because its buffer is small. So a read from the stream
    /// gets as many bytes as are available, and the other bytes are passed to the library later.
    fn poll_read(&mut self, context: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
        if self.ahead_start == self.ahead.len() {
            return self.poll_stream(context, bytes);
        }
        let mut ahead = self.ahead.get(self.ahead_start..).unwrap_or_default();
        // A read from a slice does not fail.
        let count = ahead.read(bytes).unwrap_or_default();
        self.ahead_start += count;
        Poll::Ready(Ok(count))
    }

    fn poll_stream(&mut self, context: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
        self.ahead_start = 0;
        with_scratch(|scratch| {
            let mut buffer = ReadBuf::new(scratch);
            let Poll::Ready(read) = Pin::new(&mut self.stream).poll_read(context, &mut buffer) else {
                // An idle connection needs no buffer.
                self.ahead = Vec::new();
                return Poll::Pending;
            };
            self.ahead.clear();
            read?;
            let read = buffer.filled();
            if !read.is_empty() {
                self.last_seen = Instant::now();
            }
            let (now, later) = read.split_at(bytes.len().min(read.len()));
            if let Some(start) = bytes.get_mut(..now.len()) {
                start.copy_from_slice(now);
            }
            self.ahead.extend_from_slice(later);
            Poll::Ready(Ok(now.len()))
        })
    }

    /// Returns the buffer to which frames are appended. [`ObservedStream::poll_flush`] writes these frames.
    pub(super) fn output(&mut self) -> &mut Vec<u8> {
        if self.output.capacity() == 0 {
            self.output = SPARE_OUTPUT.take();
        }
        &mut self.output
    }

    /// Writes the buffered frames if they have more than `WRITE_BYTES`. Returns whether unwritten bytes must wait.
    pub(super) fn write_if_full(&mut self, context: &mut Context<'_>) -> io::Result<bool> {
        Ok(self.output.len() > WRITE_BYTES && self.poll_write(context)?.is_pending())
    }

    /// Writes all frames that are buffered.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest @ [_, ..]) = self.output.get(self.written..) {
            let Poll::Ready(count) = Pin::new(&mut self.stream).poll_write(context, rest) else {
                self.is_blocked = true;
                return Poll::Pending;
            };
            // The buffer of the stream was full, and has room again. So the peer has received bytes.
            if mem::take(&mut self.is_blocked) {
                self.last_seen = Instant::now();
            }
            match count? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
        }
        if self.written > 0 {
            self.written = 0;
            let mut output = mem::take(&mut self.output);
            output.clear();
            output.shrink_to(MAX_SPARE_BYTES);
            SPARE_OUTPUT.set(output);
        }
        Poll::Ready(Ok(()))
    }

    /// Writes all frames that are buffered, and flushes the stream.
    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Shuts the output down.
    pub(super) fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    /// Reads and discards bytes. Returns the number of these bytes, or 0 at the end of the input.
    pub(super) fn poll_discard(&mut self, context: &mut Context<'_>, scratch: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(scratch);
        Pin::new(&mut self.stream).poll_read(context, &mut buffer).map_ok(|()| buffer.filled().len())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Read for Polled<'_, '_, '_, S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while !self.stream.tracker.has_invalid_length() {
            let Poll::Ready(read) = self.stream.poll_read(self.context, bytes) else {
                return Err(io::ErrorKind::WouldBlock.into());
            };
            let read = bytes.get(..read?).unwrap_or_default();
            let count = self.stream.tracker.advance(read);
            self.stream.read += count as u64;
            // For the library, 0 bytes are the end of the stream.
            if count > 0 || read.is_empty() {
                return Ok(count);
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Write for Polled<'_, '_, '_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.output().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.stream.poll_flush(self.context) {
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
            Poll::Ready(flushed) => flushed,
        }
    }
}
