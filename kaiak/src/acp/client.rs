//! The process of an agent, and its requests and updates.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use portway::profile::Profile;
use portway::{Client, Closed, Context, Framing, Peer, RpcError, Transport, spawn_error_reason};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tracing::debug;

use super::output_filter::OutputFilter;
use super::wire::{self, PermissionRequest, Update};
use crate::backend::BoxFuture;
use crate::limits::{EXIT_GRACE, MAX_QUEUED_BYTES, MAX_STDERR_LINE_BYTES, STDERR_GRACE, STDERR_LINES};

/// A running agent. A drop ends the process and its descendants.
#[derive(Debug)]
pub(super) struct AgentProcess {
    pub(super) client: Client,
    events: mpsc::UnboundedReceiver<Queued>,
    queued_bytes: Arc<AtomicUsize>,
    stderr: Arc<Stderr>,
    stderr_task: AbortHandle,
}

/// An update or a request of an agent.
#[derive(Debug)]
pub(super) enum Event {
    Update(Update),
    /// A permission request. If the sender is dropped, the response is `cancelled`.
    Permission(Box<PermissionRequest>, oneshot::Sender<Value>),
    Read(ReadRequest, Reply),
    Write(WriteRequest, Reply),
}

/// Sends the response to a request for a file. If the sender is dropped, the response is an error.
pub(super) type Reply = oneshot::Sender<Result<Value, RpcError>>;

/// The params of `fs/read_text_file`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadRequest {
    pub(super) path: String,
    /// The first line, from 1.
    pub(super) line: Option<u64>,
    /// The maximum number of lines.
    pub(super) limit: Option<u64>,
}

/// The params of `fs/write_text_file`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WriteRequest {
    pub(super) path: String,
    pub(super) content: String,
}

#[derive(Debug)]
struct Queued {
    event: Event,
    bytes: usize,
}

impl AgentProcess {
    /// Starts the agent in `folder`.
    ///
    /// # Errors
    /// If the process cannot be started. The error names the program and the reason.
    pub(super) fn start(program: &str, arguments: &[String], folder: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            let reason = spawn_error_reason(&error, command.as_std()).unwrap_or_else(|| error.to_string());
            io::Error::new(error.kind(), format!("{program}: {reason}"))
        })?;
        let no_pipe = || io::Error::other("the process has no pipe");
        let stdin = child.stdin.take().ok_or_else(no_pipe)?;
        let stdout = OutputFilter::new(child.stdout.take().ok_or_else(no_pipe)?);
        let stderr_pipe = child.stderr.take().ok_or_else(no_pipe)?;
        let stderr = Arc::new(Stderr::default());
        let stderr_task = tokio::spawn(Arc::clone(&stderr).read(stderr_pipe)).abort_handle();
        let transport = Transport::new(stdout, stdin, Framing::Newline)?
            .with_profile(Profile::ACP)
            .with_grace(EXIT_GRACE)
            .with_child(child, EXIT_GRACE);
        let (sender, events) = mpsc::unbounded_channel();
        let queue = Queue { sender, bytes: Arc::default() };
        let queued_bytes = Arc::clone(&queue.bytes);
        let peer = Peer::new(transport);
        queue.register(&peer);
        let client = peer.client().clone();
        peer.forget();
        Ok(Self { client, events, queued_bytes, stderr, stderr_task })
    }

    /// Returns the next update or request, or `None` after the end of the link.
    pub(super) async fn next(&mut self) -> Option<Event> {
        let Queued { event, bytes } = self.events.recv().await?;
        self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        Some(event)
    }

    /// Drops the updates and requests that have arrived. The requests are answered as for a dropped sender.
    pub(super) fn discard_events(&mut self) {
        while let Ok(Queued { bytes, .. }) = self.events.try_recv() {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Returns whether the agent has ended, or has closed its output.
    pub(super) fn has_ended(&self) -> bool {
        // The handlers of the link own the sender. When the link ends, the handlers and the sender are dropped.
        self.events.is_closed()
    }

    /// Returns the reason why the process has exited, with the last lines of its standard error.
    pub(super) async fn exit_details(&self) -> String {
        let _ = tokio::time::timeout(EXIT_GRACE * 2, self.client.closed()).await;
        let _ = tokio::time::timeout(STDERR_GRACE, self.stderr.ended()).await;
        let lines = self.stderr.lines();
        let closed = self.client.closed();
        let why = match tokio::time::timeout(Duration::ZERO, closed).await {
            Ok(Closed::Local) => "the agent was ended: its output is too large".to_owned(),
            Ok(closed) => format!("the agent has ended: {closed}"),
            Err(_) => "the agent has closed its output".to_owned(),
        };
        if lines.is_empty() { why } else { format!("{why}; standard error:\n{lines}") }
    }

    /// Ends the process and its descendants, and waits for their exit.
    pub(super) async fn end(self) {
        self.client.destroy();
        self.client.closed().await;
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        self.client.destroy();
        self.stderr_task.abort();
    }
}

/// Queues the updates and requests of an agent.
#[derive(Clone, Debug)]
struct Queue {
    sender: mpsc::UnboundedSender<Queued>,
    bytes: Arc<AtomicUsize>,
}

impl Queue {
    fn register(self, peer: &Peer) {
        let (queue, client) = (self.clone(), peer.client().clone());
        peer.on_notify("session/update", move |params: Box<RawValue>, _: Context| {
            queue.push(&client, params.get().len(), Event::Update(wire::update(&value(&params))));
        });
        let (queue, client) = (self.clone(), peer.client().clone());
        peer.method("session/request_permission", move |params: Box<RawValue>, _: Context| {
            let (sender, response) = oneshot::channel();
            let request = PermissionRequest::read(&value(&params));
            let is_valid = request.is_some();
            if let Some(request) = request {
                queue.push(&client, params.get().len(), Event::Permission(Box::new(request), sender));
            }
            async move {
                if !is_valid {
                    return Err(RpcError::invalid_params("toolCall and options are required"));
                }
                Ok(response.await.unwrap_or_else(|_| wire::cancelled()))
            }
        });
        let (queue, client) = (self.clone(), peer.client().clone());
        peer.method("fs/read_text_file", move |params: Box<RawValue>, _: Context| {
            let bytes = params.get().len();
            let params = value(&params);
            let number = |name| params.get(name).and_then(Value::as_u64);
            let request = wire::text(&params, "path").map(|path| ReadRequest {
                path,
                line: number("line"),
                limit: number("limit"),
            });
            let event = |reply| request.map(|request| Event::Read(request, reply));
            queue.push_file(&client, bytes, event, "`path` must be a string")
        });
        let (queue, client) = (self, peer.client().clone());
        peer.method("fs/write_text_file", move |params: Box<RawValue>, _: Context| {
            let bytes = params.get().len();
            let params = value(&params);
            let request = wire::text(&params, "path")
                .zip(wire::text(&params, "content"))
                .map(|(path, content)| WriteRequest { path, content });
            let event = |reply| request.map(|request| Event::Write(request, reply));
            queue.push_file(&client, bytes, event, "`path` and `content` must be strings")
        });
    }

    /// Queues a request for a file. Returns the future of its response. `requirement` is the error of invalid params.
    fn push_file(
        &self,
        client: &Client,
        bytes: usize,
        event: impl FnOnce(Reply) -> Option<Event>,
        requirement: &'static str,
    ) -> BoxFuture<'static, Result<Value, RpcError>> {
        let (sender, response) = oneshot::channel();
        let event = event(sender);
        let is_valid = event.is_some();
        if let Some(event) = event {
            self.push(client, bytes, event);
        }
        Box::pin(async move {
            if !is_valid {
                return Err(RpcError::invalid_params(requirement));
            }
            response.await.unwrap_or_else(|_| Err(RpcError::internal("no turn is running")))
        })
    }

    /// Queues an event. Ends the agent if the queue is full.
    fn push(&self, client: &Client, bytes: usize, event: Event) {
        // An event without params needs memory, too.
        let bytes = bytes.saturating_add(size_of::<Queued>());
        if self.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > MAX_QUEUED_BYTES {
            client.destroy();
            return;
        }
        // After the end of the agent, nothing receives its events.
        let _ = self.sender.send(Queued { event, bytes });
    }
}

fn value(params: &RawValue) -> Value {
    serde_json::from_str(params.get()).unwrap_or_default()
}

/// The last lines of the standard error of an agent.
#[derive(Debug)]
struct Stderr {
    lines: Mutex<VecDeque<String>>,
    end: tokio::sync::watch::Sender<bool>,
}

impl Default for Stderr {
    fn default() -> Self {
        Self { lines: Mutex::default(), end: tokio::sync::watch::Sender::new(false) }
    }
}

impl Stderr {
    async fn read(self: Arc<Self>, pipe: ChildStderr) {
        /// The size of the buffer. It is small, because each idle session has such a buffer.
        const BUFFER_BYTES: usize = 1_024;
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, pipe);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut reader).take(MAX_STDERR_LINE_BYTES).read_until(b'\n', &mut line).await {
                Ok(1..) => self.push(String::from_utf8_lossy(&line).trim_end().to_owned()),
                _ => break,
            }
        }
        self.end.send_replace(true);
    }

    fn push(&self, line: String) {
        debug!("agent: {}", portway_cli_support::escape::escape_control(&line));
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == STDERR_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    async fn ended(&self) {
        let _ = self.end.subscribe().wait_for(|ended| *ended).await;
    }

    fn lines(&self) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}
