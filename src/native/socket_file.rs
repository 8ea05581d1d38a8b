//! The file of a Unix domain socket: made for one user alone, and removed if it is still the same.

use core::time::Duration;
use std::format;
use std::fs::{self, DirBuilder, File, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::string::String;
use std::sync::{Mutex, PoisonError};

#[cfg(not(target_os = "linux"))]
use rustix::fs::chmodat;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, linkat, open, renameat, statat, unlinkat};
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

/// Listens on a new socket with a file of this name.
///
/// # Errors
/// If there is such a file, or it cannot be made.
pub(super) fn listen(path: &Path) -> io::Result<(SocketFile, UnixListener)> {
    let named = |error: io::Error| about(&error, path.display());
    let socket = UnixSocket::new_stream()?;
    // On Linux, bind gives the file the mode that the socket has. Other systems refuse to set it, or take no notice.
    let _ = File::from(socket.as_fd().try_clone_to_owned()?).set_permissions(Permissions::from_mode(MODE));
    socket.bind(path).map_err(named)?;
    let file = SocketFile::new(path).map_err(named)?;
    // By its name, it may be another file by now: no link is followed.
    #[cfg(not(target_os = "linux"))]
    chmodat(CWD, path, Mode::from_raw_mode(MODE as _), AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|error| named(error.into()))?;
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

    /// The same, of a file in a folder that is open.
    #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "systems have other types for these")]
    const fn of_stat(file: &Stat) -> Self {
        let modified = (file.st_mtime as i64, file.st_mtime_nsec as i64);
        Self { device: file.st_dev as u64, inode: file.st_ino as u64, modified }
    }
}

/// Removes this file; one that has taken its name stays.
///
/// # Errors
/// If it cannot be removed, or another file has taken its name.
fn remove(path: &Path, identity: Identity) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(file) if Identity::of(&file) == identity => move_away(path, identity),
        Ok(_) => Err(taken()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes this file, though another may take its name meanwhile.
///
/// No system removes a file by what it is. So the file of that name is moved into a new folder, where no other file is. If it
/// is this one, it is removed there, else it gets its name back. If the name is taken in between, it stays in that folder.
///
/// # Errors
/// As [`remove`].
fn move_away(path: &Path, identity: Identity) -> io::Result<()> {
    let folder = new_folder(path)?;
    move_into(&folder, path, identity)
}

fn move_into(folder: &NewFolder, path: &Path, identity: Identity) -> io::Result<()> {
    let name = random_name();
    let removed = match renameat(CWD, path, &folder.opened, &name) {
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(()) => remove_moved(folder, &name, path, identity),
    };
    // One that holds a file stays.
    let _ = fs::remove_dir(&folder.path);
    removed
}

fn remove_moved(folder: &NewFolder, name: &str, path: &Path, identity: Identity) -> io::Result<()> {
    let file = statat(&folder.opened, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if Identity::of_stat(&file) == identity {
        return Ok(unlinkat(&folder.opened, name, AtFlags::empty())?);
    }
    // Unlike a second change of the name, a link replaces nothing.
    linkat(&folder.opened, name, CWD, path, AtFlags::empty()).map_err(|error| {
        let now = folder.path.join(name);
        let problem = format!("a file of that name cannot have it back, and is now {}", now.display());
        io::Error::new(io::Error::from(error).kind(), problem)
    })?;
    unlinkat(&folder.opened, name, AtFlags::empty())?;
    Err(taken())
}

/// A folder beside a file, for this user alone.
struct NewFolder {
    path: PathBuf,
    /// Its name may stand for another folder by now. Files are moved to and from the one that was opened.
    opened: OwnedFd,
}

/// # Errors
/// If it cannot be made, or somebody has put a link in its place.
fn new_folder(path: &Path) -> io::Result<NewFolder> {
    let path = path.with_file_name(format!(".portway-{}", random_name()));
    DirBuilder::new().mode(0o700).create(&path)?;
    let opened = open(&path, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    Ok(NewFolder { path, opened })
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
    path: PathBuf,
    identity: Identity,
}

impl SocketFile {
    fn new(path: &Path) -> io::Result<Self> {
        let file = fs::symlink_metadata(path)?;
        // The process may go to another folder.
        Ok(Self { path: std::path::absolute(path)?, identity: Identity::of(&file) })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // What cannot be removed is left behind, and replaced by the next listener.
        let _ = remove(&self.path, self.identity);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener as Socket;

    use super::*;

    /// The names in a folder.
    fn names(folder: &Path) -> io::Result<std::vec::Vec<std::ffi::OsString>> {
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    }

    #[test]
    fn a_file_that_has_taken_the_name_just_now_keeps_it() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.sock");
        let old = Socket::bind(&path)?;
        let identity = Identity::of(&fs::symlink_metadata(&path)?);
        // So that the inode is not used again.
        fs::rename(&path, folder.path().join("old"))?;
        let new = Socket::bind(&path)?;
        let newer = Identity::of(&fs::symlink_metadata(&path)?);
        assert_eq!(move_away(&path, identity).map_err(|error| error.kind()), Err(io::ErrorKind::AddrInUse));
        assert_eq!(Identity::of(&fs::symlink_metadata(&path)?), newer);
        assert_eq!(names(folder.path())?.len(), 2, "nothing else is there");
        drop((old, new));
        assert_eq!(move_away(&path, newer).map_err(|error| error.kind()), Ok(()));
        assert_eq!(move_away(&path, newer).map_err(|error| error.kind()), Ok(()));
        assert_eq!(names(folder.path())?, ["old"]);
        Ok(())
    }

    #[test]
    fn a_link_in_place_of_the_new_folder_leads_nowhere() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.sock");
        let _socket = Socket::bind(&path)?;
        let identity = Identity::of(&fs::symlink_metadata(&path)?);
        let victim = folder.path().join("victim");
        DirBuilder::new().mode(0o755).create(&victim)?;
        fs::write(victim.join("socket"), "theirs")?;
        let new = new_folder(&path)?;
        fs::rename(&new.path, folder.path().join("away"))?;
        std::os::unix::fs::symlink(&victim, &new.path)?;
        assert_eq!(move_into(&new, &path, identity).map_err(|error| error.kind()), Ok(()));
        assert_eq!(fs::read_to_string(victim.join("socket"))?, "theirs");
        assert_eq!(names(&victim)?, ["socket"]);
        assert_eq!(names(&folder.path().join("away"))?, std::vec::Vec::<std::ffi::OsString>::new());
        assert!(!path.exists());
        Ok(())
    }

    #[test]
    fn the_new_folder_is_for_its_owner_alone_and_another_each_time() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.sock");
        let (one, other) = (new_folder(&path)?, new_folder(&path)?);
        assert_ne!(one.path, other.path);
        assert_eq!(one.path.parent(), Some(folder.path()));
        assert_eq!(fs::metadata(&one.path)?.mode() & 0o777, 0o700);
        Ok(())
    }
}
