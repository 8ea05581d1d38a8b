//! `portway completions`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::arguments::Arguments;
use crate::output::{Problem, ended};

pub(crate) fn run(shell: Shell) -> Result<ExitCode, Problem> {
    // Into memory first: it panics when it cannot write.
    let mut script = Vec::new();
    generate(shell, &mut Arguments::command(), "portway", &mut script);
    let mut stdout = io::stdout().lock();
    ended(stdout.write_all(&script).and_then(|()| stdout.flush()), ExitCode::SUCCESS)
}
