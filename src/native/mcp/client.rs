//! The client of MCP.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::process::Command;

use super::call::Call;
use super::handshake::{Handshake, Server, ServerLink};
use super::options::{InputHandler, Options};
use super::updates::Updates;
use super::{Era, Error};
#[cfg(feature = "mcp-http")]
use super::{EraDetection, Failure};
use crate::codec::json;
use crate::error::{CallError, Closed};
use crate::json_value::{Text, read_result, write_params};
use crate::native::limits::MAX_MCP_PAGES;
use crate::native::mcp_dialect;
use crate::native::transport::Transport;

/// Calls an MCP server.
///
/// All clones share one process. The process ends when the last clone is dropped, or by [`Client::close`], see
/// [`Transport::child`]. If the process ends by itself, pending calls fail at once, and no call is sent again. Connect
/// again to start another process.
#[derive(Clone, Debug)]
pub struct Client(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    link: ServerLink,
    server: Server,
    options: Arc<Options>,
}

impl Client {
    /// Starts the process of a server, and connects to it over its standard streams. First sends `server/discover`, to
    /// detect the era of the server. If the process exits then, as some servers of the legacy era do, starts it once
    /// more, and sends `initialize`.
    ///
    /// # Errors
    /// If the process cannot be started or exits, or if the client cannot use the server.
    pub async fn connect(command: impl Into<Command>, options: Options) -> Result<Self, Error> {
        let options = Arc::new(options);
        Self::shake_hands(Handshake::start(command.into(), Arc::clone(&options))?, options).await
    }

    /// Connects to a server over a transport, for example a socket with the framing
    /// [`Framing::Newline`](crate::Framing::Newline).
    ///
    /// # Errors
    /// If the link ends, or if the client cannot use the server.
    pub async fn connect_over(transport: Transport, options: Options) -> Result<Self, Error> {
        let options = Arc::new(options);
        Self::shake_hands(Handshake::over(transport, Arc::clone(&options)), options).await
    }

    /// Connects to a server over Streamable HTTP. `url` is `http://HOST:PORT/PATH` or `https://HOST:PORT/PATH`.
    /// Redirections are not followed. Compressed responses are refused.
    ///
    /// In the legacy era, the session of the server is kept, and is ended by [`Client::close`]. If the server has lost
    /// the session, the client begins one new session, and sends the request once more. The server has not handled such
    /// a request. No other request is sent again.
    ///
    /// # Errors
    /// [`Error::Start`] if the URL is invalid, [`Error::Http`] if the server cannot be reached or has denied the
    /// request, and [`Error::Negotiation`] if the client cannot use the server.
    #[cfg(feature = "mcp-http")]
    pub async fn connect_http(url: &str, options: Options) -> Result<Self, Error> {
        let options = Arc::new(options);
        let origin = super::http::origin(url).map_err(Error::Start)?;
        if let Some(era) = options.cached_era(&origin) {
            match Self::over_http(url, &options, Options::detection_of(era)).await {
                // Another server may have this origin now.
                Err(Error::Negotiation { failure: Failure::NoCommonVersion | Failure::InitializeRefused, .. }) => {}
                outcome => return outcome,
            }
        }
        let client = Self::over_http(url, &options, options.detection()).await?;
        options.cache_era(origin, client.era());
        Ok(client)
    }

    #[cfg(feature = "mcp-http")]
    async fn over_http(url: &str, options: &Arc<Options>, detection: EraDetection) -> Result<Self, Error> {
        let transport = options.http_transport(url).map_err(Error::Start)?;
        let (link, server) = Handshake::over(transport, Arc::clone(options)).run(detection).await?;
        Ok(Self(Arc::new(Shared { link, server, options: Arc::clone(options) })))
    }

    async fn shake_hands(handshake: Handshake, options: Arc<Options>) -> Result<Self, Error> {
        let (link, server) = handshake.run(options.detection()).await?;
        Ok(Self(Arc::new(Shared { link, server, options })))
    }

    /// Returns the era of the server. It does not change.
    #[must_use]
    pub fn era(&self) -> Era {
        self.0.server.era
    }

    /// Returns the version of MCP.
    #[must_use]
    pub fn protocol_version(&self) -> &'static str {
        self.0.server.version
    }

    /// Returns the result of `initialize` or of `server/discover`, with the capabilities of the server. Returns `None`
    /// if a server of the modern era has answered `server/discover` with an error.
    #[must_use]
    pub fn server(&self) -> Option<&RawValue> {
        self.0.server.result.as_deref()
    }

    /// Calls a method of the server. `params` must serialize to an object; `()` means no params. `R` is the type of the
    /// result.
    ///
    /// In the modern era, the client adds its version, name and capabilities to `params._meta`. If the server needs
    /// input to complete the request, the client runs the handlers of [`Options::method`], and sends the request again
    /// with their results.
    pub fn call<R: DeserializeOwned>(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Call<R> {
        Call::new(self.clone(), method, write_params(params).map_err(CallError::Params))
    }

    /// Calls a method, and returns the notifications that arrive before the response, and the result, as a stream. The
    /// notifications are the progress of the call, log messages, and changes of lists and resources.
    ///
    /// A log message does not name its request, so each open stream returns it. A notification of a subscription is
    /// only in the stream of its `subscriptions/listen`. In the modern era, a server sends log messages only if
    /// `params` names a level, in the member `io.modelcontextprotocol/logLevel` of `_meta`.
    ///
    /// The handlers of [`Options::on_notify`] receive the notifications, too.
    pub fn stream<R: DeserializeOwned>(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Updates<R> {
        Updates::new(self.call(method, params), &self.0.options.hub)
    }

    /// Returns the items of a list with pages. `method` is the method of the list, such as `resources/templates/list`,
    /// and `member` is the member of the result that contains the items, such as `resourceTemplates`.
    ///
    /// # Errors
    /// [`Error::TooManyPages`] if the list has more than 16 pages, and the errors of a call.
    pub async fn list<T: DeserializeOwned>(&self, method: &str, member: &str) -> Result<Vec<T>, Error> {
        let mut items = Vec::new();
        let mut params = BTreeMap::<&str, Text>::new();
        for _ in 0..MAX_MCP_PAGES {
            let page: Text = self.call(method, &Some(&params).filter(|params| !params.is_empty())).await?;
            let [list, cursor] = json::members(page.get().as_bytes(), [member, "nextCursor"]).unwrap_or_default();
            let list = list.ok_or_else(|| {
                CallError::Deserialize(format!("the result of {method} must have the member {member}, got none"))
            })?;
            items.extend(read_result::<Vec<T>>(list).map_err(CallError::Deserialize)?);
            // Each string is a cursor, even the empty string.
            match cursor.filter(|cursor| cursor.get() != "null") {
                Some(cursor) => params.insert("cursor", cursor.to_owned()),
                None => return Ok(items),
            };
        }
        Err(Error::TooManyPages)
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// The errors of [`Client::notify`](crate::Client::notify).
    pub fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        Ok(self.link().notify(method, params)?)
    }

    /// Waits until the link to the server has ended, and returns the reason.
    pub async fn closed(&self) -> Closed {
        self.link().closed().await
    }

    /// Closes the client, for all of its clones. Waits until the process has exited, and returns the reason why the
    /// link has ended: [`Closed::Local`] if the process was still running.
    pub async fn close(&self) -> Closed {
        self.link().destroy();
        self.closed().await
    }

    pub(super) fn link(&self) -> &crate::Client {
        &self.0.link.client
    }

    pub(super) fn timeout(&self) -> Option<Duration> {
        self.0.options.timeout
    }

    pub(super) fn handler(&self, method: &str) -> Option<&InputHandler> {
        self.0.options.handlers.get(method).map(|handler| &**handler)
    }

    /// Returns the params of a request. In the modern era, they have the `_meta` of the client.
    pub(super) fn request_params(&self, params: Option<&RawValue>) -> Result<Option<Text>, Error> {
        match &self.0.server.meta {
            None => Ok(params.map(ToOwned::to_owned)),
            Some(meta) => Ok(Some(mcp_dialect::with_meta(params, meta).map_err(CallError::Params)?)),
        }
    }
}
