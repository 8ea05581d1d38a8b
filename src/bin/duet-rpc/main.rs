//! `duet-rpc`: a daemon that an editor talks to in JSON-RPC 2.0 over its standard input and output.

mod arguments;
mod diagnostics;
#[path = "../shared/harmless.rs"]
mod harmless;
mod level;
mod lifecycle;
mod limits;
mod logging;
mod methods;
mod params;
#[path = "../shared/signals.rs"]
mod signals;

use std::process::ExitCode;

fn main() -> ExitCode {
    match arguments::read() {
        Ok(options) => lifecycle::serve(&options),
        Err(code) => code,
    }
}
