//! Outgoing calls as futures.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::future::Future;
use std::mem;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::Text;
use super::link::Link;
use super::state::{CallObserver, CallResult, ProgressCallback, ProgressTimeout};
use crate::connection::CallKey;
use crate::error::CallError;
use crate::json_value::read_result;
use portway_proto::TOTAL_TIMEOUT_FACTOR;

/// A call, as a future of its result. [`Client::call`](crate::Client::call) creates it.
///
/// The request is sent on the first poll, or by [`Call::start`]. A pending call is cancelled when it is dropped, and
/// when it times out. In both cases, the peer receives the notification `$/cancelRequest`, or the notification that the
/// profile defines.
///
/// ```
/// # use core::time::Duration;
/// # use portway::{Client, Context, RpcError, Server, Transport};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (here, there) = Transport::pair()?;
/// # let server = Server::new(there);
/// # server.method("build", |(entry,): (String,), context: Context| async move {
/// #     context.progress(&50.0)?;
/// #     Ok::<_, RpcError>(entry.replace(".rs", ""))
/// # });
/// # server.forget();
/// # let client = Client::new(here);
/// let built: String = client
///     .call("build", &["main.rs"])
///     .timeout(Duration::from_secs(60))
///     .on_progress(|percent: f64| println!("{percent} %"))
///     .await?;
/// assert_eq!(built, "main");
/// # Ok(())
/// # }
/// ```
#[must_use = "a call is sent when it is awaited"]
pub struct Call<R> {
    state: CallState,
    decode: fn(&RawValue) -> Result<R, CallError>,
}

#[derive(Debug)]
enum CallState {
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
    total: TotalTimeout,
    callback: Option<ProgressCallback>,
}

/// The maximum total time of a call.
#[derive(Debug)]
enum TotalTimeout {
    /// The timeout of the call times [`TOTAL_TIMEOUT_FACTOR`].
    Default,
    Milliseconds(u64),
    Endless,
}

/// A call whose request was sent. If the call is dropped while it is pending, it is cancelled.
#[derive(Debug)]
struct Sent {
    link: Arc<Link>,
    key: CallKey,
    reply: oneshot::Receiver<CallResult>,
    is_pending: bool,
}

impl Drop for Sent {
    fn drop(&mut self) {
        if self.is_pending {
            drop(self.link.cancel_call(self.key));
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
        let state = match params {
            Err(problem) => CallState::Failed(problem),
            Ok(params) => {
                let request =
                    Request { method: method.into(), params, timeout, total: TotalTimeout::Default, callback: None };
                CallState::Unsent(Arc::clone(link), Box::new(request))
            }
        };
        Self { state, decode: |value| read_result(value).map_err(CallError::Deserialize) }
    }
}

impl<R> Call<R> {
    /// Sets the timeout of this call, in place of the client's timeout. `None` disables the timeout. A call that times
    /// out is cancelled at the peer, like a call that is dropped.
    pub fn timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        let timeout = timeout.into();
        self.configure(|request| request.timeout = timeout)
    }

    /// Sets the total timeout: the maximum time of the call. Progress does not restart the total timeout. Default: 60
    /// times the timeout. The default has an effect only with [`Call::on_progress`], because only progress extends a
    /// call. `None` disables the total timeout.
    pub fn total_timeout(self, total: impl Into<Option<Duration>>) -> Self {
        let total = total.into().map_or(TotalTimeout::Endless, |total| TotalTimeout::Milliseconds(milliseconds(total)));
        self.configure(|request| request.total = total)
    }

    /// Registers a callback for the progress that the peer reports. A value that is not a `P` is ignored. Each progress
    /// value restarts the timeout of the call, but not the [total timeout](Call::total_timeout).
    pub fn on_progress<P: DeserializeOwned>(self, callback: impl Fn(P) + Send + Sync + 'static) -> Self {
        let callback = move |value: &RawValue| {
            if let Ok(value) = serde_json::from_str(value.get()) {
                callback(value);
            }
        };
        self.configure(|request| request.callback = Some(ProgressCallback(Arc::new(callback))))
    }

    /// Sends the request now. Later changes of the options have no effect.
    pub fn start(mut self) -> Self {
        self.send();
        self
    }

    /// Returns the id of the request, or `None` if the request was not sent.
    #[cfg(feature = "mcp")]
    pub(super) fn id(&self) -> Option<u64> {
        match &self.state {
            CallState::Sent(sent) => Some(sent.key.id()),
            _ => None,
        }
    }

    fn configure(mut self, change: impl FnOnce(&mut Request)) -> Self {
        if let CallState::Unsent(_, request) = &mut self.state {
            change(request);
        }
        self
    }

    fn send(&mut self) {
        self.state = match mem::replace(&mut self.state, CallState::Done) {
            CallState::Unsent(link, request) => {
                let Request { method, params, timeout, total, callback } = *request;
                let timeout = timeout.map(milliseconds);
                let total = match total {
                    TotalTimeout::Default => timeout.map(|timeout| timeout.saturating_mul(TOTAL_TIMEOUT_FACTOR)),
                    TotalTimeout::Endless => None,
                    TotalTimeout::Milliseconds(total) => Some(total),
                };
                let end = total.map(|total| link.now_rounded_up().saturating_add(total));
                let observer =
                    callback.map(|callback| CallObserver::Progress(callback, ProgressTimeout { timeout, end }));
                let initial_timeout = [timeout, total].into_iter().flatten().min();
                match link.call(&method, params, initial_timeout, observer) {
                    Ok((key, reply)) => CallState::Sent(Sent { link, key, reply, is_pending: true }),
                    Err(problem) => CallState::Failed(problem),
                }
            }
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
        let outcome = match &mut this.state {
            CallState::Sent(sent) => match Pin::new(&mut sent.reply).poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(reply) => {
                    sent.is_pending = false;
                    // A dropped sender means that the link was destroyed.
                    reply.unwrap_or(Err(CallError::Destroyed))
                }
            },
            CallState::Failed(problem) => Err(problem.clone()),
            CallState::Unsent(..) | CallState::Done => return Poll::Pending,
        };
        this.state = CallState::Done;
        Poll::Ready(outcome.and_then(|result| (this.decode)(&result)))
    }
}

impl<R> fmt::Debug for Call<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("state", &self.state).finish_non_exhaustive()
    }
}

/// Converts a timeout to milliseconds, rounded up. The result is at least 1, so that no call ends before it is sent.
pub(super) fn milliseconds(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX).max(1)
}
