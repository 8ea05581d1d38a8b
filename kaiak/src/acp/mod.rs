//! The backend that drives an agent of the Agent Client Protocol.
//!
//! Each session has one process and one session of the agent. The agent works in a private copy of the workspace. Its
//! changes reach the workspace only after their approval.

mod client;
mod copy;
mod mcp;
mod output_filter;
mod prompt;
mod questions;
mod start;
mod tools;
mod turn;
mod wire;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use self::client::AgentProcess;
use self::copy::{Changes, PrivateCopy};
use self::start::{StartError, start_session};
use self::turn::{Turn, TurnEnd};
use self::wire::Initialized;
use crate::backend::{
    Agent, Backend, BoxFuture, Cleanup, FailedFiles, Fixed, Outcome, blocking, cancelled, check_request, listed,
    open_workspace, sync, workspace_denied,
};
use crate::config::{Configuration, ConfigureRequest};
use crate::fault::{Code, Fault};
use crate::limits::{CLOSE_TIMEOUT, MAX_LISTED, START_TIMEOUT};
use crate::permission::{Permission, tool};
use crate::protocol::Incident;
use crate::rules::Proposal;
use crate::run::{Answer, Run};
use crate::stream::{Content, InteractionKind, Level, check_size};
use crate::workspace::{RelativePath, Workspace, WorkspaceError};

/// Starts an agent for each session.
#[derive(Debug)]
pub(crate) struct AcpBackend {
    program: String,
    arguments: Vec<String>,
}

impl AcpBackend {
    pub(crate) const fn new(program: String, arguments: Vec<String>) -> Self {
        Self { program, arguments }
    }
}

impl Backend for AcpBackend {
    fn warnings(&self, request: &ConfigureRequest) -> Vec<String> {
        const WITHOUT_EFFECT: [&str; 6] = [
            "model.provider",
            "model.temperature",
            "model.max_tokens",
            "tools.enabled_extensions",
            "tools.planning_mode",
            "session.retry_config",
        ];
        let is_set = |path: &str| request.set.iter().any(|set| set == path);
        let ignored = WITHOUT_EFFECT.iter().filter(|path| is_set(path));
        let mut warnings: Vec<String> =
            ignored.map(|path| format!("{path} has no effect: the agent has no such option")).collect();
        if is_set("tools.custom_tools") {
            let tools = &request.configuration.tools.custom_tools;
            warnings.extend(tools.iter().filter_map(|tool| mcp::server(tool).err()));
        }
        warnings
    }

    fn start<'a>(&'a self, run: &'a Run) -> BoxFuture<'a, Result<Box<dyn Agent>, Fault>> {
        Box::pin(async move {
            let agent = AcpAgent::start(&self.program, &self.arguments, run).await?;
            Ok(Box::new(agent) as Box<dyn Agent>)
        })
    }
}

/// The agent of a session.
#[derive(Debug)]
struct AcpAgent {
    process: AgentProcess,
    initialized: Initialized,
    session_id: String,
    copy: Arc<PrivateCopy>,
    /// The configuration with which the session was created.
    configuration: Arc<Configuration>,
    usable: bool,
    /// The excluded files of the last comparison. All of them were reported.
    excluded: BTreeSet<String>,
}

impl AcpAgent {
    async fn start(program: &str, arguments: &[String], run: &Run) -> Result<Self, Fault> {
        let copy = PrivateCopy::create()
            .map_err(|error| Fault::reason(Code::SessionCreationFailed, "no-private-copy", error.to_string()))?;
        let copy = Arc::new(copy);
        let copied = async { synchronize(run, &copy, &open_workspace(&run.configuration).await?).await };
        run.until_stopped(copied).await.unwrap_or_else(|| Err(cancelled()))?;
        let failed = |reason: &str, details: String| Fault::reason(Code::AgentInitializationFailed, reason, details);
        let process = AgentProcess::start(program, arguments, copy.root())
            .map_err(|error| failed("not-started", error.to_string()))?;
        let started = tokio::time::timeout(START_TIMEOUT, start_session(&process, &copy, run));
        let started = run.until_stopped(started).await;
        let fault = match started {
            Some(Ok(Ok((initialized, session_id)))) => {
                let (configuration, excluded) = (Arc::clone(&run.configuration), BTreeSet::new());
                return Ok(Self { process, initialized, session_id, copy, configuration, usable: true, excluded });
            }
            Some(Ok(Err(StartError::Exited))) => failed("agent-exited", process.exit_details().await),
            Some(Ok(Err(StartError::Other(reason, details)))) => failed(reason, details),
            Some(Err(_)) => {
                let seconds = START_TIMEOUT.as_secs();
                failed("timeout", format!("the agent must start within {seconds} s, and has not started"))
            }
            None => cancelled(),
        };
        end(process, copy, true).await;
        Err(fault)
    }

    async fn fix_all(&mut self, run: &Run) -> Result<Outcome, Fault> {
        let workspace = open_workspace(&run.configuration).await?;
        check_request(run, &workspace).await?;
        // If the copy cannot be made equal, the next request starts the agent again, with a new copy.
        synchronize(run, &self.copy, &workspace).await.inspect_err(|_| self.usable = false)?;
        if run.request.options.parallel_processing {
            let message = "parallel_processing has no effect: incidents are fixed one after the other";
            run.stream.system(Level::Warning, "acp", message).await;
        }
        let (mut outcome, mut failed_files) = (Outcome::default(), FailedFiles::default());
        let fixed = self.fix_incidents(run, &workspace, &mut outcome, &mut failed_files).await;
        sync(&workspace, &mut failed_files).await?;
        // Before a request was stopped or has failed, it may have applied changes.
        outcome.send_summary(run, "acp").await;
        fixed?;
        failed_files.result(run, outcome)
    }

    async fn fix_incidents(
        &mut self,
        run: &Run,
        workspace: &Arc<Workspace>,
        outcome: &mut Outcome,
        failed_files: &mut FailedFiles,
    ) -> Result<(), Fault> {
        let total = run.request.incidents.len();
        for (done, incident) in run.request.incidents.iter().enumerate() {
            progress(
                run,
                done,
                total,
                "fixing",
                format!("Fixing the incident {} of {}", incident.id, incident.rule_id),
            )
            .await;
            let fixed = self.fix(run, workspace, incident, outcome, failed_files).await?;
            outcome.count(fixed);
        }
        progress(run, total, total, "completed", "All incidents are processed".to_owned()).await;
        Ok(())
    }

    /// Runs the turn of an incident, and applies the approved changes.
    async fn fix(
        &mut self,
        run: &Run,
        workspace: &Arc<Workspace>,
        incident: &Incident,
        outcome: &mut Outcome,
        failed_files: &mut FailedFiles,
    ) -> Result<Fixed, Fault> {
        if let Some(uri) = &incident.uri
            && let Err(problem) = workspace.resolve(uri).and_then(|path| workspace.check_file(&path))
        {
            let message = format!("The incident {} of {} is not fixed", incident.id, incident.rule_id);
            error(run, "FILE_ACCESS_FAILED", message, problem.to_string(), problem.remedy()).await;
            return Ok(Fixed::No);
        }
        // A cancellation before the prompt would not stop the turn.
        if run.is_stopped() {
            return Err(cancelled());
        }
        let prompt = prompt::prompt(&run.request, incident, workspace);
        let turn = Turn::new(run, &self.copy, workspace);
        let ended = turn.run(&mut self.process, &self.session_id, prompt, &mut self.usable).await;
        let end = match ended {
            Ok(Some(end)) => end,
            Ok(None) => {
                self.resynchronize(workspace).await?;
                return Ok(Fixed::No);
            }
            Err(fault) => return Err(fault),
        };
        let is_complete = match end.stop_reason.as_str() {
            "end_turn" => true,
            "max_turn_requests" => {
                let details = "the agent has reached its own maximum of requests to its model in one turn";
                return Err(Fault::reason(Code::ResourceExhausted, "max-turn-requests", details));
            }
            "error" => false,
            reason => {
                let message = format!("The agent ended the turn of the incident {}: {reason}", incident.id);
                error(run, "AGENT_STOPPED", message, reason.to_owned(), "Request the fix again").await;
                false
            }
        };
        let Changes { changed, refused, excluded } = self.changes(workspace).await?;
        self.report_excluded(run, excluded).await;
        report_refused(run, &refused).await;
        let (mut total, mut applied, mut is_equal) = (changed.len() + refused.len(), 0, refused.is_empty());
        for path in changed {
            let is_applied = match self.change_of(workspace, path).await? {
                // A process of the agent has undone its change.
                Ok(None) => {
                    total -= 1;
                    continue;
                }
                Ok(Some(change)) => match self.apply(run, workspace, &end, change, failed_files).await {
                    Ok(is_applied) => is_applied,
                    Err(fault) => {
                        if applied > 0 {
                            outcome.count(Fixed::InPart);
                        }
                        return Err(fault);
                    }
                },
                Err(problem) => {
                    report_failed(run, &problem).await;
                    failed_files.push(problem);
                    is_equal = false;
                    false
                }
            };
            applied += usize::from(is_applied);
        }
        if !is_equal {
            self.resynchronize(workspace).await?;
        }
        Ok(match applied {
            0 => Fixed::No,
            applied if is_complete && applied == total && !end.has_denied => Fixed::Yes,
            _ => Fixed::InPart,
        })
    }

    /// Applies a change of the agent after its approval. Returns whether it was applied.
    async fn apply(
        &mut self,
        run: &Run,
        workspace: &Arc<Workspace>,
        end: &TurnEnd,
        change: Proposal,
        failed_files: &mut FailedFiles,
    ) -> Result<bool, Fault> {
        let change = Arc::new(change);
        let (target, checked) = (Arc::clone(workspace), Arc::clone(&change));
        if let Err(problem) = blocking(move || target.check(&checked).and_then(|()| check_size(&checked))).await? {
            report_failed(run, &problem).await;
            self.restore(change).await?;
            return Ok(false);
        }
        let permission = run.configuration.permissions.tool_permissions.of(None, tool::WRITE_FILE);
        let was_approved = permission == Permission::Approve && end.is_approved(&change);
        let approved = was_approved
            || match permission {
                Permission::Deny => {
                    let message = format!("The change of {} is discarded", change.file_path);
                    let details = "write_file is denied".to_owned();
                    error(run, "TOOL_DENIED", message, details, "Allow the tool write_file").await;
                    false
                }
                permission => propose(run, &change, permission == Permission::Approve).await?,
            };
        if run.is_stopped() {
            return Err(cancelled());
        }
        if !approved {
            self.restore(change).await?;
            return Ok(false);
        }
        let (copy, target, approved) = (Arc::clone(&self.copy), Arc::clone(workspace), Arc::clone(&change));
        match blocking(move || copy.apply(&target, &approved)).await? {
            Ok(()) => Ok(true),
            Err(problem) => {
                report_failed(run, &problem).await;
                failed_files.push(problem);
                self.restore(change).await?;
                Ok(false)
            }
        }
    }

    /// Restores a file of the copy whose change is not applied.
    ///
    /// # Errors
    /// -32603 if the file cannot be restored. The next request then starts the agent again, with a new copy.
    async fn restore(&mut self, change: Arc<Proposal>) -> Result<(), Fault> {
        let copy = Arc::clone(&self.copy);
        blocking(move || copy.restore(&change)).await?.map_err(|error| self.lost_copy(&error))
    }

    fn lost_copy(&mut self, error: &WorkspaceError) -> Fault {
        self.usable = false;
        Fault::reason(Code::Internal, "private-copy", format!("the private copy cannot be used: {error}"))
    }

    /// Returns the changes of the agent.
    async fn changes(&mut self, workspace: &Arc<Workspace>) -> Result<Changes, Fault> {
        let (copy, workspace) = (Arc::clone(&self.copy), Arc::clone(workspace));
        blocking(move || copy.changes(&workspace)).await?.map_err(|error| self.lost_copy(&error))
    }

    /// Returns the proposal for a file that the agent has changed, see [`PrivateCopy::change_of`].
    async fn change_of(
        &mut self,
        workspace: &Arc<Workspace>,
        path: RelativePath,
    ) -> Result<Result<Option<Proposal>, WorkspaceError>, Fault> {
        let (copy, workspace) = (Arc::clone(&self.copy), Arc::clone(workspace));
        blocking(move || copy.change_of(&path, &workspace)).await
    }

    /// Reports new files of the agent that never reach the workspace, each at the first comparison that finds it.
    async fn report_excluded(&mut self, run: &Run, excluded: Vec<String>) {
        let excluded: BTreeSet<String> = excluded.into_iter().collect();
        let new: Vec<String> = excluded.difference(&self.excluded).cloned().collect();
        self.excluded = excluded;
        if !new.is_empty() {
            let message = format!("the patterns of the workspace exclude new files of the agent: {}", listed(&new));
            run.stream.system(Level::Warning, "acp", message).await;
        }
    }

    /// Makes the copy equal to the workspace, after changes in the copy were discarded.
    async fn resynchronize(&mut self, workspace: &Arc<Workspace>) -> Result<(), Fault> {
        let (copy, workspace) = (Arc::clone(&self.copy), Arc::clone(workspace));
        let synchronized = blocking(move || copy.synchronize(&workspace)).await?;
        synchronized.map(drop).map_err(|error| self.lost_copy(&error))
    }
}

impl Agent for AcpAgent {
    fn run<'a>(&'a mut self, run: &'a Run) -> BoxFuture<'a, Result<Outcome, Fault>> {
        Box::pin(self.fix_all(run))
    }

    fn is_usable(&self, configuration: &Configuration) -> bool {
        let (own, new) = (&self.configuration, configuration);
        self.usable
            && !self.process.has_ended()
            && own.workspace.working_dir == new.workspace.working_dir
            && own.tools.custom_tools == new.tools.custom_tools
            && own.model.model == new.model.model
    }

    fn close(self: Box<Self>, cleanup_files: bool) -> BoxFuture<'static, Cleanup> {
        Box::pin(async move {
            let Self { process, initialized, session_id, copy, usable, .. } = *self;
            if usable && initialized.can_close {
                let params = json!({ "sessionId": session_id });
                let _ = process.client.call::<Value>("session/close", &params).timeout(CLOSE_TIMEOUT).await;
            }
            end(process, copy, cleanup_files).await
        })
    }
}

/// Ends an agent. Then removes its private copy, in which it can write no more.
async fn end(process: AgentProcess, copy: Arc<PrivateCopy>, cleanup_files: bool) -> Cleanup {
    process.end().await;
    let failed = format!("{}: the removal failed", copy.root().display());
    let removed = blocking(move || copy.remove(cleanup_files)).await;
    removed.unwrap_or_else(|_| Cleanup { temp_files_removed: 0, errors: vec![failed] })
}

/// Makes the copy equal to the workspace. Reports the files that the agent cannot see.
async fn synchronize(run: &Run, copy: &Arc<PrivateCopy>, workspace: &Arc<Workspace>) -> Result<(), Fault> {
    let (copy, workspace) = (Arc::clone(copy), Arc::clone(workspace));
    let problems = blocking(move || copy.synchronize(&workspace)).await?.map_err(|error| workspace_denied(&error))?;
    if let Some(first) = problems.first() {
        let message = format!("{} files are not visible to the agent, for example {first}", problems.len());
        run.stream.system(Level::Warning, "acp", message).await;
    }
    Ok(())
}

/// Proposes a change, and asks for its approval. Returns whether it is approved.
async fn propose(run: &Run, change: &Proposal, requires_approval: bool) -> Result<bool, Fault> {
    let content = Content::proposal(run.next_proposal_id(), change, requires_approval);
    run.stream.send(content).await;
    if !requires_approval {
        return Ok(true);
    }
    match run.ask(InteractionKind::FileApproval, format!("Apply this fix to {}?", change.file_path)).await {
        Answer::Stopped => Err(cancelled()),
        answer => Ok(answer == Answer::Approved),
    }
}

/// Reports the changes of the agent that cannot be proposed. They are discarded.
async fn report_refused(run: &Run, refused: &[WorkspaceError]) {
    for problem in refused.iter().take(MAX_LISTED) {
        report_failed(run, problem).await;
    }
    if let Some(rest) = refused.len().checked_sub(MAX_LISTED).filter(|rest| *rest > 0) {
        run.stream.system(Level::Warning, "acp", format!("{rest} more changes of the agent are discarded")).await;
    }
}

async fn report_failed(run: &Run, problem: &WorkspaceError) {
    let message = format!("{} is not changed", problem.path());
    error(run, "FILE_MODIFICATION_FAILED", message, problem.to_string(), problem.remedy()).await;
}

async fn error(run: &Run, error_code: &'static str, message: String, details: String, action: &str) {
    let suggested_action = action.to_owned();
    run.stream.send(Content::Error { error_code, message, details, recoverable: true, suggested_action }).await;
}

async fn progress(run: &Run, done: usize, total: usize, phase: &'static str, description: String) {
    let content = Content::Progress {
        percentage: (done * 100 / total.max(1)) as u64,
        phase,
        description,
        current_step: format!("Processing incident {} of {total}", (done + 1).min(total)),
        total_steps: total,
    };
    run.stream.send(content).await;
}
