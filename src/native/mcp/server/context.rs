//! The context of a handler: the request of the client, and the messages to the client while the handler runs.

use core::any::Any;
use core::fmt;
use core::future::pending;
use core::pin::Pin;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::{Era, member};
use super::envelope::Envelope;
use super::input::Input;
use super::state::StateSigner;
use super::{errors, legacy_client::LegacyClient};
use crate::error::{CallError, RpcError, invalid_params};
use crate::json_value::{Text, read_result, write_params, write_value};
use crate::message::Id;
use crate::native::context::Cancelled;
use crate::native::in_flight::CancelToken;
use crate::native::mcp_dialect;
use crate::profile::ProgressNotification;

/// The methods that a server may call, with the capability that the client needs.
const CAPABILITIES: [(&str, &str); 3] =
    [("sampling/createMessage", "sampling"), ("elicitation/create", "elicitation"), ("roots/list", "roots")];

/// The severity of a log message (RFC 5424, section 6.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Details for debugging.
    Debug,
    /// General information.
    Info,
    /// Normal but significant events.
    Notice,
    /// Warnings.
    Warning,
    /// Errors.
    Error,
    /// Critical conditions.
    Critical,
    /// Conditions that need an action at once.
    Alert,
    /// The system is unusable.
    Emergency,
}

/// The messages to the client that belong to a request.
pub(super) trait Outlet: Send + Sync {
    /// Sends a notification.
    fn notify(&self, method: &str, params: Option<&RawValue>) -> Result<(), CallError>;

    /// Sends a request of the legacy era. The outlet sends a cancellation if the future is dropped.
    fn call(&self, method: &str, params: Option<Text>) -> Answer;
}

/// The future of the client's answer to a request of the server.
pub(super) type Answer = Pin<Box<dyn Future<Output = Result<Text, RpcError>> + Send>>;

/// The client that has sent a request.
pub(super) enum Caller {
    Legacy(Arc<LegacyClient>),
    Modern(Envelope),
}

/// One request of a client.
pub(super) struct Exchange {
    pub(super) id: Id,
    pub(super) params: Option<Text>,
    pub(super) caller: Caller,
    pub(super) outlet: Arc<dyn Outlet>,
    pub(super) identity: Option<Arc<dyn Any + Send + Sync>>,
    progress_token: Option<Id>,
    pub(super) cancel_token: Arc<CancelToken>,
    input: Mutex<Input>,
    /// Signs the answers that the client keeps. `None` in the legacy era.
    pub(super) state_signer: Option<StateSigner>,
}

impl Exchange {
    pub(super) fn new(id: Id, params: Option<Text>, caller: Caller, outlet: Arc<dyn Outlet>) -> Self {
        let progress_token = match &caller {
            Caller::Legacy(_) => mcp_dialect::progress_token(params.as_deref()),
            Caller::Modern(envelope) => envelope.progress_token.clone(),
        };
        let cancel_token = Arc::default();
        let input = Mutex::default();
        Self { id, params, caller, outlet, identity: None, progress_token, cancel_token, input, state_signer: None }
    }

    fn input(&self) -> MutexGuard<'_, Input> {
        self.input.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the result with the questions of the handler, or registers the waker if no question was asked.
    pub(super) fn input_result(&self, waker: &Waker) -> Option<Result<Text, RpcError>> {
        self.input().result(waker, |state| match &self.state_signer {
            Some(signer) => signer.sign(self.params.as_deref(), state),
            None => Ok(state.to_owned()),
        })
    }

    pub(super) const fn era(&self) -> Era {
        match self.caller {
            Caller::Legacy(_) => Era::Legacy,
            Caller::Modern(_) => Era::Modern,
        }
    }
}

/// The request of a running handler of a [`Server`](super::Server).
///
/// If the client cancels the request, the future of the handler is dropped. In the modern era over HTTP, a client
/// cancels a request by closing the connection.
#[derive(Clone)]
pub struct Context(pub(super) Arc<Exchange>);

impl Context {
    /// Returns the era of the client's request.
    #[must_use]
    pub fn era(&self) -> Era {
        self.0.era()
    }

    /// Returns the params of the request, with `_meta`. In the modern era, they also have `inputResponses` and
    /// `requestState`, if the client has sent them.
    #[must_use]
    pub fn params(&self) -> Option<&RawValue> {
        self.0.params.as_deref()
    }

    /// Returns the capabilities of the client.
    #[must_use]
    pub fn client_capabilities(&self) -> Value {
        match &self.0.caller {
            Caller::Legacy(client) => client.capabilities(),
            Caller::Modern(envelope) => envelope.capabilities.clone(),
        }
    }

    /// Returns the identity of the client: over HTTP, an extension `Arc<T>` of the request, which for example a layer
    /// of `tower` adds after it has checked a token; over any other transport, the identity of
    /// [`Transport::with_identity`](crate::Transport::with_identity).
    #[must_use]
    pub fn identity<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let identity = Arc::clone(self.0.identity.as_ref()?);
        #[cfg(feature = "mcp-http")]
        if let Some(extensions) = identity.downcast_ref::<hyper::http::Extensions>() {
            return extensions.get::<Arc<T>>().cloned();
        }
        identity.downcast().ok()
    }

    /// Returns whether the client has cancelled the request, or the handler has ended.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel_token.is_cancelled()
    }

    /// Returns a future that completes when [`Context::is_cancelled`] becomes true. The future of the handler is
    /// dropped at the same time, so await the returned future in another task.
    #[must_use = "a future does nothing unless it is polled"]
    pub fn cancelled(&self) -> Cancelled {
        Cancelled::new(Arc::clone(&self.0.cancel_token))
    }

    /// Sends progress: a number, or `{ progress, total, message }`. The value is dropped if the client wants no
    /// progress, if the client does not read, or after the response.
    ///
    /// # Errors
    /// [`CallError::Params`] if the value is not of this form.
    pub fn progress(&self, value: &(impl Serialize + ?Sized)) -> Result<(), CallError> {
        let value = write_value(value).map_err(CallError::Params)?;
        let form = &ProgressNotification::MCP;
        match mcp_dialect::progress_params(form, self.0.progress_token.as_ref(), value)? {
            Some(params) => self.send(form.method, &params),
            None => Ok(()),
        }
    }

    /// Sends a log message to the client. `data` is any value, for example a text. The message is dropped if the client
    /// wants no messages of this level, if the client does not read, or after the response. In the modern era, a client
    /// wants no messages unless its request names a level.
    ///
    /// # Errors
    /// [`CallError::Params`] if `data` cannot be serialized.
    pub fn log(&self, level: Level, data: &(impl Serialize + ?Sized)) -> Result<(), CallError> {
        let is_wanted = match &self.0.caller {
            Caller::Legacy(client) => client.level().is_none_or(|least| level >= least),
            Caller::Modern(envelope) => envelope.level.is_some_and(|least| level >= least),
        };
        if !is_wanted {
            return Ok(());
        }
        #[derive(Serialize)]
        struct Message<'d, D: ?Sized> {
            level: Level,
            data: &'d D,
        }
        let params = write_value(&Message { level, data }).map_err(CallError::Params)?;
        self.send("notifications/message", &params)
    }

    fn send(&self, method: &str, params: &RawValue) -> Result<(), CallError> {
        if self.is_cancelled() {
            return Ok(());
        }
        match self.0.outlet.notify(method, Some(params)) {
            Err(error @ CallError::Params(_)) => Err(error),
            // If the client is gone or does not read, the handler must not fail because of its notifications.
            _ => Ok(()),
        }
    }

    /// Asks the client: calls `elicitation/create`, `sampling/createMessage` or `roots/list`. `params` must serialize
    /// to an object; `()` means no params. `R` is the type of the answer.
    ///
    /// In the legacy era, the server sends this request and waits for the response. In the modern era, a server sends
    /// no requests. Then the future of the handler is dropped at this point, the client receives the question in a
    /// result `input_required`, and sends its request again with the answer. **The handler runs again from its start**,
    /// and this function returns the answer. So a handler must not act before its last question, and must ask the same
    /// questions with the same keys each time. `tokio::join!` asks several questions at once.
    ///
    /// The question has no timeout, because a user may take any time. In the modern era, the client keeps the earlier
    /// answers in `requestState`. The server signs them for this method and these params, and refuses a state that it
    /// has not signed. The key is that of [`Server::state_key`](super::Server::state_key). A state does not expire, is
    /// not encrypted, and is not bound to an identity: a client can send an answer again. A handler that returns a
    /// result `input_required` by itself must check its own `requestState`.
    ///
    /// # Errors
    /// -32021 if the client does not have the capability, -32602 if the answer is not an `R` or the state is not
    /// signed, or the error with which the client has answered.
    pub async fn ask<R: DeserializeOwned>(
        &self,
        key: &str,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<R, RpcError> {
        let params = write_params(params).map_err(RpcError::internal)?;
        let needed = CAPABILITIES.iter().find(|(name, _)| *name == method);
        if let Some((_, capability)) = needed.filter(|(_, name)| self.client_capabilities().get(name).is_none()) {
            return Err(errors::missing_capability(capability));
        }
        let answer = match self.era() {
            Era::Legacy => self.0.outlet.call(method, params).await?,
            Era::Modern => {
                let signer = self.0.state_signer.as_ref();
                let answer = self.0.input().answer(self.params(), signer, key, method, params)?;
                match answer {
                    Some(answer) => answer,
                    None => pending().await,
                }
            }
        };
        read_result(&answer).map_err(|problem| invalid_params(format!("the answer to {key:?}: {problem}")))
    }

    /// Returns a member of the params.
    pub(super) fn param<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        member(self.params()?, name)
    }

    /// Returns the text of a member that the method requires.
    pub(super) fn required(&self, name: &str) -> Result<String, RpcError> {
        self.param(name).ok_or_else(|| invalid_params(format!("{name} must be a string")))
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("id", &self.0.id).field("era", &self.era()).finish_non_exhaustive()
    }
}
