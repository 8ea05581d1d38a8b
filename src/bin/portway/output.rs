//! What is said to people and programs, so that nothing fails in a bad way when they do not listen.

use core::fmt;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use crate::harmless::{harmless, harmless_lines, is_obeyed};
use portway::stdio;

/// The exit code for what has to do with the command line, files and standard streams.
pub(crate) const UNUSABLE: u8 = 2;

/// Why the command cannot do what it was asked for, and what to try.
#[derive(Debug)]
pub(crate) struct Problem {
    code: u8,
    message: String,
    hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// The same, with what to try.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Says it, and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        say(&self.message);
        if let Some(hint) = &self.hint {
            say_more(hint);
        }
        ExitCode::from(self.code)
    }
}

/// Says something on standard error, on one line, if somebody listens there. What a terminal obeys in it is escaped: it may be
/// from a peer, or from the name of a file.
pub(crate) fn say(text: impl fmt::Display) {
    write_at_once(&format!("portway: {}\n", harmless(&text.to_string())));
}

/// Says more about the same.
pub(crate) fn say_more(text: impl fmt::Display) {
    write_at_once(&format!("         {}\n", harmless(&text.to_string())));
}

/// A program that was started may write there too: a line is not to be torn apart by its lines.
fn write_at_once(line: &str) {
    let _ = stdio::stderr().write_all(line.as_bytes());
}

/// Writes help or an error of the arguments, and returns the exit code. On a terminal, clap writes it with styles. If an argument
/// has a control character, the text is escaped and written without styles, since it may repeat the argument.
pub(crate) fn show(text: &clap::Error) -> Result<ExitCode, Problem> {
    let is_error = text.use_stderr();
    let is_terminal = if is_error { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    let has_styles = is_terminal || env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let has_styles = has_styles && !env::args_os().any(|argument| argument.to_string_lossy().contains(is_obeyed));
    let plain = harmless_lines(&text.render().to_string());
    let code = u8::try_from(text.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
    let written = match is_error {
        _ if has_styles => text.print(),
        true => stdio::stderr().write_all(plain.as_bytes()),
        false => stdio::stdout().write_all(plain.as_bytes()),
    };
    // An error that cannot be written still sets the exit code.
    if is_error { Ok(code) } else { ended(written, code) }
}

/// Returns how the command ends after this write. A closed pipe changes nothing: the reader has read enough.
pub(crate) fn ended(written: io::Result<()>, code: ExitCode) -> Result<ExitCode, Problem> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Problem::new(UNUSABLE, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(code),
    }
}
