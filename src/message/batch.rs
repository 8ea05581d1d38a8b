//! Batches, and single messages, as they come and go.

use alloc::vec::Vec;

use super::{Fault, Id, Message, Payload, RequestId, Unreadable};

/// One decoded element: a message, or what is to be done with what is none.
pub type Entry<P> = Result<Message<P>, Unusable<<P as Payload>::Id>>;

/// An element that is no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable<I = Id> {
    /// It is passed over in silence.
    Ignore,
    /// It has an id, and neither method nor result nor error. If a call of ours waits for that id, the call ends as
    /// answered invalidly; if none does, [`Shape::unmatched_empty`](super::Shape::unmatched_empty) says what to do.
    Empty(I),
    /// An answer that cannot be read. It is never answered, and ends the call that it belongs to.
    Unreadable {
        /// Its id; `None` if that cannot be read. Then it ends the pending call, if there is only one.
        id: Option<I>,
        /// Why it cannot be read.
        why: Unreadable,
    },
    /// It is answered with an error.
    Reject(Rejected<I>),
}

/// The answer to an element that is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected<I = Id> {
    /// The id that the element came with; null if it has none, or none that can be echoed.
    pub id: I,
    /// What was wrong with it.
    pub fault: Fault,
}

impl<I: RequestId> From<Fault> for Unusable<I> {
    /// The answer to what has no id that could be read.
    fn from(fault: Fault) -> Self {
        Self::Reject(Rejected { id: I::NULL, fault })
    }
}

/// What one frame of the wire held.
#[derive(Debug)]
pub enum Incoming<P: Payload> {
    /// One message.
    Single(Entry<P>),
    /// An array of them (JSON-RPC 2.0 §6); it may be empty, which is an error for the connection to answer.
    Batch(Vec<Entry<P>>),
}

/// What goes into one frame of the wire.
#[derive(Debug)]
pub enum Outgoing<P: Payload> {
    /// One message.
    Single(Message<P>),
    /// An array of at least one.
    Batch(Vec<Message<P>>),
    /// Ask the peer to stop working on this request of ours: the notification `$/cancelRequest` with `{ id }`, as in the
    /// Language Server Protocol. A peer that does not know it ignores it.
    Cancel(P::Id),
}
