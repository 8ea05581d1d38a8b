//! `portway tap`: stands between two programs, and records or prints their messages.

mod address;
mod arguments;
mod copy;
mod glob;
mod head;
mod message;
mod print;
mod program;
mod pump;
mod sockets;
mod websocket;

use std::io;
use std::process::ExitCode;

use portway::Limits;
use portway::tap::Tap;
use portway_cli_support::signals::Signals;
use tokio::time::timeout;

pub(crate) use self::arguments::TapArguments;
#[cfg(test)]
pub(crate) use self::arguments::{TAP_NOTES, TAP_USAGE};
use self::copy::Taps;
use self::print::Printer;
use crate::inspect::{Inspector, Page};
use crate::limits::TAP_FLUSH_TIMEOUT;
use crate::output::{Failure, USAGE_OR_IO_FAILED, print_message};
use crate::program::UNREACHABLE;

pub(crate) fn run(arguments: &TapArguments) -> Result<ExitCode, Failure> {
    let failure = |error: io::Error| Failure::new(UNREACHABLE, error.to_string());
    if let (Some(listen), Some(to)) = (&arguments.listen, &arguments.to)
        && listen.is_websocket() != to.is_websocket()
    {
        return Err(Failure::new(USAGE_OR_IO_FAILED, "--listen and --to must both be ws://, or neither")
            .with_hint("`portway serve` connects a WebSocket with a program."));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failure)?;
    let outcome = runtime.block_on(tap(arguments));
    // Threads may wait for input or for a reader of the records. The command exits without waiting for these threads.
    runtime.shutdown_background();
    outcome
}

async fn tap(arguments: &TapArguments) -> Result<ExitCode, Failure> {
    let failure = |error: io::Error| Failure::new(UNREACHABLE, error.to_string());
    // A pipe can block this read. The signals are registered after the read, so that a signal during the read ends the
    // process.
    let page = if arguments.inspect { Some(Page::load()?) } else { None };
    let mut signals = Signals::listen().map_err(failure)?;
    let mut limits = Limits::DEFAULT;
    limits.message_bytes = arguments.max_bytes;
    let mut taps = Vec::new();
    if let Some(path) = &arguments.to_file {
        taps.push(
            Tap::to_file(path).map_err(|error| {
                Failure::new(USAGE_OR_IO_FAILED, format!("cannot write {}: {error}", path.display()))
            })?,
        );
    }
    let inspector = match page {
        Some(page) => Some(Inspector::for_tap(page).await?),
        None => None,
    };
    if let Some(inspector) = &inspector {
        taps.push(Tap::to_writer(inspector.writer()).map_err(failure)?);
    }
    if arguments.print || taps.is_empty() {
        let mut printer = Printer::new(arguments);
        taps.push(Tap::new(move |record| printer.print(record)).map_err(failure)?);
    }
    let taps = Taps { taps, framing: arguments.framing, limits };
    let outcome = match (&arguments.listen, &arguments.to) {
        (Some(listen), Some(to)) => {
            let shutdown = async {
                signals.next().await;
            };
            sockets::run(listen, to, &taps, shutdown).await.map(|()| ExitCode::SUCCESS)
        }
        _ => program::run(arguments, &taps, &mut signals).await,
    };
    // If a reader of the records has stopped, the exit must not be delayed for long.
    let flushed = async {
        for tap in &taps.taps {
            let flushed = tap.flushed().await;
            // Only the tap that writes to the file can fail.
            if let (Err(error), Some(path)) = (flushed, &arguments.to_file) {
                print_message(format_args!("cannot write {}: {error}", path.display()));
            }
        }
    };
    let _ = timeout(TAP_FLUSH_TIMEOUT, flushed).await;
    if let Some(inspector) = inspector {
        inspector.finish().await;
    }
    outcome
}
