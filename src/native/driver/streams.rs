//! The two kinds of transports, for the driver: a byte stream with frames, or whole messages.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::Limits;
use crate::codec::FrameDecoder;
use crate::codec::frame::{Event as Frame, FrameFault};
use crate::native::message_channel::MessageChannel;
use crate::native::outbox::Outbox;
use crate::native::transport::TransportIo;

/// The input and the output of a link.
#[allow(clippy::large_enum_variant, reason = "byte streams are common, and a box would slow each of their reads")]
pub(in crate::native) enum Io {
    Bytes(ByteIo),
    Messages(MessageIo),
}

/// A byte stream, with the decoder of its frames.
pub(in crate::native) struct ByteIo {
    /// `None` after the input has ended.
    pub(in crate::native) reader: Option<Box<dyn AsyncRead + Send + Unpin>>,
    /// `None` after the output has ended.
    writer: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    /// The output of the child process after the end of reading. This output is read and discarded, so that the process
    /// can still write.
    pub(in crate::native) discarding: Option<Box<dyn AsyncRead + Send + Unpin>>,
    pub(in crate::native) decoder: FrameDecoder,
    /// Input that was read and not decoded yet, from `unread_start` on. These bytes wait until the link has room, or
    /// until the next turn of the task.
    pub(in crate::native) unread: Vec<u8>,
    pub(in crate::native) unread_start: usize,
}

/// A channel of whole messages.
pub(in crate::native) struct MessageIo {
    pub(in crate::native) channel: Box<dyn MessageChannel>,
    /// The number of sent bytes of the message that is being sent in parts.
    sent: usize,
    is_reading: bool,
    is_writing: bool,
}

impl Io {
    pub(in crate::native) fn new(io: TransportIo, limits: &Limits, max_payload: u32) -> Self {
        match io {
            TransportIo::Bytes { reader, writer, framing } => Self::Bytes(ByteIo {
                reader: Some(reader),
                writer: Some(writer),
                discarding: None,
                decoder: FrameDecoder::new(framing, limits).with_max_payload(max_payload),
                unread: Vec::new(),
                unread_start: 0,
            }),
            TransportIo::Messages(mut channel) => {
                channel.set_limits(limits);
                Self::Messages(MessageIo { channel, sent: 0, is_reading: true, is_writing: true })
            }
        }
    }

    /// Returns whether the input has not ended.
    pub(in crate::native) const fn is_reading(&self) -> bool {
        match self {
            Self::Bytes(io) => io.reader.is_some(),
            Self::Messages(io) => io.is_reading,
        }
    }

    /// Returns whether the output has not ended.
    pub(in crate::native) const fn is_writing(&self) -> bool {
        match self {
            Self::Bytes(io) => io.writer.is_some(),
            Self::Messages(io) => io.is_writing,
        }
    }

    /// Ends the input. `discards` is true if further bytes are read and discarded.
    pub(in crate::native) fn end_reading(&mut self, discards: bool) {
        match self {
            Self::Bytes(io) => io.discarding = io.reader.take().filter(|_| discards),
            Self::Messages(io) => io.is_reading = false,
        }
    }

    /// Ends the output. For a byte stream, this closes the pipe.
    pub(in crate::native) fn end_writing(&mut self) {
        match self {
            Self::Bytes(io) => io.writer = None,
            Self::Messages(io) => io.is_writing = false,
        }
    }

    /// Writes a part of the outbox, and returns the size of this part. The outbox must not be empty. If it contains
    /// frames, its first `written` bytes were written before.
    pub(in crate::native) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        outbox: &mut Outbox,
        written: usize,
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Bytes(ByteIo { writer: Some(writer), .. }) => {
                let rest = outbox.frames().get(written..).unwrap_or_default();
                match ready!(Pin::new(writer).poll_write(context, rest))? {
                    0 => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    count => Poll::Ready(Ok(count)),
                }
            }
            Self::Messages(io) => {
                let mut size = 0;
                while let Some(text) = outbox.first_message() {
                    match io.channel.poll_ready(context)? {
                        Poll::Pending if size == 0 => return Poll::Pending,
                        Poll::Pending => break,
                        Poll::Ready(()) => io.sent += io.channel.send(context, text, io.sent)?,
                    }
                    if io.sent == text.len() {
                        io.sent = 0;
                        size += outbox.remove_first_message();
                    }
                }
                Poll::Ready(Ok(size))
            }
            Self::Bytes(_) => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Flushes the output.
    pub(in crate::native) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Bytes(ByteIo { writer: Some(writer), .. }) => Pin::new(writer).poll_flush(context),
            Self::Messages(io) => io.channel.poll_flush(context),
            Self::Bytes(_) => Poll::Ready(Ok(())),
        }
    }

    /// Shuts the output down, after all of it is written.
    pub(in crate::native) fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Bytes(ByteIo { writer: Some(writer), .. }) => Pin::new(writer).poll_shutdown(context),
            Self::Messages(io) => io.channel.poll_close(context),
            Self::Bytes(_) => Poll::Ready(Ok(())),
        }
    }

    /// Decodes the next frame of a byte stream.
    pub(in crate::native) fn next_frame<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Option<Frame<'a>> {
        self.decoder()?.next(input)
    }

    /// Decodes the bytes that are buffered at the end of a byte stream.
    pub(in crate::native) fn finish_frame(&mut self) -> Option<Frame<'_>> {
        self.decoder()?.finish()
    }

    /// Rejects the body of the latest frame. Returns the number of bytes that are decoded again.
    pub(in crate::native) fn reject_body(&mut self, input: &[u8]) -> usize {
        self.decoder().map_or(0, |decoder| decoder.reject_body(input))
    }

    /// Drops the incomplete frame.
    pub(in crate::native) fn time_out(&mut self) -> Option<FrameFault> {
        self.decoder().map(FrameDecoder::time_out)
    }

    /// Returns a number that identifies the incomplete message, or `None` if no message is incomplete.
    pub(in crate::native) fn unfinished(&mut self) -> Option<u64> {
        match self {
            Self::Bytes(io) => io.decoder.unfinished(),
            Self::Messages(io) => io.channel.unfinished(),
        }
    }

    const fn decoder(&mut self) -> Option<&mut FrameDecoder> {
        match self {
            Self::Bytes(io) => Some(&mut io.decoder),
            Self::Messages(_) => None,
        }
    }
}
