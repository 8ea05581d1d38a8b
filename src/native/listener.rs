//! Sockets that others connect to.

use core::fmt;
use core::time::Duration;
use std::boxed::Box;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use tokio::net::{TcpListener, ToSocketAddrs, UnixListener};

use super::peer::Peer;
use super::socket_file::{self, SocketFile};
use super::transport::Transport;
use crate::codec::framing::Framing;

/// How long to wait where the process has too many open files, before the next connection is taken.
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
    Tcp(TcpListener),
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
    /// # Errors
    /// If there is any other file, somebody listens there, or the file cannot be made.
    pub async fn unix(path: impl AsRef<Path>, framing: Framing) -> io::Result<Self> {
        let path = path.as_ref();
        let (file, listener) = match socket_file::listen(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                let left_behind = socket_file::left_behind(path).await?;
                socket_file::replace(path, left_behind)
            }
            other => other,
        }?;
        Ok(Self::on(Socket::Unix { _file: file, listener }, framing))
    }

    /// A TCP port. Whoever can reach it can call: `127.0.0.1:0` is for this machine alone, on any free port. A connection that
    /// begins with an HTTP request or with TLS is closed: it would let web pages call.
    ///
    /// # Errors
    /// If the address is not to be had.
    pub async fn tcp(address: impl ToSocketAddrs, framing: Framing) -> io::Result<Self> {
        Ok(Self::on(Socket::Tcp(TcpListener::bind(address).await?), framing))
    }

    fn on(socket: Socket, framing: Framing) -> Self {
        Self { socket, framing, prepare: Prepare(Box::new(|transport| transport)) }
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
            Socket::Unix { .. } => None,
        }
    }

    /// Waits for somebody to connect.
    ///
    /// # Errors
    /// As `accept` of the platform. Most say nothing about the next connection; see [`Listener::serve`].
    pub async fn accept(&self) -> io::Result<Transport> {
        let transport = match &self.socket {
            Socket::Unix { listener, .. } => Transport::from_unix(listener.accept().await?.0, self.framing)?,
            Socket::Tcp(listener) => Transport::accepted_tcp(listener.accept().await?.0, self.framing)?,
        };
        Ok((self.prepare.0)(transport))
    }

    /// Serves everybody who connects, each by a peer of its own, which `set_up` gives its methods. It ends when it is dropped;
    /// connections go on.
    ///
    /// Each of them can make this side hold [`Limits::unwritten_bytes`](crate::Limits::unwritten_bytes) by asking much and
    /// reading nothing: 16 MiB. Where many strangers connect, less is better: see [`Listener::with`] and
    /// [`Transport::with_limits`].
    ///
    /// # Errors
    /// If connections cannot be taken any more. Too many open files, or one connection that fails at once, are no reason.
    pub async fn serve(self, set_up: impl Fn(&Peer) + Send + Sync) -> io::Result<()> {
        loop {
            match self.accept().await {
                Ok(transport) => {
                    let peer = Peer::made(transport, true);
                    set_up(&peer);
                    peer.forget();
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) if is_for_now(&error) => tokio::time::sleep(PAUSE).await,
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted, InvalidInput, NotConnected,
    };
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted | InvalidInput | NotConnected
    )
}

/// Too many open files, of this process or of the system; no memory.
fn is_for_now(error: &io::Error) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    const ENOBUFS: i32 = 105;
    const ENOMEM: i32 = 12;
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE | ENOBUFS | ENOMEM))
}
