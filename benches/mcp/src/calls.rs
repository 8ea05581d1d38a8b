//! Measures the rate of calls of a tool.

use std::cell::Cell;
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::worker;

/// The place of the server.
pub(crate) enum Target<'a> {
    /// A URL.
    Http(String),
    /// A command that starts the server.
    Stdio(&'a [&'a str]),
}

impl Target<'_> {
    /// Returns the command of a server on standard streams.
    pub(crate) fn command(words: &[&str]) -> Result<Command> {
        let [program, arguments @ ..] = words else { bail!("the command of the server must not be empty") };
        let mut command = Command::new(program);
        command.args(arguments);
        Ok(command)
    }
}

/// The era of MCP that the client uses.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Era {
    /// The version 2025-11-25.
    Legacy,
    /// The version 2026-07-28.
    Modern,
}

/// The calls of a round.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    count: usize,
    depth: usize,
}

impl Plan {
    /// Makes the calls, of which at most `depth` are pending at a time. `call` receives the arguments of `echo`, and
    /// returns its text. Returns the number of calls per second.
    pub(crate) async fn run(self, call: impl AsyncFn(Value) -> Result<String>) -> Result<f64> {
        let started = Cell::new(0);
        let start = Instant::now();
        let lanes = (0..self.depth).map(|_| async {
            while started.get() < self.count {
                let number = started.replace(started.get() + 1);
                let arguments = json!({ "text": "hello", "number": number });
                let expected = arguments.to_string();
                let text = call(arguments).await?;
                ensure!(text == expected, "the text must be {expected}, got {text}");
            }
            Ok(())
        });
        futures_util::future::try_join_all(lanes).await?;
        Ok(self.count as f64 / start.elapsed().as_secs_f64())
    }
}

/// Answers commands. A command consists of the number of calls, the maximum number of pending calls, the era, and the
/// target: `http PORT`, or `stdio` with a program and its arguments. `run` connects to the target, and makes the calls.
pub(crate) fn measure(run: impl Fn(&Target<'_>, Era, Plan) -> Result<f64>) -> Result<()> {
    worker::run(|words| {
        let [count, depth, era, transport, target @ ..] = words else {
            bail!("the command must be COUNT DEPTH ERA http|stdio TARGET, got {words:?}")
        };
        let target = match (*transport, target) {
            ("http", [port]) => Target::Http(format!("http://127.0.0.1:{port}/mcp")),
            ("stdio", program) => Target::Stdio(program),
            _ => bail!("the target must be http PORT or stdio PROGRAM, got {transport} {target:?}"),
        };
        let era = if *era == "legacy" { Era::Legacy } else { Era::Modern };
        let plan = Plan { count: count.parse()?, depth: depth.parse()? };
        Ok(json!({ "rps": run(&target, era, plan)? }))
    })
}
