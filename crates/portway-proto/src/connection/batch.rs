//! Batches from the peer. The responses to a batch are sent together, after its last request is answered.

use alloc::vec::Vec;

use slab::Slab;

use super::{Connection, End, Event, Ignored};
use crate::message::{
    Entry, Fault, Message, Outgoing, Payload, Reason, Rejected, RequestId, Response, Unusable, is_response,
};
use crate::profile::BatchPolicy;

#[derive(Debug)]
pub(super) struct ReplyBatches<P: Payload> {
    batches: Slab<ReplyBatch<P>>,
    /// The sum of [`held_bytes`] of all stored responses.
    bytes: usize,
}

#[derive(Debug)]
struct ReplyBatch<P: Payload> {
    /// The number of unanswered requests, plus one until all elements are handled.
    unanswered: usize,
    /// Whether all requests of the batch are refused, because their responses would exceed the limit of bytes.
    is_refused: bool,
    replies: Vec<Message<P>>,
}

impl<P: Payload> ReplyBatches<P> {
    pub(super) const fn new() -> Self {
        Self { batches: Slab::new(), bytes: 0 }
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Begins a batch, and returns its number. Call [`finish_item`](Self::finish_item) once for each request, and once
    /// after the last element.
    pub(super) fn begin(&mut self, is_refused: bool) -> u32 {
        self.batches.insert(ReplyBatch { unanswered: 1, is_refused, replies: Vec::new() }) as u32
    }

    /// Returns whether the requests of a batch are refused.
    pub(super) fn is_refused(&self, batch: u32) -> bool {
        self.batches.get(batch as usize).is_some_and(|batch| batch.is_refused)
    }

    /// Adds an unanswered request.
    pub(super) fn add_request(&mut self, batch: u32) {
        if let Some(batch) = self.batches.get_mut(batch as usize) {
            batch.unanswered += 1;
        }
    }

    /// Stores a response until the batch is complete.
    pub(super) fn push(&mut self, batch: u32, reply: Message<P>) {
        if let Some(batch) = self.batches.get_mut(batch as usize) {
            self.bytes += held_bytes(&reply);
            batch.replies.push(reply);
        }
    }

    /// Records that one request is answered, or that all elements are handled. The last call of this method for a batch
    /// ends the batch, and returns its responses. Earlier calls return `None`. A batch without responses is not
    /// answered (JSON-RPC 2.0 §6). For this batch, the last call also returns `None`.
    pub(super) fn finish_item(&mut self, batch: u32) -> Option<Vec<Message<P>>> {
        let entry = self.batches.get_mut(batch as usize)?;
        entry.unanswered -= 1;
        if entry.unanswered > 0 {
            return None;
        }
        let entry = self.batches.try_remove(batch as usize)?;
        self.bytes -= entry.replies.iter().map(held_bytes).sum::<usize>();
        (!entry.replies.is_empty()).then_some(entry.replies)
    }

    pub(super) fn clear(&mut self) {
        self.batches.clear();
        self.bytes = 0;
    }
}

/// Returns the number of bytes of a stored response that count towards the limit.
fn held_bytes<P: Payload>(reply: &Message<P>) -> usize {
    let Message::Response(Response { id, outcome }) = reply else { return 0 };
    P::REPLY_BYTES + id.held_bytes() + bytes_of_outcome(outcome)
}

fn bytes_of_outcome<P: Payload>(outcome: &Result<P, P::Error>) -> usize {
    outcome.as_ref().map_or_else(P::held_bytes_of_error, P::held_bytes)
}

/// Returns the least value that [`held_bytes`] can have for the response to an element. Returns 0 if the element has no
/// response.
fn bytes_of_reply<P: Payload>(entry: &Entry<P>) -> usize {
    let id = match entry {
        Ok(Message::Request(request)) => &request.id,
        Err(Unusable::Reject(rejected)) => &rejected.id,
        Err(Unusable::Empty(id)) => id,
        Ok(Message::Notification(_) | Message::Response(_)) | Err(Unusable::Ignore | Unusable::Unreadable { .. }) => {
            return 0;
        }
    };
    P::REPLY_BYTES + id.held_bytes()
}

impl<P: Payload> Connection<P> {
    pub(super) fn handle_batch(&mut self, entries: Vec<Entry<P>>) {
        let batch = self.begin_batch(&entries).ok();
        for entry in entries {
            if batch.is_some() || is_response(&entry) {
                self.handle_entry(entry, batch);
            }
        }
        if let Some(batch) = batch {
            self.end_batch(batch);
        }
    }

    /// Handles one element of a batch after [`begin_batch`](Self::begin_batch). Drivers that drain the output after
    /// each element use this method.
    pub fn handle_in_batch(&mut self, entry: Entry<P>, batch: u32) {
        if !self.closed {
            self.handle_entry(entry, Some(batch));
        }
    }

    /// Ends a batch after its elements were handled.
    pub fn end_batch(&mut self, batch: u32) {
        if let Some(error) = self.null_id_error.take() {
            self.handle_null_id_error(self.answered_batch, error);
        }
        self.finish_batch_item(Some(batch));
    }

    /// Handles an error with the id null. `batch` is the number of the sent batch that the error may answer, or 0 for
    /// no batch. If this batch is the only pending batch, the error ends the calls of the batch. In all other cases,
    /// the error is ignored.
    #[inline(never)]
    pub(super) fn handle_null_id_error(&mut self, batch: u64, error: P::Error) {
        if batch == 0 || batch != self.calls.only_batch_number() {
            return self.ignore(Ignored::PeerError(error));
        }
        for call in self.calls.in_batches() {
            self.take_call(call.id);
            self.events.push_back(Event::Ended { call, end: End::Answered(Err(error.clone())) });
        }
    }

    /// Begins a batch from the peer. Pass each element to [`handle_in_batch`](Self::handle_in_batch) afterwards, and
    /// then call [`end_batch`](Self::end_batch).
    ///
    /// A batch of responses alone is never refused.
    ///
    /// # Errors
    ///
    /// Returns the fault if the batch is empty or has too many messages. In this case, the connection answers the whole
    /// batch with an error. The responses in the refused batch must still end their calls. So pass each element for
    /// which [`is_response`] is true to [`handle`](Self::handle), and drop the other elements.
    pub fn begin_batch(&mut self, entries: &[Entry<P>]) -> Result<u32, Fault> {
        // Responses do not count towards the limit, since they are never answered.
        let counts = |entry: &&Entry<P>| !is_response(entry) && !matches!(entry, Err(Unusable::Ignore));
        let count = entries.iter().filter(counts).count();
        if !entries.is_empty() && count <= self.config.profile.max_batch_items(&self.config.limits) {
            let is_refused = !self.has_room_for_replies(entries);
            self.answered_batch = self.calls.only_batch_number();
            return Ok(self.reply_batches.begin(is_refused));
        }
        let fault = match self.config.profile.batch {
            BatchPolicy::Reject => Fault::Refused(Reason::BatchNotSupported),
            BatchPolicy::Accept if count > 0 => Fault::Refused(Reason::BatchTooLarge),
            BatchPolicy::Accept => Fault::InvalidRequest,
        };
        self.reject(Rejected { id: P::Id::NULL, fault }, None);
        Err(fault)
    }

    pub(super) fn finish_batch_item(&mut self, batch: Option<u32>) {
        if let Some(replies) = batch.and_then(|batch| self.reply_batches.finish_item(batch)) {
            self.transmits.push_back(Outgoing::Batch(replies));
        }
    }

    /// Returns the outcome that answers a request. In a batch, the outcome becomes an error if the outcome and the
    /// stored responses together exceed the limit of bytes. [`begin_batch`](Self::begin_batch) cannot check this
    /// condition, because the sizes of the results are not known yet.
    pub(super) fn within_byte_limit(&self, outcome: Result<P, P::Error>, batch: Option<u32>) -> Result<P, P::Error> {
        let reply_bytes = self.reply_batches.bytes();
        if P::REPLY_BYTES == 0 || batch.is_none() || reply_bytes == 0 {
            return outcome;
        }
        let bytes = reply_bytes.saturating_add(P::REPLY_BYTES).saturating_add(bytes_of_outcome(&outcome));
        if bytes <= self.config.limits.in_flight_bytes {
            return outcome;
        }
        Err(P::Error::from(Fault::Refused(Reason::TooManyRequests)))
    }

    /// Returns whether the limit of bytes has room for the responses to a batch. The responses are stored until the
    /// last request of the batch is answered.
    fn has_room_for_replies(&self, entries: &[Entry<P>]) -> bool {
        let bytes = entries.iter().map(bytes_of_reply).sum();
        bytes == 0 || self.has_room_for(bytes)
    }
}
