//! The cache folder outside of the repository, for toolchains and tools.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub(crate) struct Cache {
    root: PathBuf,
}

impl Cache {
    /// Opens the cache in `$PORTWAY_CACHE`, or else in `$XDG_CACHE_HOME/portway`. If neither variable is set, opens the
    /// cache in `~/.cache/portway`.
    pub(crate) fn open() -> Result<Self> {
        let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = locate(variable("PORTWAY_CACHE"), variable("XDG_CACHE_HOME"), env::home_dir())
            .context("the cache has no folder: set PORTWAY_CACHE to a folder that is kept between runs")?;
        fs::create_dir_all(&root).with_context(|| format!("cannot create the cache folder {}", root.display()))?;
        Ok(Self { root })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Locks the cache for an addition, so that two commands do not build the same tool at the same time.
    pub(crate) fn lock(&self) -> Result<File> {
        lock(&self.path("lock"))
    }
}

/// Waits for the lock of the file at `path`. Dropping the returned file releases the lock.
pub(crate) fn lock(path: &Path) -> Result<File> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    if file.try_lock().is_err() {
        eprintln!("  waiting for another process or suite of cargo xtask ({})", path.display());
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    }
    Ok(file)
}

/// Returns the cache folder. The arguments are the values of `PORTWAY_CACHE` and `XDG_CACHE_HOME`, and the home folder.
fn locate(portway: Option<PathBuf>, xdg: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    portway.or_else(|| xdg.map(|xdg| xdg.join("portway"))).or_else(|| home.map(|home| home.join(".cache/portway")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_of_portway_precedes_xdg_and_xdg_precedes_home() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(locate(path("/a"), path("/b"), path("/c")), path("/a"));
        assert_eq!(locate(None, path("/b"), path("/c")), path("/b/portway"));
        assert_eq!(locate(None, None, path("/c")), path("/c/.cache/portway"));
        assert_eq!(locate(None, None, None), None);
    }
}
