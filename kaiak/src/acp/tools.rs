//! The tools of a turn, and their notifications.

use std::collections::HashMap;
use std::time::Instant;

use serde_json::{Value, json};

use super::wire::{Diff, ToolCallUpdate};
use crate::limits::MAX_OUTPUT_BYTES;
use crate::permission::{Permission, tool};
use crate::run::Run;
use crate::stream::{Content, ToolResult, ToolStatus, cut_output};

/// The tools of a turn by their ids.
#[derive(Debug, Default)]
pub(super) struct Tools(HashMap<String, Tool>);

/// A tool of a turn.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    pub(super) title: Option<String>,
    /// The name of the tool itself, if the agent reports it.
    own_name: Option<String>,
    kind: Option<String>,
    parameters: Value,
    output: Option<String>,
    pub(super) diffs: Vec<Diff>,
    /// The last status that was sent.
    status: Option<ToolStatus>,
    /// Whether the agent has asked for permission.
    was_asked: bool,
    start: Instant,
}

/// The effect of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    /// A tool with the permission `deny` runs, although the agent has not asked.
    DeniedToolRuns,
}

impl Tools {
    /// Returns the number of tools that the agent has announced.
    pub(super) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns whether a tool has not ended.
    pub(super) fn has_open(&self) -> bool {
        self.0.values().any(|tool| !tool.has_ended())
    }

    pub(super) fn get(&self, id: &str) -> Option<&Tool> {
        self.0.get(id)
    }

    /// Adds the members of an update to a tool. An unknown tool is added.
    pub(super) fn merge(&mut self, update: &ToolCallUpdate) -> &mut Tool {
        let tool = self.0.entry(update.id.clone()).or_insert_with(Tool::new);
        tool.merge(update);
        tool
    }

    /// Handles an update of the agent, and sends its notification.
    pub(super) async fn update(&mut self, run: &Run, update: &ToolCallUpdate) -> Effect {
        let tool = self.merge(update);
        let status = match update.status.as_deref() {
            Some("in_progress") => ToolStatus::Executing,
            Some("completed") => ToolStatus::Completed,
            Some("failed") => ToolStatus::Failed,
            _ if tool.status.is_none() => ToolStatus::Pending,
            _ => return Effect::None,
        };
        let permission = tool.permission(run);
        if permission == Permission::Deny && !tool.was_asked && !matches!(status, ToolStatus::Pending) {
            tool.send(run, ToolStatus::Denied).await;
            return Effect::DeniedToolRuns;
        }
        tool.send(run, status).await;
        Effect::None
    }

    /// Sends the status `failed` for each tool that the agent has announced but not ended.
    pub(super) async fn end(&mut self, run: &Run) {
        for tool in self.0.values_mut().filter(|tool| tool.status.is_some() && !tool.has_ended()) {
            tool.output = Some("the turn ended before the tool".to_owned());
            tool.send(run, ToolStatus::Failed).await;
        }
    }
}

impl Tool {
    fn new() -> Self {
        Self {
            title: None,
            own_name: None,
            kind: None,
            parameters: Value::Null,
            output: None,
            diffs: Vec::new(),
            status: None,
            was_asked: false,
            start: Instant::now(),
        }
    }

    fn merge(&mut self, update: &ToolCallUpdate) {
        let ToolCallUpdate { id: _, title, name, kind, status: _, raw_input, output, diffs, locations } = update;
        let replace = |old: &mut Option<String>, new: &Option<String>| {
            if new.is_some() {
                old.clone_from(new);
            }
        };
        replace(&mut self.title, title);
        replace(&mut self.own_name, name);
        replace(&mut self.kind, kind);
        replace(&mut self.output, output);
        if let Some(input) = raw_input {
            self.parameters = cut_parameters(input);
        } else if self.parameters.is_null() && !locations.is_empty() {
            self.parameters = json!({ "locations": locations });
        }
        if !diffs.is_empty() {
            self.diffs.clone_from(diffs);
        }
    }

    /// Marks that the agent asks for permission for this tool. Returns the permission.
    pub(super) fn ask(&mut self, run: &Run) -> Permission {
        self.was_asked = true;
        self.permission(run)
    }

    fn permission(&self, run: &Run) -> Permission {
        run.configuration.permissions.tool_permissions.of(self.own_name.as_deref(), self.kind_name())
    }

    /// Returns the name of the tool's kind in the contract.
    fn kind_name(&self) -> &str {
        match self.kind.as_deref() {
            Some("read") => tool::READ_FILE,
            Some("edit" | "delete" | "move") => tool::WRITE_FILE,
            Some("execute") => tool::SHELL_COMMAND,
            Some("search" | "fetch") => tool::WEB_SEARCH,
            Some(other) => other,
            None => "other",
        }
    }

    const fn has_ended(&self) -> bool {
        use ToolStatus::{Completed, Denied, Failed, Timeout};
        matches!(self.status, Some(Completed | Denied | Failed | Timeout))
    }

    /// Returns the title, for a question.
    pub(super) fn title(&self) -> String {
        self.title.clone().unwrap_or_else(|| self.kind_name().to_owned())
    }

    /// Sends a status, unless the tool has ended or has this status already.
    pub(super) async fn send(&mut self, run: &Run, status: ToolStatus) {
        if self.has_ended() || self.status == Some(status) {
            return;
        }
        self.status = Some(status);
        let output = self.output.as_deref().map(cut_output);
        let execution_time = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let result = match status {
            ToolStatus::Completed => Some(ToolResult { success: true, output, error: None, execution_time }),
            ToolStatus::Failed => Some(ToolResult { success: false, output: None, error: output, execution_time }),
            _ => None,
        };
        let content = Content::ToolCall {
            tool_name: self.own_name.clone().unwrap_or_else(|| self.kind_name().to_owned()),
            operation: self.title(),
            parameters: self.parameters.clone(),
            status,
            result,
        };
        run.stream.send(content).await;
    }
}

/// Returns the parameters, or the beginning of their text if they are too long.
fn cut_parameters(parameters: &Value) -> Value {
    let text = parameters.to_string();
    if text.len() <= MAX_OUTPUT_BYTES { parameters.clone() } else { json!({ "cut": cut_output(&text) }) }
}
