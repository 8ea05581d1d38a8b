//! Requests that handlers work on, as tasks that can be ended from outside.

use core::fmt;
use core::pin::Pin;
use std::boxed::Box;
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

use wasm_bindgen::JsValue;

use super::bridge::JsRequest;
use super::context::Lifetime;
use super::error::RpcError;

/// What a handler gives.
pub(super) enum Answer {
    Now(Result<JsValue, RpcError>),
    Later(Work),
}

/// A handler at work.
pub(super) type Work = Pin<Box<dyn Future<Output = Result<JsValue, RpcError>>>>;

/// A request, from the moment in which its handler is called.
pub(super) struct RunningRequest {
    request: JsRequest,
    lifetime: Rc<Lifetime>,
    /// Taken out while it is polled, so that nothing is borrowed meanwhile.
    work: Cell<Option<Work>>,
    /// The task that polls it.
    waker: Cell<Option<Waker>>,
}

impl RunningRequest {
    pub(super) fn new(request: JsRequest) -> Self {
        Self { request, lifetime: Rc::default(), work: Cell::new(None), waker: Cell::new(None) }
    }

    pub(super) const fn lifetime(&self) -> &Rc<Lifetime> {
        &self.lifetime
    }

    /// Has work to do, unless it was aborted already.
    pub(super) fn start(&self, work: Work) {
        if !self.lifetime.is_over() {
            self.work.set(Some(work));
        }
    }

    /// Answers. Only the first answer counts.
    pub(super) fn answer(&self, outcome: Result<JsValue, RpcError>) {
        match outcome {
            Ok(result) => self.request.answer(&result),
            Err(RpcError { code, message, js_data, .. }) => self.request.fail(code.value() as f64, &message, &js_data),
        }
    }

    /// Drops the work, and answers with this error.
    pub(super) fn abort(&self, error: RpcError) {
        self.lifetime.end();
        drop(self.work.take());
        self.answer(Err(error));
        // The task has nothing left to do, and ends.
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Has a turn. It is done when it is answered, which it is as well when it was aborted.
    pub(super) fn poll(&self, context: &TaskContext<'_>, token: u32) -> Poll<()> {
        // The server may be gone, and what JavaScript would call.
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

    /// Works on, and answers when it is done.
    pub(super) fn work_on(&self) {
        let (Some(mut work), Some(waker)) = (self.work.take(), self.waker.take()) else { return };
        match work.as_mut().poll(&mut TaskContext::from_waker(&waker)) {
            Poll::Ready(outcome) => {
                drop(work);
                self.answer(outcome);
            }
            // It was aborted while it ran.
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
