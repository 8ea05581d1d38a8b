//! Connections to one HTTP server. A connection carries one request at a time, and is used again after the response.

use core::pin::Pin;
use core::time::Duration;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::http::response::Parts;
use hyper::{HeaderMap, Request};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::rustls::ClientConfig;

use super::SCHEMES;
use crate::native::limits::{HTTP_CONNECT_TIMEOUT, HTTP_HEAD_BYTES};
use crate::native::server_url::ServerUrl;
use crate::native::tls;
use crate::native::transport::with_subject;

/// Maximum number of idle connections that are kept.
const MAX_IDLE: usize = 64;

type Sender = SendRequest<Full<Bytes>>;

pub(super) struct Pool {
    url: ServerUrl,
    tls: Option<Arc<ClientConfig>>,
    idle: Mutex<Vec<Sender>>,
}

/// A response whose body was not read yet.
pub(super) struct Reply {
    pub(super) head: Parts,
    body: Incoming,
    sender: Option<Sender>,
    pool: Arc<Pool>,
}

impl Pool {
    /// Creates a pool for the server of a URL. `root_certificates` are trusted in addition to those of the system.
    pub(super) fn new(url: &str, root_certificates: &[Vec<u8>]) -> io::Result<Self> {
        let url = ServerUrl::parse(url, SCHEMES)?;
        let tls = if url.is_secure { Some(tls::config(root_certificates)?) } else { None };
        Ok(Self { url, tls, idle: Mutex::default() })
    }

    /// Returns the value of the header `Host`.
    pub(super) fn authority(&self) -> &str {
        self.url.uri.authority().map_or("", |authority| authority.as_str())
    }

    /// Returns the path and the query of the URL.
    pub(super) fn path(&self) -> &str {
        self.url.uri.path_and_query().map_or("/", |path| path.as_str())
    }

    /// Sends a request. A request is sent again only if its first connection was closed before any byte was sent.
    ///
    /// # Errors
    /// If no connection can be opened, or if the response is not HTTP. The errors name the host and the port, but not
    /// the path, which may contain secrets.
    pub(super) async fn send(self: &Arc<Self>, mut request: Request<Full<Bytes>>) -> io::Result<Reply> {
        let failed = |error: &hyper::Error| {
            let problem =
                std::error::Error::source(error).map_or_else(|| error.to_string(), |why| format!("{error}: {why}"));
            self.name(&io::Error::other(problem))
        };
        loop {
            let (mut sender, is_new) = match self.take_idle().await {
                Some(sender) => (sender, false),
                None => (self.connect().await.map_err(|error| self.name(&error))?, true),
            };
            match sender.try_send_request(request).await {
                Ok(response) => {
                    let (head, body) = response.into_parts();
                    return Ok(Reply { head, body, sender: Some(sender), pool: Arc::clone(self) });
                }
                Err(mut error) => match error.take_message() {
                    Some(unsent) if !is_new => request = unsent,
                    _ => return Err(failed(&error.into_error())),
                },
            }
        }
    }

    async fn take_idle(&self) -> Option<Sender> {
        loop {
            let mut sender = self.idle().pop()?;
            if sender.ready().await.is_ok() {
                return Some(sender);
            }
        }
    }

    async fn connect(&self) -> io::Result<Sender> {
        let connected = timeout(HTTP_CONNECT_TIMEOUT, async {
            let stream = TcpStream::connect((&*self.url.host, self.url.port)).await?;
            stream.set_nodelay(true)?;
            match &self.tls {
                None => handshake(stream).await,
                // This future is large. The task of each open stream would contain it.
                Some(config) => {
                    let connected = tls::connect(Arc::clone(config), &self.url.host, stream);
                    Box::pin(async { handshake(connected.await?).await }).await
                }
            }
        });
        connected.await.unwrap_or_else(|_| {
            Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no connection after {}", seconds(HTTP_CONNECT_TIMEOUT)),
            ))
        })
    }

    /// Adds the host and the port to the text of an error.
    fn name(&self, error: &io::Error) -> io::Error {
        with_subject(error, self.url.name())
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Sender>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

async fn handshake(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> io::Result<Sender> {
    let mut builder = Builder::new();
    builder.max_header_size(HTTP_HEAD_BYTES);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    // The task ends when the sender and the last body are dropped. Its error also reaches the request.
    tokio::spawn(connection);
    Ok(sender)
}

impl Reply {
    /// Returns the value of a header, or `None` if it is missing or is not text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }

    /// Returns whether the header `Content-Type` has this media type.
    pub(super) fn is_of_type(&self, media_type: &str) -> bool {
        let value = self.header("content-type").unwrap_or_default();
        value.split(';').next().is_some_and(|value| value.trim().eq_ignore_ascii_case(media_type))
    }

    /// Drops the headers. Their values refer to the buffer of 8 KiB into which they were received.
    pub(super) fn release_headers(&mut self) {
        self.head.headers = HeaderMap::new();
    }

    /// Returns the next bytes of the body, or `None` at its end. At the end, the connection can be used again.
    pub(super) async fn chunk(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            match poll_fn(|context| Pin::new(&mut self.body).poll_frame(context)).await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => return Err(self.pool.name(&io::Error::other(error))),
                None => {
                    self.release();
                    return Ok(None);
                }
            }
        }
    }

    /// Makes the connection available to the next request, if the body has ended.
    pub(super) fn release(&mut self) {
        if self.body.is_end_stream()
            && let Some(sender) = self.sender.take()
        {
            let mut idle = self.pool.idle();
            if idle.len() < MAX_IDLE && !sender.is_closed() {
                idle.push(sender);
            }
        }
    }
}
