//! Responses.

use super::Payload;

/// The response to a request (JSON-RPC 2.0 §5).
#[derive(Debug)]
pub struct Response<P: Payload> {
    /// The id of the request, or null if that id could not be read.
    pub id: P::Id,
    /// The result or the error. A response cannot have a result and an error.
    pub outcome: Result<P, P::Error>,
}
