//! Runs the daemon until its input ends, the client requests a shutdown, or a signal arrives.

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe, Location};
use std::path::Path;
use std::process::{self, ExitCode};

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{error, info};

use portway::profile::Profile;
use portway::{Closed, Framing, Server, Stopper, Transport, stdio};
use portway_cli_support::signals::Signals;

use crate::arguments::Options;
use crate::limits::{LOG_FLUSH_TIMEOUT, SHUTDOWN_TIMEOUT};
use crate::logging::Log;
use crate::{diagnostics, methods};

/// Runs the daemon and returns its exit code: 0 after a shutdown, a signal or the end of the input, and 1 after a
/// failure.
pub(crate) fn serve(options: &Options) -> ExitCode {
    let log = match Log::start(options) {
        Ok(log) => log,
        Err(problem) => {
            // If standard error is closed, only the exit code reports the failure.
            let _ = writeln!(stdio::stderr(), "error: the log cannot be started: {problem}");
            return ExitCode::FAILURE;
        }
    };
    panic::set_hook(Box::new(|panic_info| error!("internal fault in {}", PanicLocation(panic_info.location()))));
    let served = panic::catch_unwind(AssertUnwindSafe(|| {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let closed = runtime.block_on(run(&log, options));
        // A thread of the runtime may be blocked in a write to the client. The process exits without waiting for this
        // thread.
        runtime.shutdown_background();
        closed
    }));
    let code = exit_code(served.unwrap_or_else(|_| Err(io::Error::other("an internal fault"))));
    log.flush(LOG_FLUSH_TIMEOUT);
    code
}

/// Displays the line and the file name of the code that panicked. The folders of the file are omitted, since their
/// names may include the name of a user. The message of the panic is omitted, since it may contain text of the client.
struct PanicLocation<'a>(Option<&'a Location<'a>>);

impl Display for PanicLocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.and_then(|location| Some((Path::new(location.file()).file_name()?, location.line()))) {
            Some((file, line)) => write!(f, "line {line} of {}", file.display()),
            None => f.write_str("an unknown location"),
        }
    }
}

async fn run(log: &Log, options: &Options) -> io::Result<Closed> {
    // A write that would grow the log file beyond RLIMIT_FSIZE raises SIGXFSZ. Without a handler, SIGXFSZ ends the
    // process.
    let _size_signal = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?;
    let signals = Signals::listen()?;
    let transport = Transport::stdio(Framing::ContentLength)?
        .with_profile(Profile::DAEMON)
        .with_grace(SHUTDOWN_TIMEOUT)
        .on_diagnostic(diagnostics::log);
    let server = Server::new(transport);
    let stopper = server.stopper();
    methods::register(&server, log.level(), &stopper);
    info!(
        "duet-rpc {} started: pid {}, level {}, log to {}",
        env!("CARGO_PKG_VERSION"),
        process::id(),
        options.log_level.name(),
        log.sink()
    );
    tokio::spawn(stop_at_signal(signals, stopper));
    Ok(server.run().await)
}

/// Returns the exit code of the daemon, and logs why the daemon exits. For `Closed::Local`, the reason was logged
/// before: a signal, or a request of the client to shut down.
fn exit_code(outcome: io::Result<Closed>) -> ExitCode {
    match outcome {
        Ok(Closed::Local) => ExitCode::SUCCESS,
        Ok(Closed::End | Closed::Truncated(_)) => {
            info!("stdin closed, shutting down gracefully");
            ExitCode::SUCCESS
        }
        Ok(closed) => {
            error!("cannot go on: {closed}");
            ExitCode::FAILURE
        }
        Err(problem) => {
            error!("cannot serve: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Stops the server at the first signal. Later signals have no effect, since the server is already stopping.
async fn stop_at_signal(mut signals: Signals, stopper: Stopper) {
    let name = match signals.next().await {
        kind if kind == SignalKind::interrupt() => "SIGINT",
        kind if kind == SignalKind::terminate() => "SIGTERM",
        _ => "SIGHUP",
    };
    info!("received {name}, shutting down gracefully");
    stopper.stop();
}
