//! The client: makes calls, and hears how they end.

use core::time::Duration;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::call::Call;
use super::convert::write_params;
use super::error::{CallError, Closed};
use super::items::Items;
use super::limits::CALL_TIMEOUT;
use super::link::Link;
use super::transport::Transport;
use crate::codec::wipc::FrameType;

/// Calls the other side.
///
/// A clone is the same client. It is destroyed when the last one is dropped, or by [`Client::destroy`]; calls that still
/// wait end with [`CallError::Destroyed`]. What the other side asks is answered with -32601, since nobody here serves: for
/// that there is [`Peer`](crate::Peer).
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
///     other => panic!("there is no such sum: {other:?}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    owner: Arc<Owner>,
    timeout: Option<Duration>,
}

/// What the clones of a client share.
#[derive(Debug)]
struct Owner(Arc<Link>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.destroy();
    }
}

impl Client {
    /// A client whose calls wait for 10 seconds. Its link is driven by a task of the runtime that the transport was made in.
    #[must_use]
    pub fn new(transport: Transport) -> Self {
        let link = transport.open(false);
        link.start();
        Self::on(link)
    }

    pub(super) fn on(link: Arc<Link>) -> Self {
        Self { owner: Arc::new(Owner(link)), timeout: Some(CALL_TIMEOUT) }
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
        Call::new(self.link(), self.timeout, method, write_params(params))
    }

    /// The items that a method gives one after the other. They come no faster than they are taken.
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
        Items::new(self.link(), self.timeout, method, write_params(params))
    }

    /// Tells the other side something, without an answer.
    ///
    /// # Errors
    /// [`CallError::Params`], how the link has ended, or [`CallError::Congested`] if the other side does not read; for that,
    /// see [`Client::ready`].
    pub fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), CallError> {
        self.link().notify(method, write_params(params)?)
    }

    /// Sends a frame of [WIPC](crate::codec::wipc) that is no call: `DATA`, for example. It keeps its place among calls and
    /// notifications.
    ///
    /// # Errors
    /// [`CallError::NoFrames`] with any other framing, [`CallError::Params`] if the payload is too long for a frame, else as
    /// [`Client::notify`].
    pub fn send_frame(&self, frame_type: FrameType, payload: &[u8]) -> Result<(), CallError> {
        self.link().send_frame(frame_type, payload)
    }

    /// Waits until the other side has read enough for more notifications, or the link has ended.
    pub async fn ready(&self) {
        self.link().ready().await;
    }

    /// How many calls of this client wait for an answer.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.link().pending_calls()
    }

    /// Waits for the end of the link, and says why it has ended. It may be asked as often as one likes.
    pub async fn closed(&self) -> Closed {
        self.link().closed().await
    }

    /// Ends the client now, whoever else has a clone of it. What was sent already leaves. Doing it twice is harmless.
    pub fn destroy(&self) {
        self.link().destroy();
    }

    pub(super) fn link(&self) -> &Arc<Link> {
        &self.owner.0
    }
}
