//! A child process that is watched: its standard error is read, and it may be started anew.

use core::fmt;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use std::boxed::Box;
use std::format;
use std::future::{Future, poll_fn};
use std::io;
use std::mem;
use std::process::Stdio;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, Command};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::client::Client;
use super::error::Closed;
use super::limits::{MAX_STDERR_LINE, OUTPUT_GRACE};
use super::peer::Peer;
use super::transport::Transport;
use crate::codec::framing::Framing;

/// A process to call that is watched: [`Transport::child`] with more around it.
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
/// // A language server takes `Framing::ContentLength`.
/// let server = Process::new(program, arguments, Framing::Newline)
///     .on_stderr(|line| eprintln!("server: {line}"))
///     .on_exit(|why, starts| (starts < 3).then_some(Duration::from_millis(200)))
///     .on_start(|client, starts| eprintln!("server: started {starts} times"))
///     .start(|peer| {
///         peer.on_notify("window/logMessage", |log: LogMessage, _: Context| println!("server: {}", log.message));
///     })?;
///
/// // If a call fails because the process has ended, `ready` waits for the next process.
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
/// A panic in one of the functions above is reported as [`Diagnostic::Panicked`](crate::Diagnostic::Panicked), and ends
/// nothing else.
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
    prepare: Box<dyn Fn(Transport) -> Transport + Send + Sync>,
}

type OnStderr = dyn Fn(&str) + Send + Sync;
type OnStart = dyn Fn(&Client, u32) + Send + Sync;
type OnExit = dyn Fn(&Closed, u32) -> Option<Duration> + Send + Sync;

impl Process {
    /// A program with its arguments. It is started once and not again, and has the standard error of this process.
    pub fn new<A: AsRef<std::ffi::OsStr>>(
        program: impl AsRef<std::ffi::OsStr>,
        arguments: impl IntoIterator<Item = A>,
        framing: Framing,
    ) -> Self {
        let mut command = Command::new(program);
        command.args(arguments);
        Self::from_command(command, framing)
    }

    /// The same, with a folder, variables and so on that were set before.
    pub fn from_command(command: Command, framing: Framing) -> Self {
        let prepare = Box::new(|transport| transport);
        let hooks = Hooks { on_stderr: None, on_exit: Box::new(|_, _| None), on_start: None, prepare };
        Self { command, framing, hooks }
    }

    /// Hands over what the process writes to standard error, line by line. It is read as fast as it comes, so that the
    /// process never waits for it. Standard error is read until 250 ms after the process has ended. Then it is closed. A
    /// child of the process may still write to it.
    pub fn on_stderr(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.command.stderr(Stdio::piped());
        self.hooks.on_stderr = Some(Arc::new(listener));
        self
    }

    /// Decides what follows when the process has ended by itself. The function gets the reason and the number of
    /// starts. It returns the time until the next start, or `None` for no further start. Pending calls have failed, and
    /// none is made again. A panic in the function counts as `None`.
    pub fn on_exit(mut self, decide: impl Fn(&Closed, u32) -> Option<Duration> + Send + Sync + 'static) -> Self {
        self.hooks.on_exit = Box::new(decide);
        self
    }

    /// Runs a function after each start of the process, including the first. Its arguments are the client and the
    /// number of starts. The peer has its methods by then, and [`RunningProcess::client`] returns that client.
    pub fn on_start(mut self, listener: impl Fn(&Client, u32) + Send + Sync + 'static) -> Self {
        self.hooks.on_start = Some(Box::new(listener));
        self
    }

    /// Does something to the transport of each process: another profile, other limits, a function for diagnostics.
    pub fn with(mut self, prepare: impl Fn(Transport) -> Transport + Send + Sync + 'static) -> Self {
        self.hooks.prepare = Box::new(prepare);
        self
    }

    /// Starts it. `set_up` adds the methods to the peer of each process. When it runs for a process that is started
    /// again, [`RunningProcess::client`] returns the client of the new process already.
    ///
    /// # Errors
    /// If it cannot be started the first time, or there is no tokio runtime.
    ///
    /// # Panics
    /// If `set_up`, or the function of [`Process::with`], panics at the first start. Later, that counts as a failed start.
    pub fn start(mut self, set_up: impl Fn(&Peer) + Send + Sync + 'static) -> io::Result<RunningProcess> {
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        let peer = self.open()?;
        set_up(&peer);
        let client = peer.client().clone();
        self.hooks.started(&client, 1);
        peer.forget();
        let current = Current { client: client.clone(), is_set_up: true, is_dropped: false, over: None };
        let shared = Arc::new(Shared(watch::Sender::new(current)));
        let watched = Arc::clone(&shared);
        let task = runtime.spawn(async move { watched.watch(self, set_up, client).await });
        Ok(RunningProcess { shared, task: task.abort_handle() })
    }

    /// Starts a process once. Its peer has no methods yet.
    fn open(&mut self) -> io::Result<Peer> {
        let (transport, stderr) = Transport::child_and_stderr(&mut self.command, self.framing)?;
        let peer = Peer::new((self.hooks.prepare)(transport));
        if let (Some(stderr), Some(listener)) = (stderr, &self.hooks.on_stderr) {
            tokio::spawn(read_until_end(stderr, Arc::clone(listener), peer.client().clone()));
        }
        Ok(peer)
    }
}

impl Hooks {
    fn started(&self, client: &Client, starts: u32) {
        if let Some(on_start) = &self.on_start {
            client.link().listener.guard("on_start", || on_start(client, starts));
        }
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("command", &self.command).finish_non_exhaustive()
    }
}

/// A process that is watched, see [`Process`]. It ends when this is dropped.
#[must_use = "the process ends when this is dropped"]
#[derive(Debug)]
pub struct RunningProcess {
    shared: Arc<Shared>,
    task: tokio::task::AbortHandle,
}

/// The current state of a watched process.
#[derive(Debug)]
struct Shared(watch::Sender<Current>);

#[derive(Debug)]
struct Current {
    client: Client,
    /// Whether the peer has its methods.
    is_set_up: bool,
    /// Whether the handle was dropped.
    is_dropped: bool,
    /// Why it has ended and is not started again.
    over: Option<Closed>,
}

impl RunningProcess {
    /// The client of the process that runs now, or that ran last. Calls through the client of one that has ended fail at
    /// once, and so nothing is said twice to a process that does not know what was said before.
    #[must_use]
    pub fn client(&self) -> Client {
        self.shared.0.borrow().client.clone()
    }

    /// Waits until a process runs, and returns its client. If the calls of a process fail, it does not return the
    /// client of that process, even before the next start.
    ///
    /// # Errors
    /// The reason, if the process has ended and is not started again.
    pub async fn ready(&self) -> Result<Client, Closed> {
        let mut current = self.shared.0.subscribe();
        let is_known = |current: &Current| current.over.is_some() || current.is_set_up && !is_lost(&current.client);
        // An error is not possible: `self` has the sender.
        let current = current.wait_for(is_known).await.map_err(|_| Closed::Local)?;
        match &current.over {
            Some(why) => Err(why.clone()),
            None => Ok(current.client.clone()),
        }
    }

    /// Waits until it has ended and is not started again; says why.
    pub async fn ended(&self) -> Closed {
        let mut current = self.shared.0.subscribe();
        let end = current.wait_for(|current| current.over.is_some()).await.map(|current| current.over.clone());
        end.ok().flatten().unwrap_or(Closed::Local)
    }

    /// Ends the process, and waits until nothing of it is left, see [`Transport::child`]. It is not started again.
    /// Returns why its link has ended, [`Closed::Local`] if it still ran.
    pub async fn shutdown(self) -> Closed {
        self.end();
        self.client().closed().await
    }

    fn end(&self) {
        // This does not stop what the task is doing just now: it may be starting a process.
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
    async fn watch(&self, mut process: Process, set_up: impl Fn(&Peer), mut client: Client) {
        let mut end = End { shared: self, why: Closed::Local };
        let mut starts = 1;
        loop {
            end.why = client.closed().await;
            loop {
                let listener = client.link().listener.clone();
                let decide = || (process.hooks.on_exit)(&end.why, starts);
                let again = if end.why == Closed::Local { None } else { listener.guard("on_exit", decide).flatten() };
                let Some(pause) = again else { return };
                tokio::time::sleep(pause).await;
                starts += 1;
                match listener.guard("with", || process.open()) {
                    Some(Ok(peer)) => {
                        client = peer.client().clone();
                        if self.set_up(peer, &set_up, &process.hooks, starts) {
                            break;
                        }
                        end.why = panicked("the function that sets up its peer");
                    }
                    Some(Err(error)) => end.why = Closed::from_io(&error),
                    None => end.why = panicked("the function that prepares its transport"),
                }
            }
        }
    }

    /// Sets up the peer of a process that was started again. Returns whether it has its methods.
    fn set_up(&self, peer: Peer, set_up: impl Fn(&Peer), hooks: &Hooks, starts: u32) -> bool {
        let client = peer.client().clone();
        // `RunningProcess::client` returns the new client before the application is notified.
        let mut former = client.clone();
        self.0.send_modify(|current| {
            mem::swap(&mut current.client, &mut former);
            current.is_set_up = false;
        });
        // The client may own values of the application, so it is dropped while nothing is locked.
        drop(former);
        let is_set_up = client.link().listener.guard("set_up", || set_up(&peer)).is_some();
        if is_set_up {
            self.0.send_modify(|current| current.is_set_up = true);
            hooks.started(&client, starts);
            peer.forget();
        }
        if self.0.borrow().is_dropped {
            client.destroy();
        }
        is_set_up
    }
}

/// Whether new calls fail.
fn is_lost(client: &Client) -> bool {
    client.link().act(|state| state.lost.is_some())
}

fn panicked(what: &str) -> Closed {
    Closed::from_io(&io::Error::other(format!("{what} has panicked")))
}

/// Reports on drop that no process is started again, also after a panic.
struct End<'a> {
    shared: &'a Shared,
    why: Closed,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.shared.0.send_modify(|current| current.over = Some(self.why.clone()));
    }
}

/// Reads until `OUTPUT_GRACE` after the process has ended. A child of the process may keep standard error open.
async fn read_until_end(stderr: ChildStderr, listener: Arc<OnStderr>, client: Client) {
    let mut lines = pin!(read_lines(stderr, listener, client.clone()));
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

async fn read_lines(stderr: ChildStderr, listener: Arc<OnStderr>, client: Client) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        // What a process writes must not fill our memory: a line may come in pieces.
        match (&mut reader).take(MAX_STDERR_LINE).read_until(b'\n', &mut line).await {
            Ok(1..) => {
                let line = String::from_utf8_lossy(&line);
                client.link().listener.guard("on_stderr", || listener(line.trim_end_matches(['\r', '\n'])));
            }
            _ => return,
        }
    }
}
