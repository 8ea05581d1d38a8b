//! What a connection tells its driver.

use crate::message::{Notification, Payload, Unreadable};

/// A call of ours that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallKey {
    /// Where it is kept. The number is small, and used again once the call has ended.
    pub(super) slot: u32,
    /// Its id on the wire, which is never used again.
    pub(super) id: u64,
}

impl CallKey {
    /// A small number that no other pending call has, fit for an array index.
    #[must_use]
    pub const fn slot(self) -> u32 {
        self.slot
    }

    /// The id on the wire: 1, 2, 3 and so on.
    #[must_use]
    pub const fn id(self) -> u64 {
        self.id
    }
}

/// A request of the peer that waits for our answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestKey {
    pub(super) slot: u32,
    pub(super) serial: u32,
}

impl RequestKey {
    /// A small number that no other running request has, fit for an array index.
    #[must_use]
    pub const fn slot(self) -> u32 {
        self.slot
    }
}

/// Something for the application.
#[derive(Debug)]
pub enum Event<P: Payload> {
    /// The peer calls. It wants exactly one [`respond`](super::Connection::respond).
    Request {
        /// What to respond to.
        key: RequestKey,
        /// What to do.
        method: P::Method,
        /// With what.
        params: Option<P>,
    },
    /// The peer tells something.
    Notification(Notification<P>),
    /// A call of ours has ended. Each call has exactly one of these, or none if we gave it up ourselves.
    Ended {
        /// Which call.
        call: CallKey,
        /// How.
        end: End<P>,
    },
    /// The peer no longer wants the answer to this request. It still gets one.
    Cancelled(RequestKey),
    /// Something came that nothing is to be done about.
    Ignored(Ignored<P>),
}

/// How a call ended.
#[derive(Debug)]
pub enum End<P: Payload> {
    /// The peer answered.
    Answered(Result<P, P::Error>),
    /// The peer answered with neither result nor error.
    Invalid,
    /// The peer answered, but the answer cannot be read here.
    Unreadable(Unreadable),
    /// The call timed out. The peer is asked to cancel it.
    TimedOut,
    /// The connection was closed.
    Closed,
}

/// What came in and was passed over.
#[derive(Debug)]
pub enum Ignored<P: Payload> {
    /// A late or repeated response to an own call that has ended. It also comes from a peer that answers a
    /// cancelled request, as it must.
    LateResponse(P::Id),
    /// A response to a request that was never sent.
    UnmatchedResponse(P::Id),
    /// An error with id null that no single call can be blamed for.
    PeerError(P::Error),
    /// An answer that cannot be read, and whose call is not known.
    Unreadable(Unreadable),
    /// Neither request nor response.
    Malformed,
}

/// Why a call was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The connection is closed.
    Closed,
    /// As many calls are pending as [`Limits::pending_calls`](crate::Limits::pending_calls) allows.
    TooManyCalls,
}
