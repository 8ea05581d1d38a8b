//! Sockets that others connect to.

use core::fmt;
use core::time::Duration;
use std::boxed::Box;
use std::format;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::string::String;

use tokio::net::{TcpListener, ToSocketAddrs, UnixListener, UnixStream};

use super::peer::Peer;
use super::transport::Transport;
use crate::codec::framing::Framing;

/// How long to wait where the process has too many open files, before the next connection is taken.
const PAUSE: Duration = Duration::from_millis(50);

/// A socket that others connect to: a Unix domain socket, or a TCP port.
///
/// ```no_run
/// use portway::{Context, Framing, Listener, RpcError};
///
/// # async fn run() -> std::io::Result<()> {
/// let listener = Listener::unix("/run/sums.sock", Framing::ContentLength).await?;
/// listener
///     .serve(|peer| {
///         peer.method("add", |(a, b): (i64, i64), _: Context| async move { Ok::<_, RpcError>(a + b) });
///     })
///     .await
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
    Unix { listener: UnixListener, _file: SocketFile },
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
    /// A file that a listener has left behind, which is a socket and refuses connections, is replaced.
    ///
    /// # Errors
    /// If there is any other file, somebody listens there, or the file cannot be made.
    pub async fn unix(path: impl AsRef<Path>, framing: Framing) -> io::Result<Self> {
        let path = path.as_ref();
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                remove_left_behind(path).await?;
                UnixListener::bind(path)
            }
            other => other,
        }?;
        let file = SocketFile::new(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        Ok(Self::on(Socket::Unix { listener, _file: file }, framing))
    }

    /// A TCP port. Whoever can reach it can call: `127.0.0.1:0` is for this machine alone, on any free port.
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
            Socket::Tcp(listener) => Transport::from_tcp(listener.accept().await?.0, self.framing)?,
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

/// Removes the file of a socket that nobody listens on any more.
async fn remove_left_behind(path: &Path) -> io::Result<()> {
    let in_use = |text: String| Err(io::Error::new(io::ErrorKind::AddrInUse, text));
    let path_text = path.display();
    match fs::symlink_metadata(path) {
        Ok(file) if !file.file_type().is_socket() => {
            return in_use(format!("{path_text} is there already, and is no socket"));
        }
        Ok(_) => {}
        Err(error) => return Err(error),
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
        Ok(_) => in_use(format!("somebody listens on {path_text} already")),
    }
}

/// The file of a socket, removed with it unless it is another's by then.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    fn new(path: &Path) -> io::Result<Self> {
        let file = fs::symlink_metadata(path)?;
        Ok(Self { path: path.to_path_buf(), device: file.dev(), inode: file.ino() })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours =
            fs::symlink_metadata(&self.path).is_ok_and(|file| (file.dev(), file.ino()) == (self.device, self.inode));
        if is_ours {
            // What cannot be removed is left behind, and replaced by the next.
            let _ = fs::remove_file(&self.path);
        }
    }
}
