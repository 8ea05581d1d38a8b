//! Requests and notifications.

use super::{Id, Payload};

/// A call that wants a response (JSON-RPC 2.0 §4).
pub struct Request<P: Payload> {
    /// Comes back in the response.
    pub id: Id,
    /// What to do.
    pub method: P::Method,
    /// An array or an object; `None` if the member is left out.
    pub params: Option<P>,
}

/// A call that gets no response (JSON-RPC 2.0 §4.1).
pub struct Notification<P: Payload> {
    /// What happened.
    pub method: P::Method,
    /// An array or an object; `None` if the member is left out.
    pub params: Option<P>,
}

// Derives would ask for bounds on `P` alone; the fields have types that belong to it.
impl<P: Payload + core::fmt::Debug> core::fmt::Debug for Request<P>
where
    P::Method: core::fmt::Debug,
{
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Request")
            .field("id", &self.id)
            .field("method", &self.method)
            .field("params", &self.params)
            .finish()
    }
}

impl<P: Payload + Clone> Clone for Request<P>
where
    P::Method: Clone,
{
    fn clone(&self) -> Self {
        Self { id: self.id.clone(), method: self.method.clone(), params: self.params.clone() }
    }
}

impl<P: Payload + PartialEq> PartialEq for Request<P>
where
    P::Method: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.method == other.method && self.params == other.params
    }
}

impl<P: Payload + core::fmt::Debug> core::fmt::Debug for Notification<P>
where
    P::Method: core::fmt::Debug,
{
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Notification").field("method", &self.method).field("params", &self.params).finish()
    }
}

impl<P: Payload + Clone> Clone for Notification<P>
where
    P::Method: Clone,
{
    fn clone(&self) -> Self {
        Self { method: self.method.clone(), params: self.params.clone() }
    }
}

impl<P: Payload + PartialEq> PartialEq for Notification<P>
where
    P::Method: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        self.method == other.method && self.params == other.params
    }
}
