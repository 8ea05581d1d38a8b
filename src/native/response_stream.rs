//! The consumer of a stream. It receives items, and sends credit for more items.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};
use core::time::Duration;
use std::future::Future;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::Stream;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::Text;
use super::call::milliseconds;
use super::limits::STREAM_WINDOW;
use super::link::Link;
use super::state::{CallObserver, CallResult};
use crate::connection::streams::{Next, Overflow, ReceiveStream};
use crate::connection::{CallKey, control};
use crate::error::CallError;
use crate::json_value::read_result;
use crate::message::{Id, RequestId};
use portway_proto::MAX_STREAM_CREDIT;

/// The items of a stream. [`Client::stream`](crate::Client::stream) creates a value of this type.
///
/// The request is sent on the first poll. A stream that is dropped before its end is cancelled: the peer receives the
/// notification `$/cancelRequest`.
#[must_use = "a stream is requested when it is polled"]
pub struct Items<T> {
    state: StreamState,
    decode: fn(&RawValue) -> Result<T, CallError>,
}

enum StreamState {
    Unsent(Box<Unsent>),
    Open(OpenStream),
    Failed(CallError),
    Ended,
}

struct Unsent {
    link: Arc<Link>,
    method: Box<str>,
    params: Option<Text>,
    timeout: Option<Duration>,
    window: u32,
}

/// A stream whose request was sent. If the stream is dropped before its end, it is cancelled.
struct OpenStream {
    link: Arc<Link>,
    key: CallKey,
    reply: oneshot::Receiver<CallResult>,
    /// The outcome of the call, or `None` while the call is pending.
    outcome: Option<CallResult>,
    receive_window: Arc<ReceiveWindow>,
    timeout: Option<u64>,
}

impl<T: DeserializeOwned> Items<T> {
    pub(super) fn new(
        link: &Arc<Link>,
        timeout: Option<Duration>,
        method: &str,
        params: Result<Option<Text>, CallError>,
    ) -> Self {
        let state = match params {
            Err(problem) => StreamState::Failed(problem),
            Ok(params) => {
                let (link, method) = (Arc::clone(link), method.into());
                StreamState::Unsent(Box::new(Unsent { link, method, params, timeout, window: STREAM_WINDOW }))
            }
        };
        Self { state, decode: |value| read_result(value).map_err(CallError::Deserialize) }
    }
}

impl<T> Items<T> {
    /// Sets the maximum time to wait for each item. Default: the timeout of the client. `None` disables the timeout.
    /// Has no effect after the first poll.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        if let StreamState::Unsent(unsent) = &mut self.state {
            unsent.timeout = timeout.into();
        }
        self
    }

    /// Sets the maximum number of unread items, from 1 to 65 536. Default: 16. Has no effect after the first poll.
    pub fn window(mut self, items: u32) -> Self {
        if let StreamState::Unsent(unsent) = &mut self.state {
            unsent.window = items.clamp(1, MAX_STREAM_CREDIT);
        }
        self
    }
}

impl<T> Stream for Items<T> {
    type Item = Result<T, CallError>;

    /// Polls for the next item. An error ends the stream.
    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        this.state = match mem::replace(&mut this.state, StreamState::Ended) {
            StreamState::Unsent(unsent) => (*unsent).send(),
            state => state,
        };
        let item = match &mut this.state {
            StreamState::Open(stream) => ready!(stream.poll_item(context)),
            _ => match mem::replace(&mut this.state, StreamState::Ended) {
                StreamState::Failed(problem) => Some(Err(problem)),
                _ => None,
            },
        };
        let item = item.map(|item| item.and_then(|value| (this.decode)(&value)));
        if !matches!(item, Some(Ok(_))) {
            this.state = StreamState::Ended;
        }
        Poll::Ready(item)
    }
}

impl Unsent {
    fn send(self) -> StreamState {
        let Self { link, method, params, timeout, window } = self;
        let timeout = timeout.map(milliseconds);
        let request = control::write_stream_request(&method, params.as_ref(), window);
        let receive_window = Arc::new(ReceiveWindow::new(window));
        let observer = CallObserver::Items(Arc::clone(&receive_window));
        match link.call(control::STREAM_METHOD, request, timeout, Some(observer)) {
            Ok((key, reply)) => {
                StreamState::Open(OpenStream { link, key, reply, outcome: None, receive_window, timeout })
            }
            Err(problem) => StreamState::Failed(problem),
        }
    }
}

impl OpenStream {
    fn poll_item(&mut self, context: &mut Context<'_>) -> Poll<Option<CallResult>> {
        if self.outcome.is_none()
            && let Poll::Ready(outcome) = Pin::new(&mut self.reply).poll(context)
        {
            self.outcome = Some(outcome.unwrap_or(Err(CallError::Destroyed)));
        }
        // If a response has arrived, the items that arrived earlier are returned first. If the call ended without a
        // response, its error is returned at once.
        if let Some(Err(error)) = &self.outcome
            && error.remote().is_none()
        {
            return Poll::Ready(Some(Err(error.clone())));
        }
        let reset_timeout = |timeout| self.link.reset_timeout(self.key, timeout);
        let item = ready!(self.receive_window.poll(context, self.outcome.is_some(), self.timeout, reset_timeout));
        match item {
            Next::Item(item, credit) => {
                if let Some(count) = credit {
                    let params = control::write_credit(&Id::from_call(self.key.id()), count);
                    // The notification fails only if the link has ended. In this case, the stream has also ended.
                    let _ = self.link.notify_unbounded(control::CREDIT_METHOD, params);
                }
                Poll::Ready(Some(Ok(item)))
            }
            Next::Overflow => Poll::Ready(Some(Err(CallError::InvalidResponse))),
            Next::End | Next::Pending => Poll::Ready(match self.outcome.take() {
                Some(Err(error)) => Some(Err(error)),
                _ => None,
            }),
        }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        if self.outcome.is_none() {
            drop(self.link.cancel_call(self.key));
        }
    }
}

impl<T> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").finish_non_exhaustive()
    }
}

/// The received items that are not consumed yet, with the credit of the peer.
#[derive(Debug)]
pub(super) struct ReceiveWindow(Mutex<ReceiveBuffer>);

#[derive(Debug)]
struct ReceiveBuffer {
    stream: ReceiveStream<Text>,
    /// Whether a future waits for the next item. The timeout runs only while `is_awaited` is true.
    is_awaited: bool,
    waker: Option<Waker>,
}

impl ReceiveBuffer {
    /// Sets whether a future waits for the next item. On a change, calls `reset_timeout` to start or stop the timeout.
    /// The lock of the receive window is held during this call, to keep the order of changes. So the lock of the link
    /// may be acquired under the lock of the receive window, but not the reverse.
    fn await_item(&mut self, is_awaited: bool, reset_timeout: impl FnOnce()) {
        if mem::replace(&mut self.is_awaited, is_awaited) != is_awaited {
            reset_timeout();
        }
    }
}

impl ReceiveWindow {
    /// Creates an empty window. The timeout starts with the request, so `is_awaited` is true at first.
    const fn new(window: u32) -> Self {
        Self(Mutex::new(ReceiveBuffer { stream: ReceiveStream::new(window), is_awaited: true, waker: None }))
    }

    /// Adds a received item. If the peer has no credit for the item, the stream is cancelled.
    pub(super) fn push(&self, link: &Link, key: CallKey, value: &RawValue) {
        let mut buffer = self.lock();
        let received = buffer.stream.receive(value.to_owned());
        let waker = buffer.waker.take();
        if waker.is_none() {
            // No future waits for the item, so the timeout stops.
            buffer.await_item(false, || link.reset_timeout(key, None));
        }
        drop(buffer);
        if received == Err(Overflow)
            && let Some(call) = link.cancel_call(key)
        {
            // Sending fails if the receiver was dropped. This failure is ignored.
            let _ = call.reply.send(Err(CallError::InvalidResponse));
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Polls for the next item. The timeout runs only while this poll is pending. `reset_timeout` restarts the timeout
    /// of the call, or stops it with `None`.
    fn poll(
        &self,
        context: &Context<'_>,
        has_response: bool,
        timeout: Option<u64>,
        reset_timeout: impl FnOnce(Option<u64>),
    ) -> Poll<Next<Text>> {
        let mut buffer = self.lock();
        if has_response {
            buffer.stream.end();
        }
        let next = buffer.stream.next_item();
        if matches!(next, Next::Pending) {
            buffer.waker = Some(context.waker().clone());
            buffer.await_item(true, || reset_timeout(timeout));
            return Poll::Pending;
        }
        buffer.await_item(false, || {
            if !has_response {
                reset_timeout(None);
            }
        });
        Poll::Ready(next)
    }

    fn lock(&self) -> MutexGuard<'_, ReceiveBuffer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
