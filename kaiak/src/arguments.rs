//! The command line of the program.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::commands::serve::ServeArguments;

#[derive(Parser)]
#[command(name = "kaiak", about = "Finds and fixes the places in a project that a migration must change", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Fix places for an editor, which approves each change (JSON-RPC)
    Serve(ServeArguments),
    /// Print the version
    Version,
    /// Print the places that rules find (incidents), one JSON object per line, for example for kaiak serve
    Find(FindArguments),
    /// Fix the places that have a mechanical fix, and print the changes as a unified diff
    Fix(FixArguments),
}

/// The arguments of `kaiak find`.
#[derive(Args)]
pub(crate) struct FindArguments {
    #[command(flatten)]
    pub(crate) common: CommonArguments,
}

/// The arguments of `kaiak fix`.
#[derive(Args)]
pub(crate) struct FixArguments {
    /// Print the changes without writing them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Rename wildcard imports of packages of which only some classes move. By default, they stay
    #[arg(long)]
    pub(crate) mixed_wildcards: bool,
    #[command(flatten)]
    pub(crate) common: CommonArguments,
}

/// The arguments that `find` and `fix` share.
#[derive(Args)]
pub(crate) struct CommonArguments {
    /// A folder or a file with rules. Repeat the option for several
    #[arg(long, value_name = "DIR", required = true)]
    pub(crate) rules: Vec<PathBuf>,
    /// Use only the rules with this id. Repeat the option for several
    #[arg(long, value_name = "ID")]
    pub(crate) rule: Vec<String>,
    /// Search only files that match this glob, such as '**/*.java'. Repeat the option for several
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// Omit files that match this glob. Repeat the option for several. By default, .git, target and node_modules
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Print no warnings and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// The folder of the project
    #[arg(value_name = "WORKSPACE")]
    pub(crate) workspace: PathBuf,
}
