//! Messages on standard error, help, and exit codes. A closed pipe does not cause a panic or change the exit code.

use core::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use portway::stdio;
use portway_cli_support::escape::escape_control;
use portway_cli_support::help;

/// The exit code for a failure of the command line, a file or a standard stream.
pub(crate) const USAGE_OR_IO_FAILED: u8 = 2;

/// The reason why the command failed, and advice for the user.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// Adds a second line with advice.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Prints the failure and returns its exit code.
    pub(crate) fn report(&self) -> ExitCode {
        print_message(&self.message);
        if let Some(hint) = &self.hint {
            print_detail(hint);
        }
        ExitCode::from(self.code)
    }
}

/// Prints a message on standard error, on one line. Control characters are escaped, since the text may contain text of
/// a peer or the name of a file. A closed standard error is ignored.
pub(crate) fn print_message(text: impl fmt::Display) {
    write_at_once(&format!("portway: {}\n", escape_control(&text.to_string())));
}

/// Prints a further line about the last message.
pub(crate) fn print_detail(text: impl fmt::Display) {
    write_at_once(&format!("         {}\n", escape_control(&text.to_string())));
}

/// Writes the whole line in one write. A program that `portway call` has started writes to the same standard error, and
/// its output could split a line that consists of several writes.
fn write_at_once(line: &str) {
    let _ = stdio::stderr().write_all(line.as_bytes());
}

/// Writes help or an error of the arguments, and returns the exit code.
pub(crate) fn print_arguments_error(error: &clap::Error) -> Result<ExitCode, Failure> {
    let written = help::print(error);
    let code = u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
    // A failed write of an error does not change the exit code.
    if error.use_stderr() { Ok(code) } else { exit_after_write(written, code) }
}

/// Returns the exit code after a write to standard output. A closed pipe is not a failure: its reader needs no more
/// output.
pub(crate) fn exit_after_write(written: io::Result<()>, code: ExitCode) -> Result<ExitCode, Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(USAGE_OR_IO_FAILED, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(code),
    }
}
