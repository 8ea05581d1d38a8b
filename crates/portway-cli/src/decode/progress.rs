//! Prints the progress of `portway decode` as a line on standard error, if standard error is a terminal and standard
//! output is not.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use portway::stdio;

use super::events::Count;

/// Time from the start of the command to the first line of progress.
const DELAY: Duration = Duration::from_secs(1);

/// Time between two updates of the line.
const INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Progress {
    /// The time of the next update. `None` disables progress.
    next: Option<Instant>,
    is_shown: bool,
    /// The number of bytes that were read.
    read: u64,
    /// The length of the input in bytes, if the input is a file.
    length: Option<u64>,
}

impl Progress {
    pub(super) fn new() -> Self {
        let is_enabled = io::stderr().is_terminal() && !io::stdout().is_terminal();
        let input = io::stdin().as_fd().try_clone_to_owned().map(File::from);
        let metadata = input.and_then(|input| input.metadata()).ok();
        let length = metadata.filter(|input| input.is_file() && input.len() > 0).map(|input| input.len());
        Self { next: is_enabled.then(|| Instant::now() + DELAY), is_shown: false, read: 0, length }
    }

    pub(super) fn advance(&mut self, bytes: usize, count: Count) {
        self.read += bytes as u64;
        let now = Instant::now();
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        self.next = Some(now + INTERVAL);
        self.is_shown = true;
        let percentage = match self.length {
            Some(length) => format!(" ({} %)", self.read.saturating_mul(100) / length),
            None => String::new(),
        };
        let Count { messages, errors } = count;
        let megabytes = self.read / 1_000_000;
        let line = format!("\r{megabytes} MB{percentage}, {messages} messages, {errors} errors\x1b[K");
        let _ = stdio::stderr().write_all(line.as_bytes());
    }

    /// Clears the line.
    pub(super) fn clear(&self) {
        if self.is_shown {
            let _ = stdio::stderr().write_all(b"\r\x1b[K");
        }
    }
}
