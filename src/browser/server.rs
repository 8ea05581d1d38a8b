//! The server. It runs handlers for requests and notifications from the peer.

use core::fmt;
use core::pin::Pin;
use core::task::{Context as TaskContext, Poll};
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::mem;
use std::rc::Rc;

use futures_core::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use slab::Slab;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen_futures::{JsFuture, spawn_local};

use super::context::{Context, Lifetime};
use super::convert::{params_from_js, to_js};
use super::running_request::{Answer, RunningRequest};
use super::transport::Transport;
use crate::ErrorCode;
use crate::error::{RpcError, unserializable_result};
use crate::method_name::is_reserved;
use portway_web::bindings::{JsRequest, ServerRole};

// The numbers of the events of a server. `js/rust/client-server.js` of `portway-web` has the same numbers.
const REQUEST: u32 = 0;
const NOTIFICATION: u32 = 1;
const CANCEL: u32 = 2;

/// The return value of the callback for a notification, for a cancellation, and for a request that no longer runs,
/// because its handler has answered at once. JavaScript never cancels a request for which the callback has returned
/// this value.
const ANSWERED: i32 = -1;
/// The return value of the callback for a poll. After a trap, `untilTrap` in JavaScript returns a negative number
/// instead.
const POLLED: i32 = 0;

/// Serves requests and notifications from the peer.
///
/// Handlers are registered by name. A second registration of a name replaces the handler. A request of an unknown
/// method is answered with the error -32601. A request with params that are not of the handler's type is answered with
/// the error -32602. If the params exceed a limit, this error has a `data.reason`. The reason is `nesting-too-deep` for
/// more than 128 nested levels. The reason is `too-many-visits` for params that exceed
/// [`Limits::conversion_visits`](crate::Limits).
///
/// If the server is dropped, its handlers and their futures are dropped, and the running requests are answered with an
/// error.
///
/// ```no_run
/// use portway::{Context, RpcError, Server, Transport};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Add { a: u32, b: u32 }
///
/// # fn run() -> Result<(), wasm_bindgen::JsValue> {
/// let server = Server::new(Transport::current_worker()?);
/// server
///     .method("add", |params: Add, _: Context| async move {
///         params.a.checked_add(params.b).ok_or_else(|| RpcError::invalid_params("too large"))
///     })
///     .on_notify("log", |(line,): (String,), _: Context| { /* show it */ });
/// server.forget();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a server ends when it is dropped"]
pub struct Server {
    service: Rc<Service>,
    /// The function that JavaScript calls with the events of the server. `drop` first ends the server, so JavaScript
    /// does not call a freed function.
    _callback: Closure<dyn Fn(u32, u32, JsValue, JsRequest) -> i32>,
}

impl Server {
    /// Creates a server without methods. Messages are handled only after the current code has returned to JavaScript.
    /// So this code can register methods before the first message is handled.
    pub fn new(transport: Transport) -> Self {
        let service =
            Rc::new(Service::new(ServerRole::new(transport.take(), &transport.js_limits()), transport.max_visits()));
        let callback_service = Rc::clone(&service);
        let callback = Closure::new(move |event, number, params, request| match event {
            REQUEST => Service::handle_request(&callback_service, number, params, request),
            NOTIFICATION => callback_service.handle_notification(number, params, request),
            CANCEL => callback_service.cancel(number),
            _ => callback_service.poll(number),
        });
        service.role.set_callback(&callback);
        Self { service, _callback: callback }
    }

    /// Registers an async handler for a method. Handlers are called in the order in which requests arrive, and their
    /// futures run concurrently. A future is dropped if the caller cancels the request.
    pub fn method<P, R, E, F, W>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> W + 'static,
        W: Future<Output = Result<R, E>> + 'static,
    {
        let max_visits = self.service.max_visits;
        self.add_method(name, move |params, context| match parse_params(params, max_visits) {
            Err(error) => Answer::Now(Err(error)),
            Ok(params) => {
                let work = handler(params, context);
                Answer::Later(Box::pin(async move { serialize_result(work.await) }))
            }
        })
    }

    /// Registers a synchronous handler for a method. The response is sent when the handler returns.
    pub fn method_sync<P, R, E, F>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> Result<R, E> + 'static,
    {
        let max_visits = self.service.max_visits;
        self.add_method(name, move |params, context| {
            Answer::Now(parse_params(params, max_visits).and_then(|params| serialize_result(handler(params, context))))
        })
    }

    /// Registers a handler that returns a stream. The caller reads the items by
    /// [`Client::stream`](crate::Client::stream), and limits the number of unread items. An error ends the stream.
    pub fn stream_method<P, T, E, F, S>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        T: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> S + 'static,
        S: Stream<Item = Result<T, E>> + 'static,
    {
        let max_visits = self.service.max_visits;
        let handler = move |params, context: Context| match parse_params(params, max_visits) {
            Err(error) => Answer::Now(Err(error)),
            Ok(params) => {
                let request = context.request().clone();
                Answer::Later(Box::pin(send_items(SerializedItems(Box::pin(handler(params, context))), request)))
            }
        };
        if self.check_name(name) {
            self.service.role.stream_method(name, self.service.methods.insert(name, Rc::new(handler)));
        }
        self
    }

    /// Registers an async handler for a method. The params and the result of the handler are values of JavaScript,
    /// which are not converted.
    pub fn method_js<E, F, W>(&self, name: &str, handler: F) -> &Self
    where
        E: Into<RpcError>,
        F: Fn(JsValue, Context) -> W + 'static,
        W: Future<Output = Result<JsValue, E>> + 'static,
    {
        self.add_method(name, move |params, context| {
            let work = handler(params, context);
            Answer::Later(Box::pin(async move { work.await.map_err(Into::into) }))
        })
    }

    /// Registers a handler for a notification. Notifications are handled in the order in which they arrive. A
    /// notification whose params are not of the handler's type is logged on the console, and is not handled.
    pub fn on_notify<P, F>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        F: Fn(P, Context) + 'static,
    {
        let max_visits = self.service.max_visits;
        self.add_notification(name, move |params, context| {
            handler(params_from_js(params, max_visits).map_err(|problem| problem.to_string())?, context);
            Ok(())
        })
    }

    /// Registers a handler for a notification. The params of the handler are a value of JavaScript, which is not
    /// converted.
    pub fn on_notify_js<F>(&self, name: &str, handler: F) -> &Self
    where
        F: Fn(JsValue, Context) + 'static,
    {
        self.add_notification(name, move |params, context| {
            handler(params, context);
            Ok(())
        })
    }

    /// Keeps the server and its methods until the program ends. For example, a worker may contain only a server.
    pub fn forget(self) {
        mem::forget(self);
    }

    /// Ends the server. Later calls of this function have no effect.
    pub(super) fn end(&self) {
        if !self.service.lifetime.is_over() {
            self.service.role.stop();
            self.service.end();
            self.service.role.destroy();
        }
    }

    fn add_method(&self, name: &str, handler: impl Fn(JsValue, Context) -> Answer + 'static) -> &Self {
        if self.check_name(name) {
            self.service.role.method(name, self.service.methods.insert(name, Rc::new(handler)));
        }
        self
    }

    fn add_notification(
        &self,
        name: &str,
        handler: impl Fn(JsValue, Context) -> Result<(), String> + 'static,
    ) -> &Self {
        if self.check_name(name) {
            self.service.role.on_notify(name, self.service.notifications.insert(name, Rc::new(handler)));
        }
        self
    }

    fn check_name(&self, name: &str) -> bool {
        let is_allowed = !is_reserved(name);
        if !is_allowed {
            self.service
                .role
                .report(&format!("\"{name}\" is not registered: names that begin with \"rpc.\" are reserved"));
        }
        is_allowed
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// The handlers of a server, and its running requests.
#[derive(Debug)]
struct Service {
    role: ServerRole,
    /// The maximum number of visits to read params.
    max_visits: usize,
    methods: Handlers<dyn Fn(JsValue, Context) -> Answer>,
    notifications: Handlers<dyn Fn(JsValue, Context) -> Result<(), String>>,
    /// This list is not borrowed while a handler, a waker or JavaScript runs, because their code may use the list.
    running: RefCell<Slab<Rc<RunningRequest>>>,
    /// The lifetime of the server. A request has its own lifetime. A notification has no own lifetime, so its context
    /// uses the lifetime of the server.
    lifetime: Rc<Lifetime>,
}

impl Service {
    fn new(role: ServerRole, max_visits: usize) -> Self {
        let (methods, notifications) = (Handlers::default(), Handlers::default());
        Self { role, max_visits, methods, notifications, running: RefCell::default(), lifetime: Rc::default() }
    }

    /// Runs the handler of a request. Returns the token with which JavaScript cancels and polls the request, or
    /// `ANSWERED`.
    fn handle_request(self: &Rc<Self>, index: u32, params: JsValue, request: JsRequest) -> i32 {
        let Some(handler) = self.methods.get(index) else { return ANSWERED };
        // The request is registered before the handler runs, because the handler may drop the server.
        let running = Rc::new(RunningRequest::new(request.clone()));
        let token = self.running.borrow_mut().insert(Rc::clone(&running));
        match handler(params, Context::new(request, Rc::clone(running.lifetime()))) {
            Answer::Now(outcome) => {
                self.remove(token, &running);
                running.answer(outcome);
                ANSWERED
            }
            Answer::Later(work) => {
                running.start(work);
                let service = Rc::clone(self);
                spawn_local(async move {
                    // `poll` calls JavaScript, which polls the work, because only JavaScript can catch a trap.
                    poll_fn(|context| running.poll(context, token as u32)).await;
                    service.remove(token, &running);
                });
                token as i32
            }
        }
    }

    /// Runs the handler of a notification.
    fn handle_notification(&self, index: u32, params: JsValue, request: JsRequest) -> i32 {
        if let Some(handler) = self.notifications.get(index) {
            let context = Context::new(request.clone(), Rc::clone(&self.lifetime));
            if let Err(problem) = handler(params, context) {
                self.role.report(&format!(
                    "the params of the notification \"{}\" cannot be read: {problem}",
                    request.method()
                ));
            }
        }
        ANSWERED
    }

    /// Aborts a request that the caller has cancelled.
    fn cancel(&self, token: u32) -> i32 {
        let running = self.running.borrow().get(token as usize).cloned();
        if let Some(running) = running {
            running.abort(RpcError::new(ErrorCode::REQUEST_CANCELLED, "Request cancelled"));
        }
        ANSWERED
    }

    /// Polls the work of a request.
    fn poll(&self, token: u32) -> i32 {
        let running = self.running.borrow().get(token as usize).cloned();
        if let Some(running) = running {
            running.poll_work();
        }
        POLLED
    }

    /// Removes a request that has ended.
    fn remove(&self, token: usize, running: &Rc<RunningRequest>) {
        let mut all = self.running.borrow_mut();
        if all.get(token).is_some_and(|other| Rc::ptr_eq(other, running)) {
            all.remove(token);
        }
    }

    fn end(&self) {
        self.lifetime.end();
        let running = self.running.take();
        for (_, running) in running {
            running.abort(server_destroyed());
        }
        self.methods.clear();
        self.notifications.clear();
    }
}

/// A stream that converts the items of another stream to values of JavaScript.
struct SerializedItems<S>(Pin<Box<S>>);

impl<T: Serialize, E: Into<RpcError>, S: Stream<Item = Result<T, E>>> Stream for SerializedItems<S> {
    type Item = Result<JsValue, RpcError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context).map(|item| item.map(serialize_result))
    }
}

/// Sends the items of a stream. The next item is requested only if the caller has granted credit for another item.
async fn send_items(
    mut items: impl Stream<Item = Result<JsValue, RpcError>> + Unpin,
    request: JsRequest,
) -> Result<JsValue, RpcError> {
    while let Some(item) = poll_fn(|context| Pin::new(&mut items).poll_next(context)).await {
        // The promise never rejects.
        let _ = JsFuture::from(request.item(&item?)).await;
    }
    Ok(JsValue::UNDEFINED)
}

fn server_destroyed() -> RpcError {
    RpcError::internal("JSON-RPC server destroyed")
}

fn parse_params<P: DeserializeOwned>(params: JsValue, max_visits: usize) -> Result<P, RpcError> {
    params_from_js(params, max_visits).map_err(|problem| RpcError::unreadable_params(&problem))
}

fn serialize_result<R: Serialize, E: Into<RpcError>>(outcome: Result<R, E>) -> Result<JsValue, RpcError> {
    let result = outcome.map_err(Into::into)?;
    to_js(&result).map_err(unserializable_result)
}

/// The handlers of methods or of notifications. The application registers them by name. JavaScript calls them by index.
struct Handlers<H: ?Sized>(RefCell<Vec<(String, Rc<H>)>>);

impl<H: ?Sized> Handlers<H> {
    /// Registers a handler under a name. Returns its index.
    fn insert(&self, name: &str, handler: Rc<H>) -> u32 {
        let mut handlers = self.0.borrow_mut();
        let index = handlers.iter().position(|(other, _)| other == name);
        let replaced = match index.and_then(|index| handlers.get_mut(index)) {
            Some((_, registered)) => Some(mem::replace(registered, handler)),
            None => {
                handlers.push((name.to_string(), handler));
                None
            }
        };
        let index = index.unwrap_or(handlers.len() - 1);
        drop(handlers);
        // The drop of a handler may run any code, so the borrow must end before the drop.
        drop(replaced);
        index as u32
    }

    fn get(&self, index: u32) -> Option<Rc<H>> {
        self.0.borrow().get(index as usize).map(|(_, handler)| Rc::clone(handler))
    }

    fn clear(&self) {
        drop(self.0.take());
    }
}

impl<H: ?Sized> Default for Handlers<H> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<H: ?Sized> fmt::Debug for Handlers<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.borrow().iter().map(|(name, _)| name)).finish()
    }
}
