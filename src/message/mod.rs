//! What crosses a boundary: requests, notifications, responses, and batches of them.
//!
//! Messages are generic over their payload. In a browser the payload stays a JavaScript value outside of this module;
//! natively it is JSON text that is decoded only where a typed handler asks for it. This module knows the shape of an
//! envelope and nothing about bytes, clocks or platforms.

mod batch;
mod error_code;
mod error_object;
mod id;
mod request;
mod response;
mod shape;

pub use batch::{Entry, Incoming, Outgoing, Rejected, Unusable};
pub use error_code::ErrorCode;
pub use error_object::{ErrorObject, Fault, Reason};
pub use id::{Id, NumberText};
pub use request::{Notification, Request};
pub use response::Response;
pub use shape::{Class, Kind, Malformed, Shape};

/// A payload type, with what belongs to it: how methods are named and how failures are told.
///
/// `P` itself stands for `params` and `result` values.
pub trait Payload: Sized {
    /// The method name: a string natively, a unit where the name stays outside of Rust.
    type Method;
    /// The `error` member of a response. The library's own [`Fault`]s must be expressible in it.
    type Error: From<Fault>;
}

/// One JSON-RPC 2.0 message.
pub enum Message<P: Payload> {
    /// A call that wants a response (JSON-RPC 2.0 §4).
    Request(Request<P>),
    /// A call that gets none (§4.1).
    Notification(Notification<P>),
    /// The answer to a request (§5).
    Response(Response<P>),
}

impl<P> core::fmt::Debug for Message<P>
where
    P: Payload + core::fmt::Debug,
    P::Method: core::fmt::Debug,
    P::Error: core::fmt::Debug,
{
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Request(request) => request.fmt(f),
            Self::Notification(notification) => notification.fmt(f),
            Self::Response(response) => response.fmt(f),
        }
    }
}

impl<P> Clone for Message<P>
where
    P: Payload + Clone,
    P::Method: Clone,
    P::Error: Clone,
{
    fn clone(&self) -> Self {
        match self {
            Self::Request(request) => Self::Request(request.clone()),
            Self::Notification(notification) => Self::Notification(notification.clone()),
            Self::Response(response) => Self::Response(response.clone()),
        }
    }
}

impl<P> PartialEq for Message<P>
where
    P: Payload + PartialEq,
    P::Method: PartialEq,
    P::Error: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Request(a), Self::Request(b)) => a == b,
            (Self::Notification(a), Self::Notification(b)) => a == b,
            (Self::Response(a), Self::Response(b)) => a == b,
            _ => false,
        }
    }
}
