//! The files of the page. They are embedded in the command, or read from a folder.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::{fs, io};

use hyper::body::Bytes;
use memchr::memmem;

use crate::output::{Failure, USAGE_OR_IO_FAILED};

/// The files that the build script found, by their paths.
static EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The environment variable that names a folder with a built page. The folder replaces the embedded page.
pub(super) const PAGE_VARIABLE: &str = "PORTWAY_INSPECTOR_PAGE";

/// The element by which the page recognises that a command serves it.
const MARK: &[u8] = b"<meta name=\"portway-command\" content=\"session.json\" />";

/// The files of a page, by their paths relative to the address of the page.
#[derive(Debug)]
pub(crate) struct Page(HashMap<String, Bytes>);

impl Page {
    /// Returns the page of the folder in `PORTWAY_INSPECTOR_PAGE`, or the embedded page.
    /// A pipe in the folder can block this call.
    pub(crate) fn load() -> Result<Self, Failure> {
        match std::env::var_os(PAGE_VARIABLE) {
            Some(folder) => Self::read(&folder),
            None => Self::embedded(EMBEDDED),
        }
    }

    fn embedded(files: &[(&str, &'static [u8])]) -> Result<Self, Failure> {
        let files = files.iter().map(|(name, bytes)| ((*name).to_owned(), Bytes::from_static(bytes)));
        Self::new(files.collect()).ok_or_else(|| {
            Failure::new(USAGE_OR_IO_FAILED, "this build of portway does not contain the page of the inspector")
                .with_hint("Run `cargo xtask build --only page` in the repository, and build the command again.")
        })
    }

    fn read(folder: &OsStr) -> Result<Self, Failure> {
        let name = folder.to_string_lossy();
        let failure = |problem| Failure::new(USAGE_OR_IO_FAILED, format!("{PAGE_VARIABLE}: {problem}"));
        let unreadable = |error| failure(format!("cannot read {name}: {error}"));
        let without_document = || failure(format!("{name} must contain index.html"));
        let folder = Path::new(folder);
        fs::read_dir(folder).map_err(unreadable)?;
        // A folder without `index.html` is not read: the folder may be large, for example a home folder.
        if !folder.join("index.html").try_exists().map_err(unreadable)? {
            return Err(without_document());
        }
        let mut files = HashMap::new();
        read_folder(folder, "", &mut files).map_err(unreadable)?;
        Self::new(files).ok_or_else(without_document)
    }

    /// Adds the mark to the document. Returns `None` if the files have no document.
    fn new(mut files: HashMap<String, Bytes>) -> Option<Self> {
        let document = files.get_mut("index.html")?;
        if let Some((head, rest)) =
            memmem::find(document, b"</head>").and_then(|position| document.split_at_checked(position))
        {
            *document = [head, MARK, rest].concat().into();
        }
        Some(Self(files))
    }

    /// Returns the content and the type of a file.
    pub(super) fn file(&self, path: &str) -> Option<(Bytes, &'static str)> {
        let path = if path.is_empty() { "index.html" } else { path };
        let bytes = self.0.get(path)?;
        Some((bytes.clone(), content_type(path)))
    }
}

fn read_folder(folder: &Path, prefix: &str, files: &mut HashMap<String, Bytes>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read_folder(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.insert(name, fs::read(entry.path())?.into());
        }
    }
    Ok(())
}

fn content_type(path: &str) -> &'static str {
    let extension = Path::new(path).extension().map_or(Cow::Borrowed(""), OsStr::to_string_lossy);
    match &*extension {
        "css" => "text/css; charset=utf-8",
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "json" => "application/json; charset=utf-8",
        "svg" => "image/svg+xml",
        "wasm" => "application/wasm",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_the_page_is_an_error_with_a_remedy() {
        let failure = Page::embedded(&[("README.md", b"")]).err();
        let text = format!("{failure:?}");
        assert!(text.contains("does not contain the page") && text.contains("cargo xtask build --only page"), "{text}");
        assert!(Page::embedded(&[("index.html", b"")]).is_ok());
    }

    #[test]
    fn each_file_has_a_type_that_browsers_accept() {
        for (path, expected) in [
            ("index.html", "text/html; charset=utf-8"),
            ("assets/a.css", "text/css; charset=utf-8"),
            ("assets/a.js", "text/javascript; charset=utf-8"),
            ("assets/a.wasm", "application/wasm"),
            ("assets/a.svg", "image/svg+xml"),
            ("assets/a", "application/octet-stream"),
        ] {
            assert_eq!(content_type(path), expected);
        }
    }
}
