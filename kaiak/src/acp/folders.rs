//! Creates the folders of a new file without following links.

use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use crate::workspace::{RelativePath, WorkspaceError};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Creates the missing folders of a file below `root`.
///
/// # Errors
/// If a component is a link or a file, or cannot be created.
pub(super) fn create_parents(root: &Path, path: &RelativePath) -> Result<(), WorkspaceError> {
    let failed = |error: Errno| WorkspaceError::system(path.as_str(), "create the folder of", error);
    let mut folder = openat(CWD, root, FOLDER, Mode::empty()).map_err(failed)?;
    for name in path.split().0 {
        match mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        folder = openat(&folder, name, FOLDER, Mode::empty()).map_err(failed)?;
    }
    Ok(())
}
