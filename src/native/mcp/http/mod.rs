//! Streamable HTTP (MCP 2025-11-25 and 2026-07-28, basic/transports): a channel of messages over HTTP. Each outgoing
//! message is a POST. Its response is one message, or a stream of server-sent events.

mod endpoint;
mod message;
mod pool;
mod stream;

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::future::Future;
use std::io;
use std::sync::Arc;

use tokio::sync::mpsc;

use self::endpoint::Endpoint;
pub(super) use self::endpoint::HeadersFn;
use self::pool::Pool;
use crate::Limits;
use crate::error::Closed;
use crate::native::limits::MAX_HTTP_REQUESTS;
use crate::native::message_channel::MessageChannel;
use crate::native::server_url::ServerUrl;
use crate::native::tap::TapTransport;
use crate::native::transport::{Transport, TransportIo};

/// The schemes of URLs: without and with TLS.
const SCHEMES: [&str; 2] = ["http", "https"];

/// Maximum number of received messages that the driver has not taken.
const MAX_QUEUED: usize = 16;

/// Returns a transport to the server with this URL.
pub(super) fn transport(
    url: &str,
    root_certificates: &[Vec<u8>],
    headers: Option<Arc<HeadersFn>>,
    warn: Box<WarnFn>,
) -> io::Result<Transport> {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED);
    let endpoint = Arc::new(Endpoint::new(Pool::new(url, root_certificates)?, headers, warn, sender));
    let channel = HttpChannel { endpoint, receiver, received: Vec::new(), closing: None };
    let mut limits = Limits::DEFAULT;
    limits.pending_calls = MAX_HTTP_REQUESTS;
    Ok(Transport::from_io(TransportIo::Messages(Box::new(channel)), TapTransport::Http)?.with_limits(limits))
}

/// Returns the origin of a URL.
pub(super) fn origin(url: &str) -> io::Result<String> {
    Ok(ServerUrl::parse(url, SCHEMES)?.origin())
}

/// Reports a fault of the server that the client tolerates.
pub(super) type WarnFn = dyn Fn(&str) + Send + Sync;

struct HttpChannel {
    endpoint: Arc<Endpoint>,
    receiver: mpsc::Receiver<Vec<u8>>,
    received: Vec<u8>,
    closing: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl MessageChannel for HttpChannel {
    fn set_limits(&mut self, limits: &Limits) {
        self.endpoint.set_limits(*limits);
    }

    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        // The endpoint has a sender, so the channel does not end.
        let received = ready!(self.receiver.poll_recv(context)).ok_or(Closed::End);
        Poll::Ready(received.map(|message| self.received = message))
    }

    fn received(&self) -> &[u8] {
        &self.received
    }

    fn release(&mut self) {
        self.received = Vec::new();
    }

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn send(&mut self, _: &mut Context<'_>, text: &str, _: usize) -> io::Result<usize> {
        self.endpoint.start(text);
        Ok(text.len())
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let endpoint = &self.endpoint;
        let closing = self.closing.get_or_insert_with(|| Box::pin(Arc::clone(endpoint).close()));
        closing.as_mut().poll(context).map(Ok)
    }
}

/// The tasks of the endpoint refer to the endpoint, so they are aborted here.
impl Drop for HttpChannel {
    fn drop(&mut self) {
        self.endpoint.abort();
    }
}
