//! Starts the program of a command.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;

use portway::spawn_error_reason;
use tokio::process::{Child, Command};

use crate::output::Failure;

/// The exit code if the connection failed, or the program could not be started.
pub(crate) const UNREACHABLE: u8 = 3;

/// Starts a program with pipes for its standard input and output. The program leads a new process group.
pub(crate) fn start(command: &[OsString]) -> Result<Child, Failure> {
    let (program, arguments) = command.split_first().ok_or_else(|| Failure::new(UNREACHABLE, "no program"))?;
    if program.is_empty() {
        return Err(Failure::new(UNREACHABLE, "the program has no name"));
    }
    let name = program.to_string_lossy();
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).kill_on_drop(true);
    command.spawn().map_err(|error| {
        if let Some(reason) = spawn_error_reason(&error, command.as_std()) {
            return Failure::new(UNREACHABLE, format!("cannot start {name}: {reason}"));
        }
        let problem = Failure::new(UNREACHABLE, format!("cannot start {name}: {error}"));
        match error.kind() {
            io::ErrorKind::NotFound => problem.with_hint("Is it installed, and in PATH? A path begins with ./ or /."),
            io::ErrorKind::PermissionDenied => problem.with_hint("Is it executable?"),
            _ => problem,
        }
    })
}
