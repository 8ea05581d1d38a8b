//! Errors of a workspace.

use std::error::Error;
use std::fmt::{self, Display};
use std::io;

use rustix::io::Errno;

/// The kind of a [`WorkspaceError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The path is outside of the workspace, is not a regular file, or has an invalid form. If the path belongs to an
    /// incident, the contract reports this kind as -32002.
    Denied,
    /// The file or the folder does not exist.
    NotFound,
    /// The file has changed since it was read.
    Changed,
    /// A new file was to be created, and a file with its name exists.
    Exists,
    /// The file is larger than [`MAX_FILE_BYTES`](super::MAX_FILE_BYTES).
    TooLarge,
    /// The file is text in another encoding than UTF-8.
    NotText,
    /// The file is binary: it contains NUL, and has no byte order mark of UTF-16.
    Binary,
    /// A search in the file has taken too long.
    TooSlow,
    /// The mode of the file forbids all users to write it.
    ReadOnly,
    /// The system has reported an error.
    Io,
}

/// The reason why an operation on a file of a workspace was not executed.
#[derive(Clone, Debug)]
pub struct WorkspaceError {
    kind: ErrorKind,
    path: String,
    message: String,
}

impl WorkspaceError {
    pub(crate) fn new(kind: ErrorKind, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, path: path.into(), message: message.into() }
    }

    /// Converts an error of the system. The path of the file, or of one of its folders, was opened without following
    /// links: a link causes `ELOOP` or `ENOTDIR`.
    pub(crate) fn system(path: impl Into<String>, action: &str, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        let (kind, message) = match Errno::from_io_error(&error) {
            Some(Errno::NOENT) => (ErrorKind::NotFound, "the file must exist".to_owned()),
            Some(Errno::LOOP | Errno::NOTDIR | Errno::MLINK) => {
                (ErrorKind::Denied, "the path must not lead through a link or a file".to_owned())
            }
            Some(Errno::NAMETOOLONG) => (ErrorKind::Denied, "the path is too long for the system".to_owned()),
            _ => (ErrorKind::Io, format!("cannot {action} the file: {error}")),
        };
        Self::new(kind, path, message)
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the remedy for the user, as the contract sends it in `suggested_action`.
    pub(crate) const fn remedy(&self) -> &'static str {
        match self.kind {
            ErrorKind::Denied => "Name a regular file that the patterns of the workspace select",
            ErrorKind::NotFound | ErrorKind::Changed => "Find the incidents again, and request the fix again",
            ErrorKind::Exists => "Move or remove the other file, and request the fix again",
            ErrorKind::TooLarge | ErrorKind::Binary | ErrorKind::TooSlow => "Fix this file by hand",
            ErrorKind::NotText => "Convert the file to UTF-8, and request the fix again",
            ErrorKind::ReadOnly => "Allow writing, and request the fix again",
            ErrorKind::Io => "Remove the cause of the error, and request the fix again",
        }
    }

    /// Returns the path as the caller wrote it, or relative to the root of the workspace. A long path is cut.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl Display for WorkspaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl Error for WorkspaceError {}
