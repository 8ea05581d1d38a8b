//! Reads one command from each line of standard input, and answers with a line of JSON.

use std::io::{Write, stdin, stdout};

use anyhow::Result;
use serde_json::Value;

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
