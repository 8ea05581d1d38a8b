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
use super::state::{CallListener, Outcome, ProgressListener, Until};
use crate::connection::CallKey;
use crate::limits::TOTAL_TIMEOUT_FACTOR;

/// A call that waits for its result, made by [`Client::call`](crate::Client::call).
///
/// It is sent when it is first polled, or by [`Call::start`]. A drop while it waits cancels it, and so does its
/// timeout: the peer gets the notification `$/cancelRequest`.
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
    total: Total,
    listener: Option<ProgressListener>,
}

/// How long a call may take in all.
#[derive(Debug)]
enum Total {
    /// A multiple of its timeout.
    Default,
    Milliseconds(u64),
    Endless,
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
                let request = Request { method: method.into(), params, timeout, total: Total::Default, listener: None };
                Stage::Unsent(Arc::clone(link), Box::new(request))
            }
        };
        Self { stage, decode: read_result }
    }
}

impl<R> Call<R> {
    /// How long to wait, in place of the client's timeout. `None` waits for ever. A call that times out is cancelled at
    /// the peer, like a call that is dropped.
    pub fn timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        let timeout = timeout.into();
        self.with(|request| request.timeout = timeout)
    }

    /// How long to wait in all. After that the call times out, whatever its progress. By default, a call with
    /// [`Call::on_progress`] waits for 60 times its timeout. `None` sets no such limit.
    pub fn total_timeout(self, total: impl Into<Option<Duration>>) -> Self {
        let total = total.into().map_or(Total::Endless, |total| Total::Milliseconds(milliseconds(total)));
        self.with(|request| request.total = total)
    }

    /// Runs a function each time the peer reports how far it is. A value that is not a `P` is ignored. Each report
    /// restarts the timeout of the call, within its [total](Call::total_timeout).
    pub fn on_progress<P: DeserializeOwned>(self, listener: impl Fn(P) + Send + Sync + 'static) -> Self {
        let listener = move |value: &RawValue| {
            if let Ok(value) = serde_json::from_str(value.get()) {
                listener(value);
            }
        };
        self.with(|request| request.listener = Some(ProgressListener(Arc::new(listener))))
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
                let Request { method, params, timeout, total, listener } = *request;
                let timeout = timeout.map(milliseconds);
                let total = match total {
                    Total::Default => timeout.map(|timeout| timeout.saturating_mul(TOTAL_TIMEOUT_FACTOR)),
                    Total::Endless => None,
                    Total::Milliseconds(total) => Some(total),
                };
                let end = total.map(|total| link.now_rounded_up().saturating_add(total));
                let listener = listener.map(|listener| CallListener::Progress(listener, Until { timeout, end }));
                let first = [timeout, total].into_iter().flatten().min();
                match link.call(&method, params, first, listener) {
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
