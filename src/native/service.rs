//! Serves one set of methods on several listeners and transports, and ends all of them together.

use core::fmt;
use core::future::poll_fn;
use core::pin::pin;
use core::task::{Context, Poll, ready};
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::{Id, JoinSet};

use super::listener::Listener;
use super::peer::Peer;
use super::server::Stopper;
use super::transport::Transport;
use crate::error::Closed;

/// A set of methods that is served on any number of listeners and transports. [`Service::serve_until`] ends all links
/// gracefully.
///
/// ```no_run
/// use portway::{Context, Framing, Listener, RpcError, Service, Transport};
///
/// # async fn run() -> std::io::Result<()> {
/// let service = Service::new(|peer| {
///     peer.method("add", |(a, b): (i64, i64), _: Context| async move { Ok::<_, RpcError>(a + b) });
/// });
/// service
///     .listen(Listener::unix("/run/sums.sock", Framing::ContentLength).await?)
///     .listen(Listener::tcp("127.0.0.1:4000", Framing::Newline).await?)
///     .connect(Transport::stdio(Framing::ContentLength)?)
///     .serve_until(async {
///         let _ = tokio::signal::ctrl_c().await;
///     })
///     .await
/// # }
/// ```
#[must_use = "a service serves only when it is run"]
pub struct Service {
    set_up: Arc<SetUp>,
    listeners: Vec<Listener>,
    transports: Vec<Transport>,
}

type SetUp = dyn Fn(&Peer) + Send + Sync;

impl Service {
    /// Creates a service. `set_up` adds the methods to the peer of each connection.
    pub fn new(set_up: impl Fn(&Peer) + Send + Sync + 'static) -> Self {
        Self { set_up: Arc::new(set_up), listeners: Vec::new(), transports: Vec::new() }
    }

    /// Adds a listener. Each connection of the listener is served.
    pub fn listen(mut self, listener: Listener) -> Self {
        self.listeners.push(listener);
        self
    }

    /// Adds a connection that is open already, for example standard input and output.
    pub fn connect(mut self, transport: Transport) -> Self {
        self.transports.push(transport);
        self
    }

    /// Serves until `shutdown` completes, and then ends all links. The listeners accept no more connections, and no
    /// further request begins. Running requests have the grace of their transport to complete (two seconds by default,
    /// see [`Transport::with_grace`]), and are answered. WebSockets are closed with 1001. Returns when all links have
    /// ended.
    ///
    /// Without listeners, this method also returns if the last link ends before `shutdown` completes. If the future is
    /// dropped, all links and listeners are closed at once.
    ///
    /// # Errors
    /// If a listener can accept no more connections. Before this method returns the error, it ends all links as after
    /// `shutdown`. Without listeners, also if a read or a write of a transport has failed, unless the peer has closed
    /// the connection.
    pub async fn serve_until(self, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let Self { set_up, listeners, transports } = self;
        let (sender, accepted) = unbounded_channel();
        let mut accepting = JoinSet::new();
        for listener in listeners {
            let (set_up, sender) = (Arc::clone(&set_up), sender.clone());
            accepting.spawn(async move {
                let pass_on = |peer| {
                    // Sending does not fail, because the receiver exists as long as this task.
                    let _ = sender.send(peer);
                };
                listener.serve_each(&*set_up, pass_on).await
            });
        }
        drop(sender);
        let mut links = Links { accepted, running: JoinSet::new(), stoppers: HashMap::new(), failure: None };
        for transport in transports {
            links.extend(Peer::set_up_on(transport, &*set_up), failure_of);
        }
        let mut shutdown = pin!(shutdown);
        let outcome = poll_fn(|context| {
            if shutdown.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            match accepting.poll_join_next(context) {
                Poll::Ready(Some(Ok(Err(error)))) => return Poll::Ready(Err(error)),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(io::Error::other(error))),
                // A listener serves until it fails.
                Poll::Ready(Some(Ok(Ok(()))) | None) | Poll::Pending => {}
            }
            ready!(links.poll_ended(context));
            Poll::Ready(links.failure.take().map_or(Ok(()), Err))
        })
        .await;
        // The end of these tasks closes the listeners. Accepted connections that are not served yet are also closed.
        accepting.shutdown().await;
        links.stop();
        poll_fn(|context| links.poll_all_ended(context)).await;
        outcome
    }
}

/// Returns the error if a link has ended by a failure. The end of the stream by the peer is not a failure.
fn failure_of(closed: Closed) -> Option<io::Error> {
    match closed {
        Closed::Io(io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset, _) => None,
        Closed::Io(kind, problem) => Some(io::Error::new(kind, problem)),
        _ => None,
    }
}

/// The links of a running service.
struct Links {
    /// The peers of accepted connections, whose links do not run yet.
    accepted: UnboundedReceiver<Peer>,
    /// The tasks of the links. A task returns the failure that ended its link.
    running: JoinSet<Option<io::Error>>,
    stoppers: HashMap<Id, Stopper>,
    /// The last failure of a task.
    failure: Option<io::Error>,
}

impl Links {
    fn extend(&mut self, peers: impl IntoIterator<Item = Peer>, failure_of: fn(Closed) -> Option<io::Error>) {
        for peer in peers {
            let stopper = peer.stopper();
            let task = self.running.spawn(async move { failure_of(peer.run().await) });
            self.stoppers.insert(task.id(), stopper);
        }
    }

    /// Starts new links, and removes links that have ended. Returns `Ready` when no link remains and no link can be
    /// added.
    fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let can_grow = loop {
            match self.accepted.poll_recv(context) {
                // The failure of one connection is not a failure of the service.
                Poll::Ready(Some(peer)) => self.extend([peer], |_| None),
                Poll::Ready(None) => break false,
                Poll::Pending => break true,
            }
        };
        ready!(self.poll_all_ended(context));
        if can_grow { Poll::Pending } else { Poll::Ready(()) }
    }

    /// Removes the links that have ended. Returns `Ready` when no link remains.
    fn poll_all_ended(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while let Some(ended) = ready!(self.running.poll_join_next_with_id(context)) {
            let (id, failure) = ended.unwrap_or_else(|error| (error.id(), None));
            self.stoppers.remove(&id);
            self.failure = failure.or_else(|| self.failure.take());
        }
        Poll::Ready(())
    }

    /// Begins the end of all links.
    fn stop(&mut self) {
        self.accepted.close();
        for stopper in self.stoppers.values() {
            stopper.stop();
        }
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("listeners", &self.listeners)
            .field("transports", &self.transports)
            .finish_non_exhaustive()
    }
}
