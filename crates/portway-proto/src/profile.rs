//! Profiles: the differences between protocols that are built on JSON-RPC 2.0.
//!
//! A profile is plain data. The connection and the JSON codec read the profile, and contain no code for a particular
//! protocol.

use crate::Limits;

/// The dialect of JSON-RPC 2.0 that a peer uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// The reaction to a batch array (JSON-RPC 2.0 §6).
    pub batch: BatchPolicy,
    /// Whether requests may overlap.
    pub ordering: Ordering,
    /// Whether `params: null` is accepted as absent. The specification allows arrays and objects only (§4.2), but some
    /// peers send null for a request without arguments.
    pub null_params_are_absent: bool,
    /// Whether a message without `jsonrpc: "2.0"` is ignored. Set this field to true for a transport that other
    /// software also uses. If false, a message without `jsonrpc: "2.0"` is answered with -32600, unless the message is
    /// a response.
    pub foreign_is_ignored: bool,
    /// The notification that cancels a request. Transports other than byte streams support only
    /// [`CancelNotification::LSP`].
    pub cancel: &'static CancelNotification,
    /// The notification that reports the progress of a request. Transports other than byte streams support only
    /// [`ProgressNotification::LSP`].
    pub progress: &'static ProgressNotification,
    /// The rules that apply in addition to JSON-RPC 2.0. This field requires the feature `mcp`.
    #[cfg(feature = "mcp")]
    pub dialect: Dialect,
}

/// Rules for params, results, ids and cancellation that apply in addition to JSON-RPC 2.0.
#[cfg(feature = "mcp")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// No additional rules.
    JsonRpc,
    /// The rules of the Model Context Protocol, see [`Profile::MCP`].
    Mcp,
}

/// The notification that cancels a request, with the params `{ <member>: <id>, <reason>: <text> }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelNotification {
    /// The method.
    pub method: &'static str,
    /// The name of the member for the id of the request.
    pub member: &'static str,
    /// The name of the member for an optional reason, which is a text for people. `None` if the protocol has no member
    /// for a reason.
    pub reason: Option<&'static str>,
}

impl CancelNotification {
    /// `$/cancelRequest`, `{ id }` (Language Server Protocol 3.17).
    pub const LSP: Self = Self { method: "$/cancelRequest", member: "id", reason: None };
    /// `$/cancel_request`, `{ requestId }` (Agent Client Protocol).
    pub const ACP: Self = Self { method: "$/cancel_request", member: "requestId", reason: None };
    /// `notifications/cancelled`, `{ requestId, reason }` (Model Context Protocol 2025-11-25, utilities/cancellation).
    #[cfg(feature = "mcp")]
    pub const MCP: Self = Self { method: "notifications/cancelled", member: "requestId", reason: Some("reason") };
}

/// The notification that reports the progress of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressNotification {
    /// The method.
    pub method: &'static str,
    /// The name of the member for the token, which is the id of the request.
    pub token: &'static str,
    /// The place of the value in the params.
    pub value: ProgressValue,
}

impl ProgressNotification {
    /// `$/progress`, `{ token, value }` (Language Server Protocol 3.17).
    pub const LSP: Self = Self { method: "$/progress", token: "token", value: ProgressValue::Member("value") };
    /// `notifications/progress`, `{ progressToken, progress, total, message }` (Model Context Protocol 2025-11-25,
    /// utilities/progress).
    #[cfg(feature = "mcp")]
    pub const MCP: Self =
        Self { method: "notifications/progress", token: "progressToken", value: ProgressValue::Params };
}

/// The place of the value in the params of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressValue {
    /// The value is in a member with this name.
    Member(&'static str),
    /// The value is an object. Its members are members of the params, next to the token.
    Params,
}

/// The reaction to a batch array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchPolicy {
    /// Handles the messages in the array.
    Accept,
    /// Answers the whole array with one error: -32600, the id null, and the `data.reason` `batch-not-supported`. The
    /// responses in the array still end their calls. An array of responses alone is not answered.
    Reject,
}

/// Whether requests may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordering {
    /// Requests may overlap. Each request is answered when its handler has finished.
    Concurrent,
    /// Requests run one at a time, in the order of arrival. A notification waits until all earlier requests are
    /// answered.
    Sequential,
}

impl Profile {
    /// Returns the maximum number of messages in an incoming batch, not counting responses. A batch with more messages
    /// is refused. Returns 0 if the profile rejects batches.
    #[must_use]
    pub const fn max_batch_items(&self, limits: &Limits) -> usize {
        match self.batch {
            BatchPolicy::Accept => limits.batch_items,
            BatchPolicy::Reject => 0,
        }
    }

    /// JSON-RPC 2.0 as in the specification.
    pub const GENERIC: Self = Self {
        batch: BatchPolicy::Accept,
        ordering: Ordering::Concurrent,
        null_params_are_absent: true,
        foreign_is_ignored: false,
        cancel: &CancelNotification::LSP,
        progress: &ProgressNotification::LSP,
        #[cfg(feature = "mcp")]
        dialect: Dialect::JsonRpc,
    };

    /// The profile of transports in a browser. Other software may use the same transport.
    pub const MESSAGE_BOUNDARY: Self = Self { foreign_is_ignored: true, ..Self::GENERIC };

    /// The Language Server Protocol: no batches. Requests may overlap, so that a slow request does not delay other
    /// requests, and `$/cancelRequest` can cancel a running request.
    pub const LSP: Self = Self { batch: BatchPolicy::Reject, ..Self::GENERIC };

    /// Servers such as `duet-rpc` that handle one request at a time, in the order of arrival. They accept no batches.
    pub const DAEMON: Self = Self { ordering: Ordering::Sequential, ..Self::LSP };

    /// The Agent Client Protocol of editors and agents: no batches, and another notification for cancellation.
    pub const ACP: Self = Self { batch: BatchPolicy::Reject, cancel: &CancelNotification::ACP, ..Self::GENERIC };

    /// The Kaiak agent interface: no batches. Requests may overlap, because a running handler may send a request and
    /// wait for the response.
    pub const KAIAK: Self = Self { batch: BatchPolicy::Reject, ..Self::GENERIC };

    /// The Model Context Protocol: no batches, and notifications of its own for cancellation and progress. The driver
    /// for byte streams also follows these rules:
    ///
    /// - A request that the peer has cancelled is not answered.
    /// - Neither peer can cancel `initialize` and `server/discover`.
    /// - Params and results are objects. A request whose params are an array is refused with -32600 and the
    ///   `data.reason` `params-not-object`. Such a notification is ignored. If a handler returns nothing, its result is
    ///   `{}`.
    /// - The params of a call with a progress callback contain the id of the call as `_meta.progressToken`. A handler
    ///   sends progress only if its request has a progress token.
    /// - A request with the id null is refused.
    /// - Methods that begin with `rpc.` are neither sent nor served, so streams are refused.
    #[cfg(feature = "mcp")]
    pub const MCP: Self = Self {
        batch: BatchPolicy::Reject,
        cancel: &CancelNotification::MCP,
        progress: &ProgressNotification::MCP,
        dialect: Dialect::Mcp,
        ..Self::GENERIC
    };

    /// Returns whether the rules of the Model Context Protocol apply. Without the feature `mcp`, returns false.
    #[must_use]
    pub const fn is_mcp(&self) -> bool {
        #[cfg(feature = "mcp")]
        return matches!(self.dialect, Dialect::Mcp);
        #[cfg(not(feature = "mcp"))]
        return false;
    }
}
