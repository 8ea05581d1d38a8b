//! Changes of files. A change is refused if the content of the file is not as it was read. A failed change has no
//! effect.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{
    Access, AtFlags, Gid, Mode, OFlags, Stat, Uid, accessat, fchmod, fchown, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::error::{ErrorKind, WorkspaceError};
use super::path::RelativePath;
use super::{MAX_FILE_BYTES, Workspace, read_in, stat_regular_file};

use crate::limits::MAX_NAME_ATTEMPTS;

/// The mode of a new file, from which the system removes the bits of the umask.
const NEW_FILE_MODE: u32 = 0o666;

/// The bits of the mode of an old file that are set on the file that replaces it.
const MODE_BITS: u32 = 0o7777;

/// The bits of a mode without setuid, setgid and the sticky bit.
const PERMISSION_BITS: u32 = 0o777;

/// Calls `create` with a name for a temporary entry. If another entry has the name, calls it again with the next name.
/// Returns the name with the result.
pub(super) fn with_temporary_name<T>(mut create: impl FnMut(&str) -> Result<T, Errno>) -> Result<(String, T), Errno> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut attempts = 0;
    loop {
        let name = format!(".kaiak-{}-{}.tmp", process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        match create(&name) {
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) if attempts < MAX_NAME_ATTEMPTS => attempts += 1,
            created => return created.map(|created| (name, created)),
        }
    }
}

/// The time at which the content of written files is written to the disk.
#[derive(Debug)]
pub(super) enum SyncPolicy {
    /// Before each write returns.
    EachWrite,
    /// In [`Workspace::sync`], for the files in the set. Content that replaces a file is on the disk before
    /// each write returns.
    Later(Mutex<BTreeSet<RelativePath>>),
    Never,
}

impl Workspace {
    /// Replaces the content of a file, or creates a file if `expected` is `None`. The folder must exist.
    ///
    /// The new content is written to a temporary file in the same folder, which then takes the place of the file. The
    /// mode stays, and the owner stays if this process may set it. Readers see the old content or the new content.
    ///
    /// If another process replaces the file while this function runs, the file of that process stays, and the error is
    /// [`ErrorKind::Changed`]. A process that has opened the file before, and writes to it afterwards, is not noticed.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`] if the content is not `expected`, [`ErrorKind::Exists`] if `expected` is `None` and the
    /// path is in use, [`ErrorKind::ReadOnly`], [`ErrorKind::TooLarge`], and the errors of [`Workspace::read`]. After
    /// an error, the file is unchanged.
    pub fn write(&self, path: &RelativePath, expected: Option<&[u8]>, content: &[u8]) -> Result<(), WorkspaceError> {
        check_size(path, content)?;
        let (folder, name) = self.folder_of(path)?;
        let old = expected.map(|expected| check_unchanged(&folder, name, path, expected)).transpose()?;
        let temporary = self.temporary(folder.as_fd(), path, old.as_ref(), content)?;
        match expected {
            Some(expected) => temporary.replace(name, path, expected)?,
            None => temporary.create_new(name, path)?,
        }
        self.record_write(path);
        Ok(())
    }

    /// Removes a file.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`] if the content is not `expected`, and the errors of [`Workspace::read`]. After an error,
    /// the file is unchanged.
    pub fn delete(&self, path: &RelativePath, expected: &[u8]) -> Result<(), WorkspaceError> {
        let (folder, name) = self.folder_of(path)?;
        check_unchanged(&folder, name, path, expected)?;
        let failed = |error| WorkspaceError::system(path.as_str(), "delete", error);
        // The file is compared under another name, so that no other process replaces it between the comparison and the
        // removal.
        let moved = match with_temporary_name(|moved| rename_to_free(&folder, name, moved)) {
            Ok((moved, ())) => moved,
            Err(error) if is_unsupported(error) => {
                return unlinkat(&folder, name, AtFlags::empty()).map_err(failed);
            }
            Err(error) => return Err(failed(error)),
        };
        let deleted = check_unchanged(&folder, &moved, path, expected)
            .and_then(|_| unlinkat(&folder, &*moved, AtFlags::empty()).map_err(failed));
        // If the name is in use again, the file with this name is newer than the moved file.
        if deleted.is_err() && rename_to_free(&folder, &moved, name) == Err(Errno::EXIST) {
            let _ = unlinkat(&folder, &*moved, AtFlags::empty());
        }
        deleted
    }

    /// Sets the path of a file to `to`, and its content to `content`. The folder of the new path must exist.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`] if the content is not `expected`, [`ErrorKind::Exists`] if a file has the new path, and
    /// the errors of [`Workspace::write`]. After an error, the old file exists, and the new path has no file.
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
        let (new_folder, new_name) = self.folder_of(to)?;
        self.temporary(new_folder.as_fd(), to, Some(&old), content)?.create_new(new_name, to)?;
        self.delete(from, expected).inspect_err(|_| {
            let _ = self.delete(to, content);
        })?;
        self.record_write(to);
        Ok(())
    }

    /// Returns whether [`Workspace::sync`] has something to do.
    pub(crate) fn needs_sync(&self) -> bool {
        let SyncPolicy::Later(paths) = &self.sync else { return false };
        !paths.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Makes the writes and the names of files since the last call durable. Returns the files that cannot be written to
    /// the disk.
    pub(crate) fn sync(&self) -> Vec<WorkspaceError> {
        let SyncPolicy::Later(paths) = &self.sync else { return Vec::new() };
        let paths = std::mem::take(&mut *paths.lock().unwrap_or_else(PoisonError::into_inner));
        let errors = paths.iter().filter_map(|path| self.sync_file(path).err());
        errors.filter(|error| error.kind() != ErrorKind::NotFound).collect()
    }

    fn sync_file(&self, path: &RelativePath) -> Result<(), WorkspaceError> {
        let failed = |error| WorkspaceError::system(path.as_str(), "write", error);
        let (folder, name) = self.folder_of(path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = openat(&folder, name, flags, Mode::empty()).map_err(failed)?;
        rustix::fs::fsync(file).and_then(|()| rustix::fs::fsync(&folder)).map_err(failed)
    }

    fn temporary<'a>(
        &self,
        folder: BorrowedFd<'a>,
        path: &RelativePath,
        old: Option<&Stat>,
        content: &'a [u8],
    ) -> Result<Temporary<'a>, WorkspaceError> {
        let is_durable = match &self.sync {
            SyncPolicy::EachWrite => true,
            // The old content must not be removed before the new content is on the disk.
            SyncPolicy::Later(_) => old.is_some(),
            SyncPolicy::Never => false,
        };
        Temporary::create(folder, path, old, content, is_durable)
    }

    /// Records a write for [`Workspace::sync`].
    fn record_write(&self, path: &RelativePath) {
        if let SyncPolicy::Later(paths) = &self.sync {
            paths.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone());
        }
    }

    /// Checks that an existing file can be changed or removed: it is a regular file, and its mode and its folder allow
    /// it. The content is not compared.
    ///
    /// # Errors
    /// [`ErrorKind::ReadOnly`], [`ErrorKind::Io`], and the errors of [`Workspace::check_file`].
    pub(crate) fn check_change(&self, path: &RelativePath) -> Result<(), WorkspaceError> {
        let (folder, name) = self.folder_of(path)?;
        check_mode(&stat_regular_file(&folder, name, path)?, path)?;
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

fn changed(path: &RelativePath) -> WorkspaceError {
    WorkspaceError::new(ErrorKind::Changed, path.as_str(), "the file has changed since it was read")
}

fn exists(path: &RelativePath) -> WorkspaceError {
    WorkspaceError::new(ErrorKind::Exists, path.as_str(), "the path must be unused, got an existing file")
}

/// Checks that the file has the content `expected`, and that its mode allows writing. Returns its state.
fn check_unchanged(
    folder: impl AsFd,
    name: &str,
    path: &RelativePath,
    expected: &[u8],
) -> Result<Stat, WorkspaceError> {
    let (bytes, stat) = match read_in(folder, name, path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::TooLarge) => return Err(changed(path)),
        read => read?,
    };
    if bytes != expected {
        return Err(changed(path));
    }
    check_mode(&stat, path)?;
    Ok(stat)
}

/// A file with a temporary name. A drop removes the file with this name, unless the file was renamed.
struct Temporary<'a> {
    folder: BorrowedFd<'a>,
    name: String,
    content: &'a [u8],
    is_done: bool,
}

impl<'a> Temporary<'a> {
    /// Writes `content` to a new file with the mode and the owner of `old`. If `is_durable`, the content is on the disk
    /// when this function returns.
    fn create(
        folder: BorrowedFd<'a>,
        path: &RelativePath,
        old: Option<&Stat>,
        content: &'a [u8],
        is_durable: bool,
    ) -> Result<Self, WorkspaceError> {
        let failed = |error| WorkspaceError::system(path.as_str(), "write", error);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Until its mode is set, other users must not read the content of a private file.
        let mode = Mode::from_raw_mode(if old.is_some() { 0o600 } else { NEW_FILE_MODE as _ });
        let (name, file) =
            with_temporary_name(|name| openat(folder, name, flags, mode)).map_err(|error| failed(error.into()))?;
        let temporary = Self { folder, name, content, is_done: false };
        if let Some(old) = old {
            let (user, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
            let has_owner = fchown(&file, Some(user), Some(group)).is_ok();
            if !has_owner {
                // Only root may set another owner. The group may still be one of this user.
                let _ = fchown(&file, None, Some(group));
            }
            // If the owner cannot be kept, setuid is removed: a program must not run with the rights of this user
            // instead.
            let mode = Mode::from_raw_mode(old.st_mode & if has_owner { MODE_BITS } else { PERMISSION_BITS });
            fchmod(&file, mode).map_err(|error| failed(error.into()))?;
        }
        let mut file = File::from(file);
        file.write_all(content).map_err(failed)?;
        if is_durable {
            file.sync_all().map_err(failed)?;
        }
        Ok(temporary)
    }

    /// Takes the place of the file `name`, whose content must be `expected`.
    ///
    /// After a comparison and before the replacement, another process could replace the file, and the file of that
    /// process would be lost. So both files exchange their names in one step, and the old file is compared afterwards.
    fn replace(mut self, name: &str, path: &RelativePath, expected: &[u8]) -> Result<(), WorkspaceError> {
        match exchange(self.folder, &self.name, name) {
            // A drop removes the old file, which has the temporary name.
            Ok(()) => match check_unchanged(self.folder, &self.name, path, expected) {
                Ok(_) => Ok(()),
                Err(error) => {
                    self.give_back(name, path);
                    Err(error)
                }
            },
            // Some file systems, such as NFS, cannot exchange names.
            Err(error) if is_unsupported(error) => {
                check_unchanged(self.folder, name, path, expected)?;
                renameat(self.folder, &*self.name, self.folder, name)
                    .map_err(|error| WorkspaceError::system(path.as_str(), "replace", error))?;
                self.is_done = true;
                Ok(())
            }
            Err(Errno::NOENT) => Err(changed(path)),
            Err(error) => Err(WorkspaceError::system(path.as_str(), "replace", error)),
        }
    }

    /// Restores the name `name` of the file of another process, which has the temporary name now. While this function
    /// runs, the other process may replace the file again. So the file that loses `name` must have the content to which
    /// `name` was given last. If it has another content, the names are exchanged again.
    fn give_back(&mut self, name: &str, path: &RelativePath) {
        let read = |name: &str| read_in(self.folder, name, path).map(|(bytes, _)| bytes);
        let mut in_place = Ok(self.content.to_vec());
        let mut newest = read(&self.name);
        for _ in 0..MAX_NAME_ATTEMPTS {
            if exchange(self.folder, &self.name, name).is_err() {
                break;
            }
            let returned = read(&self.name);
            if returned.is_ok() && returned.as_ref().ok() == in_place.as_ref().ok() {
                return;
            }
            in_place = std::mem::replace(&mut newest, returned);
        }
        // Another process has removed the file, or has replaced it again and again. Its file with the temporary name
        // must not be lost.
        self.is_done = rename_to_free(self.folder, &self.name, name) != Err(Errno::EXIST);
    }

    /// Sets the name of the file to `name`. Fails if another file has this name.
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

/// Exchanges the names of two files in one step. Without support, the error fulfils [`is_unsupported`].
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(folder: impl AsFd, one: &str, other: &str) -> Result<(), Errno> {
    rustix::fs::renameat_with(&folder, one, &folder, other, rustix::fs::RenameFlags::EXCHANGE)
}

/// Renames a file to a name that no file has. Without support, the error fulfils [`is_unsupported`].
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_to_free(folder: impl AsFd, from: &str, to: &str) -> Result<(), Errno> {
    rustix::fs::renameat_with(&folder, from, &folder, to, rustix::fs::RenameFlags::NOREPLACE)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_: impl AsFd, _: &str, _: &str) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename_to_free(_: impl AsFd, _: &str, _: &str) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Returns whether the system or the file system does not support the flags of a rename.
fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) || error == Errno::NOTSUP
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            let _ = unlinkat(self.folder, &*self.name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed test is a panic")]
mod tests {
    use super::*;

    #[test]
    fn another_name_is_tried_while_a_temporary_name_is_in_use() {
        let mut names = Vec::new();
        let created = with_temporary_name(|name| {
            names.push(name.to_owned());
            if names.len() <= 3 { Err(Errno::EXIST) } else { Ok(()) }
        });
        assert_eq!(Some(&created.unwrap().0), names.last());
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 4);
        let mut attempts = 0;
        let failed = with_temporary_name::<()>(|_| {
            attempts += 1;
            Err(Errno::EXIST)
        });
        assert_eq!((failed.unwrap_err(), attempts), (Errno::EXIST, MAX_NAME_ATTEMPTS + 1));
        assert_eq!(with_temporary_name::<()>(|_| Err(Errno::NOSPC)).unwrap_err(), Errno::NOSPC);
    }
}
