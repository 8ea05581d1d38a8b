//! Requests that handlers work on.

use core::task::{Context as TaskContext, Poll, Waker};
use std::any::Any;
use std::boxed::Box;
use std::collections::HashMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::string::String;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::vec::Vec;

use tokio::task::AbortHandle;

use super::Text;
use super::context::Context;
use super::diagnostic::Diagnostic;
use super::error::RpcError;
use super::handlers::{Answer, HandlerFuture};
use super::link::Link;
use crate::connection::RequestKey;
use crate::message::{ErrorCode, ErrorObject, Id};

/// The requests that were begun and are not answered yet.
#[derive(Debug, Default)]
pub(super) struct RunningRequests(Mutex<HashMap<RequestKey, Running>>);

#[derive(Debug)]
struct Running {
    method: Arc<str>,
    lifetime: Arc<Lifetime>,
    task: Option<AbortHandle>,
}

impl RunningRequests {
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn begin(&self, key: RequestKey, method: &Arc<str>, lifetime: &Arc<Lifetime>) {
        let running = Running { method: Arc::clone(method), lifetime: Arc::clone(lifetime), task: None };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, running);
    }

    /// Its handler goes on in a task. Returns whether it is still wanted.
    fn has_task(&self, key: RequestKey, task: &AbortHandle) -> bool {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = running.get_mut(&key);
        let is_wanted = place.is_some();
        if let Some(running) = place {
            running.task = Some(task.clone());
        }
        is_wanted
    }

    fn end(&self, key: RequestKey) -> Option<Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key)
    }

    /// Drops all that is being worked on.
    pub(super) fn abort_all(&self) {
        let running = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for running in running.into_values() {
            running.abort();
        }
    }
}

impl Running {
    fn abort(&self) {
        self.lifetime.end();
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Link {
    /// Runs the handler of a request. Work that is done at once is answered at once, and the rest goes on as a task.
    pub(super) fn serve(
        self: &Arc<Self>,
        key: RequestKey,
        method: Box<str>,
        params: Option<Text>,
        turn: &TaskContext<'_>,
    ) {
        let Some(handler) = self.handlers.method(&method) else {
            let message = std::format!("Method not found: {method}");
            return self.answer(key, &method, Err(RpcError::new(ErrorCode::METHOD_NOT_FOUND, message)));
        };
        let method: Arc<str> = method.into();
        let lifetime = Arc::new(Lifetime::default());
        self.running.begin(key, &method, &lifetime);
        let context = Context::of_request(self, Arc::clone(&method), key, lifetime);
        let answer = guarded(|| handler(params.as_deref(), context));
        drop(handler);
        match answer {
            Err(panic) => self.answer_panic(key, &method, &*panic),
            Ok(Answer::Now(outcome)) => self.answer(key, &method, outcome),
            Ok(Answer::Later(work)) => self.work(key, method, work, turn),
        }
    }

    fn work(self: &Arc<Self>, key: RequestKey, method: Arc<str>, mut work: HandlerFuture, turn: &TaskContext<'_>) {
        // Most work is done in one go, and needs no task. What waits is polled again there, and leaves its own waker.
        match guarded(|| work.as_mut().poll(&mut TaskContext::from_waker(turn.waker()))) {
            Err(panic) => return self.answer_panic(key, &method, &*panic),
            Ok(Poll::Ready(outcome)) => return self.answer(key, &method, outcome),
            Ok(Poll::Pending) => {}
        }
        let link = Arc::clone(self);
        let task = tokio::spawn(async move {
            let end = poll_fn(|context| match guarded(|| work.as_mut().poll(context)) {
                Err(panic) => Poll::Ready(Err(panic)),
                Ok(polled) => polled.map(Ok),
            });
            match end.await {
                Err(panic) => link.answer_panic(key, &method, &*panic),
                Ok(outcome) => link.answer(key, &method, outcome),
            }
        });
        if !self.running.has_task(key, &task.abort_handle()) {
            // It was cancelled while it ran, or is done already.
            task.abort();
        }
    }

    /// The other side no longer wants the answer. It gets one, but the work is dropped.
    pub(super) fn cancel_request(&self, key: RequestKey) {
        let running = self.running.end(key);
        if let Some(running) = &running {
            running.abort();
        }
        // One that waits for its turn has not begun.
        let method = running.as_ref().map_or("", |running| &running.method);
        self.answer(key, method, Err(RpcError::new(ErrorCode::REQUEST_CANCELLED, "Request cancelled")));
    }

    /// Runs the handler of a notification; one that was registered as a method does, too.
    pub(super) fn notified(self: &Arc<Self>, method: &str, params: Option<&serde_json::value::RawValue>) {
        let context = || Context::of_notification(self, method.into());
        let told = if let Some(handler) = self.handlers.notification(method) {
            guarded(|| handler(params, context()))
        } else if let Some(handler) = self.handlers.method(method) {
            guarded(|| {
                if let Answer::Later(work) = handler(params, context()) {
                    tokio::spawn(work);
                }
                Ok(())
            })
        } else {
            return self.listener.tell(Diagnostic::UnknownNotification { method });
        };
        match told {
            Ok(Ok(())) => {}
            Ok(Err(problem)) => self.listener.tell(Diagnostic::InvalidNotification { method, problem: &problem }),
            Err(panic) => self.listener.tell(Diagnostic::Panicked { method, message: text_of(&*panic) }),
        }
    }

    fn answer_panic(&self, key: RequestKey, method: &str, panic: &(dyn Any + Send)) {
        self.listener.tell(Diagnostic::Panicked { method, message: text_of(panic) });
        // The text stays here: it may hold anything.
        self.answer(key, method, Err(RpcError::internal("Internal error")));
    }

    /// Answers a request. Only its first answer counts.
    fn answer(&self, key: RequestKey, method: &str, outcome: Result<Text, RpcError>) {
        let error = outcome.as_ref().err().cloned();
        let id = self.input(|connection| {
            let id = connection.request_id(key).cloned()?;
            connection.respond(key, outcome.map_err(ErrorObject::from)).then_some(id)
        });
        if let Some(running) = self.running.end(key) {
            running.lifetime.end();
            // The end of the link may have waited for it.
            self.wake();
        }
        if let Some(id) = id {
            self.listener.tell(Diagnostic::Answered { method, id: &id, error: error.as_ref() });
        }
    }

    /// The id of a request that waits for its answer.
    pub(super) fn request_id(&self, key: RequestKey) -> Option<Id> {
        self.input(|connection| connection.request_id(key).cloned())
    }
}

/// Runs code of a user; a panic of it ends nothing else. What it has left behind is its own, and not looked at again.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(work))
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a text")
}

/// Whether a request is still wanted, and who waits to hear that it is not.
#[derive(Debug, Default)]
pub(super) struct Lifetime {
    over: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

impl Lifetime {
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
        let wakers = std::mem::take(&mut *self.wakers.lock().unwrap_or_else(PoisonError::into_inner));
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(super) fn poll_end(&self, waker: &Waker) -> Poll<()> {
        let mut wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock, so that an end in between is not missed.
        if self.is_over() {
            return Poll::Ready(());
        }
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
        Poll::Pending
    }
}
