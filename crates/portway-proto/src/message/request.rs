//! Requests and notifications.

use super::Payload;

/// A call that requires a response (JSON-RPC 2.0 §4).
#[derive(Debug)]
pub struct Request<P: Payload> {
    /// The id, which the response repeats.
    pub id: P::Id,
    /// The method.
    pub method: P::Method,
    /// An array or an object; `None` if the member is missing.
    pub params: Option<P>,
}

/// A call without a response (JSON-RPC 2.0 §4.1).
#[derive(Debug)]
pub struct Notification<P: Payload> {
    /// The method.
    pub method: P::Method,
    /// An array or an object; `None` if the member is missing.
    pub params: Option<P>,
}
