//! Folders of a workspace: their creation, and the removal of entries. Links are not followed.
//!
//! The functions that remove entries are for temporary folders. There, an agent may have taken away its own permissions
//! for a folder, and these functions restore them.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, chmodat, fchmod, fstat, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;

use super::error::WorkspaceError;
use super::path::RelativePath;
use super::write::with_temporary_name;
use super::{FOLDER, Workspace};

impl Workspace {
    /// Creates the missing folders of a file.
    ///
    /// # Errors
    /// If a component is a link or a file, or cannot be created.
    pub(crate) fn create_folders(&self, path: &RelativePath) -> Result<(), WorkspaceError> {
        let failed = |error: Errno| WorkspaceError::system(path.as_str(), "create the folder of", error);
        let mut folder = self.root_folder().map_err(failed)?;
        for name in path.split().0 {
            match mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
            folder = openat(&folder, name, FOLDER, Mode::empty()).map_err(failed)?;
        }
        Ok(())
    }

    /// Removes all entries except the regular files `kept` and their folders. Adds the number of removed entries other
    /// than folders to `removed`, even if an error follows.
    ///
    /// # Errors
    /// If a folder cannot be read, or an entry cannot be removed.
    pub(crate) fn retain(&self, kept: &[RelativePath], removed: &mut u64) -> Result<(), WorkspaceError> {
        let files: BTreeSet<&str> = kept.iter().map(RelativePath::as_str).collect();
        let ends = files.iter().flat_map(|path| path.match_indices('/').map(|(end, _)| path.get(..end)));
        let folders: BTreeSet<&str> = ends.flatten().collect();
        let root = self.writable_root().map_err(|error| removal_failed(".", error))?;
        self.retain_in(&root, "", &files, &folders, removed)
    }

    fn retain_in(
        &self,
        folder: &OwnedFd,
        path: &str,
        files: &BTreeSet<&str>,
        folders: &BTreeSet<&str>,
        removed: &mut u64,
    ) -> Result<(), WorkspaceError> {
        for (name, kind) in entries(folder).map_err(|error| removal_failed(path, error))? {
            // The path is only compared with paths in UTF-8.
            let child = if path.is_empty() {
                name.to_string_lossy().into_owned()
            } else {
                format!("{path}/{}", name.to_string_lossy())
            };
            let is_utf8 = name.to_str().is_ok();
            if kind == FileType::Directory && is_utf8 && folders.contains(&*child) {
                let opened = open_writable(folder, &name).map_err(|error| removal_failed(&child, error))?;
                self.retain_in(&opened, &child, files, folders, removed)?;
            } else if kind != FileType::RegularFile || !is_utf8 || !files.contains(&*child) {
                self.remove_entry(folder.as_fd(), name, kind, removed)
                    .map_err(|error| removal_failed(&child, error))?;
            }
        }
        Ok(())
    }

    /// Removes the entry at a path: a file, a link, or a folder with its content. An entry in the place of one of its
    /// folders is removed too, if it is not a folder. A missing entry is not an error.
    ///
    /// # Errors
    /// If an entry cannot be removed.
    pub(crate) fn remove(&self, path: &RelativePath) -> Result<(), WorkspaceError> {
        let failed = |error| removal_failed(path.as_str(), error);
        let mut folder = self.writable_root().map_err(failed)?;
        let (folders, name) = path.split();
        for name in folders {
            match kind_of(&folder, name).map_err(failed)? {
                None => return Ok(()),
                Some(FileType::Directory) => folder = open_writable(&folder, name).map_err(failed)?,
                Some(_) => return unlinkat(&folder, name, AtFlags::empty()).map_err(failed),
            }
        }
        let Some(kind) = kind_of(&folder, name).map_err(failed)? else { return Ok(()) };
        let name = CString::new(name).map_err(|_| failed(Errno::INVAL))?;
        self.remove_entry(folder.as_fd(), name, kind, &mut 0).map_err(failed)
    }

    /// Removes an entry. Adds the number of removed entries that were not folders to `removed`.
    ///
    /// The folders in a folder are moved to the root, and are then emptied one after the other. So neither the number
    /// of open descriptors nor the length of a path depends on the depth of the folders.
    fn remove_entry(
        &self,
        folder: BorrowedFd<'_>,
        name: CString,
        kind: FileType,
        removed: &mut u64,
    ) -> Result<(), Errno> {
        if kind != FileType::Directory {
            return unlink(folder, &name, removed);
        }
        let mut moved: Vec<String> = self.move_or_remove_folder(folder, &name)?.into_iter().collect();
        while let Some(next) = moved.pop() {
            let opened = open_writable(&self.folder, &*next)?;
            for (name, kind) in entries(&opened)? {
                if kind == FileType::Directory {
                    moved.extend(self.move_or_remove_folder(opened.as_fd(), &name)?);
                } else {
                    unlink(opened.as_fd(), &name, removed)?;
                }
            }
            unlinkat(&self.folder, &*next, AtFlags::REMOVEDIR)?;
        }
        Ok(())
    }

    /// Removes a folder if it is empty. Otherwise, moves the folder to the root, and returns its new name.
    fn move_or_remove_folder(&self, folder: BorrowedFd<'_>, name: &CString) -> Result<Option<String>, Errno> {
        match unlinkat(folder, name, AtFlags::REMOVEDIR) {
            Ok(()) => return Ok(None),
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        // The move of a folder changes its entry `..`, so it needs the permission to write in the folder.
        make_writable(folder, name)?;
        with_temporary_name(|moved| renameat(folder, name, &self.folder, moved)).map(|(moved, ())| Some(moved))
    }

    fn root_folder(&self) -> Result<OwnedFd, Errno> {
        openat(&self.folder, ".", FOLDER, Mode::empty())
    }

    fn writable_root(&self) -> Result<OwnedFd, Errno> {
        if let Some(mode) = missing_permissions(fstat(&self.folder)?.st_mode) {
            fchmod(&self.folder, mode)?;
        }
        self.root_folder()
    }
}

/// Makes a folder readable and writable for its owner, and opens the folder.
fn open_writable<P: Arg + Copy>(folder: impl AsFd, name: P) -> Result<OwnedFd, Errno> {
    make_writable(&folder, name)?;
    openat(&folder, name, FOLDER, Mode::empty())
}

fn make_writable<P: Arg + Copy>(folder: impl AsFd, name: P) -> Result<(), Errno> {
    let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match missing_permissions(stat.st_mode) {
        // A link has all permissions, so this call does not follow one.
        Some(mode) => chmodat(&folder, name, mode, AtFlags::empty()),
        None => Ok(()),
    }
}

/// Returns the mode with all permissions of the owner, or `None` if the mode has them.
fn missing_permissions(mode: u32) -> Option<Mode> {
    let mode = Mode::from_raw_mode(mode);
    (!mode.contains(Mode::RWXU)).then_some(mode | Mode::RWXU)
}

/// Returns the names and the kinds of the entries of a folder.
fn entries(folder: &OwnedFd) -> Result<Vec<(CString, FileType)>, Errno> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not report the type.
            FileType::Unknown => FileType::from_raw_mode(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode),
            kind => kind,
        };
        entries.push((name.to_owned(), kind));
    }
    Ok(entries)
}

/// Returns the kind of an entry, or `None` if it does not exist.
fn kind_of(folder: &OwnedFd, name: &str) -> Result<Option<FileType>, Errno> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes an entry that is not a folder. It is not an error if a process of the agent has removed it already.
fn unlink(folder: BorrowedFd<'_>, name: &CStr, removed: &mut u64) -> Result<(), Errno> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) => *removed += 1,
        Err(Errno::NOENT) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

fn removal_failed(path: &str, error: Errno) -> WorkspaceError {
    WorkspaceError::system(path, "remove", error)
}
