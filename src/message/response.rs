//! Responses.

use super::{Id, Payload};

/// The answer to a request (JSON-RPC 2.0 §5).
pub struct Response<P: Payload> {
    /// The id of the request; [`Id::Null`] if it could not be read.
    pub id: Id,
    /// The result, or the error: a response cannot have both.
    pub outcome: Result<P, P::Error>,
}

impl<P: Payload + core::fmt::Debug> core::fmt::Debug for Response<P>
where
    P::Error: core::fmt::Debug,
{
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Response").field("id", &self.id).field("outcome", &self.outcome).finish()
    }
}

impl<P: Payload + Clone> Clone for Response<P>
where
    P::Error: Clone,
{
    fn clone(&self) -> Self {
        Self { id: self.id.clone(), outcome: self.outcome.clone() }
    }
}

impl<P: Payload + PartialEq> PartialEq for Response<P>
where
    P::Error: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.outcome == other.outcome
    }
}
