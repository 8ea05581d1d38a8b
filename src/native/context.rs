//! The context of a handler. It refers to the request or notification that the handler handles.

use core::any::Any;
use core::fmt;
use core::pin::Pin;
use core::task::{Context as TaskContext, Poll};
use std::future::Future;
use std::sync::{Arc, Weak};

use serde::Serialize;
use serde_json::value::RawValue;

use super::in_flight::CancelToken;
use super::link::Link;
use super::mcp_dialect;
use super::waker_set::WakerKey;
use crate::connection::{RequestKey, control};
use crate::error::CallError;
use crate::json_value::{with_params, write_value};
use crate::message::Id;

/// The request or notification of a running handler.
#[derive(Clone)]
pub struct Context {
    /// A weak reference, so that a handler that keeps its context does not keep the link open.
    link: Weak<Link>,
    method: Arc<str>,
    request: Option<RequestKey>,
    /// In MCP, the token of the caller for progress.
    progress_token: Option<Id>,
    cancel_token: Arc<CancelToken>,
}

impl Context {
    pub(super) fn of_request(
        link: &Arc<Link>,
        method: Arc<str>,
        key: RequestKey,
        params: Option<&RawValue>,
        cancel_token: Arc<CancelToken>,
    ) -> Self {
        let progress_token = if link.profile.is_mcp() { mcp_dialect::progress_token(params) } else { None };
        Self { link: Arc::downgrade(link), method, request: Some(key), progress_token, cancel_token }
    }

    pub(super) fn of_notification(link: &Arc<Link>, method: Arc<str>) -> Self {
        let cancel_token = Arc::clone(&link.cancel_token);
        Self { link: Arc::downgrade(link), method, request: None, progress_token: None, cancel_token }
    }

    /// Returns the name of the method.
    #[must_use]
    pub fn method(&self) -> String {
        String::from(&*self.method)
    }

    /// Returns the id of the request, or `None` for a notification and after the response.
    #[must_use]
    pub fn id(&self) -> Option<Id> {
        self.link.upgrade().zip(self.request).and_then(|(link, key)| link.request_id(key))
    }

    /// Returns the identity of the peer, or `None` if the link has no identity of the type `T`. See
    /// [`Transport::with_identity`] and `WebSocketPolicy::check`.
    ///
    /// [`Transport::with_identity`]: crate::Transport::with_identity
    #[must_use]
    pub fn identity<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.link.upgrade()?.identity()
    }

    /// Returns whether the request was cancelled or the link has closed.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancel_token.is_cancelled()
    }

    /// Returns a future that completes when [`Context::is_cancelled`] becomes true. The future of the handler is
    /// dropped at the same time. So await the returned future in another task, for example in a task that must stop
    /// when the request is cancelled.
    #[must_use = "a future does nothing unless it is polled"]
    pub fn cancelled(&self) -> Cancelled {
        Cancelled::new(Arc::clone(&self.cancel_token))
    }

    /// Yields to the runtime, so that other tasks run. If a handler awaits nothing else, it can be cancelled only
    /// during this call. A cancellation drops the future of the handler.
    pub async fn yield_now(&self) {
        tokio::task::yield_now().await;
    }

    /// Sends progress to the caller. The `on_progress` callback of the caller receives the value. The value is dropped
    /// if the request is already answered, or if the output is full because the caller does not read. In the handler of
    /// a notification, every value is dropped.
    ///
    /// In MCP, the value is a number or `{ progress, total, message }`. The value is dropped if the caller has not
    /// requested progress.
    ///
    /// # Errors
    /// [`CallError::Params`] if `value` cannot be serialized, is too long, or is not of the form that the profile
    /// requires.
    pub fn progress(&self, value: &(impl Serialize + ?Sized)) -> Result<(), CallError> {
        let Some((link, key)) = self.link.upgrade().zip(self.request) else { return Ok(()) };
        let value = write_value(value).map_err(CallError::Params)?;
        if let Some(id) = link.request_id(key) {
            let form = link.profile.progress;
            let params = if link.profile.is_mcp() {
                let params = mcp_dialect::progress_params(form, self.progress_token.as_ref(), value)?;
                let Some(params) = params else { return Ok(()) };
                params
            } else {
                control::write_progress(form, &id, &value)
                    .ok_or_else(|| CallError::Params("progress must be an object, as the profile requires".into()))?
            };
            // If the link has ended or the output is full, the handler must not fail because of its progress.
            if let Err(error @ CallError::Params(_)) = link.notify(form.method, Some(&params)) {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Sends a notification to the caller.
    ///
    /// # Errors
    /// [`CallError::Params`], [`CallError::Congested`], or the reason why the link has ended.
    pub fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), CallError> {
        let link = self.link.upgrade().ok_or(CallError::Destroyed);
        with_params(params, |params| link?.notify(method, params)).map_err(CallError::Params)?
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("method", &self.method).finish_non_exhaustive()
    }
}

/// A future that completes when a request is cancelled, see [`Context::cancelled`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is polled"]
pub struct Cancelled {
    cancel_token: Arc<CancelToken>,
    waker_key: WakerKey,
}

impl Cancelled {
    pub(super) fn new(cancel_token: Arc<CancelToken>) -> Self {
        Self { cancel_token, waker_key: WakerKey::default() }
    }
}

impl Future for Cancelled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<()> {
        let this = self.get_mut();
        this.cancel_token.poll_cancelled(&mut this.waker_key, context.waker())
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if self.waker_key.is_registered() {
            self.cancel_token.remove_waker(&self.waker_key);
        }
    }
}
