//! The messages of JSON-RPC 2.0: requests, notifications, responses, and batches of them.
//!
//! Messages are generic over their payload. In a browser the payload is a JavaScript value that stays outside this
//! module. Natively the payload is JSON text, which is decoded only for a typed handler. This module does not depend on
//! bytes, clocks or platforms.

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

pub use batch::{Entry, Incoming, Outgoing, Rejected, Unusable};
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
/// The type itself stands for `params` and `result` values.
#[diagnostic::on_unimplemented(
    note = "with the feature `codec`, use `Box<serde_json::value::RawValue>`; without it, implement `Payload` for a type of your own"
)]
pub trait Payload: Sized + Debug {
    /// The type of request ids: [`Id`] natively, a smaller type where the id itself stays outside Rust.
    type Id: RequestId;
    /// The type of method names: a string natively, a unit where the name stays outside Rust.
    type Method: Debug;
    /// The `error` member of a response. It must be able to express the [`Fault`]s of the library.
    type Error: Clone + Debug + From<Fault>;
    /// Whether a message can wait in a queue, as [`Ordering::Sequential`](crate::profile::Ordering::Sequential)
    /// requires. If not, each request runs at once, with any profile. Default: true.
    const CAN_WAIT: bool = true;
    /// Number of bytes that a response counts in addition to its id and outcome, while it waits for the rest of its
    /// batch. Where values stay outside Rust, only this number counts towards
    /// [`Limits::in_flight_bytes`](crate::Limits::in_flight_bytes). With the default, that limit is then a maximum
    /// number of waiting responses. Default: 1.
    const REPLY_BYTES: usize = 1;

    /// Returns the number of bytes of this value, for [`Limits::in_flight_bytes`](crate::Limits::in_flight_bytes), or 0
    /// where values stay outside Rust.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Returns the number of bytes of an error, as [`held_bytes`](Self::held_bytes) does for a value.
    fn held_bytes_of_error(_: &Self::Error) -> usize {
        0
    }
}

/// One JSON-RPC 2.0 message.
#[derive(Debug)]
pub enum Message<P: Payload> {
    /// A call that requires a response (JSON-RPC 2.0 §4).
    Request(Request<P>),
    /// A call without a response (§4.1).
    Notification(Notification<P>),
    /// The response to a request (§5).
    Response(Response<P>),
}
