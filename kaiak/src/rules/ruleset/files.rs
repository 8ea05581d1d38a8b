//! The files of a set of rules.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{DESCRIPTION, Loader, TABLE};
use crate::limits::MAX_RULE_FOLDER_DEPTH;

/// The files of rules at some paths. Each file is listed once, even if several paths or links lead to it.
#[derive(Default)]
pub(super) struct Collection {
    pub(super) files: Vec<PathBuf>,
    /// The listed files and the searched folders, without links. A table is listed once for each folder that has it,
    /// because it applies to the rules in its folder.
    known: BTreeSet<PathBuf>,
    /// Links to files and folders, with their depths. They are followed after all other entries, so that a file is
    /// listed by the path without links, if it has one.
    links: VecDeque<(PathBuf, usize)>,
}

impl Collection {
    /// Adds the files of rules at `path`. The path itself may have any name; files in folders end in `.yaml` or `.yml`.
    /// Returns whether `path` has files, including those that were listed before.
    pub(super) fn add(&mut self, path: &Path, loader: &mut Loader) -> io::Result<bool> {
        let mut has_files = self.collect(path, 0, loader)?;
        while let Some((link, depth)) = self.links.pop_front() {
            has_files |= self.collect(&link, depth, loader)?;
        }
        Ok(has_files)
    }

    fn collect(&mut self, path: &Path, depth: usize, loader: &mut Loader) -> io::Result<bool> {
        let metadata = fs::metadata(path)?;
        let real = fs::canonicalize(path)?;
        let is_table = path.file_name().is_some_and(|name| name == TABLE);
        if is_table && !metadata.is_file() {
            return Err(invalid_table(path));
        }
        if !metadata.is_dir() {
            if !metadata.is_file() {
                return Err(not_regular());
            }
            let folder = path.parent().filter(|_| is_table).and_then(|folder| fs::canonicalize(folder).ok());
            if self.known.insert(folder.map_or(real, |folder| folder.join(TABLE))) {
                self.files.push(path.to_owned());
            }
            return Ok(true);
        }
        if !self.known.insert(real) {
            return Ok(true);
        }
        let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut has_files = false;
        for entry in entries {
            has_files |= self.collect_entry(&entry, depth, loader)?;
        }
        Ok(has_files)
    }

    fn collect_entry(&mut self, entry: &fs::DirEntry, depth: usize, loader: &mut Loader) -> io::Result<bool> {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml"));
        let is_wanted = stem.is_some_and(|stem| !stem.ends_with(".test")) && name != DESCRIPTION;
        // `metadata` follows links.
        let metadata = fs::metadata(&path);
        let depth = match &metadata {
            Ok(metadata) if metadata.is_dir() && name != TABLE => {
                if name == "tests" || name.starts_with('.') {
                    return Ok(false);
                }
                if depth >= MAX_RULE_FOLDER_DEPTH {
                    let reason =
                        format!("the folder is skipped: it must be at most {MAX_RULE_FOLDER_DEPTH} folders deep");
                    loader.warn(&path, None, reason);
                    return Ok(false);
                }
                depth + 1
            }
            Ok(metadata) if is_wanted && metadata.is_file() => depth,
            // Without its table, a set of rules would lack its fixes.
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
        if entry.file_type()?.is_symlink() {
            self.links.push_back((path, depth));
            return Ok(false);
        }
        self.collect(&path, depth, loader)
    }
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
