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

use super::client::{ClientLink, OnProgress, Request};
use super::convert::from_js;
use super::error::CallError;

/// More than anybody waits, and still exact as a number of JavaScript.
const LONGEST: f64 = 9e15;

/// A call that waits for its result, made by [`Client::call`](crate::Client::call).
///
/// It is sent when it is first polled, or by [`Call::start`]. A drop while it waits cancels it, and so does its
/// timeout: the peer gets the notification `$/cancelRequest`.
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
    stage: Stage,
    decode: fn(JsValue, usize) -> Result<R, CallError>,
    max_visits: usize,
}

#[derive(Debug)]
enum Stage {
    Unsent(Rc<ClientLink>, Request),
    Sent(Sent),
    Failed(CallError),
    Done,
}

/// A call that the other side knows of. Dropping it while it waits gives it up.
#[derive(Debug)]
struct Sent {
    link: Rc<ClientLink>,
    token: u32,
    slot: i32,
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.link.give_up(self.token, self.slot);
    }
}

impl<R> Call<R> {
    pub(super) fn new(
        link: &Rc<ClientLink>,
        timeout: Option<Duration>,
        method: &str,
        params: Result<JsValue, CallError>,
        decode: fn(JsValue, usize) -> Result<R, CallError>,
    ) -> Self {
        let stage = match params {
            Err(problem) => Stage::Failed(problem),
            Ok(params) => {
                let request = Request {
                    method: JsValue::from_str(method),
                    params,
                    timeout: milliseconds(timeout),
                    total: -1.0,
                    transfer: JsValue::UNDEFINED,
                    on_progress: None,
                };
                Stage::Unsent(Rc::clone(link), request)
            }
        };
        Self { stage, decode, max_visits: link.max_visits }
    }

    /// How long to wait, in place of the client's timeout. `None` waits for ever. A call that times out is cancelled at
    /// the peer, like a call that is dropped.
    pub fn timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        let timeout = milliseconds(timeout.into());
        self.with(|request| request.timeout = timeout)
    }

    /// How long to wait in all. After that the call times out, whatever its progress. By default, a call with
    /// [`Call::on_progress`] waits for 60 times its timeout. `None` sets no such limit.
    pub fn total_timeout(self, total: impl Into<Option<Duration>>) -> Self {
        let total = total.into().map_or(f64::INFINITY, |total| milliseconds(Some(total)));
        self.with(|request| request.total = total)
    }

    /// What of the params is transferred instead of copied: buffers, ports and the like.
    pub fn transfer(self, list: &js_sys::Array) -> Self {
        self.with(|request| request.transfer = list.into())
    }

    /// Runs a function each time the peer reports how far it is. A value that is not a `P` is ignored. A value that is
    /// nested too deep, or takes too many visits to read, ends the call. Each report restarts the timeout of the call,
    /// within its [total](Call::total_timeout).
    pub fn on_progress<P: DeserializeOwned>(self, listener: impl Fn(P) + 'static) -> Self {
        let listener = move |value, max_visits| match from_js(value, max_visits) {
            Ok(value) => {
                listener(value);
                Ok(())
            }
            Err(problem) if problem.reason().is_some() => Err(CallError::unreadable(problem)),
            Err(_) => Ok(()),
        };
        self.with(|request| request.on_progress = Some(OnProgress(Rc::new(listener))))
    }

    /// Sends the call at once. How it is made up cannot be changed any more.
    pub fn start(mut self) -> Self {
        self.send();
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Request)) -> Self {
        if let Stage::Unsent(_, request) = &mut self.stage {
            change(request);
        }
        self
    }

    fn send(&mut self) {
        self.stage = match mem::replace(&mut self.stage, Stage::Done) {
            Stage::Unsent(link, request) => match link.begin(request) {
                Ok((token, slot)) => Stage::Sent(Sent { link, token, slot }),
                Err(problem) => Stage::Failed(problem),
            },
            stage => stage,
        };
    }
}

impl<R> Future for Call<R> {
    type Output = Result<R, CallError>;

    /// Gives the result once; polled again, it stays pending.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.send();
        let end = match mem::replace(&mut this.stage, Stage::Done) {
            Stage::Failed(problem) => Err(problem),
            Stage::Sent(sent) => match sent.link.poll(sent.token, context.waker()) {
                Poll::Ready(end) => end,
                Poll::Pending => {
                    this.stage = Stage::Sent(sent);
                    return Poll::Pending;
                }
            },
            stage => {
                this.stage = stage;
                return Poll::Pending;
            }
        };
        Poll::Ready(end.and_then(|value| (this.decode)(value, this.max_visits)))
    }
}

impl<R> fmt::Debug for Call<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("stage", &self.stage).finish_non_exhaustive()
    }
}

/// A timeout as JavaScript takes it. Less than a millisecond is one: a timeout of 0 would be none.
pub(super) fn milliseconds(timeout: Option<Duration>) -> f64 {
    timeout.map_or(-1.0, |timeout| (timeout.as_secs_f64() * 1000.0).clamp(1.0, LONGEST))
}
