//! The start of a connection: starts the process, detects the protocol era ([`Era`]), and sends `initialize` to a
//! server of the legacy era.

use core::pin::{Pin, pin};
use core::task::Poll;
use core::time::Duration;
use std::future::{Future, IntoFuture, pending, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde_json::json;
use serde_json::value::to_raw_value;
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::timeout;

use super::{Era, EraDetection, Error, Options, Reply, State, member};
use crate::error::CallError;
use crate::json_value::Text;
use crate::native::diagnostic::{Diagnostic, DiagnosticSink};
use crate::native::peer::Peer;
use crate::native::process::{Process, RunningProcess};
use crate::native::transport::Transport;
use crate::profile::Profile;
use crate::{Client, Framing};

/// The link to a server. Its drop closes the link, and ends the process.
#[derive(Debug)]
pub(super) struct ServerLink {
    pub(super) client: Client,
    /// `None` if the application supplies the transport.
    pub(super) process: Option<RunningProcess>,
}

impl Drop for ServerLink {
    fn drop(&mut self) {
        self.client.destroy();
    }
}

/// A server that the client can use.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) era: Era,
    pub(super) version: &'static str,
    /// The result of `initialize` or of `server/discover`.
    pub(super) result: Option<Text>,
    /// The object `_meta` in each request. `None` in the legacy era.
    pub(super) meta: Option<Text>,
}

/// The code of the latest error with the id null. Such an error may be the response to a request of the handshake.
type NullIdErrorSender = Arc<watch::Sender<Option<i64>>>;

/// A pending call of `server/discover`.
type PendingDiscover = Pin<Box<dyn Future<Output = Result<Text, CallError>> + Send>>;

/// A response of the server to a request of the handshake.
enum Response {
    Result(Text),
    /// The result of `server/discover`, which arrived while `initialize` was pending.
    LateDiscover(Text),
    Error {
        code: i64,
        supported: Option<Vec<String>>,
    },
    /// An HTTP status, without a JSON-RPC error response in the body.
    Status(u16),
    /// The response is not usable, or there is none.
    Unusable,
}

pub(super) struct Handshake {
    link: ServerLink,
    options: Arc<Options>,
    null_id_error: NullIdErrorSender,
    /// Whether the process is started once more if it exits.
    may_restart: Arc<AtomicBool>,
    /// The call of `server/discover`, if it has timed out.
    late_discover: Option<PendingDiscover>,
}

impl Handshake {
    /// Starts the process of the server.
    pub(super) fn start(command: Command, options: Arc<Options>) -> Result<Self, Error> {
        let (null_id_error, may_restart) = (NullIdErrorSender::default(), Arc::new(AtomicBool::new(true)));
        let (transport_options, sender) = (Arc::clone(&options), Arc::clone(&null_id_error));
        let restarts = Arc::clone(&may_restart);
        let mut process = Process::from_command(command, Framing::Newline)
            .with(move |transport| configure(transport, &transport_options, &sender))
            .on_exit(move |_, _| restarts.swap(false, Ordering::AcqRel).then_some(Duration::ZERO));
        if options.on_stderr.is_some() {
            let options = Arc::clone(&options);
            process = process.on_stderr(move |line| options.on_stderr.iter().for_each(|callback| callback(line)));
        }
        let handler_options = Arc::clone(&options);
        let process = process.start(move |peer| handler_options.register_on(peer)).map_err(Error::Start)?;
        let link = ServerLink { client: process.client(), process: Some(process) };
        Ok(Self { link, options, null_id_error, may_restart, late_discover: None })
    }

    /// Uses a transport that the application supplies.
    pub(super) fn over(transport: Transport, options: Arc<Options>) -> Self {
        let (null_id_error, may_restart) = (NullIdErrorSender::default(), Arc::new(AtomicBool::new(false)));
        let peer = Peer::new(configure(transport, &options, &null_id_error));
        options.register_on(&peer);
        let link = ServerLink { client: peer.client().clone(), process: None };
        peer.forget();
        Self { link, options, null_id_error, may_restart, late_discover: None }
    }

    pub(super) async fn run(mut self, mut detection: EraDetection) -> Result<(ServerLink, Server), Error> {
        let mut result = None;
        let mut supported = Vec::new();
        loop {
            match detection.state() {
                State::Discover(version) => {
                    let params = json!({ "_meta": self.meta(version)? });
                    let versions = match self.discover(&params).await? {
                        Response::Result(discovered) | Response::LateDiscover(discovered) => {
                            let versions: Option<Vec<String>> = member(&discovered, "supportedVersions");
                            let version_strs = versions.as_deref().map(as_strs);
                            detection.handle(version_strs.as_deref().map_or(Reply::Unusable, Reply::Discovered));
                            result = Some(discovered);
                            versions
                        }
                        Response::Error { code, supported } => {
                            let version_strs = supported.as_deref().map(as_strs);
                            detection.handle(Reply::Error { code, supported: version_strs.as_deref() });
                            supported
                        }
                        Response::Status(status) => {
                            detection.handle(Reply::Status(status));
                            None
                        }
                        Response::Unusable => {
                            detection.handle(Reply::Unusable);
                            None
                        }
                    };
                    supported = versions.unwrap_or_default();
                }
                State::Initialize(version) => {
                    let params = json!({
                        "protocolVersion": version,
                        "capabilities": self.options.sent_capabilities(),
                        "clientInfo": self.options.client_info,
                    });
                    match self.initialize(&params).await? {
                        Response::Result(initialized) => {
                            supported = member(&initialized, "protocolVersion").into_iter().collect();
                            result = Some(initialized);
                            let version = supported.first();
                            detection.handle(version.map_or(Reply::Unusable, |version| Reply::Initialized(version)));
                        }
                        Response::LateDiscover(discovered) => {
                            supported = member(&discovered, "supportedVersions").unwrap_or_default();
                            result = Some(discovered);
                            detection.handle(Reply::Discovered(&as_strs(&supported)));
                        }
                        Response::Error { .. } | Response::Status(_) | Response::Unusable => {
                            detection.handle(Reply::Unusable);
                        }
                    }
                }
                State::Settled(era, version) => {
                    let meta = match era {
                        Era::Legacy => None,
                        Era::Modern => Some(self.meta(version)?),
                    };
                    if era == Era::Legacy {
                        self.link.client.notify("notifications/initialized", &())?;
                    }
                    return Ok((self.link, Server { era, version, result, meta }));
                }
                State::Failed(failure) => return Err(Error::Negotiation { failure, supported }),
            }
        }
    }

    /// Returns the object `_meta` in the requests of the modern era.
    fn meta(&self, version: &str) -> Result<Text, Error> {
        let members = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": self.options.client_info,
            "io.modelcontextprotocol/clientCapabilities": self.options.sent_capabilities(),
        });
        Ok(to_raw_value(&members).map_err(|error| CallError::Params(error.to_string()))?)
    }

    /// Sends `server/discover`, and waits for the response. The call remains pending after the timeout.
    async fn discover(&mut self, params: &impl Serialize) -> Result<Response, Error> {
        let call = self.link.client.call::<Text>("server/discover", params).timeout(None).total_timeout(None);
        let mut call: PendingDiscover = Box::pin(call.into_future());
        match timeout(self.options.discover_timeout, self.response_to(call.as_mut(), false)).await {
            Ok(response) => response,
            Err(_) => {
                self.late_discover = Some(call);
                Ok(Response::Unusable)
            }
        }
    }

    /// Sends `initialize`, and waits for the response. If `server/discover` has timed out, its result may arrive, too.
    /// If the server refuses `initialize`, waits once more for this result.
    async fn initialize(&mut self, params: &impl Serialize) -> Result<Response, Error> {
        let call = self.link.client.call::<Text>("initialize", params).timeout(self.options.initialize_timeout);
        let mut late = self.late_discover.take();
        let is_discover_pending = late.is_some();
        let response = self.response_to(call.into_future(), is_discover_pending);
        let response = first(response, discovered(&mut late)).await?;
        if late.is_none() || matches!(response, Response::Result(_) | Response::LateDiscover(_)) {
            return Ok(response);
        }
        timeout(self.options.discover_timeout, discovered(&mut late)).await.unwrap_or(Ok(response))
    }

    /// Waits for the response to a call. An error with the id null counts as the response, because no other request is
    /// pending. If `server/discover` is pending, the first such error counts as its response. If the process exits and
    /// is started again, returns `Response::Unusable`.
    async fn response_to(
        &mut self,
        call: impl Future<Output = Result<Text, CallError>>,
        is_discover_pending: bool,
    ) -> Result<Response, Error> {
        self.null_id_error.send_replace(None);
        let mut null_id_error = self.null_id_error.subscribe();
        let sender = Arc::clone(&self.null_id_error);
        let error = async {
            if is_discover_pending && null_id_error.wait_for(Option::is_some).await.is_ok() {
                sender.send_replace(None);
            }
            match null_id_error.wait_for(Option::is_some).await.map(|code| *code) {
                Ok(Some(code)) => Ok(Response::Error { code, supported: None }),
                // Unreachable, because `self` keeps the sender.
                _ => Ok(Response::Unusable),
            }
        };
        let response = first(async { call.await.map(Response::Result) }, error).await;
        let has_ended = matches!(response, Err(CallError::PeerGone | CallError::Lost(_)));
        match response {
            Ok(response) => {
                self.may_restart.store(false, Ordering::Release);
                Ok(response)
            }
            Err(error @ CallError::Remote(_)) if matches!(Error::from(error.clone()), Error::Http { .. }) => {
                match Error::from(error) {
                    // The statuses 401 and 403 do not show the era, because the server has not handled the request.
                    Error::Http { status: Some(status), .. } if status != 401 && status != 403 => {
                        Ok(Response::Status(status))
                    }
                    failure => Err(failure),
                }
            }
            Err(CallError::Remote(error)) => {
                self.may_restart.store(false, Ordering::Release);
                let data = error.raw_data();
                let supported = data.and_then(|data| member(&data, "supported"));
                Ok(Response::Error { code: error.code.value(), supported })
            }
            Err(error) if has_ended => {
                let Some(process) = &self.link.process else { return Err(error.into()) };
                match process.ready().await {
                    Ok(client) => {
                        self.link.client = client;
                        Ok(Response::Unusable)
                    }
                    Err(_) => Err(error.into()),
                }
            }
            Err(
                CallError::TimedOut
                | CallError::HandlerPanicked
                | CallError::PeerDied
                | CallError::InvalidResponse
                | CallError::Unreadable(_)
                | CallError::Deserialize(_),
            ) => Ok(Response::Unusable),
            Err(error) => Err(error.into()),
        }
    }
}

/// Sets the profile of a transport, and reports the errors with the id null.
fn configure(transport: Transport, options: &Options, null_id_error: &NullIdErrorSender) -> Transport {
    let null_id_error = Arc::clone(null_id_error);
    (options.configure_transport)(transport).with_profile(Profile::MCP).with_settings(|settings| {
        let diagnostics = settings.diagnostics.clone();
        settings.diagnostics = DiagnosticSink::new(move |diagnostic| {
            if let Diagnostic::PeerError { code, .. } = &diagnostic {
                null_id_error.send_replace(Some(code.value()));
            }
            diagnostics.report(diagnostic);
        });
    })
}

fn as_strs(versions: &[String]) -> Vec<&str> {
    versions.iter().map(String::as_str).collect()
}

/// Waits for a result of `server/discover` with a list of versions. After any other outcome, waits for ever. Removes
/// the call when it has ended.
async fn discovered(call: &mut Option<PendingDiscover>) -> Result<Response, Error> {
    let Some(pending_call) = call else { return pending().await };
    let outcome = pending_call.await;
    *call = None;
    match outcome {
        Ok(result) if member::<Vec<String>>(&result, "supportedVersions").is_some() => {
            Ok(Response::LateDiscover(result))
        }
        _ => pending().await,
    }
}

/// Returns the output of the future that completes first.
pub(super) async fn first<T>(one: impl Future<Output = T>, other: impl Future<Output = T>) -> T {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|context| match one.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(output),
        Poll::Pending => other.as_mut().poll(context),
    })
    .await
}
