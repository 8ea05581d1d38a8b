//! The input of a channel of whole messages.

use core::ops::ControlFlow;
use core::task::{Context, Poll, ready};

use tokio::task::coop::poll_proceed;

use super::Driver;
use super::streams::Io;
use super::time::PartialMessage;
use crate::codec::frame::{Event as Frame, FrameFault};
use crate::error::Closed;
use crate::message::Unreadable;
use crate::native::frame_handler::{FrameAction, FrameHandler};

/// Length of the beginning of a message, in bytes. If the message exceeds the size limit, the driver searches this
/// beginning for the id of a response.
const BEGINNING_BYTES: usize = 1024;

impl Driver {
    /// Receives and handles the available messages, until [`Link::has_room`](crate::native::link::Link::has_room)
    /// returns false or the task has used up its budget. The responses to these messages are flushed together. Returns
    /// the reason if the link must end.
    pub(super) fn poll_messages(&mut self, context: &mut Context<'_>) -> Poll<Option<Closed>> {
        let mut next = ready!(self.poll_message(context));
        while let ControlFlow::Continue(has_calls) = next {
            if poll_proceed(context).map(|turn| turn.made_progress()).is_pending() {
                break;
            }
            // Responses are sent before the next message is received. If the next frame closes the channel, no response
            // can be sent after that frame.
            match self.poll_send_buffer(context) {
                // The next message may be the response to a request that was just sent, so this request must count as
                // written.
                Poll::Ready(Ok(())) if has_calls => self.link.set_written(self.written),
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => {
                    self.send_error = Some(error);
                    break;
                }
                Poll::Pending => break,
            }
            let Poll::Ready(received) = self.poll_message(context) else { break };
            next = received;
        }
        Poll::Ready(next.break_value().flatten())
    }

    /// Receives one message, and handles it. Returns `Break` if the driver must not receive the next message now.
    /// `Break` contains the reason if the link must end. `Continue` contains whether outgoing calls are pending.
    fn poll_message(&mut self, context: &mut Context<'_>) -> Poll<ControlFlow<Option<Closed>, bool>> {
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
            return Poll::Ready(ControlFlow::Break(Some(why)));
        }
        self.partial_message = None;
        let body = io.channel.received();
        let action = if body.len() > self.link.limits.message_bytes {
            refuse(&mut self.frame_handler, body);
            FrameAction::Continue
        } else {
            self.frame_handler.handle(Frame::Body(body))
        };
        let end = match action {
            FrameAction::Request(request) => {
                self.frame_handler.handle_request(request, context);
                None
            }
            FrameAction::Batch(entries) => {
                io.channel.release();
                self.begin_batch(entries);
                self.dispatch_events(context);
                return Poll::Ready(ControlFlow::Break(self.handle_rest_of_batch(context)));
            }
            FrameAction::End(why) => Some(why),
            // A channel transports only complete messages, so a rejected message contains no part of the next message.
            FrameAction::Continue | FrameAction::RejectBody | FrameAction::HalfClose => None,
        };
        io.channel.release();
        let pause = self.dispatch_and_take(context, true);
        let can_continue = end.is_none() && self.end.is_none() && pause.has_room;
        Poll::Ready(if can_continue { ControlFlow::Continue(pause.has_calls) } else { ControlFlow::Break(end) })
    }

    /// Handles the elements of the current batch, until the task has used up its budget. Returns `None` in every case,
    /// because the link continues.
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
