//! The input of a channel of whole messages.

use core::task::{Context, Poll};

use super::Driver;
use super::streams::Io;
use super::time::PartialMessage;
use crate::codec::frame::{Event as Frame, FrameFault};
use crate::error::Closed;
use crate::message::Unreadable;
use crate::native::frame_handler::{FrameAction, FrameHandler};

/// Number of leading bytes of a message over the limit in which the driver searches for the id of a response.
const BEGINNING_BYTES: usize = 1024;

impl Driver {
    /// Receives one message, and handles it. Returns the reason if the link must end.
    pub(super) fn poll_message(&mut self, context: &mut Context<'_>) -> Poll<Option<Closed>> {
        let Io::Messages(io) = &mut self.io else { return Poll::Pending };
        let before = io.channel.received_bytes();
        let received = io.channel.poll_receive(context);
        if io.channel.received_bytes() > before {
            self.has_read = true;
            self.partial_message = self.partial_message.map(PartialMessage::continued);
        }
        let received = match received {
            Poll::Ready(received) => received,
            Poll::Pending => {
                self.partial_message = io.channel.unfinished().map(|message| match self.partial_message {
                    Some(same) if same.message == message => same,
                    _ => PartialMessage::new(message),
                });
                return Poll::Pending;
            }
        };
        if let Err(why) = received {
            return Poll::Ready(Some(why));
        }
        self.partial_message = None;
        let body = io.channel.received();
        let action = if body.len() > self.link.limits.message_bytes {
            refuse(&mut self.frame_handler, body);
            FrameAction::Continue
        } else {
            self.frame_handler.handle(Frame::Body(body))
        };
        io.channel.release();
        let end = match action {
            FrameAction::Batch(entries) => {
                self.begin_batch(entries);
                None
            }
            FrameAction::End(why) => Some(why),
            // Every message is complete, so the next one is not affected.
            FrameAction::Continue | FrameAction::RejectBody | FrameAction::HalfClose => None,
        };
        self.dispatch_events(context);
        Poll::Ready(end.or_else(|| self.handle_rest_of_batch(context)))
    }

    /// Handles the elements of the current batch, until the turn of the task is over. Returns `None`, as the link
    /// continues.
    pub(super) fn handle_rest_of_batch(&mut self, context: &mut Context<'_>) -> Option<Closed> {
        self.has_backlog = !self.handle_batch_elements(context);
        None
    }
}

/// Refuses a message that is longer than [`Limits::message_bytes`](crate::Limits::message_bytes).
fn refuse(frame_handler: &mut FrameHandler, body: &[u8]) {
    let beginning = body.get(..BEGINNING_BYTES).unwrap_or(body);
    frame_handler.handle(Frame::Dropped { beginning, why: Unreadable::TooLarge });
    frame_handler.handle_fault(FrameFault::Oversize { length: Some(body.len() as u64) });
}
