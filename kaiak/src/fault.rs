//! The errors of the contract.

use portway::{ErrorCode, RpcError};
use serde_json::{Value, json};

use crate::limits::MAX_ECHO_CHARACTERS;
use crate::stream::cut_output;

/// The codes of the contract, and the standard codes that this program itself uses.
///
/// No command addresses a request by its `request_id`, so [`Code::RequestNotFound`] and
/// [`Code::RequestAlreadyCompleted`] never occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    Internal,
    RequestCancelled,
    SessionCreationFailed,
    WorkspaceAccessDenied,
    SessionNotFound,
    SessionAlreadyTerminated,
    SessionNotReady,
    AgentInitializationFailed,
    #[allow(dead_code, reason = "the list of the contract is complete")]
    RequestNotFound,
    #[allow(dead_code, reason = "the list of the contract is complete")]
    RequestAlreadyCompleted,
    InteractionNotFound,
    InteractionAlreadyResponded,
    ResponseValidationFailed,
    FileModificationFailed,
    ToolExecutionTimeout,
    Configuration,
    ResourceExhausted,
    SessionInUse,
}

impl Code {
    /// Returns the number of the code.
    pub(crate) const fn number(self) -> i64 {
        match self {
            Self::InvalidRequest => -32_600,
            Self::MethodNotFound => -32_601,
            Self::InvalidParams => -32_602,
            Self::Internal => -32_603,
            Self::RequestCancelled => -32_800,
            Self::SessionCreationFailed => -32_001,
            Self::WorkspaceAccessDenied => -32_002,
            Self::SessionNotFound => -32_003,
            Self::SessionAlreadyTerminated => -32_004,
            Self::SessionNotReady => -32_005,
            Self::AgentInitializationFailed => -32_006,
            Self::RequestNotFound => -32_007,
            Self::RequestAlreadyCompleted => -32_008,
            Self::InteractionNotFound => -32_009,
            Self::InteractionAlreadyResponded => -32_010,
            Self::ResponseValidationFailed => -32_011,
            Self::FileModificationFailed => -32_012,
            Self::ToolExecutionTimeout => -32_013,
            Self::Configuration => -32_014,
            Self::ResourceExhausted => -32_015,
            Self::SessionInUse => -32_016,
        }
    }

    /// Returns the message of the code.
    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::InvalidRequest => "Invalid Request",
            Self::MethodNotFound => "Method not found",
            Self::InvalidParams => "Invalid params",
            Self::Internal => "Internal error",
            Self::RequestCancelled => "Request cancelled",
            Self::SessionCreationFailed => "Session creation failed",
            Self::WorkspaceAccessDenied => "Workspace access denied",
            Self::SessionNotFound => "Session not found",
            Self::SessionAlreadyTerminated => "Session already terminated",
            Self::SessionNotReady => "Session not ready",
            Self::AgentInitializationFailed => "Agent initialization failed",
            Self::RequestNotFound => "Request not found",
            Self::RequestAlreadyCompleted => "Request already completed",
            Self::InteractionNotFound => "Interaction not found",
            Self::InteractionAlreadyResponded => "Interaction already responded",
            Self::ResponseValidationFailed => "Response validation failed",
            Self::FileModificationFailed => "File modification failed",
            Self::ToolExecutionTimeout => "Tool execution timeout",
            Self::Configuration => "Configuration error",
            Self::ResourceExhausted => "Resource exhausted",
            Self::SessionInUse => "Session is currently in use by another client",
        }
    }
}

/// An error response.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    /// The part of the message after the message of the code.
    detail: Option<String>,
    pub(crate) data: Value,
}

impl Fault {
    pub(crate) const fn new(code: Code, data: Value) -> Self {
        Self { code, detail: None, data }
    }

    /// Adds text to the message of the code.
    pub(crate) fn with_detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    /// Returns the error -32602 for a member of the params.
    pub(crate) fn params(field: impl Into<String>, details: impl Into<String>) -> Self {
        Self::new(Code::InvalidParams, json!({ "field": field.into(), "details": details.into() }))
    }

    /// Returns an error about a session.
    pub(crate) fn session(code: Code, session_id: &str) -> Self {
        Self::new(code, json!({ "session_id": echo(session_id) }))
    }

    /// Returns an error with the member `details`, and the member `reason` for programs.
    pub(crate) fn reason(code: Code, reason: &str, details: impl Into<String>) -> Self {
        Self::new(code, json!({ "reason": reason, "details": cut_output(&details.into()) }))
    }

    /// Returns the whole message.
    pub(crate) fn message(&self) -> String {
        let message = self.code.message();
        self.detail.as_ref().map_or_else(|| message.to_owned(), |detail| format!("{message}: {detail}"))
    }

    /// Returns the member `details` of the data, or the whole message.
    pub(crate) fn details(&self) -> String {
        self.data.get("details").and_then(Value::as_str).map_or_else(|| self.message(), str::to_owned)
    }
}

impl From<Fault> for RpcError {
    fn from(fault: Fault) -> Self {
        let error = Self::new(ErrorCode::new(fault.code.number()), fault.message());
        if fault.data.is_null() { error } else { error.with_data(&fault.data) }
    }
}

/// Returns the first characters of a text of the client.
pub(crate) fn echo(text: &str) -> &str {
    text.char_indices().nth(MAX_ECHO_CHARACTERS).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::{Code, echo};

    #[test]
    fn k28_each_code_has_the_number_and_the_message_of_the_contract() {
        let codes = [
            (Code::SessionCreationFailed, "Session creation failed"),
            (Code::WorkspaceAccessDenied, "Workspace access denied"),
            (Code::SessionNotFound, "Session not found"),
            (Code::SessionAlreadyTerminated, "Session already terminated"),
            (Code::SessionNotReady, "Session not ready"),
            (Code::AgentInitializationFailed, "Agent initialization failed"),
            (Code::RequestNotFound, "Request not found"),
            (Code::RequestAlreadyCompleted, "Request already completed"),
            (Code::InteractionNotFound, "Interaction not found"),
            (Code::InteractionAlreadyResponded, "Interaction already responded"),
            (Code::ResponseValidationFailed, "Response validation failed"),
            (Code::FileModificationFailed, "File modification failed"),
            (Code::ToolExecutionTimeout, "Tool execution timeout"),
            (Code::Configuration, "Configuration error"),
            (Code::ResourceExhausted, "Resource exhausted"),
            (Code::SessionInUse, "Session is currently in use by another client"),
        ];
        for ((code, message), number) in codes.into_iter().zip(1..) {
            assert_eq!((code.number(), code.message()), (-32_000 - number, message));
        }
    }

    #[test]
    fn an_echo_has_at_most_100_characters() {
        assert_eq!(echo("é"), "é");
        assert_eq!(echo(&"é".repeat(100)), "é".repeat(100));
        assert_eq!(echo(&"é".repeat(101)), "é".repeat(100));
    }
}
