//! `portway tap --listen ADDRESS --to ADDRESS`: passes connections to a server.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use portway::tap::{Direction, TapTransport};
use portway::{Framing, Listener, connect_unix};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinSet;

use super::address::{Address, WebSocketAddress};
use super::copy::{Copies, Taps};
use super::head;
use super::pump::{self, End, Progress};
use crate::accept::RETRY_INTERVAL;
use crate::limits::{CONNECT_TIMEOUT, MAX_TAP_HEAD_BYTES, MAX_TAPPED_CONNECTIONS};
use crate::lookup;
use crate::output::{Failure, print_message};
use crate::program::UNREACHABLE;

/// Accepts connections until `shutdown` completes. Then all connections are closed.
pub(super) async fn run(
    listen: &Address,
    to: &Address,
    taps: &Taps,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let listener = Socket::listen(listen).await?;
    let server =
        Arc::new(Server { listen: listen.clone(), to: to.clone(), taps: taps.clone(), count: AtomicU64::new(0) });
    let permits = Arc::new(Semaphore::new(MAX_TAPPED_CONNECTIONS));
    let (stop, stopped) = watch::channel(false);
    let mut connections = JoinSet::new();
    let accepting = async {
        loop {
            // The semaphore is never closed.
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
            match listener.accept().await {
                Ok(client) => {
                    let (server, stopped) = (Arc::clone(&server), stopped.clone());
                    connections.spawn(async move {
                        server.connect(client, stopped).await;
                        drop(permit);
                    });
                    // Finished connections are removed.
                    while connections.try_join_next().is_some() {}
                }
                // Most errors concern only one connection, so the command continues.
                Err(_) => tokio::time::sleep(RETRY_INTERVAL).await,
            }
        }
    };
    tokio::select! {
        () = accepting => {}
        () = shutdown => {}
    }
    drop(listener);
    stop.send_replace(true);
    while connections.join_next().await.is_some() {}
    Ok(())
}

/// A listening socket.
enum Socket {
    Unix(Listener),
    Tcp(TcpListener),
}

impl Socket {
    /// Listens, and prints the address.
    async fn listen(address: &Address) -> Result<Self, Failure> {
        let failure = |error: io::Error| Failure::new(UNREACHABLE, format!("cannot listen on {address}: {error}"));
        let authority = match address {
            Address::Unix(path) => {
                // The framing has no effect, since the listener creates no transports.
                let listener = Listener::unix(path, Framing::ContentLength)
                    .await
                    .map_err(|error| Failure::new(UNREACHABLE, format!("cannot listen on {error}")))?;
                print_message(format_args!("listening on {}", path.display()));
                return Ok(Self::Unix(listener));
            }
            Address::Tcp(authority) | Address::WebSocket(WebSocketAddress { authority, .. }) => authority,
        };
        let addresses = lookup::look_up(authority).await.map_err(failure)?;
        let listener = TcpListener::bind(&*addresses).await.map_err(failure)?;
        let local = listener.local_addr().map_err(failure)?;
        if address.is_websocket() {
            print_message(format_args!("listening on ws://{local}/"));
        } else {
            print_message(format_args!("listening on tcp://{local}"));
        }
        Ok(Self::Tcp(listener))
    }

    async fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Unix(listener) => Stream::unix(listener.accept_unix().await?),
            Self::Tcp(listener) => Stream::tcp(listener.accept().await?.0),
        }
    }
}

/// A connected socket, whose reads and writes block.
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    fn unix(stream: tokio::net::UnixStream) -> io::Result<Self> {
        let stream = stream.into_std()?;
        stream.set_nonblocking(false)?;
        Ok(Self::Unix(stream))
    }

    fn tcp(stream: tokio::net::TcpStream) -> io::Result<Self> {
        let stream = stream.into_std()?;
        stream.set_nonblocking(false)?;
        // Nagle's algorithm would delay small messages.
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    /// Ends one or both directions. A failure means that the peer has closed the connection.
    fn shut_down(&self, how: Shutdown) {
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(how),
            Self::Tcp(stream) => stream.shutdown(how),
        };
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&mut &*stream).read(buffer),
            Stream::Tcp(stream) => (&mut &*stream).read(buffer),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&mut &*stream).write(bytes),
            Stream::Tcp(stream) => (&mut &*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The options for each connection.
struct Server {
    listen: Address,
    to: Address,
    taps: Taps,
    /// The number of connections that were accepted so far.
    count: AtomicU64,
}

impl Server {
    /// Connects to the server, and passes all bytes until both directions have ended.
    async fn connect(&self, client: Stream, mut stopped: watch::Receiver<bool>) {
        let transport = match &self.to {
            Address::Unix(_) => TapTransport::Unix,
            Address::Tcp(_) => TapTransport::Tcp,
            Address::WebSocket(_) => TapTransport::WebSocket,
        };
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let copy = self.taps.open(&format!("{} ({number})", self.to), transport);
        let server = tokio::select! {
            server = self.open() => server,
            _ = stopped.wait_for(|stopped| *stopped) => return copy.close("a signal ended the command", None),
        };
        let server = match server {
            Ok(server) => server,
            Err(error) => {
                let problem = format!("cannot connect to {}: {error}", self.to);
                print_message(&problem);
                return copy.close(&problem, None);
            }
        };
        let copies =
            |direction| if self.to.is_websocket() { copy.websocket(direction) } else { copy.stream(direction) };
        let (client, server) = (Arc::new(client), Arc::new(server));
        let started = self.start(&client, &server, copies(Direction::Sent), copies(Direction::Received));
        let mut reason = "both sides closed the connection";
        match started {
            Ok(ended) => {
                tokio::select! {
                    () = ended.both() => {}
                    _ = stopped.wait_for(|stopped| *stopped) => {
                        reason = "a signal ended the command";
                        client.shut_down(Shutdown::Both);
                        server.shut_down(Shutdown::Both);
                    }
                }
            }
            Err(error) => {
                print_message(format_args!("cannot pass a connection on: {error}"));
                reason = "the connection could not be passed on";
            }
        }
        copy.close(reason, None);
    }

    /// Starts a thread for each direction.
    fn start(&self, client: &Arc<Stream>, server: &Arc<Stream>, sent: Copies, received: Copies) -> io::Result<Ended> {
        let request = match (&self.listen, &self.to) {
            (Address::WebSocket(listen), Address::WebSocket(to)) => Some((listen.clone(), to.clone())),
            _ => None,
        };
        let from_server =
            OneDirection { from: Arc::clone(server), to: Arc::clone(client), copies: received, request: None };
        let to_server = OneDirection { from: Arc::clone(client), to: Arc::clone(server), copies: sent, request };
        let from_server = from_server.spawn()?;
        match to_server.spawn() {
            Ok(to_server) => Ok(Ended { to_server, from_server }),
            Err(error) => {
                // The shutdown ends the thread that was started first.
                server.shut_down(Shutdown::Both);
                Err(error)
            }
        }
    }

    async fn open(&self) -> io::Result<Stream> {
        let connect = async {
            match &self.to {
                Address::Unix(path) => Stream::unix(connect_unix(path, CONNECT_TIMEOUT).await?),
                Address::Tcp(authority) | Address::WebSocket(WebSocketAddress { authority, .. }) => {
                    Stream::tcp(lookup::connect(authority).await?)
                }
            }
        };
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, connect).await;
        connected.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "the server did not answer in time")))
    }
}

/// Receivers that report the ends of both directions.
struct Ended {
    to_server: oneshot::Receiver<()>,
    from_server: oneshot::Receiver<()>,
}

impl Ended {
    async fn both(self) {
        // A sender is dropped if its thread has panicked.
        let _ = self.to_server.await;
        let _ = self.from_server.await;
    }
}

/// One direction of a connection.
struct OneDirection {
    from: Arc<Stream>,
    to: Arc<Stream>,
    copies: Copies,
    /// The addresses of `--listen` and `--to`, if the direction begins with the request of a WebSocket.
    request: Option<(WebSocketAddress, WebSocketAddress)>,
}

impl OneDirection {
    fn spawn(self) -> io::Result<oneshot::Receiver<()>> {
        let (sender, ended) = oneshot::channel();
        let work = move || {
            self.run();
            let _ = sender.send(());
        };
        thread::Builder::new().name("connection".into()).spawn(work)?;
        Ok(ended)
    }

    fn run(mut self) {
        let end = match self.request.take() {
            Some((listen, to)) => self.pass_request(&listen, &to),
            None => None,
        };
        let progress = Progress::default();
        let end = end.unwrap_or_else(|| pump::pass(&mut &*self.from, &mut &*self.to, &mut self.copies, &progress));
        match end {
            End::Input => self.to.shut_down(Shutdown::Write),
            // The connection was reset, so both directions have ended.
            End::Unreadable => {
                self.from.shut_down(Shutdown::Both);
                self.to.shut_down(Shutdown::Both);
            }
            // The program behind `to` reads nothing more. With this shutdown, the sending program gets an error.
            End::Unwritable => self.from.shut_down(Shutdown::Read),
        }
    }

    /// Passes the request that opens a WebSocket. Returns why the direction has ended, or `None` if the
    /// direction continues.
    fn pass_request(&mut self, listen: &WebSocketAddress, to: &WebSocketAddress) -> Option<End> {
        let mut read = Vec::new();
        let mut chunk = [0; 4096];
        let end = loop {
            if let Some(end) = head::end_of_head(&read) {
                break end;
            }
            let count = match (&mut &*self.from).read(&mut chunk) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Some(End::Unreadable),
            };
            read.extend_from_slice(chunk.get(..count).unwrap_or_default());
            // Bytes that are not a request pass unchanged.
            if count == 0 || read.len() > MAX_TAP_HEAD_BYTES {
                self.copies.push(&read);
                if (&mut &*self.to).write_all(&read).is_err() {
                    return Some(End::Unwritable);
                }
                if count == 0 {
                    self.copies.finish();
                    return Some(End::Input);
                }
                return None;
            }
        };
        let (head, rest) = read.split_at_checked(end).unwrap_or((&read, &[]));
        let request = match head::for_server(head, listen, to) {
            Ok(request) => request,
            Err(problem) => {
                print_message(format_args!("a request was refused: {problem}"));
                let refusal = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                let _ = (&mut &*self.from).write_all(refusal.as_bytes());
                return Some(End::Unreadable);
            }
        };
        self.copies.push(&read);
        let written = (&mut &*self.to).write_all(&request).and_then(|()| (&mut &*self.to).write_all(rest));
        written.is_err().then_some(End::Unwritable)
    }
}
