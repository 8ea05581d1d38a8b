//! The command `kaiak serve`.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use portway::profile::Profile;
use portway::{Diagnostic, Framing, Listener, Service, Transport, stdio};
use portway_cli_support::escape::escape_control;
use portway_cli_support::signals::Signals;
use tokio::runtime::Builder;
use tracing::{debug, error, info, warn};
use tracing_subscriber::filter::LevelFilter;

use crate::acp::AcpBackend;
use crate::backend::Backend;
use crate::backend::rules::RulesBackend;
use crate::client;
use crate::limits::{self, MAX_BLOCKING_THREADS};
use crate::rules::RuleSet;
use crate::server::{Server, ServerOptions};

/// The method of a cancellation. The library handles a cancellation with valid params. With invalid params, it is an
/// unknown notification.
const CANCEL: &str = Profile::KAIAK.cancel.method;

/// The default time of a question, in seconds.
pub const DEFAULT_INTERACTION_SECONDS: u64 = limits::DEFAULT_INTERACTION_SECONDS;

/// The default maximum number of sessions.
pub const DEFAULT_MAX_SESSIONS: u32 = limits::DEFAULT_MAX_SESSIONS;

/// The options of the command.
#[derive(Debug)]
pub struct Options {
    /// The transport to the clients.
    pub transport: ServeTransport,
    /// The backend.
    pub backend: BackendOptions,
    /// The time that a client has to answer a question.
    pub interaction_timeout: Duration,
    /// The maximum number of sessions.
    pub max_sessions: usize,
    /// The least severity that is logged: `error`, `warn`, `info` or `debug`.
    pub log_level: String,
}

/// The transport to the clients.
#[derive(Debug)]
pub enum ServeTransport {
    /// Standard input and output, for one client.
    Stdio,
    /// A Unix domain socket at this path.
    Socket(PathBuf),
}

/// The backend with its options.
#[derive(Debug)]
pub enum BackendOptions {
    /// Rules in these folders and files.
    Rules(Vec<PathBuf>),
    /// An agent of the Agent Client Protocol: the program and its arguments.
    Acp {
        /// The program.
        program: String,
        /// The arguments of the program.
        arguments: Vec<String>,
    },
}

/// Serves the contract until the input ends or a signal arrives. Logs to standard error. Returns 0, or 1 after a
/// failure.
#[must_use]
pub fn serve(options: Options) -> ExitCode {
    let level = options.log_level.parse().unwrap_or(LevelFilter::WARN);
    // Colours are escape sequences, which only a terminal shows as colours (no-color.org).
    let has_colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let logs = tracing_subscriber::fmt().with_writer(stdio::stderr).with_ansi(has_colours);
    logs.with_max_level(level).with_target(false).init();
    let served =
        Builder::new_current_thread().enable_all().max_blocking_threads(MAX_BLOCKING_THREADS).build().and_then(
            |runtime| {
                let served = runtime.block_on(run(options));
                // A thread of the runtime may be blocked in a write to the client.
                runtime.shutdown_background();
                served
            },
        );
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            error!("cannot serve: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> io::Result<()> {
    let mut signals = Signals::listen()?;
    let backend: Box<dyn Backend> = match options.backend {
        BackendOptions::Rules(folders) => {
            let (rules, warnings) = RuleSet::load(&folders).map_err(|error| io::Error::other(error.to_string()))?;
            for warning in warnings {
                warn!("{}", escape_control(&warning.to_string()));
            }
            rules.check_not_empty().map_err(io::Error::other)?;
            Box::new(RulesBackend::new(rules))
        }
        BackendOptions::Acp { program, arguments } => Box::new(AcpBackend::new(program, arguments)),
    };
    let server_options =
        ServerOptions { interaction_timeout: options.interaction_timeout, max_sessions: options.max_sessions };
    let server = Arc::new(Server::new(backend, server_options));
    let registered = Arc::clone(&server);
    let service = Service::new(move |peer| registered.register(peer));
    let configure =
        |transport: Transport| transport.with_profile(Profile::KAIAK).with_limits(client::limits()).on_diagnostic(log);
    let service = match options.transport {
        ServeTransport::Stdio => service.connect(configure(Transport::stdio(Framing::ContentLength)?)),
        ServeTransport::Socket(path) => {
            let listener = Listener::unix(&path, Framing::ContentLength).await.map_err(with_remedy)?.with(configure);
            info!("listening on {}", path.display());
            service.listen(listener)
        }
    };
    let signal = async {
        signals.next().await;
        info!("a signal was received");
        server.stop_runs();
    };
    let served = service.serve_until(signal).await;
    server.shut_down().await;
    served
}

/// Adds the remedy to the error of a path that is in use.
fn with_remedy(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::AddrInUse => io::Error::new(error.kind(), format!("{error}; use another path for `--socket`")),
        _ => error,
    }
}

/// Logs an event of a link. The log contains no params.
fn log(diagnostic: Diagnostic<'_>) {
    match diagnostic {
        Diagnostic::Panicked { method, message } => {
            error!("the handler of {} panicked: {}", escape_control(method), escape_control(message));
        }
        Diagnostic::Answered { method, error: Some(error), .. } => {
            debug!("{} failed: {}", escape_control(method), escape_control(&error.to_string()));
        }
        Diagnostic::Rejected { error, .. } => warn!("a message was rejected: {}", escape_control(&error.to_string())),
        Diagnostic::Frame(fault) => warn!("a frame was rejected: {fault:?}"),
        Diagnostic::UnknownNotification { method: CANCEL } => {
            warn!("a cancellation was ignored: {CANCEL} must have the id of a request");
        }
        Diagnostic::DroppedNotification { method } => {
            warn!("too many notifications, {} was dropped", escape_control(method))
        }
        Diagnostic::UnknownNotification { method } => warn!("unknown notification {}", escape_control(method)),
        Diagnostic::OtherFraming { peer, own } => warn!("the client seems to use {peer}, not {own}"),
        _ => {}
    }
}
