//! The payload of a connection whose values stay in JavaScript.

use crate::message::{Fault, Payload};

/// Where JavaScript keeps a value: the place of an element in the frame at hand for what comes in, the slot of the
/// request for a reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token(pub(super) u32);

/// The error of a response.
#[derive(Clone, Copy, Debug)]
pub(super) enum TokenError {
    /// One that came from the peer.
    Remote(Token),
    /// One of the library's own.
    Fault(Fault),
}

impl From<Fault> for TokenError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Payload for Token {
    /// The name stays in JavaScript, too.
    type Method = ();
    type Error = TokenError;
}
