//! Converts JSON text (RFC 8259) to messages and back. The payloads of the messages remain text.
//!
//! [`decode`] checks the whole text, but makes no values from the contents of payloads: `params`, `result` and `data`
//! are [`RawValue`]s with the exact text from the peer. Ids also keep their exact text.
//!
//! Rules of the decoder:
//!
//! - The whole text is one message or one batch, in UTF-8 without a byte order mark. Members may have any order.
//!   Unknown members are ignored.
//! - Text that is not JSON is answered with -32700, or ignored if
//!   [`Profile::foreign_is_ignored`](crate::profile::Profile::foreign_is_ignored) is true. A text also counts as not
//!   JSON if it begins with a byte order mark, or if anything but whitespace follows the message. The function
//!   [`find_response_ids`] finds the ids of responses in a text that is not JSON. So a driver can end the calls with
//!   these ids.
//! - A number too large for a double (`1e400`) and a lone surrogate (`"\ud800"`) are valid JSON. Other decoders read
//!   them as `Infinity`, as `null` or not at all. So a request or notification that contains one of the two, even in
//!   its id, is answered with -32700.
//! - A request or notification with a repeated member, such as two ids, is ambiguous. The message is answered with
//!   -32600 and the id null.
//! - A request that is nested deeper than [`Limits::depth`](crate::Limits::depth) is answered with -32600 and the
//!   reason `nesting-too-deep`. A notification that is nested deeper is ignored. The decoder is not recursive.
//! - A response is never answered. If one of the last three rules would reject it as a request, the response becomes
//!   [`Unusable::Unreadable`](crate::message::Unusable::Unreadable), which ends its call.

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
    /// The estimated memory of a stored response in addition to its texts: the message, its place in the list of the
    /// batch, and the overhead of its allocations.
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
