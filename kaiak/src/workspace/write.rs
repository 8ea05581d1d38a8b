//! Changes of files: each change is complete or has no effect, and is refused if the file is not as it was read.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    Access, AtFlags, Gid, Mode, OFlags, Stat, Uid, accessat, fchmod, fchown, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::error::{ErrorKind, WorkspaceError};
use super::path::RelativePath;
use super::{MAX_FILE_BYTES, Workspace, read_in, regular_file};

use crate::limits::MAX_NAME_ATTEMPTS;

/// The mode of a new file, from which the system removes the bits of the umask.
const NEW_FILE_MODE: u32 = 0o666;

/// The bits of a mode that are copied to the new content of a file.
const MODE_BITS: u32 = 0o7777;

/// Returns a name for a temporary entry. Another entry may have the name.
pub(super) fn temporary_name() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    format!(".kaiak-{}-{}.tmp", process::id(), COUNTER.fetch_add(1, Ordering::Relaxed))
}

impl Workspace {
    /// Replaces the content of a file, or creates a file if `expected` is `None`. The folder must exist.
    ///
    /// The new content is written to a temporary file in the same folder, which then replaces the file. The mode stays,
    /// and the owner stays if this process may set it. Readers see the old content or the new content.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`] if the content is not `expected`, [`ErrorKind::Exists`] if a new file exists,
    /// [`ErrorKind::ReadOnly`], [`ErrorKind::TooLarge`], and the errors of [`Workspace::read`]. After an error, the
    /// file is unchanged.
    pub fn write(&self, path: &RelativePath, expected: Option<&[u8]>, content: &[u8]) -> Result<(), WorkspaceError> {
        check_size(path, content)?;
        let (folder, name) = self.folder_of(path)?;
        let old = expected.map(|expected| check_unchanged(&folder, name, path, expected)).transpose()?;
        let temporary = Temporary::create(folder.as_fd(), path, old.as_ref(), content)?;
        match expected {
            Some(expected) => {
                // The second comparison shortens the time in which a change by another process is lost.
                check_unchanged(&folder, name, path, expected)?;
                temporary.replace(name, path)
            }
            None => temporary.create_new(name, path),
        }
    }

    /// Removes a file.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`] if the content is not `expected`, and the errors of [`Workspace::read`].
    pub fn delete(&self, path: &RelativePath, expected: &[u8]) -> Result<(), WorkspaceError> {
        let (folder, name) = self.folder_of(path)?;
        check_unchanged(&folder, name, path, expected)?;
        unlinkat(&folder, name, AtFlags::empty())
            .map_err(|error| WorkspaceError::system(path.as_str(), "delete", error))
    }

    /// Sets the path of a file to `to`, and its content to `content`. The folder of the new path must exist.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`] if the content is not `expected`, [`ErrorKind::Exists`] if a file has the new path, and
    /// the errors of [`Workspace::write`]. After an error, the old file exists.
    pub fn rename(
        &self,
        from: &RelativePath,
        to: &RelativePath,
        expected: &[u8],
        content: &[u8],
    ) -> Result<(), WorkspaceError> {
        let (folder, name) = self.folder_of(from)?;
        check_size(to, content)?;
        let old = check_unchanged(&folder, name, from, expected)?;
        let (target, new_name) = self.folder_of(to)?;
        Temporary::create(target.as_fd(), to, Some(&old), content)?.create_new(new_name, to)?;
        self.delete(from, expected)
    }

    /// Checks that an existing file can be changed or removed: it is a regular file, and its mode and its folder allow
    /// it. The content is not compared.
    ///
    /// # Errors
    /// [`ErrorKind::ReadOnly`], [`ErrorKind::Io`], and the errors of [`Workspace::check_file`].
    pub(crate) fn check_change(&self, path: &RelativePath) -> Result<(), WorkspaceError> {
        let (folder, name) = self.folder_of(path)?;
        check_mode(&regular_file(&folder, name, path)?, path)?;
        check_folder(&folder, path)
    }

    /// Checks that a file can be created: its folder allows it, and the file does not exist. A missing folder is not an
    /// error.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`], and the errors of [`Workspace::check_change`].
    pub(crate) fn check_create(&self, path: &RelativePath) -> Result<(), WorkspaceError> {
        let (folder, name) = match self.folder_of(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            folder => folder?,
        };
        if statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Err(exists(path));
        }
        check_folder(&folder, path)
    }
}

/// Checks that the content of a file is not too large.
pub(crate) fn check_size(path: &RelativePath, content: &[u8]) -> Result<(), WorkspaceError> {
    if content.len() as u64 <= MAX_FILE_BYTES {
        return Ok(());
    }
    let message = format!("the new content must have at most {MAX_FILE_BYTES} bytes, got {}", content.len());
    Err(WorkspaceError::new(ErrorKind::TooLarge, path.as_str(), message))
}

/// Checks that the mode of a file allows writing.
fn check_mode(stat: &Stat, path: &RelativePath) -> Result<(), WorkspaceError> {
    if Mode::from_raw_mode(stat.st_mode).bits() & 0o222 != 0 {
        return Ok(());
    }
    let message = "the mode of the file must allow writing, got a read-only file";
    Err(WorkspaceError::new(ErrorKind::ReadOnly, path.as_str(), message))
}

/// Checks that this process may write in the folder of a file. The new content of a file is a new file in its folder.
fn check_folder(folder: impl AsFd, path: &RelativePath) -> Result<(), WorkspaceError> {
    accessat(folder, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::empty())
        .map_err(|error| WorkspaceError::system(path.as_str(), "write in the folder of", error))
}

fn exists(path: &RelativePath) -> WorkspaceError {
    WorkspaceError::new(ErrorKind::Exists, path.as_str(), "no file with this path must exist")
}

/// Checks that the file has the content `expected`, and that its mode allows writing. Returns its state.
fn check_unchanged(
    folder: impl AsFd,
    name: &str,
    path: &RelativePath,
    expected: &[u8],
) -> Result<Stat, WorkspaceError> {
    let changed = || WorkspaceError::new(ErrorKind::Changed, path.as_str(), "the file has changed since it was read");
    let (bytes, stat) = match read_in(folder, name, path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::TooLarge) => return Err(changed()),
        read => read?,
    };
    if bytes != expected {
        return Err(changed());
    }
    check_mode(&stat, path)?;
    Ok(stat)
}

/// A temporary file, which is removed on drop unless it has got its final name.
struct Temporary<'a> {
    folder: BorrowedFd<'a>,
    name: String,
    is_done: bool,
}

impl<'a> Temporary<'a> {
    /// Writes `content` to a new file with the mode and the owner of `old`.
    fn create(
        folder: BorrowedFd<'a>,
        path: &RelativePath,
        old: Option<&Stat>,
        content: &[u8],
    ) -> Result<Self, WorkspaceError> {
        let failed = |error| WorkspaceError::system(path.as_str(), "write", error);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Until its mode is set, other users must not read the content of a private file.
        let mode = Mode::from_raw_mode(if old.is_some() { 0o600 } else { NEW_FILE_MODE as _ });
        let mut attempts = 0;
        let (file, temporary) = loop {
            let name = temporary_name();
            match openat(folder, &*name, flags, mode) {
                Ok(file) => break (file, Self { folder, name, is_done: false }),
                Err(Errno::EXIST) if attempts < MAX_NAME_ATTEMPTS => attempts += 1,
                Err(error) => return Err(failed(error.into())),
            }
        };
        if let Some(old) = old {
            // Only root may set another owner, so an error is ignored.
            let _ = fchown(&file, Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)));
            let mode = Mode::from_raw_mode(old.st_mode & MODE_BITS);
            fchmod(&file, mode).map_err(|error| failed(error.into()))?;
        }
        let mut file = File::from(file);
        file.write_all(content).and_then(|()| file.sync_all()).map_err(failed)?;
        Ok(temporary)
    }

    /// Replaces the file `name`.
    fn replace(mut self, name: &str, path: &RelativePath) -> Result<(), WorkspaceError> {
        renameat(self.folder, &*self.name, self.folder, name)
            .map_err(|error| WorkspaceError::system(path.as_str(), "replace", error))?;
        self.is_done = true;
        Ok(())
    }

    /// Takes the name `name`, which no file must have.
    fn create_new(mut self, name: &str, path: &RelativePath) -> Result<(), WorkspaceError> {
        // `link` never replaces a file. On a file system without hard links, the file is renamed instead, after a check
        // that the name is free.
        match rustix::fs::linkat(self.folder, &*self.name, self.folder, name, AtFlags::empty()) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(exists(path)),
            Err(_) if statat(self.folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() => Err(exists(path)),
            Err(_) => {
                renameat(self.folder, &*self.name, self.folder, name)
                    .map_err(|error| WorkspaceError::system(path.as_str(), "create", error))?;
                self.is_done = true;
                Ok(())
            }
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            let _ = unlinkat(self.folder, &*self.name, AtFlags::empty());
        }
    }
}
