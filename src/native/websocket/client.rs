//! The handshake of a client (RFC 6455 §4.1).

use core::fmt;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::rustls::ClientConfig;
use tungstenite::client::IntoClientRequest;
use tungstenite::handshake::client::{Request, Response, generate_request};
use tungstenite::handshake::derive_accept_key;
use tungstenite::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use tungstenite::protocol::Role;

use super::head::{self, HeadError, list, single};
use super::socket::WebSocket;
use super::tcp_progress::TcpProgress;
use crate::native::limits::WEBSOCKET_CONNECT_TIMEOUT;
use crate::native::server_url::ServerUrl;
use crate::native::tap::TapTransport;
use crate::native::tls;
use crate::native::transport::{Transport, TransportIo, with_subject};

/// Options for a WebSocket of a client. [`Transport::websocket`] uses the defaults.
///
/// The limits, the profile and the diagnostics are options of the transport, see [`Transport::with_limits`].
///
/// ```no_run
/// use portway::{Client, WebSocketOptions};
///
/// # async fn run() -> std::io::Result<()> {
/// let options = WebSocketOptions::new().header("Authorization", "Bearer correct horse").subprotocol("jsonrpc-2.0");
/// let client = Client::new(options.connect("wss://rpc.example.org/").await?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "options do nothing until they connect"]
pub struct WebSocketOptions {
    headers: Vec<(String, String)>,
    subprotocols: Vec<String>,
    root_certificates: Vec<Vec<u8>>,
    tls_config: Option<Arc<ClientConfig>>,
    connect_timeout: Duration,
}

impl Default for WebSocketOptions {
    fn default() -> Self {
        Self {
            headers: Vec::new(),
            subprotocols: Vec::new(),
            root_certificates: Vec::new(),
            tls_config: None,
            connect_timeout: WEBSOCKET_CONNECT_TIMEOUT,
        }
    }
}

impl WebSocketOptions {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a header to the request, for example `Authorization`, `Cookie` or `Origin`. Errors do not contain the value
    /// of the header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Offers a subprotocol. If the server chooses a subprotocol that was not offered, the connection fails. If the
    /// server chooses no subprotocol, the connection succeeds.
    pub fn subprotocol(mut self, name: impl Into<String>) -> Self {
        self.subprotocols.push(name.into());
        self
    }

    /// Trusts these certificates for `wss://`, in addition to the certificates of the system. `pem` is one or several
    /// certificates in PEM.
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificates.push(pem.into());
        self
    }

    /// Sets the TLS configuration for `wss://`. This configuration replaces the certificates of
    /// [`Self::root_certificates`]. Default: the certificates of the system, and no client certificate.
    pub fn tls_config(self, config: Arc<ClientConfig>) -> Self {
        Self { tls_config: Some(config), ..self }
    }

    /// Sets the maximum time for the connection, TLS and the handshake together. Default: 10 seconds.
    pub fn connect_timeout(self, timeout: Duration) -> Self {
        Self { connect_timeout: timeout, ..self }
    }

    /// Connects to a URL: `ws://host:port/path?query`, or `wss://` with TLS.
    ///
    /// # Errors
    /// If the URL or a header is invalid, if the server does not answer in time, or if the server refuses the request.
    /// The error names the host and the port, but not the path, the query or the headers, which may contain secrets.
    pub async fn connect(&self, url: &str) -> io::Result<Transport> {
        let url = ServerUrl::parse(url, ["ws", "wss"])?;
        let name = url.name();
        let ServerUrl { uri, host, port, is_secure } = url;
        let request = self.request(uri)?;
        let connected = timeout(self.connect_timeout, async {
            let stream = TcpStream::connect((&*host, port)).await?;
            stream.set_nodelay(true)?;
            let progress = TcpProgress::new(stream.local_addr()?, stream.peer_addr()?);
            if !is_secure {
                return self.upgrade(stream, progress, request).await;
            }
            let config = match &self.tls_config {
                Some(config) => Arc::clone(config),
                None => tls::config(&self.root_certificates)?,
            };
            self.upgrade(tls::connect(config, &host, stream).await?, progress, request).await
        });
        match connected.await {
            Ok(transport) => transport.map_err(|error| with_subject(&error, name)),
            Err(_) => {
                let limit_ms = self.connect_timeout.as_millis();
                let problem = format!("{name}: the WebSocket did not open within {limit_ms} ms");
                Err(io::Error::new(io::ErrorKind::TimedOut, problem))
            }
        }
    }

    fn request(&self, uri: Uri) -> io::Result<Request> {
        let invalid = |problem: String| io::Error::new(io::ErrorKind::InvalidInput, problem);
        let mut request = uri.into_client_request().map_err(|_| invalid("the URL must have a host".into()))?;
        let headers = request.headers_mut();
        for (name, value) in &self.headers {
            let header = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| invalid(format!("the name of a header must be a token, got {name:?}")))?;
            let is_own = ["connection", "upgrade", "sec-websocket-protocol"].contains(&header.as_str())
                || (headers.contains_key(&header) && header != "host" && header.as_str().starts_with("sec-"));
            if is_own {
                let problem = format!("the handshake sets the header {name}; set subprotocols with `subprotocol`");
                return Err(invalid(problem));
            }
            let value = HeaderValue::from_str(value)
                .map_err(|_| invalid(format!("the value of the header {name} must be printable ASCII")))?;
            if header == "host" {
                headers.insert(header, value);
            } else {
                headers.append(header, value);
            }
        }
        if !self.subprotocols.is_empty() {
            let value = HeaderValue::from_str(&self.subprotocols.join(", "))
                .map_err(|_| invalid("a subprotocol must be a token".into()))?;
            headers.insert("Sec-WebSocket-Protocol", value);
        }
        Ok(request)
    }

    async fn upgrade<S>(&self, mut stream: S, progress: TcpProgress, request: Request) -> io::Result<Transport>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (head, key) = generate_request(request)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the request cannot be written"))?;
        stream.write_all(&head).await?;
        stream.flush().await?;
        let (response, unread) = head::read::<Response>(&mut stream).await.map_err(|error| match error {
            HeadError::Io(error) => error,
            HeadError::TooLong => failed("the head of the response must have at most 8 KiB"),
            HeadError::Invalid(problem) => failed(format!("the response is not HTTP: {problem}")),
        })?;
        self.verify(&response, &key)?;
        let socket = WebSocket::new(stream, Some(progress), unread, Role::Client, ());
        Transport::from_io(TransportIo::Messages(Box::new(socket)), TapTransport::WebSocket)
    }

    /// Checks the response of the server (RFC 6455 §4.1).
    fn verify(&self, response: &Response, key: &str) -> io::Result<()> {
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let kind = match response.status() {
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => io::ErrorKind::PermissionDenied,
                _ => io::ErrorKind::ConnectionRefused,
            };
            return Err(io::Error::new(kind, format!("the server refused the WebSocket: {}", response.status())));
        }
        let headers = response.headers();
        let has = |name: &str, value: &str| list(headers, name).any(|element| element.eq_ignore_ascii_case(value));
        if !has("Upgrade", "websocket") || !has("Connection", "Upgrade") {
            return Err(failed("the response must have the headers Connection: Upgrade and Upgrade: websocket"));
        }
        if one(headers, "Sec-WebSocket-Accept")? != Some(&*derive_accept_key(key.as_bytes())) {
            return Err(failed("Sec-WebSocket-Accept does not fit the key of the request"));
        }
        if headers.contains_key("Sec-WebSocket-Extensions") {
            return Err(failed("the server chose an extension that was not offered"));
        }
        match one(headers, "Sec-WebSocket-Protocol")? {
            Some(chosen) if !self.subprotocols.iter().any(|offered| offered == chosen) => {
                Err(failed("the server chose a subprotocol that was not offered"))
            }
            _ => Ok(()),
        }
    }
}

impl Transport {
    /// Connects to a WebSocket: `ws://host:port/path?query`, or `wss://` with TLS. To set options, use
    /// [`WebSocketOptions`].
    ///
    /// Each message is one text message of the WebSocket. The peer gets a ping after 20 seconds of silence. If the peer
    /// neither sends anything nor reads buffered bytes in the 20 seconds after the ping, the link ends. When the link
    /// ends, the WebSocket is closed with 1000.
    ///
    /// # Errors
    /// The errors of [`WebSocketOptions::connect`].
    pub async fn websocket(url: &str) -> io::Result<Self> {
        WebSocketOptions::new().connect(url).await
    }
}

/// Returns the only value of a header.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> io::Result<Option<&'a str>> {
    single(headers, name).map_err(|()| failed(format!("the response must have one header {name}")))
}

fn failed(problem: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem.into())
}

/// The debug text omits headers and certificates, because they may contain secrets.
impl fmt::Debug for WebSocketOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSocketOptions")
            .field("subprotocols", &self.subprotocols.len())
            .field("connect_timeout", &self.connect_timeout)
            .finish_non_exhaustive()
    }
}
