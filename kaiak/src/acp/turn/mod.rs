//! One turn of an agent: a prompt for one incident, and the updates and requests of the agent until its response.

mod files;

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use portway::{CallError, RpcError};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::acp::client::{AgentProcess, Event, ReadRequest, Reply};
use crate::acp::copy::{PrivateCopy, proposal};
use crate::acp::questions::Questions;
use crate::acp::tools::{Effect, Tool, Tools};
use crate::acp::wire::{Diff, PermissionRequest, Update};
use crate::backend::{blocking, cancelled, exhausted};
use crate::fault::{Code, Fault};
use crate::limits::{CANCEL_GRACE, MAX_LATE_UPDATES, MAX_TEXT_BYTES, QUIET};
use crate::permission::Permission;
use crate::rules::Proposal;
use crate::run::{Answer, Run};
use crate::stream::{Content, InteractionKind, Level, ToolStatus, check_size};
use crate::workspace::{ErrorKind, RelativePath, Workspace, WorkspaceError};

/// A turn that runs.
pub(super) struct Turn<'a> {
    run: &'a Run,
    copy: &'a Arc<PrivateCopy>,
    workspace: &'a Arc<Workspace>,
    tools: Tools,
    /// The number of requests for files that arrived while no tool was open.
    file_requests: u64,
    text: String,
    questions: Questions<'a, Answered>,
    /// The changes that the client has seen and approved.
    approved: HashMap<RelativePath, Vec<Approval>>,
    /// Whether a tool or a change was denied.
    has_denied: bool,
}

/// A change that the client has approved.
enum Approval {
    /// The texts of a diff, which may be parts of the file.
    Diff(Diff),
    /// The whole content.
    Content(String),
}

impl Approval {
    /// Returns the text of a file after this change. `text` is empty for a new file.
    ///
    /// A client that has approved a diff has seen only its texts. So the diff changes only these texts, and the diff of
    /// a new file does not change an existing file.
    fn applied_to(&self, text: &str) -> String {
        match self {
            Self::Content(content) => content.clone(),
            Self::Diff(Diff { old: Some(old), new, .. }) if !old.is_empty() => text.replacen(old, new, 1),
            Self::Diff(Diff { new, .. }) if text.is_empty() => new.clone(),
            Self::Diff(_) => text.to_owned(),
        }
    }
}

/// The answer to a question, and the request that it answers.
enum Answered {
    /// The last member has the changes that the client has seen with the question.
    Permission(Box<PermissionRequest>, oneshot::Sender<Value>, Answer, Vec<(RelativePath, Diff)>),
    Write(RelativePath, String, Reply, Answer),
    Read(RelativePath, ReadRequest, Reply, Answer),
}

/// The end of a turn.
pub(super) struct TurnEnd {
    pub(super) stop_reason: String,
    pub(super) has_denied: bool,
    approved: HashMap<RelativePath, Vec<Approval>>,
}

impl TurnEnd {
    /// Returns whether the client has approved exactly this change.
    pub(super) fn is_approved(&self, change: &Proposal) -> bool {
        let Some(approvals) = self.approved.get(&change.file_path) else { return false };
        let Some(after) = change.after().and_then(|after| std::str::from_utf8(after).ok()) else { return false };
        let before = change.before().map_or(Some(""), |before| std::str::from_utf8(before).ok());
        let before = before.unwrap_or_default().to_owned();
        approvals.iter().fold(before, |text, approval| approval.applied_to(&text)) == after
    }
}

impl<'a> Turn<'a> {
    pub(super) fn new(run: &'a Run, copy: &'a Arc<PrivateCopy>, workspace: &'a Arc<Workspace>) -> Self {
        Self {
            run,
            copy,
            workspace,
            tools: Tools::default(),
            file_requests: 0,
            text: String::new(),
            questions: Questions::new(),
            approved: HashMap::new(),
            has_denied: false,
        }
    }

    /// Sends the prompt, and handles the updates and requests of the agent until its response. Returns `None` if the
    /// turn was cancelled because the agent ran a denied tool.
    ///
    /// # Errors
    /// The error of the request. `usable` becomes false if the agent must be restarted.
    pub(super) async fn run(
        mut self,
        agent: &mut AgentProcess,
        session_id: &str,
        prompt: String,
        usable: &mut bool,
    ) -> Result<Option<TurnEnd>, Fault> {
        // Until the turn has ended without a fault, the state of the agent is unknown.
        *usable = false;
        // The queued events belong to an earlier turn, or to no turn.
        agent.discard_events();
        let params = json!({ "sessionId": session_id, "prompt": [{ "type": "text", "text": prompt }] });
        let client = agent.client.clone();
        let mut response = pin!(client.call::<Value>("session/prompt", &params).timeout(None));
        let run = self.run;
        let result = loop {
            let step = tokio::select! {
                biased;
                () = run.stopped() => Step::Stop(cancelled()),
                event = agent.next() => match event {
                    Some(event) => self.handle(event).await,
                    None => break response.await,
                },
                answered = self.questions.next() => {
                    self.answered(answered).await;
                    Step::Continue
                }
                result = &mut response => break result,
            };
            match step {
                Step::Continue => {}
                Step::Stop(fault) => {
                    *usable = self.cancel(agent, session_id, response).await;
                    return Err(fault);
                }
                Step::StopTurn => {
                    *usable = self.cancel(agent, session_id, response).await;
                    return if *usable { Ok(None) } else { Err(not_stopped()) };
                }
            }
        };
        let result = match result {
            Ok(result) => result,
            Err(CallError::Remote(error)) => {
                *usable = true;
                self.report_agent_error(&error).await;
                json!({ "stopReason": "error" })
            }
            Err(_) => {
                self.tools.end(run).await;
                let details = agent.exit_details().await;
                return Err(Fault::reason(Code::Internal, "agent-exited", details));
            }
        };
        self.handle_late(agent).await?;
        *usable = true;
        self.questions.clear();
        self.tools.end(run).await;
        self.send_whole_text().await;
        let stop_reason = result.get("stopReason").and_then(Value::as_str).unwrap_or("end_turn").to_owned();
        Ok(Some(TurnEnd { stop_reason, has_denied: self.has_denied, approved: self.approved }))
    }

    /// Handles the updates and requests that arrive after the response to the prompt.
    async fn handle_late(&mut self, agent: &mut AgentProcess) -> Result<(), Fault> {
        for _ in 0..MAX_LATE_UPDATES {
            tokio::select! {
                biased;
                () = self.run.stopped() => return Err(cancelled()),
                event = agent.next() => match event {
                    Some(event) => { let _ = self.handle(event).await; }
                    None => return Ok(()),
                },
                () = tokio::time::sleep(QUIET) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Cancels the turn, and waits for the response to the prompt. Returns whether the agent has responded.
    async fn cancel(
        &mut self,
        agent: &mut AgentProcess,
        session_id: &str,
        response: impl Future<Output = Result<Value, CallError>>,
    ) -> bool {
        // The senders of open questions are dropped, so the agent receives the outcome `cancelled`.
        self.questions.clear();
        if agent.client.notify("session/cancel", &json!({ "sessionId": session_id })).is_err() {
            return false;
        }
        let mut response = pin!(response);
        let ended = async {
            loop {
                tokio::select! {
                    biased;
                    // A dropped permission request is answered as cancelled.
                    event = agent.next() => if event.is_none() { return false },
                    result = &mut response => return result.is_ok() || matches!(result, Err(CallError::Remote(_))),
                }
            }
        };
        tokio::time::timeout(CANCEL_GRACE, ended).await.unwrap_or(false)
    }

    async fn handle(&mut self, event: Event) -> Step {
        match event {
            Event::Update(Update::Message(text)) => self.message(text).await,
            Event::Update(Update::ToolCall(update)) => {
                let effect = self.tools.update(self.run, &update).await;
                if effect == Effect::DeniedToolRuns {
                    self.has_denied = true;
                    let title = self.tools.get(&update.id).map_or_else(String::new, Tool::title);
                    self.error("TOOL_DENIED", "The agent ran a tool that is denied", &title, "Allow the tool").await;
                    return Step::StopTurn;
                }
            }
            Event::Update(Update::Plan(entries)) => self.plan(&entries).await,
            Event::Update(Update::Other) => {}
            Event::Permission(request, reply) => self.permission(request, reply).await,
            Event::Read(request, reply) => self.read(request, reply).await,
            Event::Write(request, reply) => self.write(request, reply).await,
        }
        let max = self.run.configuration.tools.max_tool_calls;
        if self.tools.count() + self.file_requests > max {
            return Step::Stop(exhausted("tools.max_tool_calls", max));
        }
        Step::Continue
    }

    /// Sends a part of the response. Some agents begin and end their responses with empty parts, which are not sent.
    async fn message(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        let room = MAX_TEXT_BYTES.saturating_sub(self.text.len());
        let end = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        self.text.push_str(text.get(..end).unwrap_or_default());
        let content = Content::AiResponse { text, partial: true, confidence: None, tokens: None };
        self.run.stream.send(content).await;
    }

    async fn send_whole_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            let content = Content::AiResponse { text, partial: false, confidence: None, tokens: None };
            self.run.stream.send(content).await;
        }
    }

    async fn plan(&mut self, entries: &[(bool, String)]) {
        let total = entries.len().max(1);
        let done = entries.iter().filter(|(is_complete, _)| *is_complete).count();
        let next = entries.iter().find(|(is_complete, _)| !is_complete).map_or("", |(_, text)| text);
        let content = Content::Progress {
            percentage: (done * 100 / total) as u64,
            phase: "plan",
            description: "The plan of the agent for this incident".to_owned(),
            current_step: next.to_owned(),
            total_steps: entries.len(),
        };
        self.run.stream.send(content).await;
    }

    async fn permission(&mut self, request: Box<PermissionRequest>, reply: oneshot::Sender<Value>) {
        let run = self.run;
        let tool = self.tools.merge(&request.tool_call);
        tool.send(run, ToolStatus::Pending).await;
        let permission = tool.ask(run);
        let (title, diffs) = (tool.title(), tool.diffs.clone());
        if permission == Permission::Approve {
            self.ask_permission(request, reply, title, diffs).await;
            return;
        }
        let answer = if permission == Permission::Allow { Answer::Approved } else { Answer::Denied };
        self.answer_permission(&request, reply, answer).await;
    }

    /// Proposes the changes of a tool, and asks the client.
    async fn ask_permission(
        &mut self,
        request: Box<PermissionRequest>,
        reply: oneshot::Sender<Value>,
        title: String,
        diffs: Vec<Diff>,
    ) {
        let run = self.run;
        let mut shown = Vec::new();
        for diff in diffs {
            let Ok(path) = self.copy.resolve(&diff.path, self.workspace) else { continue };
            if self.propose(&path, diff.old.clone(), diff.new.clone()).await.is_err() {
                self.answer_permission(&request, reply, Answer::Denied).await;
                return;
            }
            shown.push((path, diff));
        }
        let (kind, prompt) = match shown.last() {
            Some((path, _)) => (InteractionKind::FileApproval, format!("Apply this fix to {path}?")),
            None => (InteractionKind::ToolPermission, format!("Run the tool \"{title}\"?")),
        };
        self.questions.push(Box::pin(async move {
            let answer = run.ask(kind, prompt).await;
            Answered::Permission(request, reply, answer, shown)
        }));
    }

    /// Answers a permission request. Returns whether the agent may run the tool.
    async fn answer_permission(
        &mut self,
        request: &PermissionRequest,
        reply: oneshot::Sender<Value>,
        answer: Answer,
    ) -> bool {
        let run = self.run;
        let (status, response) = match (answer, request.allowed()) {
            (Answer::Stopped, _) => return false,
            (Answer::Approved, Some(response)) => (ToolStatus::Approved, response),
            (Answer::Approved, None) => {
                let title = request.tool_call.title.clone().unwrap_or_default();
                let message = format!("the agent offers no permission for one use of \"{title}\"; it is denied");
                run.stream.system(Level::Warning, "acp", message).await;
                (ToolStatus::Denied, request.rejected())
            }
            (Answer::Denied, _) => (ToolStatus::Denied, request.rejected()),
            (Answer::Silence, _) => (ToolStatus::Timeout, request.rejected()),
        };
        self.tools.merge(&request.tool_call).send(run, status).await;
        let is_allowed = status == ToolStatus::Approved;
        self.has_denied |= !is_allowed;
        // An agent that has ended needs no response.
        let _ = reply.send(response);
        is_allowed
    }

    async fn answered(&mut self, answered: Answered) {
        match answered {
            Answered::Permission(request, reply, answer, shown) => {
                if self.answer_permission(&request, reply, answer).await {
                    for (path, diff) in shown {
                        self.approved.entry(path).or_default().push(Approval::Diff(diff));
                    }
                }
            }
            Answered::Write(path, content, reply, answer) => self.answer_write(path, content, reply, answer).await,
            Answered::Read(path, request, reply, answer) => self.answer_read(&path, &request, reply, answer).await,
        }
    }

    /// Proposes a change that needs approval.
    ///
    /// # Errors
    /// If the change cannot be applied or shown. The client has then received the error.
    async fn propose(
        &mut self,
        path: &RelativePath,
        before: Option<String>,
        after: String,
    ) -> Result<(), WorkspaceError> {
        let (workspace, file) = (Arc::clone(self.workspace), path.clone());
        let proposed = on_thread(move || {
            let (before, after) = (before.map(String::into_bytes), after.into_bytes());
            let Some(proposal) = proposal(&file, before, Some(after)) else { return Ok(None) };
            workspace.check_included(&file)?;
            match workspace.check_change(&file) {
                // The file is new.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                checked => checked?,
            }
            check_size(&proposal)?;
            Ok(Some(proposal))
        });
        match proposed.await {
            Ok(None) => {}
            Ok(Some(proposal)) => {
                self.run.stream.send(Content::proposal(self.run.next_proposal_id(), &proposal, true)).await;
            }
            Err(error) => {
                self.report_failed(path, &error).await;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Reports that a change of the agent cannot be applied or shown.
    async fn report_failed(&mut self, path: &RelativePath, error: &WorkspaceError) {
        let message = format!("{path} is not changed");
        self.error("FILE_MODIFICATION_FAILED", &message, &error.to_string(), error.remedy()).await;
    }

    async fn report_agent_error(&mut self, error: &RpcError) {
        self.error("AGENT_ERROR", &error.message, &error.to_string(), "Try again, or check the agent").await;
    }

    async fn error(&mut self, error_code: &'static str, message: &str, details: &str, action: &str) {
        let content = Content::Error {
            error_code,
            message: message.to_owned(),
            details: details.to_owned(),
            recoverable: true,
            suggested_action: action.to_owned(),
        };
        self.run.stream.send(content).await;
    }
}

/// The effect of an event on its turn.
enum Step {
    Continue,
    /// The turn and the request end with this error.
    Stop(Fault),
    /// The turn ends, and the request continues.
    StopTurn,
}

/// Runs work on files on a thread for blocking work.
async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    blocking(work).await.unwrap_or_else(|fault| Err(WorkspaceError::new(ErrorKind::Io, ".", fault.details())))
}

fn not_stopped() -> Fault {
    let seconds = CANCEL_GRACE.as_secs();
    Fault::reason(Code::Internal, "agent-not-stopped", format!("the agent did not stop within {seconds} s"))
}
