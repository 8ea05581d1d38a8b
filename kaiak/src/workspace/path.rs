//! Paths of a workspace, and their conversion from paths and URIs of other programs.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::error::{ErrorKind, WorkspaceError};

use crate::limits::{MAX_PATH_CHARACTERS, MAX_SHOWN_CHARACTERS};

/// Maximum number of characters in a path.
pub const MAX_PATH_CHARS: usize = MAX_PATH_CHARACTERS;

/// The path of a file of a workspace, relative to its root, with `/` between the names. The path is UTF-8, is not
/// empty, and has no component `.` or `..`. No component was a link when the path was resolved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelativePath(String);

impl RelativePath {
    /// Joins the components of a path. Returns `None` if a component is not a UTF-8 name, or if there is none.
    pub(crate) fn from_components(path: &Path) -> Option<Self> {
        let mut joined = String::new();
        for component in path.components() {
            let Component::Normal(name) = component else { return None };
            if !joined.is_empty() {
                joined.push('/');
            }
            joined.push_str(name.to_str()?);
        }
        (!joined.is_empty()).then_some(Self(joined))
    }

    /// Returns the path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name of the file.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&*self.0, |(_, name)| name)
    }

    /// Returns the path of another file in the same folder, or `None` if `name` is not a name.
    #[must_use]
    pub fn sibling(&self, name: &str) -> Option<Self> {
        let is_name = !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']);
        let folder = self.0.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        is_name.then(|| Self(format!("{folder}{name}")))
    }

    /// Returns the folders of the file from the root, and the name of the file.
    pub(crate) fn split(&self) -> (impl Iterator<Item = &str>, &str) {
        let (folder, name) = self.0.rsplit_once('/').unwrap_or(("", &self.0));
        (folder.split('/').filter(|part| !part.is_empty()), name)
    }
}

impl Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the beginning of a path of another program, for an error.
fn shown(path: &str) -> String {
    match path.char_indices().nth(MAX_SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", path.get(..end).unwrap_or_default()),
        None => path.to_owned(),
    }
}

/// Resolves `path`, which is absolute, relative to `root`, or a `file` URI. `root` is the root of the workspace, in
/// which no component is a link.
pub(super) fn resolve(root: &Path, path: &str) -> Result<RelativePath, WorkspaceError> {
    let denied = |message: &str| WorkspaceError::new(ErrorKind::Denied, shown(path), message);
    if path.chars().nth(MAX_PATH_CHARS).is_some() {
        return Err(denied(&format!("the path must have at most {MAX_PATH_CHARS} characters")));
    }
    let decoded = decode_uri(path).ok_or_else(|| denied("the URI must be a `file` URI of this machine"))?;
    if decoded.is_empty() || decoded.contains(&0) {
        return Err(denied("the path must not be empty, and must not contain NUL"));
    }
    let relative = Path::new(OsStr::from_bytes(&decoded));
    if relative.components().any(|component| component == Component::ParentDir) {
        return Err(denied("the path must not contain `..`"));
    }
    let full = root.join(relative);
    let real = match real_path(&full) {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Err(denied("the path must not lead to a link without a target"));
        }
        Err(error) => return Err(WorkspaceError::system(shown(path), "find", error)),
    };
    // `strip_prefix` compares components: `/ws-evil` is not in `/ws`.
    let inside = real.strip_prefix(root).map_err(|_| denied("the path must be inside the workspace"))?;
    RelativePath::from_components(inside).ok_or_else(|| denied("the path must name a file, in UTF-8"))
}

/// Returns the path with all links resolved. The last component may be missing. If a component is a link without a
/// target, the error has the kind `InvalidInput`.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // The link may be the file, or one of its folders.
            if path.ancestors().any(|part| part.is_symlink() && !part.exists()) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(error) };
            Ok(fs::canonicalize(folder)?.join(name))
        }
        resolved => resolved,
    }
}

/// Returns the path of a `file` URI, or `path` itself if it has no scheme. Returns `None` for other URIs. The folders
/// above a workspace may have names that are not UTF-8, so the result is bytes.
fn decode_uri(path: &str) -> Option<Cow<'_, [u8]>> {
    let Some((scheme, rest)) = path.split_once("://") else { return Some(Cow::Borrowed(path.as_bytes())) };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character));
    if !is_scheme {
        return Some(Cow::Borrowed(path.as_bytes()));
    }
    let rest = rest.strip_prefix("localhost").filter(|rest| rest.starts_with('/')).unwrap_or(rest);
    if !scheme.eq_ignore_ascii_case("file") || !rest.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(rest.len());
    let mut encoded = rest.bytes();
    while let Some(byte) = encoded.next() {
        if byte == b'%' {
            let mut digit = || encoded.next().and_then(|digit| char::from(digit).to_digit(16));
            let value = digit()? * 16 + digit()?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(Cow::Owned(bytes))
}

/// Returns the `file` URI of an absolute path.
pub(crate) fn file_uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
