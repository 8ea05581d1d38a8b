//! The command `kaiak`. This crate contains the arguments and the output; the library contains the rest.

mod arguments;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use portway::stdio;
use portway_cli_support::help;

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    let printed = match Arguments::try_parse() {
        Ok(arguments) => match arguments.command {
            Command::Version => writeln!(stdio::stdout(), "kaiak {}", env!("CARGO_PKG_VERSION")),
        },
        Err(error) if error.use_stderr() => {
            let _ = help::print(&error);
            return ExitCode::FAILURE;
        }
        Err(help) => help::print(&help),
    };
    match printed {
        // A closed pipe is not an error: its reader needs no more output.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(stdio::stderr(), "error: cannot write to standard output: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
