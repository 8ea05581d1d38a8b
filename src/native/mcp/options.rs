//! The options of a client of MCP: its name, its capabilities, its handlers and its timeouts.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::updates::{Hub, METHODS};
use super::{EraDetection, LEGACY_VERSIONS, MODERN_VERSIONS};
use crate::error::{RpcError, invalid_params};
use crate::json_value::{read_params, write_result};
#[cfg(feature = "mcp-http")]
use crate::native::handlers::Fallback;
use crate::native::handlers::{HandlerFuture, HandlerOutcome};
use crate::native::limits::{CALL_TIMEOUT, MCP_DISCOVER_TIMEOUT, MCP_INITIALIZE_TIMEOUT};
use crate::native::peer::Peer;
use crate::native::transport::Transport;

/// The handlers for requests of the server, by method.
pub(super) type InputHandlers = BTreeMap<String, Arc<InputHandler>>;

/// The handler for a request of the server.
pub(super) type InputHandler = dyn Fn(Option<&RawValue>) -> HandlerFuture + Send + Sync;

/// The methods of a server that need a capability of the client, with the name of this capability.
const CAPABILITIES: [(&str, &str); 3] =
    [("sampling/createMessage", "sampling"), ("elicitation/create", "elicitation"), ("roots/list", "roots")];

/// The options of a [`Client`](super::Client).
#[must_use = "options have an effect only in `Client::connect`"]
pub struct Options {
    pub(super) client_info: Value,
    capabilities: Option<Value>,
    pub(super) handlers: InputHandlers,
    notifications: BTreeMap<String, Arc<NotifyHandler>>,
    /// The streams that receive notifications.
    pub(super) hub: Arc<Hub>,
    pub(super) on_stderr: Option<Box<OnStderr>>,
    pub(super) configure_transport: Box<dyn Fn(Transport) -> Transport + Send + Sync>,
    pub(super) timeout: Option<Duration>,
    pub(super) discover_timeout: Duration,
    pub(super) initialize_timeout: Duration,
    pub(super) versions: (&'static [&'static str], &'static [&'static str]),
    /// Receives all notifications of the server, in place of the other handlers.
    #[cfg(feature = "mcp-http")]
    forward: Option<Arc<ForwardFn>>,
    #[cfg(feature = "mcp-http")]
    era_cache: Option<super::EraCache>,
    #[cfg(feature = "mcp-http")]
    root_certificates: Vec<Vec<u8>>,
    #[cfg(feature = "mcp-http")]
    headers: Option<Arc<super::http::HeadersFn>>,
    #[cfg(feature = "mcp-http")]
    on_warning: Option<Arc<super::http::WarnFn>>,
}

/// Receives the method and the params of a notification.
#[cfg(feature = "mcp-http")]
type ForwardFn = dyn Fn(&str, Option<&RawValue>) + Send + Sync;

type OnStderr = dyn Fn(&str) + Send + Sync;

/// The handler of a notification. Its error is the reason why the params are not of the handler's type.
type NotifyHandler = dyn Fn(Option<&RawValue>) -> Result<(), String> + Send + Sync;

impl Options {
    /// Creates options with the name and the version of the application, which the server receives as `clientInfo`.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            client_info: json!({ "name": name, "version": version }),
            capabilities: None,
            handlers: BTreeMap::new(),
            notifications: BTreeMap::new(),
            hub: Arc::default(),
            on_stderr: None,
            configure_transport: Box::new(|transport| transport),
            timeout: Some(CALL_TIMEOUT),
            discover_timeout: MCP_DISCOVER_TIMEOUT,
            initialize_timeout: MCP_INITIALIZE_TIMEOUT,
            versions: (MODERN_VERSIONS, LEGACY_VERSIONS),
            #[cfg(feature = "mcp-http")]
            forward: None,
            #[cfg(feature = "mcp-http")]
            era_cache: None,
            #[cfg(feature = "mcp-http")]
            root_certificates: Vec::new(),
            #[cfg(feature = "mcp-http")]
            headers: None,
            #[cfg(feature = "mcp-http")]
            on_warning: None,
        }
    }

    /// Replaces `clientInfo`, for example to add a title.
    pub fn client_info(self, client_info: Value) -> Self {
        Self { client_info, ..self }
    }

    /// Sets the capabilities of the client. Default: `sampling`, `elicitation` and `roots`, each if
    /// [`Options::method`] has registered its handler.
    pub fn capabilities(self, capabilities: Value) -> Self {
        Self { capabilities: Some(capabilities), ..self }
    }

    /// Registers an async handler for a request of the server, such as `elicitation/create`. In the legacy era, the
    /// server sends this request. In the modern era, the server answers a call with the request, and the client sends
    /// the call again, with the result of the handler. The client answers `ping` itself.
    pub fn method<P, R, E, F, W>(mut self, name: &str, handler: F) -> Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(P) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, E>> + Send + 'static,
    {
        let handler = move |params: Option<&RawValue>| -> HandlerFuture {
            match read_params(params) {
                Err(problem) => Box::pin(core::future::ready(Err(invalid_params(&problem)))),
                Ok(params) => {
                    let work = handler(params);
                    Box::pin(async move { write_result(work.await) })
                }
            }
        };
        self.handlers.insert(name.into(), Arc::new(handler));
        self
    }

    /// Registers a handler for a notification of the server, such as `notifications/message`.
    pub fn on_notify<P, F>(mut self, name: &str, handler: F) -> Self
    where
        P: DeserializeOwned,
        F: Fn(P) + Send + Sync + 'static,
    {
        let handler = move |params: Option<&RawValue>| read_params(params).map(&handler);
        self.notifications.insert(name.into(), Arc::new(handler));
        self
    }

    /// Registers a callback for each line of the standard error of the process, see
    /// [`Process::on_stderr`](crate::Process::on_stderr). Default: the process inherits the standard error of this
    /// process.
    pub fn on_stderr(self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { on_stderr: Some(Box::new(callback)), ..self }
    }

    /// Sets a function that configures the transport, for example its limits, its diagnostics or its tap. The profile
    /// is always [`Profile::MCP`](crate::profile::Profile::MCP).
    pub fn with(self, configure_transport: impl Fn(Transport) -> Transport + Send + Sync + 'static) -> Self {
        Self { configure_transport: Box::new(configure_transport), ..self }
    }

    /// Sets the timeout of calls. `None` disables the timeout. Default: 10 seconds.
    pub fn timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        Self { timeout: timeout.into(), ..self }
    }

    /// Sets the maximum time for the response to `server/discover`. A server that does not respond within this time
    /// receives `initialize`. Default: 5 seconds.
    pub fn discover_timeout(self, discover_timeout: Duration) -> Self {
        Self { discover_timeout, ..self }
    }

    /// Sets the maximum time for the response to `initialize`. Default: 30 seconds.
    pub fn initialize_timeout(self, initialize_timeout: Duration) -> Self {
        Self { initialize_timeout, ..self }
    }

    /// Restricts the client to one era, for a server whose era is known, for example from [`Client::era`] of an earlier
    /// connection to the same program or origin. Default: the era is detected.
    ///
    /// [`Client::era`]: super::Client::era
    pub fn era(self, era: super::Era) -> Self {
        Self { versions: versions_of(era), ..self }
    }

    /// Sets the cache with the eras of HTTP servers. A connection to an origin in the cache does not detect the era.
    /// Default: each connection detects the era. The option has no effect together with [`Options::era`].
    #[cfg(feature = "mcp-http")]
    pub fn era_cache(self, cache: &super::EraCache) -> Self {
        Self { era_cache: Some(cache.clone()), ..self }
    }

    /// Trusts these certificates for `https://`, in addition to the certificates of the system. `pem` is one or several
    /// certificates in PEM.
    #[cfg(feature = "mcp-http")]
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificates.push(pem.into());
        self
    }

    /// Sets a function that returns further headers for each HTTP request, for example `Authorization`. The function is
    /// called for each request, so that it can renew a token.
    #[cfg(feature = "mcp-http")]
    pub fn headers<F, W>(self, headers: F) -> Self
    where
        F: Fn() -> W + Send + Sync + 'static,
        W: Future<Output = Vec<(String, String)>> + Send + 'static,
    {
        Self { headers: Some(Arc::new(move || Box::pin(headers()))), ..self }
    }

    /// Registers a callback for faults of an HTTP server that the client tolerates, as texts for a log. An example is a
    /// tool that is left out of `tools/list`, because its `x-mcp-header` is invalid.
    #[cfg(feature = "mcp-http")]
    pub fn on_warning(self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { on_warning: Some(Arc::new(callback)), ..self }
    }

    /// Sets a function that receives all notifications of the server.
    #[cfg(feature = "mcp-http")]
    pub(super) fn forward(self, forward: impl Fn(&str, Option<&RawValue>) + Send + Sync + 'static) -> Self {
        Self { forward: Some(Arc::new(forward)), ..self }
    }

    #[cfg(feature = "mcp-http")]
    pub(super) fn http_transport(&self, url: &str) -> std::io::Result<Transport> {
        let warn = self.on_warning.clone();
        let warn = Box::new(move |text: &str| warn.iter().for_each(|warn| warn(text)));
        super::http::transport(url, &self.root_certificates, self.headers.clone(), warn)
    }

    /// Returns the era of an origin in the cache, unless the application has restricted the era.
    #[cfg(feature = "mcp-http")]
    pub(super) fn cached_era(&self, origin: &str) -> Option<super::Era> {
        self.used_cache()?.get(origin)
    }

    #[cfg(feature = "mcp-http")]
    pub(super) fn cache_era(&self, origin: String, era: super::Era) {
        if let Some(cache) = self.used_cache() {
            cache.insert(origin, era);
        }
    }

    #[cfg(feature = "mcp-http")]
    fn used_cache(&self) -> Option<&super::EraCache> {
        let (modern, legacy) = self.versions;
        self.era_cache.as_ref().filter(|_| !modern.is_empty() && !legacy.is_empty())
    }

    /// Returns the detection for a server whose era is known.
    #[cfg(feature = "mcp-http")]
    pub(super) const fn detection_of(era: super::Era) -> EraDetection {
        let (modern, legacy) = versions_of(era);
        EraDetection::with_versions(modern, legacy)
    }

    pub(super) const fn detection(&self) -> EraDetection {
        EraDetection::with_versions(self.versions.0, self.versions.1)
    }

    /// Returns the capabilities to send.
    pub(super) fn sent_capabilities(&self) -> Value {
        self.capabilities.clone().unwrap_or_else(|| {
            let with_handler = CAPABILITIES.iter().filter(|(method, _)| self.handlers.contains_key(*method));
            with_handler.map(|(_, capability)| (String::from(*capability), json!({}))).collect()
        })
    }

    /// Registers all handlers.
    pub(super) fn register_on(&self, peer: &Peer) {
        #[cfg(feature = "mcp-http")]
        if let Some(forward) = &self.forward {
            return forward_all(peer, forward);
        }
        for (name, handler) in &self.handlers {
            let handler = Arc::clone(handler);
            peer.server().add_method(name, Arc::new(move |params, _| HandlerOutcome::Pending(handler(params))));
        }
        let streamed = METHODS.iter().copied().filter(|name| !self.notifications.contains_key(*name));
        for name in streamed.chain(self.notifications.keys().map(String::as_str)) {
            let (method, handler) = (String::from(name), self.notifications.get(name).cloned());
            let hub = METHODS.contains(&name).then(|| Arc::clone(&self.hub));
            let handler = move |params: Option<&RawValue>, _| {
                hub.iter().for_each(|hub| hub.publish(&method, params));
                handler.as_ref().map_or(Ok(()), |handler| handler(params))
            };
            peer.server().add_notification(name, Arc::new(handler));
        }
    }
}

/// Passes all notifications of the server to a function.
#[cfg(feature = "mcp-http")]
fn forward_all(peer: &Peer, forward: &Arc<ForwardFn>) {
    let forward = Arc::clone(forward);
    let notification = move |params: Option<&RawValue>, context: crate::Context| {
        forward(&context.method(), params);
        Ok(())
    };
    peer.server().set_fallback(Fallback { method: None, notification: Arc::new(notification) });
}

/// Returns the versions of an era: those of the modern era, and those of the legacy era.
const fn versions_of(era: super::Era) -> (&'static [&'static str], &'static [&'static str]) {
    match era {
        super::Era::Legacy => (&[], LEGACY_VERSIONS),
        super::Era::Modern => (MODERN_VERSIONS, &[]),
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("client_info", &self.client_info).finish_non_exhaustive()
    }
}
