//! Serves an HTTP service on a TCP socket.

use core::convert::Infallible;
use core::time::Duration;
use std::io;
use std::net::Ipv4Addr;

use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::time::sleep;

use super::HttpService;
use crate::native::accept_error::Cause;
use crate::native::limits::{HTTP_HEAD_TIMEOUT, MAX_HTTP_HEAD_BYTES};

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

    /// Serves all connections to a socket over HTTP/1.1, on any path. The returned future does not end by itself. If it
    /// is dropped, connections remain until their clients close them.
    ///
    /// # Errors
    /// If the socket accepts no more connections.
    pub async fn serve(&self, listener: TcpListener) -> io::Result<()> {
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => match Cause::of(&error) {
                    Cause::Connection => continue,
                    Cause::Unknown => {
                        sleep(ACCEPT_DELAY).await;
                        continue;
                    }
                    Cause::Listener => return Err(error),
                },
            };
            // Small responses leave at once. If the option cannot be set, they are only slower.
            let _ = stream.set_nodelay(true);
            let service = self.clone();
            let service = service_fn(move |request| {
                let service = service.clone();
                async move { Ok::<_, Infallible>(service.handle(request).await) }
            });
            let mut builder = Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HTTP_HEAD_TIMEOUT).max_buf_size(MAX_HTTP_HEAD_BYTES);
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            // An error of a connection ends only this connection.
            tokio::spawn(async move { connection.await.ok() });
        }
    }
}
