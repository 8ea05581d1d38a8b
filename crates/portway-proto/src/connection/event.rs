//! Events of a connection for its driver.

use crate::message::{Notification, Payload, Unreadable};

/// The key of a pending outgoing call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallKey {
    /// A small number, which is reused after the call has ended.
    pub(super) slot: u32,
    /// The id in the messages. It is never reused.
    pub(super) id: u64,
}

impl CallKey {
    /// Returns a small number that is unique among pending calls. The number can be used as an index of an array.
    #[must_use]
    pub const fn slot(self) -> u32 {
        self.slot
    }

    /// Returns the id in the messages. The first id is [`Config::last_id`](super::Config::last_id) + 1, and each
    /// further id is greater by 1. By default, the ids are 1, 2, 3 and so on.
    #[must_use]
    pub const fn id(self) -> u64 {
        self.id
    }
}

/// The key of an unanswered request from the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestKey {
    pub(super) slot: u32,
    /// Distinguishes this request from earlier requests in the same slot.
    pub(super) serial: u32,
}

impl RequestKey {
    /// Returns a small number that is unique among unanswered requests. The number can be used as an index of an array.
    #[must_use]
    pub const fn slot(self) -> u32 {
        self.slot
    }
}

/// An event for the application.
#[derive(Debug)]
pub enum Event<P: Payload> {
    /// The peer sent a request. The driver must answer it once, by [`respond`](super::Connection::respond).
    Request {
        /// The key for the response.
        key: RequestKey,
        /// The method.
        method: P::Method,
        /// The params.
        params: Option<P>,
    },
    /// The peer sent a notification.
    Notification(Notification<P>),
    /// An outgoing call has ended. Each call has exactly one event of this kind, unless the driver has ended the call
    /// with [`cancel`](super::Connection::cancel), [`abandon`](super::Connection::abandon) or
    /// [`end_call`](super::Connection::end_call).
    Ended {
        /// The call.
        call: CallKey,
        /// The outcome of the call.
        end: End<P>,
    },
    /// The peer has cancelled this request. The request must still be answered.
    Cancelled(RequestKey),
    /// A message that needs no reaction.
    Ignored(Ignored<P>),
}

/// The outcome of a call.
#[derive(Debug)]
pub enum End<P: Payload> {
    /// The peer responded.
    Answered(Result<P, P::Error>),
    /// The peer responded with neither a result nor an error.
    Invalid,
    /// The peer responded, but the response cannot be decoded.
    Unreadable(Unreadable),
    /// The call timed out. A notification asks the peer to cancel the request.
    TimedOut,
    /// The connection was closed, or its input has ended.
    Closed,
}

/// A message that was ignored.
#[derive(Debug)]
pub enum Ignored<P: Payload> {
    /// A response to an outgoing call that has already ended. For example, a peer may answer a request after its
    /// cancellation.
    LateResponse(P::Id),
    /// A response to a request that was never sent.
    UnmatchedResponse(P::Id),
    /// An error with the id null that ends no call. An error with the id null ends calls only if the error may answer a
    /// batch, and this batch is the only pending batch.
    PeerError(P::Error),
    /// A response that cannot be decoded, and whose call is unknown.
    Unreadable(Unreadable),
    /// An invalid message, or an invalid element of a batch. No answer is sent.
    Malformed,
}

/// The reason why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The connection is closed, or its input has ended. A closed connection also refuses notifications.
    Closed,
    /// The number of pending calls has reached [`Limits::pending_calls`](crate::Limits::pending_calls).
    TooManyCalls,
}
