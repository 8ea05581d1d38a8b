//! The parts of the benchmarks of byte streams, WIPC and `portway tap`. `../run.mjs` sends commands and compares the
//! results.
//!
//! Each part runs in a separate process. `serve` and `pass` only serve on sockets. Each other part reads one command
//! from each line of standard input, and answers with a line of JSON.

mod decode;
mod idle_connections;
mod libraries;
mod load;
mod pass;
mod wipc;
mod worker;

use std::convert::identity;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::libraries::{async_lsp, lsp_server, portway, serde_alone};

const USAGE: &str = "decode LIBRARY | wipc decode | wipc copy | serve LIBRARY SOCKET | call LIBRARY | load | round-trips \
                     | hold | pass LISTEN TO";

fn main() -> ExitCode {
    worker::run_program(run)
}

fn run(words: &[&str]) -> Result<()> {
    match words {
        ["decode", "portway"] => decode::measure(identity, portway::decode),
        ["decode", "serde-alone"] => decode::measure(identity, serde_alone::decode),
        ["decode", "lsp-server"] => decode::measure(identity, lsp_server::decode),
        ["decode", "async-lsp"] => decode::measure(async_lsp::without_requests, async_lsp::decode),
        ["wipc", "decode"] => wipc::measure(|stream| stream.decode()),
        ["wipc", "copy"] => wipc::measure(|stream| {
            stream.copy();
            true
        }),
        ["serve", "portway", socket] => portway::serve(Path::new(socket)),
        ["serve", "lsp-server", socket] => lsp_server::serve(Path::new(socket), lsp_server::with_channels),
        ["serve", "lsp-server-loop", socket] => lsp_server::serve(Path::new(socket), lsp_server::without_channels),
        ["serve", "async-lsp", socket] => async_lsp::serve(Path::new(socket), false),
        ["serve", "async-lsp-buffered", socket] => async_lsp::serve(Path::new(socket), true),
        ["call", "portway"] => load::measure(portway::call),
        ["call", "async-lsp"] => load::measure(async_lsp::call),
        ["load"] => load::measure(load::without_library),
        ["round-trips"] => load::measure_round_trips(),
        ["pass", listen, to] => pass::run(Path::new(listen), Path::new(to)),
        ["hold"] => idle_connections::run(),
        _ => bail!("{USAGE}"),
    }
}
