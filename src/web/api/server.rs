//! The server: runs handlers for what the other side asks.

use core::fmt;
use core::pin::Pin;
use core::task::{Context as TaskContext, Poll};
use std::boxed::Box;
use std::cell::RefCell;
use std::format;
use std::future::{Future, poll_fn};
use std::mem;
use std::rc::Rc;
use std::string::{String, ToString};
use std::vec::Vec;

use futures_core::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use slab::Slab;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen_futures::{JsFuture, spawn_local};

use super::bridge::{JsRequest, ServerRole};
use super::context::{Context, Lifetime};
use super::convert::{params_from_js, to_js};
use super::error::RpcError;
use super::request::{Answer, RunningRequest};
use super::transport::Transport;
use crate::message::ErrorCode;

// What JavaScript tells a server; `rust-roles.js` has the same numbers.
const REQUEST: u32 = 0;
const NOTIFICATION: u32 = 1;
const CANCEL: u32 = 2;

/// The token of a request that was answered at once.
const ANSWERED: i32 = -1;
/// A task has had its turn. Those that have died of it give less.
const POLLED: i32 = 0;

/// Serves the other side.
///
/// Methods and notifications are registered by name; a name that is registered again gets the new handler. Methods that
/// nobody has registered are answered with -32601, and params that do not fit the type of a handler with -32602; so are those
/// that are nested more than 128 levels deep or take more visits to read than [`Limits::conversion_visits`](crate::Limits),
/// where `data.reason` is `nesting-too-deep` or `too-many-visits`. When the
/// server is dropped, so are its handlers and all their work; what was being worked on is answered with an error.
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
    /// What JavaScript calls. It is freed after the link has let go of it.
    _tell: Closure<dyn Fn(u32, u32, JsValue, JsRequest) -> i32>,
}

impl Server {
    /// A server without methods. What comes in before the running piece of code has ended finds the methods that are
    /// registered until then.
    pub fn new(transport: Transport) -> Self {
        let service =
            Rc::new(Service::new(ServerRole::new(transport.used(), &transport.js_limits()), transport.max_visits()));
        let listener = Rc::clone(&service);
        let tell = Closure::new(move |what, number, params, request| match what {
            REQUEST => Service::serve(&listener, number, params, request),
            NOTIFICATION => listener.notified(number, params, request),
            CANCEL => listener.cancel(number),
            _ => listener.poll(number),
        });
        service.role.set_callback(&tell);
        Self { service, _tell: tell }
    }

    /// Has a handler for a method. The handler is run at once, in the order in which requests arrive; the future that it
    /// gives is polled soon after, beside others. It is dropped if the caller cancels the request.
    pub fn method<P, R, E, F, W>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> W + 'static,
        W: Future<Output = Result<R, E>> + 'static,
    {
        let max_visits = self.service.max_visits;
        self.add_method(name, move |params, context| match read_params(params, max_visits) {
            Err(error) => Answer::Now(Err(error)),
            Ok(params) => {
                let work = handler(params, context);
                Answer::Later(Box::pin(async move { written(work.await) }))
            }
        })
    }

    /// Has a handler that answers at once.
    pub fn method_sync<P, R, E, F>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> Result<R, E> + 'static,
    {
        let max_visits = self.service.max_visits;
        self.add_method(name, move |params, context| {
            Answer::Now(read_params(params, max_visits).and_then(|params| written(handler(params, context))))
        })
    }

    /// Sets a handler that returns a stream. The caller gets its items one by one, by
    /// [`Client::stream`](crate::Client::stream), and not more than it has room for. An error ends the stream.
    pub fn stream_method<P, T, E, F, S>(&self, name: &str, handler: F) -> &Self
    where
        P: DeserializeOwned,
        T: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> S + 'static,
        S: Stream<Item = Result<T, E>> + 'static,
    {
        let max_visits = self.service.max_visits;
        let handler = move |params, context: Context| match read_params(params, max_visits) {
            Err(error) => Answer::Now(Err(error)),
            Ok(params) => {
                let request = context.request().clone();
                Answer::Later(Box::pin(send_items(Written(Box::pin(handler(params, context))), request)))
            }
        };
        if self.may_register(name) {
            self.service.role.stream_method(name, self.service.methods.put(name, Rc::new(handler)));
        }
        self
    }

    /// Has a handler with values of JavaScript, which are not converted.
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

    /// Has a handler for a notification. Notifications are handled in the order in which they arrive. One whose params do
    /// not fit the type is reported on the console.
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

    /// Has a handler for a notification, with values of JavaScript, which are not converted.
    pub fn on_notify_js<F>(&self, name: &str, handler: F) -> &Self
    where
        F: Fn(JsValue, Context) + 'static,
    {
        self.add_notification(name, move |params, context| {
            handler(params, context);
            Ok(())
        })
    }

    /// Keeps the server, and its methods, for the rest of the program; so does a worker that does nothing else.
    pub fn forget(self) {
        mem::forget(self);
    }

    /// Ends the server. A repetition is harmless.
    pub(super) fn end(&self) {
        if !self.service.lifetime.is_over() {
            self.service.role.stop();
            self.service.end();
            self.service.role.destroy();
        }
    }

    fn add_method(&self, name: &str, handler: impl Fn(JsValue, Context) -> Answer + 'static) -> &Self {
        if self.may_register(name) {
            self.service.role.method(name, self.service.methods.put(name, Rc::new(handler)));
        }
        self
    }

    fn add_notification(
        &self,
        name: &str,
        handler: impl Fn(JsValue, Context) -> Result<(), String> + 'static,
    ) -> &Self {
        if self.may_register(name) {
            self.service.role.on_notify(name, self.service.notifications.put(name, Rc::new(handler)));
        }
        self
    }

    fn may_register(&self, name: &str) -> bool {
        let may = !name.starts_with("rpc.");
        if !may {
            self.service
                .role
                .report(&format!("\"{name}\" is not registered: names that begin with \"rpc.\" are reserved"));
        }
        may
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// The handlers of a server, and what they work on.
#[derive(Debug)]
struct Service {
    role: ServerRole,
    /// Most visits to read params.
    max_visits: usize,
    methods: Handlers<dyn Fn(JsValue, Context) -> Answer>,
    notifications: Handlers<dyn Fn(JsValue, Context) -> Result<(), String>>,
    /// Never borrowed while anything else runs.
    running: RefCell<Slab<Rc<RunningRequest>>>,
    /// Of the server itself, which is that of notifications, too.
    lifetime: Rc<Lifetime>,
}

impl Service {
    fn new(role: ServerRole, max_visits: usize) -> Self {
        let (methods, notifications) = (Handlers::default(), Handlers::default());
        Self { role, max_visits, methods, notifications, running: RefCell::default(), lifetime: Rc::default() }
    }

    /// Runs the handler of a request. Gives the token by which it can be cancelled.
    fn serve(self: &Rc<Self>, index: u32, params: JsValue, request: JsRequest) -> i32 {
        let Some(handler) = self.methods.at(index) else { return ANSWERED };
        // It counts as running from here on, since the handler itself may drop the server.
        let running = Rc::new(RunningRequest::new(request.clone()));
        let token = self.running.borrow_mut().insert(Rc::clone(&running));
        match handler(params, Context::new(request, Rc::clone(running.lifetime()))) {
            Answer::Now(outcome) => {
                self.forget(token, &running);
                running.answer(outcome);
                ANSWERED
            }
            Answer::Later(work) => {
                running.start(work);
                let service = Rc::clone(self);
                spawn_local(async move {
                    // By way of JavaScript, which sees if it traps; nobody else may.
                    poll_fn(|context| running.poll(context, token as u32)).await;
                    service.forget(token, &running);
                });
                token as i32
            }
        }
    }

    /// Runs the handler of a notification.
    fn notified(&self, index: u32, params: JsValue, request: JsRequest) -> i32 {
        if let Some(handler) = self.notifications.at(index) {
            let context = Context::new(request.clone(), Rc::clone(&self.lifetime));
            if let Err(problem) = handler(params, context) {
                self.role.report(&format!("the params of the notification \"{}\": {problem}", request.method()));
            }
        }
        ANSWERED
    }

    /// The caller no longer wants an answer.
    fn cancel(&self, token: u32) -> i32 {
        let running = self.running.borrow().get(token as usize).cloned();
        if let Some(running) = running {
            running.abort(RpcError::new(ErrorCode::REQUEST_CANCELLED, "Request cancelled"));
        }
        ANSWERED
    }

    /// The task of a request has its turn.
    fn poll(&self, token: u32) -> i32 {
        let running = self.running.borrow().get(token as usize).cloned();
        if let Some(running) = running {
            running.work_on();
        }
        POLLED
    }

    /// The task of a request has ended.
    fn forget(&self, token: usize, running: &Rc<RunningRequest>) {
        let mut all = self.running.borrow_mut();
        if all.get(token).is_some_and(|other| Rc::ptr_eq(other, running)) {
            all.remove(token);
        }
    }

    fn end(&self) {
        self.lifetime.end();
        let running = self.running.take();
        for (_, running) in running {
            running.abort(server_gone());
        }
        self.methods.clear();
        self.notifications.clear();
    }
}

/// A stream, with its items as values of JavaScript.
struct Written<S>(Pin<Box<S>>);

impl<T: Serialize, E: Into<RpcError>, S: Stream<Item = Result<T, E>>> Stream for Written<S> {
    type Item = Result<JsValue, RpcError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context).map(|item| item.map(written))
    }
}

/// Sends the items of a stream, each when it is wanted.
async fn send_items(
    mut items: impl Stream<Item = Result<JsValue, RpcError>> + Unpin,
    request: JsRequest,
) -> Result<JsValue, RpcError> {
    while let Some(item) = poll_fn(|context| Pin::new(&mut items).poll_next(context)).await {
        // It never rejects.
        let _ = JsFuture::from(request.item(&item?)).await;
    }
    Ok(JsValue::UNDEFINED)
}

fn server_gone() -> RpcError {
    RpcError::internal("JSON-RPC server destroyed")
}

fn read_params<P: DeserializeOwned>(params: JsValue, max_visits: usize) -> Result<P, RpcError> {
    params_from_js(params, max_visits).map_err(|problem| RpcError::unreadable_params(&problem))
}

fn written<R: Serialize, E: Into<RpcError>>(outcome: Result<R, E>) -> Result<JsValue, RpcError> {
    let result = outcome.map_err(Into::into)?;
    to_js(&result).map_err(|problem| RpcError::internal(format!("The result cannot be sent: {problem}")))
}

/// Handlers, by name for who registers them and by index for JavaScript.
struct Handlers<H: ?Sized>(RefCell<Vec<(String, Rc<H>)>>);

impl<H: ?Sized> Handlers<H> {
    /// Has a handler under this name, and gives its index.
    fn put(&self, name: &str, handler: Rc<H>) -> u32 {
        let mut handlers = self.0.borrow_mut();
        let index = handlers.iter().position(|(other, _)| other == name);
        let replaced = match index.and_then(|index| handlers.get_mut(index)) {
            Some((_, place)) => Some(mem::replace(place, handler)),
            None => {
                handlers.push((name.to_string(), handler));
                None
            }
        };
        let index = index.unwrap_or(handlers.len() - 1);
        drop(handlers);
        // A handler may own anything; it is dropped when nothing is borrowed.
        drop(replaced);
        index as u32
    }

    fn at(&self, index: u32) -> Option<Rc<H>> {
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
