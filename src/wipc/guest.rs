//! A blocking WIPC guest, which needs neither a runtime nor threads.

use core::fmt;
use std::io::{self, Read, Write};
use std::mem;

use super::OwnedFrame;
use crate::codec::wipc::{Decoder, Event, Frame, FrameType, encode};
use crate::stdio::{Stdin, Stdout, stdin, stdout};

/// Maximum bytes of one read.
const READ_BYTES: usize = 64 * 1024;

/// A blocking guest, on standard input and output or on other streams.
///
/// Standard output is locked while a frame is written, so that other output of the program does not split the frame.
/// The host receives other output as passthrough. Programs should write such output to standard error.
///
/// A guest ignores input between frames.
///
/// ```no_run
/// use portway::codec::wipc::FrameType;
/// use portway::wipc::Guest;
///
/// // Sends each frame back.
/// let mut guest = Guest::new();
/// guest.send(FrameType::Open, b"")?;
/// while let Some(frame) = guest.receive()? {
///     guest.send(frame.frame_type, &frame.payload)?;
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Guest<R = Stdin, W = Stdout> {
    input: R,
    output: W,
    decoder: Decoder,
    chunk: Vec<u8>,
    /// The position in `chunk` of the first byte that is not decoded yet.
    undecoded_start: usize,
    /// The position in `chunk` after the last byte that was read.
    undecoded_end: usize,
    /// Whether the input has ended, or `CLOSE` was received.
    has_ended: bool,
    /// Whether `CLOSE` was sent.
    has_closed: bool,
    /// Whether the last received frame replaces a `CALL` that was too long, see `limit_calls`.
    is_oversize: bool,
}

impl Guest {
    /// Creates a guest on standard input and output. The two streams may be non-blocking (`O_NONBLOCK`): see
    /// [`stdio`](crate::stdio).
    #[must_use]
    pub fn new() -> Self {
        Self::on(stdin(), stdout())
    }
}

impl Default for Guest {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Read, W: Write> Guest<R, W> {
    /// Creates a guest on any two streams. The guest buffers reads, so the streams need no buffer. Reads and writes
    /// must block until they complete. For standard streams, use [`stdio`](crate::stdio) instead of [`std::io`].
    pub const fn on(input: R, output: W) -> Self {
        Self {
            input,
            output,
            decoder: Decoder::new(),
            chunk: Vec::new(),
            undecoded_start: 0,
            undecoded_end: 0,
            has_ended: false,
            has_closed: false,
            is_oversize: false,
        }
    }

    /// Rejects frames whose payload exceeds `max_payload` bytes. The bytes of a rejected frame are ignored, but are
    /// searched for other frames. Default: 2^32 − 1.
    #[must_use]
    pub fn with_max_payload(self, max_payload: u32) -> Self {
        Self { decoder: Decoder::with_max_payload(max_payload), ..self }
    }

    /// Writes a frame.
    ///
    /// # Errors
    /// Returns the error of the output. Returns [`io::ErrorKind::InvalidInput`], and writes nothing, for a payload of 4
    /// GiB or more. Returns [`io::ErrorKind::BrokenPipe`] after `CLOSE` was sent.
    pub fn send(&mut self, frame_type: FrameType, payload: &[u8]) -> io::Result<()> {
        if self.has_closed {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "cannot send after CLOSE"));
        }
        let mut frame = Vec::new();
        encode(frame_type, payload, &mut frame)
            .map_err(|problem| io::Error::new(io::ErrorKind::InvalidInput, problem))?;
        self.output.write_all(&frame)?;
        self.output.flush()?;
        self.has_closed = frame_type == FrameType::Close;
        Ok(())
    }

    /// Waits for the next frame. After `CLOSE` was received, no more input is read, but frames that were already read
    /// are returned. Returns `None` after these frames, and at the end of the input. After `None`, the guest should
    /// finish its work and exit.
    ///
    /// # Errors
    /// Returns the error of the input. Returns [`io::ErrorKind::UnexpectedEof`] if the input ends within a frame.
    pub fn receive(&mut self) -> io::Result<Option<OwnedFrame>> {
        loop {
            let mut input = self.chunk.get(self.undecoded_start..self.undecoded_end).unwrap_or_default();
            while let Some(event) = self.decoder.next(&mut input) {
                let frame = match event {
                    Event::Frame(frame) => frame,
                    Event::Oversize { .. } => Frame { frame_type: FrameType::Call, payload: &[] },
                    Event::Passthrough(_) | Event::Dropped { .. } | Event::Truncated { .. } => continue,
                };
                self.is_oversize = matches!(event, Event::Oversize { .. });
                let frame = OwnedFrame { frame_type: frame.frame_type, payload: frame.payload.to_vec() };
                self.undecoded_start = self.undecoded_end - input.len();
                self.has_ended |= frame.frame_type == FrameType::Close;
                return Ok(Some(frame));
            }
            (self.undecoded_start, self.undecoded_end) = (0, 0);
            if self.has_ended {
                return Ok(None);
            }
            if self.chunk.is_empty() {
                self.chunk = vec![0; READ_BYTES];
            }
            self.undecoded_end = match self.input.read(&mut self.chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                Err(error) => return Err(error),
                Ok(0) => {
                    self.has_ended = true;
                    return self.finish();
                }
                Ok(count) => count,
            };
        }
    }

    /// Sets the maximum payload of a `CALL`, in bytes. A longer `CALL` is received as an empty frame, for which
    /// `is_oversize` returns true.
    pub(super) fn limit_calls(&mut self, max_bytes: usize) {
        self.decoder = mem::take(&mut self.decoder).with_max_call(max_bytes);
    }

    /// Returns whether the last received frame was too long.
    pub(super) const fn is_oversize(&self) -> bool {
        self.is_oversize
    }

    /// Returns whether `CLOSE` was sent. After `CLOSE`, no frame can be sent.
    pub(super) const fn has_closed(&self) -> bool {
        self.has_closed
    }

    fn finish(&mut self) -> io::Result<Option<OwnedFrame>> {
        while let Some(event) = self.decoder.finish() {
            if let Event::Truncated { received_bytes } = event {
                let problem = format!("the input ended within a frame, after {received_bytes} of its bytes");
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem));
            }
        }
        Ok(None)
    }
}

impl<R, W> fmt::Debug for Guest<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guest").field("has_ended", &self.has_ended).finish_non_exhaustive()
    }
}
