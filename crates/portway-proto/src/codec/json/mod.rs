//! Converts JSON text (RFC 8259) to messages and back. The payloads of the messages remain text.
//!
//! [`decode`] reads only the members of a message, not their contents. Payloads are [`RawValue`]s: `params`, `result`
//! and `data` keep the exact text from the peer. Ids keep their text, too.
//!
//! Rules of the decoder:
//!
//! - Text is UTF-8 without a byte order mark. Text with a mark is not JSON, and is answered with -32700.
//! - The whole text is one message or one batch. If anything but whitespace follows the message, the whole text is
//!   answered with -32700.
//! - A number too large for a double (`1e400`) and a lone surrogate (`"\ud800"`) are valid JSON. Other decoders read
//!   them as `Infinity`, as `null` or not at all. So a request or notification with such a value, even in its id, is
//!   answered with -32700.
//! - A request or notification with a repeated member, such as two ids, is ambiguous. It is answered with -32600 and
//!   the id null.
//! - A request that is nested deeper than [`Limits::depth`](crate::Limits::depth) is answered with -32600 and the
//!   reason `nesting-too-deep`. The decoder is not recursive.
//! - A response is never answered. A response with one of the defects above becomes
//!   [`Unusable::Unreadable`](crate::message::Unusable::Unreadable), which ends its call. [`find_response_ids`] finds
//!   the id in a text that is not JSON.
//! - Members may have any order. Unknown members are ignored.

mod decode;
mod elements;
mod encode;
mod envelope;
mod members;
mod object;
mod raw;
mod response_ids;
mod scan;
mod usual;
mod validate;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use serde_json::value::{RawValue, to_raw_value};

pub use decode::{BorrowedRequest, Decoded, decode, decode_borrowed};
pub use elements::{Element, Structure, elements};
pub use encode::{encode, encode_into, encode_notification_into, encode_response_into};
pub use members::members;
pub use raw::raw_value;
pub use response_ids::{UndecodableMessage, find_response_ids};
pub use scan::special_bytes;
pub use validate::{is_json, validate};

use crate::message::{ErrorObject, Fault, Id, Payload};

impl Payload for Box<RawValue> {
    type Id = Id;
    type Method = Box<str>;
    type Error = ErrorObject<Self>;
    /// An estimate for the message itself, its place in a growing list, and the allocations of its texts.
    const REPLY_BYTES: usize = 256;

    fn held_bytes(&self) -> usize {
        self.get().len()
    }

    fn held_bytes_of_error(error: &Self::Error) -> usize {
        error.message.len() + error.data.as_ref().map_or(0, Self::held_bytes)
    }
}

/// The reason of a fault is sent as `data.reason`.
impl From<Fault> for ErrorObject<Box<RawValue>> {
    fn from(fault: Fault) -> Self {
        let data = fault.reason().and_then(|reason| to_raw_value(&BTreeMap::from([("reason", reason.as_str())])).ok());
        Self { code: fault.code(), message: fault.message().into(), data }
    }
}
