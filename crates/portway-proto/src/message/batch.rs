//! Single messages and batches, incoming and outgoing.

use alloc::vec::Vec;

use super::{Fault, Id, Message, Payload, RequestId, Unreadable};

/// One decoded element (a whole input, or a member of a batch): a message, or the reaction to an element that is not a
/// message.
pub type Entry<P> = Result<Message<P>, Unusable<<P as Payload>::Id>>;

/// Returns whether an element is a response, even if the response is unreadable.
pub fn is_response<P: Payload>(entry: &Entry<P>) -> bool {
    matches!(entry, Ok(Message::Response(_)) | Err(Unusable::Unreadable { .. }))
}

/// An element that is not a message, with the reaction of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable<I = Id> {
    /// The element is ignored.
    Ignore,
    /// The element has an id, but neither method nor result nor error. If a call with this id is pending, the call ends
    /// with [`End::Invalid`](crate::connection::End::Invalid). If no call with this id is pending,
    /// [`Shape::unmatched_empty`](super::Shape::unmatched_empty) applies.
    Empty(I),
    /// A response that cannot be decoded. The response ends its call, and is never answered.
    Unreadable {
        /// The id of the response, or `None` if the id cannot be read. A response without an id ends the only pending
        /// call or batch, if no other response is expected.
        id: Option<I>,
        /// Why the response cannot be decoded.
        why: Unreadable,
    },
    /// The element is answered with an error.
    Reject(Rejected<I>),
}

/// The rejection of an element that is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected<I = Id> {
    /// The id of the element, or null if the element has no valid id.
    pub id: I,
    /// The fault of the element.
    pub fault: Fault,
}

impl<I: RequestId> From<Fault> for Unusable<I> {
    /// Creates the rejection of an element without a readable id.
    fn from(fault: Fault) -> Self {
        Self::Reject(Rejected { id: I::NULL, fault })
    }
}

/// One decoded message or batch from the peer.
#[derive(Debug)]
pub enum Incoming<P: Payload> {
    /// One message.
    Single(Entry<P>),
    /// An array of messages (JSON-RPC 2.0 §6). An empty array is an error that the connection answers.
    Batch(Vec<Entry<P>>),
}

/// One message or batch to send.
#[derive(Debug)]
pub enum Outgoing<P: Payload> {
    /// One message.
    Single(Message<P>),
    /// An array of at least one message.
    Batch(Vec<Message<P>>),
    /// The cancellation of the outgoing request with this id. The driver writes the notification in the form of
    /// [`Profile::cancel`](crate::profile::Profile::cancel). A peer without support for cancellation ignores the
    /// notification.
    Cancel(P::Id),
}
