//! `portway completions`.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use portway::stdio;

use crate::arguments::Arguments;
use crate::output::{Failure, exit_after_write};

pub(crate) fn run(shell: Shell) -> Result<ExitCode, Failure> {
    // `generate` panics if a write fails, so the script is first written to memory.
    let mut script = Vec::new();
    generate(shell, &mut Arguments::command(), "portway", &mut script);
    exit_after_write(stdio::stdout().write_all(&script), ExitCode::SUCCESS)
}
