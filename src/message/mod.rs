//! What crosses a boundary: requests, notifications, responses, and batches of them.
//!
//! Messages are generic over their payload. In a browser the payload stays a JavaScript value outside of this module;
//! natively it is JSON text that is decoded only where a typed handler asks for it. This module knows the shape of an
//! envelope and nothing about bytes, clocks or platforms.

use core::fmt::Debug;

mod batch;
mod error_code;
mod error_object;
mod id;
mod request;
mod response;
mod shape;
mod unreadable;

pub use batch::{Entry, Incoming, Outgoing, Rejected, Unusable};
pub use error_code::ErrorCode;
pub use error_object::{ErrorObject, Fault, Reason};
pub use id::{Id, NumberText, RequestId};
pub use request::{Notification, Request};
pub use response::Response;
pub use shape::{Class, Kind, Malformed, Shape};
pub use unreadable::Unreadable;

/// A payload type, with what belongs to it: how methods are named and how failures are told.
///
/// `P` itself stands for `params` and `result` values.
pub trait Payload: Sized + Debug {
    /// The ids of requests: an [`Id`] natively; something smaller where the id itself stays outside of Rust.
    type Id: RequestId;
    /// The method name: a string natively, a unit where the name stays outside of Rust.
    type Method: Debug;
    /// The `error` member of a response. The library's own [`Fault`]s must be expressible in it.
    type Error: Clone + Debug + From<Fault>;
    /// Whether a message can be held back for a while, as [`Ordering::Sequential`](crate::profile::Ordering::Sequential) asks
    /// for. If not, each request runs at once, whatever the profile says.
    const CAN_WAIT: bool = true;
    /// What a reply that waits for the rest of its batch counts for, in bytes, beside its id and its result or error. Where
    /// values stay outside of Rust, and nothing else has a size, this is the unit of
    /// [`Limits::in_flight_bytes`](crate::Limits::in_flight_bytes).
    const REPLY_BYTES: usize = 1;

    /// How many bytes this holds, for [`Limits::in_flight_bytes`](crate::Limits::in_flight_bytes); 0 where values stay outside
    /// of Rust.
    fn held_bytes(&self) -> usize {
        0
    }

    /// The same, of an error.
    fn held_bytes_of_error(_: &Self::Error) -> usize {
        0
    }
}

/// One JSON-RPC 2.0 message.
#[derive(Debug)]
pub enum Message<P: Payload> {
    /// A call that wants a response (JSON-RPC 2.0 §4).
    Request(Request<P>),
    /// A call that gets none (§4.1).
    Notification(Notification<P>),
    /// The answer to a request (§5).
    Response(Response<P>),
}
