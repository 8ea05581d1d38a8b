//! Running requests. If a handler returns a future, a task polls the future. The request can be aborted until the
//! future is ready.

use core::fmt;
use core::pin::Pin;
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

use wasm_bindgen::JsValue;

use super::context::Lifetime;
use crate::error::RpcError;
use portway_web::bindings::JsRequest;

/// The return value of a handler: the outcome, or a future of the outcome.
pub(super) enum Answer {
    Now(Result<JsValue, RpcError>),
    Later(Work),
}

/// The future of a handler.
pub(super) type Work = Pin<Box<dyn Future<Output = Result<JsValue, RpcError>>>>;

/// A request, from the call of its handler to its response.
pub(super) struct RunningRequest {
    request: JsRequest,
    lifetime: Rc<Lifetime>,
    /// The future of the handler. `None` before `start`, and after the request was answered or aborted. Also `None`
    /// while the future is polled, so that this field is not borrowed while the handler runs.
    work: Cell<Option<Work>>,
    /// The waker of the task that polls the work.
    waker: Cell<Option<Waker>>,
}

impl RunningRequest {
    pub(super) fn new(request: JsRequest) -> Self {
        Self { request, lifetime: Rc::default(), work: Cell::new(None), waker: Cell::new(None) }
    }

    pub(super) const fn lifetime(&self) -> &Rc<Lifetime> {
        &self.lifetime
    }

    /// Sets the work, unless the request was aborted.
    pub(super) fn start(&self, work: Work) {
        if !self.lifetime.is_over() {
            self.work.set(Some(work));
        }
    }

    /// Sends the response to the request. JavaScript ignores a second response, for example after an abort.
    pub(super) fn answer(&self, outcome: Result<JsValue, RpcError>) {
        match outcome {
            Ok(result) => self.request.answer(&result),
            Err(error) => self.request.fail(error.code.value() as f64, &error.message, &error.js_data()),
        }
    }

    /// Drops the work, and responds with an error.
    pub(super) fn abort(&self, error: RpcError) {
        self.lifetime.end();
        drop(self.work.take());
        self.answer(Err(error));
        // Wakes the task, so that it ends. At its next poll, the task detects that the work was dropped.
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Polls the request. This method calls JavaScript, which calls `poll_work`, because only JavaScript can catch a
    /// trap. Returns `Ready` if the request was answered or aborted.
    pub(super) fn poll(&self, context: &TaskContext<'_>, token: u32) -> Poll<()> {
        // If the server was dropped, the drop has aborted the request, and has freed the callback that JavaScript would
        // call.
        if self.is_done() {
            return Poll::Ready(());
        }
        self.waker.set(Some(context.waker().clone()));
        self.request.poll(token);
        if self.is_done() { Poll::Ready(()) } else { Poll::Pending }
    }

    fn is_done(&self) -> bool {
        let work = self.work.take();
        let is_done = work.is_none();
        self.work.set(work);
        is_done
    }

    /// Polls the work. Responds to the request when the work is done.
    pub(super) fn poll_work(&self) {
        let (Some(mut work), Some(waker)) = (self.work.take(), self.waker.take()) else { return };
        match work.as_mut().poll(&mut TaskContext::from_waker(&waker)) {
            Poll::Ready(outcome) => {
                drop(work);
                self.answer(outcome);
            }
            // The request was aborted during the poll.
            Poll::Pending if self.lifetime.is_over() => {}
            Poll::Pending => {
                self.waker.set(Some(waker));
                self.work.set(Some(work));
            }
        }
    }
}

impl fmt::Debug for RunningRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningRequest").field("lifetime", &self.lifetime).finish_non_exhaustive()
    }
}
