//! The file of a Unix domain socket: made for one user alone, and removed if it is still the same.

use core::time::Duration;
use std::ffi::OsString;
use std::format;
use std::fs::{File, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::string::String;
use std::sync::{Mutex, PoisonError};

#[cfg(not(target_os = "linux"))]
use rustix::fs::chmodat;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, fstat, linkat, mkdirat, open, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::time::sleep;

use super::transport::about;

/// Reading and writing for the owner, nothing for others.
const MODE: u32 = 0o600;

/// As many connections as the system lets wait until they are accepted.
const BACKLOG: u32 = i32::MAX as u32;

/// How long a socket that was just bound may take until it listens. Until then it refuses connections.
const MOMENT: Duration = Duration::from_millis(50);

/// The flag of a descriptor that serves path lookup only, on Linux.
#[cfg(target_os = "linux")]
const PATH_ONLY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PATH_ONLY: OFlags = OFlags::empty();

/// The location of a file: an open folder, and a name in it. A rename of a part of the path does not change the folder.
#[derive(Debug)]
struct Location {
    folder: OwnedFd,
    name: OsString,
    /// The path for error messages. It may lead to another file by now.
    path: PathBuf,
}

impl Location {
    /// # Errors
    /// If the path has no file name, or its folder cannot be opened, which the error then names.
    fn of(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it names no file"))?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or_else(|| Path::new("."));
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | PATH_ONLY;
        let folder = open(parent, flags, Mode::empty())
            .map_err(|error| about(&error.into(), format_args!("the folder {}", parent.display())))?;
        Ok(Self { folder, name: name.to_os_string(), path: path.to_path_buf() })
    }

    /// The metadata of the file, or `None` if there is none. A symbolic link is not followed.
    fn file(&self) -> io::Result<Option<Stat>> {
        match statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            other => Ok(Some(other?)),
        }
    }
}

/// Listens on a new socket of this name in the abstract namespace. The name begins with a zero byte.
pub(super) fn listen_without(name: &Path) -> io::Result<UnixListener> {
    if name.as_os_str().len() <= 1 {
        // Linux would choose a name at random.
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name is empty"));
    }
    let socket = UnixSocket::new_stream()?;
    socket.bind(name)?;
    socket.listen(BACKLOG)
}

/// Listens on a new socket with a file of this name.
///
/// # Errors
/// If there is such a file, or it cannot be made.
pub(super) fn listen(path: &Path) -> io::Result<(SocketFile, UnixListener)> {
    let named = |error: io::Error| about(&error, path.display());
    let location = Location::of(path).map_err(named)?;
    // The path may lead to another folder when the socket is bound. Then a file that is here must not count as the new one.
    if location.file().map_err(named)?.is_some() {
        return in_use(format!("{} is there already", path.display()));
    }
    let socket = UnixSocket::new_stream().map_err(named)?;
    // On Linux, bind gives the file the mode that the socket has. Other systems refuse to set it, or take no notice.
    let _ =
        File::from(socket.as_fd().try_clone_to_owned().map_err(named)?).set_permissions(Permissions::from_mode(MODE));
    socket.bind(path).map_err(named)?;
    let file = SocketFile::new(location).map_err(named)?;
    // Another file may have the name by now. A symbolic link is not followed.
    #[cfg(not(target_os = "linux"))]
    chmodat(&file.location.folder, &file.location.name, Mode::from_raw_mode(MODE as _), AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|error| named(error.into()))?;
    // Nobody can connect before this.
    let listener = socket.listen(BACKLOG).map_err(named)?;
    Ok((file, listener))
}

/// The file of a socket that no process listens on any more.
#[derive(Debug)]
pub(super) struct LeftBehind {
    location: Location,
    identity: Identity,
}

/// The file of a socket that no process listens on any more; `None` if it has gone meanwhile.
///
/// # Errors
/// If it is any other file, or a process listens there.
pub(super) async fn left_behind(path: &Path) -> io::Result<Option<LeftBehind>> {
    let named = |error: io::Error| about(&error, path.display());
    let location = Location::of(path).map_err(named)?;
    let Some(file) = location.file().map_err(named)? else { return Ok(None) };
    if !is_socket(&file) {
        return in_use(format!("{} is there already, and is no socket", path.display()));
    }
    let identity = Identity::of(&file);
    expect_refusal(&location, identity).await?;
    sleep(MOMENT).await;
    expect_refusal(&location, identity).await?;
    Ok(Some(LeftBehind { location, identity }))
}

/// Listens on a new socket in place of one that was left behind. Within this process, one does so at a time.
///
/// # Errors
/// If another file has its name by now, or the new one cannot be made.
pub(super) fn replace(path: &Path, left_behind: Option<LeftBehind>) -> io::Result<(SocketFile, UnixListener)> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(LeftBehind { location, identity }) = left_behind {
        remove(&location, identity).map_err(|error| about(&error, path.display()))?;
    }
    listen(path)
}

/// The path to connect to, to find out whether a process listens on a socket file.
struct ConnectTarget {
    path: PathBuf,
    /// The open socket file, if `path` leads to it by its descriptor. A rename does not change that.
    _file: Option<OwnedFd>,
}

impl ConnectTarget {
    /// Returns `None` if the file was removed.
    ///
    /// # Errors
    /// If another file has its name by now.
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
            return Err(taken());
        }
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        // Some containers have no `/proc`.
        Ok(Some(if path.exists() { Self { path, _file: Some(file) } } else { by_name }))
    }
}

/// # Errors
/// If a connection to the socket of this file is not refused.
async fn expect_refusal(location: &Location, identity: Identity) -> io::Result<()> {
    let named = |error: io::Error| about(&error, location.path.display());
    // Another process may have removed the file.
    let Some(target) = ConnectTarget::of(location, identity).map_err(named)? else { return Ok(()) };
    match UnixStream::connect(&target.path).await {
        Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => Ok(()),
        // A full queue means that the socket is in use.
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(named(error)),
        _ => in_use(format!("somebody listens on {} already", location.path.display())),
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
    #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "systems have other types for these")]
    const fn of(file: &Stat) -> Self {
        let modified = (file.st_mtime as i64, file.st_mtime_nsec as i64);
        Self { device: file.st_dev as u64, inode: file.st_ino as u64, modified }
    }
}

fn is_socket(file: &Stat) -> bool {
    FileType::from_raw_mode(file.st_mode).is_socket()
}

/// Removes this file; one that has taken its name stays.
///
/// # Errors
/// If it cannot be removed, or another file has taken its name.
fn remove(location: &Location, identity: Identity) -> io::Result<()> {
    match location.file()? {
        Some(file) if Identity::of(&file) == identity => move_away(location, identity),
        Some(_) => Err(taken()),
        None => Ok(()),
    }
}

/// Removes this file, though another may take its name meanwhile.
///
/// No system removes a file by what it is. So the file of that name is moved into a new folder, where no other file is. If it
/// is this one, it is removed there, else it gets its name back. If the name is taken in between, it stays in that folder.
///
/// # Errors
/// As [`remove`].
fn move_away(location: &Location, identity: Identity) -> io::Result<()> {
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
    // One that holds a file stays.
    let _ = unlinkat(&location.folder, &folder.name, AtFlags::REMOVEDIR);
    removed
}

fn remove_moved(folder: &NewFolder, name: &str, location: &Location, identity: Identity) -> io::Result<()> {
    let file = statat(&folder.opened, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if Identity::of(&file) == identity {
        return Ok(unlinkat(&folder.opened, name, AtFlags::empty())?);
    }
    // Unlike a second change of the name, a link replaces nothing.
    linkat(&folder.opened, name, &location.folder, &location.name, AtFlags::empty()).map_err(|error| {
        let now = location.path.with_file_name(&folder.name).join(name);
        let problem = format!("a file of that name cannot have it back, and is now {}", now.display());
        io::Error::new(io::Error::from(error).kind(), problem)
    })?;
    unlinkat(&folder.opened, name, AtFlags::empty())?;
    Err(taken())
}

/// A folder beside a file, for this user alone.
struct NewFolder {
    name: String,
    /// Its name may stand for another folder by now. Files are moved to and from the one that was opened.
    opened: OwnedFd,
}

/// # Errors
/// If it cannot be made, or somebody has put a link in its place.
fn new_folder(location: &Location) -> io::Result<NewFolder> {
    let name = format!(".portway-{}", random_name());
    mkdirat(&location.folder, &name, Mode::RWXU)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(&location.folder, &name, flags, Mode::empty())?;
    Ok(NewFolder { name, opened })
}

/// A name that nobody can guess.
fn random_name() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

fn taken() -> io::Error {
    io::Error::new(io::ErrorKind::AddrInUse, "another process has taken the name")
}

/// The file of a socket, removed with it unless another one has its name by then.
#[derive(Debug)]
pub(super) struct SocketFile {
    location: Location,
    identity: Identity,
}

impl SocketFile {
    /// # Errors
    /// If the location has no file, or one that is not a socket.
    fn new(location: Location) -> io::Result<Self> {
        match location.file()? {
            Some(file) if is_socket(&file) => Ok(Self { location, identity: Identity::of(&file) }),
            Some(_) => Err(taken()),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "another process has removed the file or its folder")),
        }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // What cannot be removed is left behind, and replaced by the next listener.
        let _ = remove(&self.location, self.identity);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::UnixListener as Socket;

    use super::*;

    /// The names in a folder.
    fn names(folder: &Path) -> io::Result<std::vec::Vec<std::ffi::OsString>> {
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    }

    fn identity(location: &Location) -> io::Result<Identity> {
        location.file()?.map(|file| Identity::of(&file)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    #[test]
    fn a_file_that_has_taken_the_name_just_now_keeps_it() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.sock");
        let old = Socket::bind(&path)?;
        let location = Location::of(&path)?;
        let older = identity(&location)?;
        // So that the inode is not used again.
        fs::rename(&path, folder.path().join("old"))?;
        let new = Socket::bind(&path)?;
        let newer = identity(&location)?;
        assert_eq!(move_away(&location, older).map_err(|error| error.kind()), Err(io::ErrorKind::AddrInUse));
        assert_eq!(identity(&location)?, newer);
        assert_eq!(names(folder.path())?.len(), 2, "nothing else is there");
        drop((old, new));
        assert_eq!(move_away(&location, newer).map_err(|error| error.kind()), Ok(()));
        assert_eq!(move_away(&location, newer).map_err(|error| error.kind()), Ok(()));
        assert_eq!(names(folder.path())?, ["old"]);
        Ok(())
    }

    #[test]
    fn a_link_in_place_of_the_new_folder_leads_nowhere() -> io::Result<()> {
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
        assert_eq!(names(&folder.path().join("away"))?, std::vec::Vec::<std::ffi::OsString>::new());
        assert!(!path.exists());
        Ok(())
    }

    #[test]
    fn the_new_folder_is_for_its_owner_alone_and_another_each_time() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let location = Location::of(&folder.path().join("a.sock"))?;
        let (one, other) = (new_folder(&location)?, new_folder(&location)?);
        assert_ne!(one.name, other.name);
        assert_eq!(fs::metadata(folder.path().join(one.name))?.mode() & 0o777, 0o700);
        Ok(())
    }
}
