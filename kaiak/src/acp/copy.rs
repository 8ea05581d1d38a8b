//! The private copy of a workspace, in which an agent works.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

use crate::backend::Cleanup;
use crate::rules::{Operation, Proposal, Risk};
use crate::workspace::{ErrorKind, Listing, RelativePath, Workspace, WorkspaceError};

/// A private copy of the files that the patterns of a workspace select.
#[derive(Debug)]
pub(super) struct PrivateCopy {
    /// `None` after [`PrivateCopy::remove`].
    folder: Mutex<Option<TempDir>>,
    /// The path of the folder, without links. The agent works in this folder.
    root: PathBuf,
    /// The folder as a workspace of which all files are selected, so that each change of the agent is seen.
    files: Workspace,
    /// The hashes of the files as they are in the workspace.
    hashes: Mutex<BTreeMap<RelativePath, u64>>,
}

/// The changes of an agent in its copy.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The files that the agent has changed, in the order of their paths. Files that the agent has removed follow all
    /// other files. The contents of all files may need much memory, so [`PrivateCopy::change_of`] reads one file at a
    /// time.
    pub(super) changed: Vec<RelativePath>,
    /// Changes that cannot be proposed, for example because the agent has replaced a file by a link.
    pub(super) refused: Vec<WorkspaceError>,
    /// New files, links and folders that the patterns of the workspace exclude.
    pub(super) excluded: Vec<String>,
}

impl PrivateCopy {
    /// Creates an empty copy, which only the user of this process can read.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub(super) fn create() -> io::Result<Self> {
        // Without this mode, the umask decides which users can read the folder.
        let private = fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("kaiak-").permissions(private).tempdir()?;
        let root = fs::canonicalize(folder.path())?;
        let files = Workspace::open_temporary(&root).map_err(io::Error::other)?;
        Ok(Self { folder: Mutex::new(Some(folder)), root, files, hashes: Mutex::default() })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Makes the copy equal to the files of the workspace that the patterns select. All other entries of the copy are
    /// removed. Returns the files that are not copied, with the reasons.
    ///
    /// # Errors
    /// If the workspace or the copy cannot be read, or the copy cannot be written.
    pub(super) fn synchronize(&self, workspace: &Workspace) -> Result<Vec<WorkspaceError>, WorkspaceError> {
        let mut problems = Vec::new();
        let wanted = workspace.files(&mut problems)?;
        let mut hashes = self.hashes();
        hashes.clear();
        self.files.retain(&wanted, &mut 0)?;
        for path in wanted {
            match workspace.read(&path) {
                Ok(content) => {
                    if self.files.read(&path).ok().as_deref() != Some(&content) {
                        self.replace(&path, &content)?;
                    }
                    hashes.insert(path, hash(&content));
                }
                Err(error) => {
                    self.files.remove(&path)?;
                    problems.push(error);
                }
            }
        }
        Ok(problems)
    }

    /// Returns the changes of the agent.
    ///
    /// # Errors
    /// If the copy cannot be read, or the agent has removed or replaced its folder.
    pub(super) fn changes(&self, workspace: &Workspace) -> Result<Changes, WorkspaceError> {
        let hashes = self.hashes();
        let Listing { files, others, problems } = self.files.list()?;
        let (mut found, mut deletions) = (Changes::default(), Vec::new());
        for path in others.iter().filter(|path| !hashes.contains_key(path)) {
            if workspace.matches(path) {
                let message = "a new file of the agent must be a regular file, got a link or a special file";
                found.refused.push(WorkspaceError::new(ErrorKind::Denied, path.as_str(), message));
            } else {
                found.excluded.push(path.as_str().to_owned());
            }
        }
        for problem in problems {
            if workspace.matches_problem(&problem) {
                found.refused.push(problem);
            } else {
                found.excluded.push(problem.path().to_owned());
            }
        }
        let paths: BTreeSet<&RelativePath> = files.iter().chain(hashes.keys()).collect();
        for path in paths {
            let known = hashes.get(path).copied();
            if known.is_none() && !workspace.matches(path) {
                found.excluded.push(path.as_str().to_owned());
                continue;
            }
            match self.files.read(path) {
                Ok(after) if Some(hash(&after)) == known => {}
                Ok(_) => found.changed.push(path.clone()),
                // The agent has removed the file. Only files that were copied are proposed for deletion.
                Err(error) if error.kind() == ErrorKind::NotFound && known.is_some() => deletions.push(path.clone()),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                // For example, the agent has replaced the file, or one of its folders, by a link.
                Err(error) => found.refused.push(error),
            }
        }
        found.changed.append(&mut deletions);
        // If the whole folder was removed, each file is missing, but no file must be proposed for deletion.
        self.files.check_root()?;
        Ok(found)
    }

    /// Returns the proposal for a file that the agent has changed, or `None` if the file is now as it was copied.
    ///
    /// # Errors
    /// If the file of the copy cannot be read, or if the file of the workspace has changed since it was copied.
    pub(super) fn change_of(
        &self,
        path: &RelativePath,
        workspace: &Workspace,
    ) -> Result<Option<Proposal>, WorkspaceError> {
        let known = self.hashes().get(path).copied();
        let after = match self.files.read(path) {
            Ok(after) => Some(after),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // If the whole folder was removed, each file is missing, but no file must be proposed for deletion.
                self.files.check_root()?;
                None
            }
            Err(error) => return Err(error),
        };
        let before = original(path, known, workspace)?;
        Ok(proposal(path, before, after))
    }

    /// Applies a change to the workspace.
    ///
    /// # Errors
    /// The errors of the workspace.
    pub(super) fn apply(&self, workspace: &Workspace, change: &Proposal) -> Result<(), WorkspaceError> {
        let path = &change.file_path;
        if change.operation == Operation::Create {
            workspace.create_folders(path)?;
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
            Some(before) => self.replace(path, before),
            None => self.files.remove(path),
        }
    }

    /// Replaces whatever the agent has left at a path by a file.
    fn replace(&self, path: &RelativePath, content: &[u8]) -> Result<(), WorkspaceError> {
        self.files.remove(path)?;
        self.files.create_folders(path)?;
        self.files.write(path, None, content)
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
        self.files.create_folders(path)?;
        self.files.write(path, before.as_deref(), content)
    }

    fn hashes(&self) -> MutexGuard<'_, BTreeMap<RelativePath, u64>> {
        self.hashes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the copy, or keeps it if `cleanup_files` is false. Waits for the end of a comparison in another thread.
    /// Returns the number of removed files.
    pub(super) fn remove(&self, cleanup_files: bool) -> Cleanup {
        let _unused = self.hashes();
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(folder) = folder else { return Cleanup::default() };
        if !cleanup_files {
            // The arguments of `info!` are evaluated only if this level is logged.
            let path = folder.keep();
            tracing::info!("the private copy {} is kept", path.display());
            return Cleanup::default();
        }
        let mut removed = 0;
        let counted = self.files.check_root().and_then(|()| self.files.retain(&[], &mut removed));
        let not_counted =
            counted.err().map(|error| format!("some files of the private copy were not counted: {error}"));
        // This call also removes the files that were not counted.
        let not_removed = folder.close().err().map(|error| format!("{}: {error}", self.root.display()));
        Cleanup { temp_files_removed: removed, errors: not_counted.into_iter().chain(not_removed).collect() }
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

fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed test is a panic")]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    /// A thread for blocking work may outlive the run that has started it.
    #[test]
    fn a_copy_that_a_thread_uses_is_removed_or_kept_as_the_client_wants() {
        for cleanup_files in [true, false] {
            let copy = Arc::new(PrivateCopy::create().unwrap());
            let (sender, is_locked) = channel();
            let (root, other) = (copy.root.clone(), Arc::clone(&copy));
            let user = thread::spawn(move || {
                let hashes = other.hashes();
                sender.send(()).unwrap();
                fs::write(other.root.join("file"), "x").unwrap();
                drop(hashes);
            });
            is_locked.recv().unwrap();
            let removed = copy.remove(cleanup_files);
            user.join().unwrap();
            drop(copy);
            assert_eq!(removed, Cleanup { temp_files_removed: u64::from(cleanup_files), errors: Vec::new() });
            assert_eq!(root.exists(), !cleanup_files);
            if !cleanup_files {
                fs::remove_dir_all(root).unwrap();
            }
        }
    }

    #[test]
    fn only_the_user_of_this_process_can_read_a_copy() {
        let copy = PrivateCopy::create().unwrap();
        assert_eq!(fs::metadata(copy.root()).unwrap().permissions().mode() & 0o7777, 0o700);
    }

    #[test]
    fn files_that_were_removed_without_being_counted_are_an_error_of_the_cleanup() {
        let copy = PrivateCopy::create().unwrap();
        fs::remove_dir(&copy.root).unwrap();
        fs::create_dir(&copy.root).unwrap();
        fs::write(copy.root.join("file"), "of the agent").unwrap();
        let Cleanup { temp_files_removed, errors } = copy.remove(true);
        assert_eq!(temp_files_removed, 0);
        assert!(matches!(&*errors, [error] if error.contains("were not counted")), "{errors:?}");
        assert!(!copy.root.exists());
    }

    #[test]
    fn the_change_of_a_file_is_read_when_it_is_proposed() {
        let folder = TempDir::new().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(folder.path().join(name), "old").unwrap();
        }
        let workspace = Workspace::open_default(folder.path()).unwrap();
        let copy = PrivateCopy::create().unwrap();
        copy.synchronize(&workspace).unwrap();
        for name in ["a", "b"] {
            fs::write(copy.root.join(name), "new").unwrap();
        }
        fs::remove_file(copy.root.join("c")).unwrap();
        let changed = copy.changes(&workspace).unwrap().changed;
        assert_eq!(changed.iter().map(RelativePath::as_str).collect::<Vec<_>>(), ["a", "b", "c"]);
        let change = |index: usize| copy.change_of(changed.get(index).unwrap(), &workspace);
        assert_eq!(change(0).unwrap().unwrap().after(), Some(b"new".as_slice()));
        fs::write(copy.root.join("b"), "old").unwrap();
        assert!(change(1).unwrap().is_none());
        assert_eq!(change(2).unwrap().unwrap().operation, Operation::Delete);
        // Without its folder, no file of the copy is proposed for deletion.
        fs::remove_dir_all(&copy.root).unwrap();
        assert!(change(2).is_err());
    }

    /// The permissions of a folder do not apply to root, so the test becomes another user. On Linux, each thread has a
    /// user of its own.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_copy_is_restored_and_removed_after_an_agent_has_removed_its_permissions() {
        use std::fs::Permissions;

        let check = || {
            if rustix::process::geteuid().is_root() {
                let nobody = rustix::process::Uid::from_raw(65_534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            let folder = TempDir::new().unwrap();
            fs::create_dir_all(folder.path().join("a/b")).unwrap();
            fs::write(folder.path().join("a/b/file"), "content").unwrap();
            let workspace = Workspace::open_default(folder.path()).unwrap();
            let copy = PrivateCopy::create().unwrap();
            copy.synchronize(&workspace).unwrap();
            let change = |mode| {
                fs::create_dir_all(copy.root.join("a/new/deep/empty")).unwrap();
                for name in ["a/b/file", "a/new/file", "a/new/deep/file"] {
                    fs::write(copy.root.join(name), "changed").unwrap();
                }
                for name in ["a/new/deep/empty", "a/new/deep", "a/new", "a/b", "a", ""] {
                    fs::set_permissions(copy.root.join(name), Permissions::from_mode(mode)).unwrap();
                }
            };
            for mode in [0o555, 0o000, 0o444, 0o300] {
                change(mode);
                assert!(copy.synchronize(&workspace).unwrap().is_empty(), "{mode:o}");
                assert_eq!(fs::read(copy.root.join("a/b/file")).unwrap(), b"content");
                assert!(!copy.root.join("a/new").exists(), "{mode:o}");
                change(mode);
                let file = RelativePath::from_components(Path::new("a/b/file")).unwrap();
                let denied = proposal(&file, Some(b"content".to_vec()), Some(b"changed".to_vec())).unwrap();
                copy.restore(&denied).unwrap();
                assert_eq!(fs::read(copy.root.join("a/b/file")).unwrap(), b"content");
                copy.synchronize(&workspace).unwrap();
            }
            change(0);
            assert_eq!(copy.remove(true), Cleanup { temp_files_removed: 3, errors: Vec::new() });
            assert!(!copy.root.exists());
        };
        thread::spawn(check).join().unwrap();
    }
}
