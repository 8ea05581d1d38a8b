//! `portway completions`.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use portway::stdio;

use crate::arguments::Arguments;
use crate::output::{Problem, ended};

pub(crate) fn run(shell: Shell) -> Result<ExitCode, Problem> {
    // Into memory first: it panics when it cannot write.
    let mut script = Vec::new();
    generate(shell, &mut Arguments::command(), "portway", &mut script);
    ended(stdio::stdout().write_all(&script), ExitCode::SUCCESS)
}
