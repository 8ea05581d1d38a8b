//! Requests that handlers work on.

use core::task::{Context as TaskContext, Poll, Waker};
use std::any::Any;
use std::boxed::Box;
use std::collections::HashMap;
use std::format;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::string::String;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use serde_json::json;
use serde_json::value::RawValue;
use slab::Slab;
use tokio::task::AbortHandle;

use super::Text;
use super::context::Context;
use super::diagnostic::Diagnostic;
use super::handlers::{Answer, HandlerFuture};
use super::limits::MAX_PEER_CREDIT;
use super::link::Link;
use super::outflow::{self, Outflow};
use super::streams::{self, Asked};
use super::waiters::{Place, Waiters};
use crate::Limits;
use crate::connection::RequestKey;
use crate::echo;
use crate::limits::{MAX_METHOD_LENGTH, is_longer};
use crate::message::{ErrorCode, ErrorObject, Fault, Id, Reason};
use crate::text::{RpcError, handler_panicked, length, method_not_found};

/// The requests that were begun and are not answered yet.
#[derive(Debug, Default)]
pub(super) struct RunningRequests(Mutex<HashMap<RequestKey, Running>>);

/// The notifications whose handlers are at work in tasks.
#[derive(Debug, Default)]
pub(super) struct RunningNotifications(Mutex<Load>);

#[derive(Debug, Default)]
struct Load {
    /// The abort handle of each handler's task.
    tasks: Slab<Option<AbortHandle>>,
    /// What their params had.
    bytes: usize,
    /// Whether the link has closed. No handler starts after that.
    is_over: bool,
}

/// The place of one notification among them, until it is dropped.
struct NotificationPlace {
    link: Arc<Link>,
    key: usize,
    bytes: usize,
}

impl RunningNotifications {
    pub(super) fn is_empty(&self) -> bool {
        self.lock().tasks.is_empty()
    }

    /// The key of a new one with so many bytes of params, if there is room for it.
    fn begin(&self, bytes: usize, limits: &Limits) -> Option<usize> {
        let mut load = self.lock();
        let fits = load.bytes == 0 || load.bytes.saturating_add(bytes) <= limits.in_flight_bytes;
        if load.is_over || load.tasks.len() >= limits.in_flight || !fits {
            return None;
        }
        load.bytes += bytes;
        Some(load.tasks.insert(None))
    }

    /// Stores the abort handle of a notification's task. Returns false if the notification has ended or the link has closed.
    fn set_task(&self, key: usize, task: &AbortHandle) -> bool {
        let mut load = self.lock();
        let place = load.tasks.get_mut(key);
        let is_wanted = place.is_some();
        if let Some(place) = place {
            *place = Some(task.clone());
        }
        is_wanted
    }

    /// Returns whether it was the last one.
    fn end(&self, key: usize, bytes: usize) -> bool {
        let mut load = self.lock();
        let ended = load.tasks.try_remove(key);
        if ended.is_some() {
            load.bytes -= bytes;
        }
        ended.is_some() && load.tasks.is_empty()
    }

    /// Drops all that is being worked on. None begins any more.
    pub(super) fn abort_all(&self) {
        let ended = std::mem::replace(&mut *self.lock(), Load { is_over: true, ..Load::default() });
        for (_, task) in ended.tasks {
            task.iter().for_each(AbortHandle::abort);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Load> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for NotificationPlace {
    fn drop(&mut self) {
        if self.link.running_notifications.end(self.key, self.bytes) {
            // The end of the link may have waited for it.
            self.link.wake();
        }
    }
}

#[derive(Debug)]
struct Running {
    method: Arc<str>,
    lifetime: Arc<Lifetime>,
    task: Option<AbortHandle>,
    outflow: Option<Arc<Outflow>>,
}

impl RunningRequests {
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn begin(&self, key: RequestKey, running: Running) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, running);
    }

    /// What has the credit of a stream that is sent.
    pub(super) fn outflow(&self, key: RequestKey) -> Option<Arc<Outflow>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key)?.outflow.clone()
    }

    /// How much more credit the streams of the peer may have.
    pub(super) fn spare_credit(&self) -> u32 {
        let running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let windows = running.values().filter_map(|running| running.outflow.as_ref()).map(|outflow| outflow.window());
        windows.fold(MAX_PEER_CREDIT, u32::saturating_sub)
    }

    /// Stores the abort handle of a request's task. Returns false if the request has ended or the link has closed.
    fn set_task(&self, key: RequestKey, task: &AbortHandle) -> bool {
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

    /// No stream gets more credit.
    pub(super) fn end_credit(&self) {
        let running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let outflows: Vec<_> = running.values().filter_map(|running| running.outflow.clone()).collect();
        drop(running);
        outflows.iter().for_each(|outflow| outflow.end());
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
        if &*method == streams::REQUEST {
            return self.serve_stream(key, params.as_deref(), turn);
        }
        let Some(handler) = self.handlers.method(&method) else {
            let error = match self.handlers.stream(&method) {
                None => method_not_found(&method),
                Some(_) => {
                    RpcError::internal(format!("\"{}\" gives a stream: call it by stream()", echo::beginning(&method)))
                }
            };
            return self.answer(key, &method, Err(error));
        };
        let (method, context) = self.begin(key, method.into(), None);
        let answer = guarded(|| handler(params.as_deref(), context));
        self.settle(key, method, answer, turn);
    }

    /// Runs the handler of a stream that is asked for.
    fn serve_stream(self: &Arc<Self>, key: RequestKey, params: Option<&RawValue>, turn: &TaskContext<'_>) {
        let asked = params.and_then(|params| serde_json::from_str::<Asked<'_>>(params.get()).ok());
        let Some(Asked { method, params, credit }) = asked.filter(|asked| streams::is_credit(asked.credit)) else {
            return self.answer(key, streams::REQUEST, Err(RpcError::invalid_params("Invalid params")));
        };
        let method = &*method;
        if is_longer(method, MAX_METHOD_LENGTH) {
            let fault = ErrorObject::from(Fault::Refused(Reason::MethodTooLong));
            return self.answer(key, streams::REQUEST, Err(fault.into()));
        }
        if credit > self.running.spare_credit() {
            let error = RpcError::new(ErrorCode::INVALID_REQUEST, "Invalid Request");
            let error = error.with_data(&json!({ "reason": "too-much-credit" }));
            return self.answer(key, method, Err(error));
        }
        let Some(handler) = self.handlers.stream(method) else {
            let error = match self.handlers.method(method) {
                None => method_not_found(method),
                Some(_) => {
                    RpcError::internal(format!("\"{}\" gives no stream: call it by call()", echo::beginning(method)))
                }
            };
            return self.answer(key, method, Err(error));
        };
        let outflow = Outflow::new(credit);
        let (method, context) = self.begin(key, method.into(), Some(Arc::clone(&outflow)));
        let answer = guarded(|| match handler(params, context) {
            Err(error) => Answer::Now(Err(error)),
            Ok(source) => Answer::Later(Box::pin(outflow::run(Arc::downgrade(self), key, source, outflow))),
        });
        self.settle(key, method, answer, turn);
    }

    fn begin(
        self: &Arc<Self>,
        key: RequestKey,
        method: Arc<str>,
        outflow: Option<Arc<Outflow>>,
    ) -> (Arc<str>, Context) {
        let lifetime = Arc::new(Lifetime::default());
        let context = Context::of_request(self, Arc::clone(&method), key, Arc::clone(&lifetime));
        self.running.begin(key, Running { method: Arc::clone(&method), lifetime, task: None, outflow });
        (method, context)
    }

    fn settle(
        self: &Arc<Self>,
        key: RequestKey,
        method: Arc<str>,
        answer: Result<Answer, Box<dyn Any + Send>>,
        turn: &TaskContext<'_>,
    ) {
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
        if !self.running.set_task(key, &task.abort_handle()) {
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
    pub(super) fn notified(self: &Arc<Self>, method: &str, params: Option<&RawValue>) {
        let context = || Context::of_notification(self, method.into());
        let told = if let Some(handler) = self.handlers.notification(method) {
            guarded(|| handler(params, context()))
        } else if let Some(handler) = self.handlers.method(method) {
            guarded(|| match handler(params, context()) {
                Answer::Now(outcome) => outcome.map(drop).map_err(|error| error.message),
                Answer::Later(work) => {
                    if !self.work_on_notification(work, params.map_or(0, |params| params.get().len())) {
                        self.listener.tell(Diagnostic::DroppedNotification { method });
                    }
                    Ok(())
                }
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

    /// Spawns the handler's future. Returns false if the limit is reached. The task is aborted when the link closes.
    fn work_on_notification(self: &Arc<Self>, work: HandlerFuture, bytes: usize) -> bool {
        let Some(key) = self.running_notifications.begin(bytes, &self.limits) else { return false };
        let place = NotificationPlace { link: Arc::clone(self), key, bytes };
        let task = tokio::spawn(async move {
            let _place = place;
            work.await
        });
        if !self.running_notifications.set_task(key, &task.abort_handle()) {
            // The link has ended while it began, or it is done already.
            task.abort();
        }
        true
    }

    fn answer_panic(&self, key: RequestKey, method: &str, panic: &(dyn Any + Send)) {
        self.listener.tell(Diagnostic::Panicked { method, message: text_of(panic) });
        self.answer(key, method, Err(handler_panicked()));
    }

    /// Answers a request. Only its first answer counts.
    fn answer(&self, key: RequestKey, method: &str, outcome: Result<Text, RpcError>) {
        let longest = self.longest_message();
        // Only WIPC has a longest message.
        let outcome = match if longest == usize::MAX { None } else { self.request_id(key) } {
            Some(id) => length::check_outcome(&id, outcome, longest),
            None => outcome,
        };
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
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(work))
}

pub(super) fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a text")
}

/// Whether a request is still wanted, and who waits to hear that it is not.
#[derive(Debug, Default)]
pub(super) struct Lifetime {
    over: AtomicBool,
    waiters: Mutex<Waiters>,
}

impl Lifetime {
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
        let wakers = self.waiters().take();
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(super) fn poll_end(&self, place: &mut Place, waker: &Waker) -> Poll<()> {
        let mut waiters = self.waiters();
        // Under the lock, so that an end in between is not missed.
        if self.is_over() {
            return Poll::Ready(());
        }
        let replaced = waiters.wait(place, waker);
        drop(waiters);
        drop(replaced);
        Poll::Pending
    }

    /// Removes the waker of a dropped future.
    pub(super) fn leave(&self, place: &Place) {
        let left = self.waiters().leave(place);
        drop(left);
    }

    fn waiters(&self) -> MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
