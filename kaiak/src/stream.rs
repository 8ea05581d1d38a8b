//! The seven notifications of a running `kaiak/generate_fix`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use portway::{CallError, Client, Context};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::limits::{MAX_LISTED, MAX_MESSAGE_BYTES, MAX_OUTPUT_BYTES};
use crate::rules::{Operation, Proposal, Risk};
use crate::time;
use crate::workspace::{ErrorKind, WorkspaceError};

/// The content of a notification.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Content {
    Progress {
        /// From 0 to 100.
        percentage: u64,
        phase: &'static str,
        description: String,
        current_step: String,
        total_steps: usize,
    },
    AiResponse {
        text: String,
        partial: bool,
        /// Null, because agents do not report it.
        confidence: Option<f64>,
        /// Null, because agents do not report it.
        tokens: Option<u64>,
    },
    ToolCall {
        tool_name: String,
        operation: String,
        parameters: Value,
        status: ToolStatus,
        /// Null unless the status is `completed` or `failed`.
        result: Option<ToolResult>,
    },
    UserInteraction {
        interaction_id: String,
        interaction_type: InteractionKind,
        prompt: String,
        options: Vec<&'static str>,
        default_response: &'static str,
        /// In seconds.
        timeout: u64,
    },
    FileModification {
        proposal_id: String,
        file_path: String,
        operation: Operation,
        diff: String,
        risk_level: Risk,
        requires_approval: bool,
    },
    Error {
        error_code: &'static str,
        message: String,
        details: String,
        recoverable: bool,
        suggested_action: String,
    },
    System {
        message: String,
        level: Level,
        component: &'static str,
    },
}

/// The status of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ToolStatus {
    Pending,
    Approved,
    Denied,
    Executing,
    Completed,
    Failed,
    Timeout,
}

/// The result of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ToolResult {
    pub(crate) success: bool,
    pub(crate) output: Option<String>,
    pub(crate) error: Option<String>,
    /// In milliseconds.
    pub(crate) execution_time: u64,
}

/// The kind of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InteractionKind {
    FileApproval,
    ToolPermission,
}

/// The level of a system notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Info,
    Warning,
}

impl Content {
    /// Returns the notification of a proposal.
    pub(crate) fn proposal(proposal_id: String, proposal: &Proposal, requires_approval: bool) -> Self {
        Self::FileModification {
            proposal_id,
            file_path: proposal.file_path.as_str().to_owned(),
            operation: proposal.operation,
            diff: proposal.diff.clone(),
            risk_level: proposal.risk,
            requires_approval,
        }
    }

    const fn method(&self) -> &'static str {
        match self {
            Self::Progress { .. } => "kaiak/stream/progress",
            Self::AiResponse { .. } => "kaiak/stream/ai_response",
            Self::ToolCall { .. } => "kaiak/stream/tool_call",
            Self::UserInteraction { .. } => "kaiak/stream/user_interaction",
            Self::FileModification { .. } => "kaiak/stream/file_modification",
            Self::Error { .. } => "kaiak/stream/error",
            Self::System { .. } => "kaiak/stream/system",
        }
    }
}

/// The params of a notification.
#[derive(Serialize)]
struct Message<'a> {
    session_id: &'a str,
    request_id: &'a str,
    message_id: String,
    timestamp: String,
    content: Value,
}

/// The bytes of a notification that are reserved for the members beside its content.
const ENVELOPE_BYTES: usize = 1_024;

/// Maximum bytes of the content of a notification, as JSON.
const MAX_CONTENT_BYTES: usize = MAX_MESSAGE_BYTES - ENVELOPE_BYTES;

/// Checks that a proposal fits into a notification. A client must see a whole change before it approves the change.
///
/// # Errors
/// [`ErrorKind::TooLarge`]. JSON may need six bytes for one byte of a diff.
pub(crate) fn check_size(proposal: &Proposal) -> Result<(), WorkspaceError> {
    let content = Content::proposal(String::new(), proposal, true);
    let bytes = serde_json::to_string(&content).map_or(usize::MAX, |json| json.len());
    if bytes <= MAX_CONTENT_BYTES {
        return Ok(());
    }
    let message = format!("the change must have at most {MAX_CONTENT_BYTES} bytes in a notification, got {bytes}");
    Err(WorkspaceError::new(ErrorKind::TooLarge, proposal.file_path.as_str(), message))
}

/// Cuts the texts and lists of a content, so that its notification is not too long.
fn cut_content(content: &mut Value) {
    match content {
        Value::String(text) => *text = cut_output(text),
        Value::Array(elements) => {
            elements.truncate(MAX_LISTED);
            elements.iter_mut().for_each(cut_content);
        }
        Value::Object(members) => members.values_mut().for_each(cut_content),
        _ => {}
    }
}

/// Sends the notifications of one request.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) session_id: String,
    pub(crate) request_id: String,
    context: Context,
    client: Client,
    /// The number of messages of the session. The lock keeps the messages in the order of their numbers.
    count: Mutex<Arc<AtomicU64>>,
}

impl Stream {
    pub(crate) fn new(
        session_id: String,
        request_id: String,
        context: Context,
        client: Client,
        count: Arc<AtomicU64>,
    ) -> Self {
        Self { session_id, request_id, context, client, count: Mutex::new(count) }
    }

    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    /// Sends a notification. Waits while the client does not read. After the response, the notification is dropped.
    pub(crate) async fn send(&self, content: Content) {
        let count = self.count.lock().await;
        // The id is `None` after the response: no notification may follow it.
        if self.context.id().is_none() {
            return;
        }
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        let method = content.method();
        let Ok(mut content) = serde_json::to_value(&content) else { return };
        if content.to_string().len() > MAX_CONTENT_BYTES {
            cut_content(&mut content);
        }
        let (session_id, request_id) = (self.session_id.as_str(), self.request_id.as_str());
        let (message_id, timestamp) = (format!("msg-{number}"), time::now());
        let message = Message { session_id, request_id, message_id, timestamp, content };
        while self.context.id().is_some() && self.context.notify(method, &message) == Err(CallError::Congested) {
            self.client.ready().await;
        }
    }

    pub(crate) async fn system(&self, level: Level, component: &'static str, message: impl Into<String>) {
        self.send(Content::System { message: message.into(), level, component }).await;
    }
}

/// Returns the beginning of a tool's output, of at most 64 KiB.
pub(crate) fn cut_output(text: &str) -> String {
    const MARK: &str = "\n[cut]";
    if text.len() <= MAX_OUTPUT_BYTES {
        return text.to_owned();
    }
    let end = (0..=MAX_OUTPUT_BYTES - MARK.len()).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}{MARK}", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{MAX_OUTPUT_BYTES, cut_output};

    #[test]
    fn a_long_output_is_cut_to_64_kib_between_two_characters() {
        assert_eq!(cut_output(&"a".repeat(MAX_OUTPUT_BYTES)), "a".repeat(MAX_OUTPUT_BYTES));
        let cut = cut_output(&"é".repeat(MAX_OUTPUT_BYTES));
        assert!(cut.len() <= MAX_OUTPUT_BYTES && cut.len() > MAX_OUTPUT_BYTES - 3, "{}", cut.len());
        assert!(cut.ends_with("é\n[cut]"));
    }
}
