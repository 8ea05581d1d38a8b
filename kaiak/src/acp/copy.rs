//! The private copy of a workspace, in which an agent works.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

use crate::backend::Cleanup;
use crate::rules::{Operation, Proposal, Risk};
use crate::workspace::{ErrorKind, RelativePath, Workspace, WorkspaceError};

/// A private copy of the files that the patterns of a workspace select.
#[derive(Debug)]
pub(super) struct PrivateCopy {
    folder: TempDir,
    /// The path of the folder, without links. The agent works in this folder.
    root: PathBuf,
    /// The folder as a workspace.
    files: Workspace,
    /// The hashes of the files as they are in the workspace.
    hashes: Mutex<BTreeMap<RelativePath, u64>>,
}

/// The changes of an agent in its copy.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The proposals, and the errors of changes that cannot be proposed, for example because the file of the workspace
    /// has changed after it was copied.
    pub(super) changes: Vec<Result<Proposal, WorkspaceError>>,
    /// New files that the patterns of the workspace exclude, and files and folders that could not be searched.
    pub(super) excluded: Vec<String>,
}

impl PrivateCopy {
    /// Creates an empty copy, which only the user of this process can read.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub(super) fn create() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("kaiak-").tempdir()?;
        let root = fs::canonicalize(folder.path())?;
        let files = Workspace::open_default(&root).map_err(io::Error::other)?;
        Ok(Self { folder, root, files, hashes: Mutex::default() })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Makes the copy equal to the workspace. Returns the files that are not copied, with the reasons.
    ///
    /// # Errors
    /// If the workspace or the copy cannot be read, or the copy cannot be written.
    pub(super) fn synchronize(&self, workspace: &Workspace) -> Result<Vec<WorkspaceError>, WorkspaceError> {
        let mut problems = Vec::new();
        let wanted = workspace.files(&mut problems)?;
        let mut hashes = self.hashes();
        hashes.clear();
        for path in wanted {
            match workspace.read(&path) {
                Ok(content) => {
                    self.put(&path, &content)?;
                    hashes.insert(path, hash(&content));
                }
                Err(error) => problems.push(error),
            }
        }
        let mut others = self.files.files(&mut Vec::new())?;
        others.retain(|path| !hashes.contains_key(path));
        for path in others {
            remove(&self.root.join(path.as_str())).map_err(|error| failed(&path, "remove", error))?;
        }
        Ok(problems)
    }

    /// Returns the changes of the agent, in the order of their paths.
    ///
    /// # Errors
    /// If the copy cannot be read.
    pub(super) fn changes(&self, workspace: &Workspace) -> Result<Changes, WorkspaceError> {
        let hashes = self.hashes();
        let (mut changes, mut problems) = (Vec::new(), Vec::new());
        let present = self.files.files(&mut problems)?;
        let mut excluded: Vec<String> = problems.iter().map(|problem| problem.path().to_owned()).collect();
        for path in &present {
            let known = hashes.get(path).copied();
            if known.is_none() && !workspace.matches(path) {
                excluded.push(path.as_str().to_owned());
                continue;
            }
            match self.files.read(path) {
                Ok(after) if Some(hash(&after)) != known => {
                    let before = original(path, known, workspace);
                    changes.extend(before.map(|before| proposal(path, before, Some(after))).transpose());
                }
                Ok(_) => {}
                Err(error) => changes.push(Err(error)),
            }
        }
        let absent = hashes.iter().filter(|(path, _)| present.binary_search(path).is_err());
        for (path, known) in absent {
            // The search leaves out some folders, such as `target`. So only a missing file was deleted.
            match fs::symlink_metadata(self.root.join(path.as_str())) {
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                    let before = original(path, Some(*known), workspace);
                    changes.extend(before.map(|before| proposal(path, before, None)).transpose());
                }
                Ok(metadata) if metadata.is_file() => {}
                _ => excluded.push(path.as_str().to_owned()),
            }
        }
        Ok(Changes { changes, excluded })
    }

    /// Applies a change to the workspace.
    ///
    /// # Errors
    /// The errors of the workspace.
    pub(super) fn apply(&self, workspace: &Workspace, change: &Proposal) -> Result<(), WorkspaceError> {
        let path = &change.file_path;
        if change.operation == Operation::Create {
            super::folders::create_parents(workspace.root(), path)?;
        }
        workspace.apply(change)?;
        match change.after() {
            Some(after) => self.hashes().insert(path.clone(), hash(after)),
            None => self.hashes().remove(path),
        };
        Ok(())
    }

    /// Restores a file of the copy after its change was denied.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn restore(&self, change: &Proposal) -> Result<(), WorkspaceError> {
        let path = &change.file_path;
        match change.before() {
            Some(before) => self.put(path, before),
            None => remove(&self.root.join(path.as_str())).map_err(|error| failed(path, "remove", error)),
        }
    }

    /// Converts a path of the agent: a relative path, or an absolute path in the copy or in the workspace.
    ///
    /// # Errors
    /// If the path is another absolute path, contains `..`, names no file, or is not UTF-8.
    pub(super) fn resolve(&self, path: &str, workspace: &Workspace) -> Result<RelativePath, WorkspaceError> {
        let path = Path::new(path);
        let denied = |message| WorkspaceError::new(ErrorKind::Denied, path.to_string_lossy(), message);
        if path.components().any(|component| component == Component::ParentDir) {
            return Err(denied("the path must not contain `..`"));
        }
        let inside = if path.is_relative() {
            path
        } else {
            path.strip_prefix(&self.root)
                .or_else(|_| path.strip_prefix(workspace.root()))
                .map_err(|_| denied("the path must be inside the workspace"))?
        };
        RelativePath::from_components(inside).ok_or_else(|| denied("the path must name a file, in UTF-8"))
    }

    /// Reads a file of the copy as text.
    ///
    /// # Errors
    /// The errors of [`Workspace::read_text`].
    pub(super) fn read_text(&self, path: &RelativePath) -> Result<String, WorkspaceError> {
        self.files.read_text(path)
    }

    /// Writes a file of the copy.
    ///
    /// # Errors
    /// If the path leads through a link, or the file cannot be written.
    pub(super) fn put(&self, path: &RelativePath, content: &[u8]) -> Result<(), WorkspaceError> {
        let before = match self.files.read(path) {
            Ok(before) if before == content => return Ok(()),
            Ok(before) => Some(before),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        super::folders::create_parents(&self.root, path)?;
        self.files.write(path, before.as_deref(), content)
    }

    fn hashes(&self) -> MutexGuard<'_, BTreeMap<RelativePath, u64>> {
        self.hashes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the copy, or keeps it if `cleanup_files` is false. Returns the number of removed files.
    pub(super) fn remove(self, cleanup_files: bool) -> Cleanup {
        if !cleanup_files {
            tracing::info!("the private copy {} is kept", self.folder.keep().display());
            return Cleanup::default();
        }
        let files = count(&self.root);
        match self.folder.close() {
            Ok(()) => Cleanup { temp_files_removed: files, errors: Vec::new() },
            Err(error) => {
                let left = count(&self.root);
                let error = format!("{}: {error}", self.root.display());
                Cleanup { temp_files_removed: files.saturating_sub(left), errors: vec![error] }
            }
        }
    }
}

/// Returns the content of a file of the workspace, or `None` for a new file.
///
/// # Errors
/// If the file is not as it was copied.
fn original(path: &RelativePath, known: Option<u64>, workspace: &Workspace) -> Result<Option<Vec<u8>>, WorkspaceError> {
    let Some(known) = known else { return Ok(None) };
    let changed = || WorkspaceError::new(ErrorKind::Changed, path.as_str(), "the file has changed since it was read");
    match workspace.read(path) {
        Ok(content) if hash(&content) == known => Ok(Some(content)),
        Ok(_) => Err(changed()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(changed()),
        Err(error) => Err(error),
    }
}

/// Returns the proposal for a change of an agent, or `None` if nothing changes.
pub(super) fn proposal(path: &RelativePath, before: Option<Vec<u8>>, after: Option<Vec<u8>>) -> Option<Proposal> {
    let risk = if after.is_none() { Risk::High } else { Risk::Medium };
    Proposal::new(path.clone(), None, before, after, risk)
}

fn failed(path: &RelativePath, action: &str, error: io::Error) -> WorkspaceError {
    WorkspaceError::system(path.as_str(), action, error)
}

/// Removes a file. A missing file is not an error.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns the number of files in a folder. Links are counted, and not followed.
fn count(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of_entry = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => count(&entry.path()),
        _ => 1,
    };
    entries.map(of_entry).sum()
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}
