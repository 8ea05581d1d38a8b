//! The input of a byte stream: reads bytes and decodes their frames.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;
use std::mem;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::task::coop::poll_proceed;

use super::Driver;
use super::streams::{ByteIo, Io};
use super::time::PartialMessage;
use crate::codec::frame::{Event as Frame, FrameFault};
use crate::error::Closed;
use crate::native::frame_handler::FrameAction;
use crate::native::scratch::{CHUNK_BYTES, with_scratch};

impl Driver {
    /// Reads once, and decodes the bytes. Returns the reason why the link must end, or `None` if the link continues.
    pub(super) fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Closed>> {
        with_scratch(|scratch| {
            let Io::Bytes(ByteIo { reader: Some(reader), .. }) = &mut self.io else { return Poll::Pending };
            let mut buffer = ReadBuf::new(scratch);
            Poll::Ready(match ready!(Pin::new(reader).poll_read(context, &mut buffer)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
                Err(error) => Some(Closed::from_io(&error)),
                Ok(()) if buffer.filled().is_empty() => Some(self.finish_input(context)),
                Ok(()) => {
                    let input = buffer.filled();
                    let (used, end) = self.handle_bytes(input, context);
                    self.set_unread(input.get(used..).unwrap_or_default().to_vec(), 0);
                    end
                }
            })
        })
    }

    /// Decodes bytes that were read earlier and are not decoded yet. Returns the reason why the link must end, or
    /// `None` if the link continues.
    pub(super) fn handle_unread(&mut self, context: &mut Context<'_>) -> Option<Closed> {
        let Io::Bytes(io) = &mut self.io else { return None };
        let (unread, start) = (mem::take(&mut io.unread), io.unread_start);
        let (used, end) = self.handle_bytes(unread.get(start..).unwrap_or_default(), context);
        if start + used < unread.len() {
            self.set_unread(unread, start + used);
        } else {
            self.set_unread(Vec::new(), 0);
        }
        end
    }

    fn set_unread(&mut self, unread: Vec<u8>, start: usize) {
        if let Io::Bytes(io) = &mut self.io {
            (io.unread, io.unread_start) = (unread, start);
        }
    }

    /// Decodes input until [`Link::has_room`](crate::native::link::Link::has_room) returns false or the task has used
    /// up its budget. Returns the number of decoded bytes. Also returns the reason why the link must end, or `None` if
    /// the link continues.
    pub(super) fn handle_bytes(&mut self, bytes: &[u8], context: &mut Context<'_>) -> (usize, Option<Closed>) {
        let mut input = bytes;
        self.has_backlog = !self.handle_batch_elements(context);
        if self.has_backlog || self.end.is_some() {
            return (0, None);
        }
        loop {
            let before = input;
            let Some(frame) = self.io.next_frame(&mut input) else { break };
            let mut chunks = 1;
            match self.frame_handler.handle(frame) {
                FrameAction::Continue => {}
                FrameAction::Request(request) => self.frame_handler.handle_request(request, context),
                // Bytes that are decoded again cost as much time as new bytes, so they also count towards the budget.
                FrameAction::RejectBody => chunks += self.io.reject_body(before) / CHUNK_BYTES,
                FrameAction::Batch(entries) => self.begin_batch(entries),
                FrameAction::End(why) => return (bytes.len(), Some(why)),
                FrameAction::HalfClose if self.child.is_some() => self.begin_half_close(),
                FrameAction::HalfClose => self.peer_sent_close = true,
            }
            let has_room = self.dispatch_events(context).has_room;
            let has_batch = self.batch.is_some();
            let is_within_batch = !self.handle_batch_elements(context);
            if self.end.is_some() {
                return (bytes.len(), None);
            }
            let is_turn_over = is_within_batch
                || (0..chunks).any(|_| poll_proceed(context).map(|turn| turn.made_progress()).is_pending());
            self.has_backlog = is_turn_over || !(if has_batch { self.link.has_room() } else { has_room });
            if self.has_backlog {
                return (bytes.len() - input.len(), None);
            }
        }
        self.partial_message = self.io.unfinished().map(|message| match self.partial_message {
            Some(same) if same.message == message => same.continued(),
            _ => PartialMessage::new(message),
        });
        (bytes.len(), self.peer_sent_close.then_some(Closed::End))
    }

    /// Decodes the bytes that are buffered at the end of the input. Returns the reason why the link ends.
    fn finish_input(&mut self, context: &mut Context<'_>) -> Closed {
        let mut closed = Closed::End;
        while let Some(frame) = self.io.finish_frame() {
            if let Frame::Fault(FrameFault::Truncated { received_bytes }) = frame {
                closed = Closed::Truncated(received_bytes);
            }
            match self.frame_handler.handle(frame) {
                FrameAction::Batch(entries) => self.begin_batch(entries),
                FrameAction::Request(request) => self.frame_handler.handle_request(request, context),
                _ => {}
            }
            self.dispatch_events(context);
            while !self.handle_batch_elements(context) {}
        }
        closed
    }

    /// Discards the output of the child process after the end of the input, so that its writes do not block.
    pub(super) fn discard_output(&mut self, context: &mut Context<'_>) {
        let Io::Bytes(ByteIo { discarding: discarding @ Some(_), .. }) = &mut self.io else { return };
        with_scratch(|scratch| {
            while let Some(reader) = discarding {
                let mut buffer = ReadBuf::new(scratch);
                match Pin::new(reader).poll_read(context, &mut buffer) {
                    Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {}
                    Poll::Ready(_) => *discarding = None,
                    Poll::Pending => break,
                }
            }
        });
    }
}
