//! The include and exclude patterns of a workspace.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::error::{ErrorKind, WorkspaceError};

/// The default include patterns of a workspace.
pub const DEFAULT_INCLUDE: &[&str] = &["**/*"];

/// The default exclude patterns of a workspace: folders with the files of tools.
pub const DEFAULT_EXCLUDE: &[&str] = &["**/.git/**", "**/target/**", "**/node_modules/**"];

/// The patterns that were compiled last. All sessions of a server usually have the same patterns, and compiled patterns
/// are the largest part of an idle session.
static LAST: Mutex<Weak<Compiled>> = Mutex::new(Weak::new());

/// Patterns, or `None` if all files are selected.
#[derive(Debug)]
pub(super) struct Patterns(Option<Arc<Compiled>>);

#[derive(Debug)]
struct Compiled {
    /// The texts of the patterns.
    texts: (Vec<String>, Vec<String>),
    include: GlobSet,
    exclude: GlobSet,
    /// Patterns of folders whose files are all excluded. A search does not enter such folders.
    excluded_folders: GlobSet,
}

impl Patterns {
    /// Compiles the patterns. `*` and `?` do not match `/`; `**` does.
    pub(super) fn new(include: &[String], exclude: &[String]) -> Result<Self, WorkspaceError> {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = last.upgrade().filter(|last| last.texts.0 == include && last.texts.1 == exclude) {
            return Ok(Self(Some(compiled)));
        }
        let folders: Vec<_> = exclude.iter().filter_map(|pattern| pattern.strip_suffix("/**")).collect();
        let texts = (include.to_vec(), exclude.to_vec());
        let (include, exclude, excluded_folders) = (set(include)?, set(exclude)?, set(&folders)?);
        let compiled = Arc::new(Compiled { texts, include, exclude, excluded_folders });
        *last = Arc::downgrade(&compiled);
        Ok(Self(Some(compiled)))
    }

    /// Returns patterns that select all files.
    pub(super) const fn all() -> Self {
        Self(None)
    }

    /// Returns whether a file is included and not excluded.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.0.as_ref().is_none_or(|patterns| patterns.include.is_match(path) && !patterns.exclude.is_match(path))
    }

    /// Returns whether all files of a folder are excluded.
    pub(super) fn excludes_folder(&self, path: &str) -> bool {
        self.0.as_ref().is_some_and(|patterns| patterns.excluded_folders.is_match(path))
    }
}

fn set(patterns: &[impl AsRef<str>]) -> Result<GlobSet, WorkspaceError> {
    compile_globs(patterns).map_err(|error| {
        let pattern = error.glob().unwrap_or("patterns").to_owned();
        WorkspaceError::new(ErrorKind::Denied, pattern, format!("the pattern must be a glob: {}", error.kind()))
    })
}

/// Compiles globs to one set.
///
/// # Errors
/// If a pattern is not a glob, or if the set is too large.
pub(crate) fn compile_globs(patterns: &[impl AsRef<str>]) -> Result<GlobSet, globset::Error> {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        builder.add(glob(pattern.as_ref())?);
    }
    builder.build()
}

fn glob(pattern: &str) -> Result<Glob, globset::Error> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    GlobBuilder::new(pattern).literal_separator(true).build()
}
