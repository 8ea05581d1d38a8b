//! Transports: the byte streams that messages cross.

use core::fmt;
use core::time::Duration;
use std::boxed::Box;
use std::format;
use std::io;
use std::path::Path;
use std::string::{String, ToString};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, ToSocketAddrs, UnixStream};
use tokio::process::{Child, ChildStderr, Command};
use tokio::runtime::Handle;

use super::browsers::NoBrowser;
use super::child::{ChildProcess, Pipes};
use super::connect;
use super::diagnostic::{Diagnostic, Listener};
use super::driver::Driver;
use super::frames::WipcSettings;
use super::limits::{BUSY_SOCKET_TIMEOUT, LINK_GRACE, PAIR_BYTES};
use super::link::{Link, Settings};
use super::start::hidden_reason;
use super::stdin::AsyncStdin;
use super::stdout::WholeStdout;
use crate::Limits;
use crate::codec::framing::Framing;
use crate::profile::Profile;

/// A byte stream in both directions, and how messages are framed on it: standard input and output, a socket, a process.
///
/// Whatever makes one needs a tokio runtime, in which a [`Client`](crate::Client), [`Server`](crate::Server) or
/// [`Peer`](crate::Peer) then drives it.
///
/// ```no_run
/// use portway::{Client, Framing, Transport};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let mut command = tokio::process::Command::new("my-language-server");
/// let client = Client::new(Transport::child(command.arg("--stdio"), Framing::ContentLength)?);
/// # Ok(())
/// # }
/// ```
#[must_use = "a transport that nobody drives carries nothing"]
pub struct Transport {
    streams: Streams,
    runtime: Handle,
    framing: Framing,
    settings: Settings,
}

pub(super) struct Streams {
    pub(super) reader: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) writer: Box<dyn AsyncWrite + Send + Unpin>,
    pub(super) child: Option<ChildProcess>,
    /// Time of the process to exit once it has lost its input. Default: the grace of the link.
    pub(super) child_grace: Option<Duration>,
}

impl Streams {
    fn new(reader: impl AsyncRead + Send + Unpin + 'static, writer: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        Self { reader: Box::new(reader), writer: Box::new(writer), child: None, child_grace: None }
    }
}

impl Transport {
    /// Any two streams of tokio. What is read is buffered here, so they need no buffers of their own.
    ///
    /// # Errors
    /// If there is no tokio runtime.
    pub fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        framing: Framing,
    ) -> io::Result<Self> {
        Self::made(Streams::new(reader, writer), framing)
    }

    /// Standard input and output of this process, whose output then belongs to the protocol alone: logs go to standard
    /// error. Only with WIPC may something else be printed: it comes between frames, never inside of one.
    ///
    /// Either may be non-blocking (`O_NONBLOCK`), before or after the start: see [`stdio`](crate::stdio). A write that waits
    /// for the peer holds the end of the runtime. A program that must end although its peer does not read ends by
    /// [`std::process::exit`], or by `Runtime::shutdown_background`.
    ///
    /// # Errors
    /// If there is no tokio runtime.
    pub fn stdio(framing: Framing) -> io::Result<Self> {
        // Also tokio's handles panic without a runtime.
        Handle::try_current().map_err(no_runtime)?;
        Self::new(AsyncStdin::default(), WholeStdout::default(), framing)
    }

    /// A new process, by its standard input and output. Its standard error is that of this process, unless `command` says
    /// otherwise. A pipe for it is closed; see [`Process`](crate::Process) to read it, and to start the process again.
    ///
    /// The process and its descendants end with the link. When the link ends, the process loses its input. Two seconds
    /// later (see [`Transport::with_grace`]) the processes that still run get `SIGTERM`, and half a second after that
    /// `SIGKILL`. When the process exits by itself, its remaining descendants get `SIGTERM` 250 ms later. If the
    /// runtime ends before, all of them are killed at once.
    ///
    /// The process leads its own process group, so Ctrl-C in a terminal does not reach it. If this program dies of
    /// `SIGINT`, the process only loses its input. The signals go to the group and, on Linux, to the descendants of the
    /// process in other groups. A daemon that has left its group and its parent stays.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn child(command: &mut Command, framing: Framing) -> io::Result<Self> {
        Self::child_and_stderr(command, framing).map(|(transport, _)| transport)
    }

    /// The same, with the standard error, if that is a pipe.
    pub(super) fn child_and_stderr(command: &mut Command, framing: Framing) -> io::Result<(Self, Option<ChildStderr>)> {
        Handle::try_current().map_err(no_runtime)?;
        let (child, Pipes { stdin, stdout, stderr }) = ChildProcess::spawn(command)?;
        let streams = Streams { child: Some(child), ..Streams::new(stdout, stdin) };
        Ok((Self::made(streams, framing)?, stderr))
    }

    /// The same, for a process that does not talk over its pipes, for instance at the other end of a socket. The link
    /// ends with the process, and the process with the link, as in [`Transport::child`]. The process has `grace` to
    /// exit once the output has ended. If it leads a process group, the group ends with it; see
    /// [`Command::process_group`].
    pub fn with_child(mut self, child: Child, grace: Duration) -> Self {
        self.streams.child = Some(ChildProcess::new(child));
        self.streams.child_grace = Some(grace);
        self
    }

    /// Connects to a Unix domain socket. If its queue is full, this waits for a free place, up to five seconds.
    ///
    /// On Linux, `@name` is a name in the abstract namespace, where any user can listen. `./@name` is a file.
    ///
    /// # Errors
    /// If no process listens there, or the queue stays full. The error names the path.
    pub async fn unix(path: impl AsRef<Path>, framing: Framing) -> io::Result<Self> {
        let path = path.as_ref();
        let connected = connect::unix(path, BUSY_SOCKET_TIMEOUT).await;
        connected.and_then(|stream| Self::from_unix(stream, framing)).map_err(|error| about(&error, path.display()))
    }

    /// Connects over TCP.
    ///
    /// # Errors
    /// If no process listens there. The error names the address.
    pub async fn tcp(address: impl ToSocketAddrs + fmt::Debug, framing: Framing) -> io::Result<Self> {
        let name = address_name(&address);
        let connected = TcpStream::connect(address).await;
        connected.and_then(|stream| Self::from_tcp(stream, framing)).map_err(|error| about(&error, name))
    }

    /// Two ends in this process, connected with each other: for tests, and for parts of one program that may be taken apart
    /// later.
    ///
    /// # Errors
    /// If there is no tokio runtime.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = tokio::io::duplex(PAIR_BYTES);
        let end = |stream| {
            let (reader, writer) = tokio::io::split(stream);
            Self::new(reader, writer, Framing::ContentLength)
        };
        Ok((end(one)?, end(other)?))
    }

    pub(super) fn from_unix(stream: UnixStream, framing: Framing) -> io::Result<Self> {
        let (reader, writer) = stream.into_split();
        Self::new(reader, writer, framing)
    }

    pub(super) fn from_tcp(stream: TcpStream, framing: Framing) -> io::Result<Self> {
        // Messages leave when they are written; what belongs together is written together.
        stream.set_nodelay(true)?;
        let (reader, writer) = stream.into_split();
        Self::new(reader, writer, framing)
    }

    /// The same, of a connection that was accepted: a browser is not heard.
    pub(super) fn accepted_tcp(stream: TcpStream, framing: Framing) -> io::Result<Self> {
        let transport = Self::from_tcp(stream, framing)?;
        let reader = Box::new(NoBrowser::new(transport.streams.reader));
        Ok(Self { streams: Streams { reader, ..transport.streams }, ..transport })
    }

    fn made(streams: Streams, framing: Framing) -> io::Result<Self> {
        Ok(Self {
            streams,
            runtime: Handle::try_current().map_err(no_runtime)?,
            framing,
            settings: Settings {
                profile: Profile::GENERIC,
                limits: Limits::DEFAULT,
                grace: LINK_GRACE,
                listener: Listener::default(),
                wipc: WipcSettings::default(),
            },
        })
    }

    /// The same, for a protocol that differs from plain JSON-RPC 2.0.
    pub fn with_profile(self, profile: Profile) -> Self {
        Self { settings: Settings { profile, ..self.settings }, ..self }
    }

    /// The same, with other bounds on what the other side can make us hold.
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { settings: Settings { limits, ..self.settings }, ..self }
    }

    /// The same, with another time for the end of the link: handlers may finish, the other side may read what is written.
    /// Two seconds else.
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { settings: Settings { grace, ..self.settings }, ..self }
    }

    /// Runs a function for what happens on the link and is nobody's call: for logs.
    pub fn on_diagnostic(self, listener: impl Fn(Diagnostic<'_>) + Send + Sync + 'static) -> Self {
        let listener = Listener::new(listener);
        Self { settings: Settings { listener, ..self.settings }, ..self }
    }

    pub(super) fn with_wipc(mut self, change: impl FnOnce(&mut WipcSettings)) -> Self {
        change(&mut self.settings.wipc);
        self
    }

    /// A link on it, to be started. `serves` tells whether what cannot be read is answered.
    pub(super) fn open(self, serves: bool) -> Arc<Link> {
        let Self { streams, runtime, framing, settings } = self;
        let link = Arc::new(Link::new(runtime, framing, settings));
        link.set_idle(Driver::new(Arc::clone(&link), streams, serves));
        link
    }
}

/// The same error, which says what it is about.
pub(super) fn about(error: &io::Error, what: impl fmt::Display) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// An error of the start of a program, with the name of the program. It adds a reason that the error of the system
/// hides.
pub(crate) fn cannot_start(error: &io::Error, command: &std::process::Command) -> io::Error {
    let program = command.get_program().display();
    match hidden_reason(error, command) {
        Some(reason) => io::Error::new(error.kind(), format!("{program}: {reason}")),
        None => about(error, program),
    }
}

/// A TCP address for an error: its debug text without quotes.
pub(super) fn address_name(address: &impl fmt::Debug) -> String {
    format!("{address:?}").trim_matches('"').into()
}

fn no_runtime(error: tokio::runtime::TryCurrentError) -> io::Error {
    io::Error::other(error.to_string())
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").field("framing", &self.framing).finish_non_exhaustive()
    }
}
