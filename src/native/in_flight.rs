//! Running handlers of requests and notifications.

use core::task::{Context as TaskContext, Poll, Waker};
use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use serde_json::value::RawValue;
use slab::Slab;
use tokio::task::AbortHandle;

use super::Text;
use super::context::Context;
use super::diagnostic::Diagnostic;
use super::handlers::{HandlerFuture, HandlerOutcome};
use super::link::Link;
use super::mcp_dialect;
use super::stream_sender;
use super::waker_set::{WakerKey, WakerSet};
use crate::ErrorCode;
use crate::Limits;
use crate::codec::json::BorrowedRequest;
use crate::connection::RequestKey;
use crate::connection::control::{self, StreamRequest};
use crate::echo;
use crate::error::{RpcError, handler_panicked, method_not_found};
use crate::message::{ErrorObject, Fault, Id, Reason};
use crate::message_length;
use portway_proto::{MAX_METHOD_LENGTH, is_longer};

/// The requests whose handlers are running, by the slots of their keys.
#[derive(Debug, Default)]
pub(super) struct InFlightRequests {
    slots: Vec<Option<InFlightRequest>>,
    count: usize,
}

/// The notifications whose handlers are running in tasks.
#[derive(Debug, Default)]
pub(super) struct InFlightNotifications(Mutex<NotificationTasks>);

#[derive(Debug, Default)]
struct NotificationTasks {
    /// The abort handles of the tasks, or `None` before a task is spawned.
    tasks: Slab<Option<AbortHandle>>,
    /// The number of bytes of the params of all running notifications.
    bytes: usize,
    /// Whether the link has closed. No handler starts on a closed link.
    is_closed: bool,
}

/// An entry of [`InFlightNotifications`]. The drop of this value removes the entry.
struct NotificationSlot {
    link: Arc<Link>,
    key: usize,
    bytes: usize,
}

impl InFlightNotifications {
    pub(super) fn is_empty(&self) -> bool {
        self.lock().tasks.is_empty()
    }

    /// Inserts a notification whose params have `bytes` bytes. Returns its key, or `None` if a limit is reached or the
    /// link has closed.
    fn insert(&self, bytes: usize, limits: &Limits) -> Option<usize> {
        let mut running = self.lock();
        let fits = running.bytes == 0 || running.bytes.saturating_add(bytes) <= limits.in_flight_bytes;
        if running.is_closed || running.tasks.len() >= limits.in_flight || !fits {
            return None;
        }
        running.bytes += bytes;
        Some(running.tasks.insert(None))
    }

    /// Stores the abort handle of a notification's task. Returns `false` if the notification has ended or the link has
    /// closed.
    fn set_task(&self, key: usize, task: &AbortHandle) -> bool {
        let mut running = self.lock();
        let slot = running.tasks.get_mut(key);
        let is_running = slot.is_some();
        if let Some(slot) = slot {
            *slot = Some(task.clone());
        }
        is_running
    }

    /// Removes a notification. Returns whether no other notification is running.
    fn remove(&self, key: usize, bytes: usize) -> bool {
        let mut running = self.lock();
        let removed = running.tasks.try_remove(key);
        if removed.is_some() {
            running.bytes -= bytes;
        }
        removed.is_some() && running.tasks.is_empty()
    }

    /// Aborts all tasks. No handler starts after this.
    pub(super) fn abort_all(&self) {
        let removed =
            std::mem::replace(&mut *self.lock(), NotificationTasks { is_closed: true, ..NotificationTasks::default() });
        for (_, task) in removed.tasks {
            task.iter().for_each(AbortHandle::abort);
        }
    }

    fn lock(&self) -> MutexGuard<'_, NotificationTasks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for NotificationSlot {
    fn drop(&mut self) {
        if self.link.in_flight_notifications.remove(self.key, self.bytes) {
            // A link that ends may wait for its last running notification.
            self.link.wake();
        }
    }
}

#[derive(Debug)]
pub(super) struct InFlightRequest {
    key: RequestKey,
    method: Arc<str>,
    cancel_token: Arc<CancelToken>,
    task: Option<AbortHandle>,
}

impl InFlightRequests {
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// Inserts a request. The slot of the request is free, because each request is removed when it is answered.
    pub(super) fn insert(&mut self, request: InFlightRequest) {
        let slot = request.key.slot() as usize;
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || None);
        }
        if let Some(place) = self.slots.get_mut(slot) {
            *place = Some(request);
            self.count += 1;
        }
    }

    /// Stores the abort handle of a request's task. Returns `false` if the request has ended or the link has closed.
    fn set_task(&mut self, key: RequestKey, task: &AbortHandle) -> bool {
        let place = self.slots.get_mut(key.slot() as usize).and_then(Option::as_mut);
        let request = place.filter(|request| request.key == key);
        let is_running = request.is_some();
        if let Some(request) = request {
            request.task = Some(task.clone());
        }
        is_running
    }

    fn remove(&mut self, key: RequestKey) -> Option<InFlightRequest> {
        self.take_if(key, |_| true)
    }

    /// Removes a request if `matches` returns true for its method.
    fn take_if(&mut self, key: RequestKey, matches: impl FnOnce(&str) -> bool) -> Option<InFlightRequest> {
        let slot = self.slots.get_mut(key.slot() as usize)?;
        let request = slot.take_if(|request| request.key == key && matches(&request.method))?;
        self.count -= 1;
        Some(request)
    }

    /// Aborts all tasks.
    pub(super) fn abort_all(self) {
        for request in self.slots.into_iter().flatten() {
            request.abort();
        }
    }
}

impl InFlightRequest {
    pub(super) fn new(key: RequestKey, method: &Arc<str>, cancel_token: Arc<CancelToken>) -> Self {
        Self { key, method: Arc::clone(method), cancel_token, task: None }
    }

    fn abort(&self) {
        self.cancel_token.cancel();
        if let Some(task) = &self.task {
            task.abort();
        }
    }

    /// Cancels the token after the response, if other code still has the token.
    fn end(self) {
        if Arc::strong_count(&self.cancel_token) > 1 {
            self.cancel_token.cancel();
        }
    }
}

impl Link {
    /// Runs the handler of a request at once, without an event of the connection. The handler runs as in
    /// [`Self::dispatch_request`]. Returns the request if the request must wait or must be refused, or if its method
    /// has no handler.
    pub(super) fn run_request<'r>(
        self: &Arc<Self>,
        request: BorrowedRequest<'r>,
        task_context: &TaskContext<'_>,
    ) -> Option<BorrowedRequest<'r>> {
        let Some((method, handler)) = self.handlers.method(&request.method) else { return Some(request) };
        let cancel_token = Arc::new(CancelToken::default());
        let Some(key) = self.lock().begin_request(&request, &method, &cancel_token) else { return Some(request) };
        let context = Context::of_request(self, Arc::clone(&method), key, request.params, cancel_token);
        let answer = catch_panic(|| handler(request.params, context));
        self.handle_outcome(key, method, answer, task_context);
        None
    }

    /// Runs the handler of a request. If the handler completes at its first poll, the request is answered at once. A
    /// pending handler continues in a task.
    pub(super) fn dispatch_request(
        self: &Arc<Self>,
        key: RequestKey,
        method: Box<str>,
        params: Option<Text>,
        task_context: &TaskContext<'_>,
    ) {
        if &*method == control::STREAM_METHOD && !self.profile.is_mcp() {
            return self.dispatch_stream_request(key, params.as_ref(), task_context);
        }
        let Some((method, handler)) = self.handlers.method(&method) else {
            let outcome = match self.handlers.stream(&method) {
                None if self.profile.is_mcp() => mcp_dialect::answer_without_handler(&method),
                None => Err(method_not_found(&method)),
                Some(_) => Err(RpcError::internal(format!(
                    "method \"{}\" returns a stream; use stream()",
                    echo::first_100_characters(&method)
                ))),
            };
            return self.respond(key, &method, outcome);
        };
        let context = self.begin(key, &method, params.as_deref());
        let answer = catch_panic(|| handler(params.as_deref(), context));
        self.handle_outcome(key, method, answer, task_context);
    }

    /// Runs the handler of a request for a stream.
    fn dispatch_stream_request(
        self: &Arc<Self>,
        key: RequestKey,
        params: Option<&Text>,
        task_context: &TaskContext<'_>,
    ) {
        let Some(StreamRequest { method, params, credit }) = params.and_then(control::read_stream_request) else {
            return self.respond(key, control::STREAM_METHOD, Err(RpcError::invalid_params("Invalid params")));
        };
        let method = &*method;
        if is_longer(method, MAX_METHOD_LENGTH) {
            let fault = ErrorObject::from(Fault::Refused(Reason::MethodTooLong));
            return self.respond(key, control::STREAM_METHOD, Err(fault.into()));
        }
        if self.lock().send_streams.check(credit).is_err() {
            let error = RpcError::new(ErrorCode::INVALID_REQUEST, "Invalid Request");
            let error = error.with_data(&json!({ "reason": "too-much-credit" }));
            return self.respond(key, method, Err(error));
        }
        let Some((method, handler)) = self.handlers.stream(method) else {
            let error = match self.handlers.method(method) {
                None => method_not_found(method),
                Some(_) => RpcError::internal(format!(
                    "method \"{}\" does not return a stream; use call()",
                    echo::first_100_characters(method)
                )),
            };
            return self.respond(key, method, Err(error));
        };
        // Only the driver adds streams, so the result of `check` is still valid.
        let _ = self.lock().send_streams.insert(key, credit);
        let context = self.begin(key, &method, params);
        let answer = catch_panic(|| match handler(params, context) {
            Err(error) => HandlerOutcome::Ready(Err(error)),
            Ok(source) => HandlerOutcome::Pending(Box::pin(stream_sender::pump(Arc::downgrade(self), key, source))),
        });
        self.handle_outcome(key, method, answer, task_context);
    }

    fn begin(self: &Arc<Self>, key: RequestKey, method: &Arc<str>, params: Option<&RawValue>) -> Context {
        let cancel_token = Arc::new(CancelToken::default());
        let context = Context::of_request(self, Arc::clone(method), key, params, Arc::clone(&cancel_token));
        self.lock().in_flight.insert(InFlightRequest::new(key, method, cancel_token));
        context
    }

    fn handle_outcome(
        self: &Arc<Self>,
        key: RequestKey,
        method: Arc<str>,
        answer: Result<HandlerOutcome, Box<dyn Any + Send>>,
        task_context: &TaskContext<'_>,
    ) {
        match answer {
            Err(panic) => self.respond_to_panic(key, &method, &*panic),
            Ok(HandlerOutcome::Ready(outcome)) => self.respond(key, &method, outcome),
            Ok(HandlerOutcome::Pending(work)) => self.run_handler(key, method, work, task_context),
        }
    }

    fn run_handler(
        self: &Arc<Self>,
        key: RequestKey,
        method: Arc<str>,
        mut work: HandlerFuture,
        task_context: &TaskContext<'_>,
    ) {
        // Most handlers complete at the first poll and need no task. A pending handler is polled again in its task,
        // which registers another waker.
        match catch_panic(|| work.as_mut().poll(&mut TaskContext::from_waker(task_context.waker()))) {
            Err(panic) => return self.respond_to_panic(key, &method, &*panic),
            Ok(Poll::Ready(outcome)) => return self.respond(key, &method, outcome),
            Ok(Poll::Pending) => {}
        }
        let link = Arc::clone(self);
        let task = tokio::spawn(async move {
            match poll_caught(&mut work).await {
                Err(panic) => link.respond_to_panic(key, &method, &*panic),
                Ok(outcome) => link.respond(key, &method, outcome),
            }
        });
        if !self.lock().in_flight.set_task(key, &task.abort_handle()) {
            // The request was cancelled during the first poll, or the task has completed.
            task.abort();
        }
    }

    /// Cancels a request. Responds with an error, and aborts the handler. In MCP, sends no response.
    pub(super) fn cancel_request(&self, key: RequestKey) {
        if self.profile.is_mcp() {
            return self.cancel_without_response(key);
        }
        let request = self.lock().in_flight.remove(key);
        if let Some(request) = &request {
            request.abort();
        }
        // A queued request has no handler yet.
        let method = request.as_ref().map_or("", |request| &request.method);
        self.respond(key, method, Err(RpcError::new(ErrorCode::REQUEST_CANCELLED, "Request cancelled")));
    }

    /// Cancels a request without a response, unless a request of its method cannot be cancelled.
    fn cancel_without_response(&self, key: RequestKey) {
        let request = self.with_state(|state| {
            let request = state.in_flight.take_if(key, mcp_dialect::is_cancellable)?;
            // Requests of MCP are not in batches, so `take_request` ends the request.
            let _ = state.connection.take_request(key);
            Some(request)
        });
        if let Some(request) = request {
            request.abort();
        }
    }

    /// Runs the handler of a notification. A handler of a method also accepts notifications.
    pub(super) fn dispatch_notification(self: &Arc<Self>, method: &str, params: Option<&RawValue>) {
        let result = if let Some((method, handler)) = self.handlers.notification(method) {
            catch_panic(|| handler(params, Context::of_notification(self, method)))
        } else if let Some((name, handler)) = self.handlers.method(method) {
            catch_panic(|| match handler(params, Context::of_notification(self, name)) {
                HandlerOutcome::Ready(outcome) => outcome.map(drop).map_err(|error| error.message),
                HandlerOutcome::Pending(work) => {
                    if !self.spawn_notification(method, work, params.map_or(0, |params| params.get().len())) {
                        self.diagnostics.report(Diagnostic::DroppedNotification { method });
                    }
                    Ok(())
                }
            })
        } else {
            return self.diagnostics.report(Diagnostic::UnknownNotification { method });
        };
        match result {
            Ok(Ok(())) => {}
            Ok(Err(problem)) => self.diagnostics.report(Diagnostic::InvalidNotification { method, problem: &problem }),
            Err(panic) => self.diagnostics.report(Diagnostic::Panicked { method, message: panic_message(&*panic) }),
        }
    }

    /// Spawns the future of a handler. Returns `false` if a limit is reached or the link has closed. The task is
    /// aborted when the link closes.
    fn spawn_notification(self: &Arc<Self>, method: &str, mut work: HandlerFuture, bytes: usize) -> bool {
        let Some(key) = self.in_flight_notifications.insert(bytes, &self.limits) else { return false };
        let slot = NotificationSlot { link: Arc::clone(self), key, bytes };
        let method: Box<str> = method.into();
        let task = tokio::spawn(async move {
            if let Err(panic) = poll_caught(&mut work).await {
                let message = panic_message(&*panic);
                slot.link.diagnostics.report(Diagnostic::Panicked { method: &method, message });
            }
        });
        if !self.in_flight_notifications.set_task(key, &task.abort_handle()) {
            // The link has closed, or the task has completed.
            task.abort();
        }
        true
    }

    fn respond_to_panic(&self, key: RequestKey, method: &str, panic: &(dyn Any + Send)) {
        self.diagnostics.report(Diagnostic::Panicked { method, message: panic_message(panic) });
        self.respond(key, method, Err(handler_panicked()));
    }

    /// Responds to a request. Further responses are ignored.
    fn respond(&self, key: RequestKey, method: &str, outcome: Result<Text, RpcError>) {
        let outcome = if self.profile.is_mcp() { outcome.and_then(mcp_dialect::object_result) } else { outcome };
        let max_bytes = self.max_message_bytes();
        // Only WIPC limits the length of outgoing messages.
        let outcome = match if max_bytes == usize::MAX { None } else { self.request_id(key) } {
            Some(id) => message_length::check_outcome(&id, outcome, max_bytes),
            None => outcome,
        };
        let error = outcome.as_ref().err().filter(|_| self.diagnostics.is_set()).cloned();
        let (id, running, waker) = self.with_output(|state| {
            let id = state.respond(key, outcome.map_err(ErrorObject::from));
            (id, state.in_flight.remove(key), state.remove_stream(key))
        });
        drop(waker);
        if let Some(running) = running {
            running.end();
        }
        if let Some(id) = id {
            self.diagnostics.report(Diagnostic::Answered { method, id: &id, error: error.as_ref() });
        }
    }

    /// Returns the id of an unanswered request.
    pub(super) fn request_id(&self, key: RequestKey) -> Option<Id> {
        self.with_connection(|connection| connection.request_id(key).cloned())
    }
}

/// Awaits the future of a handler. Returns a panic as an error.
async fn poll_caught(work: &mut HandlerFuture) -> Result<Result<Text, RpcError>, Box<dyn Any + Send>> {
    poll_fn(|context| match catch_panic(|| work.as_mut().poll(context)) {
        Err(panic) => Poll::Ready(Err(panic)),
        Ok(polled) => polled.map(Ok),
    })
    .await
}

/// Runs code of the application. Returns a panic as an error. The library may call a callback again after a panic, so
/// the callback must keep its own state valid.
pub(super) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(work))
}

pub(super) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}

/// Whether a request was cancelled, and the wakers of the futures that wait for the cancellation.
#[derive(Debug, Default)]
pub(super) struct CancelToken {
    is_cancelled: AtomicBool,
    wakers: Mutex<WakerSet>,
}

impl CancelToken {
    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }

    pub(super) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
        let wakers = self.wakers().take();
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(super) fn poll_cancelled(&self, key: &mut WakerKey, waker: &Waker) -> Poll<()> {
        let mut wakers = self.wakers();
        // `cancel` sets the flag before it takes the wakers under this lock. So either this check reads the flag, or
        // `cancel` takes the waker that is registered here.
        if self.is_cancelled() {
            return Poll::Ready(());
        }
        let replaced = wakers.register(key, waker);
        drop(wakers);
        drop(replaced);
        Poll::Pending
    }

    /// Removes the waker of a dropped future.
    pub(super) fn remove_waker(&self, key: &WakerKey) {
        let removed = self.wakers().remove(key);
        drop(removed);
    }

    fn wakers(&self) -> MutexGuard<'_, WakerSet> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
