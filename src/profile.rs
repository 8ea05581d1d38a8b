//! Profiles: the differences between protocols that are built on JSON-RPC 2.0.
//!
//! A profile is plain data. The core reads it, and knows no protocol by name.

/// The dialect of JSON-RPC 2.0 that a peer uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// The reaction to a batch array (JSON-RPC 2.0 §6).
    pub batch: BatchPolicy,
    /// Whether requests may overlap.
    pub ordering: Ordering,
    /// Whether `params: null` is accepted as absent. The specification allows arrays and objects only (§4.2), but some
    /// peers send null for a call without arguments.
    pub null_params_are_absent: bool,
    /// Whether a message without `jsonrpc: "2.0"` is ignored. This is right for a transport that is shared with other
    /// software. On a byte stream such a message is an error.
    pub foreign_is_ignored: bool,
    /// The names of the application's error codes.
    pub codes: &'static [(i64, &'static str)],
    /// The notification that cancels a request. Only byte streams support other forms than the default.
    pub cancel: CancelNotification,
}

/// The notification that cancels a request, with the params `{ <member>: <id> }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelNotification {
    /// The method.
    pub method: &'static str,
    /// The member of the params that holds the id of the request.
    pub member: &'static str,
}

impl CancelNotification {
    /// `$/cancelRequest`, `{ id }` (Language Server Protocol 3.17).
    pub const LSP: Self = Self { method: "$/cancelRequest", member: "id" };
    /// `$/cancel_request`, `{ requestId }` (Agent Client Protocol).
    pub const ACP: Self = Self { method: "$/cancel_request", member: "requestId" };
}

/// The reaction to a batch array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchPolicy {
    /// Handles it.
    Accept,
    /// Answers it once with -32600, the id null and `data.reason` `batch-not-supported`.
    Reject,
}

/// Whether requests may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordering {
    /// Requests run side by side. Each is answered when its handler has finished.
    Concurrent,
    /// One request at a time, answered in the order of arrival.
    Sequential,
}

impl Profile {
    /// JSON-RPC 2.0 by the specification.
    pub const GENERIC: Self = Self {
        batch: BatchPolicy::Accept,
        ordering: Ordering::Concurrent,
        null_params_are_absent: true,
        foreign_is_ignored: false,
        codes: &[],
        cancel: CancelNotification::LSP,
    };

    /// Transports of a browser, which are shared with other software.
    pub const MESSAGE_BOUNDARY: Self = Self { foreign_is_ignored: true, codes: codes::WIGGUM, ..Self::GENERIC };

    /// The Language Server Protocol: no batches. Requests overlap, so a slow one does not delay the others, and
    /// `$/cancelRequest` reaches a running one.
    pub const LSP: Self = Self { batch: BatchPolicy::Reject, ..Self::GENERIC };

    /// Daemons that handle one request at a time, in the order of arrival: no batches. `duet-rpc` is one.
    pub const DAEMON: Self = Self { ordering: Ordering::Sequential, ..Self::LSP };

    /// The Agent Client Protocol of editors and agents: no batches, and its own cancel notification.
    pub const ACP: Self = Self { batch: BatchPolicy::Reject, cancel: CancelNotification::ACP, ..Self::GENERIC };

    /// The Kaiak agent interface: no batches. Requests overlap, since a running request may ask a question whose answer
    /// comes meanwhile.
    pub const KAIAK: Self = Self { batch: BatchPolicy::Reject, codes: codes::KAIAK, ..Self::GENERIC };

    /// The name of an error code in this profile, as [`codes`] lists them.
    #[must_use]
    pub fn code_name(&self, code: i64) -> Option<&'static str> {
        self.codes.iter().find(|(number, _)| *number == code).map(|(_, name)| *name)
    }
}

/// Error codes of applications. The same number means different things in different tables.
pub mod codes {
    /// Codes of in-browser builders, previews and agents.
    pub const WIGGUM: &[(i64, &str)] = &[
        (-32001, "BUILD_FAILED"),
        (-32002, "GATE_FAILED"),
        (-32003, "PERMISSION_DENIED"),
        (-32004, "TASK_CANCELLED"),
        (-32005, "PREVIEW_LOAD_FAILED"),
        (-32006, "NAVIGATION_FAILED"),
        (-32007, "MCP_SERVER_ERROR"),
        (-32008, "CONTEXT_OVERFLOW"),
    ];

    /// Codes of the Kaiak agent interface.
    pub const KAIAK: &[(i64, &str)] = &[
        (-32001, "SESSION_CREATION_FAILED"),
        (-32002, "WORKSPACE_ACCESS_DENIED"),
        (-32003, "SESSION_NOT_FOUND"),
        (-32004, "SESSION_ALREADY_TERMINATED"),
        (-32005, "SESSION_NOT_READY"),
        (-32006, "AGENT_INITIALIZATION_FAILED"),
        (-32007, "REQUEST_NOT_FOUND"),
        (-32008, "REQUEST_ALREADY_COMPLETED"),
        (-32009, "INTERACTION_NOT_FOUND"),
        (-32010, "INTERACTION_ALREADY_RESPONDED"),
        (-32011, "RESPONSE_VALIDATION_FAILED"),
        (-32012, "FILE_MODIFICATION_FAILED"),
        (-32013, "TOOL_EXECUTION_TIMEOUT"),
        (-32014, "CONFIGURATION_ERROR"),
        (-32015, "RESOURCE_EXHAUSTED"),
        (-32016, "SESSION_IN_USE"),
    ];
}
