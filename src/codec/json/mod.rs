//! JSON text (RFC 8259) ↔ messages whose payloads stay text.
//!
//! [`decode`] reads the envelope and nothing else. Payloads are [`RawValue`]s: `params`, `result` and `data` reach the
//! application, or the wire again, digit for digit as the peer wrote them, and ids keep their text.
//!
//! What is read, and what is not:
//!
//! - Text is UTF-8 without a byte order mark; a mark is answered as text that is no JSON is, with -32700.
//! - One message, or one batch, fills the whole text. Anything but white space after it is -32700.
//! - A number too large for a double (`1e400`) and half of a surrogate pair (`"\ud800"`) are words of JSON that other
//!   decoders read as `Infinity`, as `null` or not at all. A call that holds one anywhere, be it in its id, is -32700.
//! - A member of the envelope that comes twice could be read in two ways, and is -32600 with the id null.
//! - Nesting deeper than [`Limits::depth`](crate::Limits::depth) is -32600 with the reason `nesting-too-deep`. No lane here is recursive.
//! - A response is never answered. One of the above makes it [`Unusable::Unreadable`](crate::message::Unusable::Unreadable),
//!   which ends the call that waits for it. [`glance`] finds the id of a text that is not JSON.
//! - Members that the specification does not know are passed over; members come in any order.

mod decode;
mod encode;
mod glance;
mod member;
mod raw;
mod scan;
mod validate;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use serde_json::value::{RawValue, to_raw_value};

pub use decode::decode;
pub use encode::{encode, encode_into};
pub use glance::{Glance, glance};
pub use validate::validate;

use crate::message::{ErrorObject, Fault, Id, Payload};

impl Payload for Box<RawValue> {
    type Id = Id;
    type Method = Box<str>;
    type Error = ErrorObject<Self>;
    /// The message itself, its place in a list that grows, and an allocation for each of its texts.
    const REPLY_BYTES: usize = 256;

    fn held_bytes(&self) -> usize {
        self.get().len()
    }

    fn held_bytes_of_error(error: &Self::Error) -> usize {
        error.message.len() + error.data.as_ref().map_or(0, Self::held_bytes)
    }
}

/// The reason of a fault goes out as `data.reason`.
impl From<Fault> for ErrorObject<Box<RawValue>> {
    fn from(fault: Fault) -> Self {
        let data = fault.reason().and_then(|reason| to_raw_value(&BTreeMap::from([("reason", reason.as_str())])).ok());
        Self { code: fault.code(), message: fault.message().into(), data }
    }
}
