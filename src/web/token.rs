//! The payload of a connection whose values stay in JavaScript.

use crate::message::{Fault, Payload, RequestId};

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

impl TokenError {
    /// The element that it came with, if it came from the peer.
    pub(super) fn remote(self) -> Option<Token> {
        match self {
            Self::Remote(element) => Some(element),
            Self::Fault(_) => None,
        }
    }
}

impl From<Fault> for TokenError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// An id, as `core.rs` says that it crosses; `i64::MIN` stands for null.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct IdNumber(pub(super) i64);

impl RequestId for IdNumber {
    const NULL: Self = Self(i64::MIN);

    fn from_call(call: u64) -> Self {
        Self(call as i64)
    }

    fn to_call(&self) -> Option<u64> {
        u64::try_from(self.0).ok()
    }
}

impl Payload for Token {
    type Id = IdNumber;
    /// The name stays in JavaScript, too.
    type Method = ();
    type Error = TokenError;
    /// JavaScript has a frame only while it is handled.
    const CAN_WAIT: bool = false;
}
