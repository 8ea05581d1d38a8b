//! Messages on standard error, help, and exit codes. A closed pipe never turns into a panic or a wrong exit code.

use core::fmt;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use crate::escape::{escape_control, escape_control_lines, needs_escape};
use portway::stdio;

/// The exit code for a failure of the command line, a file or a standard stream.
pub(crate) const UNUSABLE: u8 = 2;

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

/// Prints a message on standard error, on one line. Control characters are escaped, since the text may come from a peer
/// or from the name of a file. A closed standard error is ignored.
pub(crate) fn print_message(text: impl fmt::Display) {
    write_at_once(&format!("portway: {}\n", escape_control(&text.to_string())));
}

/// Prints a further line about the last message.
pub(crate) fn print_detail(text: impl fmt::Display) {
    write_at_once(&format!("         {}\n", escape_control(&text.to_string())));
}

/// Writes a line with one call, since a program that was started may write to standard error at the same time.
fn write_at_once(line: &str) {
    let _ = stdio::stderr().write_all(line.as_bytes());
}

/// Writes help or an error of the arguments, and returns the exit code. On a terminal, clap writes it with styles. If
/// an argument has a control character, the text is escaped and written without styles, since it may repeat the
/// argument.
pub(crate) fn show(text: &clap::Error) -> Result<ExitCode, Failure> {
    let is_error = text.use_stderr();
    let is_terminal = if is_error { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    let has_styles = is_terminal || env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let has_styles = has_styles && !env::args_os().any(|argument| argument.to_string_lossy().contains(needs_escape));
    let plain = escape_control_lines(&text.render().to_string());
    let code = u8::try_from(text.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
    let written = match is_error {
        _ if has_styles => text.print(),
        true => stdio::stderr().write_all(plain.as_bytes()),
        false => stdio::stdout().write_all(plain.as_bytes()),
    };
    // An error that cannot be written still sets the exit code.
    if is_error { Ok(code) } else { exit_after_write(written, code) }
}

/// Returns the exit code after a write to standard output. A closed pipe is not a failure: the reader has read enough.
pub(crate) fn exit_after_write(written: io::Result<()>, code: ExitCode) -> Result<ExitCode, Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(UNUSABLE, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(code),
    }
}
