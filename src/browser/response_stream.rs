//! Streams of items that the peer sends in response to a request.

use core::fmt;
use core::pin::Pin;
use core::time::Duration;
use std::future::Future;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures_core::Stream;
use serde::de::DeserializeOwned;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::call::milliseconds;
use super::client::{ClientHandle, error_of_event};
use super::convert::from_js;
use super::limits::STREAM_WINDOW;
use crate::error::CallError;
use portway_web::bindings::{IteratorResult, JsStream, end_code};

/// The items of a stream. [`Client::stream`](crate::Client::stream) creates this type.
///
/// The request is sent on the first poll. A stream that is dropped before its end is cancelled: the peer receives the
/// notification `$/cancelRequest`.
#[must_use = "the request of a stream is sent when it is polled"]
pub struct Items<T> {
    state: StreamState,
    decode: fn(JsValue, usize) -> Result<T, CallError>,
    max_visits: usize,
}

enum StreamState {
    Unsent { link: Rc<ClientHandle>, method: String, params: JsValue, timeout: f64, window: u32 },
    Open { stream: OpenStream, next: Option<JsFuture> },
    Failed(CallError),
    Done,
}

/// A stream whose request was sent. If the stream is dropped before its end, it is cancelled.
struct OpenStream(JsStream);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl<T: DeserializeOwned> Items<T> {
    pub(super) fn new(
        link: &Rc<ClientHandle>,
        timeout: Option<Duration>,
        method: &str,
        params: Result<JsValue, CallError>,
    ) -> Self {
        let state = match params {
            Err(problem) => StreamState::Failed(problem),
            Ok(params) => StreamState::Unsent {
                link: Rc::clone(link),
                method: method.into(),
                params,
                timeout: milliseconds(timeout),
                window: STREAM_WINDOW,
            },
        };
        let decode = |value, max_visits| from_js(value, max_visits).map_err(CallError::from_read_error);
        Self { state, decode, max_visits: link.max_visits }
    }

    /// Sets the maximum time to wait for each item. Default: the timeout of the client. `None` disables the timeout.
    pub fn timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        if let StreamState::Unsent { timeout, .. } = &mut self.state {
            *timeout = milliseconds(limit.into());
        }
        self
    }

    /// Sets the maximum number of unread items, from 1 to 65 536. Default: 16.
    pub fn window(mut self, items: u32) -> Self {
        if let StreamState::Unsent { window, .. } = &mut self.state {
            *window = items.clamp(1, 65_536);
        }
        self
    }
}

impl<T> Stream for Items<T> {
    type Item = Result<T, CallError>;

    /// Polls for the next item. An error ends the stream.
    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let StreamState::Unsent { link, method, params, timeout, window } = &this.state {
            this.state = match link.open(method, params, *timeout, *window) {
                Ok(stream) => StreamState::Open { stream: OpenStream(stream), next: None },
                Err(problem) => StreamState::Failed(problem),
            };
        }
        let StreamState::Open { stream, next } = &mut this.state else {
            return Poll::Ready(match core::mem::replace(&mut this.state, StreamState::Done) {
                StreamState::Failed(problem) => Some(Err(problem)),
                _ => None,
            });
        };
        let promise = next.get_or_insert_with(|| JsFuture::from(stream.0.next()));
        let Poll::Ready(step) = Pin::new(promise).poll(context) else { return Poll::Pending };
        *next = None;
        let item = match step {
            Ok(step) => {
                let step: IteratorResult = step.unchecked_into();
                (!step.done()).then(|| (this.decode)(step.value(), this.max_visits))
            }
            Err(problem) => Some(Err(error_of_event(end_code(&problem), problem, this.max_visits))),
        };
        if !matches!(item, Some(Ok(_))) {
            this.state = StreamState::Done;
        }
        Poll::Ready(item)
    }
}

impl<T> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").finish_non_exhaustive()
    }
}
