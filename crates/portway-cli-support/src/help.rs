//! Prints help and errors of the command line.

use std::env;
use std::io::{self, IsTerminal, Write};

use portway::stdio;

use crate::escape::{escape_control_lines, needs_escape};

/// Writes help or an error of the arguments. On a terminal, or if `CLICOLOR_FORCE` is set, clap writes the text with
/// styles. If an argument has control characters, the text may repeat them, so the text is escaped and written
/// without styles.
///
/// # Errors
/// If the text cannot be written.
pub fn print(text: &clap::Error) -> io::Result<()> {
    let is_terminal = if text.use_stderr() { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    let has_styles = is_terminal || env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let has_styles = has_styles && !env::args_os().any(|argument| argument.to_string_lossy().contains(needs_escape));
    let plain = escape_control_lines(&text.render().to_string());
    match text.use_stderr() {
        _ if has_styles => text.print(),
        true => stdio::stderr().write_all(plain.as_bytes()),
        false => stdio::stdout().write_all(plain.as_bytes()),
    }
}
