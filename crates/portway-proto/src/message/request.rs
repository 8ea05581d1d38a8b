//! Requests and notifications.

use super::Payload;

/// A message that requires a response (JSON-RPC 2.0 §4).
#[derive(Debug)]
pub struct Request<P: Payload> {
    /// The id of the request. The response has the same id.
    pub id: P::Id,
    /// The method.
    pub method: P::Method,
    /// An array or an object; `None` if the member is missing, or if it is null and the profile accepts null.
    pub params: Option<P>,
}

/// A message without a response (JSON-RPC 2.0 §4.1).
#[derive(Debug)]
pub struct Notification<P: Payload> {
    /// The method.
    pub method: P::Method,
    /// An array or an object; `None` if the member is missing, or if it is null and the profile accepts null.
    pub params: Option<P>,
}
