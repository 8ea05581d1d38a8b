//! `portway serve --mcp-http`: an MCP server on standard streams, over Streamable HTTP.

use std::io;
use std::time::Duration;

use portway::Limits;
use portway::mcp::{HttpProgram, HttpService};
use portway_cli_support::signals::Signals;
use tokio::net::TcpListener;
use tokio::process::Command;

use super::ServeArguments;
use crate::output::{Failure, print_message};
use crate::program::UNREACHABLE;

/// Serves until a signal arrives.
pub(super) async fn serve(
    arguments: &ServeArguments,
    address: &str,
    limits: Limits,
    mut signals: Signals,
) -> Result<(), Failure> {
    let failure = |error: io::Error| Failure::new(UNREACHABLE, format!("cannot listen on {address}: {error}"));
    let Some((program, program_arguments)) = arguments.service.program.split_first() else { return Ok(()) };
    let mut command = Command::new(program);
    command.args(program_arguments);
    let mut program = HttpProgram::new(command).on_warning(|text| print_message(format_args!("{text}")));
    if let Some(max_sessions) = arguments.max_sessions {
        program = program.max_sessions(max_sessions);
    }
    if let Some(seconds) = arguments.session_idle {
        program = program.idle_time(Duration::from_secs(seconds));
    }
    let service = HttpService::of_program(program).with_limits(limits);
    let service = arguments.hosts.iter().fold(service, |service, host| service.with_host(host));
    let listener = TcpListener::bind(address).await.map_err(failure)?;
    print_message(format_args!("listening on http://{}/mcp", listener.local_addr().map_err(failure)?));
    let shutdown = async move {
        signals.next().await;
    };
    let served = service.serve_until(listener, shutdown).await;
    served.map_err(|error| Failure::new(UNREACHABLE, format!("cannot serve: {error}")))
}
