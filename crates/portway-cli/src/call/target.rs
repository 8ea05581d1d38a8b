//! The target of a call: a socket, or a program that is started.

mod tracked;

use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use portway::{Transport, WebSocketOptions, connect_unix};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Child;

use self::tracked::Tracked;
pub(super) use self::tracked::WriterOutcome;
use super::with_timeout;
use crate::arguments::{CallArguments, Target, Timeout};
use crate::headers::Header;
use crate::lookup;
use crate::output::{Failure, USAGE_OR_IO_FAILED};
use crate::program::{self, UNREACHABLE};

/// The timeout for opening a WebSocket if the user disables the timeout: a year, since the library needs a value.
const NO_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

pub(super) type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub(super) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// A byte stream in both directions.
pub(super) struct Streams {
    pub(super) reader: Reader,
    pub(super) writer: Writer,
    /// The first error of the writer, and the time at which the writer was dropped.
    pub(super) writer_outcome: Arc<WriterOutcome>,
    /// The program that was started, if the target is a program.
    pub(super) program: Option<Child>,
}

/// The connection to a peer.
pub(super) enum Connection {
    Streams(Box<Streams>),
    WebSocket(Box<Transport>),
}

impl Connection {
    pub(super) async fn open(arguments: &CallArguments, headers: Vec<Header>) -> Result<Self, Failure> {
        match &arguments.target.ws {
            Some(url) => {
                websocket(url, arguments.timeout, headers).await.map(|transport| Self::WebSocket(Box::new(transport)))
            }
            None => Streams::open(&arguments.target, arguments.timeout)
                .await
                .map(|streams| Self::Streams(Box::new(streams))),
        }
    }
}

async fn websocket(url: &str, timeout: Timeout, headers: Vec<Header>) -> Result<Transport, Failure> {
    // The timeout of the command replaces the default timeout of the library.
    let mut options = WebSocketOptions::new().connect_timeout(timeout.0.unwrap_or(NO_TIMEOUT));
    for Header { name, value } in headers {
        options = options.header(name, value);
    }
    options.connect(url).await.map_err(|error| {
        let code = if error.kind() == io::ErrorKind::InvalidInput { USAGE_OR_IO_FAILED } else { UNREACHABLE };
        let problem = Failure::new(code, format!("cannot connect: {error}"));
        match error.kind() {
            io::ErrorKind::PermissionDenied => problem.with_hint("--header NAME:VALUE sends a token or an Origin."),
            io::ErrorKind::TimedOut => problem.with_hint("--timeout SECONDS waits longer."),
            _ => problem,
        }
    })
}

impl Streams {
    async fn open(target: &Target, limit: Timeout) -> Result<Self, Failure> {
        if let Some(path) = &target.unix {
            let name = path.display().to_string();
            let stream = connected(&name, limit, connect_unix(path, Duration::MAX)).await?;
            let (reader, writer) = stream.into_split();
            return Ok(Self::new(reader, writer, None));
        }
        if let Some(address) = &target.tcp {
            let stream = connected(address, limit, lookup::connect(address)).await?;
            // The command sends a single message, so batching small writes would only delay the message.
            let _ = stream.set_nodelay(true);
            let (reader, writer) = stream.into_split();
            return Ok(Self::new(reader, writer, None));
        }
        Self::start(&target.program)
    }

    fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        program: Option<Child>,
    ) -> Self {
        let (writer, writer_outcome) = Tracked::new(writer);
        Self { reader: Box::new(reader), writer: Box::new(writer), writer_outcome, program }
    }

    fn start(command: &[OsString]) -> Result<Self, Failure> {
        let mut child = program::start(command)?;
        let (Some(writer), Some(reader)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::new(UNREACHABLE, "the program has no standard input or output"));
        };
        Ok(Self::new(reader, writer, Some(child)))
    }
}

/// Waits for a connection. `name` is the address of the peer, for errors.
async fn connected<S>(name: &str, limit: Timeout, connect: impl Future<Output = io::Result<S>>) -> Result<S, Failure> {
    match with_timeout(limit, connect).await {
        Some(Ok(stream)) => Ok(stream),
        Some(Err(error)) => {
            let problem = Failure::new(UNREACHABLE, format!("cannot connect to {name}: {error}"));
            Err(match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    problem.with_hint("No process listens there. Is the server running?")
                }
                _ => problem,
            })
        }
        None => Err(Failure::new(UNREACHABLE, format!("cannot connect to {name} in time"))
            .with_hint("--timeout SECONDS waits longer.")),
    }
}
