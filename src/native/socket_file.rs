//! The file of a Unix domain socket. Only the user of this process can access the file. The drop of [`SocketFile`]
//! removes the file, unless another file has replaced it.

use core::time::Duration;
use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

#[cfg(not(target_os = "linux"))]
use rustix::fs::chmodat;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, fstat, linkat, mkdirat, open, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::time::sleep;

use super::connect::describe_long_path;
use super::transport::with_subject;

/// Read and write access for the owner only.
const MODE: u32 = 0o600;

/// The requested length of the queue of connections. The system reduces this length to its maximum.
const BACKLOG: u32 = i32::MAX as u32;

/// Maximum time from the bind of a socket until it listens. During this time, the socket refuses connections, like a
/// stale socket.
const BIND_TO_LISTEN_DELAY: Duration = Duration::from_millis(50);

/// On Linux, the flag for a descriptor that is only used for path lookup.
#[cfg(target_os = "linux")]
const PATH_ONLY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PATH_ONLY: OFlags = OFlags::empty();

/// The location of a file: an open folder, and a name in this folder. The location stays valid if a part of the path is
/// renamed.
#[derive(Debug)]
struct Location {
    folder: OwnedFd,
    name: OsString,
    /// The path, for error messages. Another file may have this path now.
    path: PathBuf,
}

impl Location {
    /// Opens the folder of a path.
    ///
    /// # Errors
    /// If the path has no file name, or its folder cannot be opened. In the second case, the error names the folder.
    fn of(path: &Path) -> io::Result<Self> {
        let name =
            path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"))?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or_else(|| Path::new("."));
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | PATH_ONLY;
        let folder = open(parent, flags, Mode::empty())
            .map_err(|error| with_subject(&error.into(), format_args!("the folder {}", parent.display())))?;
        Ok(Self { folder, name: name.to_os_string(), path: path.to_path_buf() })
    }

    /// Returns the metadata of the file, or `None` if it does not exist. Does not follow a symbolic link.
    fn file(&self) -> io::Result<Option<Stat>> {
        match statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            other => Ok(Some(other?)),
        }
    }
}

/// Listens on a new socket in the abstract namespace. `name` begins with a zero byte.
pub(super) fn listen_abstract(name: &Path) -> io::Result<UnixListener> {
    if name.as_os_str().len() <= 1 {
        // For an empty name, Linux would choose a random name.
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name is empty"));
    }
    let socket = UnixSocket::new_stream()?;
    socket.bind(name)?;
    socket.listen(BACKLOG)
}

/// Listens on a new socket with a file at `path`.
///
/// # Errors
/// If a file exists at `path`, or the socket file cannot be created.
pub(super) fn listen(path: &Path) -> io::Result<(SocketFile, UnixListener)> {
    let named = |error: io::Error| with_subject(&error, path.display());
    let location = Location::of(path).map_err(named)?;
    // This check is necessary, because the bind resolves the path again, and may find another folder. In this case, an
    // existing file in the folder of `location` would be taken for the file of the new socket.
    if location.file().map_err(named)?.is_some() {
        return in_use(path, "a file of this name already exists");
    }
    let socket = UnixSocket::new_stream().map_err(named)?;
    // On Linux, the bind copies the mode of the socket to the file. Other systems refuse to set this mode, or ignore
    // it.
    let _ =
        File::from(socket.as_fd().try_clone_to_owned().map_err(named)?).set_permissions(Permissions::from_mode(MODE));
    socket.bind(path).map_err(|error| named(describe_long_path(error, path)))?;
    let file = SocketFile::new(location).map_err(named)?;
    // Another file may have the name now, so a symbolic link must not be followed.
    #[cfg(not(target_os = "linux"))]
    chmodat(&file.location.folder, &file.location.name, Mode::from_raw_mode(MODE as _), AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|error| named(error.into()))?;
    // Connections are refused until this call.
    let listener = socket.listen(BACKLOG).map_err(named)?;
    Ok((file, listener))
}

/// The file of a socket on which no process listens.
#[derive(Debug)]
pub(super) struct StaleSocket {
    location: Location,
    identity: Identity,
}

/// Returns the stale socket file at `path`, or `None` if the file no longer exists.
///
/// # Errors
/// If the file is not a socket, or a process listens on it.
pub(super) async fn find_stale(path: &Path) -> io::Result<Option<StaleSocket>> {
    let named = |error: io::Error| with_subject(&error, path.display());
    let location = Location::of(path).map_err(named)?;
    let Some(file) = location.file().map_err(named)? else { return Ok(None) };
    if !is_socket(&file) {
        return in_use(path, "the file already exists, and is not a socket");
    }
    let identity = Identity::of(&file);
    expect_refusal(&location, identity).await?;
    sleep(BIND_TO_LISTEN_DELAY).await;
    expect_refusal(&location, identity).await?;
    Ok(Some(StaleSocket { location, identity }))
}

/// Removes the stale socket file, if there is one, and listens on a new socket at `path`. A lock makes other callers in
/// this process wait.
///
/// # Errors
/// If another file now has the name, or the new socket file cannot be created.
pub(super) fn replace(path: &Path, stale_socket: Option<StaleSocket>) -> io::Result<(SocketFile, UnixListener)> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(StaleSocket { location, identity }) = stale_socket {
        remove(&location, identity).map_err(|error| with_subject(&error, path.display()))?;
    }
    listen(path)
}

/// The path for a test connection, which shows whether a process listens on a socket file.
struct ConnectTarget {
    path: PathBuf,
    /// The open socket file, if `path` refers to its descriptor. A path through the descriptor stays valid after the
    /// file is renamed.
    _file: Option<OwnedFd>,
}

impl ConnectTarget {
    /// Returns the path to connect to, or `None` if the file was removed.
    ///
    /// # Errors
    /// If another file now has the name.
    fn of(location: &Location, identity: Identity) -> io::Result<Option<Self>> {
        let by_name = Self { path: location.path.clone(), _file: None };
        if !cfg!(target_os = "linux") {
            return Ok(Some(by_name));
        }
        let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | PATH_ONLY;
        let file = match openat(&location.folder, &location.name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            other => other?,
        };
        if Identity::of(&fstat(&file)?) != identity {
            return Err(name_in_use());
        }
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        // Some containers have no `/proc`.
        Ok(Some(if path.exists() { Self { path, _file: Some(file) } } else { by_name }))
    }
}

/// Connects to the socket of this file, which must refuse the connection.
///
/// # Errors
/// If the socket does not refuse the connection.
async fn expect_refusal(location: &Location, identity: Identity) -> io::Result<()> {
    let named = |error: io::Error| with_subject(&error, location.path.display());
    // Another process may have removed the file.
    let Some(target) = ConnectTarget::of(location, identity).map_err(named)? else { return Ok(()) };
    match UnixStream::connect(&target.path).await {
        Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => Ok(()),
        // `WouldBlock` means a full queue, so the socket is in use.
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(named(error)),
        _ => in_use(&location.path, "another listener is using this socket"),
    }
}

fn in_use<T>(path: &Path, problem: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::AddrInUse, format!("{}: {problem}", path.display())))
}

/// Distinguishes a file from a later file of the same name. Some file systems reuse the number of an inode at once. So
/// the identity also includes the modification time, which never changes for a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
    modified: (i64, i64),
}

impl Identity {
    #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "the types of these fields depend on the system")]
    const fn of(file: &Stat) -> Self {
        let modified = (file.st_mtime as i64, file.st_mtime_nsec as i64);
        Self { device: file.st_dev as u64, inode: file.st_ino as u64, modified }
    }
}

fn is_socket(file: &Stat) -> bool {
    FileType::from_raw_mode(file.st_mode).is_socket()
}

/// Removes the file, unless another file has its name.
///
/// # Errors
/// If the file cannot be removed, or another file has its name.
fn remove(location: &Location, identity: Identity) -> io::Result<()> {
    match location.file()? {
        Some(file) if Identity::of(&file) == identity => remove_by_move(location, identity),
        Some(_) => Err(name_in_use()),
        None => Ok(()),
    }
}

/// Removes the file. If another file gets the name of this file at the same time, the other file is not removed.
///
/// Systems remove files by name only. So the file with this name is first moved into a new, empty folder. If the moved
/// file is the expected file, it is removed. Any other file is moved back. If the name is already in use again, the
/// other file stays in the new folder.
///
/// # Errors
/// The errors of [`remove`].
fn remove_by_move(location: &Location, identity: Identity) -> io::Result<()> {
    let folder = new_folder(location)?;
    move_into(&folder, location, identity)
}

fn move_into(folder: &NewFolder, location: &Location, identity: Identity) -> io::Result<()> {
    let name = random_name();
    let removed = match renameat(&location.folder, &location.name, &folder.opened, &name) {
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(()) => remove_moved(folder, &name, location, identity),
    };
    // The removal of the folder fails if it still contains a file. This failure is ignored.
    let _ = unlinkat(&location.folder, &folder.name, AtFlags::REMOVEDIR);
    removed
}

fn remove_moved(folder: &NewFolder, name: &str, location: &Location, identity: Identity) -> io::Result<()> {
    let file = statat(&folder.opened, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if Identity::of(&file) == identity {
        return Ok(unlinkat(&folder.opened, name, AtFlags::empty())?);
    }
    // A hard link moves the file back. Unlike a rename, it does not replace an existing file.
    linkat(&folder.opened, name, &location.folder, &location.name, AtFlags::empty()).map_err(|error| {
        let now = location.path.with_file_name(&folder.name).join(name);
        let problem = format!("another file of that name was moved to {}, and cannot be moved back", now.display());
        io::Error::new(io::Error::from(error).kind(), problem)
    })?;
    unlinkat(&folder.opened, name, AtFlags::empty())?;
    Err(name_in_use())
}

/// A folder next to a socket file. Only this user can access the folder.
struct NewFolder {
    name: String,
    /// The open folder. Files are moved through this descriptor, because another folder may have the name now.
    opened: OwnedFd,
}

/// Creates a folder next to a socket file.
///
/// # Errors
/// If the folder cannot be created, or a link has replaced it.
fn new_folder(location: &Location) -> io::Result<NewFolder> {
    let name = format!(".portway-{}", random_name());
    mkdirat(&location.folder, &name, Mode::RWXU)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(&location.folder, &name, flags, Mode::empty())?;
    Ok(NewFolder { name, opened })
}

/// Returns an unpredictable name.
fn random_name() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

fn name_in_use() -> io::Error {
    io::Error::new(io::ErrorKind::AddrInUse, "another process has created a file of that name")
}

/// The file of a listening socket. The drop of this value removes the file, unless another file has its name.
#[derive(Debug)]
pub(super) struct SocketFile {
    location: Location,
    identity: Identity,
}

impl SocketFile {
    /// Returns the file of a newly bound socket.
    ///
    /// # Errors
    /// If the file at the location is missing or is not a socket.
    fn new(location: Location) -> io::Result<Self> {
        match location.file()? {
            Some(file) if is_socket(&file) => Ok(Self { location, identity: Identity::of(&file) }),
            Some(_) => Err(name_in_use()),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "another process has removed the file or its folder")),
        }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // If removal fails, the next listener replaces the stale file.
        let _ = remove(&self.location, self.identity);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::UnixListener as Socket;

    use super::*;

    /// Returns the names in a folder.
    fn names(folder: &Path) -> io::Result<Vec<std::ffi::OsString>> {
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    }

    fn identity(location: &Location) -> io::Result<Identity> {
        location.file()?.map(|file| Identity::of(&file)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    #[test]
    fn another_file_with_the_same_name_is_not_removed() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.sock");
        let old = Socket::bind(&path)?;
        let location = Location::of(&path)?;
        let old_identity = identity(&location)?;
        // The old file is kept, so that its inode is not reused.
        fs::rename(&path, folder.path().join("old"))?;
        let new = Socket::bind(&path)?;
        let new_identity = identity(&location)?;
        assert_eq!(remove_by_move(&location, old_identity).map_err(|e| e.kind()), Err(io::ErrorKind::AddrInUse));
        assert_eq!(identity(&location)?, new_identity);
        assert_eq!(names(folder.path())?.len(), 2, "the folder must contain only the old file and the new file");
        drop((old, new));
        assert_eq!(remove_by_move(&location, new_identity).map_err(|error| error.kind()), Ok(()));
        assert_eq!(remove_by_move(&location, new_identity).map_err(|error| error.kind()), Ok(()));
        assert_eq!(names(folder.path())?, ["old"]);
        Ok(())
    }

    #[test]
    fn a_symbolic_link_in_place_of_the_new_folder_is_not_followed() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.sock");
        let _socket = Socket::bind(&path)?;
        let location = Location::of(&path)?;
        let identity = identity(&location)?;
        let victim = folder.path().join("victim");
        fs::create_dir(&victim)?;
        fs::write(victim.join("socket"), "theirs")?;
        let new = new_folder(&location)?;
        fs::rename(folder.path().join(&new.name), folder.path().join("away"))?;
        std::os::unix::fs::symlink(&victim, folder.path().join(&new.name))?;
        assert_eq!(move_into(&new, &location, identity).map_err(|error| error.kind()), Ok(()));
        assert_eq!(fs::read_to_string(victim.join("socket"))?, "theirs");
        assert_eq!(names(&victim)?, ["socket"]);
        assert_eq!(names(&folder.path().join("away"))?, Vec::<std::ffi::OsString>::new());
        assert!(!path.exists());
        Ok(())
    }

    #[test]
    fn the_new_folder_is_private_and_has_another_name_each_time() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let location = Location::of(&folder.path().join("a.sock"))?;
        let (one, other) = (new_folder(&location)?, new_folder(&location)?);
        assert_ne!(one.name, other.name);
        assert_eq!(fs::metadata(folder.path().join(one.name))?.mode() & 0o777, 0o700);
        Ok(())
    }
}
