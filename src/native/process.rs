//! A supervised child process. Its standard error can be read, and the process can be restarted.

use core::fmt;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use std::future::{Future, poll_fn};
use std::io;
use std::mem;
use std::process::Stdio;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, Command};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::client::Client;
use super::limits::{MAX_STDERR_LINE_BYTES, OUTPUT_GRACE};
use super::peer::Peer;
use super::transport::Transport;
use crate::Framing;
use crate::error::Closed;

/// A supervised child process that answers calls. Unlike the process of [`Transport::child`], this process can be
/// restarted, and its standard error can be read.
///
/// ```
/// use std::time::Duration;
/// use portway::{Context, Framing, Process};
/// use serde::Deserialize;
/// use serde_json::{Value, json};
///
/// #[derive(Deserialize)]
/// struct LogMessage { message: String }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # const SERVER: &str = r#"
/// #     read -r request
/// #     echo '{"jsonrpc":"2.0","method":"window/logMessage","params":{"type":3,"message":"I begin"}}'
/// #     echo '{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"hoverProvider":true}}}'
/// #     cat > /dev/null"#;
/// # let (program, arguments) = ("sh", ["-c", SERVER]);
/// // For a language server, use `Framing::ContentLength`.
/// let server = Process::new(program, arguments, Framing::Newline)
///     .on_stderr(|line| eprintln!("server: {line}"))
///     .on_exit(|why, starts| (starts < 3).then_some(Duration::from_millis(200)))
///     .on_start(|client, starts| eprintln!("server: started {starts} times"))
///     .start(|peer| {
///         peer.on_notify("window/logMessage", |log: LogMessage, _: Context| println!("server: {}", log.message));
///     })?;
///
/// // `ready` waits until a process runs. Call it again if a call fails because the process has ended.
/// let client = server.ready().await?;
/// let params = json!({ "processId": std::process::id(), "rootUri": null, "capabilities": {} });
/// let answer: Value = client.call("initialize", &params).await?;
/// assert_eq!(answer["capabilities"]["hoverProvider"], true);
///
/// let why = server.shutdown().await;
/// # Ok(())
/// # }
/// ```
///
/// A panic in the callback of `on_stderr`, `on_exit` or `on_start` is reported as
/// [`Diagnostic::Panicked`](crate::Diagnostic::Panicked), and does not end a link.
///
/// # Platforms
/// Unix and Windows. [`Transport::child`] describes the end of a process on both platforms.
#[must_use = "a process is started by `start`"]
pub struct Process {
    command: Command,
    framing: Framing,
    hooks: Hooks,
}

struct Hooks {
    on_stderr: Option<Arc<OnStderr>>,
    on_exit: Box<OnExit>,
    on_start: Option<Box<OnStart>>,
    configure_transport: Box<dyn Fn(Transport) -> Transport + Send + Sync>,
}

type OnStderr = dyn Fn(&str) + Send + Sync;
type OnStart = dyn Fn(&Client, u32) + Send + Sync;
type OnExit = dyn Fn(&Closed, u32) -> Option<Duration> + Send + Sync;

impl Process {
    /// Configures a program with its arguments. By default, the process is not restarted, and inherits the standard
    /// error of this process.
    pub fn new<A: AsRef<std::ffi::OsStr>>(
        program: impl AsRef<std::ffi::OsStr>,
        arguments: impl IntoIterator<Item = A>,
        framing: Framing,
    ) -> Self {
        let mut command = Command::new(program);
        command.args(arguments);
        Self::from_command(command, framing)
    }

    /// Configures a process from a command, for example with a working directory or environment variables.
    pub fn from_command(command: Command, framing: Framing) -> Self {
        let configure_transport = Box::new(|transport| transport);
        let hooks = Hooks { on_stderr: None, on_exit: Box::new(|_, _| None), on_start: None, configure_transport };
        Self { command, framing, hooks }
    }

    /// Registers a callback for each line of standard error. Lines are read as fast as they are written, so that a full
    /// pipe does not block the process. Reading ends 250 ms after the end of the link to the process, even if a child
    /// of the process keeps standard error open.
    pub fn on_stderr(mut self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.command.stderr(Stdio::piped());
        self.hooks.on_stderr = Some(Arc::new(callback));
        self
    }

    /// Registers a callback that decides about a restart. The callback runs when the link to the process has ended, or
    /// when a restart has failed. It does not run if the application has ended the process. The arguments are the
    /// reason and the number of starts. The callback returns the time until the next start, or `None` for no restart. A
    /// panic counts as `None`. When the callback runs, all pending calls have already failed. A restart does not repeat
    /// these calls.
    pub fn on_exit(mut self, decide: impl Fn(&Closed, u32) -> Option<Duration> + Send + Sync + 'static) -> Self {
        self.hooks.on_exit = Box::new(decide);
        self
    }

    /// Registers a callback for each start of the process, including the first start. The arguments are the client and
    /// the number of starts. Before the callback runs, the methods of the peer are registered. At a restart,
    /// [`RunningProcess::client`] returns this client before the callback runs.
    pub fn on_start(mut self, callback: impl Fn(&Client, u32) + Send + Sync + 'static) -> Self {
        self.hooks.on_start = Some(Box::new(callback));
        self
    }

    /// Sets a function that configures the transport of each process, for example its profile, limits or diagnostics.
    pub fn with(mut self, configure_transport: impl Fn(Transport) -> Transport + Send + Sync + 'static) -> Self {
        self.hooks.configure_transport = Box::new(configure_transport);
        self
    }

    /// Starts the process. `set_up` adds the methods to the peer of each process. After a restart,
    /// [`RunningProcess::client`] returns the new client before `set_up` runs.
    ///
    /// # Errors
    /// If the first start fails, or if the function is called outside of a tokio runtime.
    ///
    /// # Panics
    /// If `set_up` or the function of [`Process::with`] panics at the first start. At a restart, a panic counts as a
    /// failed start.
    pub fn start(mut self, set_up: impl Fn(&Peer) + Send + Sync + 'static) -> io::Result<RunningProcess> {
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        let peer = self.open()?;
        set_up(&peer);
        let client = peer.client().clone();
        self.hooks.run_on_start(&client, 1);
        peer.forget();
        let current = Current { client: client.clone(), is_set_up: true, is_dropped: false, end_reason: None };
        let shared = Arc::new(Shared(watch::Sender::new(current)));
        let supervised = Arc::clone(&shared);
        let task = runtime.spawn(async move { supervised.supervise(self, set_up, client).await });
        Ok(RunningProcess { shared, task: task.abort_handle() })
    }

    /// Starts the process, and creates its peer without methods.
    fn open(&mut self) -> io::Result<Peer> {
        let (transport, stderr) = Transport::child_and_stderr(&mut self.command, self.framing)?;
        let peer = Peer::new((self.hooks.configure_transport)(transport));
        if let (Some(stderr), Some(callback)) = (stderr, &self.hooks.on_stderr) {
            tokio::spawn(read_until_end(stderr, Arc::clone(callback), peer.client().clone()));
        }
        Ok(peer)
    }
}

impl Hooks {
    fn run_on_start(&self, client: &Client, starts: u32) {
        if let Some(on_start) = &self.on_start {
            client.link().diagnostics.run_user_code("on_start", || on_start(client, starts));
        }
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("command", &self.command).finish_non_exhaustive()
    }
}

/// A supervised process, see [`Process`]. The process ends when this handle is dropped.
#[must_use = "the process ends when this is dropped"]
#[derive(Debug)]
pub struct RunningProcess {
    shared: Arc<Shared>,
    task: tokio::task::AbortHandle,
}

/// The shared state of a supervised process.
#[derive(Debug)]
struct Shared(watch::Sender<Current>);

#[derive(Debug)]
struct Current {
    client: Client,
    /// Whether the methods of the peer are registered.
    is_set_up: bool,
    /// Whether the handle was dropped.
    is_dropped: bool,
    /// The reason of the end, or `None` if the process runs or will be restarted.
    end_reason: Option<Closed>,
}

impl RunningProcess {
    /// Returns the client of the current process, or of the last process if none is running. Calls through the client
    /// of an ended process fail. A restart does not repeat these calls.
    #[must_use]
    pub fn client(&self) -> Client {
        self.shared.0.borrow().client.clone()
    }

    /// Waits until a process runs, and returns the client of this process. If the process has ended, waits for its
    /// restart.
    ///
    /// # Errors
    /// The reason of the end, if the process has ended and is not restarted.
    pub async fn ready(&self) -> Result<Client, Closed> {
        let mut current = self.shared.0.subscribe();
        let is_ready_or_ended =
            |current: &Current| current.end_reason.is_some() || current.is_set_up && !is_lost(&current.client);
        // `wait_for` cannot fail, because `self` owns the sender.
        let current = current.wait_for(is_ready_or_ended).await.map_err(|_| Closed::Local)?;
        match &current.end_reason {
            Some(why) => Err(why.clone()),
            None => Ok(current.client.clone()),
        }
    }

    /// Waits until the process has ended without a restart, and returns the reason.
    pub async fn ended(&self) -> Closed {
        let mut current = self.shared.0.subscribe();
        let end =
            current.wait_for(|current| current.end_reason.is_some()).await.map(|current| current.end_reason.clone());
        end.ok().flatten().unwrap_or(Closed::Local)
    }

    /// Ends the process without a restart. Waits until the process and its descendants have exited, see
    /// [`Transport::child`]. Returns the reason why the link has ended. The reason is [`Closed::Local`] if the process
    /// was still running.
    pub async fn shutdown(self) -> Closed {
        self.end();
        self.client().closed().await
    }

    fn end(&self) {
        // The task may still complete its current step, such as the start of a process. In this case, the task reads
        // `is_dropped`, and ends the new process.
        self.task.abort();
        self.shared.0.send_modify(|current| current.is_dropped = true);
        self.client().destroy();
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    async fn supervise(&self, mut process: Process, set_up: impl Fn(&Peer), mut client: Client) {
        let mut end = EndReport { shared: self, why: Closed::Local };
        let mut starts = 1;
        loop {
            end.why = client.closed().await;
            loop {
                let diagnostics = client.link().diagnostics.clone();
                let decide = || (process.hooks.on_exit)(&end.why, starts);
                let delay = if end.why == Closed::Local {
                    None
                } else {
                    diagnostics.run_user_code("on_exit", decide).flatten()
                };
                let Some(pause) = delay else { return };
                tokio::time::sleep(pause).await;
                starts += 1;
                match diagnostics.run_user_code("with", || process.open()) {
                    Some(Ok(peer)) => {
                        client = peer.client().clone();
                        if self.set_up(peer, &set_up, &process.hooks, starts) {
                            break;
                        }
                        end.why = panicked("the function `set_up`");
                    }
                    Some(Err(error)) => end.why = Closed::from_io(&error),
                    None => end.why = panicked("the function of `Process::with`"),
                }
            }
        }
    }

    /// Sets up the peer of a restarted process. Returns whether the methods of the peer are registered.
    fn set_up(&self, peer: Peer, set_up: impl Fn(&Peer), hooks: &Hooks, starts: u32) -> bool {
        let client = peer.client().clone();
        // The client is replaced before `set_up` runs, so that `set_up` can use `RunningProcess::client`.
        let mut former = client.clone();
        self.0.send_modify(|current| {
            mem::swap(&mut current.client, &mut former);
            current.is_set_up = false;
        });
        // The client may own values of the application, so it is dropped outside of the lock.
        drop(former);
        let is_set_up = client.link().diagnostics.run_user_code("set_up", || set_up(&peer)).is_some();
        if is_set_up {
            self.0.send_modify(|current| current.is_set_up = true);
            hooks.run_on_start(&client, starts);
            peer.forget();
        }
        if self.0.borrow().is_dropped {
            client.destroy();
        }
        is_set_up
    }
}

/// Returns whether the link of the client has ended, so that new calls fail.
fn is_lost(client: &Client) -> bool {
    client.link().with_state(|state| state.end_error.is_some())
}

/// Returns the reason for a link that ends because `function` panicked.
fn panicked(function: &str) -> Closed {
    Closed::from_io(&io::Error::other(format!("{function} panicked")))
}

/// Publishes the reason of the end when it is dropped. So the reason is also published after a panic.
struct EndReport<'a> {
    shared: &'a Shared,
    why: Closed,
}

impl Drop for EndReport<'_> {
    fn drop(&mut self) {
        self.shared.0.send_modify(|current| current.end_reason = Some(self.why.clone()));
    }
}

/// Reads standard error until its end, but no longer than `OUTPUT_GRACE` after the end of the link. This limit is
/// necessary, because a child of the process may keep standard error open.
async fn read_until_end(stderr: ChildStderr, callback: Arc<OnStderr>, client: Client) {
    let mut lines = pin!(read_lines(stderr, callback, client.clone()));
    let mut end = pin!(async move {
        client.closed().await;
        tokio::time::sleep(OUTPUT_GRACE).await;
    });
    poll_fn(|context| match lines.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => end.as_mut().poll(context),
    })
    .await;
}

async fn read_lines(stderr: ChildStderr, callback: Arc<OnStderr>, client: Client) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        // The length of one read is limited, so a very long line is reported in pieces.
        match (&mut reader).take(MAX_STDERR_LINE_BYTES).read_until(b'\n', &mut line).await {
            Ok(1..) => {
                let line = String::from_utf8_lossy(&line);
                client.link().diagnostics.run_user_code("on_stderr", || callback(line.trim_end_matches(['\r', '\n'])));
            }
            _ => return,
        }
    }
}
