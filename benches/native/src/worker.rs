//! The start of a benchmark program, and the loop in which the program answers commands. Each line of standard input is
//! a command. The answer is a line of JSON.

use std::env;
use std::io::{Write, stdin, stdout};
use std::process::ExitCode;

use anyhow::Result;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;

/// Calls `run` with the arguments of this process. Prints an error together with the arguments.
pub(crate) fn run_program(run: impl FnOnce(&[&str]) -> Result<()>) -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match allow_many_files().and_then(|()| run(&words)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error:#}", words.join(" "));
            ExitCode::FAILURE
        }
    }
}

/// Raises the limit of open files. Ten thousand connections exceed the default of most systems.
fn allow_many_files() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    Ok(())
}

/// Answers commands until the end of the input. The first line of the output reports that the process is ready.
pub(crate) fn run(mut answer: impl FnMut(&[&str]) -> Result<Value>) -> Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{{}}")?;
    for line in stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        writeln!(out, "{}", answer(&words)?)?;
        out.flush()?;
    }
    Ok(())
}
