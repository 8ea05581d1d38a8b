//! The items of a stream that the other side gives.

use core::fmt;
use core::pin::Pin;
use core::time::Duration;
use std::future::Future;
use std::rc::Rc;
use std::string::String;
use std::task::{Context, Poll};

use futures_core::Stream;
use serde::de::DeserializeOwned;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::bridge::{JsStream, Step, end_code};
use super::call::milliseconds;
use super::client::{ClientLink, failure};
use super::convert::from_js;
use super::error::CallError;
use super::limits::STREAM_WINDOW;

/// The items of a stream, made by [`Client::stream`](crate::Client::stream).
///
/// They are asked for when it is first polled. Dropping it before its end cancels it: the other side is told by the
/// notification `$/cancelRequest`.
#[must_use = "a stream is asked for when it is polled"]
pub struct Items<T> {
    stage: Stage,
    decode: fn(JsValue, usize) -> Result<T, CallError>,
    max_visits: usize,
}

enum Stage {
    Unsent { link: Rc<ClientLink>, method: String, params: JsValue, timeout: f64, window: u32 },
    Open { stream: Opened, next: Option<JsFuture> },
    Failed(CallError),
    Over,
}

/// A stream that the other side may know of. Dropping it gives it up.
struct Opened(JsStream);

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl<T: DeserializeOwned> Items<T> {
    pub(super) fn new(
        link: &Rc<ClientLink>,
        timeout: Option<Duration>,
        method: &str,
        params: Result<JsValue, CallError>,
    ) -> Self {
        let stage = match params {
            Err(problem) => Stage::Failed(problem),
            Ok(params) => Stage::Unsent {
                link: Rc::clone(link),
                method: method.into(),
                params,
                timeout: milliseconds(timeout),
                window: STREAM_WINDOW,
            },
        };
        let decode = |value, max_visits| from_js(value, max_visits).map_err(CallError::unreadable);
        Self { stage, decode, max_visits: link.max_visits }
    }

    /// How long to wait for the next item, in place of the client's timeout. `None` waits for ever.
    pub fn timeout(mut self, longest: impl Into<Option<Duration>>) -> Self {
        if let Stage::Unsent { timeout, .. } = &mut self.stage {
            *timeout = milliseconds(longest.into());
        }
        self
    }

    /// How many items may be on their way before the first of them is taken: 16, if nothing is said, and 65 536 at most.
    pub fn window(mut self, items: u32) -> Self {
        if let Stage::Unsent { window, .. } = &mut self.stage {
            *window = items.clamp(1, 65_536);
        }
        self
    }
}

impl<T> Stream for Items<T> {
    type Item = Result<T, CallError>;

    /// After an error there are no more items.
    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Stage::Unsent { link, method, params, timeout, window } = &this.stage {
            this.stage = match link.open(method, params, *timeout, *window) {
                Ok(stream) => Stage::Open { stream: Opened(stream), next: None },
                Err(problem) => Stage::Failed(problem),
            };
        }
        let Stage::Open { stream, next } = &mut this.stage else {
            return Poll::Ready(match core::mem::replace(&mut this.stage, Stage::Over) {
                Stage::Failed(problem) => Some(Err(problem)),
                _ => None,
            });
        };
        let waiting = next.get_or_insert_with(|| JsFuture::from(stream.0.next()));
        let Poll::Ready(step) = Pin::new(waiting).poll(context) else { return Poll::Pending };
        *next = None;
        let item = match step {
            Ok(step) => {
                let step: Step = step.unchecked_into();
                (!step.done()).then(|| (this.decode)(step.value(), this.max_visits))
            }
            Err(problem) => Some(Err(failure(end_code(&problem), problem, this.max_visits))),
        };
        if !matches!(item, Some(Ok(_))) {
            this.stage = Stage::Over;
        }
        Poll::Ready(item)
    }
}

impl<T> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").finish_non_exhaustive()
    }
}
