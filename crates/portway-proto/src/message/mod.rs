//! The messages of JSON-RPC 2.0: requests, notifications, responses, and batches of them.
//!
//! Messages are generic over their payload. In a browser, the payload is a JavaScript value, and the message only
//! refers to this value. Natively, the payload is JSON text, which is decoded only for a typed handler. This module
//! does not depend on bytes, clocks or platforms.

use core::fmt::Debug;

mod batch;
pub(crate) mod error_code;
mod error_object;
mod id;
mod object_payload;
mod request;
mod response;
mod shape;
mod unreadable;

pub use batch::{Entry, Incoming, Outgoing, Rejected, Unusable, is_response};
pub use error_object::{ErrorObject, Fault, Reason};
#[cfg(feature = "codec")]
pub(crate) use id::whole_number;
pub use id::{Id, NumberText, RequestId};
pub use object_payload::{Member, ObjectPayload};
pub use request::{Notification, Request};
pub use response::Response;
pub use shape::{Class, Kind, Malformed, Shape};
pub use unreadable::Unreadable;

/// A payload type, with the types of ids, methods and errors that belong to it.
///
/// The type itself represents the values of `params` and `result`.
#[diagnostic::on_unimplemented(
    note = "with the feature `codec`, use `Box<serde_json::value::RawValue>`; without this feature, implement `Payload` for another type"
)]
pub trait Payload: Sized + Debug {
    /// The type of request ids: [`Id`] natively, and a smaller type if JavaScript stores the id.
    type Id: RequestId;
    /// The type of method names: a string natively, and a unit if JavaScript stores the name.
    type Method: Debug;
    /// The type of the `error` member of a response. The [`Fault`]s of the library are converted to this type.
    type Error: Clone + Debug + From<Fault>;
    /// Whether a message can wait in a queue, as [`Ordering::Sequential`](crate::profile::Ordering::Sequential)
    /// requires. If false, each request runs at once, with any profile. Default: true.
    const CAN_WAIT: bool = true;
    /// Number of bytes that count towards [`Limits::in_flight_bytes`](crate::Limits::in_flight_bytes) for a stored
    /// response of an incomplete batch, in addition to its id and outcome. If JavaScript stores the values, the id and
    /// the outcome count 0 bytes. In this case, each response counts 1 byte by default, so the limit applies to the
    /// number of stored responses. Default: 1.
    const REPLY_BYTES: usize = 1;

    /// Returns the number of bytes of this value, for [`Limits::in_flight_bytes`](crate::Limits::in_flight_bytes).
    /// Returns 0 if JavaScript stores the value.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Returns the number of bytes of an error, see [`held_bytes`](Self::held_bytes).
    fn held_bytes_of_error(_: &Self::Error) -> usize {
        0
    }
}

/// One JSON-RPC 2.0 message.
#[derive(Debug)]
pub enum Message<P: Payload> {
    /// A message that requires a response (JSON-RPC 2.0 §4).
    Request(Request<P>),
    /// A message without a response (§4.1).
    Notification(Notification<P>),
    /// The response to a request (§5).
    Response(Response<P>),
}
