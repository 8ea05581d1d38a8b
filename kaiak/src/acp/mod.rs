//! The backend that drives an agent of the Agent Client Protocol.
//!
//! Each session has one process and one session of the agent. The agent works in a private copy of the workspace. Its
//! changes reach the workspace only after their approval.

mod client;
mod copy;
mod folders;
mod mcp;
mod output_filter;
mod prompt;
mod questions;
mod tools;
mod turn;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use portway::{CallError, Client};
use serde_json::{Value, json};

use self::client::AgentProcess;
use self::copy::PrivateCopy;
use self::turn::{Turn, TurnEnd};
use self::wire::Initialized;
use crate::backend::{Agent, Backend, BoxFuture, Cleanup, Outcome, blocking, cancelled, exhausted, workspace_denied};
use crate::config::{Configuration, Configured};
use crate::fault::{Code, Fault};
use crate::permission::{Permission, tool};
use crate::protocol::Incident;
use crate::rules::Proposal;
use crate::run::{Answer, Run};
use crate::stream::{Content, InteractionKind, Level};
use crate::workspace::{ErrorKind, Workspace, WorkspaceError};

/// Maximum time of the start of an agent.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum time of `session/close`.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

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
    fn warnings(&self, configured: &Configured) -> Vec<String> {
        const WITHOUT_EFFECT: [&str; 6] = [
            "model.provider",
            "model.temperature",
            "model.max_tokens",
            "tools.enabled_extensions",
            "tools.planning_mode",
            "session.retry_config",
        ];
        let is_set = |path: &str| configured.set.iter().any(|set| set == path);
        let ignored = WITHOUT_EFFECT.iter().filter(|path| is_set(path));
        let mut warnings: Vec<String> =
            ignored.map(|path| format!("{path} has no effect: the agent has no such option")).collect();
        if is_set("tools.custom_tools") {
            let tools = &configured.configuration.tools.custom_tools;
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
}

impl AcpAgent {
    async fn start(program: &str, arguments: &[String], run: &Run) -> Result<Self, Fault> {
        let copy = PrivateCopy::create()
            .map_err(|error| Fault::reason(Code::SessionCreationFailed, "no-private-copy", error.to_string()))?;
        let copy = Arc::new(copy);
        synchronize(run, &copy, &open(&run.configuration)?).await?;
        let failed = |reason: &str, details: String| Fault::reason(Code::AgentInitializationFailed, reason, details);
        let process = AgentProcess::start(program, arguments, copy.root())
            .map_err(|error| failed("not-started", error.to_string()))?;
        let started = start_session(&process, &copy, run).await;
        let (initialized, session_id) = match started {
            Ok(started) => started,
            Err(StartError::Exited) => return Err(failed("agent-exited", process.exit_details().await)),
            Err(StartError::Other(reason, details)) => return Err(failed(reason, details)),
        };
        Ok(Self { process, initialized, session_id, copy, configuration: Arc::clone(&run.configuration), usable: true })
    }

    async fn fix_all(&mut self, run: &Run) -> Result<Outcome, Fault> {
        let workspace = open(&run.configuration)?;
        check_paths(run, &workspace)?;
        synchronize(run, &self.copy, &workspace).await?;
        if run.request.options.parallel_processing {
            let message = "parallel_processing has no effect: incidents are fixed one after the other";
            run.stream.system(Level::Warning, "acp", message).await;
        }
        let total = run.request.incidents.len();
        let mut counts = Outcome::default();
        let mut failed_files = Vec::new();
        for (done, incident) in run.request.incidents.iter().enumerate() {
            if done as u64 >= run.configuration.session.max_turns {
                return Err(exhausted("session.max_turns", run.configuration.session.max_turns));
            }
            progress(
                run,
                done,
                total,
                "fixing",
                format!("Fixing the incident {} of {}", incident.id, incident.rule_id),
            )
            .await;
            if self.fix(run, &workspace, incident, &mut failed_files).await? {
                counts.fixed += 1;
            } else {
                counts.not_fixed += 1;
            }
        }
        progress(run, total, total, "completed", "All incidents are processed".to_owned()).await;
        let Outcome { fixed, not_fixed } = counts;
        let level = if not_fixed == 0 { Level::Info } else { Level::Warning };
        run.stream.system(level, "acp", format!("{fixed} of {total} incidents fixed, {not_fixed} not fixed")).await;
        if failed_files.is_empty() {
            return Ok(counts);
        }
        let data = json!({
            "session_id": run.request.session_id.as_str(),
            "details": format!("{} approved changes could not be applied", failed_files.len()),
            "files": failed_files,
        });
        Err(Fault::new(Code::FileModificationFailed, data))
    }

    /// Runs the turn of an incident. Returns whether the agent has changed a file, and all of its changes are applied.
    async fn fix(
        &mut self,
        run: &Run,
        workspace: &Arc<Workspace>,
        incident: &Incident,
        failed_files: &mut Vec<Value>,
    ) -> Result<bool, Fault> {
        let prompt = prompt::prompt(&run.request, incident, workspace);
        let turn = Turn::new(run, &self.copy, workspace);
        let ended = turn.run(&mut self.process, &self.session_id, prompt, &mut self.usable).await;
        let end = match ended {
            Ok(Some(end)) => end,
            Ok(None) => {
                self.discard(workspace).await?;
                return Ok(false);
            }
            Err(fault) => return Err(fault),
        };
        let is_complete = match end.stop_reason.as_str() {
            "end_turn" => true,
            "max_turn_requests" => return Err(exhausted("the requests of one turn of the agent", 0)),
            "error" => false,
            reason => {
                let message = format!("The agent ended the turn of the incident {}: {reason}", incident.id);
                error(run, "AGENT_STOPPED", message, reason.to_owned()).await;
                false
            }
        };
        let changes = self.changes(workspace).await?;
        let mut all_applied = !changes.is_empty();
        for change in changes {
            all_applied &= match change {
                Ok(change) => self.apply(run, workspace, &end, &change, failed_files).await?,
                Err(problem) => {
                    report_failed(run, &problem, failed_files).await;
                    false
                }
            };
        }
        Ok(is_complete && all_applied && !end.has_denied)
    }

    /// Applies a change of the agent after its approval. Returns whether it was applied.
    async fn apply(
        &mut self,
        run: &Run,
        workspace: &Workspace,
        end: &TurnEnd,
        change: &Proposal,
        failed_files: &mut Vec<Value>,
    ) -> Result<bool, Fault> {
        let permission = run.configuration.permissions.tool_permissions.of(None, tool::WRITE_FILE);
        let was_approved = permission == Permission::Approve && end.is_approved(change);
        let approved = was_approved
            || match permission {
                Permission::Deny => {
                    let message = format!("The change of {} is discarded", change.file_path);
                    error(run, "TOOL_DENIED", message, "write_file is denied".to_owned()).await;
                    false
                }
                permission => propose(run, change, permission == Permission::Approve).await?,
            };
        if run.is_stopped() {
            return Err(cancelled());
        }
        if !approved {
            self.copy.restore(change).map_err(|error| workspace_denied(&error))?;
            return Ok(false);
        }
        match self.copy.apply(workspace, change) {
            Ok(()) => Ok(true),
            Err(problem) if problem.kind() == ErrorKind::Denied => Err(workspace_denied(&problem)),
            Err(problem) => {
                report_failed(run, &problem, failed_files).await;
                Ok(false)
            }
        }
    }

    /// Returns the changes of the agent, and the files whose change cannot be proposed.
    async fn changes(&self, workspace: &Arc<Workspace>) -> Result<Vec<Result<Proposal, WorkspaceError>>, Fault> {
        let (copy, workspace) = (Arc::clone(&self.copy), Arc::clone(workspace));
        blocking(move || copy.changes(&workspace)).await?.map_err(|error| workspace_denied(&error))
    }

    /// Restores all files of the copy.
    async fn discard(&self, workspace: &Arc<Workspace>) -> Result<(), Fault> {
        for change in self.changes(workspace).await?.into_iter().flatten() {
            self.copy.restore(&change).map_err(|error| workspace_denied(&error))?;
        }
        Ok(())
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
            process.end().await;
            match Arc::into_inner(copy) {
                Some(copy) => copy.remove(cleanup_files),
                // A thread still reads the copy, which is removed afterwards.
                None => Cleanup::default(),
            }
        })
    }
}

/// The reason why an agent did not start.
enum StartError {
    Exited,
    /// The member `reason`, and the details.
    Other(&'static str, String),
}

impl StartError {
    fn from_call(error: CallError, initialized: &Initialized) -> Self {
        match error {
            CallError::Remote(error) if error.code.value() == wire::AUTHENTICATION_REQUIRED => {
                let methods = initialized.auth_methods.join(", ");
                Self::Other("login-required", format!("{}; log in with the agent itself: {methods}", error.message))
            }
            CallError::Remote(error) => Self::Other("agent-error", error.to_string()),
            CallError::TimedOut => {
                Self::Other("timeout", format!("the agent did not start within {} s", START_TIMEOUT.as_secs()))
            }
            _ => Self::Exited,
        }
    }
}

/// Initializes the agent, and creates its session.
async fn start_session(
    process: &AgentProcess,
    copy: &PrivateCopy,
    run: &Run,
) -> Result<(Initialized, String), StartError> {
    let client = process.client.clone().with_timeout(START_TIMEOUT);
    let none = Initialized::default();
    let initialized = client.call::<Value>("initialize", &wire::initialize()).await;
    let initialized = initialized.map_err(|error| StartError::from_call(error, &none))?;
    let initialized = Initialized::read(&initialized);
    let servers = run.configuration.tools.custom_tools.iter().filter_map(|tool| mcp::server(tool).ok());
    let servers: Vec<Value> = servers.filter(|server| initialized.has_sse || server.get("type").is_none()).collect();
    let params = json!({ "cwd": copy.root(), "mcpServers": servers });
    let session = client.call::<Value>("session/new", &params).await;
    let session = session.map_err(|error| StartError::from_call(error, &initialized))?;
    let no_id = || StartError::Other("agent-error", "session/new returned no sessionId".to_owned());
    let session_id = wire::text(&session, "sessionId").ok_or_else(no_id)?;
    if let Some(model) = &run.configuration.model.model {
        select_model(&client, &session, &session_id, model, run).await;
    }
    Ok((initialized, session_id))
}

/// Selects the configured model, if the agent offers it.
async fn select_model(client: &Client, session: &Value, session_id: &str, model: &str, run: &Run) {
    let option = wire::model_option(session).filter(|option| option.values.iter().any(|value| value == model));
    let problem = match option {
        None => Some("the agent does not offer it".to_owned()),
        Some(option) => {
            let params = json!({ "sessionId": session_id, "configId": option.id, "value": model });
            client.call::<Value>("session/set_config_option", &params).await.err().map(|error| error.to_string())
        }
    };
    if let Some(problem) = problem {
        run.stream.system(Level::Warning, "acp", format!("model.model has no effect: {problem}")).await;
    }
}

fn open(configuration: &Configuration) -> Result<Arc<Workspace>, Fault> {
    let section = &configuration.workspace;
    Workspace::open(&section.working_dir, &section.include_patterns, &section.exclude_patterns)
        .map(Arc::new)
        .map_err(|error| workspace_denied(&error))
}

/// Checks that the paths of all incidents are inside the workspace.
fn check_paths(run: &Run, workspace: &Workspace) -> Result<(), Fault> {
    for uri in run.request.incidents.iter().filter_map(|incident| incident.uri.as_deref()) {
        match workspace.resolve(uri) {
            Err(error) if error.kind() == ErrorKind::Denied => return Err(workspace_denied(&error)),
            _ => {}
        }
    }
    Ok(())
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

async fn report_failed(run: &Run, problem: &WorkspaceError, failed_files: &mut Vec<Value>) {
    let details = problem.to_string();
    failed_files.push(json!({ "file_path": problem.path(), "details": details }));
    error(run, "FILE_MODIFICATION_FAILED", format!("{} is not changed", problem.path()), details).await;
}

async fn error(run: &Run, error_code: &'static str, message: String, details: String) {
    let suggested_action = "Request the fix again".to_owned();
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
