//! A call, as a future.

use core::fmt;
use core::pin::Pin;
use core::time::Duration;
use std::future::Future;
use std::mem;
use std::rc::Rc;
use std::task::{Context, Poll};

use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;

use super::client::{ClientHandle, OnProgress, Request};
use super::convert::from_js;
use crate::error::CallError;

/// Maximum timeout, in milliseconds: 285 000 years. JavaScript represents this integer exactly.
const MAX_TIMEOUT_MS: f64 = 9e15;

/// A call, as a future of its result. [`Client::call`](crate::Client::call) creates it.
///
/// The request is sent on the first poll, or by [`Call::start`]. A pending call is cancelled when it is dropped, and
/// when it times out. In both cases, the peer receives the notification `$/cancelRequest`.
///
/// ```no_run
/// # use core::time::Duration;
/// # use portway::{CallError, Client};
/// # async fn run(client: Client) -> Result<(), CallError> {
/// let built: String = client
///     .call("build", &["main.rs"])
///     .timeout(Duration::from_secs(60))
///     .on_progress(|percent: f64| { /* show it */ })
///     .await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a call is sent when it is awaited"]
pub struct Call<R> {
    state: CallState,
    decode: fn(JsValue, usize) -> Result<R, CallError>,
    max_visits: usize,
}

#[derive(Debug)]
enum CallState {
    Unsent(Rc<ClientHandle>, Request),
    Sent(Sent),
    Failed(CallError),
    Done,
}

/// A call whose request was sent. If the call is dropped while it is pending, it is cancelled.
#[derive(Debug)]
struct Sent {
    link: Rc<ClientHandle>,
    token: u32,
    slot: i32,
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.link.abandon(self.token, self.slot);
    }
}

impl<R> Call<R> {
    pub(super) fn new(
        link: &Rc<ClientHandle>,
        timeout: Option<Duration>,
        method: &str,
        params: Result<JsValue, CallError>,
        decode: fn(JsValue, usize) -> Result<R, CallError>,
    ) -> Self {
        let state = match params {
            Err(problem) => CallState::Failed(problem),
            Ok(params) => {
                let request = Request {
                    method: JsValue::from_str(method),
                    params,
                    timeout: milliseconds(timeout),
                    total: -1.0,
                    transfer: JsValue::UNDEFINED,
                    on_progress: None,
                };
                CallState::Unsent(Rc::clone(link), request)
            }
        };
        Self { state, decode, max_visits: link.max_visits }
    }

    /// Sets the timeout. Default: the timeout of the client. `None` disables the timeout. When a call times out, the
    /// peer receives a cancellation, as for a call that is dropped.
    pub fn timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        let timeout = milliseconds(timeout.into());
        self.configure(|request| request.timeout = timeout)
    }

    /// Sets the total timeout: the maximum time of the call. Progress does not restart the total timeout. Default for a
    /// call with [`Call::on_progress`]: 60 times the timeout. `None` disables the total timeout.
    pub fn total_timeout(self, total: impl Into<Option<Duration>>) -> Self {
        let total = total.into().map_or(f64::INFINITY, |total| milliseconds(Some(total)));
        self.configure(|request| request.total = total)
    }

    /// Sets the objects in the params that are transferred instead of copied, such as buffers and ports.
    pub fn transfer(self, list: &js_sys::Array) -> Self {
        self.configure(|request| request.transfer = list.into())
    }

    /// Registers a listener for progress from the peer. A value that is not a `P` is ignored. A value that is nested
    /// too deep, or exceeds [`Limits::conversion_visits`](crate::Limits::conversion_visits), ends the call with an
    /// error. Each progress value restarts the timeout of the call, but not the [total timeout](Call::total_timeout).
    pub fn on_progress<P: DeserializeOwned>(self, listener: impl Fn(P) + 'static) -> Self {
        let listener = move |value, max_visits| match from_js(value, max_visits) {
            Ok(value) => {
                listener(value);
                Ok(())
            }
            Err(problem) if problem.reason().is_some() => Err(CallError::from_read_error(problem)),
            Err(_) => Ok(()),
        };
        self.configure(|request| request.on_progress = Some(OnProgress(Rc::new(listener))))
    }

    /// Sends the request now. Later changes of the timeouts, the transfer list or the listener have no effect.
    pub fn start(mut self) -> Self {
        self.send();
        self
    }

    fn configure(mut self, change: impl FnOnce(&mut Request)) -> Self {
        if let CallState::Unsent(_, request) = &mut self.state {
            change(request);
        }
        self
    }

    fn send(&mut self) {
        self.state = match mem::replace(&mut self.state, CallState::Done) {
            CallState::Unsent(link, request) => match link.begin(request) {
                Ok((token, slot)) => CallState::Sent(Sent { link, token, slot }),
                Err(problem) => CallState::Failed(problem),
            },
            state => state,
        };
    }
}

impl<R> Future for Call<R> {
    type Output = Result<R, CallError>;

    /// Returns the result once. Later polls return `Poll::Pending`.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.send();
        let end = match mem::replace(&mut this.state, CallState::Done) {
            CallState::Failed(problem) => Err(problem),
            CallState::Sent(sent) => match sent.link.poll(sent.token, context.waker()) {
                Poll::Ready(end) => end,
                Poll::Pending => {
                    this.state = CallState::Sent(sent);
                    return Poll::Pending;
                }
            },
            state => {
                this.state = state;
                return Poll::Pending;
            }
        };
        Poll::Ready(end.and_then(|value| (this.decode)(value, this.max_visits)))
    }
}

impl<R> fmt::Debug for Call<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("state", &self.state).finish_non_exhaustive()
    }
}

/// Returns a timeout in milliseconds for JavaScript, or -1 for no timeout. The minimum is 1, because in JavaScript 0
/// disables some timeouts, for example the total timeout.
pub(super) fn milliseconds(timeout: Option<Duration>) -> f64 {
    timeout.map_or(-1.0, |timeout| (timeout.as_secs_f64() * 1000.0).clamp(1.0, MAX_TIMEOUT_MS))
}
