//! Events of a connection for its driver.

use crate::message::{Notification, Payload, Unreadable};

/// An outgoing call that is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallKey {
    /// The index of the call. It is small, and reused after the call has ended.
    pub(super) slot: u32,
    /// The id on the wire. It is never reused.
    pub(super) id: u64,
}

impl CallKey {
    /// Returns a small number that is unique among pending calls, suitable as an array index.
    #[must_use]
    pub const fn slot(self) -> u32 {
        self.slot
    }

    /// Returns the id on the wire: 1, 2, 3 and so on.
    #[must_use]
    pub const fn id(self) -> u64 {
        self.id
    }
}

/// A request from the peer that is unanswered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestKey {
    pub(super) slot: u32,
    pub(super) serial: u32,
}

impl RequestKey {
    /// Returns a small number that is unique among unanswered requests, suitable as an array index.
    #[must_use]
    pub const fn slot(self) -> u32 {
        self.slot
    }
}

/// An event for the application.
#[derive(Debug)]
pub enum Event<P: Payload> {
    /// The peer sent a request. It requires exactly one [`respond`](super::Connection::respond).
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
    /// An outgoing call has ended. Each call has exactly one such event, unless this end cancelled or abandoned it.
    Ended {
        /// The call.
        call: CallKey,
        /// Its outcome.
        end: End<P>,
    },
    /// The peer has cancelled this request. The request must still be answered.
    Cancelled(RequestKey),
    /// A message that needs no reaction.
    Ignored(Ignored<P>),
}

/// How a call ended.
#[derive(Debug)]
pub enum End<P: Payload> {
    /// The peer responded.
    Answered(Result<P, P::Error>),
    /// The peer responded with neither result nor error.
    Invalid,
    /// The peer responded, but the response cannot be decoded.
    Unreadable(Unreadable),
    /// The call timed out. The peer is asked to cancel it.
    TimedOut,
    /// The connection was closed.
    Closed,
}

/// A message that was ignored.
#[derive(Debug)]
pub enum Ignored<P: Payload> {
    /// A late or repeated response to an outgoing call that has ended. A peer also sends one for a cancelled request,
    /// as the protocol requires.
    LateResponse(P::Id),
    /// A response to a request that was never sent.
    UnmatchedResponse(P::Id),
    /// An error with id null that cannot be assigned to a single call or batch.
    PeerError(P::Error),
    /// A response that cannot be decoded, and whose call is unknown.
    Unreadable(Unreadable),
    /// Neither request nor response.
    Malformed,
}

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The connection is closed.
    Closed,
    /// The number of pending calls has reached [`Limits::pending_calls`](crate::Limits::pending_calls).
    TooManyCalls,
}
