//! The command line of the program.

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "kaiak", about = "Finds and fixes the places in a project that a migration must change", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Print the version
    Version,
}
