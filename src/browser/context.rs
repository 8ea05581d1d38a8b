//! The context, which is the second argument of a handler.

use core::fmt;
use core::pin::Pin;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

use serde::Serialize;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

use super::convert::{params_to_js, to_js};
use crate::error::CallError;
use crate::message::Id;
use portway_web::bindings::JsRequest;

/// The request or notification that a handler handles.
#[derive(Clone)]
pub struct Context {
    request: JsRequest,
    lifetime: Rc<Lifetime>,
}

impl Context {
    pub(super) const fn new(request: JsRequest, lifetime: Rc<Lifetime>) -> Self {
        Self { request, lifetime }
    }

    pub(super) const fn request(&self) -> &JsRequest {
        &self.request
    }

    /// Returns the name of the method.
    #[must_use]
    pub fn method(&self) -> String {
        self.request.method()
    }

    /// Returns the id of the request. Returns `None` for a notification, and after the response. JavaScript formats an
    /// id that is a number, so the id `1.0` is returned as `1`.
    #[must_use]
    pub fn id(&self) -> Option<Id> {
        let id = self.request.id();
        if let Some(text) = id.as_string() {
            return Some(Id::String(text.into()));
        }
        if id.is_null() {
            return Some(Id::Null);
        }
        let text = JsValue::from(js_sys::JSON::stringify(&id).ok()?).as_string()?;
        Id::from_number_text(&text)
    }

    /// Returns whether the caller has cancelled the request, or the server was destroyed. The value does not change
    /// after the response.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.lifetime.is_over()
    }

    /// Returns a future that completes when [`Context::is_cancelled`] becomes true. The future of the handler is
    /// dropped at the same time. So await the returned future in another task, for example in a task that must stop
    /// when the request is cancelled.
    #[must_use = "a future does nothing unless it is polled"]
    pub fn cancelled(&self) -> Cancelled {
        Cancelled(Rc::clone(&self.lifetime))
    }

    /// Yields to the event loop, so that other messages are handled. A handler that does not await anything else can be
    /// cancelled only at this point. A cancellation drops the future of the handler.
    pub async fn yield_now(&self) {
        // The promise does not reject.
        let _ = JsFuture::from(self.request.yield_now()).await;
    }

    /// Sends progress to the caller. The `on_progress` listener of the caller receives the value. After the response,
    /// this method has no effect.
    ///
    /// # Errors
    /// [`CallError::Params`] or [`CallError::Send`].
    pub fn progress(&self, value: &(impl Serialize + ?Sized)) -> Result<(), CallError> {
        let value = to_js(value).map_err(CallError::Params)?;
        self.request.progress(&value).map_err(CallError::send)
    }

    /// Sets the objects in the result, or in the next item of a stream, that are transferred instead of copied. Only
    /// values of JavaScript can contain such objects.
    pub fn transfer(&self, list: &js_sys::Array) {
        self.request.transfer(list);
    }

    /// Sends a notification to the caller.
    ///
    /// # Errors
    /// [`CallError::Params`] or [`CallError::Send`].
    pub fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), CallError> {
        self.request.notify(method, &params_to_js(params)?).map_err(CallError::send)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("method", &self.method()).finish_non_exhaustive()
    }
}

/// A future that completes when a request is cancelled, see [`Context::cancelled`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is polled"]
pub struct Cancelled(Rc<Lifetime>);

impl Future for Cancelled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<()> {
        if self.0.is_over() {
            return Poll::Ready(());
        }
        self.0.wake_at_end(context.waker());
        Poll::Pending
    }
}

/// Whether a request was cancelled or the server has ended, and the wakers of the tasks that wait for this event.
#[derive(Debug, Default)]
pub(super) struct Lifetime {
    over: Cell<bool>,
    wakers: RefCell<Vec<Waker>>,
}

impl Lifetime {
    pub(super) fn is_over(&self) -> bool {
        self.over.get()
    }

    pub(super) fn end(&self) {
        self.over.set(true);
        let wakers = self.wakers.take();
        wakers.into_iter().for_each(Waker::wake);
    }

    fn wake_at_end(&self, waker: &Waker) {
        let known = self.wakers.borrow().iter().any(|known| known.will_wake(waker));
        if !known {
            let waker = waker.clone();
            self.wakers.borrow_mut().push(waker);
        }
    }
}
