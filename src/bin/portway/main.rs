//! The command `portway`: JSON-RPC 2.0 at a shell prompt. Arguments, output and exit codes are here, the protocol is in the
//! library.

mod arguments;
mod call;
mod completions;
mod decode;
mod detect;
#[path = "../shared/harmless.rs"]
mod harmless;
mod layout;
mod limits;
mod output;
#[path = "../shared/signals.rs"]
mod signals;
mod terminal;
mod validate;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(shown) => return output::show(&shown),
    };
    let outcome = match arguments.command {
        Command::Call(arguments) => call::run(&arguments),
        Command::Decode(arguments) => decode::run(&arguments),
        Command::Validate(arguments) => validate::run(&arguments),
        Command::Completions(arguments) => completions::run(arguments.shell),
    };
    outcome.unwrap_or_else(|problem| problem.report())
}
