//! `duet-rpc`: a daemon for editors that serves JSON-RPC 2.0 on its standard input and output.

mod arguments;
mod diagnostics;
mod level;
mod lifecycle;
mod limits;
mod logging;
mod methods;
mod params;

use std::process::ExitCode;

fn main() -> ExitCode {
    match arguments::read() {
        Ok(options) => lifecycle::serve(&options),
        Err(code) => code,
    }
}
