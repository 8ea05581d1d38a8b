//! Serves an HTTP service on a TCP socket.

use core::convert::Infallible;
use core::pin::pin;
use core::time::Duration;
use std::future::{Future, pending};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use hyper::StatusCode;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::super::super::handshake::first;
use super::HttpService;
use crate::native::accept_error::Cause;
use crate::native::http_refusal::{NO_PLACE, refuse};
use crate::native::limits::{HTTP_HEAD_TIMEOUT, MAX_HTTP_HEAD_BYTES, SHUTDOWN_TIMEOUT};
use crate::native::places::Place;

/// The time before the next attempt to accept a connection, after an error that may occur again.
const ACCEPT_DELAY: Duration = Duration::from_millis(100);

impl HttpService {
    /// Opens a socket on 127.0.0.1, so that only programs on this machine can connect. With the port 0, the system
    /// chooses the port.
    ///
    /// # Errors
    /// If the port is in use.
    pub async fn bind(port: u16) -> io::Result<TcpListener> {
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await
    }

    /// Serves all connections to a socket over HTTP/1.1, on any path. The number of connections is limited, see
    /// [`HttpService::with_max_connections`]. The returned future does not end by itself. If it is dropped, connections
    /// remain until their clients close them.
    ///
    /// # Errors
    /// If the socket accepts no more connections.
    pub async fn serve(&self, listener: TcpListener) -> io::Result<()> {
        loop {
            let (stream, remote) = accept(&listener).await?;
            let place = self.places.take(remote.ip());
            tokio::spawn(self.clone().serve_connection(stream, place, pending()));
        }
    }

    /// Serves all connections to a socket like [`HttpService::serve`], until `shutdown` completes. Then accepts no more
    /// connections, and calls [`HttpService::close`]. Running responses have two seconds to complete.
    ///
    /// # Errors
    /// If the socket accepts no more connections.
    pub async fn serve_until(&self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let (stop, _) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        let outcome = loop {
            let stopped = async {
                shutdown.as_mut().await;
                None
            };
            match first(async { Some(accept(&listener).await) }, stopped).await {
                None => break Ok(()),
                Some(Err(error)) => break Err(error),
                Some(Ok((stream, remote))) => {
                    let place = self.places.take(remote.ip());
                    let mut stopped = stop.subscribe();
                    let stopped = async move {
                        // Without a sender, the service has also stopped.
                        let _ = stopped.wait_for(|stopped| *stopped).await;
                    };
                    connections.spawn(self.clone().serve_connection(stream, place, stopped));
                    while connections.try_join_next().is_some() {}
                }
            }
        };
        drop(listener);
        stop.send_replace(true);
        self.close().await;
        // Connections that are still open are aborted.
        let _ = timeout(SHUTDOWN_TIMEOUT, async { while connections.join_next().await.is_some() {} }).await;
        outcome
    }

    /// Serves a connection, or refuses it if it has no place. After `stopped`, the connection is closed after its
    /// running response.
    async fn serve_connection(self, stream: TcpStream, place: Option<Place>, stopped: impl Future<Output = ()>) {
        let Some(place) = place else {
            if let Ok(_permit) = self.refusals.try_acquire() {
                refuse(stream, StatusCode::SERVICE_UNAVAILABLE, "", NO_PLACE).await;
            }
            return;
        };
        let place = Arc::new(place);
        let lost = place.lost();
        // Small responses leave at once. If the option cannot be set, they are only slower.
        let _ = stream.set_nodelay(true);
        let service = service_fn(move |request| {
            let (service, place) = (self.clone(), Arc::clone(&place));
            async move {
                if !place.keep() {
                    // The connection is closed at once.
                    pending().await
                }
                Ok::<_, Infallible>(service.handle(request).await)
            }
        });
        let mut builder = Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HTTP_HEAD_TIMEOUT).max_buf_size(MAX_HTTP_HEAD_BYTES);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        // An error of a connection ends only this connection.
        let ended = async {
            let _ = connection.as_mut().await;
            true
        };
        let lost = async {
            lost.notified().await;
            true
        };
        let stopped = async {
            stopped.await;
            false
        };
        if !first(first(ended, lost), stopped).await {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// Waits for the next connection.
async fn accept(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    loop {
        match listener.accept().await {
            Ok(accepted) => return Ok(accepted),
            Err(error) => match Cause::of(&error) {
                Cause::Connection => {}
                Cause::Unknown => sleep(ACCEPT_DELAY).await,
                Cause::Listener => return Err(error),
            },
        }
    }
}
