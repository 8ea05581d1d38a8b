//! The life of the daemon: it serves until its input ends, a client shuts it down, or a signal comes.

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

use crate::arguments::Options;
use crate::limits::{DAEMON_GRACE, LOG_FLUSH};
use crate::logging::Log;
use crate::signals::Signals;
use crate::{diagnostics, methods};

/// Is the daemon. The exit code is 0 if it ended as it was asked to.
pub(crate) fn serve(options: &Options) -> ExitCode {
    let log = match Log::start(options) {
        Ok(log) => log,
        Err(problem) => {
            // Without standard error there is nobody to tell.
            let _ = writeln!(stdio::stderr(), "error: the log cannot be started: {problem}");
            return ExitCode::FAILURE;
        }
    };
    panic::set_hook(Box::new(|fault| error!("internal fault in {}", Place(fault.location()))));
    let served = panic::catch_unwind(AssertUnwindSafe(|| {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let closed = runtime.block_on(run(&log, options));
        // A write that waits for the client on a thread of the runtime must not keep the process.
        runtime.shutdown_background();
        closed
    }));
    let code = judge(served.unwrap_or_else(|_| Err(io::Error::other("an internal fault"))));
    log.flush(LOG_FLUSH);
    code
}

/// Where a panic came from: a line of a source file, without its folders, which may be somebody's own. The text of the panic
/// may hold anything.
struct Place<'a>(Option<&'a Location<'a>>);

impl Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.and_then(|location| Some((Path::new(location.file()).file_name()?, location.line()))) {
            Some((file, line)) => write!(f, "line {line} of {}", file.display()),
            None => f.write_str("an unknown place"),
        }
    }
}

async fn run(log: &Log, options: &Options) -> io::Result<Closed> {
    // Where the log may not grow, the system sends this signal, which ends a process that does not handle it.
    let _too_large = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?;
    let signals = Signals::listen()?;
    let transport = Transport::stdio(Framing::ContentLength)?
        .with_profile(Profile::DAEMON)
        .with_grace(DAEMON_GRACE)
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

/// Logs how it ended.
fn judge(outcome: io::Result<Closed>) -> ExitCode {
    match outcome {
        Ok(Closed::Local) => ExitCode::SUCCESS,
        Ok(Closed::End | Closed::Truncated(_)) => {
            info!("stdin closed, shutting down gracefully");
            ExitCode::SUCCESS
        }
        Ok(other) => {
            error!("cannot go on: {other}");
            ExitCode::FAILURE
        }
        Err(problem) => {
            error!("cannot serve: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// A further signal changes nothing: it ends already.
async fn stop_at_signal(mut signals: Signals, stopper: Stopper) {
    let name = match signals.next().await {
        kind if kind == SignalKind::interrupt() => "SIGINT",
        kind if kind == SignalKind::terminate() => "SIGTERM",
        _ => "SIGHUP",
    };
    info!("received {name}, shutting down gracefully");
    stopper.stop();
}
