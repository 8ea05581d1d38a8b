//! Connects to a Unix domain socket.

use core::time::Duration;
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use tokio::net::UnixStream;
use tokio::time::{Instant, sleep};

/// The interval between two attempts to connect to a busy socket.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// The maximum length of the path of a socket: the length of `sun_path` without the NUL at its end (unix(7)).
const MAX_PATH_BYTES: usize = if cfg!(any(target_os = "linux", target_os = "android")) { 107 } else { 103 };

/// Connects to a Unix domain socket. If the queue of the listener is full, waits for room in the queue, for at most
/// `max_wait`.
///
/// [`Transport::unix`](crate::Transport::unix) connects in the same way. Use `connect_unix` if the program needs the
/// stream itself, for example to wrap it before [`Transport::new`](crate::Transport::new).
///
/// On Linux, `@name` is a name in the abstract namespace. `./@name` is a file.
///
/// ```
/// use std::time::Duration;
///
/// use portway::connect_unix;
/// use portway::{Client, Framing, Transport};
/// use tokio::io::BufWriter;
///
/// # async fn run() -> std::io::Result<()> {
/// let stream = connect_unix("sums.sock", Duration::from_secs(1)).await?;
/// let (reader, writer) = stream.into_split();
/// let client = Client::new(Transport::new(reader, BufWriter::new(writer), Framing::Newline)?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The errors of connect(2), or [`io::ErrorKind::TimedOut`] if the queue stays full. The error does not name the path.
pub async fn connect_unix(path: impl AsRef<Path>, max_wait: Duration) -> io::Result<UnixStream> {
    let path = path.as_ref();
    let path = in_abstract_namespace(path).map_or(Cow::Borrowed(path), Cow::Owned);
    let start = Instant::now();
    loop {
        match UnixStream::connect(&path).await {
            // Linux reports a full queue as EAGAIN (connect(2)). For TCP, the system itself waits for room in the
            // queue.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if start.elapsed() >= max_wait {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "the queue of the listener is full"));
                }
                sleep(RETRY_INTERVAL).await;
            }
            connected => return connected.map_err(|error| describe_long_path(error, &path)),
        }
    }
}

/// Returns the error of a bind or a connect to `path`. If the path is too long, returns a clearer error, because the
/// error of the standard library names only a constant of C.
pub(super) fn describe_long_path(error: io::Error, path: &Path) -> io::Error {
    let length = path.as_os_str().len();
    if error.kind() != io::ErrorKind::InvalidInput || length <= MAX_PATH_BYTES {
        return error;
    }
    let problem = "the path of a socket must have at most";
    let remedy = "use a shorter path, or a path relative to the working directory";
    io::Error::new(error.kind(), format!("{problem} {MAX_PATH_BYTES} bytes, got {length}; {remedy}"))
}

/// Returns the path of a socket in the abstract namespace of Linux (unix(7)), in which sockets have no files. The
/// argument `@name` means a socket in this namespace, as in `ss` and systemd. For any other argument, such as
/// `./@name`, returns `None`.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn in_abstract_namespace(path: &Path) -> Option<PathBuf> {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};

    let name = path.as_os_str().as_bytes().strip_prefix(b"@")?;
    Some(PathBuf::from(OsString::from_vec([b"\0", name].concat())))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) const fn in_abstract_namespace(_: &Path) -> Option<PathBuf> {
    None
}
