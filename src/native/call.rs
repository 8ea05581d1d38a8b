//! A call, as a future.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::boxed::Box;
use std::future::Future;
use std::mem;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::Text;
use super::convert::read_result;
use super::error::CallError;
use super::link::Link;
use super::state::{CallListener, Outcome};
use crate::connection::CallKey;

/// A call that waits for its result, made by [`Client::call`](crate::Client::call).
///
/// It is sent when it is first polled, or by [`Call::start`]. Dropping it while it waits cancels it: the other side is
/// told by the notification `$/cancelRequest`.
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
    decode: fn(&RawValue) -> Result<R, CallError>,
}

#[derive(Debug)]
enum Stage {
    Unsent(Arc<Link>, Box<Request>),
    Sent(Sent),
    Failed(CallError),
    Done,
}

#[derive(Debug)]
struct Request {
    method: Box<str>,
    params: Option<Text>,
    timeout: Option<Duration>,
    listener: Option<CallListener>,
}

/// A call that the other side knows of. Dropping it while it waits gives it up.
#[derive(Debug)]
struct Sent {
    link: Arc<Link>,
    key: CallKey,
    reply: oneshot::Receiver<Outcome>,
    waits: bool,
}

impl Drop for Sent {
    fn drop(&mut self) {
        if self.waits {
            self.link.give_up(self.key);
        }
    }
}

impl<R: DeserializeOwned> Call<R> {
    pub(super) fn new(
        link: &Arc<Link>,
        timeout: Option<Duration>,
        method: &str,
        params: Result<Option<Text>, CallError>,
    ) -> Self {
        let stage = match params {
            Err(problem) => Stage::Failed(problem),
            Ok(params) => {
                let request = Request { method: method.into(), params, timeout, listener: None };
                Stage::Unsent(Arc::clone(link), Box::new(request))
            }
        };
        Self { stage, decode: read_result }
    }
}

impl<R> Call<R> {
    /// How long to wait, in place of the client's timeout. `None` waits for ever.
    pub fn timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        let timeout = timeout.into();
        self.with(|request| request.timeout = timeout)
    }

    /// Runs a function each time the other side tells how far it is. What is no `P` is passed over.
    pub fn on_progress<P: DeserializeOwned>(self, listener: impl Fn(P) + Send + Sync + 'static) -> Self {
        let listener = move |value: &RawValue| {
            if let Ok(value) = serde_json::from_str(value.get()) {
                listener(value);
            }
        };
        self.with(|request| request.listener = Some(CallListener::Progress(Arc::new(listener))))
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
            Stage::Unsent(link, request) => {
                let Request { method, params, timeout, listener } = *request;
                match link.call(&method, params, timeout.map(milliseconds), listener) {
                    Ok((key, reply)) => Stage::Sent(Sent { link, key, reply, waits: true }),
                    Err(problem) => Stage::Failed(problem),
                }
            }
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
        let end = match &mut this.stage {
            Stage::Sent(sent) => match Pin::new(&mut sent.reply).poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(end) => {
                    sent.waits = false;
                    // Without a word the link itself is gone.
                    end.unwrap_or(Err(CallError::Destroyed))
                }
            },
            Stage::Failed(problem) => Err(problem.clone()),
            Stage::Unsent(..) | Stage::Done => return Poll::Pending,
        };
        this.stage = Stage::Done;
        Poll::Ready(end.and_then(|result| (this.decode)(&result)))
    }
}

impl<R> fmt::Debug for Call<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("stage", &self.stage).finish_non_exhaustive()
    }
}

/// Less than a millisecond is one, so that no call ends before it was sent.
pub(super) fn milliseconds(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX).max(1)
}
