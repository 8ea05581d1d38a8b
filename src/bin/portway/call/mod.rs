//! `portway call`: one request or notification.

mod negotiate;
mod notices;
mod params;
mod streams;

use std::io::{self, IsTerminal, Write};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use portway::message::Unreadable;
use portway::{CallError, Closed, Context, Framing, Limits, Peer, RpcError, Transport, stdio};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::signal::unix::SignalKind;

use self::negotiate::Negotiation;
use self::notices::Notices;
use self::streams::{Output, Streams};
use crate::arguments::{CallArguments, Timeout};
use crate::layout::{compact, indented};
use crate::limits::LINK_GRACE;
use crate::output::{Problem, UNUSABLE, ended, say, say_more};
use crate::signals::Signals;
use crate::terminal::Shown;

const UNREACHABLE: u8 = 3;
const TIMED_OUT: u8 = 4;
const GONE: u8 = 5;

/// Wait for input that has arrived already, once the time is up: this process may have been stopped meanwhile.
const FINAL_READ: Duration = Duration::from_millis(20);

/// As good as for ever.
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

pub(crate) fn run(arguments: &CallArguments) -> Result<ExitCode, Problem> {
    let params = params::read(arguments.params.as_ref())?;
    has_room().map_err(broken)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(broken)?;
    let outcome = runtime.block_on(talk(arguments, params));
    // A name that is still being looked up is not waited for.
    runtime.shutdown_background();
    outcome
}

/// Whether the runtime can open the six files that it needs. It panics where it has room for some of them only.
fn has_room() -> io::Result<()> {
    let _room = [UnixStream::pair()?, UnixStream::pair()?, UnixStream::pair()?];
    Ok(())
}

fn broken(error: io::Error) -> Problem {
    Problem::new(UNREACHABLE, error.to_string())
}

/// How a call ends.
enum Ending {
    Result(Box<RawValue>),
    Sent,
    Failed(CallError),
    Signal(ExitCode),
}

async fn talk(arguments: &CallArguments, params: Option<Box<RawValue>>) -> Result<ExitCode, Problem> {
    let mut signals = Signals::listen().map_err(broken)?;
    let streams = tokio::select! {
        kind = signals.next() => return Ok(code_of(kind)),
        streams = Streams::open(&arguments.target, arguments.timeout) => streams?,
    };
    let link = Link::over(streams, arguments).map_err(broken)?;
    let ending = if arguments.notify {
        link.peer.notify(&arguments.method, &params).map_or_else(Ending::Failed, |()| Ending::Sent)
    } else {
        let mut call = link.peer.call::<Box<RawValue>>(&arguments.method, &params).timeout(None);
        if arguments.progress {
            call = call.on_progress(|value: Box<RawValue>| show_progress(&value));
        }
        // Dropping the call cancels it: the peer need not go on.
        tokio::select! {
            kind = signals.next() => Ending::Signal(code_of(kind)),
            why = link.notices.unreadable() => Ending::Failed(CallError::Unreadable(why)),
            end = answer(arguments.timeout, call) => {
                end.unwrap_or(Err(CallError::TimedOut)).map_or_else(Ending::Failed, Ending::Result)
            }
        }
    };
    // Nobody waits for a result while the program is ending.
    let shown = match &ending {
        Ending::Result(result) => Some(show_result(result, arguments)),
        _ => None,
    };
    let notices = Arc::clone(&link.notices);
    let end = tokio::select! {
        kind = signals.next() => Err(code_of(kind)),
        end = link.end() => Ok(end),
    };
    notices.flush();
    match ending {
        Ending::Result(_) => shown.unwrap_or(Ok(ExitCode::SUCCESS)),
        Ending::Signal(code) => Ok(code),
        Ending::Sent => end.map_or_else(Ok, |end| end.of_notification(arguments.timeout)),
        Ending::Failed(CallError::Remote(error)) => show_error(&error, arguments.json),
        Ending::Failed(error) => {
            let status = end.ok().and_then(|end| end.status);
            Err(failure(&error, status, arguments, &notices))
        }
    }
}

/// The peer, and the way there.
struct Link {
    peer: Peer,
    negotiation: Option<Negotiation>,
    output: Arc<Output>,
    notices: Arc<Notices>,
    /// How long the peer has to take what is written.
    grace: Duration,
}

/// What became of a link.
struct End {
    /// Why not all was sent, if it was not.
    unsent: Option<String>,
    is_late: bool,
    /// How the program ended, if it ended by itself and before the link.
    status: Option<ExitStatus>,
}

impl End {
    fn of_notification(self, timeout: Timeout) -> Result<ExitCode, Problem> {
        if self.is_late {
            let waited = timeout.0.unwrap_or_default();
            return Err(Problem::new(TIMED_OUT, format!("the peer did not read the notification within {waited:?}"))
                .with_hint("--timeout SECONDS waits longer."));
        }
        match self.unsent {
            None => Ok(ExitCode::SUCCESS),
            Some(why) => Err(Problem::new(GONE, format!("the notification could not be sent: {why}"))),
        }
    }
}

impl Link {
    fn over(streams: Streams, arguments: &CallArguments) -> io::Result<Self> {
        let Streams { reader, writer, output, program } = streams;
        let mut limits = Limits::DEFAULT;
        limits.message_bytes = arguments.max_bytes;
        // Without a fixed one, the negotiation makes lines of all messages.
        let framing = arguments.framing.fixed().unwrap_or(Framing::Newline);
        let notices = Arc::new(Notices::new(framing));
        let (transport, negotiation) = match arguments.framing.fixed() {
            Some(framing) => (Transport::new(reader, writer, framing)?, None),
            None => {
                let (transport, negotiation) = Negotiation::begin(reader, writer, limits, &notices)?;
                (transport, Some(negotiation))
            }
        };
        // A peer that has answered has read all; one that is only notified may need its time.
        let grace = if arguments.notify { arguments.timeout.0.unwrap_or(YEAR).min(YEAR) } else { LINK_GRACE };
        let told = Arc::clone(&notices);
        let told_of_frame = Arc::clone(&notices);
        let transport = transport
            .on_frame(move |frame| told_of_frame.frame(frame))
            .with_limits(limits)
            .with_grace(grace)
            .on_diagnostic(move |diagnostic| told.diagnostic(&diagnostic));
        let transport = match program {
            Some(program) => transport.with_child(program, LINK_GRACE),
            None => transport,
        };
        let peer = Peer::new(transport);
        if arguments.progress {
            // What has the id of the call for its token goes to the call. A peer may use another one.
            peer.on_notify("$/progress", |params: Box<RawValue>, _: Context| show_progress(&params));
        }
        Ok(Self { peer, negotiation, output, notices, grace })
    }

    async fn end(self) -> End {
        let start = Instant::now();
        self.peer.client().destroy();
        let (mut unsent, status) = match self.peer.client().closed().await {
            Closed::Local | Closed::End => (None, None),
            Closed::Exited(status) => (None, Some(status)),
            closed => (Some(closed.to_string()), None),
        };
        if let Some(negotiation) = self.negotiation {
            let left = self.grace.saturating_sub(start.elapsed());
            unsent = unsent.or(negotiation.end(left).await.err().map(|error| error.to_string()));
        }
        let took = self.output.end().map_or_else(|| start.elapsed(), |end| end.duration_since(start));
        End { unsent: unsent.or_else(|| self.output.problem()), is_late: took >= self.grace, status }
    }
}

/// The exit code of the command after a signal: 128 plus its number, as in shells.
fn code_of(kind: SignalKind) -> ExitCode {
    u8::try_from(128 + kind.as_raw_value()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Waits no longer than the limit, which gives `None`.
async fn within<T>(limit: Timeout, work: impl Future<Output = T>) -> Option<T> {
    match limit.0 {
        Some(limit) => tokio::time::timeout(limit, work).await.ok(),
        None => Some(work.await),
    }
}

/// The same, but an answer that has arrived when the limit is over still counts.
async fn answer<T>(limit: Timeout, call: impl Future<Output = T>) -> Option<T> {
    let mut call = pin!(call);
    let in_time = within(limit, &mut call).await;
    if in_time.is_some() { in_time } else { within(Timeout(Some(FINAL_READ)), call).await }
}

fn show_progress(value: &RawValue) {
    say(format_args!("progress: {}", compact(value.get())));
}

fn show_result(result: &RawValue, arguments: &CallArguments) -> Result<ExitCode, Problem> {
    let is_for_people = !arguments.json && io::stdout().is_terminal();
    let text = if is_for_people { indented(result.get()) } else { compact(result.get()) };
    print(text, ExitCode::SUCCESS)
}

fn print(mut line: String, code: ExitCode) -> Result<ExitCode, Problem> {
    line.push('\n');
    ended(Shown::on_stdout(stdio::stdout()).write_all(line.as_bytes()), code)
}

/// The error as it came.
#[derive(Serialize)]
struct ErrorObject<'a> {
    code: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
}

fn show_error(error: &RpcError, is_json: bool) -> Result<ExitCode, Problem> {
    let data = error.raw_data.as_deref();
    if is_json {
        let object = ErrorObject { code: error.code.value(), message: &error.message, data };
        let text = serde_json::to_string(&object).map_err(|problem| Problem::new(UNUSABLE, problem.to_string()))?;
        return print(compact(&text), ExitCode::FAILURE);
    }
    say(format_args!("the peer answered an error: {} ({})", error.message, error.code));
    if let Some(data) = data {
        say_more(format_args!("data: {}", compact(data.get())));
    }
    Ok(ExitCode::FAILURE)
}

/// Why there is no answer.
fn failure(error: &CallError, status: Option<ExitStatus>, arguments: &CallArguments, notices: &Notices) -> Problem {
    let other = notices.other_framing().map(|peer| {
        let not = arguments.framing.fixed().map(|own| format!(", not {own}")).unwrap_or_default();
        match peer {
            Framing::ContentLength => format!("It speaks {peer}{not}: use --framing content-length, or leave it out."),
            Framing::Newline => format!("It speaks {peer}{not}: use --framing newline, or leave it out."),
            Framing::Wipc => format!("It speaks {peer}{not}: use --framing wipc."),
        }
    });
    let unknown = match arguments.framing.fixed() {
        None if notices.detected().is_some() => None,
        None => Some(
            "It sent no message. If it puts up with one framing only, name it: --framing content-length, newline or wipc.",
        ),
        Some(Framing::Wipc) => Some("Perhaps it speaks another framing: see --framing."),
        Some(_) => Some("Perhaps it speaks another framing: without --framing, that is found out, unless it is wipc."),
    };
    // Of a program that has ended, its own words tell more.
    let hint = if status.is_some() { other } else { other.or_else(|| unknown.map(str::to_owned)) };
    let gone = |message: String| Problem::new(GONE, message);
    let problem = match error {
        CallError::TimedOut => {
            let waited = arguments.timeout.0.unwrap_or_default();
            let problem = Problem::new(TIMED_OUT, format!("no answer came within {waited:?}"));
            return problem.with_hint(hint.as_deref().unwrap_or("--timeout SECONDS waits longer."));
        }
        CallError::Params(problem) => Problem::new(UNUSABLE, format!("the params cannot be sent: {problem}")),
        CallError::Unreadable(why) => {
            let problem = gone(format!("the answer of the peer cannot be read: {why}"));
            return match why {
                Unreadable::TooLarge => problem.with_hint("--max-bytes BYTES takes longer ones."),
                _ => problem,
            };
        }
        CallError::Lost(closed @ (Closed::OtherFraming { .. } | Closed::NoMessages(_))) => {
            gone(format!("this is not the framing of the peer: {closed}"))
        }
        CallError::InvalidResponse => gone("the response of the peer has neither result nor error".to_owned()),
        CallError::PeerGone | CallError::Lost(_) => match (status, error) {
            (Some(status), _) => gone(format!("the program ended before it answered ({status})")),
            (None, CallError::Lost(closed)) => gone(format!("the connection was lost before an answer came: {closed}")),
            (None, _) => gone("the peer closed the connection before it answered".to_owned()),
        },
        other => gone(other.to_string()),
    };
    match hint {
        Some(hint) => problem.with_hint(hint),
        None => problem,
    }
}
