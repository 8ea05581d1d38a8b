//! The payload of a connection whose values stay in JavaScript.

use portway_proto::message::{Fault, Payload, RequestId};

/// A reference to a value in JavaScript: the index of an element in the current frame for an incoming message, the slot
/// of the request for a response.
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
    /// Returns the element of an error from the peer.
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

/// An id as a number, see `abi.rs`; `i64::MIN` is null.
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
    /// JavaScript keeps a frame only while it handles it, so an element cannot be queued.
    const CAN_WAIT: bool = false;
}
