//! Listening sockets.

use core::fmt;
use core::time::Duration;
use std::io;
use std::net::SocketAddr;
#[cfg(unix)]
use std::path::Path;

#[cfg(unix)]
use rustix::process::geteuid;
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
#[cfg(unix)]
use tokio::net::{UnixListener, UnixStream};

use super::accept_error::Cause;
#[cfg(unix)]
use super::connect::in_abstract_namespace;
use super::in_flight::catch_panic;
use super::peer::Peer;
#[cfg(unix)]
use super::socket_file::{self, SocketFile};
use super::transport::{Transport, address_name, with_subject};
#[cfg(feature = "websocket")]
use super::websocket::{WebSocketListener, WebSocketPolicy};
use crate::Framing;

/// The pause after an error that may occur again at once, such as too many open files.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// A listening socket: a Unix domain socket or a TCP port, for byte streams or for WebSockets.
///
/// # Platforms
/// Windows has only TCP ports.
///
/// # Example
#[cfg_attr(unix, doc = "```")]
#[cfg_attr(not(unix), doc = "```ignore")]
/// use portway::{Client, Context, Framing, Listener, RpcError, Transport};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sums.sock");
/// let listener = Listener::unix(&path, Framing::ContentLength).await?;
/// // The listener serves until it fails or its task is aborted.
/// tokio::spawn(async move {
///     listener
///         .serve(|peer| {
///             peer.method("add", |(a, b): (i64, i64), _: Context| async move { Ok::<_, RpcError>(a + b) });
///         })
///         .await
/// });
///
/// let client = Client::new(Transport::unix(&path, Framing::ContentLength).await?);
/// assert_eq!(client.call("add", &(1, 2)).await, Ok(3));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a listener listens until it is dropped"]
pub struct Listener {
    socket: Socket,
    /// The path or the address, for error messages.
    name: String,
    framing: Framing,
    configure_transport: ConfigureTransport,
}

#[derive(Debug)]
enum Socket {
    /// The order of the fields matters: the file is removed before the socket is closed. While the socket is open, no
    /// other file can get the inode of this file.
    #[cfg(unix)]
    Unix {
        _file: SocketFile,
        listener: UnixListener,
    },
    /// A socket in the abstract namespace of Linux. It has no file, so no file mode prevents connections of other
    /// users.
    #[cfg(unix)]
    Abstract(UnixListener),
    Tcp(TcpListener),
    #[cfg(feature = "websocket")]
    Web(WebSocketListener),
}

enum Stream {
    #[cfg(unix)]
    Unix(UnixStream),
    Tcp(TcpStream),
    #[cfg(feature = "websocket")]
    Web(Box<Transport>),
}

struct ConfigureTransport(Box<dyn Fn(Transport) -> Transport + Send + Sync>);

impl fmt::Debug for ConfigureTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConfigureTransport")
    }
}

impl Listener {
    /// Listens on a Unix domain socket. Only the user of this process can connect. The file of the socket is removed
    /// when the listener is dropped.
    ///
    /// On Linux, the file is created with the mode 600, and the umask has no effect. On other systems, the file gets
    /// this mode before the socket accepts connections.
    ///
    /// A stale socket file, on which no process listens, is replaced.
    ///
    /// On Linux, `@name` is a name in the abstract namespace, which has no file. The socket also rejects connections of
    /// other users, except root. `./@name` is a file.
    ///
    /// # Errors
    /// If another file exists at the path, the socket is in use, the file cannot be created, or the path is only `@`.
    /// The error names the path.
    ///
    /// # Platforms
    /// Unix only.
    #[cfg(unix)]
    pub async fn unix(path: impl AsRef<Path>, framing: Framing) -> io::Result<Self> {
        let path = path.as_ref();
        let socket = if let Some(name) = in_abstract_namespace(path) {
            Socket::Abstract(socket_file::listen_abstract(&name).map_err(|error| with_subject(&error, path.display()))?)
        } else {
            let (file, listener) = match socket_file::listen(path) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    let stale_socket = socket_file::find_stale(path).await?;
                    socket_file::replace(path, stale_socket)
                }
                other => other,
            }?;
            Socket::Unix { _file: file, listener }
        };
        Ok(Self::on(socket, path.display().to_string(), framing))
    }

    /// Listens on a TCP port. Any process that can reach the port can connect. With `127.0.0.1:0`, the system selects a
    /// free port, which only processes of this machine can reach. A connection that begins with an HTTP request or with
    /// TLS is closed, because a web page may have opened it.
    ///
    /// # Errors
    /// If the address cannot be bound. The error names the address.
    pub async fn tcp(address: impl ToSocketAddrs + fmt::Debug, framing: Framing) -> io::Result<Self> {
        let name = address_name(&address);
        let listener = TcpListener::bind(address).await.map_err(|error| with_subject(&error, &name))?;
        Ok(Self::on(Socket::Tcp(listener), name, framing))
    }

    /// Listens on a TCP port for WebSockets. The default [`WebSocketPolicy`] admits requests of pages with the origin
    /// of this server, and requests of programs. With `127.0.0.1:0`, the system selects a free port, which only
    /// processes of this machine can reach.
    ///
    /// Each message is one text message of a WebSocket; a binary message is read as UTF-8. A client gets a ping after
    /// 20 seconds of silence. If the client neither sends anything nor reads buffered bytes in the 20 seconds after the
    /// ping, the link ends. When a link ends, its WebSocket is closed with 1001.
    ///
    /// Compression is not offered, because it would use memory for each connection. Also, the length of a compressed
    /// message could reveal a secret in the message, if an attacker controls other text in the same message.
    ///
    /// For TLS, use a proxy, or [`WebSocketPolicy::accept`].
    ///
    /// # Errors
    /// If the address cannot be bound. The error names the address.
    #[cfg(feature = "websocket")]
    pub async fn websocket(address: impl ToSocketAddrs + fmt::Debug) -> io::Result<Self> {
        Self::websocket_with(address, WebSocketPolicy::new()).await
    }

    /// Listens on a TCP port for WebSockets, like [`Listener::websocket`], with another policy.
    ///
    /// # Errors
    /// If the address cannot be bound. The error names the address.
    #[cfg(feature = "websocket")]
    pub async fn websocket_with(address: impl ToSocketAddrs + fmt::Debug, policy: WebSocketPolicy) -> io::Result<Self> {
        let name = address_name(&address);
        let listener = TcpListener::bind(address).await.map_err(|error| with_subject(&error, &name))?;
        let socket = Socket::Web(WebSocketListener::new(listener, policy)?);
        // Whole messages have no framing, so this argument has no effect.
        Ok(Self::on(socket, name, Framing::ContentLength))
    }

    fn on(socket: Socket, name: String, framing: Framing) -> Self {
        Self { socket, name, framing, configure_transport: ConfigureTransport(Box::new(|transport| transport)) }
    }

    /// Sets a function that configures each transport, for example its profile, limits or diagnostics.
    pub fn with(self, configure_transport: impl Fn(Transport) -> Transport + Send + Sync + 'static) -> Self {
        Self { configure_transport: ConfigureTransport(Box::new(configure_transport)), ..self }
    }

    /// Returns the address of a TCP or WebSocket listener, or `None` for a Unix domain socket.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().ok(),
            #[cfg(feature = "websocket")]
            Socket::Web(listener) => listener.address().ok(),
            #[cfg(unix)]
            Socket::Unix { .. } | Socket::Abstract(_) => None,
        }
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// The errors of accept(2). Most of these errors are about a single connection. After an error about a single
    /// connection, [`Listener::serve`] accepts the next connection.
    pub async fn accept(&self) -> io::Result<Transport> {
        let stream = self.next().await?;
        self.transport(stream).map(|transport| (self.configure_transport.0)(transport))
    }

    /// Waits for the next connection of a Unix domain socket, and returns its stream without a transport.
    ///
    /// # Errors
    /// If this listener was not created by [`Listener::unix`], or if another user has connected to a socket in the
    /// abstract namespace. Also the errors of accept(2).
    ///
    /// # Platforms
    /// Unix only.
    #[cfg(unix)]
    pub async fn accept_unix(&self) -> io::Result<UnixStream> {
        match self.next().await? {
            Stream::Unix(stream) => {
                self.check_user(&stream)?;
                Ok(stream)
            }
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, "the listener must be a Unix domain socket")),
        }
    }

    async fn next(&self) -> io::Result<Stream> {
        match &self.socket {
            #[cfg(unix)]
            Socket::Unix { listener, .. } | Socket::Abstract(listener) => Ok(Stream::Unix(listener.accept().await?.0)),
            Socket::Tcp(listener) => Ok(Stream::Tcp(listener.accept().await?.0)),
            #[cfg(feature = "websocket")]
            Socket::Web(listener) => Ok(Stream::Web(Box::new(listener.accept().await?))),
        }
    }

    /// Creates a transport over a connection. Does not call the function of [`Listener::with`].
    ///
    /// # Errors
    /// If the connection has failed. Other connections are not affected.
    fn transport(&self, stream: Stream) -> io::Result<Transport> {
        match stream {
            #[cfg(unix)]
            Stream::Unix(stream) => {
                self.check_user(&stream)?;
                Transport::from_unix(stream, self.framing)
            }
            Stream::Tcp(stream) => Transport::accepted_tcp(stream, self.framing),
            #[cfg(feature = "websocket")]
            Stream::Web(transport) => Ok(*transport),
        }
    }

    /// Checks the user of a connection, if the socket is in the abstract namespace.
    #[cfg(unix)]
    fn check_user(&self, stream: &UnixStream) -> io::Result<()> {
        if matches!(self.socket, Socket::Abstract(_)) { expect_same_user(stream) } else { Ok(()) }
    }

    /// Creates a peer for each connection. `set_up` adds the methods to the peer. If the future is dropped, the
    /// listener ends, but its connections continue.
    ///
    /// If a peer sends requests and does not read, its connection can use up to
    /// [`Limits::unwritten_bytes`](crate::Limits::unwritten_bytes) of memory, which is 16 MiB by default. For many
    /// untrusted peers, set a lower limit with [`Listener::with`] and [`Transport::with_limits`].
    ///
    /// # Errors
    /// If no more connections can be accepted. If too many files are open, or if a single connection fails, the
    /// listener continues. A panic of `set_up`, or of the function of [`Listener::with`], ends only the connection for
    /// which the function runs.
    pub async fn serve(self, set_up: impl Fn(&Peer) + Send + Sync) -> io::Result<()> {
        self.serve_each(set_up, Peer::forget).await
    }

    /// Passes the peer of each connection to `run`, after `set_up` has added the methods.
    pub(super) async fn serve_each(
        self,
        set_up: impl Fn(&Peer) + Send + Sync,
        run: impl Fn(Peer) + Send + Sync,
    ) -> io::Result<()> {
        loop {
            match self.next().await {
                Ok(stream) => {
                    // A connection that has already failed is dropped. If the function of `Listener::with` panics, the
                    // panic hook reports the panic.
                    let Ok(transport) = self.transport(stream) else { continue };
                    let Ok(transport) = catch_panic(|| (self.configure_transport.0)(transport)) else { continue };
                    // If `set_up` panicked, the peer is dropped, which closes the connection.
                    if let Some(peer) = Peer::set_up_on(transport, &set_up) {
                        run(peer);
                    }
                }
                Err(error) => match Cause::of(&error) {
                    Cause::Connection => {}
                    Cause::Unknown => tokio::time::sleep(RETRY_INTERVAL).await,
                    Cause::Listener => return Err(with_subject(&error, &self.name)),
                },
            }
        }
    }
}

/// Checks the user of a connection to a socket in the abstract namespace.
///
/// # Errors
/// If a user other than root or the user of this process has connected.
#[cfg(unix)]
fn expect_same_user(stream: &UnixStream) -> io::Result<()> {
    let user = stream.peer_cred()?.uid();
    if user == geteuid().as_raw() || user == 0 {
        return Ok(());
    }
    let problem = std::format!("only root and the user of this process may connect, got user {user}");
    Err(io::Error::new(io::ErrorKind::PermissionDenied, problem))
}
