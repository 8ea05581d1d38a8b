//! A call of an MCP server. In the modern era, one call may need several requests, because the server may need input.

use core::fmt;
use core::marker::PhantomData;
use core::pin::Pin;
use core::time::Duration;
use std::collections::BTreeMap;
use std::future::{Future, IntoFuture};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::{RawValue, to_raw_value};

use super::client::Client;
use super::updates::Queue;
use super::{Era, Error, member};
use crate::codec::json;
use crate::error::{CallError, method_not_found};
use crate::json_value::{Text, read_result};
use crate::native::limits::MAX_MCP_ROUNDS;
use crate::native::mcp_dialect;
use crate::native::state::ProgressCallback;

/// The error of a server for a call of a tool whose headers `Mcp-Param-*` do not have the values of its arguments.
const HEADER_MISMATCH: i64 = -32020;

/// A call of an MCP server. [`Client::call`] creates it, and `await` sends it.
///
/// A call that is dropped while it is pending, and a call that times out, are cancelled at the server by
/// `notifications/cancelled`.
#[must_use = "a call is sent when it is awaited"]
pub struct Call<R> {
    client: Client,
    method: Box<str>,
    params: Result<Option<Text>, CallError>,
    timeout: Option<Duration>,
    callback: Option<ProgressCallback>,
    /// The notifications of [`Updates`](super::Updates).
    queue: Option<Arc<Queue>>,
    result: PhantomData<fn() -> R>,
}

impl<R> Call<R> {
    pub(super) fn new(client: Client, method: &str, params: Result<Option<Text>, CallError>) -> Self {
        let timeout = client.timeout();
        Self { client, method: method.into(), params, timeout, callback: None, queue: None, result: PhantomData }
    }

    /// Sets the timeout of each request of this call, in place of the client's timeout. `None` disables the timeout.
    pub fn timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        Self { timeout: timeout.into(), ..self }
    }

    /// Registers a callback for the progress that the server reports: `{ progress, total, message }`. A value that is
    /// not a `P` is ignored. Each progress value restarts the timeout.
    pub fn on_progress<P: DeserializeOwned>(self, callback: impl Fn(P) + Send + Sync + 'static) -> Self {
        let callback = move |value: &RawValue| {
            if let Ok(value) = serde_json::from_str(value.get()) {
                callback(value);
            }
        };
        Self { callback: Some(ProgressCallback(Arc::new(callback))), ..self }
    }

    /// Adds the progress of the call to a queue.
    pub(super) fn queue(self, queue: &Arc<Queue>) -> Self {
        let progress = Arc::clone(queue);
        let callback = ProgressCallback(Arc::new(move |value: &RawValue| progress.push_progress(value)));
        Self { callback: Some(callback), queue: Some(Arc::clone(queue)), ..self }
    }

    async fn result(mut self) -> Result<Text, Error> {
        let mut params = self.params?;
        self.params = Ok(None);
        let mut has_reloaded = false;
        for _ in 0..MAX_MCP_ROUNDS {
            let sent = self.client.request_params(params.as_deref())?;
            let mut call = self.client.link().call::<Text>(&self.method, &sent).timeout(self.timeout);
            if let Some(ProgressCallback(callback)) = self.callback.clone() {
                call = call.on_progress(move |value: Text| callback(&value));
            }
            let call = call.start();
            if let Some(queue) = &self.queue {
                queue.set_request(call.id());
            }
            let result = match call.await.map_err(Error::from) {
                // The schema of the tool is unknown, or has changed. The server has not run the tool.
                Err(error) if !has_reloaded && self.has_wrong_headers(&error) => {
                    has_reloaded = true;
                    match self.client.list::<IgnoredAny>("tools/list", "tools").await {
                        Ok(_) => continue,
                        Err(_) => return Err(error),
                    }
                }
                result => result?,
            };
            match result_type(self.client.era(), &result).as_deref() {
                None | Some("complete") => return Ok(result),
                Some("input_required") => params = Some(self.answer(params.as_deref(), &result).await?),
                Some(other) => return Err(Error::UnknownResultType(other.into())),
            }
        }
        Err(Error::TooManyRounds)
    }

    /// Returns whether the server has refused a call of a tool because of its headers. Only HTTP has headers.
    fn has_wrong_headers(&self, error: &Error) -> bool {
        let Error::Call(CallError::Remote(error)) = error else { return false };
        let is_modern = self.client.era() == Era::Modern;
        is_modern && &*self.method == "tools/call" && error.code.value() == HEADER_MISMATCH
    }

    /// Runs the handlers for the input that the server needs. Returns the params of the next request: the params of the
    /// call, with the results of the handlers and the state of the server.
    async fn answer(&self, params: Option<&RawValue>, result: &RawValue) -> Result<Text, Error> {
        let requests = match member::<Text>(result, "inputRequests") {
            Some(requests) => {
                read_result::<BTreeMap<String, InputRequest>>(&requests).map_err(CallError::Deserialize)?
            }
            None => BTreeMap::new(),
        };
        let mut responses = BTreeMap::new();
        for (key, InputRequest { method, params }) in requests {
            let outcome = match self.client.handler(&method) {
                Some(handler) => handler(params.as_deref()).await.and_then(mcp_dialect::object_result),
                None => Err(method_not_found(&method)),
            };
            match outcome {
                Ok(response) => responses.insert(key, response),
                Err(error) => return Err(Error::Input { method, error }),
            };
        }
        let responses = if responses.is_empty() { None } else { to_raw_value(&responses).ok() };
        let state: Option<Text> = member(result, "requestState");
        let members = [("inputResponses", responses.as_deref()), ("requestState", state.as_deref())];
        Ok(mcp_dialect::with_members(params, &members).map_err(CallError::Params)?)
    }
}

/// A request of the server in a result. The params are in the form that the server has written.
#[derive(Deserialize)]
struct InputRequest {
    method: String,
    params: Option<Text>,
}

/// Returns the member `resultType` of a result, or `None` if the result is complete. In the legacy era, each result is
/// complete.
fn result_type(era: Era, result: &RawValue) -> Option<String> {
    match era {
        Era::Legacy => None,
        Era::Modern => {
            let [name] = json::members(result.get().as_bytes(), ["resultType"])?;
            let name = name?.get();
            Some(serde_json::from_str(name).unwrap_or_else(|_| name.into()))
        }
    }
}

impl<R: DeserializeOwned + 'static> IntoFuture for Call<R> {
    type Output = Result<R, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let result = self.result().await?;
            Ok(read_result(&result).map_err(CallError::Deserialize)?)
        })
    }
}

impl<R> fmt::Debug for Call<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("method", &self.method).finish_non_exhaustive()
    }
}
