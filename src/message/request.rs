//! Requests and notifications.

use super::Payload;

/// A call that wants a response (JSON-RPC 2.0 §4).
#[derive(Debug)]
pub struct Request<P: Payload> {
    /// Comes back in the response.
    pub id: P::Id,
    /// What to do.
    pub method: P::Method,
    /// An array or an object; `None` if the member is left out.
    pub params: Option<P>,
}

/// A call that gets no response (JSON-RPC 2.0 §4.1).
#[derive(Debug)]
pub struct Notification<P: Payload> {
    /// What happened.
    pub method: P::Method,
    /// An array or an object; `None` if the member is left out.
    pub params: Option<P>,
}
