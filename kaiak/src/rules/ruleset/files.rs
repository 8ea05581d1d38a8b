//! The files of a set of rules.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{self, Path, PathBuf};

use rustix::fs::OFlags;

use super::{DESCRIPTION, LoadError, Loader, TABLE};
use crate::limits::MAX_RULE_FOLDER_DEPTH;

/// The files of rules at some paths. Each file is listed once, even if several paths or links lead to it.
#[derive(Default)]
pub(super) struct Collection {
    pub(super) files: Vec<PathBuf>,
    /// The listed files and the searched folders, without links, and whether they have files. A table is listed once
    /// for each folder that has it, because it applies to the rules in its folder.
    known: BTreeMap<PathBuf, bool>,
    /// Links to files and folders. They are followed after all other entries of all paths, so that a file is listed by
    /// the path without links, if it has one.
    links: VecDeque<(PathBuf, Origin)>,
}

/// The way to a file or a folder.
#[derive(Clone, Copy)]
struct Origin {
    /// The index of the path that the caller has passed.
    index: usize,
    /// The number of folders between this path and the entry.
    depth: usize,
}

impl Collection {
    /// Adds the files of rules at `paths`. A path itself may have any name; files in folders end in `.yaml` or `.yml`.
    /// Warns of each path without such a file.
    pub(super) fn add(&mut self, paths: &[PathBuf], loader: &mut Loader) -> Result<(), LoadError> {
        let mut has_files = Vec::with_capacity(paths.len());
        for (index, path) in paths.iter().enumerate() {
            let added = self.add_path(path, Origin { index, depth: 0 }, loader);
            has_files.push(added.map_err(|error| LoadError { path: path.clone(), error })?);
        }
        while let Some((link, origin)) = self.links.pop_front() {
            let added = self.collect(&link, origin, loader).map_err(|error| LoadError { path: link, error })?;
            if let Some(has_files) = has_files.get_mut(origin.index) {
                *has_files |= added;
            }
        }
        for (path, _) in paths.iter().zip(has_files).filter(|(_, has_files)| !has_files) {
            loader.warn(path, None, "the folder has no file of rules: no `.yaml`, and no `.yml`".to_owned());
        }
        Ok(())
    }

    /// Adds the files at a path, except those behind links. Returns whether there are such files.
    fn add_path(&mut self, path: &Path, origin: Origin, loader: &mut Loader) -> io::Result<bool> {
        if fs::symlink_metadata(path)?.is_symlink() {
            self.links.push_back((path.to_owned(), origin));
            return Ok(false);
        }
        self.collect(path, origin, loader)
    }

    fn collect(&mut self, path: &Path, origin: Origin, loader: &mut Loader) -> io::Result<bool> {
        let metadata = fs::metadata(path)?;
        let mut real = fs::canonicalize(path)?;
        let is_table = path.file_name().is_some_and(|name| name == TABLE);
        if is_table && !metadata.is_file() {
            return Err(invalid_table(path));
        }
        if !metadata.is_dir() {
            if !metadata.is_file() {
                return Err(not_regular());
            }
            if is_table {
                real = folder_of(path)?.join(TABLE);
            }
            if self.known.insert(real, true).is_none() {
                self.files.push(path.to_owned());
            }
            return Ok(true);
        }
        if let Some(has_files) = self.known.get(&real) {
            return Ok(*has_files);
        }
        self.known.insert(real.clone(), false);
        let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut has_files = false;
        for entry in entries {
            has_files |= self.collect_entry(&entry, origin, loader)?;
        }
        self.known.insert(real, has_files);
        Ok(has_files)
    }

    fn collect_entry(&mut self, entry: &fs::DirEntry, origin: Origin, loader: &mut Loader) -> io::Result<bool> {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml"));
        let is_wanted = stem.is_some_and(|stem| !stem.ends_with(".test")) && name != DESCRIPTION;
        // `metadata` follows links.
        let metadata = fs::metadata(&path);
        let origin = match &metadata {
            Ok(metadata) if metadata.is_dir() && name != TABLE => {
                if name == "tests" || name.starts_with('.') {
                    return Ok(false);
                }
                if origin.depth >= MAX_RULE_FOLDER_DEPTH {
                    let reason =
                        format!("the folder is skipped: it must be at most {MAX_RULE_FOLDER_DEPTH} folders deep");
                    loader.warn(&path, None, reason);
                    return Ok(false);
                }
                Origin { depth: origin.depth + 1, ..origin }
            }
            Ok(metadata) if is_wanted && metadata.is_file() => origin,
            // A set of rules without its table would lack its fixes, so a table that cannot be read is an error.
            _ if name == TABLE => return Err(invalid_table(&path)),
            Ok(_) if is_wanted => {
                loader.warn(&path, None, format!("the file is skipped: {}", not_regular()));
                return Ok(false);
            }
            Err(error) if is_wanted => {
                loader.warn(&path, None, format!("the file is skipped: {error}"));
                return Ok(false);
            }
            _ => return Ok(false),
        };
        self.add_path(&path, origin, loader)
    }
}

/// Returns the folder of a file, without links. The file itself may be a link.
pub(super) fn folder_of(file: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path::absolute(file)?.parent().unwrap_or(file))
}

fn invalid_table(path: &Path) -> io::Error {
    let message = format!("{} must be a regular file, or must not exist", path.display());
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it must be a regular file")
}

/// Opens a regular file. The check precedes the first read, because a read of a pipe waits for its writer.
pub(super) fn open(file: &Path) -> io::Result<File> {
    // `O_NONBLOCK` has no effect on regular files.
    let flags = OFlags::NONBLOCK.union(OFlags::NOCTTY).bits();
    let opened = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(file)?;
    if opened.metadata()?.is_file() { Ok(opened) } else { Err(not_regular()) }
}
