//! `portway call`: one request or notification.

mod negotiate;
mod stderr;
mod target;

use std::io::{self, IsTerminal, Write};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use portway::message::Unreadable;
use portway::{CallError, Closed, Context, Framing, Limits, Peer, RpcError, Transport, stdio};
use portway_cli_support::signals::Signals;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::signal::unix::SignalKind;

use self::negotiate::Negotiation;
pub(crate) use self::stderr::Reporter;
use self::target::{Connection, Streams, WriterOutcome};
use crate::arguments::{CallArguments, Timeout};
use crate::headers::{self, Header};
use crate::json_format::{compact, indented};
use crate::limits::LINK_GRACE;
use crate::output::{Failure, USAGE_OR_IO_FAILED, exit_after_write, print_detail, print_message};
use crate::params;
use crate::program::UNREACHABLE;
use crate::terminal::EscapingWriter;

/// Exit code after a timeout.
pub(crate) const TIMED_OUT: u8 = 4;
/// Exit code if the connection was lost, or the answer cannot be read.
pub(crate) const PEER_LOST: u8 = 5;

/// Extra time after the timeout. If this process was suspended during the timeout, a response may have arrived, but the
/// process has not read it yet.
const FINAL_READ: Duration = Duration::from_millis(20);

/// Maximum time in which the peer must read a notification. This limit applies if the timeout is disabled, or is longer
/// than the limit.
const MAX_GRACE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

pub(crate) fn run(arguments: &CallArguments) -> Result<ExitCode, Failure> {
    if !arguments.headers.is_empty() && arguments.target.ws.is_none() {
        return Err(Failure::new(USAGE_OR_IO_FAILED, "--header is for --ws URL"));
    }
    let headers = headers::read(&arguments.headers)?;
    let params = params::read(arguments.params.as_ref())?;
    check_descriptors().map_err(runtime_failure)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(runtime_failure)?;
    let outcome = runtime.block_on(run_call(arguments, headers, params));
    // A thread may still be looking up a host name. The command exits without waiting for this thread.
    runtime.shutdown_background();
    outcome
}

/// Checks that the process can open six more file descriptors. The runtime needs six descriptors, and panics if only
/// some of them can be opened.
pub(crate) fn check_descriptors() -> io::Result<()> {
    let _pairs = [UnixStream::pair()?, UnixStream::pair()?, UnixStream::pair()?];
    Ok(())
}

pub(crate) fn runtime_failure(error: io::Error) -> Failure {
    Failure::new(UNREACHABLE, error.to_string())
}

/// The outcome of a call.
enum Outcome {
    Result(Box<RawValue>),
    /// The notification was sent.
    Sent,
    Failed(CallError),
    /// A signal ended the call. The value is the exit code for this signal.
    Signal(ExitCode),
}

async fn run_call(
    arguments: &CallArguments,
    headers: Vec<Header>,
    params: Option<Box<RawValue>>,
) -> Result<ExitCode, Failure> {
    let mut signals = Signals::listen().map_err(runtime_failure)?;
    let connection = tokio::select! {
        kind = signals.next() => return Ok(exit_code(kind)),
        connection = Connection::open(arguments, headers) => connection?,
    };
    let session = CallSession::start(connection, arguments).map_err(runtime_failure)?;
    let outcome = if arguments.notify {
        session.peer.notify(&arguments.method, &params).map_or_else(Outcome::Failed, |()| Outcome::Sent)
    } else {
        let mut call = session.peer.call::<Box<RawValue>>(&arguments.method, &params).timeout(None);
        if arguments.progress {
            call = call.on_progress(|value: Box<RawValue>| show_progress(&value));
        }
        // If a signal or an unreadable response ends this `select`, the call is dropped, and the peer receives a
        // cancellation.
        tokio::select! {
            kind = signals.next() => Outcome::Signal(exit_code(kind)),
            reason = session.reporter.unreadable() => Outcome::Failed(CallError::Unreadable(reason)),
            end = wait_for_answer(arguments.timeout, call) => {
                end.unwrap_or(Err(CallError::TimedOut)).map_or_else(Outcome::Failed, Outcome::Result)
            }
        }
    };
    // The program may take seconds to exit, so the result is printed before the session ends.
    let print_result = match &outcome {
        Outcome::Result(result) => Some(show_result(result, arguments)),
        _ => None,
    };
    let reporter = Arc::clone(&session.reporter);
    let end = tokio::select! {
        kind = signals.next() => Err(exit_code(kind)),
        end = session.end() => Ok(end),
    };
    reporter.flush();
    match outcome {
        Outcome::Result(_) => print_result.unwrap_or(Ok(ExitCode::SUCCESS)),
        Outcome::Signal(code) => Ok(code),
        Outcome::Sent => end.map_or_else(Ok, |end| end.of_notification(arguments.timeout)),
        Outcome::Failed(CallError::Remote(error)) => show_error(&error, arguments.json),
        Outcome::Failed(error) => {
            let status = end.ok().and_then(|end| end.status);
            Err(call_failure(&error, status, arguments, &reporter))
        }
    }
}

/// The peer and its connection.
struct CallSession {
    peer: Peer,
    negotiation: Option<Negotiation>,
    writer_outcome: Arc<WriterOutcome>,
    reporter: Arc<Reporter>,
    /// After the call, the peer has this time to read all bytes that were sent.
    grace: Duration,
}

/// The result of [`CallSession::end`].
struct SessionEnd {
    /// The reason why some bytes were not sent, or `None` if all bytes were sent.
    unsent: Option<String>,
    /// Whether sending took longer than the grace.
    is_late: bool,
    /// The exit status of the program, if the program exited before the session ended.
    status: Option<ExitStatus>,
}

impl SessionEnd {
    fn of_notification(self, timeout: Timeout) -> Result<ExitCode, Failure> {
        if self.is_late {
            let waited = timeout.0.unwrap_or_default();
            return Err(Failure::new(TIMED_OUT, format!("the peer did not read the notification within {waited:?}"))
                .with_hint("--timeout SECONDS waits longer."));
        }
        match self.unsent {
            None => Ok(ExitCode::SUCCESS),
            Some(error) => Err(Failure::new(PEER_LOST, format!("the notification could not be sent: {error}"))),
        }
    }
}

impl CallSession {
    fn start(connection: Connection, arguments: &CallArguments) -> io::Result<Self> {
        let mut limits = Limits::DEFAULT;
        limits.message_bytes = arguments.max_bytes;
        // If the user names no framing, a `Negotiation` is between the client and the peer. The client writes and reads
        // lines, and the `Negotiation` converts them to and from the framing of the peer.
        let framing = arguments.framing.fixed().unwrap_or(Framing::Newline);
        let reporter = Arc::new(Reporter::new(framing));
        let (transport, negotiation, writer_outcome, program) = match connection {
            Connection::WebSocket(transport) => (*transport, None, Arc::default(), None),
            Connection::Streams(streams) => {
                let Streams { reader, writer, writer_outcome, program } = *streams;
                match arguments.framing.fixed() {
                    Some(framing) => (Transport::new(reader, writer, framing)?, None, writer_outcome, program),
                    None => {
                        let (transport, negotiation) = Negotiation::begin(reader, writer, limits, &reporter)?;
                        (transport, Some(negotiation), writer_outcome, program)
                    }
                }
            }
        };
        // A peer that has responded has read the whole request, so the grace is short. A notification has no response,
        // and the peer may still be reading the notification, so the grace is the whole timeout.
        let grace = if arguments.notify { arguments.timeout.0.unwrap_or(MAX_GRACE).min(MAX_GRACE) } else { LINK_GRACE };
        let diagnostic_reporter = Arc::clone(&reporter);
        let frame_reporter = Arc::clone(&reporter);
        let transport = transport
            .on_frame(move |frame| frame_reporter.frame(frame))
            .with_limits(limits)
            .with_grace(grace)
            .on_diagnostic(move |diagnostic| diagnostic_reporter.diagnostic(&diagnostic));
        let transport = match program {
            Some(program) => transport.with_child(program, LINK_GRACE),
            None => transport,
        };
        let peer = Peer::new(transport);
        if arguments.progress {
            // If the token of progress is the id of the call, the library passes the progress to the call. This handler
            // prints progress with other tokens.
            peer.on_notify("$/progress", |params: Box<RawValue>, _: Context| show_progress(&params));
        }
        Ok(Self { peer, negotiation, writer_outcome, reporter, grace })
    }

    async fn end(self) -> SessionEnd {
        let start = Instant::now();
        self.peer.client().destroy();
        let (mut unsent, status) = match self.peer.client().closed().await {
            Closed::Local | Closed::End => (None, None),
            Closed::Exited(status) => (None, Some(status)),
            closed => (Some(closed.to_string()), None),
        };
        if let Some(negotiation) = self.negotiation {
            let remaining = self.grace.saturating_sub(start.elapsed());
            unsent = unsent.or(negotiation.end(remaining).await.err().map(|error| error.to_string()));
        }
        let took = self.writer_outcome.end().map_or_else(|| start.elapsed(), |end| end.duration_since(start));
        SessionEnd { unsent: unsent.or_else(|| self.writer_outcome.problem()), is_late: took >= self.grace, status }
    }
}

/// Returns the exit code after a signal: 128 plus the number of the signal, as in shells.
pub(crate) fn exit_code(kind: SignalKind) -> ExitCode {
    u8::try_from(128 + kind.as_raw_value()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Runs `work` for at most `limit`. Returns `None` if `work` takes longer.
pub(crate) async fn with_timeout<T>(limit: Timeout, work: impl Future<Output = T>) -> Option<T> {
    match limit.0 {
        Some(limit) => tokio::time::timeout(limit, work).await.ok(),
        None => Some(work.await),
    }
}

/// Waits for the response for at most `limit`. After this time, a response that has arrived but was not read is still
/// returned.
async fn wait_for_answer<T>(limit: Timeout, call: impl Future<Output = T>) -> Option<T> {
    let mut call = pin!(call);
    let in_time = with_timeout(limit, &mut call).await;
    if in_time.is_some() { in_time } else { with_timeout(Timeout(Some(FINAL_READ)), call).await }
}

pub(crate) fn show_progress(value: &RawValue) {
    print_message(format_args!("progress: {}", compact(value.get())));
}

fn show_result(result: &RawValue, arguments: &CallArguments) -> Result<ExitCode, Failure> {
    let is_for_people = !arguments.json && io::stdout().is_terminal();
    let text = if is_for_people { indented(result.get()) } else { compact(result.get()) };
    print(text, ExitCode::SUCCESS)
}

pub(crate) fn print(mut line: String, code: ExitCode) -> Result<ExitCode, Failure> {
    line.push('\n');
    exit_after_write(EscapingWriter::on_stdout(stdio::stdout()).write_all(line.as_bytes()), code)
}

/// The error object that the peer has sent.
#[derive(Serialize)]
struct ErrorObject<'a> {
    code: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
}

pub(crate) fn show_error(error: &RpcError, is_json: bool) -> Result<ExitCode, Failure> {
    let data = error.raw_data();
    let data = data.as_deref();
    if is_json {
        let object = ErrorObject { code: error.code.value(), message: &error.message, data };
        let text =
            serde_json::to_string(&object).map_err(|problem| Failure::new(USAGE_OR_IO_FAILED, problem.to_string()))?;
        return print(compact(&text), ExitCode::FAILURE);
    }
    print_message(format_args!("the peer answered with an error: {} ({})", error.message, error.code));
    if let Some(data) = data {
        print_detail(format_args!("data: {}", compact(data.get())));
    }
    Ok(ExitCode::FAILURE)
}

/// Returns the failure of a call without a response, with a hint for the user.
fn call_failure(
    error: &CallError,
    status: Option<ExitStatus>,
    arguments: &CallArguments,
    reporter: &Reporter,
) -> Failure {
    let other_framing_hint = reporter.other_framing().map(|peer_framing| {
        let not = arguments.framing.fixed().map(|own_framing| format!(", not {own_framing}")).unwrap_or_default();
        match peer_framing {
            Framing::ContentLength => {
                format!("The peer uses {peer_framing}{not}: use --framing content-length, or leave it out.")
            }
            Framing::Newline => format!("The peer uses {peer_framing}{not}: use --framing newline, or leave it out."),
            Framing::Wipc => format!("The peer uses {peer_framing}{not}: use --framing wipc."),
        }
    });
    let framing_guess = match arguments.framing.fixed() {
        // The messages of a WebSocket have no framing.
        _ if arguments.target.ws.is_some() => None,
        _ if reporter.is_framing_certain() || matches!(error, CallError::InvalidResponse) => None,
        None => Some(
            "The peer sent no message. If it accepts only one framing, name it: --framing content-length, newline or wipc.",
        ),
        Some(Framing::Wipc) => Some("The peer may use another framing: see --framing."),
        Some(_) => Some(
            "The peer may use another framing. Leave out --framing, and content-length or newline is detected. wipc is \
             never detected.",
        ),
    };
    // If the program has exited, its output explains the failure better than a guess about its framing.
    let hint = if status.is_some() {
        other_framing_hint
    } else {
        other_framing_hint.or_else(|| framing_guess.map(str::to_owned))
    };
    let lost = |message: String| Failure::new(PEER_LOST, message);
    let problem = match error {
        CallError::TimedOut => {
            let waited = arguments.timeout.0.unwrap_or_default();
            let problem = Failure::new(TIMED_OUT, format!("no answer came within {waited:?}"));
            return problem.with_hint(hint.as_deref().unwrap_or("--timeout SECONDS waits longer."));
        }
        CallError::Params(problem) => Failure::new(USAGE_OR_IO_FAILED, format!("the params cannot be sent: {problem}")),
        CallError::Unreadable(reason) => {
            let problem = lost(format!("the answer of the peer cannot be read: {reason}"));
            return match reason {
                Unreadable::TooLarge => problem.with_hint("--max-bytes BYTES allows longer messages."),
                _ => problem,
            };
        }
        CallError::Lost(closed @ (Closed::OtherFraming { .. } | Closed::NoMessages(_))) => {
            lost(format!("the peer uses another framing: {closed}"))
        }
        CallError::InvalidResponse => lost("the response of the peer has neither result nor error".to_owned()),
        CallError::PeerGone | CallError::Lost(_) => match (status, error) {
            (Some(status), _) => lost(format!("the program ended before it answered ({status})")),
            (None, CallError::Lost(closed)) => lost(format!("the connection was lost before an answer came: {closed}")),
            (None, _) => lost("the peer closed the connection before it answered".to_owned()),
        },
        error => lost(error.to_string()),
    };
    match hint {
        Some(hint) => problem.with_hint(hint),
        None => problem,
    }
}
