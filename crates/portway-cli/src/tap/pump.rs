//! Passes the bytes of one direction, on a separate thread. A thread that waits in `read` delays the bytes less than an
//! asynchronous task.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::copy::Copies;

/// Maximum bytes of one read: the capacity of a pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// The state of a pump, which another thread reads.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The number of reads that have returned.
    reads: AtomicU64,
    /// Whether the pump passes bytes on, and does not wait for input.
    is_passing: AtomicBool,
}

impl Progress {
    /// Returns the number of reads, and whether the pump passes bytes on.
    pub(super) fn get(&self) -> (u64, bool) {
        (self.reads.load(Ordering::Acquire), self.is_passing.load(Ordering::Acquire))
    }
}

/// Why a pump has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The input has ended.
    Input,
    /// The input has failed.
    Unreadable,
    /// The receiver accepts no more bytes.
    Unwritable,
}

/// Passes all bytes from `reader` to `writer`. The copies are decoded before the bytes are written. So a request is
/// recorded before its response can arrive.
pub(super) fn pass(reader: &mut impl Read, writer: &mut impl Write, copies: &mut Copies, progress: &Progress) -> End {
    let mut chunk = vec![0; CHUNK_BYTES];
    let end = loop {
        let count = match reader.read(&mut chunk) {
            Ok(0) => break End::Input,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break End::Unreadable,
        };
        progress.is_passing.store(true, Ordering::Release);
        progress.reads.fetch_add(1, Ordering::AcqRel);
        let bytes = chunk.get(..count).unwrap_or_default();
        copies.push(bytes);
        let written = writer.write_all(bytes);
        progress.is_passing.store(false, Ordering::Release);
        if written.is_err() {
            break End::Unwritable;
        }
    };
    copies.finish();
    end
}
