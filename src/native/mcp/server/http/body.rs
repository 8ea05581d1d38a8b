//! The body of a response: a text, or a stream of server-sent events.

use core::convert::Infallible;
use core::fmt;
use core::fmt::Write;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep};

use super::events::EventQueue;
use super::request::Running;
use crate::native::limits::HTTP_KEEP_ALIVE;

/// The body of a response of an [`HttpService`](super::HttpService).
pub struct HttpBody(Kind);

enum Kind {
    Text(Option<Bytes>),
    Events(Box<Events>),
}

/// A stream of server-sent events.
pub(super) struct Events {
    queue: Arc<EventQueue>,
    reader: u64,
    /// The number of the stream, if the events have ids.
    stream: Option<u64>,
    /// The first event, which has only an id.
    start: Option<Bytes>,
    /// The handler and its permit, if the end of the response cancels it.
    running: Option<(Running, OwnedSemaphorePermit)>,
    keep_alive: Pin<Box<Sleep>>,
}

impl Events {
    pub(super) fn new(queue: Arc<EventQueue>, reader: u64) -> Self {
        let keep_alive = Box::pin(sleep(HTTP_KEEP_ALIVE));
        Self { queue, reader, stream: None, start: None, running: None, keep_alive }
    }

    pub(super) fn with_handler(mut self, running: Running, permit: OwnedSemaphorePermit) -> Self {
        self.running = Some((running, permit));
        self
    }

    /// Adds ids to the events, so that the client can continue the stream on another connection. `after` is the number
    /// of the last event that the client does not receive.
    pub(super) fn with_ids(mut self, stream: u64, after: u64, has_start: bool) -> Self {
        self.start = has_start.then(|| Bytes::from(format!("id: {stream}-{after}\ndata: \n\n")));
        self.stream = Some(stream);
        self
    }

    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(start) = self.start.take() {
            return Poll::Ready(Some(start));
        }
        if let Some((running, _)) = &mut self.running
            && let Poll::Ready(response) = running.poll(context)
        {
            self.running = None;
            self.queue.finish(Some(response.text));
        }
        match self.queue.poll_event(self.reader, context) {
            Poll::Ready(Some((number, text))) => {
                self.keep_alive.as_mut().reset(Instant::now() + HTTP_KEEP_ALIVE);
                let mut event = String::with_capacity(text.len() + 64);
                if let Some(stream) = self.stream {
                    // A `String` accepts any text.
                    let _ = writeln!(event, "id: {stream}-{number}");
                }
                event.push_str("data: ");
                event.push_str(str::from_utf8(&text).unwrap_or_default());
                event.push_str("\n\n");
                Poll::Ready(Some(event.into()))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending if self.keep_alive.as_mut().poll(context).is_ready() => {
                self.keep_alive.as_mut().reset(Instant::now() + HTTP_KEEP_ALIVE);
                // The new time must be registered, too.
                context.waker().wake_by_ref();
                Poll::Ready(Some(Bytes::from_static(b":\n\n")))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.queue.detach(self.reader);
    }
}

impl HttpBody {
    pub(super) fn text(text: impl Into<Bytes>) -> Self {
        Self(Kind::Text(Some(text.into()).filter(|text| !text.is_empty())))
    }

    pub(super) fn events(events: Events) -> Self {
        Self(Kind::Events(Box::new(events)))
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match &mut self.0 {
            Kind::Text(text) => Poll::Ready(text.take()),
            Kind::Events(events) => events.poll_bytes(context),
        };
        bytes.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Text(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Text(text) => SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBody").finish_non_exhaustive()
    }
}
