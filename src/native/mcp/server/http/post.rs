//! The messages of clients. Each message is a POST.

use core::error::Error;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use std::future::poll_fn;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use hyper::body::Body;
use hyper::header::{CONTENT_LENGTH, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Response, StatusCode};
use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_rustls::rustls::crypto::ring;

use super::super::Shared;
use super::super::context::{Caller, Exchange, Outlet};
use super::super::envelope::{self, Envelope};
use super::super::errors;
use super::super::legacy_client::LegacyClient;
use super::super::state::hexadecimal;
use super::body::{Events, HttpBody};
use super::checks::{self, Refusal, SESSION_ID, VERSION, single};
use super::events::{EventQueue, First};
use super::program::call_program;
use super::request::{self, ResponseOutlet, Running};
use super::session::{Session, SessionServer};
use super::{Backend, HttpService, empty_response, events_response, text_response};
use crate::ErrorCode;
use crate::codec::json;
use crate::error::{CallError, RpcError};
use crate::json_value::Text;
use crate::message::{
    ErrorObject, Fault, Id, Incoming, Message, Notification, ObjectPayload, Reason, Rejected, Request, Unusable,
};
use crate::native::mcp::{LEGACY_VERSIONS, MODERN_VERSIONS, member};
use crate::profile::Profile;

impl HttpService {
    pub(super) async fn post<B>(&self, head: Parts, body: B) -> Result<Response<HttpBody>, Refusal>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        checks::check_content(&head.headers)?;
        let body = self.read(&head.headers, body).await?;
        match json::decode(&body, &Profile::MCP, &self.limits) {
            Incoming::Single(Ok(Message::Request(request))) => self.request(head, request).await,
            Incoming::Single(Ok(Message::Notification(notification))) => {
                self.notification(&head.headers, &notification)
            }
            Incoming::Single(Ok(Message::Response(response))) => {
                let (_, session) = self.session(&head.headers)?;
                session.resolve(response);
                Ok(empty_response(StatusCode::ACCEPTED))
            }
            Incoming::Single(Err(Unusable::Reject(Rejected { id, fault }))) => Ok(fault_response(&id, fault)),
            Incoming::Single(Err(_)) => Ok(fault_response(&Id::Null, Fault::InvalidRequest)),
            Incoming::Batch(_) => Ok(fault_response(&Id::Null, Fault::Refused(Reason::BatchNotSupported))),
        }
    }

    /// Reads a body.
    async fn read<B>(&self, headers: &HeaderMap, body: B) -> Result<Bytes, Refusal>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let max_bytes = self.limits.message_bytes;
        let too_long = || (StatusCode::PAYLOAD_TOO_LARGE, format!("a body must have at most {max_bytes} bytes"));
        let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if announced.is_some_and(|length| length > max_bytes as u64) {
            return Err(too_long());
        }
        let read = async {
            let mut body = pin!(body);
            let mut bytes = BytesMut::new();
            while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
                let frame = frame.map_err(|_| (StatusCode::BAD_REQUEST, "the body is incomplete".to_owned()))?;
                let Ok(data) = frame.into_data() else { continue };
                if bytes.len() + data.len() > max_bytes {
                    return Err(too_long());
                }
                bytes.extend_from_slice(&data);
            }
            Ok(bytes.freeze())
        };
        let time = Duration::from_millis(self.limits.partial_frame_ms);
        let late = |_| (StatusCode::REQUEST_TIMEOUT, "the body was not received in time".to_owned());
        timeout(time, read).await.map_err(late)?
    }

    async fn request(&self, head: Parts, request: Request<Text>) -> Result<Response<HttpBody>, Refusal> {
        if request.id == Id::Null {
            return Ok(fault_response(&Id::Null, Fault::InvalidRequest));
        }
        let Ok(permit) = Arc::clone(&self.state.running).try_acquire_owned() else {
            let error = RpcError::from(ErrorObject::from(Fault::Refused(Reason::TooManyRequests)));
            return Ok(error_response(StatusCode::SERVICE_UNAVAILABLE, &request.id, error));
        };
        if is_modern(&head.headers, &request.method, request.params.as_deref()) {
            return Ok(self.modern(head, request, permit).await);
        }
        if &*request.method == "initialize" {
            return Ok(match &self.state.backend {
                Backend::Registry(shared) => self.initialize(shared, &request),
                Backend::Program(program) => self.initialize_program(program, request).await,
            });
        }
        let (_, session) = self.session(&head.headers)?;
        check_legacy_version(&head.headers)?;
        let events = match session.server() {
            SessionServer::Registry { shared, client } => {
                let (shared, caller) = (Arc::clone(shared), Caller::Legacy(Arc::clone(client)));
                session.start(request, permit, move |Request { id, method, params }, outlet| {
                    let mut exchange = Exchange::new(id, params, caller, outlet);
                    exchange.identity = Some(Arc::new(head.extensions));
                    Running::start(&shared, &method, exchange)
                })
            }
            SessionServer::Program(client) => {
                let client = client.clone();
                session.start(request, permit, move |Request { id, method, params }, _| {
                    Running::new(id, Box::pin(async move { call_program(&client, &method, params).await }))
                })
            }
        };
        match poll_fn(|context| events.poll_first(context)).await {
            First::Response(Some(response)) => Ok(json_response(StatusCode::OK, response)),
            // A request that was cancelled is not answered.
            First::Response(None) => Ok(empty_response(StatusCode::ACCEPTED)),
            First::Stream => {
                let number = session.add_stream(&events);
                let (reader, after) = events.attach(None).unwrap_or_default();
                let events = Events::new(events, reader).with_ids(number, after, session.has_start());
                Ok(events_response(events))
            }
        }
    }

    /// Begins a session.
    fn initialize(&self, shared: &Arc<Shared>, request: &Request<Text>) -> Response<HttpBody> {
        let client = Arc::new(LegacyClient::default());
        match shared.initialize(request.params.as_deref(), &client) {
            Ok((version, result)) => {
                let session = Arc::new(Session::new(shared, client, version));
                self.begin_session(&session, &request.id, result).0
            }
            Err(error) => error_response(StatusCode::BAD_REQUEST, &request.id, error),
        }
    }

    /// Adds a session. Returns the response to `initialize`, and the id of the session.
    pub(super) fn begin_session(
        &self,
        session: &Arc<Session>,
        request: &Id,
        result: Text,
    ) -> (Response<HttpBody>, Option<String>) {
        let id = match new_session_id() {
            Ok(id) => id,
            Err(error) => return (error_response(StatusCode::INTERNAL_SERVER_ERROR, request, error), None),
        };
        let header = HeaderValue::from_str(&id);
        self.state.sessions.insert(id.clone(), Arc::clone(session));
        let text = request::Response::new(request, Ok(result)).text;
        let mut response = json_response(StatusCode::OK, text.into());
        if let Ok(header) = header {
            response.headers_mut().insert(&SESSION_ID, header);
        }
        (response, Some(id))
    }

    /// Handles a request of the modern era. The handler runs in the response, so that the end of the connection cancels
    /// it.
    async fn modern(&self, head: Parts, request: Request<Text>, permit: OwnedSemaphorePermit) -> Response<HttpBody> {
        let queue = Arc::new(EventQueue::new(false));
        let outlet = Arc::new(ResponseOutlet(Arc::clone(&queue)));
        let id = request.id.clone();
        let started = match &self.state.backend {
            Backend::Registry(shared) => start_modern(shared, head, request, outlet),
            Backend::Program(program) => {
                let Request { method, params, .. } = &request;
                // Only the program knows the headers of its tools.
                let checked = checks::check_modern(&head.headers, method, params.as_deref(), |_| None);
                checked.map(|()| Running::new(id.clone(), Box::pin(Arc::clone(program).call_modern(request, outlet))))
            }
        };
        let mut running = match started {
            Ok(running) => running,
            Err(error) => return error_response(errors::http_status(&error), &id, error),
        };
        let first = poll_fn(|context| {
            if let Poll::Ready(response) = running.poll(context) {
                return Poll::Ready(Some(response));
            }
            match queue.poll_first(context) {
                Poll::Ready(_) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        });
        match first.await {
            // The handler may have sent messages in its last run.
            Some(response) if queue.bytes() == 0 => {
                let status = response.error.as_ref().map_or(StatusCode::OK, errors::http_status);
                json_response(status, response.text.into())
            }
            first => {
                let (reader, _) = queue.attach(None).unwrap_or_default();
                let events = Events::new(Arc::clone(&queue), reader);
                events_response(match first {
                    Some(response) => {
                        queue.finish(Some(response.text));
                        events
                    }
                    None => events.with_handler(running, permit),
                })
            }
        }
    }

    fn notification(
        &self,
        headers: &HeaderMap,
        notification: &Notification<Text>,
    ) -> Result<Response<HttpBody>, Refusal> {
        if is_modern(headers, &notification.method, notification.params.as_deref()) {
            let version = single(headers, &VERSION).ok().flatten().unwrap_or_default();
            if !MODERN_VERSIONS.contains(&version) {
                let error = errors::unsupported_version(version);
                return Ok(error_response(StatusCode::BAD_REQUEST, &Id::Null, error));
            }
            // A client of the modern era cancels a request by the end of its connection.
            return Ok(empty_response(StatusCode::ACCEPTED));
        }
        let (_, session) = self.session(headers)?;
        check_legacy_version(headers)?;
        let Notification { method, params } = notification;
        if &**method == "notifications/cancelled" {
            let id: Option<Text> = params.as_ref().and_then(|params| member(params, "requestId"));
            if let Some(id) = id.and_then(|id| Text::read_id(&id)) {
                session.cancel(&id);
            }
        } else if let SessionServer::Program(client) = session.server()
            && client.link().notify(method, params.as_deref()) == Err(CallError::Congested)
        {
            return Err((StatusCode::SERVICE_UNAVAILABLE, "the process of the server does not read".to_owned()));
        }
        Ok(empty_response(StatusCode::ACCEPTED))
    }
}

/// Starts a request of the modern era at a registry.
fn start_modern(
    shared: &Arc<Shared>,
    head: Parts,
    request: Request<Text>,
    outlet: Arc<dyn Outlet>,
) -> Result<Running, RpcError> {
    let Request { id, method, params } = request;
    let envelope = check_modern(shared, &head.headers, &method, params.as_deref())?;
    let mut exchange = Exchange::new(id, params, Caller::Modern(envelope), outlet);
    exchange.identity = Some(Arc::new(head.extensions));
    Ok(Running::start(shared, &method, exchange))
}

fn check_modern(
    shared: &Shared,
    headers: &HeaderMap,
    method: &str,
    params: Option<&RawValue>,
) -> Result<Envelope, RpcError> {
    let envelope = Envelope::read(params);
    let unsupported = matches!(&envelope, Err(error) if error.code == ErrorCode::INVALID_PARAMS);
    if unsupported {
        return envelope;
    }
    // A client whose header and body name different versions learns that first.
    checks::check_modern(headers, method, params, |tool| shared.registry().param_headers.get(tool).cloned())?;
    envelope
}

/// Returns whether a message belongs to the modern era: its header or its body names a version without `initialize`.
fn is_modern(headers: &HeaderMap, method: &str, params: Option<&RawValue>) -> bool {
    if envelope::is_modern(method, params) {
        return true;
    }
    let version = single(headers, &VERSION).ok().flatten();
    let is_other = version.is_some_and(|version| !LEGACY_VERSIONS.contains(&version));
    is_other && !headers.contains_key(&SESSION_ID) && method != "initialize"
}

/// Checks the version of a message of a session. Clients of 2025-03-26 send no version.
fn check_legacy_version(headers: &HeaderMap) -> Result<(), Refusal> {
    match single(headers, &VERSION) {
        Ok(version) if version.is_none_or(|version| LEGACY_VERSIONS.contains(&version)) => Ok(()),
        _ => Err((
            StatusCode::BAD_REQUEST,
            format!("MCP-Protocol-Version must be one of {}", LEGACY_VERSIONS.join(", ")),
        )),
    }
}

/// Returns an id that cannot be guessed.
fn new_session_id() -> Result<String, RpcError> {
    let mut bytes = [0; 16];
    let random = ring::default_provider().secure_random;
    random.fill(&mut bytes).map_err(|_| RpcError::internal("there are no random numbers"))?;
    Ok(hexadecimal(&bytes))
}

fn json_response(status: StatusCode, text: Bytes) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::text(text));
    *response.status_mut() = status;
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(super) fn error_response(status: StatusCode, id: &Id, error: RpcError) -> Response<HttpBody> {
    text_response(status, "application/json", request::Response::new(id, Err(error)).text)
}

fn fault_response(id: &Id, fault: Fault) -> Response<HttpBody> {
    error_response(StatusCode::BAD_REQUEST, id, RpcError::from(ErrorObject::from(fault)))
}
