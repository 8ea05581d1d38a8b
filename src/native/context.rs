//! What a handler gets beside its params.

use core::fmt;
use core::pin::Pin;
use core::task::{Context as TaskContext, Poll};
use std::future::Future;
use std::string::String;
use std::sync::{Arc, Weak};

use serde::Serialize;

use super::convert::{write_params, write_value};
use super::error::CallError;
use super::link::Link;
use super::progress;
use super::running::Lifetime;
use super::waiters::Place;
use crate::connection::RequestKey;
use crate::message::Id;

/// The request or notification that a handler works on.
#[derive(Clone)]
pub struct Context {
    /// A handler that is kept for ever keeps no link.
    link: Weak<Link>,
    method: Arc<str>,
    request: Option<RequestKey>,
    lifetime: Arc<Lifetime>,
}

impl Context {
    pub(super) fn of_request(link: &Arc<Link>, method: Arc<str>, key: RequestKey, lifetime: Arc<Lifetime>) -> Self {
        Self { link: Arc::downgrade(link), method, request: Some(key), lifetime }
    }

    pub(super) fn of_notification(link: &Arc<Link>, method: Arc<str>) -> Self {
        Self { link: Arc::downgrade(link), method, request: None, lifetime: Arc::clone(&link.lifetime) }
    }

    /// The name of the method.
    #[must_use]
    pub fn method(&self) -> String {
        String::from(&*self.method)
    }

    /// The id of the request; `None` for a notification, and after the answer.
    #[must_use]
    pub fn id(&self) -> Option<Id> {
        self.link.upgrade().zip(self.request).and_then(|(link, key)| link.request_id(key))
    }

    /// Whether the caller no longer wants the answer, or the server has gone.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.lifetime.is_over()
    }

    /// Ends when [`Context::is_cancelled`] becomes true. The handler's own future is dropped then; this is for work that
    /// goes on elsewhere.
    #[must_use = "a future does nothing unless it is polled"]
    pub fn cancelled(&self) -> Cancelled {
        Cancelled { lifetime: Arc::clone(&self.lifetime), place: Place::default() }
    }

    /// Lets other tasks run. A handler that computes without waiting is cancelled only here: its future is dropped.
    pub async fn yield_now(&self) {
        tokio::task::yield_now().await;
    }

    /// Tells the caller how far this is: its `on_progress` gets the value. After the answer, it does nothing; nor does it if
    /// the caller does not read.
    ///
    /// # Errors
    /// [`CallError::Params`].
    pub fn progress(&self, value: &(impl Serialize + ?Sized)) -> Result<(), CallError> {
        let Some((link, key)) = self.link.upgrade().zip(self.request) else { return Ok(()) };
        let value = write_value(value).map_err(CallError::Params)?;
        if let Some(id) = link.request_id(key) {
            // What a caller does not hear of is not worth failing for.
            if let Err(error @ CallError::Params(_)) = link.notify(progress::METHOD, progress::write(&id, &value)) {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Tells the caller something, without an answer.
    ///
    /// # Errors
    /// [`CallError::Params`], [`CallError::Congested`], or how the link has ended.
    pub fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), CallError> {
        let params = write_params(params)?;
        self.link.upgrade().ok_or(CallError::Destroyed)?.notify(method, params)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("method", &self.method).finish_non_exhaustive()
    }
}

/// Ends when a request is cancelled, see [`Context::cancelled`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is polled"]
pub struct Cancelled {
    lifetime: Arc<Lifetime>,
    place: Place,
}

impl Future for Cancelled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<()> {
        let this = self.get_mut();
        this.lifetime.poll_end(&mut this.place, context.waker())
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if self.place.is_taken() {
            self.lifetime.leave(&self.place);
        }
    }
}
