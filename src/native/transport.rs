//! Transports: byte streams and channels that carry messages.

use core::any::Any;
use core::fmt;
use core::time::Duration;
use std::error::Error;
use std::io;
#[cfg(unix)]
use std::path::Path;
use std::sync::Arc;

use futures_core::Stream;
use futures_sink::Sink;
use tokio::io::{AsyncRead, AsyncWrite};
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::net::{TcpStream, ToSocketAddrs};
use tokio::process::{Child, ChildStderr, Command};
use tokio::runtime::Handle;

use super::browser_guard::BrowserGuard;
use super::child::{ChildProcess, Pipes};
#[cfg(unix)]
use super::connect::connect_unix;
use super::diagnostic::{Diagnostic, DiagnosticSink};
use super::driver::Driver;
use super::identity::Identity;
#[cfg(unix)]
use super::limits::BUSY_SOCKET_TIMEOUT;
use super::limits::{PAIR_BYTES, SHUTDOWN_TIMEOUT};
use super::link::Link;
use super::message_channel::{MessageChannel, SinkAndStream};
use super::settings::Settings;
use super::start::spawn_error_reason;
use super::stdin::AsyncStdin;
use super::stdout::AtomicStdout;
use super::tap::{LinkTap, TapTransport, tapped};
use super::wipc_options::WipcOptions;
use crate::Framing;
use crate::Limits;
use crate::profile::Profile;

/// A bidirectional stream of messages: standard input and output, a socket or a process with a message framing, or a
/// channel of whole messages.
///
/// All constructors need a tokio runtime. A [`Client`](crate::Client), [`Server`](crate::Server) or
/// [`Peer`](crate::Peer) drives the transport in this runtime.
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
#[must_use = "a transport does nothing until a client, server or peer is created on it"]
pub struct Transport {
    streams: Streams,
    kind: TapTransport,
    runtime: Handle,
    settings: Settings,
}

pub(super) struct Streams {
    pub(super) io: TransportIo,
    pub(super) child: Option<ChildProcess>,
    /// The time that the process has to exit after its input was closed. Default: the grace of the link.
    pub(super) child_grace: Option<Duration>,
}

/// The input and the output of a transport.
pub(super) enum TransportIo {
    Bytes { reader: Box<dyn AsyncRead + Send + Unpin>, writer: Box<dyn AsyncWrite + Send + Unpin>, framing: Framing },
    Messages(Box<dyn MessageChannel>),
}

impl Transport {
    /// Creates a transport from two tokio streams. The transport buffers reads, so the streams need no buffer.
    ///
    /// # Errors
    /// If the function is called outside of a tokio runtime.
    pub fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        framing: Framing,
    ) -> io::Result<Self> {
        Self::on(reader, writer, framing, TapTransport::Custom)
    }

    /// Creates a transport from a channel of whole messages: a sink and a stream, whose items are the JSON texts of
    /// single messages. No framing is added. The limits are the same as over a byte stream, but
    /// [`Limits::partial_frame_ms`](crate::Limits::partial_frame_ms) has no effect, because each message is complete.
    ///
    /// The sink receives each message as a `String`, and is flushed when no more messages are queued. A message counts
    /// as unwritten until the sink has accepted it. So the sink should accept only messages that it can send soon. At
    /// the end of the link, the sink is closed.
    ///
    /// The items of the stream are `String`, `Vec<u8>` or another type that contains bytes. A message that is not JSON
    /// is answered with -32700. A message longer than [`Limits::message_bytes`](crate::Limits::message_bytes) is
    /// answered with -32600. The link continues in both cases. An error of the stream, or its end, ends the input.
    ///
    /// # Errors
    /// If the function is called outside of a tokio runtime.
    ///
    /// # Example
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use portway::{Client, Context, RpcError, Server, Transport};
    /// use std::convert::Infallible;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // This example connects a client and a server in one program by two channels.
    /// let (requests, at_server) = futures_channel::mpsc::channel(16);
    /// let (responses, at_client) = futures_channel::mpsc::channel(16);
    /// let server = Server::new(Transport::messages(responses, at_server.map(Ok::<String, Infallible>))?);
    /// server.method_sync("add", |(a, b): (i64, i64), _: Context| Ok::<_, RpcError>(a + b));
    /// server.forget();
    /// let client = Client::new(Transport::messages(requests, at_client.map(Ok::<String, Infallible>))?);
    /// assert_eq!(client.call("add", &(1, 2)).await, Ok(3));
    /// # Ok(())
    /// # }
    /// ```
    pub fn messages<K, S, M, E>(sink: K, stream: S) -> io::Result<Self>
    where
        K: Sink<String> + Send + 'static,
        K::Error: Into<Box<dyn Error + Send + Sync>>,
        S: Stream<Item = Result<M, E>> + Send + 'static,
        M: AsRef<[u8]> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        Self::from_io(TransportIo::Messages(Box::new(SinkAndStream::new(sink, stream))), TapTransport::Custom)
    }

    /// Uses standard input and output of this process. Other code must not print to standard output, so write logs to
    /// standard error. With WIPC, other code may print to standard output, and its text is written between frames.
    ///
    /// The two streams may be non-blocking (`O_NONBLOCK`), or may become non-blocking later: see
    /// [`stdio`](crate::stdio). A pending write delays the shutdown of the runtime. To exit while the peer does not
    /// read, use [`std::process::exit`] or `Runtime::shutdown_background`.
    ///
    /// # Errors
    /// If the function is called outside of a tokio runtime.
    pub fn stdio(framing: Framing) -> io::Result<Self> {
        // Outside of a runtime, this function must fail before it creates the streams.
        Handle::try_current().map_err(no_runtime)?;
        Self::on(AsyncStdin::default(), AtomicStdout::default(), framing, TapTransport::Stdio)
    }

    /// Starts a process, and uses its standard input and output. The process inherits the standard error of this
    /// program, unless `command` redirects it. If `command` sets a pipe for standard error, the pipe is closed. To read
    /// standard error, or to restart the process, use [`Process`](crate::Process).
    ///
    /// The end of the link also ends the process and its descendants. First, the input of the process is closed. After
    /// two seconds (see [`Transport::with_grace`]), the remaining processes get `SIGTERM`, and half a second later
    /// `SIGKILL`. If the process exits before it gets a signal, its remaining descendants get `SIGTERM` 250 ms after
    /// the exit. If the runtime ends while the link is open, all processes are killed at once.
    ///
    /// The process leads a new process group, so Ctrl-C in a terminal does not send it a signal. If `SIGINT` ends this
    /// program, only the input of the process is closed. `SIGTERM` and `SIGKILL` are sent to the group and, on Linux,
    /// to descendants of the process in other groups. A process in another group is not ended if its parent exited
    /// before the end of the link.
    ///
    /// # Platforms
    /// Windows has neither these signals nor these groups. On Windows, the remaining processes are killed after the two
    /// seconds. The process and its descendants are in a job object. Processes that were created with
    /// `CREATE_BREAKAWAY_FROM_JOB` are not in the job object, and continue. Ctrl-C in a console also reaches the
    /// process, unless `command` sets `CREATE_NEW_PROCESS_GROUP`. Tokio reads and writes each pipe on a blocking thread
    /// of the runtime.
    ///
    /// On systems other than Linux and Windows, descendants in other groups are not ended.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub fn child(command: &mut Command, framing: Framing) -> io::Result<Self> {
        Self::child_and_stderr(command, framing).map(|(transport, _)| transport)
    }

    /// Starts a process like [`Transport::child`]. Also returns the pipe of its standard error, or `None` if `command`
    /// sets no pipe.
    pub(super) fn child_and_stderr(command: &mut Command, framing: Framing) -> io::Result<(Self, Option<ChildStderr>)> {
        Handle::try_current().map_err(no_runtime)?;
        let (child, Pipes { stdin, stdout, stderr }) = ChildProcess::spawn(command)?;
        let mut transport = Self::on(stdout, stdin, framing, TapTransport::Stdio)?;
        transport.streams.child = Some(child);
        Ok((transport, stderr))
    }

    /// Attaches a process to a transport that does not use the pipes of the process. For example, the process may use a
    /// socket. The exit of the process ends the link, and the end of the link ends the process, as in
    /// [`Transport::child`]. The process has `grace` to exit after the output has ended. If the process leads a process
    /// group, the whole group is ended; see `process_group` of [`Command`].
    ///
    /// # Platforms
    /// On Windows, only descendants that the process starts after this call are ended with the process.
    pub fn with_child(mut self, child: Child, grace: Duration) -> Self {
        self.streams.child = Some(ChildProcess::new(child));
        self.streams.child_grace = Some(grace);
        self
    }

    /// Connects to a Unix domain socket. If the queue of the listener is full, waits up to five seconds for room.
    ///
    /// On Linux, `@name` is a name in the abstract namespace. Any user can listen on a name in this namespace.
    /// `./@name` is a file.
    ///
    /// # Errors
    /// If no process listens on the socket, or the queue stays full. The error names the path.
    ///
    /// # Platforms
    /// Unix only.
    #[cfg(unix)]
    pub async fn unix(path: impl AsRef<Path>, framing: Framing) -> io::Result<Self> {
        let path = path.as_ref();
        let connected = connect_unix(path, BUSY_SOCKET_TIMEOUT).await;
        connected
            .and_then(|stream| Self::from_unix(stream, framing))
            .map_err(|error| with_subject(&error, path.display()))
    }

    /// Connects over TCP.
    ///
    /// # Errors
    /// If no process listens on the address. The error names the address.
    pub async fn tcp(address: impl ToSocketAddrs + fmt::Debug, framing: Framing) -> io::Result<Self> {
        let name = address_name(&address);
        let connected = TcpStream::connect(address).await;
        connected.and_then(|stream| Self::from_tcp(stream, framing)).map_err(|error| with_subject(&error, name))
    }

    /// Creates two connected transports in this process, for tests, or for modules that may become separate processes
    /// later.
    ///
    /// # Errors
    /// If the function is called outside of a tokio runtime.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = tokio::io::duplex(PAIR_BYTES);
        let end = |stream| {
            let (reader, writer) = tokio::io::split(stream);
            Self::new(reader, writer, Framing::ContentLength)
        };
        Ok((end(one)?, end(other)?))
    }

    #[cfg(unix)]
    pub(super) fn from_unix(stream: UnixStream, framing: Framing) -> io::Result<Self> {
        let (reader, writer) = stream.into_split();
        Self::on(reader, writer, framing, TapTransport::Unix)
    }

    pub(super) fn from_tcp(stream: TcpStream, framing: Framing) -> io::Result<Self> {
        // Messages are batched before they are written, so Nagle's algorithm would only delay them.
        stream.set_nodelay(true)?;
        let (reader, writer) = stream.into_split();
        Self::on(reader, writer, framing, TapTransport::Tcp)
    }

    /// Creates a transport from an accepted connection, and rejects browsers.
    pub(super) fn accepted_tcp(stream: TcpStream, framing: Framing) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let (reader, writer) = stream.into_split();
        Self::on(BrowserGuard::new(reader), writer, framing, TapTransport::Tcp)
    }

    fn on(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        framing: Framing,
        kind: TapTransport,
    ) -> io::Result<Self> {
        Self::from_io(TransportIo::Bytes { reader: Box::new(reader), writer: Box::new(writer), framing }, kind)
    }

    pub(super) fn from_io(io: TransportIo, kind: TapTransport) -> io::Result<Self> {
        Ok(Self {
            streams: Streams { io, child: None, child_grace: None },
            kind,
            runtime: Handle::try_current().map_err(no_runtime)?,
            settings: Settings {
                profile: Profile::GENERIC,
                limits: Limits::DEFAULT,
                grace: SHUTDOWN_TIMEOUT,
                diagnostics: DiagnosticSink::default(),
                wipc: WipcOptions::default(),
                identity: None,
                tap: None,
            },
        })
    }

    /// Sets the profile, for a protocol that differs from plain JSON-RPC 2.0. Default: [`Profile::GENERIC`].
    pub fn with_profile(self, profile: Profile) -> Self {
        Self { settings: Settings { profile, ..self.settings }, ..self }
    }

    /// Sets the limits on the resources that the peer can use. Default: [`Limits::DEFAULT`].
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { settings: Settings { limits, ..self.settings }, ..self }
    }

    /// Sets the time that running handlers, unwritten output and a child process have to complete at the end of the
    /// link. Default: two seconds.
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { settings: Settings { grace, ..self.settings }, ..self }
    }

    /// Attaches an identity of the peer: a user, a tenant, or any other value. Handlers read the identity with
    /// [`Context::identity`](crate::Context::identity).
    pub fn with_identity(self, identity: impl Any + Send + Sync) -> Self {
        self.with_shared_identity(Some(Arc::new(identity)))
    }

    pub(super) fn with_shared_identity(self, identity: Option<Arc<dyn Any + Send + Sync>>) -> Self {
        Self { settings: Settings { identity: identity.map(Identity), ..self.settings }, ..self }
    }

    /// Registers a callback for events of the link, for logs.
    pub fn on_diagnostic(self, callback: impl Fn(Diagnostic<'_>) + Send + Sync + 'static) -> Self {
        let diagnostics = DiagnosticSink::new(callback);
        Self { settings: Settings { diagnostics, ..self.settings }, ..self }
    }

    pub(super) fn with_wipc(self, change: impl FnOnce(&mut WipcOptions)) -> Self {
        self.with_settings(|settings| change(&mut settings.wipc))
    }

    pub(super) fn with_settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Creates the link of the transport without starting it. If `replies_to_invalid` is true, the link responds to
    /// invalid input.
    pub(super) fn open(self, replies_to_invalid: bool) -> Arc<Link> {
        let framing = self.framing();
        let runtime = self.runtime.clone();
        let (streams, settings, tap) = self.into_parts();
        let link = Arc::new(Link::new(runtime, framing, settings, tap));
        link.set_unstarted(Driver::new(Arc::clone(&link), streams, replies_to_invalid));
        link
    }

    /// Takes the transport apart, and opens its tap.
    pub(super) fn into_parts(self) -> (Streams, Settings, Option<LinkTap>) {
        let Self { streams, kind, settings, .. } = self;
        let (io, tap) = tapped(streams.io, kind, &settings);
        (Streams { io, ..streams }, settings, tap)
    }

    /// Returns the framing of a byte stream, or `None` for whole messages.
    pub(super) const fn framing(&self) -> Option<Framing> {
        match &self.streams.io {
            TransportIo::Bytes { framing, .. } => Some(*framing),
            TransportIo::Messages(_) => None,
        }
    }
}

/// Adds the subject to the text of an error.
pub(super) fn with_subject(error: &io::Error, subject: impl fmt::Display) -> io::Error {
    io::Error::new(error.kind(), format!("{subject}: {error}"))
}

/// Adds the name of the program to an error of its start. If the error does not name the reason, the reason replaces
/// the text of the error.
pub(crate) fn cannot_start(error: &io::Error, command: &std::process::Command) -> io::Error {
    let program = command.get_program().display();
    match spawn_error_reason(error, command) {
        Some(reason) => io::Error::new(error.kind(), format!("{program}: {reason}")),
        None => with_subject(error, program),
    }
}

/// Returns a TCP address for an error message: its debug text without quotes.
pub(super) fn address_name(address: &impl fmt::Debug) -> String {
    format!("{address:?}").trim_matches('"').into()
}

fn no_runtime(error: tokio::runtime::TryCurrentError) -> io::Error {
    io::Error::other(error.to_string())
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").field("framing", &self.framing()).finish_non_exhaustive()
    }
}
