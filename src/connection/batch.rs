//! Batches: what one of ours is made of, and those of the peer, whose replies leave together once the last request of them is
//! answered.

use alloc::vec::Vec;

use slab::Slab;

use crate::message::{Message, Payload, Response};

/// One element of a batch of ours.
#[derive(Debug)]
pub enum BatchItem<P: Payload> {
    /// A call.
    Call(P::Method, Option<P>),
    /// A notification.
    Notify(P::Method, Option<P>),
}

#[derive(Debug)]
pub(super) struct ReplyBatches<P: Payload> {
    batches: Slab<ReplyBatch<P>>,
    /// What the replies hold that wait, see [`Payload::held_bytes`].
    bytes: usize,
}

#[derive(Debug)]
struct ReplyBatch<P: Payload> {
    /// Requests that are not answered yet, and one more while elements still come in.
    unanswered: usize,
    replies: Vec<Message<P>>,
}

impl<P: Payload> ReplyBatches<P> {
    pub(super) const fn new() -> Self {
        Self { batches: Slab::new(), bytes: 0 }
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Begins a batch, to be ended by [`done`](Self::done).
    pub(super) fn begin(&mut self) -> u32 {
        self.batches.insert(ReplyBatch { unanswered: 1, replies: Vec::new() }) as u32
    }

    /// Counts one more request in.
    pub(super) fn add_request(&mut self, batch: u32) {
        if let Some(batch) = self.batches.get_mut(batch as usize) {
            batch.unanswered += 1;
        }
    }

    /// Keeps a reply until the batch is done.
    pub(super) fn push(&mut self, batch: u32, reply: Message<P>) {
        if let Some(batch) = self.batches.get_mut(batch as usize) {
            self.bytes += held_bytes(&reply);
            batch.replies.push(reply);
        }
    }

    /// Counts one request out. Gives the replies if it was the last, and if there are any: a batch of notifications is
    /// answered with nothing at all (JSON-RPC 2.0 §6).
    pub(super) fn done(&mut self, key: u32) -> Option<Vec<Message<P>>> {
        let batch = self.batches.get_mut(key as usize)?;
        batch.unanswered -= 1;
        if batch.unanswered > 0 {
            return None;
        }
        let batch = self.batches.try_remove(key as usize)?;
        self.bytes -= batch.replies.iter().map(held_bytes).sum::<usize>();
        (!batch.replies.is_empty()).then_some(batch.replies)
    }

    pub(super) fn clear(&mut self) {
        self.batches.clear();
        self.bytes = 0;
    }
}

/// What a reply holds.
fn held_bytes<P: Payload>(reply: &Message<P>) -> usize {
    match reply {
        Message::Response(Response { outcome: Ok(result), .. }) => result.held_bytes(),
        Message::Response(Response { outcome: Err(error), .. }) => P::held_bytes_of_error(error),
        Message::Request(_) | Message::Notification(_) => 0,
    }
}
