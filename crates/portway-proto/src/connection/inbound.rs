//! Unanswered requests from the peer, and notifications that wait until these requests are answered.

use alloc::collections::VecDeque;

use slab::Slab;

use super::event::{Event, RequestKey};
use crate::message::{Notification, Payload, Request};

/// Estimated memory of a waiting notification without its params, in bytes: the method, and the place in the queue.
/// This number and the bytes of the params count towards [`Limits::in_flight_bytes`](crate::Limits::in_flight_bytes).
const NOTIFICATION_BYTES: usize = 1_024;

#[derive(Debug)]
pub(super) struct InboundRequests<P: Payload> {
    requests: Slab<InboundRequest<P::Id>>,
    /// The number of bytes that count towards the limit. Counts the ids and params of unanswered requests, and the
    /// [`notification_bytes`] of waiting notifications.
    bytes: usize,
    /// Requests and notifications that wait for the running request, if the profile runs one request at a time.
    waiting: VecDeque<Waiting<P>>,
    /// The number of [`Waiting::Answered`] entries in `waiting`.
    answered: usize,
    /// The serial number of the newest request or notification. After the maximum, numbering continues at 0.
    pub(super) serial: u32,
}

#[derive(Debug)]
enum Waiting<P: Payload> {
    Request(RequestKey, Request<P>),
    /// A notification with its serial number. The entries of the queue are sorted by serial number for the binary
    /// search.
    Notification(u32, Notification<P>),
    /// Replaces a waiting request that was answered before it ran, for example after a cancellation. The number is the
    /// serial number of the request.
    Answered(u32),
}

impl<P: Payload> Waiting<P> {
    const fn serial(&self) -> u32 {
        match self {
            Self::Request(key, _) => key.serial,
            Self::Notification(serial, _) | Self::Answered(serial) => *serial,
        }
    }
}

#[derive(Debug)]
struct InboundRequest<I> {
    /// Distinguishes this request from earlier requests in the same slot.
    serial: u32,
    id: I,
    batch: Option<u32>,
    /// The number of bytes of the id and the params.
    bytes: usize,
}

impl<P: Payload> InboundRequests<P> {
    pub(super) const fn new() -> Self {
        Self { requests: Slab::new(), waiting: VecDeque::new(), answered: 0, serial: 0, bytes: 0 }
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Adds a request. `bytes` is the number of bytes of its id and params.
    pub(super) fn insert(&mut self, id: P::Id, batch: Option<u32>, bytes: usize) -> RequestKey {
        let serial = self.next_serial();
        let slot = self.requests.insert(InboundRequest { serial, id, batch, bytes }) as u32;
        self.bytes += bytes;
        RequestKey { slot, serial }
    }

    /// Ends a request. Returns its id and its batch, or `None` if the request has already ended.
    pub(super) fn take(&mut self, key: RequestKey) -> Option<(P::Id, Option<u32>)> {
        self.requests.get(key.slot as usize).filter(|request| request.serial == key.serial)?;
        let request = self.requests.try_remove(key.slot as usize)?;
        self.bytes -= request.bytes;
        Some((request.id, request.batch))
    }

    /// Ends a request that is not in a batch, and returns its id. Returns `None` for any other request, and does not
    /// change it.
    pub(super) fn take_single(&mut self, key: RequestKey) -> Option<P::Id> {
        self.requests.get(key.slot as usize).filter(|request| request.batch.is_none())?;
        self.take(key).map(|(id, _)| id)
    }

    /// Returns whether the request is unanswered.
    pub(super) fn contains(&self, key: RequestKey) -> bool {
        self.in_slot(key.slot) == Some(key)
    }

    pub(super) fn in_slot(&self, slot: u32) -> Option<RequestKey> {
        self.requests.get(slot as usize).map(|request| RequestKey { slot, serial: request.serial })
    }

    /// Returns the newest request with this id.
    pub(super) fn by_id(&self, id: &P::Id) -> Option<RequestKey> {
        let same = self.requests.iter().filter(|(_, request)| request.id == *id);
        let newest = same.max_by_key(|(_, request)| request.serial)?;
        Some(RequestKey { slot: newest.0 as u32, serial: newest.1.serial })
    }

    /// Returns whether a request of this batch has this id.
    pub(super) fn batch_has(&self, batch: u32, id: &P::Id) -> bool {
        self.requests.iter().any(|(_, request)| request.batch == Some(batch) && request.id == *id)
    }

    /// Returns the id of a request.
    pub(super) fn id(&self, key: RequestKey) -> Option<&P::Id> {
        self.requests.get(key.slot as usize).filter(|request| request.serial == key.serial).map(|request| &request.id)
    }

    pub(super) fn enqueue(&mut self, key: RequestKey, request: Request<P>) {
        self.waiting.push_back(Waiting::Request(key, request));
    }

    pub(super) fn enqueue_notification(&mut self, notification: Notification<P>) {
        let serial = self.next_serial();
        self.bytes += notification_bytes(&notification);
        self.waiting.push_back(Waiting::Notification(serial, notification));
    }

    /// Emits the messages that waited for the answered request: the next request, and all notifications before it.
    /// Emits nothing if the answered request had not begun.
    pub(super) fn release(&mut self, answered: RequestKey, mut emit: impl FnMut(Event<P>)) {
        if !P::CAN_WAIT || self.drop_waiting(answered) {
            return;
        }
        while let Some(next) = self.waiting.pop_front() {
            match next {
                Waiting::Notification(_, notification) => {
                    self.bytes -= notification_bytes(&notification);
                    emit(Event::Notification(notification));
                }
                Waiting::Request(key, Request { method, params, .. }) => {
                    return emit(Event::Request { key, method, params });
                }
                Waiting::Answered(_) => self.answered -= 1,
            }
        }
    }

    /// Drops the message of a waiting request. Returns whether the request was waiting.
    fn drop_waiting(&mut self, key: RequestKey) -> bool {
        // Serial numbers wrap around to 0. The distances from the number of the first entry remain sorted.
        let Some(first) = self.waiting.front().map(Waiting::serial) else { return false };
        let distance = key.serial.wrapping_sub(first);
        let position = self.waiting.binary_search_by_key(&distance, |waiting| waiting.serial().wrapping_sub(first));
        let Some(waiting) = position.ok().and_then(|position| self.waiting.get_mut(position)) else { return false };
        *waiting = Waiting::Answered(key.serial);
        self.answered += 1;
        // The answered entries are removed together when they are more than half of the queue. The removal of a single
        // entry would move all entries after it.
        if self.answered > self.waiting.len() / 2 {
            self.waiting.retain(|waiting| !matches!(waiting, Waiting::Answered(_)));
            self.answered = 0;
        }
        true
    }

    /// Returns the length of the queue.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    const fn next_serial(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }

    pub(super) fn clear(&mut self) {
        self.requests.clear();
        self.waiting.clear();
        self.answered = 0;
        self.bytes = 0;
    }
}

fn notification_bytes<P: Payload>(notification: &Notification<P>) -> usize {
    NOTIFICATION_BYTES + notification.params.as_ref().map_or(0, P::held_bytes)
}
