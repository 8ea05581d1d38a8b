//! The client: makes calls, and hears how they end.

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

use super::bridge::{ClientRole, JsStream};
use super::call::Call;
use super::convert::{check_params, from_js, params_to_js};
use super::error::{CallError, RpcError};
use super::items::Items;
use super::limits::CALL_TIMEOUT;
use super::transport::Transport;

// What JavaScript tells of a call; `rust-roles.js` has the same numbers.
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

/// Calls the other side.
///
/// A clone is the same client. It is destroyed when the last one is dropped, or by [`Client::destroy`]; calls that still
/// wait end with [`CallError::Destroyed`].
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
///     Err(CallError::Remote(error)) => { /* the other side said no: error.code, error.message, error.data() */ }
///     Err(error) => { /* there is no answer: timed out, destroyed … */ }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    owner: Rc<Owner>,
    timeout: Option<Duration>,
}

impl Client {
    /// A client whose calls wait for 10 seconds.
    #[must_use]
    pub fn new(transport: Transport) -> Self {
        Self { owner: Rc::new(Owner::new(&transport)), timeout: Some(CALL_TIMEOUT) }
    }

    /// The same client, with another timeout for the calls that are made with this handle. `None` waits for ever.
    #[must_use]
    pub fn with_timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        Self { timeout: timeout.into(), ..self }
    }

    /// Calls a method. `params` has to be an object or an array, or `()` for none; `R` is the type of the result.
    ///
    /// It is sent when the future is first polled. What is wrong with the params is told there, too.
    #[must_use = "a call is sent when it is awaited"]
    pub fn call<R: DeserializeOwned>(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Call<R> {
        let decode = |value, max_visits| from_js(value, max_visits).map_err(CallError::unreadable);
        Call::new(&self.owner.link, self.timeout, method, params_to_js(params), decode)
    }

    /// Calls a method with values of JavaScript, which are not converted. `undefined` stands for no params.
    #[must_use = "a call is sent when it is awaited"]
    pub fn call_js(&self, method: &str, params: &JsValue) -> Call<JsValue> {
        let params = check_params(params).map(|()| params.clone());
        Call::new(&self.owner.link, self.timeout, method, params, |value, _| Ok(value))
    }

    /// The items that a method gives one after the other. They come no faster than they are taken.
    ///
    /// ```no_run
    /// use core::future::poll_fn;
    /// use core::pin::pin;
    /// use futures_core::Stream;
    /// # use portway::{CallError, Client};
    ///
    /// # async fn show(client: Client) -> Result<(), CallError> {
    /// // `StreamExt` of the crate futures-util has `next` for this.
    /// let mut lines = pin!(client.stream::<String>("lines", &["log.txt"]));
    /// while let Some(line) = poll_fn(|context| lines.as_mut().poll_next(context)).await {
    ///     println!("{}", line?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream<T: DeserializeOwned>(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Items<T> {
        Items::new(&self.owner.link, self.timeout, method, params_to_js(params))
    }

    /// Tells the other side something, without an answer.
    ///
    /// # Errors
    /// If it cannot be sent: [`CallError::Params`], [`CallError::Send`] or [`CallError::Destroyed`].
    pub fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), CallError> {
        self.owner.link.notify(method, &params_to_js(params)?, &JsValue::UNDEFINED)
    }

    /// Tells the other side something with values of JavaScript, of which those in `transfer` are transferred.
    ///
    /// # Errors
    /// As [`Client::notify`].
    pub fn notify_js(&self, method: &str, params: &JsValue, transfer: Option<&js_sys::Array>) -> Result<(), CallError> {
        check_params(params)?;
        self.owner.link.notify(method, params, transfer.map_or(&JsValue::UNDEFINED, AsRef::as_ref))
    }

    /// How many calls of this client wait for an answer.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.owner.link.pending()
    }

    /// Ends the client now, whoever else has a clone of it. Doing it twice is harmless.
    pub fn destroy(&self) {
        self.owner.link.destroy();
    }
}

/// What the clones of a client share.
#[derive(Debug)]
struct Owner {
    link: Rc<ClientLink>,
    /// What JavaScript calls. It is freed after the link has let go of it.
    _tell: Closure<dyn Fn(u32, u32, JsValue)>,
}

impl Owner {
    fn new(transport: &Transport) -> Self {
        let role = ClientRole::new(transport.used(), &transport.js_limits());
        let max_visits = transport.max_visits();
        let link = Rc::new(ClientLink { role, max_visits, calls: RefCell::default(), destroyed: Cell::new(false) });
        let listener = Rc::clone(&link);
        let tell = Closure::new(move |token, what, value| listener.tell(token, what, value));
        link.role.set_callback(&tell);
        Self { link, _tell: tell }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.link.destroy();
    }
}

/// The calls of a client. A call has its place here, its token, until it is dropped.
#[derive(Debug)]
pub(super) struct ClientLink {
    role: ClientRole,
    /// Most visits to read a value of the peer.
    pub(super) max_visits: usize,
    /// Never borrowed while anything else runs: not JavaScript, no waker, no drop of one.
    calls: RefCell<Slab<CallState>>,
    destroyed: Cell<bool>,
}

#[derive(Debug)]
struct CallState {
    stage: Stage,
    on_progress: Option<OnProgress>,
}

#[derive(Debug)]
enum Stage {
    Waiting(Option<Waker>),
    Ended(Result<JsValue, CallError>),
    /// It has failed here, and is not cancelled at the peer yet.
    Rejected(CallError),
    /// Its end was taken, or it was given up.
    Over,
}

/// Receives a progress value, and the most visits to read it. An error ends the call.
#[derive(Clone)]
pub(super) struct OnProgress(pub(super) Rc<dyn Fn(JsValue, usize) -> Result<(), CallError>>);

impl core::fmt::Debug for OnProgress {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("OnProgress")
    }
}

/// What a call is made with.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: JsValue,
    pub(super) params: JsValue,
    /// In milliseconds; negative for none.
    pub(super) timeout: f64,
    /// In milliseconds; infinite for none, negative for the default.
    pub(super) total: f64,
    pub(super) transfer: JsValue,
    pub(super) on_progress: Option<OnProgress>,
}

impl ClientLink {
    /// Sends a request. Gives the token of the call, and the slot to cancel it by.
    pub(super) fn begin(&self, request: Request) -> Result<(u32, i32), CallError> {
        if self.destroyed.get() {
            return Err(CallError::Destroyed);
        }
        let Request { method, params, timeout, total, transfer, on_progress } = request;
        let is_shorter = total >= 0.0 && total.is_finite() && !(0.0..=total).contains(&timeout);
        let timeout = if is_shorter { total } else { timeout };
        let wants_progress = on_progress.is_some();
        let state = CallState { stage: Stage::Waiting(None), on_progress };
        let token = self.calls.borrow_mut().insert(state) as u32;
        match self.role.begin(token, &method, &params, timeout, total, &transfer, wants_progress) {
            Ok(slot) => Ok((token, slot)),
            Err(problem) => {
                self.remove(token);
                Err(CallError::Send(problem))
            }
        }
    }

    /// Asks for a stream, once its first item is wanted.
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
        self.role.stream(method, params, timeout, window).map_err(CallError::Send)
    }

    /// How a call ended, if it has; else `waker` hears of it.
    pub(super) fn poll(&self, token: u32, waker: &Waker) -> Poll<Result<JsValue, CallError>> {
        let before = self.replace(token, |stage| match stage {
            Stage::Ended(_) => Some(Stage::Over),
            // The future is dropped then, which cancels the call.
            Stage::Rejected(_) => Some(Stage::Waiting(None)),
            _ => None,
        });
        match before {
            Some(Stage::Ended(end)) => return Poll::Ready(end),
            Some(Stage::Rejected(problem)) => return Poll::Ready(Err(problem)),
            _ => {}
        }
        let waiting = Stage::Waiting(Some(waker.clone()));
        let before = self.replace(token, |stage| matches!(stage, Stage::Waiting(_)).then_some(waiting));
        drop(before);
        Poll::Pending
    }

    /// The call is no longer wanted; if it waits, the other side is told.
    pub(super) fn give_up(&self, token: u32, slot: i32) {
        let before = self.replace(token, |_| Some(Stage::Over));
        if matches!(before, Some(Stage::Waiting(_) | Stage::Rejected(_))) {
            self.role.cancel(slot);
        }
        self.remove(token);
    }

    fn notify(&self, method: &str, params: &JsValue, transfer: &JsValue) -> Result<(), CallError> {
        if self.destroyed.get() {
            return Err(CallError::Destroyed);
        }
        self.role.notify(method, params, transfer).map_err(CallError::Send)
    }

    fn pending(&self) -> usize {
        self.calls.borrow().iter().filter(|(_, call)| matches!(call.stage, Stage::Waiting(_))).count()
    }

    fn destroy(&self) {
        if !self.destroyed.replace(true) {
            self.role.destroy();
        }
    }

    /// JavaScript tells of a call.
    fn tell(&self, token: u32, what: u32, value: JsValue) {
        if what == PROGRESS {
            let calls = self.calls.borrow();
            let call = calls.get(token as usize).filter(|call| matches!(call.stage, Stage::Waiting(_)));
            let listener = call.and_then(|call| call.on_progress.clone());
            drop(calls);
            if let Some(OnProgress(listener)) = listener
                && let Err(problem) = listener(value, self.max_visits)
            {
                self.end(token, |stage| matches!(stage, Stage::Waiting(_)).then_some(Stage::Rejected(problem)));
            }
            return;
        }
        let end = if what == RESULT { Ok(value) } else { Err(failure(what, value, self.max_visits)) };
        self.end(token, |stage| match stage {
            Stage::Waiting(_) => Some(Stage::Ended(end)),
            // Another call may use the slot from now on, so this call must not be cancelled.
            Stage::Rejected(problem) => Some(Stage::Ended(Err(problem.clone()))),
            _ => None,
        });
    }

    /// Replaces the stage of a call, and wakes its task.
    fn end(&self, token: u32, next: impl FnOnce(&Stage) -> Option<Stage>) {
        if let Some(Stage::Waiting(Some(waker))) = self.replace(token, next) {
            waker.wake();
        }
    }

    /// Replaces the stage of a call by a new one, if there is one, and gives the old one.
    fn replace(&self, token: u32, next: impl FnOnce(&Stage) -> Option<Stage>) -> Option<Stage> {
        let mut calls = self.calls.borrow_mut();
        let call = calls.get_mut(token as usize)?;
        next(&call.stage).map(|stage| mem::replace(&mut call.stage, stage))
    }

    fn remove(&self, token: u32) {
        let removed = self.calls.borrow_mut().try_remove(token as usize);
        drop(removed);
    }
}

/// Why a call has no result, by the number that JavaScript has for it.
pub(super) fn failure(what: u32, value: JsValue, max_visits: usize) -> CallError {
    match what {
        ERROR => RpcError::from_js(&value, max_visits).map_or_else(CallError::unreadable, CallError::from_answer),
        TIMED_OUT => CallError::TimedOut,
        DESTROYED => CallError::Destroyed,
        INVALID_RESPONSE => CallError::InvalidResponse,
        UNREADABLE_RESPONSE => CallError::UnreadableResponse,
        TOO_MANY_CALLS => CallError::TooManyCalls,
        SESSION_ENDED => CallError::SessionEnded,
        PEER_GONE => CallError::PeerGone,
        UNRESPONSIVE => CallError::Unresponsive,
        PEER_DIED => CallError::PeerDied,
        _ => CallError::Send(value),
    }
}
