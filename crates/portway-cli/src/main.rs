//! The command `portway`: JSON-RPC 2.0 at a shell prompt. This crate contains the arguments, the output and the exit
//! codes. The library `portway` contains the protocol.

mod accept;
mod arguments;
mod call;
mod completions;
mod decode;
mod detect;
mod headers;
mod inspect;
mod json_format;
mod limits;
mod lookup;
mod mcp;
mod output;
mod params;
mod program;
mod serve;
mod tap;
mod terminal;
mod validate;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use output::Failure;

fn main() -> ExitCode {
    let outcome = match Arguments::try_parse() {
        Ok(arguments) => run(&arguments.command),
        Err(error) => output::print_arguments_error(&error),
    };
    outcome.unwrap_or_else(|problem| problem.report())
}

fn run(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Call(arguments) => call::run(arguments),
        Command::Mcp(arguments) => mcp::run(arguments),
        Command::Serve(arguments) => serve::run(arguments),
        Command::Tap(arguments) => tap::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Decode(arguments) => decode::run(arguments),
        Command::Validate(arguments) => validate::run(arguments),
        Command::Completions(arguments) => completions::run(arguments.shell),
    }
}
