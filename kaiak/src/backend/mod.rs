//! The part of the server that fixes incidents: a backend starts an agent for each session.

pub(crate) mod rules;

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::config::{Configuration, ConfigureRequest};
use crate::fault::{Code, Fault};
use crate::limits::MAX_LISTED;
use crate::run::Run;
use crate::stream::{Level, cut_output};
use crate::workspace::{ErrorKind, Workspace, WorkspaceError};

/// A boxed future, so that backends can be trait objects.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Starts the agents of sessions.
pub(crate) trait Backend: Debug + Send + Sync {
    /// Returns a warning for each member of the configuration that the agents of this backend cannot honour.
    fn warnings(&self, request: &ConfigureRequest) -> Vec<String>;

    /// Starts the agent of a session. After [`Run::stopped`] has completed, this method must soon return.
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
    /// The error with which the server answers the request. After a stop, the server replaces this error.
    fn run<'a>(&'a mut self, run: &'a Run) -> BoxFuture<'a, Result<Outcome, Fault>>;

    /// Returns whether the agent can run a request with this configuration. If not, the request starts a new agent.
    fn is_usable(&self, _: &Configuration) -> bool {
        true
    }

    /// Ends the agent, and removes its temporary files if `cleanup_files` is true.
    fn close(self: Box<Self>, cleanup_files: bool) -> BoxFuture<'static, Cleanup>;
}

/// The number of incidents of a request with each result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) fixed: usize,
    /// Some places are fixed, and others are not.
    pub(crate) fixed_in_part: usize,
    pub(crate) not_fixed: usize,
    /// The rule finds no place in the workspace.
    pub(crate) without_place: usize,
}

/// The result of one incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fixed {
    Yes,
    InPart,
    No,
    WithoutPlace,
}

impl Outcome {
    pub(crate) const fn count(&mut self, fixed: Fixed) {
        match fixed {
            Fixed::Yes => self.fixed += 1,
            Fixed::InPart => self.fixed_in_part += 1,
            Fixed::No => self.not_fixed += 1,
            Fixed::WithoutPlace => self.without_place += 1,
        }
    }

    /// Sends the `system` notification with the numbers. If the request was stopped or has failed, some incidents are
    /// not processed, and their number is sent too.
    pub(crate) async fn send_summary(self, run: &Run, component: &'static str) {
        let Self { fixed, fixed_in_part, not_fixed, without_place } = self;
        let total = run.request.incidents.len();
        let rest = total.saturating_sub(fixed + fixed_in_part + not_fixed + without_place);
        let mut summary = format!("{fixed} of {total} incidents fixed, {not_fixed} not fixed");
        for (count, text) in [
            (fixed_in_part, "fixed in part"),
            (without_place, "without a place in the workspace"),
            (rest, "not processed"),
        ] {
            if count > 0 {
                summary.push_str(&format!(", {count} {text}"));
            }
        }
        let level = if fixed_in_part + not_fixed + rest == 0 { Level::Info } else { Level::Warning };
        run.stream.system(level, component, summary).await;
    }
}

/// Approved changes that could not be applied.
#[derive(Debug, Default)]
pub(crate) struct FailedFiles(Vec<WorkspaceError>);

impl FailedFiles {
    pub(crate) fn push(&mut self, error: WorkspaceError) {
        self.0.push(error);
    }

    /// Returns the outcome of the request, or the error -32012 if a change could not be applied. The error names at
    /// most [`MAX_LISTED`] files.
    pub(crate) fn result(self, run: &Run, outcome: Outcome) -> Result<Outcome, Fault> {
        if self.0.is_empty() {
            return Ok(outcome);
        }
        let files = self.0.iter().take(MAX_LISTED);
        let files: Vec<Value> =
            files.map(|error| json!({ "file_path": error.path(), "details": error.to_string() })).collect();
        let data = json!({
            "session_id": run.request.session_id.as_str(),
            "details": format!("{} approved changes could not be applied", self.0.len()),
            "files": files,
        });
        Err(Fault::new(Code::FileModificationFailed, data))
    }
}

/// Opens the workspace of a configuration. Its changes are durable after [`sync`].
///
/// # Errors
/// -32002.
pub(crate) async fn open_workspace(configuration: &Arc<Configuration>) -> Result<Arc<Workspace>, Fault> {
    let configuration = Arc::clone(configuration);
    let opened = blocking(move || {
        let section = &configuration.workspace;
        Workspace::open(&section.working_dir, &section.include_patterns, &section.exclude_patterns)
    });
    opened.await?.map(|workspace| Arc::new(workspace.with_late_sync())).map_err(|error| workspace_denied(&error))
}

/// Makes the changes of a request durable. One call for all changes takes less time than one for each change.
pub(crate) async fn sync(workspace: &Arc<Workspace>, failed_files: &mut FailedFiles) -> Result<(), Fault> {
    // A request without a change ends at once, so that its session can be used.
    if !workspace.needs_sync() {
        return Ok(());
    }
    let workspace = Arc::clone(workspace);
    blocking(move || workspace.sync()).await?.into_iter().for_each(|error| failed_files.push(error));
    Ok(())
}

/// Checks a request before its first change: the number of its incidents, and their paths. A file may be missing.
///
/// # Errors
/// -32015 if the request has more incidents than turns are allowed. -32002 if a path leads out of the workspace, is
/// excluded by its patterns, or is not a regular file.
pub(crate) async fn check_request(run: &Run, workspace: &Arc<Workspace>) -> Result<(), Fault> {
    let max = run.configuration.session.max_turns;
    if run.request.incidents.len() as u64 > max {
        return Err(exhausted("session.max_turns", max));
    }
    let uris: Vec<String> = run.request.incidents.iter().filter_map(|incident| incident.uri.clone()).collect();
    let workspace = Arc::clone(workspace);
    let denied = blocking(move || {
        let check = |uri: &String| {
            let path = workspace.resolve(uri)?;
            workspace.check_included(&path)?;
            workspace.check_file(&path)
        };
        uris.iter().filter_map(|uri| check(uri).err()).find(|error| error.kind() == ErrorKind::Denied)
    });
    denied.await?.map_or(Ok(()), |error| Err(workspace_denied(&error)))
}

/// Returns the first elements of a list as lines.
pub(crate) fn listed(all: &[impl ToString]) -> String {
    let mut lines: Vec<String> = all.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if all.len() > MAX_LISTED {
        lines.push(format!("and {} more", all.len() - MAX_LISTED));
    }
    cut_output(&lines.join("\n"))
}

/// The files of an agent that were removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cleanup {
    pub(crate) temp_files_removed: u64,
    pub(crate) errors: Vec<String>,
}

/// Returns the error with which an agent ends a run that must end. `run.rs` replaces this error by the reason.
pub(crate) fn cancelled() -> Fault {
    Fault::new(Code::RequestCancelled, Value::Null)
}

/// Returns the error -32015 for a limit of the configuration.
pub(crate) fn exhausted(field: &str, max: u64) -> Fault {
    let details = format!("the request needs more than {field} allows, which is {max}; configure a larger number");
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
