//! The requests of an agent for files of its copy.

use std::sync::Arc;

use portway::{ErrorCode, RpcError};
use serde_json::{Value, json};

use super::{Answered, Approval, Turn, on_thread};
use crate::acp::client::{ReadRequest, Reply, WriteRequest};
use crate::acp::wire::RESOURCE_NOT_FOUND;
use crate::permission::{Permission, tool};
use crate::run::Answer;
use crate::stream::{Content, InteractionKind, ToolStatus};
use crate::workspace::{ErrorKind, RelativePath, WorkspaceError};

impl Turn<'_> {
    pub(super) async fn read(&mut self, request: ReadRequest, reply: Reply) {
        let run = self.run;
        let path = match self.copy.resolve(&request.path, self.workspace) {
            Ok(path) => path,
            Err(error) => {
                let _ = reply.send(Err(RpcError::invalid_params(error.to_string())));
                return;
            }
        };
        self.count_file_request();
        let permission = run.configuration.permissions.tool_permissions.of(None, tool::READ_FILE);
        let answer = match permission {
            Permission::Allow => Answer::Approved,
            Permission::Deny => Answer::Denied,
            Permission::Approve => {
                let prompt = format!("Read {path}?");
                self.questions.push(Box::pin(async move {
                    let answer = run.ask(InteractionKind::ToolPermission, prompt).await;
                    Answered::Read(path, request, reply, answer)
                }));
                return;
            }
        };
        self.answer_read(&path, &request, reply, answer).await;
    }

    pub(super) async fn answer_read(
        &mut self,
        path: &RelativePath,
        request: &ReadRequest,
        reply: Reply,
        answer: Answer,
    ) {
        let parameters = json!({ "file_path": path.as_str(), "line": request.line, "limit": request.limit });
        let (status, response) = match answer {
            Answer::Stopped => return,
            Answer::Approved => match self.read_copy(path).await {
                Ok(text) => (ToolStatus::Completed, Ok(json!({ "content": lines(&text, request) }))),
                Err(error) => {
                    let code = if error.kind() == ErrorKind::NotFound { RESOURCE_NOT_FOUND } else { -32_603 };
                    (ToolStatus::Failed, Err(RpcError::new(ErrorCode::new(code), error.to_string())))
                }
            },
            Answer::Denied => (ToolStatus::Denied, Err(denied(tool::READ_FILE))),
            Answer::Silence => (ToolStatus::Timeout, Err(unanswered(tool::READ_FILE))),
        };
        self.has_denied |= matches!(status, ToolStatus::Denied | ToolStatus::Timeout);
        self.file_tool(tool::READ_FILE, "fs/read_text_file", parameters, status).await;
        let _ = reply.send(response);
    }

    pub(super) async fn write(&mut self, request: WriteRequest, reply: Reply) {
        let run = self.run;
        let WriteRequest { path, content } = request;
        let path = match self.copy.resolve(&path, self.workspace) {
            Ok(path) => path,
            Err(error) => {
                let _ = reply.send(Err(RpcError::invalid_params(error.to_string())));
                return;
            }
        };
        self.count_file_request();
        if let Err(error) = self.workspace.check_included(&path) {
            self.report_failed(&path, &error).await;
            self.has_denied = true;
            let _ = reply.send(Err(RpcError::invalid_params(error.to_string())));
            return;
        }
        let answer = match self.write_permission() {
            Permission::Deny => Answer::Denied,
            // An allowed change is proposed at the end of the turn, and needs no approval.
            Permission::Allow => Answer::Approved,
            Permission::Approve if self.is_approved(&path, &content).await => Answer::Approved,
            Permission::Approve => {
                let before = self.read_copy(&path).await.ok();
                if let Err(error) = self.propose(&path, before, content.clone()).await {
                    self.has_denied = true;
                    let _ = reply.send(Err(RpcError::internal(error.to_string())));
                    return;
                }
                let prompt = format!("Apply this fix to {path}?");
                self.questions.push(Box::pin(async move {
                    let answer = run.ask(InteractionKind::FileApproval, prompt).await;
                    Answered::Write(path, content, reply, answer)
                }));
                return;
            }
        };
        self.answer_write(path, content, reply, answer).await;
    }

    pub(super) async fn answer_write(&mut self, path: RelativePath, content: String, reply: Reply, answer: Answer) {
        let parameters = json!({ "file_path": path.as_str(), "bytes": content.len() });
        let (status, response) = match answer {
            Answer::Stopped => return,
            Answer::Approved => match self.write_copy(&path, &content).await {
                Ok(()) => (ToolStatus::Completed, Ok(Value::Null)),
                Err(error) => (ToolStatus::Failed, Err(RpcError::internal(error.to_string()))),
            },
            Answer::Denied => (ToolStatus::Denied, Err(denied(tool::WRITE_FILE))),
            Answer::Silence => (ToolStatus::Timeout, Err(unanswered(tool::WRITE_FILE))),
        };
        self.has_denied |= status != ToolStatus::Completed;
        // With the permission `allow`, no approval is needed at the end of the turn.
        if status == ToolStatus::Completed && self.write_permission() == Permission::Approve {
            self.approve_content(path, content);
        }
        self.file_tool(tool::WRITE_FILE, "fs/write_text_file", parameters, status).await;
        let _ = reply.send(response);
    }

    fn write_permission(&self) -> Permission {
        self.run.configuration.permissions.tool_permissions.of(None, tool::WRITE_FILE)
    }

    /// Reads a file of the copy.
    async fn read_copy(&mut self, path: &RelativePath) -> Result<String, WorkspaceError> {
        let (copy, path) = (Arc::clone(self.copy), path.clone());
        on_thread(move || copy.read_text(&path)).await
    }

    /// Writes a file of the copy.
    async fn write_copy(&mut self, path: &RelativePath, content: &str) -> Result<(), WorkspaceError> {
        let (copy, path, content) = (Arc::clone(self.copy), path.clone(), content.to_owned());
        on_thread(move || copy.put(&path, content.as_bytes())).await
    }

    /// Records that the client has approved a content. A content is kept once, even if the agent writes it many times.
    fn approve_content(&mut self, path: RelativePath, content: String) {
        let approvals = self.approved.entry(path).or_default();
        approvals.retain(|approval| !matches!(approval, Approval::Content(known) if *known == content));
        approvals.push(Approval::Content(content));
    }

    /// Returns whether the client has approved this content of a file in this turn.
    async fn is_approved(&mut self, path: &RelativePath, content: &str) -> bool {
        if !self.approved.contains_key(path) {
            return false;
        }
        let before = self.read_copy(path).await.unwrap_or_default();
        let is_same = |approval: &Approval| approval.applied_to(&before) == content;
        self.approved.get(path).is_some_and(|approvals| approvals.iter().any(is_same))
    }

    /// Counts a request for a file. If a tool is open, the request is a part of this tool, and is not counted.
    fn count_file_request(&mut self) {
        if !self.tools.has_open() {
            self.file_requests += 1;
        }
    }

    /// Sends the notification of a request for a file. If a tool is open, the request is a part of this tool, and has
    /// no notification.
    async fn file_tool(&mut self, name: &str, operation: &str, parameters: Value, status: ToolStatus) {
        if self.tools.has_open() {
            return;
        }
        let (tool_name, operation) = (name.to_owned(), operation.to_owned());
        self.run.stream.send(Content::ToolCall { tool_name, operation, parameters, status, result: None }).await;
    }
}

fn denied(name: &str) -> RpcError {
    RpcError::new(ErrorCode::new(-32_000), format!("the user has denied {name}"))
}

fn unanswered(name: &str) -> RpcError {
    RpcError::new(ErrorCode::new(-32_000), format!("the user has not answered in time whether {name} may run"))
}

/// Returns the requested lines of a text.
fn lines(text: &str, request: &ReadRequest) -> String {
    let skipped = usize::try_from(request.line.unwrap_or(1).saturating_sub(1)).unwrap_or(usize::MAX);
    let limit = request.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    text.split_inclusive('\n').skip(skipped).take(limit).collect()
}
