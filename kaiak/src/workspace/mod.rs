//! The files of a workspace. All modules read and write files of a workspace through this module.
//!
//! A path is resolved through links first, and must then be inside the root. The file is opened from the root, one
//! component after the other, and no component may be a link. So a link that another process creates after the check
//! causes an error, and not an access outside of the workspace.
//!
//! The functions block. A server calls them on threads for blocking work.

mod error;
mod folders;
mod path;
mod patterns;
mod write;

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

pub use self::error::{ErrorKind, WorkspaceError};
pub use self::path::{MAX_PATH_CHARS, RelativePath};
use self::patterns::Patterns;
pub(crate) use self::patterns::compile_globs;
pub use self::patterns::{DEFAULT_EXCLUDE, DEFAULT_INCLUDE};
use self::write::SyncPolicy;
pub(crate) use self::write::check_size;
use crate::limits::{self, MAX_FOLDER_DEPTH};

/// Maximum size in bytes of a file that is read or edited.
pub const MAX_FILE_BYTES: u64 = limits::MAX_FILE_BYTES;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A folder, and the patterns that select its files.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    folder: OwnedFd,
    patterns: Patterns,
    sync: SyncPolicy,
}

/// The entries of a workspace, in the order of their paths.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The regular files.
    pub(crate) files: Vec<RelativePath>,
    /// Links, pipes, sockets and devices.
    pub(crate) others: Vec<RelativePath>,
    /// Files and folders whose paths are not UTF-8 or are too long, and folders that cannot be read or are too deep.
    pub(crate) problems: Vec<WorkspaceError>,
}

impl Workspace {
    /// Opens the folder `root`. `include` and `exclude` are globs relative to the root. If `include` is empty,
    /// [`DEFAULT_INCLUDE`] applies. An empty `exclude` excludes no file.
    ///
    /// # Errors
    /// If `root` is not a folder that can be opened, or if a pattern is not a glob.
    pub fn open(root: &Path, include: &[String], exclude: &[String]) -> Result<Self, WorkspaceError> {
        let default: Vec<_> = DEFAULT_INCLUDE.iter().map(|pattern| (*pattern).to_owned()).collect();
        Self::with(root, Patterns::new(if include.is_empty() { &default } else { include }, exclude)?)
    }

    /// Opens a temporary folder with all its files. Writes in it need not be durable.
    ///
    /// # Errors
    /// If `root` is not a folder that can be opened.
    pub(crate) fn open_temporary(root: &Path) -> Result<Self, WorkspaceError> {
        Ok(Self { sync: SyncPolicy::Never, ..Self::with(root, Patterns::all())? })
    }

    fn with(root: &Path, patterns: Patterns) -> Result<Self, WorkspaceError> {
        let failed = |error: std::io::Error| match Errno::from_io_error(&error) {
            Some(Errno::NOENT) => {
                let message = "the workspace must be a folder, and does not exist";
                WorkspaceError::new(ErrorKind::NotFound, root.display().to_string(), message)
            }
            Some(Errno::NOTDIR) => {
                WorkspaceError::new(ErrorKind::Denied, root.display().to_string(), "the workspace must be a folder")
            }
            _ => WorkspaceError::system(root.display().to_string(), "open", error),
        };
        let real = fs::canonicalize(root).map_err(failed)?;
        let folder = openat(rustix::fs::CWD, &real, FOLDER, Mode::empty()).map_err(|error| failed(error.into()))?;
        Ok(Self { root: real, folder, patterns, sync: SyncPolicy::EachWrite })
    }

    /// Lets writes return before their content is on the disk. [`Workspace::sync`] makes them durable.
    #[must_use]
    pub(crate) fn with_late_sync(self) -> Self {
        Self { sync: SyncPolicy::Later(Mutex::default()), ..self }
    }

    /// Opens the folder `root` with the default patterns.
    ///
    /// # Errors
    /// See [`Workspace::open`].
    pub fn open_default(root: &Path) -> Result<Self, WorkspaceError> {
        let exclude: Vec<_> = DEFAULT_EXCLUDE.iter().map(|pattern| (*pattern).to_owned()).collect();
        Self::open(root, &[], &exclude)
    }

    /// Returns the root, without links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Resolves a path of another program: an absolute path, a path relative to the root, or a `file` URI. Links are
    /// followed. The file itself may be missing; its folder must exist.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] if the path contains `..`, leads out of the workspace, is a link without a target, has
    /// more than [`MAX_PATH_CHARS`] characters, or is not UTF-8. [`ErrorKind::NotFound`] if a folder is missing.
    pub fn resolve(&self, path: &str) -> Result<RelativePath, WorkspaceError> {
        path::resolve(&self.root, path)
    }

    /// Returns whether the patterns select a file.
    #[must_use]
    pub fn matches(&self, path: &RelativePath) -> bool {
        self.patterns.matches(path.as_str())
    }

    /// Returns whether the patterns select the path of an error, which may be too long or not UTF-8.
    pub(crate) fn matches_problem(&self, problem: &WorkspaceError) -> bool {
        self.patterns.matches(problem.path())
    }

    /// Checks that the patterns select a file.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] if they do not.
    pub fn check_included(&self, path: &RelativePath) -> Result<(), WorkspaceError> {
        if self.matches(path) {
            return Ok(());
        }
        let message = "the patterns of the workspace must include the file";
        Err(WorkspaceError::new(ErrorKind::Denied, path.as_str(), message))
    }

    /// Returns the `file` URI of a file.
    #[must_use]
    pub fn uri(&self, path: &RelativePath) -> String {
        path::file_uri(&self.root.join(path.as_str()))
    }

    /// Returns the regular files that the patterns select, in the order of their paths. Links are not followed. Files
    /// and folders whose paths are not UTF-8 or are too long, and folders that cannot be read or are too deep, are
    /// omitted and named in `problems`.
    ///
    /// # Errors
    /// If the root cannot be read.
    pub fn files(&self, problems: &mut Vec<WorkspaceError>) -> Result<Vec<RelativePath>, WorkspaceError> {
        let listing = self.list()?;
        problems.extend(listing.problems);
        Ok(listing.files)
    }

    /// Returns the entries of the workspace that the patterns select. Links are not followed.
    ///
    /// # Errors
    /// If the root cannot be read.
    pub(crate) fn list(&self) -> Result<Listing, WorkspaceError> {
        let mut listing = Listing::default();
        let root = openat(&self.folder, ".", FOLDER, Mode::empty())
            .map_err(|error| WorkspaceError::system(".", "open", error))?;
        self.search(root, Path::new(""), 0, &mut listing)?;
        listing.files.sort();
        listing.others.sort();
        Ok(listing)
    }

    fn search(&self, folder: OwnedFd, path: &Path, depth: usize, listing: &mut Listing) -> Result<(), WorkspaceError> {
        use std::os::unix::ffi::OsStrExt;
        let failed = |error| WorkspaceError::system(path.display().to_string(), "read", error);
        for entry in Dir::read_from(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let child = path.join(std::ffi::OsStr::from_bytes(name));
            let kind = match entry.file_type() {
                // Some file systems do not report the type.
                FileType::Unknown => statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                kind => kind,
            };
            let relative = RelativePath::from_components(&child)
                .filter(|relative| relative.as_str().chars().nth(MAX_PATH_CHARS).is_none());
            let Some(relative) = relative else {
                if matches!(kind, FileType::Directory | FileType::RegularFile) {
                    let (path, message) = (child.to_string_lossy(), "the path must be UTF-8, and not too long");
                    listing.problems.push(WorkspaceError::new(ErrorKind::Denied, path, message));
                }
                continue;
            };
            if kind != FileType::Directory {
                if self.matches(&relative) {
                    let is_regular = kind == FileType::RegularFile;
                    if is_regular { &mut listing.files } else { &mut listing.others }.push(relative);
                }
            } else if !self.patterns.excludes_folder(relative.as_str()) {
                if depth >= MAX_FOLDER_DEPTH {
                    let message =
                        format!("folders must be nested at most {MAX_FOLDER_DEPTH} deep, so this folder is skipped");
                    listing.problems.push(WorkspaceError::new(ErrorKind::Denied, relative.as_str(), message));
                    continue;
                }
                let opened = openat(&folder, name, FOLDER, Mode::empty())
                    .map_err(|error| WorkspaceError::system(relative.as_str(), "open", error));
                let searched = opened.and_then(|opened| self.search(opened, &child, depth + 1, listing));
                listing.problems.extend(searched.err());
            }
        }
        Ok(())
    }

    /// Checks that the path of the root still names the folder that was opened.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] or [`ErrorKind::Changed`] if the folder was removed or replaced.
    pub(crate) fn check_root(&self) -> Result<(), WorkspaceError> {
        let failed = |error: Errno| WorkspaceError::system(self.root.display().to_string(), "read", error);
        let opened = fstat(&self.folder).map_err(failed)?;
        let named = statat(rustix::fs::CWD, &self.root, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        if (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino) {
            return Ok(());
        }
        let message = "the folder must be the one that was opened, got another";
        Err(WorkspaceError::new(ErrorKind::Changed, self.root.display().to_string(), message))
    }

    /// Checks that a path names a regular file.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] if the path has become a link or is not a regular file, [`ErrorKind::NotFound`], or
    /// [`ErrorKind::Io`].
    pub fn check_file(&self, path: &RelativePath) -> Result<(), WorkspaceError> {
        let (folder, name) = self.folder_of(path)?;
        stat_regular_file(&folder, name, path).map(drop)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] if the path has become a link or is not a regular file, [`ErrorKind::TooLarge`] beyond
    /// [`MAX_FILE_BYTES`], [`ErrorKind::NotFound`], or [`ErrorKind::Io`].
    pub fn read(&self, path: &RelativePath) -> Result<Vec<u8>, WorkspaceError> {
        let (folder, name) = self.folder_of(path)?;
        read_in(&folder, name, path).map(|(bytes, _)| bytes)
    }

    /// Reads a file of text.
    ///
    /// # Errors
    /// The errors of [`Workspace::read`], [`ErrorKind::Binary`], and [`ErrorKind::NotText`] if the file is not UTF-8.
    pub fn read_text(&self, path: &RelativePath) -> Result<String, WorkspaceError> {
        let bytes = self.read(path)?;
        if bytes.contains(&0) && !bytes.starts_with(&[0xff, 0xfe]) && !bytes.starts_with(&[0xfe, 0xff]) {
            return Err(WorkspaceError::new(
                ErrorKind::Binary,
                path.as_str(),
                "the file must be text, got a binary file",
            ));
        }
        let not_text = |_| WorkspaceError::new(ErrorKind::NotText, path.as_str(), "the file must be text in UTF-8");
        String::from_utf8(bytes).map_err(not_text)
    }

    /// Opens the folder of a file. Returns the folder and the name of the file.
    fn folder_of<'a>(&self, path: &'a RelativePath) -> Result<(OwnedFd, &'a str), WorkspaceError> {
        let failed = |error| WorkspaceError::system(path.as_str(), "open", error);
        let (folders, name) = path.split();
        let mut folder = openat(&self.folder, ".", FOLDER, Mode::empty()).map_err(failed)?;
        for part in folders {
            folder = openat(&folder, part, FOLDER, Mode::empty()).map_err(failed)?;
        }
        Ok((folder, name))
    }
}

/// Returns the state of the regular file `name` in `folder`.
fn stat_regular_file(folder: impl AsFd, name: &str, path: &RelativePath) -> Result<Stat, WorkspaceError> {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|error| WorkspaceError::system(path.as_str(), "read", error))?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile { Ok(stat) } else { Err(not_regular(path)) }
}

fn not_regular(path: &RelativePath) -> WorkspaceError {
    WorkspaceError::new(ErrorKind::Denied, path.as_str(), "the path must name a regular file")
}

/// Reads the regular file `name` in `folder`. Returns its bytes and its state.
fn read_in(folder: impl AsFd, name: &str, path: &RelativePath) -> Result<(Vec<u8>, Stat), WorkspaceError> {
    let failed = |error| WorkspaceError::system(path.as_str(), "read", error);
    // Without `NONBLOCK`, opening a pipe would wait for its writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = openat(folder, name, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
    let stat = fstat(&file).map_err(|error| failed(error.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(not_regular(path));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(stat.st_size).unwrap_or(0).min(MAX_FILE_BYTES as usize + 1));
    File::from(file).take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let message = format!("the file must have at most {MAX_FILE_BYTES} bytes");
        return Err(WorkspaceError::new(ErrorKind::TooLarge, path.as_str(), message));
    }
    Ok((bytes, stat))
}
