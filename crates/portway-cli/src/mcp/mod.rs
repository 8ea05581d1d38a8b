//! `portway mcp`: one action on an MCP server.

mod arguments;
mod print;

use std::io;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use portway::mcp::{Client, Era, Error, Failure as Negotiation, Options};
use portway::message::Unreadable;
use portway::{CallError, Framing, Limits};
use portway_cli_support::signals::Signals;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::process::Command;

pub(crate) use self::arguments::McpArguments;
use self::arguments::{Action, Request, Target};
#[cfg(test)]
pub(crate) use self::arguments::{MCP_NOTES, MCP_USAGE};
use self::print::Lists;
use crate::call::{
    PEER_LOST, Reporter, TIMED_OUT, check_descriptors, exit_code, runtime_failure, show_error, show_progress,
    with_timeout,
};
use crate::headers::{self, Header};
use crate::json_format::compact;
use crate::output::{Failure, USAGE_OR_IO_FAILED, print_message};
use crate::params;
use crate::program::UNREACHABLE;

/// The timeout of the request `initialize`: a year, because the timeout of the command limits the whole handshake.
const NO_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A server that has not answered `server/discover` receives `initialize` after the timeout of the handshake, divided
/// by this number.
const DISCOVER_PART: u32 = 2;

/// Maximum time for the response to `server/discover`.
const MAX_DISCOVER: Duration = Duration::from_secs(5);

/// The lists of a server: the capability, the method, and the member of the result.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools", "tools/list", "tools"),
    ("resources", "resources/list", "resources"),
    ("resources", "resources/templates/list", "resourceTemplates"),
    ("prompts", "prompts/list", "prompts"),
];

pub(crate) fn run(arguments: &McpArguments) -> Result<ExitCode, Failure> {
    let Request { target, action } = Request::read(&arguments.words, &arguments.program)?;
    if !arguments.headers.is_empty() && matches!(target, Target::Program(_)) {
        return Err(Failure::new(USAGE_OR_IO_FAILED, "--header is for a URL"));
    }
    let headers = headers::read(&arguments.headers)?;
    let call = Call::read(action)?;
    check_descriptors().map_err(runtime_failure)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(runtime_failure)?;
    let outcome = runtime.block_on(run_call(arguments, &target, headers, &call));
    // A thread may still be looking up a host name. The command exits without waiting for this thread.
    runtime.shutdown_background();
    outcome
}

/// The request of an action.
enum Call {
    List,
    /// A request whose result is printed.
    One {
        method: &'static str,
        params: Params,
    },
}

#[derive(Serialize)]
struct Params {
    /// The name of a tool or of a prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Box<RawValue>>,
}

impl Call {
    fn read(action: Action) -> Result<Self, Failure> {
        let named = |method, name, arguments: Option<_>| {
            let arguments = params::read_object(arguments.as_ref())?;
            Ok(Self::One { method, params: Params { name: Some(name), uri: None, arguments } })
        };
        match action {
            Action::List => Ok(Self::List),
            Action::Call { name, arguments } => named("tools/call", name, arguments),
            Action::Get { name, arguments } => named("prompts/get", name, arguments),
            Action::Read { uri } => {
                let params = Params { name: None, uri: Some(uri), arguments: None };
                Ok(Self::One { method: "resources/read", params })
            }
        }
    }
}

async fn run_call(
    arguments: &McpArguments,
    target: &Target,
    headers: Vec<Header>,
    call: &Call,
) -> Result<ExitCode, Failure> {
    let mut signals = Signals::listen().map_err(runtime_failure)?;
    let connecting = with_timeout(arguments.timeout, connect(target, options(arguments, headers)));
    let client = tokio::select! {
        kind = signals.next() => return Ok(exit_code(kind)),
        connected = connecting => match connected {
            Some(client) => client.map_err(connection_failure)?,
            None => return Err(timed_out(arguments, "the server did not complete the handshake")),
        },
    };
    if arguments.verbose {
        let (version, era) = (client.protocol_version(), client.era());
        let era = match era {
            Era::Legacy => "legacy era: it begins with initialize",
            Era::Modern => "modern era: each request names its version",
        };
        print_message(format_args!("the server uses MCP {version} ({era})"));
    }
    let outcome = tokio::select! {
        kind = signals.next() => Ok(exit_code(kind)),
        outcome = act(&client, call, arguments) => outcome,
    };
    // A server may take seconds to exit, so the result is printed before the client is closed.
    let mut closing = pin!(client.close());
    tokio::select! {
        _ = signals.next() => {}
        _ = &mut closing => {}
    }
    outcome
}

/// Returns the options of the client.
fn options(arguments: &McpArguments, headers: Vec<Header>) -> Options {
    let mut limits = Limits::DEFAULT;
    limits.message_bytes = arguments.max_bytes;
    let discover = arguments.timeout.0.map_or(MAX_DISCOVER, |timeout| (timeout / DISCOVER_PART).min(MAX_DISCOVER));
    let reporter = arguments.verbose.then(|| Arc::new(Reporter::new(Framing::Newline)));
    let mut options = Options::new("portway", env!("CARGO_PKG_VERSION"))
        .timeout(arguments.timeout.0)
        .discover_timeout(discover)
        .initialize_timeout(NO_TIMEOUT)
        .on_warning(|text| print_message(text))
        .with(move |transport| {
            let transport = transport.with_limits(limits);
            match reporter.clone() {
                Some(reporter) => transport.on_diagnostic(move |diagnostic| reporter.diagnostic(&diagnostic)),
                None => transport,
            }
        });
    if arguments.verbose {
        options = options.on_notify("notifications/message", |log: Box<RawValue>| {
            print_message(format_args!("the server logs: {}", compact(log.get())));
        });
    }
    if headers.is_empty() {
        return options;
    }
    let headers: Vec<_> = headers.into_iter().map(|Header { name, value }| (name, value)).collect();
    options.headers(move || core::future::ready(headers.clone()))
}

async fn connect(target: &Target, options: Options) -> Result<Client, Error> {
    match target {
        Target::Url(url) => Client::connect_http(url, options).await,
        Target::Program(words) => {
            let (program, arguments) =
                words.split_first().ok_or_else(|| Error::Start(io::ErrorKind::NotFound.into()))?;
            let mut command = Command::new(program);
            command.args(arguments);
            Client::connect(command, options).await
        }
    }
}

/// Runs the action, and prints its result.
async fn act(client: &Client, call: &Call, arguments: &McpArguments) -> Result<ExitCode, Failure> {
    let Call::One { method, params } = call else {
        let lists = list(client).await;
        return match lists {
            Ok(lists) => print::show_lists(&lists, arguments.json),
            Err(error) => failed(error, arguments),
        };
    };
    let mut call = client.call::<Box<RawValue>>(method, params);
    if arguments.progress {
        call = call.on_progress(|value: Box<RawValue>| show_progress(&value));
    }
    match call.await {
        Ok(result) => print::show_result(method, &result, arguments.json),
        Err(error) => failed(error, arguments),
    }
}

/// Returns all that the server offers. A list is empty if the server does not have the capability or the method.
async fn list(client: &Client) -> Result<Lists, Error> {
    let mut lists = Lists::default();
    for (capability, method, member) in LISTS {
        if !has_capability(client, capability) {
            continue;
        }
        let items = match client.list::<Box<RawValue>>(method, member).await {
            Ok(items) => items,
            Err(Error::Call(CallError::Remote(error))) if error.code == portway::ErrorCode::METHOD_NOT_FOUND => {
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        lists.insert(member, items);
    }
    Ok(lists)
}

/// Returns whether the server has a capability, or has not named its capabilities.
fn has_capability(client: &Client, name: &str) -> bool {
    let server: serde_json::Value =
        client.server().and_then(|server| serde_json::from_str(server.get()).ok()).unwrap_or_default();
    server.get("capabilities").is_none_or(|capabilities| capabilities.get(name).is_some())
}

fn timed_out(arguments: &McpArguments, problem: &str) -> Failure {
    let waited = arguments.timeout.0.unwrap_or_default();
    Failure::new(TIMED_OUT, format!("{problem} within {waited:?}")).with_hint("--timeout SECONDS waits longer.")
}

/// Returns the failure of a connection.
fn connection_failure(error: Error) -> Failure {
    match &error {
        Error::Start(reason) if reason.kind() == io::ErrorKind::InvalidInput => {
            Failure::new(USAGE_OR_IO_FAILED, reason.to_string())
        }
        Error::Start(reason) => {
            let problem = Failure::new(UNREACHABLE, format!("cannot start {reason}"));
            match reason.kind() {
                io::ErrorKind::NotFound => {
                    problem.with_hint("Is it installed, and in PATH? A path begins with ./ or /.")
                }
                _ => problem,
            }
        }
        Error::Http { status: Some(status), challenge, .. } => denied(*status, challenge.as_deref()),
        Error::Http { .. } => Failure::new(UNREACHABLE, format!("cannot connect: {error}"))
            .with_hint("Is the server running, and is the URL that of its MCP endpoint?"),
        Error::Negotiation { failure: Negotiation::InitializeRefused, .. } => {
            Failure::new(UNREACHABLE, format!("cannot connect: {error}"))
                .with_hint("Is it an MCP server? --verbose prints its messages that cannot be read.")
        }
        Error::Call(CallError::PeerGone | CallError::Lost(_)) => {
            Failure::new(UNREACHABLE, format!("the server ended before it answered: {error}"))
        }
        _ => Failure::new(UNREACHABLE, format!("cannot connect: {error}")),
    }
}

/// Returns the failure of a request that HTTP has denied.
fn denied(status: u16, challenge: Option<&str>) -> Failure {
    let challenge = challenge.map(|challenge| format!(", which asks for {challenge}")).unwrap_or_default();
    let problem = Failure::new(UNREACHABLE, format!("the server answered with the HTTP status {status}{challenge}"));
    match status {
        401 | 403 => problem.with_hint("--header 'Authorization: Bearer TOKEN' sends a token; see also NAME:@FILE."),
        _ => problem,
    }
}

/// Reports an action without a result.
fn failed(error: Error, arguments: &McpArguments) -> Result<ExitCode, Failure> {
    let lost = |problem: String| Err(Failure::new(PEER_LOST, problem));
    match error {
        Error::Call(CallError::Remote(error)) => show_error(&error, arguments.json),
        Error::Call(CallError::TimedOut) => Err(timed_out(arguments, "no answer came")),
        Error::Call(CallError::Params(problem)) => {
            Err(Failure::new(USAGE_OR_IO_FAILED, format!("the request cannot be sent: {problem}")))
        }
        Error::Call(CallError::Unreadable(Unreadable::TooLarge)) => {
            let problem = Failure::new(PEER_LOST, "the answer of the server is too long");
            Err(problem.with_hint("--max-bytes BYTES allows longer messages."))
        }
        Error::Call(error) => lost(format!("no answer came: {error}")),
        Error::Http { status: Some(status @ (401 | 403)), challenge, .. } => Err(denied(status, challenge.as_deref())),
        Error::Input { method, .. } => lost(format!("the server asks for {method}, which this command cannot answer")),
        error => lost(error.to_string()),
    }
}
