//! A child process that is watched: its standard error is read, and it may be started anew.

use core::fmt;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use std::boxed::Box;
use std::future::{Future, poll_fn};
use std::io;
use std::process::Stdio;
use std::string::String;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
///     .start(|peer| {
///         peer.on_notify("window/logMessage", |log: LogMessage, _: Context| println!("server: {}", log.message));
///     })?;
/// let params = json!({ "processId": std::process::id(), "rootUri": null, "capabilities": {} });
/// let answer: Value = server.client().call("initialize", &params).await?;
/// assert_eq!(answer["capabilities"]["hoverProvider"], true);
/// # Ok(())
/// # }
/// ```
#[must_use = "a process is started by `start`"]
pub struct Process {
    command: Command,
    framing: Framing,
    hooks: Hooks,
}

struct Hooks {
    on_stderr: Option<Arc<OnStderr>>,
    on_exit: Box<OnExit>,
    prepare: Box<dyn Fn(Transport) -> Transport + Send + Sync>,
}

type OnStderr = dyn Fn(&str) + Send + Sync;
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
        let hooks = Hooks { on_stderr: None, on_exit: Box::new(|_, _| None), prepare: Box::new(|transport| transport) };
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

    /// Asks what to do when the process has ended by itself: told why, and how often it was started, the function gives how
    /// long to wait before it is started again, or `None` to leave it. Calls that waited have failed; none is made again.
    pub fn on_exit(mut self, decide: impl Fn(&Closed, u32) -> Option<Duration> + Send + Sync + 'static) -> Self {
        self.hooks.on_exit = Box::new(decide);
        self
    }

    /// Does something to the transport of each process: another profile, other limits, a function for diagnostics.
    pub fn with(mut self, prepare: impl Fn(Transport) -> Transport + Send + Sync + 'static) -> Self {
        self.hooks.prepare = Box::new(prepare);
        self
    }

    /// Starts it. `set_up` gives the peer of each process its methods.
    ///
    /// # Errors
    /// If it cannot be started the first time, or there is no tokio runtime.
    pub fn start(mut self, set_up: impl Fn(&Peer) + Send + Sync + 'static) -> io::Result<RunningProcess> {
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        let client = self.start_once(&set_up)?;
        let current = Mutex::new(Current { client: client.clone(), is_dropped: false });
        let shared = Arc::new(Shared { current, over: watch::Sender::new(None) });
        let watched = Arc::clone(&shared);
        let task = runtime.spawn(async move { watched.watch(self, set_up, client).await });
        Ok(RunningProcess { shared, task: task.abort_handle() })
    }

    fn start_once(&mut self, set_up: &impl Fn(&Peer)) -> io::Result<Client> {
        let (transport, stderr) = Transport::child_and_stderr(&mut self.command, self.framing)?;
        let peer = Peer::new((self.hooks.prepare)(transport));
        set_up(&peer);
        let client = peer.client().clone();
        if let (Some(stderr), Some(listener)) = (stderr, &self.hooks.on_stderr) {
            tokio::spawn(read_until_end(stderr, Arc::clone(listener), client.clone()));
        }
        peer.forget();
        Ok(client)
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

#[derive(Debug)]
struct Shared {
    current: Mutex<Current>,
    over: watch::Sender<Option<Closed>>,
}

#[derive(Debug)]
struct Current {
    client: Client,
    /// Whether the handle was dropped.
    is_dropped: bool,
}

impl RunningProcess {
    /// The client of the process that runs now, or that ran last. Calls through the client of one that has ended fail at
    /// once, and so nothing is said twice to a process that does not know what was said before.
    #[must_use]
    pub fn client(&self) -> Client {
        self.shared.lock().client.clone()
    }

    /// Waits until it has ended and is not started again; says why.
    pub async fn ended(&self) -> Closed {
        let mut over = self.shared.over.subscribe();
        let end = over.wait_for(Option::is_some).await.map(|end| end.clone());
        end.ok().flatten().unwrap_or(Closed::Local)
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        // This does not stop what the task is doing just now: it may be starting a process.
        self.task.abort();
        let client = {
            let mut current = self.shared.lock();
            current.is_dropped = true;
            current.client.clone()
        };
        client.destroy();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn watch(&self, mut process: Process, set_up: impl Fn(&Peer), mut client: Client) {
        let mut end = End { over: &self.over, why: Closed::Local };
        let mut starts = 1;
        loop {
            end.why = client.closed().await;
            loop {
                let again = if end.why == Closed::Local { None } else { (process.hooks.on_exit)(&end.why, starts) };
                let Some(pause) = again else { return };
                tokio::time::sleep(pause).await;
                starts += 1;
                match process.start_once(&set_up) {
                    Ok(next) => {
                        client = next;
                        break;
                    }
                    Err(error) => end.why = Closed::from_io(&error),
                }
            }
            let is_dropped = {
                let mut current = self.lock();
                current.client = client.clone();
                current.is_dropped
            };
            if is_dropped {
                client.destroy();
            }
        }
    }
}

/// Reports on drop that no process is started again, also after a panic.
struct End<'a> {
    over: &'a watch::Sender<Option<Closed>>,
    why: Closed,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.over.send_replace(Some(self.why.clone()));
    }
}

/// Reads until `OUTPUT_GRACE` after the process has ended. A child of the process may keep standard error open.
async fn read_until_end(stderr: ChildStderr, listener: Arc<OnStderr>, client: Client) {
    let mut lines = pin!(read_lines(stderr, listener));
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

async fn read_lines(stderr: ChildStderr, listener: Arc<OnStderr>) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        // What a process writes must not fill our memory: a line may come in pieces.
        match (&mut reader).take(MAX_STDERR_LINE).read_until(b'\n', &mut line).await {
            Ok(1..) => listener(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n'])),
            _ => return,
        }
    }
}
