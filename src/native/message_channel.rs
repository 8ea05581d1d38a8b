//! Channels of whole messages: the interface for the driver, and its implementation for a sink and a stream.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::error::Error;
use std::io;

use futures_core::Stream;
use futures_sink::Sink;

use crate::Limits;
use crate::error::Closed;

/// A channel of whole messages, as the driver uses it.
pub(super) trait MessageChannel: Send {
    /// Sets the limits. The driver calls this method before the first message.
    fn set_limits(&mut self, _limits: &Limits) {}

    /// Receives the next message, which [`MessageChannel::received`] returns afterwards. An error is the reason why the
    /// input has ended.
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Closed>>;

    /// Returns the text of the received message.
    fn received(&self) -> &[u8];

    /// Frees the received message.
    fn release(&mut self);

    /// Waits until another message can be sent.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Sends a message, or the next part of a long message. The first `sent` bytes of `text` were sent before.
    /// [`MessageChannel::poll_ready`] must have succeeded before. Returns the number of bytes that this call has sent.
    fn send(&mut self, context: &mut Context<'_>, text: &str, sent: usize) -> io::Result<usize>;

    /// Flushes all sent messages.
    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Flushes and closes the channel.
    fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Returns a number that identifies the incomplete message, or `None` between messages.
    fn unfinished(&self) -> Option<u64> {
        None
    }

    /// Returns the number of bytes that were received, if the channel counts them.
    fn received_bytes(&self) -> u64 {
        0
    }

    /// Handles an incomplete message whose timeout has expired. Returns the reason why the link ends.
    fn time_out(&mut self, _context: &mut Context<'_>) -> Closed {
        Closed::Io(io::ErrorKind::TimedOut, "a message was not complete in time".into())
    }
}

/// A sink and a stream as a channel.
pub(super) struct SinkAndStream<K, S, M> {
    sink: Pin<Box<K>>,
    stream: Pin<Box<S>>,
    received: Option<M>,
}

impl<K, S, M> SinkAndStream<K, S, M> {
    pub(super) fn new(sink: K, stream: S) -> Self {
        Self { sink: Box::pin(sink), stream: Box::pin(stream), received: None }
    }
}

impl<K, S, M, E> MessageChannel for SinkAndStream<K, S, M>
where
    K: Sink<String> + Send,
    K::Error: Into<Box<dyn Error + Send + Sync>>,
    S: Stream<Item = Result<M, E>> + Send,
    M: AsRef<[u8]> + Send,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        Poll::Ready(match ready!(self.stream.as_mut().poll_next(context)) {
            Some(Ok(message)) => {
                self.received = Some(message);
                Ok(())
            }
            Some(Err(error)) => Err(Closed::from_io(&io_error(error))),
            None => Err(Closed::End),
        })
    }

    fn received(&self) -> &[u8] {
        self.received.as_ref().map(AsRef::as_ref).unwrap_or_default()
    }

    fn release(&mut self) {
        self.received = None;
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sink.as_mut().poll_ready(context).map_err(io_error)
    }

    fn send(&mut self, _: &mut Context<'_>, text: &str, _: usize) -> io::Result<usize> {
        self.sink.as_mut().start_send(text.to_owned()).map_err(io_error)?;
        Ok(text.len())
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sink.as_mut().poll_flush(context).map_err(io_error)
    }

    fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sink.as_mut().poll_close(context).map_err(io_error)
    }
}

/// Converts the error of a sink or a stream. An `io::Error` is returned unchanged.
fn io_error(error: impl Into<Box<dyn Error + Send + Sync>>) -> io::Error {
    match error.into().downcast::<io::Error>() {
        Ok(error) => *error,
        Err(error) => io::Error::other(error),
    }
}
