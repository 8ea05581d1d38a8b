//! The driver of a link: a future that does all IO and drains the connection, which is the state machine of the link.
//! The driver reads, runs handlers, writes, and handles timeouts.
//!
//! Reading never waits for writing, unless the unwritten output exceeds a limit. One timer serves all deadlines of the
//! link.

mod ending;
mod time;

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::cell::Cell;
use std::future::Future;
use std::io;
use std::mem;
use std::sync::Arc;
use std::thread_local;
use std::vec::{self, Vec};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::coop::poll_proceed;
use tokio::time::{Instant, Sleep};

use self::time::{Expiry, PartialMessage};
use super::Text;
use super::child::ChildProcess;
use super::diagnostic::Diagnostic;
use super::frame_handler::{FrameAction, FrameHandler};
use super::link::Link;
use super::state::LinkState;
use super::transport::Streams;
use crate::codec::FrameDecoder;
use crate::codec::frame::{Event as Frame, FrameFault};
use crate::connection::{Connection, Event, Ignored};
use crate::error::Closed;
use crate::message::Entry;

/// Maximum bytes of one read.
const CHUNK_BYTES: usize = 64 * 1024;

thread_local! {
    /// The read buffer. All links on a thread share it, so an idle link needs no read buffer.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

pub(super) struct Driver {
    link: Arc<Link>,
    frame_handler: FrameHandler,
    decoder: FrameDecoder,
    /// `None` after the input has ended.
    reader: Option<Box<dyn AsyncRead + Send + Unpin>>,
    /// `None` after the output has ended.
    writer: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    child: Option<ChildProcess>,
    /// The time that the process has to exit after its input was closed.
    child_grace: Duration,
    /// The output of the process after the end of reading. The output is discarded, so that the process can still
    /// write.
    discarding: Option<Box<dyn AsyncRead + Send + Unpin>>,
    /// The frames that are being written.
    write_buffer: Vec<u8>,
    /// The number of written bytes of `write_buffer`.
    written: usize,
    /// Whether the writer was flushed after its latest bytes.
    is_flushed: bool,
    /// The only timer of the link.
    sleep: Option<Pin<Box<Sleep>>>,
    /// Input that was read but not decoded yet, from `unread_start` on. It is decoded when [`Link::has_room`] returns
    /// true, and when the runtime polls the task again.
    unread: Vec<u8>,
    unread_start: usize,
    /// Whether more input can be decoded, from `unread` or from the buffer of the decoder.
    has_backlog: bool,
    /// The key of the current batch, and its remaining elements.
    batch: Option<(u32, vec::IntoIter<Entry<Text>>)>,
    /// The message that is not complete yet.
    partial_message: Option<PartialMessage>,
    /// An expired deadline, during the time in which available input is still read.
    expiry: Option<Expiry>,
    /// Whether input was read after `expiry` was last set.
    has_read: bool,
    /// Whether the peer sent `CLOSE`. Reading then ends with the bytes that were read already.
    peer_sent_close: bool,
    /// Whether the application sent `CLOSE`, or the output has ended. The output is shut down after the buffer is
    /// written.
    has_sent_close: bool,
    /// The deadline of reading, after the output has ended.
    read_deadline: Option<Instant>,
    /// Whether reading stopped only because the task had used up its budget (`tokio::task::coop`).
    is_read_deferred: bool,
    /// The error of a failed write.
    write_error: Option<Closed>,
    /// The reason why the link ends, and the deadline for remaining work.
    end: Option<(Closed, Instant)>,
    /// Whether a `CLOSE` frame must still be written.
    must_write_close: bool,
}

impl Driver {
    pub(super) fn new(link: Arc<Link>, streams: Streams, replies_to_invalid: bool) -> Self {
        let grace = link.grace;
        Self {
            frame_handler: FrameHandler::new(Arc::clone(&link), replies_to_invalid),
            decoder: FrameDecoder::new(link.framing, &link.limits).with_max_payload(link.wipc.max_payload),
            link,
            reader: Some(streams.reader),
            writer: Some(streams.writer),
            child: streams.child,
            child_grace: streams.child_grace.unwrap_or(grace),
            discarding: None,
            write_buffer: Vec::new(),
            written: 0,
            is_flushed: true,
            sleep: None,
            unread: Vec::new(),
            unread_start: 0,
            has_backlog: false,
            batch: None,
            partial_message: None,
            expiry: None,
            has_read: false,
            peer_sent_close: false,
            has_sent_close: false,
            read_deadline: None,
            is_read_deferred: false,
            write_error: None,
            end: None,
            must_write_close: false,
        }
    }

    fn poll_link(&mut self, context: &mut Context<'_>) -> Poll<Closed> {
        loop {
            let timeout = self.dispatch_events(context);
            self.detect_sent_close();
            let is_writing = match self.poll_write(context) {
                // The input has ended, too. For a child process, the exit status would be the reason instead.
                Poll::Ready(Err(error)) if self.reader.is_none() && self.child.is_none() => {
                    return Poll::Ready(Closed::from_io(&error));
                }
                Poll::Ready(Err(error)) => {
                    self.handle_write_error(Closed::from_io(&error));
                    false
                }
                Poll::Ready(Ok(())) => false,
                Poll::Pending => true,
            };
            self.discard_output(context);
            self.poll_child_exit(context);
            if self.is_finished(is_writing) {
                if self.write_close() {
                    continue;
                }
                return self.poll_shutdown_and_exit(context);
            }
            // Responses to earlier input are written before more is read.
            if self.poll_read(context).is_ready() {
                continue;
            }
            if self.poll_time(context, timeout).is_ready() {
                continue;
            }
            if self.link.sleep(context) {
                return Poll::Pending;
            }
        }
    }

    /// Dispatches the events of the connection. Returns the next timeout of the connection.
    fn dispatch_events(&mut self, context: &Context<'_>) -> Option<u64> {
        loop {
            let work = self.link.take_work();
            self.handle_link_state(&work.link_state);
            let Some(event) = work.event else { return work.timeout };
            self.dispatch(event, &work.link_state, context);
        }
    }

    fn dispatch(&mut self, event: Event<Text>, link_state: &LinkState, context: &Context<'_>) {
        match event {
            // A handler may have stopped the link. No further request begins then.
            Event::Request { .. } | Event::Notification(_) if *link_state != LinkState::Open => {}
            Event::Request { key, method, params } => self.link.dispatch_request(key, method, params, context),
            Event::Notification(notification) => {
                self.link.dispatch_notification(&notification.method, notification.params.as_deref())
            }
            Event::Cancelled(key) => self.link.cancel_request(key),
            // Peers also respond to cancelled requests.
            Event::Ignored(Ignored::LateResponse(_)) => {}
            Event::Ignored(Ignored::UnmatchedResponse(id)) => {
                self.link.diagnostics.report(Diagnostic::UnmatchedResponse { id: &id });
            }
            Event::Ignored(Ignored::PeerError(error)) => {
                self.link.diagnostics.report(Diagnostic::PeerError { code: error.code, message: &error.message });
            }
            Event::Ignored(Ignored::Unreadable(why)) => self.link.diagnostics.report(Diagnostic::UnreadableAnswer(why)),
            Event::Ignored(Ignored::Malformed) => self.link.diagnostics.report(Diagnostic::Malformed),
            // `State::drain_connection` has handled this event.
            Event::Ended { .. } => {}
        }
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writer) = &mut self.writer else { return Poll::Ready(Ok(())) };
        loop {
            if self.written == self.write_buffer.len() {
                self.link.take_unwritten(&mut self.write_buffer);
                self.written = 0;
                if self.write_buffer.is_empty() {
                    break;
                }
            }
            let rest = self.write_buffer.get(self.written..).unwrap_or_default();
            let count = ready!(Pin::new(&mut *writer).poll_write(context, rest))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += count;
            self.is_flushed = false;
            if self.written < self.write_buffer.len() {
                self.link.set_written(self.written);
            }
        }
        if !self.is_flushed {
            ready!(Pin::new(&mut *writer).poll_flush(context))?;
            self.is_flushed = true;
        }
        if self.has_sent_close {
            // An error here means that the output is closed already.
            let _ = ready!(Pin::new(writer).poll_shutdown(context));
            self.writer = None;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads once, and decodes the input.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.is_read_deferred = false;
        // A batch is completed even without room, because its responses are sent only after its last element.
        if self.batch.is_none() && !self.link.has_room() {
            // The timeout of an incomplete message restarts, because the sender is not the cause of this pause.
            self.partial_message = self.partial_message.map(|partial| PartialMessage::new(partial.message));
            return Poll::Pending;
        }
        let Some(reader) = &mut self.reader else { return Poll::Pending };
        // When the task has used up its budget, other tasks run, even if more input is available.
        self.is_read_deferred = true;
        let turn = ready!(poll_proceed(context));
        if self.has_backlog {
            turn.made_progress();
            let unread = mem::take(&mut self.unread);
            let (used, end) = self.handle_bytes(unread.get(self.unread_start..).unwrap_or_default(), context);
            self.unread_start += used;
            if self.unread_start < unread.len() {
                self.unread = unread;
            } else {
                self.unread_start = 0;
            }
            if let Some(why) = end {
                self.begin_end(why);
            }
            return Poll::Ready(());
        }
        let mut scratch = SCRATCH.take();
        scratch.resize(CHUNK_BYTES, 0);
        let mut buffer = ReadBuf::new(&mut scratch);
        let read = Pin::new(reader).poll_read(context, &mut buffer);
        if read.is_ready() {
            turn.made_progress();
            self.has_read = true;
        }
        let end = match read {
            Poll::Pending => {
                SCRATCH.set(scratch);
                self.is_read_deferred = false;
                return Poll::Pending;
            }
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => None,
            Poll::Ready(Err(error)) => Some(Closed::from_io(&error)),
            Poll::Ready(Ok(())) if buffer.filled().is_empty() => Some(self.finish_input(context)),
            Poll::Ready(Ok(())) => {
                let input = buffer.filled();
                let (used, end) = self.handle_bytes(input, context);
                self.unread = input.get(used..).unwrap_or_default().to_vec();
                self.unread_start = 0;
                end
            }
        };
        SCRATCH.set(scratch);
        if let Some(why) = end {
            self.begin_end(why);
        }
        Poll::Ready(())
    }

    /// Decodes input, until [`Link::has_room`] returns false or the task has used up its budget. Returns the number of
    /// decoded bytes. Also returns the reason why the link must end, or `None` if the link continues.
    fn handle_bytes(&mut self, bytes: &[u8], context: &mut Context<'_>) -> (usize, Option<Closed>) {
        let mut input = bytes;
        self.has_backlog = !self.handle_batch_elements(context);
        if self.has_backlog || self.end.is_some() {
            return (0, None);
        }
        loop {
            let before = input;
            let Some(frame) = self.decoder.next(&mut input) else { break };
            let mut chunks = 1;
            match self.frame_handler.handle(frame) {
                FrameAction::Continue => {}
                // Decoding bytes again costs as much as new input.
                FrameAction::RejectBody => chunks += self.decoder.reject_body(before) / CHUNK_BYTES,
                FrameAction::Batch(entries) => self.begin_batch(entries),
                FrameAction::End(why) => return (bytes.len(), Some(why)),
                FrameAction::HalfClose if self.child.is_some() => self.begin_half_close(),
                FrameAction::HalfClose => self.peer_sent_close = true,
            }
            self.dispatch_events(context);
            let is_within_batch = !self.handle_batch_elements(context);
            if self.end.is_some() {
                return (bytes.len(), None);
            }
            let is_turn_over = is_within_batch
                || (0..chunks).any(|_| poll_proceed(context).map(|turn| turn.made_progress()).is_pending());
            self.has_backlog = is_turn_over || !self.link.has_room();
            if self.has_backlog {
                return (bytes.len() - input.len(), None);
            }
        }
        self.partial_message = self.decoder.unfinished().map(|message| match self.partial_message {
            Some(same) if same.message == message => same.continued(),
            _ => PartialMessage::new(message),
        });
        (bytes.len(), self.peer_sent_close.then_some(Closed::End))
    }

    /// Decodes the rest of the input after its end. Returns the reason why the link ends.
    fn finish_input(&mut self, context: &mut Context<'_>) -> Closed {
        let mut closed = Closed::End;
        while let Some(frame) = self.decoder.finish() {
            if let Frame::Fault(FrameFault::Truncated { received_bytes }) = frame {
                closed = Closed::Truncated(received_bytes);
            }
            if let FrameAction::Batch(entries) = self.frame_handler.handle(frame) {
                self.begin_batch(entries);
            }
            self.dispatch_events(context);
            while !self.handle_batch_elements(context) {}
        }
        closed
    }

    fn begin_batch(&mut self, entries: Vec<Entry<Text>>) {
        let begin = |connection: &mut Connection<Text>| {
            (!connection.is_closed()).then(|| connection.begin_batch(&entries)).flatten()
        };
        self.batch = self.link.with_connection(begin).map(|batch| (batch, entries.into_iter()));
    }

    /// Handles the elements of the current batch. Dispatches the events of each element before the next element is
    /// handled. Returns `false` if the task used up its budget before the last element.
    fn handle_batch_elements(&mut self, context: &mut Context<'_>) -> bool {
        while let Some((batch, entries)) = &mut self.batch {
            let batch = *batch;
            let Some(entry) = entries.next() else {
                self.end_batch();
                return true;
            };
            self.frame_handler.handle_entry(entry, Some(batch));
            self.dispatch_events(context);
            if poll_proceed(context).map(|turn| turn.made_progress()).is_pending() {
                return false;
            }
        }
        true
    }

    /// Ends the current batch. Its remaining elements are dropped.
    fn end_batch(&mut self) {
        if let Some((batch, _)) = self.batch.take() {
            self.link.with_connection(|connection| connection.end_batch(batch));
        }
    }
}

impl Future for Driver {
    type Output = Closed;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Closed> {
        let this = self.get_mut();
        let closed = ready!(this.poll_link(context));
        this.link.close(closed.clone());
        Poll::Ready(closed)
    }
}

/// The drop of the driver closes the link.
impl Drop for Driver {
    fn drop(&mut self) {
        if !matches!(self.link.link_state(), LinkState::Closed(_)) {
            self.link.close(Closed::Local);
        }
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("end", &self.end).finish_non_exhaustive()
    }
}
