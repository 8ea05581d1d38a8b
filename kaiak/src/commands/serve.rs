//! The command `kaiak serve`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum, value_parser};
use kaiak::serve::{BackendOptions, Options, ServeTransport, serve};
use portway::stdio;

/// The arguments of `kaiak serve`.
#[derive(Args)]
#[command(group(ArgGroup::new("transport").required(true).args(["stdio", "socket"])))]
pub(crate) struct ServeArguments {
    /// Serve one client on standard input and output
    #[arg(long)]
    stdio: bool,
    /// Listen on a Unix domain socket at this path
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// The backend that fixes the places: rules, which need no model, or an agent of the Agent Client Protocol
    #[arg(long, value_enum, default_value = "rules")]
    backend: Backend,
    /// A folder or a file with rules, for the backend `rules`. Repeat the option for several
    #[arg(long, value_name = "DIR")]
    rules: Vec<PathBuf>,
    /// The time that the client has to answer a question, in seconds. Without an answer, the question is denied
    #[arg(long, value_name = "SECONDS", default_value_t = kaiak::serve::DEFAULT_INTERACTION_SECONDS)]
    #[arg(value_parser = value_parser!(u64).range(1..=86_400))]
    interaction_timeout: u64,
    /// The maximum number of sessions
    #[arg(long, value_name = "N", default_value_t = kaiak::serve::DEFAULT_MAX_SESSIONS)]
    #[arg(value_parser = value_parser!(u32).range(1..))]
    max_sessions: u32,
    /// The least severity that is logged to standard error
    #[arg(long, value_name = "LEVEL", default_value = "warn", value_parser = ["error", "warn", "info", "debug"])]
    log_level: String,
    /// The program of the agent and its arguments, for the backend `acp`
    #[arg(last = true, value_name = "AGENT")]
    agent: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Backend {
    /// Rules of Konveyor, without a model
    Rules,
    /// An agent of the Agent Client Protocol
    Acp,
}

/// Serves until the input ends or a signal arrives. Returns the exit code.
pub(crate) fn run(arguments: ServeArguments) -> ExitCode {
    match arguments.options() {
        Ok(options) => serve(options),
        Err(problem) => {
            let _ = writeln!(stdio::stderr(), "error: {problem}");
            ExitCode::from(2)
        }
    }
}

impl ServeArguments {
    /// Converts the arguments.
    ///
    /// # Errors
    /// If an argument does not fit the backend, or if an argument of the backend is missing.
    fn options(self) -> Result<Options, &'static str> {
        let mut agent = self.agent.into_iter();
        let backend = match (self.backend, agent.next()) {
            (Backend::Rules, Some(_)) => {
                return Err("the backend `rules` has no agent; use `--backend acp`, or omit `--` and the agent");
            }
            (Backend::Rules, None) if self.rules.is_empty() => return Err("the backend `rules` needs `--rules DIR`"),
            (Backend::Rules, None) => BackendOptions::Rules(self.rules),
            (Backend::Acp, _) if !self.rules.is_empty() => {
                return Err("the backend `acp` has no rules; omit `--rules`");
            }
            (Backend::Acp, None) => {
                return Err("the backend `acp` needs the program of the agent after `--`, such as `-- gemini --acp`");
            }
            (Backend::Acp, Some(program)) => BackendOptions::Acp { program, arguments: agent.collect() },
        };
        Ok(Options {
            transport: self.socket.map_or(ServeTransport::Stdio, ServeTransport::Socket),
            backend,
            interaction_timeout: Duration::from_secs(self.interaction_timeout),
            max_sessions: usize::try_from(self.max_sessions).unwrap_or(usize::MAX),
            log_level: self.log_level,
        })
    }
}
