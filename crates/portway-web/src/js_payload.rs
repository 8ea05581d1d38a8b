//! The payload of a connection whose values stay in JavaScript.

use portway_proto::message::{Fault, Payload, RequestId};

/// A reference to a value in JavaScript. For an incoming message, it is the index of the message in its batch. For an
/// outgoing response, it is the token under which JavaScript keeps the response.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsValueRef(pub(super) u32);

/// The error of a response.
#[derive(Clone, Copy, Debug)]
pub(super) enum JsError {
    /// An error from the peer.
    Remote(JsValueRef),
    /// An error of the library.
    Fault(Fault),
}

impl JsError {
    /// Returns the reference if the error is from the peer.
    pub(super) fn remote(self) -> Option<JsValueRef> {
        match self {
            Self::Remote(element) => Some(element),
            Self::Fault(_) => None,
        }
    }
}

impl From<Fault> for JsError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// An id as a number, which `abi.rs` describes. `i64::MIN` is the id null.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct JsId(pub(super) i64);

impl RequestId for JsId {
    const NULL: Self = Self(i64::MIN);

    fn from_call(call: u64) -> Self {
        Self(call as i64)
    }

    fn to_call(&self) -> Option<u64> {
        u64::try_from(self.0).ok()
    }
}

impl Payload for JsValueRef {
    type Id = JsId;
    /// The method name stays in JavaScript.
    type Method = ();
    type Error = JsError;
    /// JavaScript keeps the messages of a batch only while it handles the batch. So the connection cannot queue a
    /// message.
    const CAN_WAIT: bool = false;
}
