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
    /// The notification that cancels a request. Only byte streams support other forms than the default.
    pub cancel: &'static CancelNotification,
    /// The notification of progress. Only byte streams support other forms than the default.
    pub progress: &'static ProgressNotification,
}

/// The notification that cancels a request, with the params `{ <member>: <id>, <reason>: <text> }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelNotification {
    /// The method.
    pub method: &'static str,
    /// The member of the params that holds the id of the request.
    pub member: &'static str,
    /// The member of the params that may hold a reason, as a text for people; `None` if there is none.
    pub reason: Option<&'static str>,
}

impl CancelNotification {
    /// `$/cancelRequest`, `{ id }` (Language Server Protocol 3.17).
    pub const LSP: Self = Self { method: "$/cancelRequest", member: "id", reason: None };
    /// `$/cancel_request`, `{ requestId }` (Agent Client Protocol).
    pub const ACP: Self = Self { method: "$/cancel_request", member: "requestId", reason: None };
}

/// The notification of the progress of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressNotification {
    /// The method.
    pub method: &'static str,
    /// The member of the params that holds the token, which is the id of the request.
    pub token: &'static str,
    /// The place of the value.
    pub value: ProgressValue,
}

impl ProgressNotification {
    /// `$/progress`, `{ token, value }` (Language Server Protocol 3.17).
    pub const LSP: Self = Self { method: "$/progress", token: "token", value: ProgressValue::Member("value") };
}

/// The place of the value in the params of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressValue {
    /// A member with this name.
    Member(&'static str),
    /// The params themselves: the value is an object, whose members stand beside the token.
    Params,
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
        cancel: &CancelNotification::LSP,
        progress: &ProgressNotification::LSP,
    };

    /// Transports of a browser, which are shared with other software.
    pub const MESSAGE_BOUNDARY: Self = Self { foreign_is_ignored: true, ..Self::GENERIC };

    /// The Language Server Protocol: no batches. Requests overlap, so a slow one does not delay the others, and
    /// `$/cancelRequest` reaches a running one.
    pub const LSP: Self = Self { batch: BatchPolicy::Reject, ..Self::GENERIC };

    /// Daemons that handle one request at a time, in the order of arrival: no batches. `duet-rpc` is one.
    pub const DAEMON: Self = Self { ordering: Ordering::Sequential, ..Self::LSP };

    /// The Agent Client Protocol of editors and agents: no batches, and its own cancel notification.
    pub const ACP: Self = Self { batch: BatchPolicy::Reject, cancel: &CancelNotification::ACP, ..Self::GENERIC };

    /// The Kaiak agent interface: no batches. Requests overlap, since a running handler may send a request and wait for
    /// its response.
    pub const KAIAK: Self = Self { batch: BatchPolicy::Reject, ..Self::GENERIC };
}
