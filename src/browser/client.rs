//! The client: sends calls, and receives their results.

use core::time::Duration;
use std::cell::{Cell, RefCell};
use std::mem;
use std::rc::Rc;
use std::task::{Poll, Waker};

use serde::Serialize;
use serde::de::DeserializeOwned;
use slab::Slab;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::Closure;

use super::call::Call;
use super::convert::{check_params, from_js, params_to_js};
use super::limits::CALL_TIMEOUT;
use super::response_stream::Items;
use super::transport::Transport;
use crate::error::{CallError, RpcError};
use crate::message::Unreadable;
use portway_web::bindings::{ClientRole, JsStream};

// The numbers of the events of a call. `js/rust/client-server.js` of `portway-web` has the same numbers.
const RESULT: u32 = 0;
const ERROR: u32 = 1;
const PROGRESS: u32 = 2;
const TIMED_OUT: u32 = 4;
const DESTROYED: u32 = 5;
const INVALID_RESPONSE: u32 = 6;
const TOO_MANY_CALLS: u32 = 7;
const SESSION_ENDED: u32 = 8;
const PEER_GONE: u32 = 9;
const UNRESPONSIVE: u32 = 10;
const UNREADABLE_RESPONSE: u32 = 12;
const PEER_DIED: u32 = 13;

/// Calls methods of the peer.
///
/// Clones share one client. The client is destroyed when the last clone is dropped, or by [`Client::destroy`]. When the
/// client is destroyed, its pending calls end with [`CallError::Destroyed`].
///
/// ```no_run
/// use portway::{CallError, Client, Transport};
/// use serde::Serialize;
/// # use wasm_bindgen::JsValue;
///
/// #[derive(Serialize)]
/// struct Add { a: u32, b: u32 }
///
/// # async fn run(worker: JsValue) -> Result<(), JsValue> {
/// let client = Client::new(Transport::worker(&worker)?);
/// let sum: u32 = client.call("add", &Add { a: 1, b: 2 }).await?;
/// match client.call::<()>("save", &()).await {
///     Ok(()) => {}
///     Err(CallError::Remote(error)) => { /* an error from the peer: error.code, error.message, error.data() */ }
///     Err(error) => { /* no response: timed out, destroyed … */ }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    shared: Rc<SharedClient>,
    timeout: Option<Duration>,
}

impl Client {
    /// Creates a client whose calls time out after 10 seconds.
    #[must_use]
    pub fn new(transport: Transport) -> Self {
        Self { shared: Rc::new(SharedClient::new(&transport)), timeout: Some(CALL_TIMEOUT) }
    }

    /// Sets the timeout of the calls and streams that are made with the returned client. Other clones of the client
    /// keep their timeouts. `None` disables the timeout.
    #[must_use]
    pub fn with_timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        Self { timeout: timeout.into(), ..self }
    }

    /// Calls a method. `params` must serialize to an object or an array; `()` means no params. `R` is the type of the
    /// result.
    ///
    /// The request is sent when the future is first polled. If the params are invalid, that poll returns the error.
    #[must_use = "a call is sent when it is awaited"]
    pub fn call<R: DeserializeOwned>(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Call<R> {
        let decode = |value, max_visits| from_js(value, max_visits).map_err(CallError::from_read_error);
        Call::new(&self.shared.link, self.timeout, method, params_to_js(params), decode)
    }

    /// Calls a method with params that are a value of JavaScript. Neither the params nor the result is converted.
    /// `undefined` means no params.
    #[must_use = "a call is sent when it is awaited"]
    pub fn call_js(&self, method: &str, params: &JsValue) -> Call<JsValue> {
        let params = check_params(params).map(|()| params.clone());
        Call::new(&self.shared.link, self.timeout, method, params, |value, _| Ok(value))
    }

    /// Calls a method that returns a stream of items. The peer sends items only as fast as they are read.
    ///
    /// ```no_run
    /// use core::future::poll_fn;
    /// use core::pin::pin;
    /// use futures_core::Stream;
    /// # use portway::{CallError, Client};
    ///
    /// # async fn show(client: Client) -> Result<(), CallError> {
    /// // With the trait `StreamExt` of the crate futures-util, `lines.next()` replaces this `poll_fn`.
    /// let mut lines = pin!(client.stream::<String>("lines", &["log.txt"]));
    /// while let Some(line) = poll_fn(|context| lines.as_mut().poll_next(context)).await {
    ///     println!("{}", line?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream<T: DeserializeOwned>(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Items<T> {
        Items::new(&self.shared.link, self.timeout, method, params_to_js(params))
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// If the notification cannot be sent: [`CallError::Params`], [`CallError::Send`] or [`CallError::Destroyed`].
    pub fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), CallError> {
        self.shared.link.notify(method, &params_to_js(params)?, &JsValue::UNDEFINED)
    }

    /// Sends a notification with params that are a value of JavaScript. The params are not converted. Objects in
    /// `transfer` are transferred instead of copied.
    ///
    /// # Errors
    /// The same errors as for [`Client::notify`].
    pub fn notify_js(&self, method: &str, params: &JsValue, transfer: Option<&js_sys::Array>) -> Result<(), CallError> {
        check_params(params)?;
        self.shared.link.notify(method, params, transfer.map_or(&JsValue::UNDEFINED, AsRef::as_ref))
    }

    /// Returns the number of pending calls.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.shared.link.pending()
    }

    /// Destroys the client that all clones share. Later calls of this function have no effect.
    pub fn destroy(&self) {
        self.shared.link.destroy();
    }
}

/// The state that the clones of a client share.
#[derive(Debug)]
struct SharedClient {
    link: Rc<ClientHandle>,
    /// The function that JavaScript calls with the events of calls. `drop` first destroys the client, so JavaScript
    /// does not call a freed function.
    _callback: Closure<dyn Fn(u32, u32, JsValue)>,
}

impl SharedClient {
    fn new(transport: &Transport) -> Self {
        let role = ClientRole::new(transport.take(), &transport.js_limits());
        let max_visits = transport.max_visits();
        let link = Rc::new(ClientHandle { role, max_visits, calls: RefCell::default(), destroyed: Cell::new(false) });
        let callback_link = Rc::clone(&link);
        let callback = Closure::new(move |token, event, value| callback_link.handle_event(token, event, value));
        link.role.set_callback(&callback);
        Self { link, _callback: callback }
    }
}

impl Drop for SharedClient {
    fn drop(&mut self) {
        self.link.destroy();
    }
}

/// The calls of a client. Each call has an entry in `calls` until the call is dropped. The token of the call is the
/// index of this entry.
#[derive(Debug)]
pub(super) struct ClientHandle {
    role: ClientRole,
    /// The maximum number of visits for reading a value from the peer: [`Limits::conversion_visits`](crate::Limits).
    pub(super) max_visits: usize,
    /// This list is not borrowed while JavaScript, a waker or the drop of a waker runs, because their code may use the
    /// list.
    calls: RefCell<Slab<PendingCall>>,
    destroyed: Cell<bool>,
}

#[derive(Debug)]
struct PendingCall {
    status: CallStatus,
    on_progress: Option<OnProgress>,
}

#[derive(Debug)]
enum CallStatus {
    Waiting(Option<Waker>),
    Ended(Result<JsValue, CallError>),
    /// The client has ended the call with an error, but has not sent the cancellation to the peer yet.
    Rejected(CallError),
    /// The result was returned, or the call was abandoned.
    Done,
}

/// A listener. It receives a progress value, and the maximum number of visits to read the value. If the listener
/// returns an error, the call ends with this error.
#[derive(Clone)]
pub(super) struct OnProgress(pub(super) Rc<dyn Fn(JsValue, usize) -> Result<(), CallError>>);

impl core::fmt::Debug for OnProgress {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("OnProgress")
    }
}

/// A request that was not sent yet.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: JsValue,
    pub(super) params: JsValue,
    /// The timeout in milliseconds. A negative number means no timeout.
    pub(super) timeout: f64,
    /// The total timeout in milliseconds. Infinity means no total timeout, and a negative number means the default.
    pub(super) total: f64,
    pub(super) transfer: JsValue,
    pub(super) on_progress: Option<OnProgress>,
}

impl ClientHandle {
    /// Sends a request. Returns the token of the call, and the slot with which JavaScript cancels the call.
    pub(super) fn begin(&self, request: Request) -> Result<(u32, i32), CallError> {
        if self.destroyed.get() {
            return Err(CallError::Destroyed);
        }
        let Request { method, params, timeout, total, transfer, on_progress } = request;
        // The total timeout also bounds the timeout, and replaces a missing timeout.
        let is_shorter = total >= 0.0 && total.is_finite() && !(0.0..=total).contains(&timeout);
        let timeout = if is_shorter { total } else { timeout };
        let wants_progress = on_progress.is_some();
        let state = PendingCall { status: CallStatus::Waiting(None), on_progress };
        let token = self.calls.borrow_mut().insert(state) as u32;
        match self.role.begin(token, &method, &params, timeout, total, &transfer, wants_progress) {
            Ok(slot) => Ok((token, slot)),
            Err(problem) => {
                self.remove(token);
                Err(CallError::send(problem))
            }
        }
    }

    /// Returns a stream. The request of the stream is sent when the first item is requested.
    pub(super) fn open(
        &self,
        method: &str,
        params: &JsValue,
        timeout: f64,
        window: u32,
    ) -> Result<JsStream, CallError> {
        if self.destroyed.get() {
            return Err(CallError::Destroyed);
        }
        self.role.stream(method, params, timeout, window).map_err(CallError::send)
    }

    /// Returns the outcome of a call that has ended. If the call is pending, registers `waker` for its end.
    pub(super) fn poll(&self, token: u32, waker: &Waker) -> Poll<Result<JsValue, CallError>> {
        let before = self.replace(token, |status| match status {
            CallStatus::Ended(_) => Some(CallStatus::Done),
            // The future is dropped after this error. The status becomes `Waiting`, so the drop sends the cancellation.
            CallStatus::Rejected(_) => Some(CallStatus::Waiting(None)),
            _ => None,
        });
        match before {
            Some(CallStatus::Ended(end)) => return Poll::Ready(end),
            Some(CallStatus::Rejected(problem)) => return Poll::Ready(Err(problem)),
            _ => {}
        }
        let waiting = CallStatus::Waiting(Some(waker.clone()));
        let before = self.replace(token, |status| matches!(status, CallStatus::Waiting(_)).then_some(waiting));
        drop(before);
        Poll::Pending
    }

    /// Abandons a call. If the call is pending, the peer receives a cancellation.
    pub(super) fn abandon(&self, token: u32, slot: i32) {
        let before = self.replace(token, |_| Some(CallStatus::Done));
        if matches!(before, Some(CallStatus::Waiting(_) | CallStatus::Rejected(_))) {
            self.role.cancel(slot);
        }
        self.remove(token);
    }

    fn notify(&self, method: &str, params: &JsValue, transfer: &JsValue) -> Result<(), CallError> {
        if self.destroyed.get() {
            return Err(CallError::Destroyed);
        }
        self.role.notify(method, params, transfer).map_err(CallError::send)
    }

    fn pending(&self) -> usize {
        self.calls.borrow().iter().filter(|(_, call)| matches!(call.status, CallStatus::Waiting(_))).count()
    }

    fn destroy(&self) {
        if !self.destroyed.replace(true) {
            self.role.destroy();
        }
    }

    /// Handles an event of a call, from JavaScript.
    fn handle_event(&self, token: u32, event: u32, value: JsValue) {
        if event == PROGRESS {
            let calls = self.calls.borrow();
            let call = calls.get(token as usize).filter(|call| matches!(call.status, CallStatus::Waiting(_)));
            let listener = call.and_then(|call| call.on_progress.clone());
            drop(calls);
            if let Some(OnProgress(listener)) = listener
                && let Err(problem) = listener(value, self.max_visits)
            {
                self.end(token, |status| {
                    matches!(status, CallStatus::Waiting(_)).then_some(CallStatus::Rejected(problem))
                });
            }
            return;
        }
        let end = if event == RESULT { Ok(value) } else { Err(error_of_event(event, value, self.max_visits)) };
        self.end(token, |status| match status {
            CallStatus::Waiting(_) => Some(CallStatus::Ended(end)),
            // JavaScript has ended this call, so another call may use its slot from now on. With the status `Ended`,
            // the drop of this call does not cancel the other call.
            CallStatus::Rejected(problem) => Some(CallStatus::Ended(Err(problem.clone()))),
            _ => None,
        });
    }

    /// Replaces the status of a call and wakes its task.
    fn end(&self, token: u32, next: impl FnOnce(&CallStatus) -> Option<CallStatus>) {
        if let Some(CallStatus::Waiting(Some(waker))) = self.replace(token, next) {
            waker.wake();
        }
    }

    /// Replaces the status of a call if `next` returns a status. Returns the old status, or `None` without a change.
    fn replace(&self, token: u32, next: impl FnOnce(&CallStatus) -> Option<CallStatus>) -> Option<CallStatus> {
        let mut calls = self.calls.borrow_mut();
        let call = calls.get_mut(token as usize)?;
        next(&call.status).map(|status| mem::replace(&mut call.status, status))
    }

    fn remove(&self, token: u32) {
        let removed = self.calls.borrow_mut().try_remove(token as usize);
        drop(removed);
    }
}

/// Returns the error of a call for its event number.
pub(super) fn error_of_event(event: u32, value: JsValue, max_visits: usize) -> CallError {
    match event {
        ERROR => RpcError::from_js(&value, max_visits).map_or_else(CallError::from_read_error, CallError::from_answer),
        TIMED_OUT => CallError::TimedOut,
        DESTROYED => CallError::Destroyed,
        INVALID_RESPONSE => CallError::InvalidResponse,
        UNREADABLE_RESPONSE => CallError::Unreadable(Unreadable::MessageError),
        TOO_MANY_CALLS => CallError::TooManyCalls,
        SESSION_ENDED => CallError::SessionEnded,
        PEER_GONE => CallError::PeerGone,
        UNRESPONSIVE => CallError::Unresponsive,
        PEER_DIED => CallError::PeerDied,
        _ => CallError::send(value),
    }
}
