//! The flow control of streams. The caller of a stream uses [`ReceiveStream`], which stores the items and the credit of
//! one stream. The server uses [`SendStreams`], which stores the credit of all streams that it sends.
//!
//! A stream answers the request `rpc.stream` with items, and each item costs one credit. The request contains the first
//! credit. The caller sends more credit as it consumes items (PROTOCOL.md, "Streams").
//!
//! These types use no messages, clocks or wakers. A driver calls a method for each message of a stream, and sends the
//! credit that the method returns. The driver also wakes the tasks that wait for items or credit.

use alloc::collections::{BTreeMap, VecDeque};

use super::RequestKey;
use crate::limits::{MAX_PEER_CREDIT, MAX_STREAM_CREDIT};

/// Returns whether a number is valid as the credit of a request, or of `rpc.credit`.
#[must_use]
pub const fn is_credit(count: u32) -> bool {
    count > 0 && count <= MAX_STREAM_CREDIT
}

/// The state of one stream at the caller: the items that the application has not consumed, and the credit of the peer.
#[derive(Debug)]
pub struct ReceiveStream<T> {
    items: VecDeque<T>,
    /// The credit in the request.
    window: u32,
    /// The number of items that the peer may still send.
    credit: u32,
    /// The number of items that were consumed after credit was last sent.
    consumed: u32,
    state: ReceiveState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReceiveState {
    Open,
    /// The response has arrived.
    Ended,
    /// The peer has sent more items than its credit allowed.
    Overflowed,
}

/// The result of [`ReceiveStream::next_item`].
#[derive(Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// The next item, and the credit that the driver must send now, or `None` if no credit is due.
    Item(T, Option<u32>),
    /// All received items are consumed. More items may arrive.
    Pending,
    /// The response has arrived, and all items before it are consumed.
    End,
    /// The peer has sent more items than its credit allows.
    Overflow,
}

/// The peer has sent more items than its credit allows. The stream has ended, and the driver must cancel its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

impl<T> ReceiveStream<T> {
    /// Creates the state of a stream whose request has `window` credit: at least 1, at most [`MAX_STREAM_CREDIT`].
    #[must_use]
    pub const fn new(window: u32) -> Self {
        Self { items: VecDeque::new(), window, credit: window, consumed: 0, state: ReceiveState::Open }
    }

    /// Handles an item from the peer. An item after the response, or after an overflow, is ignored.
    ///
    /// # Errors
    /// Returns [`Overflow`] if the peer had no credit for the item. The items that are not consumed are dropped.
    pub fn receive(&mut self, item: T) -> Result<(), Overflow> {
        if self.state != ReceiveState::Open {
            return Ok(());
        }
        let Some(rest) = self.credit.checked_sub(1) else {
            self.state = ReceiveState::Overflowed;
            self.items = VecDeque::new();
            return Err(Overflow);
        };
        self.credit = rest;
        self.items.push_back(item);
        Ok(())
    }

    /// Handles the response to the request. The items that arrived before the response can still be consumed, but cause
    /// no further credit.
    pub const fn end(&mut self) {
        if matches!(self.state, ReceiveState::Open) {
            self.state = ReceiveState::Ended;
        }
    }

    /// Consumes the next item. New credit is due each time that the application has consumed half of the window.
    pub fn next_item(&mut self) -> Next<T> {
        let Some(item) = self.items.pop_front() else {
            return match self.state {
                ReceiveState::Open => Next::Pending,
                ReceiveState::Ended => Next::End,
                ReceiveState::Overflowed => Next::Overflow,
            };
        };
        self.consumed += 1;
        if self.state != ReceiveState::Open || self.consumed.saturating_mul(2) < self.window {
            return Next::Item(item, None);
        }
        let count = core::mem::take(&mut self.consumed);
        self.credit += count;
        Next::Item(item, Some(count))
    }
}

/// The credit of all streams that the server sends. Each stream belongs to an unanswered request.
///
/// The window of a stream is the largest credit that it has had. All windows together are at most [`MAX_PEER_CREDIT`].
#[derive(Debug, Default)]
pub struct SendStreams {
    /// The streams by the slots of their requests. A slot is reused only after its request is answered and its stream
    /// is removed.
    streams: BTreeMap<u32, SendStream>,
    /// The credit that arrived for requests whose stream is not inserted yet, by slot. A request may wait for the
    /// running request, and credit for the waiting request may arrive.
    early_credit: BTreeMap<u32, (RequestKey, u32)>,
    /// The sum of the windows.
    windows: u32,
    /// Whether the input has ended, so that no more credit can arrive.
    has_ended: bool,
}

#[derive(Debug)]
struct SendStream {
    key: RequestKey,
    credit: u32,
    window: u32,
}

/// The error for a request whose credit would raise the sum of all windows above [`MAX_PEER_CREDIT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuchCredit;

/// Whether a stream may send an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// The item may be sent. One credit was deducted for it.
    Granted,
    /// The stream has no credit. More credit may arrive.
    Wait,
    /// The stream has no credit, and no more credit can arrive: the stream was removed, or the input has ended.
    Never,
}

impl SendStreams {
    /// Creates a state without streams.
    #[must_use]
    pub const fn new() -> Self {
        Self { streams: BTreeMap::new(), early_credit: BTreeMap::new(), windows: 0, has_ended: false }
    }

    /// Checks the credit of a request for a stream.
    ///
    /// # Errors
    /// Returns [`TooMuchCredit`] if [`insert`](Self::insert) would exceed [`MAX_PEER_CREDIT`].
    pub const fn check(&self, credit: u32) -> Result<(), TooMuchCredit> {
        if credit > self.spare_credit() { Err(TooMuchCredit) } else { Ok(()) }
    }

    /// Adds the stream of a request. `credit` is the credit in the request. Also adds the credit that has arrived after
    /// the request.
    ///
    /// # Errors
    /// Returns [`TooMuchCredit`], and adds nothing, if the sum of all windows would exceed [`MAX_PEER_CREDIT`].
    pub fn insert(&mut self, key: RequestKey, credit: u32) -> Result<(), TooMuchCredit> {
        self.check(credit)?;
        self.windows += credit;
        if let Some(previous) = self.streams.insert(key.slot(), SendStream { key, credit, window: credit }) {
            self.windows -= previous.window;
        }
        if let Some((_, count)) = self.early_credit.remove(&key.slot()).filter(|(early, _)| *early == key) {
            self.add_credit(key, count);
        }
        Ok(())
    }

    /// Removes the stream of an answered request. Returns whether the request had a stream.
    pub fn remove(&mut self, key: RequestKey) -> bool {
        if self.early_credit.get(&key.slot()).is_some_and(|(early, _)| *early == key) {
            self.early_credit.remove(&key.slot());
        }
        let is_stream = self.streams.get(&key.slot()).is_some_and(|stream| stream.key == key);
        if is_stream && let Some(stream) = self.streams.remove(&key.slot()) {
            self.windows -= stream.window;
        }
        is_stream
    }

    /// Handles credit from the peer for an unanswered request. Credit above the window increases the window. The sum of
    /// all windows remains at most [`MAX_PEER_CREDIT`], and the rest of the credit is ignored. Returns whether the
    /// request has a stream. If the request has no stream yet, [`insert`](Self::insert) adds this credit later.
    pub fn add_credit(&mut self, key: RequestKey, count: u32) -> bool {
        let spare = self.spare_credit();
        let Some(stream) = self.streams.get_mut(&key.slot()).filter(|stream| stream.key == key) else {
            let early =
                self.early_credit.get(&key.slot()).filter(|(early, _)| *early == key).map_or(0, |early| early.1);
            self.early_credit.insert(key.slot(), (key, early.saturating_add(count)));
            return false;
        };
        stream.credit = stream.credit.saturating_add(count).min(stream.window + spare);
        let added = stream.credit.saturating_sub(stream.window);
        stream.window += added;
        self.windows += added;
        true
    }

    /// Deducts one credit for an item.
    pub fn take_credit(&mut self, key: RequestKey) -> Permit {
        let Some(stream) = self.streams.get_mut(&key.slot()).filter(|stream| stream.key == key) else {
            return Permit::Never;
        };
        match stream.credit.checked_sub(1) {
            Some(rest) => {
                stream.credit = rest;
                Permit::Granted
            }
            None if self.has_ended => Permit::Never,
            None => Permit::Wait,
        }
    }

    /// Handles the end of the input. No more credit can arrive.
    pub const fn end(&mut self) {
        self.has_ended = true;
    }

    /// Removes all streams.
    pub fn clear(&mut self) {
        self.streams.clear();
        self.early_credit.clear();
        self.windows = 0;
    }

    /// Returns the credit by which the sum of all windows may still grow.
    const fn spare_credit(&self) -> u32 {
        MAX_PEER_CREDIT - self.windows
    }
}
