//! The command `kaiak`. This crate contains the arguments and the output; the library contains the rest.

mod arguments;
mod commands;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use portway::stdio;
use portway_cli_support::escape::escape_control_lines;
use portway_cli_support::help;

use arguments::{Arguments, Command};
use commands::{Failure, find, fix};

fn main() -> ExitCode {
    let outcome = match Arguments::try_parse() {
        Ok(Arguments { command: Command::Serve(arguments) }) => return commands::serve::run(arguments),
        Ok(arguments) => run(&arguments.command),
        Err(error) if error.use_stderr() => {
            let _ = help::print(&error);
            return ExitCode::from(2);
        }
        Err(help) => help::print(&help).map_err(Failure::Output),
    };
    let message = match outcome {
        // A closed pipe is not an error: its reader needs no more output.
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        Err(Failure::Output(error)) => format!("cannot write to standard output: {error}"),
        Err(Failure::Message(message)) => message,
    };
    let _ = writeln!(stdio::stderr(), "error: {}", escape_control_lines(&message));
    ExitCode::FAILURE
}

fn run(command: &Command) -> Result<(), Failure> {
    match command {
        // `main` has already handled this command.
        Command::Serve(_) => Ok(()),
        Command::Version => Ok(writeln!(stdio::stdout(), "kaiak {}", env!("CARGO_PKG_VERSION"))?),
        Command::Find(arguments) => find::run(arguments),
        Command::Fix(arguments) => fix::run(arguments),
    }
}
