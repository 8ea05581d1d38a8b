//! Proposals: changes of one file that can be shown, approved and applied.

use std::fmt::{self, Display};

use serde::Serialize;

use super::Risk;
use super::diff::{Side, unified};
use crate::workspace::{ErrorKind, RelativePath, Workspace, WorkspaceError, check_size};

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// The file is new.
    Create,
    /// The content changes.
    Modify,
    /// The file is removed.
    Delete,
    /// The file gets a new path. Its content may change too.
    Rename,
    /// A new file gets the content of the file. The content of the new file may be changed.
    Copy,
}

impl Operation {
    /// Returns the name of the operation in the contract.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Modify => "modify",
            Self::Delete => "delete",
            Self::Rename => "rename",
            Self::Copy => "copy",
        }
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A change of one file. [`Workspace::apply`] executes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Proposal {
    /// The path of the file before the change, or of the new file.
    pub file_path: RelativePath,
    /// The path after [`Operation::Rename`] and [`Operation::Copy`].
    pub new_path: Option<RelativePath>,
    /// The kind of the change.
    pub operation: Operation,
    /// The change as a unified diff with paths relative to the root of the workspace, for `git apply`.
    pub diff: String,
    /// The risk.
    pub risk: Risk,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

impl Proposal {
    /// Creates a proposal from the content of a file before and after the change. `None` means that the file does not
    /// exist. With `new_path`, the file is renamed. Returns `None` if nothing changes.
    #[must_use]
    pub fn new(
        file_path: RelativePath,
        new_path: Option<RelativePath>,
        before: Option<Vec<u8>>,
        after: Option<Vec<u8>>,
        risk: Risk,
    ) -> Option<Self> {
        let new_path = new_path.filter(|new_path| *new_path != file_path);
        let operation = match (&before, &after) {
            (None, None) => return None,
            (None, Some(_)) => Operation::Create,
            (Some(_), None) => Operation::Delete,
            _ if new_path.is_some() => Operation::Rename,
            (Some(before), Some(after)) if before == after => return None,
            _ => Operation::Modify,
        };
        let new_path = new_path.filter(|_| operation == Operation::Rename);
        Some(Self::with(operation, file_path, new_path, before, after, risk))
    }

    /// Creates the proposal to copy a file. `before` is the content of the file, and `after` that of the new file.
    #[must_use]
    pub fn copy(file_path: RelativePath, new_path: RelativePath, before: Vec<u8>, after: Vec<u8>, risk: Risk) -> Self {
        Self::with(Operation::Copy, file_path, Some(new_path), Some(before), Some(after), risk)
    }

    fn with(
        operation: Operation,
        file_path: RelativePath,
        new_path: Option<RelativePath>,
        before: Option<Vec<u8>>,
        after: Option<Vec<u8>>,
        risk: Risk,
    ) -> Self {
        let old = Side { path: file_path.as_str(), content: before.as_deref() };
        let new_name = new_path.as_ref().unwrap_or(&file_path).as_str();
        let new = Side { path: new_name, content: after.as_deref() };
        let diff = unified(old, new, operation == Operation::Copy);
        Self { file_path, new_path, operation, diff, risk, before, after }
    }

    /// Returns the content before the change, or `None` if the file does not exist.
    #[must_use]
    pub fn before(&self) -> Option<&[u8]> {
        self.before.as_deref()
    }

    /// Returns the content after the change, or `None` if the file does not exist after the change.
    #[must_use]
    pub fn after(&self) -> Option<&[u8]> {
        self.after.as_deref()
    }
}

impl Workspace {
    /// Checks that a proposal can be executed, before a user is asked. Nothing is changed, and the content of the file
    /// is not compared.
    ///
    /// # Errors
    /// [`ErrorKind::TooLarge`] for the content after the change, [`ErrorKind::ReadOnly`], [`ErrorKind::Exists`],
    /// [`ErrorKind::Io`] if the folder cannot be written, and the errors of [`Workspace::check_file`].
    pub fn check(&self, proposal: &Proposal) -> Result<(), WorkspaceError> {
        let path = &proposal.file_path;
        if let Some(after) = proposal.after() {
            check_size(path, after)?;
        }
        match proposal.operation {
            Operation::Create => self.check_create(path)?,
            Operation::Copy => self.check_file(path)?,
            Operation::Modify | Operation::Delete | Operation::Rename => self.check_change(path)?,
        }
        proposal.new_path.as_ref().map_or(Ok(()), |new_path| self.check_create(new_path))
    }

    /// Executes a proposal.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`] if the file is not as it was when the proposal was made, and the errors of
    /// [`Workspace::write`], [`Workspace::delete`] and [`Workspace::rename`]. After an error, the file is unchanged.
    pub fn apply(&self, proposal: &Proposal) -> Result<(), WorkspaceError> {
        let path = &proposal.file_path;
        let new_path = proposal.new_path.as_ref().unwrap_or(path);
        match (proposal.operation, proposal.before(), proposal.after()) {
            (Operation::Create | Operation::Modify, before, Some(after)) => self.write(path, before, after),
            (Operation::Delete, Some(before), _) => self.delete(path, before),
            (Operation::Rename, Some(before), Some(after)) => self.rename(path, new_path, before, after),
            (Operation::Copy, Some(before), Some(after)) => {
                if self.read(path)? != before {
                    let message = "the file has changed since it was read";
                    return Err(WorkspaceError::new(ErrorKind::Changed, path.as_str(), message));
                }
                self.write(new_path, None, after)
            }
            _ => Err(WorkspaceError::new(ErrorKind::Io, path.as_str(), "the proposal has no content")),
        }
    }
}
