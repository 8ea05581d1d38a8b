//! The parts of the benchmark of MCP. `../../native/run.mjs` sends commands and compares the results.
//!
//! `serve http` prints its port as a line of JSON, and `serve stdio` serves its standard streams. Each other part reads
//! one command from each line of standard input, and answers with a line of JSON. Each part runs in a separate process
//! with one thread.

mod calls;
mod events;
mod libraries;
mod server;
mod streams;
#[path = "../../native/src/worker.rs"]
mod worker;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::libraries::{portway, rmcp};

const USAGE: &str = "serve http | stdio; call LIBRARY; hold LIBRARY; or events decode | memchr";

fn main() -> ExitCode {
    worker::run_program(run)
}

fn run(words: &[&str]) -> Result<()> {
    match words {
        ["serve", "http"] => server::serve_http(),
        ["serve", "stdio"] => server::serve_stdio(),
        ["call", "portway"] => calls::measure(portway::call),
        ["call", "rmcp"] => calls::measure(|target, era, plan| rmcp::call(target, era, plan, rmcp::Connections::New)),
        ["call", "rmcp-kept"] => {
            calls::measure(|target, era, plan| rmcp::call(target, era, plan, rmcp::Connections::Kept))
        }
        ["hold", "portway"] => streams::hold::<portway::Streams>(),
        ["hold", "rmcp"] => streams::hold::<rmcp::Streams>(),
        ["events", "decode"] => events::measure(events::decode),
        ["events", "memchr"] => events::measure(events::count_lines),
        _ => bail!("the arguments must be {USAGE}, got {words:?}"),
    }
}
