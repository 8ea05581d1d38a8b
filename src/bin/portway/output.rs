//! What is said to people and programs, so that nothing fails in a bad way when they do not listen.

use core::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

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

/// Says something on standard error, if somebody listens there.
pub(crate) fn say(text: impl fmt::Display) {
    write_at_once(&format!("portway: {text}\n"));
}

/// Says more about the same.
pub(crate) fn say_more(text: impl fmt::Display) {
    write_at_once(&format!("         {text}\n"));
}

/// A program that was started may write there too: a line is not to be torn apart by its lines.
fn write_at_once(line: &str) {
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Standard output without a buffer, for those who have their own.
pub(crate) fn raw_stdout() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Standard input without a buffer.
pub(crate) fn raw_stdin() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// How the command ends that has written this. Nobody has to read on to the end: a closed pipe is no problem.
pub(crate) fn ended(written: io::Result<()>, code: ExitCode) -> Result<ExitCode, Problem> {
    match written {
        Ok(()) => Ok(code),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(Problem::new(UNUSABLE, format!("cannot write to standard output: {error}"))),
    }
}

/// Text of others, for a terminal: without what would change more than the text.
pub(crate) fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() && character != '\t' {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}
