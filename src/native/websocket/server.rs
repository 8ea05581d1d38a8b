//! The handshake of a server (RFC 6455 §4.2).

use core::future::poll_fn;
use core::pin::pin;
use core::task::Poll;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tungstenite::Error;
use tungstenite::error::ProtocolError;
use tungstenite::handshake::server::{Request, create_response};
use tungstenite::http::StatusCode;
use tungstenite::protocol::Role;

use super::head::{self, HeadError};
use super::identity::{Admission, RequestHead};
use super::policy::{Refused, WebSocketPolicy};
use super::socket::WebSocket;
use super::tcp_progress::TcpProgress;
use crate::native::http_refusal::{MAX_REFUSALS, NO_PLACE, refuse};
use crate::native::limits::WEBSOCKET_HEAD_TIMEOUT;
use crate::native::places::{Place, Places};
use crate::native::tap::TapTransport;
use crate::native::transport::{Transport, TransportIo};

/// A TCP port for WebSockets. Handshakes run concurrently, so that a slow client does not delay other clients.
#[derive(Debug)]
pub(in crate::native) struct WebSocketListener {
    listener: TcpListener,
    policy: Arc<WebSocketPolicy>,
    places: Arc<Places>,
    runtime: Handle,
    handshakes: Mutex<JoinSet<Option<Transport>>>,
}

impl WebSocketListener {
    pub(in crate::native) fn new(listener: TcpListener, policy: WebSocketPolicy) -> io::Result<Self> {
        Ok(Self {
            listener,
            places: Places::new(policy.max_connections, policy.max_connections_per_address),
            policy: Arc::new(policy),
            runtime: Handle::try_current().map_err(io::Error::other)?,
            handshakes: Mutex::default(),
        })
    }

    pub(in crate::native) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Waits for the next connection whose request was admitted.
    ///
    /// # Errors
    /// The errors of accept(2).
    pub(in crate::native) async fn accept(&self) -> io::Result<Transport> {
        let mut handshakes = self.handshakes.lock().await;
        poll_fn(|context| {
            loop {
                match handshakes.poll_join_next(context) {
                    Poll::Ready(Some(Ok(Some(transport)))) => return Poll::Ready(Ok(transport)),
                    // The connection failed, the request was refused, or the check of the application panicked.
                    Poll::Ready(Some(_)) => continue,
                    Poll::Ready(None) | Poll::Pending => {}
                }
                match self.listener.poll_accept(context) {
                    Poll::Ready(Ok((stream, remote))) => {
                        let place = self.places.take(remote.ip());
                        if place.is_some() || handshakes.len() < MAX_REFUSALS {
                            handshakes.spawn_on(self.handshake(stream, remote, place), &self.runtime);
                        }
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }

    /// Does the handshake. Returns `None` if the connection has failed or was refused.
    fn handshake(
        &self,
        stream: TcpStream,
        remote: SocketAddr,
        place: Option<Place>,
    ) -> impl Future<Output = Option<Transport>> + Send + 'static {
        let policy = Arc::clone(&self.policy);
        async move {
            let Some(place) = place else {
                refuse(stream, StatusCode::SERVICE_UNAVAILABLE, "", NO_PLACE).await;
                return None;
            };
            // Messages are batched before they are written, so Nagle's algorithm would only delay them.
            stream.set_nodelay(true).ok()?;
            let local = stream.local_addr().ok()?;
            let lost = place.lost();
            let mut lost = pin!(lost.notified());
            let mut accepting = pin!(accept(stream, local, remote, &policy, Some(place)));
            poll_fn(|context| match lost.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => accepting.as_mut().poll(context).map(Result::ok),
            })
            .await
        }
    }
}

impl WebSocketPolicy {
    /// Does the handshake of a server on a connection, for example on a connection with TLS. `local` is the address of
    /// the server, and `remote` is the address of the client. Both are addresses of the same TCP connection. A request
    /// that is not admitted is answered with an HTTP error. This method does not limit the number of connections, so
    /// [`Self::max_connections`] and [`Self::max_connections_per_address`] have no effect.
    ///
    /// ```no_run
    /// use portway::{Server, WebSocketPolicy};
    /// use std::time::Duration;
    /// use tokio::time::timeout;
    ///
    /// # async fn run(tls: tokio_rustls::TlsAcceptor) -> std::io::Result<()> {
    /// let listener = tokio::net::TcpListener::bind("0.0.0.0:8443").await?;
    /// let policy = WebSocketPolicy::new().host("rpc.example.org");
    /// loop {
    ///     let (stream, remote) = listener.accept().await?;
    ///     let (policy, tls, local) = (policy.clone(), tls.clone(), stream.local_addr()?);
    ///     tokio::spawn(async move {
    ///         let stream = timeout(Duration::from_secs(10), tls.accept(stream)).await??;
    ///         let transport = policy.accept(stream, local, remote).await?;
    ///         Server::new(transport).run().await;
    ///         std::io::Result::Ok(())
    ///     });
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the connection has failed, or the request was not admitted.
    pub async fn accept<S>(&self, stream: S, local: SocketAddr, remote: SocketAddr) -> io::Result<Transport>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        accept(stream, local, remote, self, None).await
    }
}

impl Transport {
    /// Uses a connection that an HTTP server, such as hyper, has upgraded to a WebSocket. The transport is the server
    /// of the WebSocket, so its frames are not masked. The HTTP server must have checked the request, see
    /// [`WebSocketPolicy`]. The transport does not know the TCP connection, so a peer that reads a long message very
    /// slowly may count as silent.
    ///
    /// # Errors
    /// If the function is called outside of a tokio runtime.
    pub fn upgraded(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> io::Result<Self> {
        let socket = WebSocket::new(stream, None, Vec::new(), Role::Server, ());
        Self::from_io(TransportIo::Messages(Box::new(socket)), TapTransport::WebSocket)
    }
}

async fn accept<S>(
    mut stream: S,
    local: SocketAddr,
    remote: SocketAddr,
    policy: &WebSocketPolicy,
    place: Option<Place>,
) -> io::Result<Transport>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let handshake = async {
        let (request, unread) = match head::read::<Request>(&mut stream).await {
            Ok(read) => read,
            Err(HeadError::Io(error)) => return Err(Failure::Io(error)),
            Err(HeadError::TooLong) => {
                return Err(Failure::refused(
                    StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                    "the head of the request must have at most 8 KiB",
                ));
            }
            Err(HeadError::Invalid(_)) => {
                return Err(Failure::refused(StatusCode::BAD_REQUEST, "the request must be a valid GET of HTTP/1.1"));
            }
        };
        if place.as_ref().is_some_and(|place| !place.keep()) {
            return Err(Failure::Io(io::ErrorKind::ConnectionAborted.into()));
        }
        let (accept, subprotocol, admission) = examine(request, local, remote, policy).await?;
        head::write_accept(&mut stream, &accept, subprotocol).await.map_err(Failure::Io)?;
        Ok((unread, admission))
    };
    match timeout(WEBSOCKET_HEAD_TIMEOUT, handshake).await {
        Ok(Ok((unread, admission))) => {
            let progress = TcpProgress::new(local, remote);
            let socket = WebSocket::new(stream, Some(progress), unread, Role::Server, place);
            Transport::from_io(TransportIo::Messages(Box::new(socket)), TapTransport::WebSocket)
                .map(|transport| transport.with_shared_identity(admission.0))
        }
        Ok(Err(Failure::Io(error))) => Err(error),
        Ok(Err(Failure::Refused(Refused { status, reason }, header))) => {
            refuse(stream, status, header, reason).await;
            Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
        }
        Err(_) => {
            let reason = "the head of the request must arrive, and be checked, within 10 seconds";
            refuse(stream, StatusCode::REQUEST_TIMEOUT, "", reason).await;
            Err(io::Error::new(io::ErrorKind::TimedOut, reason))
        }
    }
}

/// Why a handshake failed.
enum Failure {
    Io(io::Error),
    /// An HTTP error, with additional headers.
    Refused(Refused, &'static str),
}

impl Failure {
    const fn refused(status: StatusCode, reason: &'static str) -> Self {
        Self::Refused(Refused { status, reason }, "")
    }
}

/// Checks a request. Returns the accept key and the subprotocol for the response, and the admission of the application.
async fn examine(
    request: Request,
    local: SocketAddr,
    remote: SocketAddr,
    policy: &WebSocketPolicy,
) -> Result<(String, Option<&str>, Admission), Failure> {
    let refused = |refused| Failure::Refused(refused, "");
    policy.check_headers(request.headers(), Some(local)).map_err(refused)?;
    // An absolute target contains a host, which would replace `Host` (RFC 9112 §3.2.2).
    if request.uri().authority().is_some() || !request.uri().path().starts_with('/') {
        return Err(Failure::refused(StatusCode::BAD_REQUEST, "the target of the request must be a path"));
    }
    let response = create_response(&request).map_err(|error| match error {
        Error::Protocol(ProtocolError::InvalidSecWebSocketKey | ProtocolError::MissingSecWebSocketKey) => {
            Failure::refused(StatusCode::BAD_REQUEST, "Sec-WebSocket-Key must be 16 bytes in base64")
        }
        _ => Failure::Refused(
            Refused {
                status: StatusCode::UPGRADE_REQUIRED,
                reason: "the request must upgrade to a WebSocket with Sec-WebSocket-Version: 13",
            },
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
        ),
    })?;
    let accept = response.headers().get("Sec-WebSocket-Accept").and_then(|value| value.to_str().ok());
    let accept = accept.unwrap_or_default().to_owned();
    let subprotocol = policy.choose_subprotocol(request.headers());
    let (parts, ()) = request.into_parts();
    let head = RequestHead { uri: parts.uri, headers: parts.headers, remote };
    let header = "WWW-Authenticate: Bearer\r\n";
    let admission = policy.admit(head).await.map_err(|refused| match refused.status {
        StatusCode::UNAUTHORIZED => Failure::Refused(refused, header),
        _ => Failure::Refused(refused, ""),
    })?;
    Ok((accept, subprotocol, admission))
}
