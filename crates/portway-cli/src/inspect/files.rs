//! The files of `portway inspect --open`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use hyper::body::Bytes;

use crate::limits::MAX_OPENED_FILE_BYTES;
use crate::output::{Failure, USAGE_OR_IO_FAILED};

/// A file that the page imports.
#[derive(Debug)]
pub(super) struct OpenedFile {
    pub(super) name: String,
    pub(super) text: Bytes,
}

impl OpenedFile {
    /// Reads a file, which may be a pipe.
    ///
    /// # Errors
    /// If the file cannot be read, is too long or is not UTF-8.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let failure = |problem: String| Failure::new(USAGE_OR_IO_FAILED, problem);
        let unreadable = |error| failure(format!("cannot read {shown}: {error}"));
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(failure(format!("--open must name a file, got the directory {shown}")));
        }
        let too_long = |length: String| {
            failure(format!("{shown} must have at most {MAX_OPENED_FILE_BYTES} bytes, got {length}"))
                .with_hint("Split it, for example with `split --line-bytes=100M`, and open one part.")
        };
        let max_bytes = MAX_OPENED_FILE_BYTES as u64;
        if metadata.len() > max_bytes {
            return Err(too_long(metadata.len().to_string()));
        }
        let mut bytes = Vec::new();
        file.take(max_bytes + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() > MAX_OPENED_FILE_BYTES {
            return Err(too_long("more".to_owned()));
        }
        if let Err(error) = str::from_utf8(&bytes) {
            return Err(failure(format!("{shown} must be UTF-8 text, got other bytes at {}", error.valid_up_to())));
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(Self { name, text: bytes.into() })
    }
}
