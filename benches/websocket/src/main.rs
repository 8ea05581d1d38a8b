//! The parts of the benchmark of WebSockets. `../native/run.mjs` sends commands and compares the results.
//!
//! `serve` prints its port as a line of JSON. `load`, `flood` and `hold` read one command from each line of standard
//! input, and answer with a line of JSON. Each part runs in a separate process with one thread.

mod flood;
mod frames;
mod hold;
mod load;
mod servers;
#[path = "../../native/src/worker.rs"]
mod worker;

use std::process::ExitCode;

use anyhow::{Result, bail};
use tokio::runtime::Builder;

use crate::servers::{bare, by_hand, jsonrpsee, mirror, portway};

const USAGE: &str = "serve mirror | bare | bare-flush | by-hand | portway | jsonrpsee; or load | flood | hold";

fn main() -> ExitCode {
    worker::run_program(run)
}

fn run(words: &[&str]) -> Result<()> {
    match words {
        ["serve", name] => serve(name),
        ["load"] => load::run(),
        ["flood"] => flood::run(),
        ["hold"] => hold::run(),
        _ => bail!("the arguments must be {USAGE}, got {words:?}"),
    }
}

fn serve(name: &str) -> Result<()> {
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        match name {
            "mirror" => mirror::serve().await,
            "bare" => bare::serve(bare::Flush::WhenIdle).await,
            "bare-flush" => bare::serve(bare::Flush::EachMessage).await,
            "by-hand" => by_hand::serve().await,
            "portway" => portway::serve().await,
            "jsonrpsee" => jsonrpsee::serve().await,
            _ => bail!("the arguments must be {USAGE}, got serve {name}"),
        }
    })
}
