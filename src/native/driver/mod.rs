//! The driver of a link: a future that does all IO and drains the connection, which is the state machine of the link.
//! The driver reads, runs handlers, writes, and handles timeouts.
//!
//! Reading waits for writing only if the unwritten output exceeds a limit. One timer serves all deadlines of the link.

mod bytes;
mod ending;
mod messages;
pub(super) mod streams;
mod time;
mod work;

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};
use core::time::Duration;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::vec::{self, Vec};

use tokio::task::coop::poll_proceed;
use tokio::time::{Instant, Sleep};

use self::streams::Io;
use self::time::{Expiry, PartialMessage};
use self::work::Pause;
use super::Text;
use super::child::ChildProcess;
use super::diagnostic::Diagnostic;
use super::frame_handler::FrameHandler;
use super::link::Link;
use super::outbox::Outbox;
use super::state::LinkState;
use super::transport::Streams;
use crate::connection::{Connection, Event, Ignored};
use crate::error::Closed;
use crate::message::{Entry, is_response};

pub(super) struct Driver {
    link: Arc<Link>,
    frame_handler: FrameHandler,
    io: Io,
    child: Option<ChildProcess>,
    /// The time that the process has to exit after its input was closed.
    child_grace: Duration,
    /// The messages that are being written.
    write_buffer: Outbox,
    /// The size of the written part of `write_buffer`.
    written: usize,
    /// Whether the writer was flushed after its latest bytes.
    is_flushed: bool,
    /// The only timer of the link.
    sleep: Option<Pin<Box<Sleep>>>,
    /// Whether more input can be handled without reading: unread bytes, bytes in the buffer of the decoder, or the rest
    /// of a batch.
    has_backlog: bool,
    /// The number of the current batch, and its remaining elements. A refused batch has no number.
    batch: Option<(Option<u32>, vec::IntoIter<Entry<Text>>)>,
    /// The message that is not complete yet.
    partial_message: Option<PartialMessage>,
    /// An expired deadline, during the time in which available input is still read.
    expiry: Option<Expiry>,
    /// Whether input was read after `expiry` was last set.
    has_read: bool,
    /// Whether the peer sent `CLOSE`. If true, reading ends after the bytes that were already read.
    peer_sent_close: bool,
    /// Whether the application sent `CLOSE`, or the output has ended. The output is shut down after the buffer is
    /// written.
    has_sent_close: bool,
    /// The deadline of reading, after the output has ended.
    read_deadline: Option<Instant>,
    /// Whether reading stopped only because the task had used up its budget (`tokio::task::coop`).
    is_read_deferred: bool,
    /// The error of a failed write between two received messages. The next call of `poll_write` returns this error.
    send_error: Option<io::Error>,
    /// The reason of a failed write, see `handle_write_error`. The link ends with this reason. A link to a process ends
    /// with the exit status instead.
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
            io: Io::new(streams.io, &link.limits, link.wipc.max_payload),
            write_buffer: Outbox::new(link.framing),
            link,
            child: streams.child,
            child_grace: streams.child_grace.unwrap_or(grace),
            written: 0,
            is_flushed: true,
            sleep: None,
            has_backlog: false,
            batch: None,
            partial_message: None,
            expiry: None,
            has_read: false,
            peer_sent_close: false,
            has_sent_close: false,
            read_deadline: None,
            is_read_deferred: false,
            send_error: None,
            write_error: None,
            end: None,
            must_write_close: false,
        }
    }

    fn poll_link(&mut self, context: &mut Context<'_>) -> Poll<Closed> {
        loop {
            let pause = self.dispatch_events(context);
            self.detect_sent_close();
            let is_writing = match self.poll_write(context) {
                // After the end of the input, a failed write ends the link. A link to a process ends with the exit
                // status instead.
                Poll::Ready(Err(error)) if !self.io.is_reading() && self.child.is_none() => {
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
            // Responses to earlier input are written before more input is read.
            if self.poll_read(context).is_ready() {
                continue;
            }
            if self.poll_time(context, pause.timeout).is_ready() {
                continue;
            }
            if self.link.sleep(context) {
                return Poll::Pending;
            }
        }
    }

    /// Dispatches the events of the connection.
    fn dispatch_events(&mut self, context: &Context<'_>) -> Pause {
        self.dispatch_and_take(context, false)
    }

    /// Dispatches the events of the connection. If `takes_output` is true and the current buffer is written, takes the
    /// messages to write next.
    fn dispatch_and_take(&mut self, context: &Context<'_>, takes_output: bool) -> Pause {
        loop {
            let takes_output = takes_output && self.written == self.write_buffer.size() && self.io.is_writing();
            let work = self.link.take_work(if takes_output { Some(&mut self.write_buffer) } else { None });
            self.handle_link_state(&work.link_state);
            let Some(event) = work.event else {
                if takes_output {
                    self.written = 0;
                }
                work.waiters.into_iter().for_each(Waker::wake);
                return work.pause;
            };
            self.dispatch(event, &work.link_state, context);
        }
    }

    fn dispatch(&mut self, event: Event<Text>, link_state: &LinkState, context: &Context<'_>) {
        match event {
            // A handler may have stopped or closed the link. After that, no further request begins.
            Event::Request { .. } | Event::Notification(_) if *link_state != LinkState::Open => {}
            Event::Request { key, method, params } => self.link.dispatch_request(key, method, params, context),
            Event::Notification(notification) => {
                self.link.dispatch_notification(&notification.method, notification.params.as_deref())
            }
            Event::Cancelled(key) => self.link.cancel_request(key),
            // A peer may respond to a cancelled request.
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

    /// Writes all output, and flushes it.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.io.is_writing() {
            return Poll::Ready(Ok(()));
        }
        if let Some(error) = self.send_error.take() {
            return Poll::Ready(Err(error));
        }
        ready!(self.poll_send(context))?;
        if !self.is_flushed {
            ready!(self.io.poll_flush(context))?;
            self.is_flushed = true;
        }
        if self.has_sent_close {
            // An error here means that the output is closed already.
            let _ = ready!(self.io.poll_shutdown(context));
            self.io.end_writing();
        }
        Poll::Ready(Ok(()))
    }

    /// Passes all output to the transport, which may buffer it.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.io.is_writing() {
            return Poll::Ready(Ok(()));
        }
        loop {
            if self.written == self.write_buffer.size() {
                self.link.take_unwritten(&mut self.write_buffer);
                self.written = 0;
                if self.write_buffer.size() == 0 {
                    return Poll::Ready(Ok(()));
                }
            }
            ready!(self.poll_send_buffer(context))?;
        }
    }

    /// Passes the current buffer to the transport, which may buffer it.
    fn poll_send_buffer(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.write_buffer.size() && self.io.is_writing() {
            self.written += ready!(self.io.poll_write(context, &mut self.write_buffer, self.written))?;
            self.is_flushed = false;
            if self.written < self.write_buffer.size() {
                self.link.set_written(self.written);
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads once, or receives the available messages of a channel, and handles the input.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.is_read_deferred = false;
        // A batch is completed even without room, because its responses are sent only after its last element.
        if self.batch.is_none() && !self.link.has_room() {
            // The timeout of an incomplete message restarts, because the sender is not the cause of this pause.
            self.partial_message = self.partial_message.map(|partial| PartialMessage::new(partial.message));
            return Poll::Pending;
        }
        if !self.io.is_reading() {
            return Poll::Pending;
        }
        // When the task has used up its budget, other tasks run, even if more input is available.
        self.is_read_deferred = true;
        let turn = ready!(poll_proceed(context));
        let end = if self.has_backlog {
            turn.made_progress();
            match self.io {
                Io::Bytes(_) => self.handle_unread(context),
                Io::Messages(_) => self.handle_rest_of_batch(context),
            }
        } else {
            let input = match self.io {
                Io::Bytes(_) => self.poll_bytes(context),
                Io::Messages(_) => self.poll_messages(context),
            };
            match input {
                Poll::Pending => {
                    self.is_read_deferred = false;
                    return Poll::Pending;
                }
                Poll::Ready(end) => {
                    turn.made_progress();
                    self.has_read = true;
                    end
                }
            }
        };
        if let Some(why) = end {
            self.begin_end(why);
        }
        Poll::Ready(())
    }

    fn begin_batch(&mut self, mut entries: Vec<Entry<Text>>) {
        let begin =
            |connection: &mut Connection<Text>| (!connection.is_closed()).then(|| connection.begin_batch(&entries));
        let Some(batch) = self.link.with_connection(begin) else { return };
        match batch {
            Ok(_) => self.frame_handler.report_rejections(&entries),
            Err(fault) => {
                self.frame_handler.report_rejected(None, &[], fault);
                entries.retain(is_response);
            }
        }
        self.batch = Some((batch.ok(), entries.into_iter()));
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
            self.frame_handler.handle_entry(entry, batch);
            self.dispatch_events(context);
            if poll_proceed(context).map(|turn| turn.made_progress()).is_pending() {
                return false;
            }
        }
        true
    }

    /// Ends the current batch. Its remaining elements are dropped.
    fn end_batch(&mut self) {
        if let Some((Some(batch), _)) = self.batch.take() {
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
