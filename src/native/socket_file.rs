//! The file of a Unix domain socket: made for one user alone, and removed if it is still the same.

use core::time::Duration;
use std::ffi::OsString;
use std::format;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::string::String;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::time::sleep;

use super::transport::about;

/// Reading and writing for the owner, nothing for others.
const MODE: u32 = 0o600;

/// As many connections as the system lets wait until they are accepted.
const BACKLOG: u32 = i32::MAX as u32;

/// How long a socket that was just bound may take until it listens. Until then it refuses connections.
const MOMENT: Duration = Duration::from_millis(50);

/// Listens on a new socket with a file of this name.
///
/// # Errors
/// If there is such a file, or it cannot be made.
pub(super) fn listen(path: &Path) -> io::Result<(SocketFile, UnixListener)> {
    let named = |error| about(&error, path.display());
    let socket = UnixSocket::new_stream()?;
    // On Linux, bind gives the file the mode that the socket has. Other systems refuse to set it, or take no notice.
    let _ = File::from(socket.as_fd().try_clone_to_owned()?).set_permissions(Permissions::from_mode(MODE));
    socket.bind(path).map_err(named)?;
    let file = SocketFile::new(path).map_err(named)?;
    if file.mode & 0o777 != MODE {
        fs::set_permissions(path, Permissions::from_mode(MODE)).map_err(named)?;
    }
    // Nobody can connect before this.
    let listener = socket.listen(BACKLOG).map_err(named)?;
    Ok((file, listener))
}

/// The file of a socket that no process listens on any more; `None` if it has gone meanwhile.
///
/// # Errors
/// If it is any other file, or a process listens there.
pub(super) async fn left_behind(path: &Path) -> io::Result<Option<Identity>> {
    let file = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|error| about(&error, path.display()))?,
    };
    if !file.file_type().is_socket() {
        return in_use(format!("{} is there already, and is no socket", path.display()));
    }
    expect_refusal(path).await?;
    sleep(MOMENT).await;
    expect_refusal(path).await?;
    Ok(Some(Identity::of(&file)))
}

/// Listens on a new socket in place of one that was left behind. Within this process, one does so at a time.
///
/// # Errors
/// If another file has its name by now, or the new one cannot be made.
pub(super) fn replace(path: &Path, left_behind: Option<Identity>) -> io::Result<(SocketFile, UnixListener)> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(identity) = left_behind {
        remove(path, identity).map_err(|error| about(&error, path.display()))?;
    }
    listen(path)
}

/// # Errors
/// If a connection to this socket is not refused.
async fn expect_refusal(path: &Path) -> io::Result<()> {
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        // Another process has removed it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(about(&error, path.display())),
        Ok(_) => in_use(format!("somebody listens on {} already", path.display())),
    }
}

fn in_use<T>(text: String) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::AddrInUse, text))
}

/// What tells a file from a later one of the same name. Some file systems use the number of an inode again at once, so the
/// time at which it was made counts, too: that of a socket never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
    modified: (i64, i64),
}

impl Identity {
    fn of(file: &fs::Metadata) -> Self {
        Self { device: file.dev(), inode: file.ino(), modified: (file.mtime(), file.mtime_nsec()) }
    }
}

/// Removes this file; one that has taken its name stays.
///
/// No system removes a file by what it is. So the name is changed to one that nobody uses, and what that turns out to be is
/// removed, or gets its name back. Only if the name is taken in between, it does not.
///
/// # Errors
/// If it cannot be removed, or another file has taken its name.
fn remove(path: &Path, identity: Identity) -> io::Result<()> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let is_it = |path: &Path| fs::symlink_metadata(path).map(|file| Identity::of(&file) == identity);
    let taken = || io::Error::new(io::ErrorKind::AddrInUse, "another process has taken the name");
    match is_it(path) {
        Ok(true) => {}
        Ok(false) => return Err(taken()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    let mut name = OsString::from(path);
    name.push(format!(".{}.{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    let moved = PathBuf::from(name);
    match fs::rename(path, &moved) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    }
    if is_it(&moved)? {
        return fs::remove_file(&moved);
    }
    // Unlike a second change of the name, a link replaces nothing.
    fs::hard_link(&moved, path)?;
    fs::remove_file(&moved)?;
    Err(taken())
}

/// The file of a socket, removed with it unless another one has its name by then.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    identity: Identity,
    mode: u32,
}

impl SocketFile {
    fn new(path: &Path) -> io::Result<Self> {
        let file = fs::symlink_metadata(path)?;
        // The process may go to another folder.
        Ok(Self { path: std::path::absolute(path)?, identity: Identity::of(&file), mode: file.mode() })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // What cannot be removed is left behind, and replaced by the next listener.
        let _ = remove(&self.path, self.identity);
    }
}
