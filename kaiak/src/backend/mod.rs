//! The part of the server that fixes incidents: a backend starts an agent for each session.

pub(crate) mod rules;

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use serde_json::{Value, json};

use crate::config::{Configuration, Configured};
use crate::fault::{Code, Fault};
use crate::run::Run;
use crate::workspace::WorkspaceError;

/// A boxed future, so that backends can be trait objects.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Starts the agents of sessions.
pub(crate) trait Backend: Debug + Send + Sync {
    /// Returns a warning for each member of the configuration that the agents of this backend cannot honour.
    fn warnings(&self, configured: &Configured) -> Vec<String>;

    /// Starts the agent of a session.
    ///
    /// # Errors
    /// -32006 if the agent cannot start, -32001 if another part of the session cannot be created, and -32002 if the
    /// workspace cannot be read.
    fn start<'a>(&'a self, run: &'a Run) -> BoxFuture<'a, Result<Box<dyn Agent>, Fault>>;
}

/// The agent of a session.
pub(crate) trait Agent: Debug + Send {
    /// Fixes the incidents of a request. After [`Run::stopped`] has completed, this method must soon return.
    ///
    /// # Errors
    /// The error of the request.
    fn run<'a>(&'a mut self, run: &'a Run) -> BoxFuture<'a, Result<Outcome, Fault>>;

    /// Returns whether the agent can run a request with this configuration. If not, the request starts a new agent.
    fn is_usable(&self, _: &Configuration) -> bool {
        true
    }

    /// Ends the agent, and removes its temporary files if `cleanup_files` is true.
    fn close(self: Box<Self>, cleanup_files: bool) -> BoxFuture<'static, Cleanup>;
}

/// The counts of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) fixed: usize,
    pub(crate) not_fixed: usize,
}

/// The files of an agent that were removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cleanup {
    pub(crate) temp_files_removed: u64,
    pub(crate) errors: Vec<String>,
}

/// Returns the error of a run that was stopped. Its caller replaces the error by the reason of the stop.
pub(crate) fn cancelled() -> Fault {
    Fault::new(Code::RequestCancelled, Value::Null)
}

/// Returns the error -32015 for a limit of the configuration.
pub(crate) fn exhausted(field: &str, max: u64) -> Fault {
    let details = format!("the request needs more than {max}");
    Fault::new(Code::ResourceExhausted, json!({ "field": field, "limit": max, "details": details }))
}

/// Returns the error -32002.
pub(crate) fn workspace_denied(error: &WorkspaceError) -> Fault {
    let data = json!({ "path": error.path(), "details": error.to_string() });
    Fault::new(Code::WorkspaceAccessDenied, data)
}

/// Runs blocking work on another thread.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
    let panicked = |_| Fault::reason(Code::Internal, "run-failed", "the run failed");
    tokio::task::spawn_blocking(work).await.map_err(panicked)
}
