//! Sockets that others connect to.

use core::fmt;
use core::time::Duration;
use std::boxed::Box;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::string::{String, ToString};

use rustix::io::Errno;
use rustix::process::geteuid;
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs, UnixListener, UnixStream};

use super::connect::in_abstract_namespace;
use super::peer::Peer;
use super::running::guarded;
use super::socket_file::{self, SocketFile};
use super::transport::{Transport, about, address_name};
use crate::codec::framing::Framing;

/// Pause after an error that may come again at once, such as too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// A socket that others connect to: a Unix domain socket, or a TCP port.
///
/// ```
/// use portway::{Client, Context, Framing, Listener, RpcError, Transport};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sums.sock");
/// let listener = Listener::unix(&path, Framing::ContentLength).await?;
/// // It serves until it fails or is dropped.
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
    prepare: Prepare,
}

#[derive(Debug)]
enum Socket {
    /// The file goes first: while the listener is there, no other file can get its inode.
    Unix {
        _file: SocketFile,
        listener: UnixListener,
    },
    /// In the abstract namespace of Linux, where no file mode keeps other users from connecting.
    Abstract(UnixListener),
    Tcp(TcpListener),
}

enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

struct Prepare(Box<dyn Fn(Transport) -> Transport + Send + Sync>);

impl fmt::Debug for Prepare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prepare")
    }
}

impl Listener {
    /// A Unix domain socket, which only the user of this process may connect to. Its file goes with the listener.
    ///
    /// The file has the mode 600 from its first moment on Linux, whatever the umask is. On other systems it has that before
    /// anybody can connect.
    ///
    /// A file that a listener has left behind, which is a socket and refuses connections, is replaced.
    ///
    /// On Linux, `@name` is a name in the abstract namespace, which has no file. There, too, only connections of the
    /// user of this process, and of root, are accepted. `./@name` is a file.
    ///
    /// # Errors
    /// If there is any other file, the socket is in use, the file cannot be created, or the name is `@` alone. The error names the
    /// path.
    pub async fn unix(path: impl AsRef<Path>, framing: Framing) -> io::Result<Self> {
        let path = path.as_ref();
        let socket = if let Some(name) = in_abstract_namespace(path) {
            Socket::Abstract(socket_file::listen_without(&name).map_err(|error| about(&error, path.display()))?)
        } else {
            let (file, listener) = match socket_file::listen(path) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    let left_behind = socket_file::left_behind(path).await?;
                    socket_file::replace(path, left_behind)
                }
                other => other,
            }?;
            Socket::Unix { _file: file, listener }
        };
        Ok(Self::on(socket, path.display().to_string(), framing))
    }

    /// A TCP port. Whoever can reach it can call: `127.0.0.1:0` is for this machine alone, on any free port. A connection that
    /// begins with an HTTP request or with TLS is closed: it would let web pages call.
    ///
    /// # Errors
    /// If the address cannot be bound. The error names it.
    pub async fn tcp(address: impl ToSocketAddrs + fmt::Debug, framing: Framing) -> io::Result<Self> {
        let name = address_name(&address);
        let listener = TcpListener::bind(address).await.map_err(|error| about(&error, &name))?;
        Ok(Self::on(Socket::Tcp(listener), name, framing))
    }

    fn on(socket: Socket, name: String, framing: Framing) -> Self {
        Self { socket, name, framing, prepare: Prepare(Box::new(|transport| transport)) }
    }

    /// The same, with something done to each transport: another profile, other limits, a function for diagnostics.
    pub fn with(self, prepare: impl Fn(Transport) -> Transport + Send + Sync + 'static) -> Self {
        Self { prepare: Prepare(Box::new(prepare)), ..self }
    }

    /// Where a TCP listener listens; `None` for a Unix domain socket.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().ok(),
            Socket::Unix { .. } | Socket::Abstract(_) => None,
        }
    }

    /// Waits for somebody to connect.
    ///
    /// # Errors
    /// As `accept` of the platform. Most say nothing about the next connection; see [`Listener::serve`].
    pub async fn accept(&self) -> io::Result<Transport> {
        let stream = self.next().await?;
        self.transport(stream).map(|transport| (self.prepare.0)(transport))
    }

    async fn next(&self) -> io::Result<Stream> {
        match &self.socket {
            Socket::Unix { listener, .. } | Socket::Abstract(listener) => Ok(Stream::Unix(listener.accept().await?.0)),
            Socket::Tcp(listener) => Ok(Stream::Tcp(listener.accept().await?.0)),
        }
    }

    /// A transport over a connection, without the function of [`Listener::with`].
    ///
    /// # Errors
    /// Those of this connection alone.
    fn transport(&self, stream: Stream) -> io::Result<Transport> {
        match stream {
            Stream::Unix(stream) => {
                if matches!(self.socket, Socket::Abstract(_)) {
                    expect_same_user(&stream)?;
                }
                Transport::from_unix(stream, self.framing)
            }
            Stream::Tcp(stream) => Transport::accepted_tcp(stream, self.framing),
        }
    }

    /// Serves everybody who connects, each by a peer of its own, which `set_up` gives its methods. It ends when it is dropped;
    /// connections go on.
    ///
    /// Each of them can make this side hold [`Limits::unwritten_bytes`](crate::Limits::unwritten_bytes) by asking much and
    /// reading nothing: 16 MiB. Where many strangers connect, less is better: see [`Listener::with`] and
    /// [`Transport::with_limits`].
    ///
    /// # Errors
    /// If connections cannot be accepted any more. Too many open files, or a connection that fails at once, are no error. Nor is
    /// a panic of `set_up` or of the function of [`Listener::with`]: it ends the connection that it was for.
    pub async fn serve(self, set_up: impl Fn(&Peer) + Send + Sync) -> io::Result<()> {
        loop {
            match self.next().await {
                Ok(stream) => {
                    // A connection that has failed already is dropped. A panic has reached the panic hook, and is
                    // reported nowhere else.
                    let Ok(transport) = self.transport(stream) else { continue };
                    let Ok(transport) = guarded(|| (self.prepare.0)(transport)) else { continue };
                    let peer = Peer::made(transport, true);
                    let listener = &peer.client().link().listener;
                    // A peer without its methods is dropped, and ends.
                    if listener.guard("set_up", || set_up(&peer)).is_some() {
                        peer.forget();
                    }
                }
                Err(error) => match Cause::of(&error) {
                    Cause::Connection => {}
                    Cause::Unknown => tokio::time::sleep(PAUSE).await,
                    Cause::Listener => return Err(about(&error, &self.name)),
                },
            }
        }
    }
}

/// # Errors
/// If another user than that of this process, or root, has connected.
fn expect_same_user(stream: &UnixStream) -> io::Result<()> {
    let user = stream.peer_cred()?.uid();
    if user == geteuid().as_raw() || user == 0 {
        return Ok(());
    }
    let problem = std::format!("the user {user} has connected, but only the user of this process may");
    Err(io::Error::new(io::ErrorKind::PermissionDenied, problem))
}

/// The cause of an error of accept(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// One connection, which is gone. The next one may succeed.
    Connection,
    /// The error may come again at once: there are too many open files, or a firewall or a security module forbids it.
    Unknown,
    Listener,
}

impl Cause {
    fn of(error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            // Linux also reports an error that is pending on the new socket (accept(2), "Error handling").
            Some(
                Errno::CONNABORTED
                | Errno::CONNREFUSED
                | Errno::CONNRESET
                | Errno::HOSTDOWN
                | Errno::HOSTUNREACH
                | Errno::INTR
                | Errno::NETDOWN
                | Errno::NETUNREACH
                | Errno::NOPROTOOPT
                | Errno::NOTCONN
                | Errno::OPNOTSUPP
                | Errno::PIPE
                | Errno::PROTO
                | Errno::TIMEDOUT,
            ) => Self::Connection,
            // An error without a number comes from tokio: its runtime ends.
            Some(Errno::BADF | Errno::FAULT | Errno::INVAL | Errno::NOSYS | Errno::NOTSOCK) | None => Self::Listener,
            Some(_) => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_that_concerns_the_listener_ends_it() {
        for (cause, errors) in [
            (
                Cause::Connection,
                &[Errno::CONNABORTED, Errno::PROTO, Errno::HOSTUNREACH, Errno::NETDOWN, Errno::OPNOTSUPP][..],
            ),
            (
                Cause::Unknown,
                &[Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::PERM, Errno::ACCESS, Errno::IO],
            ),
            (Cause::Listener, &[Errno::BADF, Errno::INVAL, Errno::NOTSOCK]),
        ] {
            for error in errors {
                assert_eq!(Cause::of(&io::Error::from(*error)), cause, "{error:?}");
            }
        }
        assert_eq!(Cause::of(&io::Error::other("the runtime ends")), Cause::Listener);
    }
}
