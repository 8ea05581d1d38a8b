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

use std::env;
use std::process::ExitCode;

use anyhow::{Result, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Builder;

use crate::servers::{bare, jsonrpsee, mirror, portway};

const USAGE: &str = "serve mirror | bare | bare-flush | portway | jsonrpsee; or load | flood | hold";

fn main() -> ExitCode {
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
            "portway" => portway::serve().await,
            "jsonrpsee" => jsonrpsee::serve().await,
            _ => bail!("the arguments must be {USAGE}, got serve {name}"),
        }
    })
}

/// Raises the limit of open files. Ten thousand connections exceed the default of most systems.
fn allow_many_files() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    Ok(())
}
