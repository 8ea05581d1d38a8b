//! Warnings and progress on standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use portway::stdio;
use portway_cli_support::escape::escape_control;

/// Writes lines for the user to standard error. A failure to write is ignored.
pub(crate) struct Report {
    is_quiet: bool,
    has_terminal: bool,
}

impl Report {
    pub(crate) fn new(is_quiet: bool) -> Self {
        Self { is_quiet, has_terminal: io::stderr().is_terminal() }
    }

    /// Prints a warning, unless the user wants none.
    pub(crate) fn warn(&self, warning: &impl Display) {
        self.print("warning: ", warning);
    }

    /// Prints a line of the result.
    pub(crate) fn note(&self, note: &impl Display) {
        self.print("", note);
    }

    fn print(&self, prefix: &str, text: &impl Display) {
        if !self.is_quiet {
            self.clear();
            let _ = writeln!(stdio::stderr(), "{prefix}{}", escape_control(&text.to_string()));
        }
    }

    /// Replaces the line of the progress, on a terminal.
    pub(crate) fn progress(&self, text: &str) {
        if self.has_terminal && !self.is_quiet {
            let _ = write!(stdio::stderr(), "\r\x1b[2K{}", escape_control(text));
        }
    }

    /// Removes the line of the progress.
    pub(crate) fn clear(&self) {
        if self.has_terminal && !self.is_quiet {
            let _ = write!(stdio::stderr(), "\r\x1b[2K");
        }
    }
}
