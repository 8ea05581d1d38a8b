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
        cancel: CancelNotification::LSP,
    };

    /// Boundaries of a browser, which others use too.
    pub const MESSAGE_BOUNDARY: Self = Self { foreign_is_ignored: true, ..Self::GENERIC };

    /// The Language Server Protocol: no batches. Requests overlap, so a slow one does not delay the others, and
    /// `$/cancelRequest` reaches a running one.
    pub const LSP: Self = Self { batch: BatchPolicy::Reject, ..Self::GENERIC };

    /// Daemons that handle one request at a time, in the order of arrival: no batches. `duet-rpc` is one.
    pub const DAEMON: Self = Self { ordering: Ordering::Sequential, ..Self::LSP };

    /// The Agent Client Protocol, which editors and agents speak: no batches, and a form of its own to cancel.
    pub const ACP: Self = Self { batch: BatchPolicy::Reject, cancel: CancelNotification::ACP, ..Self::GENERIC };

    /// The Kaiak agent interface: no batches; requests overlap, since an answer to a question may come while the request
    /// that asked it still runs.
    pub const KAIAK: Self = Self { batch: BatchPolicy::Reject, ..Self::GENERIC };
}
