//! Commands come one a line on standard input, and are answered with lines of JSON.

use std::io::{Write, stdin, stdout};

use anyhow::Result;
use serde_json::Value;

/// Answers each command, until there are no more. The first line says that it is ready.
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
