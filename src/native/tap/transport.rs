//! The tap of a transport: copies of its input and its output.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::boxed::Box;
use std::io;
use std::string::ToString;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::link::TapLink;
use super::record::Direction;
use super::stream::TapStream;
use super::{Tap, TapTransport};
use crate::Limits;
use crate::codec::json::is_json;
use crate::error::Closed;
use crate::native::message_channel::MessageChannel;
use crate::native::settings::Settings;
use crate::native::transport::{Transport, TransportIo};

/// The tap of a running link. It records the end of the link.
#[derive(Debug)]
pub(in crate::native) struct LinkTap(Arc<TapLink>);

impl LinkTap {
    pub(in crate::native) fn close(&self, why: &Closed) {
        let code = match why {
            Closed::WebSocket { code, .. } => Some(i64::from(*code)),
            Closed::Exited(status) => status.code().map(i64::from),
            _ => None,
        };
        self.0.close(&why.to_string(), code);
    }
}

/// Records that a connection was opened. Returns the streams or the channel in a wrapper that passes copies to the tap.
/// Without a tap, returns `io` unchanged.
pub(in crate::native) fn tapped(
    io: TransportIo,
    transport: TapTransport,
    settings: &Settings,
) -> (TransportIo, Option<LinkTap>) {
    let Settings { limits, wipc, .. } = settings;
    let Some(tap) = &settings.tap else { return (io, None) };
    let link = Arc::new(tap.open(transport));
    let io = match io {
        TransportIo::Bytes { reader, writer, framing } => {
            let stream = |direction| {
                TapStream::new(Arc::clone(&link), direction, framing, limits).with_max_payload(wipc.max_payload)
            };
            TransportIo::Bytes {
                reader: Box::new(TappedReader { reader, stream: Some(stream(Direction::Received)) }),
                writer: Box::new(TappedWriter { writer, stream: stream(Direction::Sent) }),
                framing,
            }
        }
        TransportIo::Messages(channel) => {
            TransportIo::Messages(Box::new(TappedChannel { channel, link: Arc::clone(&link) }))
        }
    };
    (io, Some(LinkTap(link)))
}

impl Transport {
    /// Records the opening of the link, each message, and the end of the link. Default: no tap, which costs the link
    /// nothing.
    ///
    /// The messages are recorded when they are read from the transport, and when they are written to it. Input that is
    /// not a message is also recorded. With a tap, the bytes of the link are decoded a second time.
    pub fn with_tap(self, tap: &Tap) -> Self {
        self.with_settings(|settings| settings.tap = Some(tap.clone()))
    }
}

struct TappedReader {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    /// `None` after the end of the input.
    stream: Option<TapStream>,
}

impl AsyncRead for TappedReader {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { reader, stream } = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(reader).poll_read(context, buffer);
        if let Poll::Ready(Ok(())) = &read {
            let bytes = buffer.filled().get(before..).unwrap_or_default();
            if bytes.is_empty() && buffer.remaining() > 0 {
                stream.take().iter_mut().for_each(TapStream::finish);
            } else if let Some(stream) = stream {
                stream.push(bytes);
            }
        }
        read
    }
}

struct TappedWriter {
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    stream: TapStream,
}

impl AsyncWrite for TappedWriter {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Self { writer, stream } = self.get_mut();
        let written = Pin::new(writer).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = &written {
            stream.push(bytes.get(..*count).unwrap_or(bytes));
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().writer).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().writer).poll_shutdown(context)
    }
}

struct TappedChannel {
    channel: Box<dyn MessageChannel>,
    link: Arc<TapLink>,
}

impl TappedChannel {
    fn record(&self, direction: Direction, bytes: &[u8]) {
        match str::from_utf8(bytes) {
            Ok(text) if is_json(text) => {
                self.link.message(direction, text);
            }
            Ok(_) => self.link.invalid(direction, bytes, "the message is not JSON"),
            Err(_) => self.link.invalid(direction, bytes, "the message is not UTF-8"),
        }
    }
}

impl MessageChannel for TappedChannel {
    fn set_limits(&mut self, limits: &Limits) {
        self.channel.set_limits(limits);
    }

    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        let received = self.channel.poll_receive(context);
        if let Poll::Ready(Ok(())) = &received {
            self.record(Direction::Received, self.channel.received());
        }
        received
    }

    fn received(&self) -> &[u8] {
        self.channel.received()
    }

    fn release(&mut self) {
        self.channel.release();
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.channel.poll_ready(context)
    }

    fn send(&mut self, context: &mut Context<'_>, text: &str, sent: usize) -> io::Result<usize> {
        // A long message is sent in parts, and recorded once.
        if sent == 0 {
            self.record(Direction::Sent, text.as_bytes());
        }
        self.channel.send(context, text, sent)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.channel.poll_flush(context)
    }

    fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.channel.poll_close(context)
    }

    fn unfinished(&self) -> Option<u64> {
        self.channel.unfinished()
    }

    fn received_bytes(&self) -> u64 {
        self.channel.received_bytes()
    }

    fn time_out(&mut self, context: &mut Context<'_>) -> Closed {
        self.channel.time_out(context)
    }
}
