//! Responses.

use super::{Id, Payload};

/// The answer to a request (JSON-RPC 2.0 §5).
#[derive(Debug)]
pub struct Response<P: Payload> {
    /// The id of the request; [`Id::Null`] if it could not be read.
    pub id: Id,
    /// The result, or the error: a response cannot have both.
    pub outcome: Result<P, P::Error>,
}
