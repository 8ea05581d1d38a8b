//! The client. It sends calls and notifications.

use core::time::Duration;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::call::Call;
use super::limits::CALL_TIMEOUT;
use super::link::Link;
use super::response_stream::Items;
use super::transport::Transport;
use crate::codec::wipc::FrameType;
use crate::error::{CallError, Closed};
use crate::json_value::{with_params, write_params};

/// Calls methods of the peer.
///
/// All clones share one link to the peer. The link closes when the last clone is dropped, or when [`Client::destroy`]
/// is called. In both cases, pending calls fail with [`CallError::Destroyed`]. Requests from the peer are answered with
/// -32601. To handle requests, use [`Peer`](crate::Peer).
///
/// ```
/// use portway::{CallError, Client, Context, RpcError, Server, Transport};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Add { a: u32, b: u32 }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (here, there) = Transport::pair()?;
/// let server = Server::new(there);
/// server.method("add", |params: Add, _: Context| async move {
///     params.a.checked_add(params.b).ok_or_else(|| RpcError::invalid_params("too large"))
/// });
/// server.forget();
///
/// let client = Client::new(here);
/// let sum: u32 = client.call("add", &Add { a: 1, b: 2 }).await?;
/// assert_eq!(sum, 3);
/// match client.call::<u32>("add", &Add { a: 1, b: u32::MAX }).await {
///     Err(CallError::Remote(error)) => assert_eq!(error.message, "too large"),
///     other => panic!("the call must fail: {other:?}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    owner: Arc<Owner>,
    timeout: Option<Duration>,
}

/// Closes the link when the last clone of a client is dropped.
#[derive(Debug)]
struct Owner(Arc<Link>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.destroy();
    }
}

impl Client {
    /// Creates a client whose calls time out after 10 seconds. A task does the IO of the link. The task runs in the
    /// runtime in which the transport was created.
    #[must_use]
    pub fn new(transport: Transport) -> Self {
        let link = transport.open(false);
        link.start();
        Self::on(link)
    }

    pub(super) fn on(link: Arc<Link>) -> Self {
        Self { owner: Arc::new(Owner(link)), timeout: Some(CALL_TIMEOUT) }
    }

    /// Sets the timeout of calls through this client. Existing clones keep their own timeout. `None` disables the
    /// timeout. Default: 10 seconds.
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
        Call::new(self.link(), self.timeout, method, write_params(params).map_err(CallError::Params))
    }

    /// Calls a method that returns a stream of items. The peer sends items only as fast as the stream is read.
    ///
    /// ```
    /// use futures_util::{StreamExt, stream};
    /// # use portway::{Client, Context, RpcError, Server, Transport};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (here, there) = Transport::pair()?;
    /// # let server = Server::new(there);
    /// server.stream_method("count", |(below,): (u32,), _: Context| stream::iter((0..below).map(Ok::<_, RpcError>)));
    /// # server.forget();
    /// # let client = Client::new(here);
    /// let mut numbers = client.stream::<u32>("count", &(3,));
    /// let mut sum = 0;
    /// while let Some(number) = numbers.next().await {
    ///     sum += number?;
    /// }
    /// assert_eq!(sum, 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream<T: DeserializeOwned>(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Items<T> {
        Items::new(self.link(), self.timeout, method, write_params(params).map_err(CallError::Params))
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// [`CallError::Params`], the reason why the link has ended, or [`CallError::Congested`] while the peer does not
    /// read. After `Congested`, [`Client::ready`] waits until the peer has read.
    pub fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), CallError> {
        with_params(params, |params| self.link().notify(method, params)).map_err(CallError::Params)?
    }

    /// Sends a [WIPC](crate::codec::wipc) frame that is not a message, for example `DATA`. Frames, calls and
    /// notifications arrive in the order in which they were sent.
    ///
    /// # Errors
    /// [`CallError::NoFrames`] with any other framing, [`CallError::Params`] if the payload is too long, and the errors
    /// of [`Client::notify`].
    pub fn send_frame(&self, frame_type: FrameType, payload: &[u8]) -> Result<(), CallError> {
        self.link().send_frame(frame_type, payload)
    }

    /// Waits until the output has room for more notifications, or the link has ended.
    pub async fn ready(&self) {
        self.link().ready().await;
    }

    /// Returns the number of pending calls.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.link().pending_calls()
    }

    /// Waits until the link has ended, and returns the reason. The method can be called any number of times.
    pub async fn closed(&self) -> Closed {
        self.link().closed().await
    }

    /// Closes the client now, for all of its clones. Queued output is still written. A repeated call has no effect.
    pub fn destroy(&self) {
        self.link().destroy();
    }

    pub(super) fn link(&self) -> &Arc<Link> {
        &self.owner.0
    }
}
