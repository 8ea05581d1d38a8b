//! The include and exclude patterns of a workspace.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::error::{ErrorKind, WorkspaceError};

/// The include patterns of a workspace for which none are configured.
pub const DEFAULT_INCLUDE: &[&str] = &["**/*"];

/// The exclude patterns of a workspace for which none are configured: folders with the files of tools.
pub const DEFAULT_EXCLUDE: &[&str] = &["**/.git/**", "**/target/**", "**/node_modules/**"];

#[derive(Debug)]
pub(super) struct Patterns {
    include: GlobSet,
    exclude: GlobSet,
    /// Folders whose files are all excluded, so that a search does not enter them.
    excluded_folders: GlobSet,
}

impl Patterns {
    /// Compiles the patterns. `*` and `?` do not match `/`; `**` does.
    pub(super) fn new(include: &[String], exclude: &[String]) -> Result<Self, WorkspaceError> {
        let folders: Vec<_> = exclude.iter().filter_map(|pattern| pattern.strip_suffix("/**")).collect();
        Ok(Self { include: set(include)?, exclude: set(exclude)?, excluded_folders: set(&folders)? })
    }

    /// Returns whether a file is included and not excluded.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.include.is_match(path) && !self.exclude.is_match(path)
    }

    /// Returns whether all files of a folder are excluded.
    pub(super) fn excludes_folder(&self, path: &str) -> bool {
        self.excluded_folders.is_match(path)
    }
}

fn set(patterns: &[impl AsRef<str>]) -> Result<GlobSet, WorkspaceError> {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = pattern.as_ref();
        let glob = glob(pattern).map_err(|error| invalid(pattern, &error))?;
        builder.add(glob);
    }
    builder.build().map_err(|error| invalid("patterns", &error))
}

fn glob(pattern: &str) -> Result<Glob, globset::Error> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    GlobBuilder::new(pattern).literal_separator(true).build()
}

fn invalid(pattern: &str, error: &globset::Error) -> WorkspaceError {
    WorkspaceError::new(ErrorKind::Denied, pattern, format!("the pattern must be a glob: {}", error.kind()))
}
