//! The command line of the program.

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{ColorChoice, Command, CommandFactory, Error, FromArgMatches, Parser, Subcommand};
use clap_complete::{Shell, generate};
use portway::stdio;
use portway_cli_support::help;

use crate::level::Level;

#[derive(Parser)]
#[command(
    name = "duet-rpc",
    bin_name = "duet-rpc",
    about = "A daemon for editors that serves JSON-RPC 2.0 on its standard input and output",
    override_usage = "duet-rpc [COMMAND] [OPTIONS]",
    after_help = "\
Environment:
  DUET_RPC_LOG  Append the log to this file instead of writing it to standard error
  NO_COLOR      Disable colored output

See 'duet-rpc <command> --help' for more information.",
    disable_version_flag = true
)]
struct Arguments {
    /// Print the version
    #[arg(short = 'V', long)]
    version: bool,
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Option<Subcommands>,
}

/// The options of the daemon.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Disable colored output
    #[arg(short, long, global = true)]
    pub(crate) no_color: bool,
    /// The least severity that is logged
    #[arg(long, global = true, value_enum, ignore_case = true, value_name = "LEVEL", default_value = "warn")]
    pub(crate) log_level: Level,
}

#[derive(Subcommand)]
enum Subcommands {
    /// Print the version
    Version,
    /// Serve JSON-RPC 2.0 on standard input and output
    #[command(override_usage = "duet-rpc rpc [OPTIONS]")]
    Rpc,
    /// Print a completion script for a shell
    #[command(override_usage = "duet-rpc completions <SHELL>")]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
}

/// Reads the command line. For `rpc`, returns the options of the daemon. For any other command, runs the command and
/// returns its exit code as `Err`.
pub(crate) fn read() -> Result<Options, ExitCode> {
    let mut command = Arguments::command().color(color());
    let parsed =
        command.try_get_matches_from_mut(env::args_os()).and_then(|matches| Arguments::from_arg_matches(&matches));
    let print_result = match parsed {
        Ok(Arguments { version: false, command: Some(Subcommands::Rpc), options }) => return Ok(options),
        Ok(Arguments { version: false, command: None, .. }) => {
            command.try_get_matches_from_mut(["duet-rpc", "-h"]).map_or_else(|help| help::print(&help), |_| Ok(()))
        }
        Ok(Arguments { version: false, command: Some(Subcommands::Completions { shell }), .. }) => {
            // `generate` panics if a write fails, so the script is first written to memory.
            let mut script = Vec::new();
            generate(shell, &mut command, "duet-rpc", &mut script);
            stdio::stdout().write_all(&script)
        }
        Ok(_) => writeln!(stdio::stdout(), "{}", env!("CARGO_PKG_VERSION")),
        Err(error) if error.use_stderr() => return Err(print_usage_error(&error, &mut command)),
        Err(help) => help::print(&help),
    };
    match print_result {
        // A closed pipe is not an error: its reader needs no more output.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(stdio::stderr(), "error: cannot write to standard output: {error}");
            Err(ExitCode::FAILURE)
        }
        _ => Err(ExitCode::SUCCESS),
    }
}

/// Prints an error of the command line. If clap has omitted the usage, also prints the usage.
fn print_usage_error(error: &Error, command: &mut Command) -> ExitCode {
    let _ = help::print(error);
    if !error.render().to_string().contains("Usage:") {
        let _ = writeln!(stdio::stderr(), "\n{}", command.render_usage());
    }
    ExitCode::FAILURE
}

/// Returns whether clap may use colours in help and errors. Clap needs this value before it parses the arguments, so
/// this function searches the arguments for `--no-color`. If `NO_COLOR` is set, clap itself disables colours.
fn color() -> ColorChoice {
    let is_off = env::args_os().any(|argument| argument == "-n" || argument == "--no-color");
    if is_off { ColorChoice::Never } else { ColorChoice::Auto }
}
