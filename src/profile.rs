//! What differs between the protocols that are built on JSON-RPC 2.0.
//!
//! A profile is plain data: the core asks it, and knows no protocol by name.

/// How a peer reads JSON-RPC 2.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// What to do with a batch array (JSON-RPC 2.0 §6).
    pub batch: BatchPolicy,
    /// Whether requests may overlap.
    pub ordering: Ordering,
    /// Whether `params: null` means that there are none. The specification allows arrays and objects only (§4.2), but
    /// peers in the field send null for a call without arguments.
    pub null_params_are_absent: bool,
    /// Whether what does not say `jsonrpc: "2.0"` belongs to somebody else, and is passed over in silence. So on a
    /// boundary that others use too; a byte stream is ours alone, and there it is an error.
    pub foreign_is_ignored: bool,
    /// The names of the application's error codes.
    pub codes: &'static [(i64, &'static str)],
    /// How a caller says that it no longer wants an answer. Only byte streams know other forms than the default.
    pub cancel: CancelNotification,
}

/// The notification that takes a request back, `{ <member>: <id> }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelNotification {
    /// Its method.
    pub method: &'static str,
    /// The member of its params that has the id of the request.
    pub member: &'static str,
}

impl CancelNotification {
    /// `$/cancelRequest`, `{ id }` (Language Server Protocol 3.17).
    pub const LSP: Self = Self { method: "$/cancelRequest", member: "id" };
    /// `$/cancel_request`, `{ requestId }` (Agent Client Protocol).
    pub const ACP: Self = Self { method: "$/cancel_request", member: "requestId" };
}

/// What a peer does with a batch array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchPolicy {
    /// Serve it.
    Accept,
    /// Answer once with -32600, id null, `data.reason` `batch-not-supported`.
    Reject,
}

/// Whether requests may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordering {
    /// Requests run side by side; each is answered when it is done.
    Concurrent,
    /// One request at a time, answered in the order of arrival.
    Sequential,
}

impl Profile {
    /// JSON-RPC 2.0 as the specification has it.
    pub const GENERIC: Self = Self {
        batch: BatchPolicy::Accept,
        ordering: Ordering::Concurrent,
        null_params_are_absent: true,
        foreign_is_ignored: false,
        codes: &[],
        cancel: CancelNotification::LSP,
    };

    /// Boundaries of a browser, which others use too.
    pub const MESSAGE_BOUNDARY: Self = Self { foreign_is_ignored: true, codes: codes::WIGGUM, ..Self::GENERIC };

    /// The Language Server Protocol: no batches. Requests overlap, so a slow one does not delay the others, and
    /// `$/cancelRequest` reaches a running one.
    pub const LSP: Self = Self { batch: BatchPolicy::Reject, ..Self::GENERIC };

    /// Daemons that handle one request at a time, in the order of arrival: no batches. `duet-rpc` is one.
    pub const DAEMON: Self = Self { ordering: Ordering::Sequential, ..Self::LSP };

    /// The Agent Client Protocol, which editors and agents speak: no batches, and a form of its own to cancel.
    pub const ACP: Self = Self { batch: BatchPolicy::Reject, cancel: CancelNotification::ACP, ..Self::GENERIC };

    /// The Kaiak agent interface: no batches; requests overlap, since an answer to a question may come while the request
    /// that asked it still runs.
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
