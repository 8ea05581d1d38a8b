//! Warnings and progress on standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use portway::stdio;
use portway_cli_support::escape::escape_control;

/// The number of columns of a terminal that does not report its size.
const DEFAULT_COLUMNS: u16 = 80;

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

    /// Prints the summary.
    pub(crate) fn note(&self, note: &impl Display) {
        self.print("", note);
    }

    fn print(&self, prefix: &str, text: &impl Display) {
        if !self.is_quiet {
            self.clear();
            let _ = writeln!(stdio::stderr(), "{prefix}{}", escape_control(&text.to_string()));
        }
    }

    /// Replaces the line of the progress, on a terminal. A text that is wider than the terminal is cut, because only
    /// one line can be replaced.
    pub(crate) fn progress(&self, text: &str) {
        if self.has_terminal && !self.is_quiet {
            let line: String = escape_control(text).chars().take(columns().saturating_sub(1)).collect();
            let _ = write!(stdio::stderr(), "\r\x1b[2K{line}");
        }
    }

    /// Removes the line of the progress.
    pub(crate) fn clear(&self) {
        if self.has_terminal && !self.is_quiet {
            let _ = write!(stdio::stderr(), "\r\x1b[2K");
        }
    }
}

/// Returns the number of columns of the terminal.
fn columns() -> usize {
    let columns = rustix::termios::tcgetwinsize(io::stderr()).map_or(0, |size| size.ws_col);
    // A terminal may not know its size.
    usize::from(if columns == 0 { DEFAULT_COLUMNS } else { columns })
}
