//! The one place that drains a connection and does IO: a future that reads, runs handlers, writes, and keeps the time.
//!
//! Reading never waits for writing, except when the other side has left more unread than a limit. One timer serves all
//! deadlines of the link.

mod ending;
mod time;

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::boxed::Box;
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

use self::time::{Expiry, Unfinished};
use super::Text;
use super::child::ChildProcess;
use super::diagnostic::Diagnostic;
use super::error::Closed;
use super::inbox::{Inbox, Next};
use super::link::Link;
use super::state::Stage;
use super::transport::Streams;
use crate::codec::frame::{Event as Frame, FrameFault};
use crate::codec::framing::FrameDecoder;
use crate::connection::{Connection, Event, Ignored};
use crate::message::Entry;

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

thread_local! {
    /// A link that is idle keeps no memory for what it may read: all on one thread share this.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

pub(super) struct Driver {
    link: Arc<Link>,
    inbox: Inbox,
    decoder: FrameDecoder,
    /// `None` once the input has ended.
    reader: Option<Box<dyn AsyncRead + Send + Unpin>>,
    /// `None` once the output has ended.
    writer: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    child: Option<ChildProcess>,
    /// Time of the process to exit once it has lost its input.
    child_grace: Duration,
    /// What the process still prints, once nobody reads it: it must not fail for that.
    drained: Option<Box<dyn AsyncRead + Send + Unpin>>,
    writing: Vec<u8>,
    written: usize,
    is_flushed: bool,
    /// The one timer, and what it is set to.
    sleep: Option<Pin<Box<Sleep>>>,
    /// What was read and not taken yet, from there on: there was no room for what follows from it, or no time.
    held: Vec<u8>,
    held_from: usize,
    /// Whether there is more to take, from there or from what the decoder searches again.
    is_behind: bool,
    /// The current batch, and its elements that wait for the next turn.
    batch: Option<(u32, vec::IntoIter<Entry<Text>>)>,
    /// The message that has begun and is not complete.
    unfinished: Option<Unfinished>,
    /// A time that is up, while input that has arrived is still read.
    expiry: Option<Expiry>,
    /// Whether input was read since the final read began, or was prolonged.
    has_read: bool,
    /// Whether the other side has said that it ends: nothing more is read than what was.
    is_last_read: bool,
    /// Whether this side sent `CLOSE`. The output is shut down once the buffer is written.
    has_sent_close: bool,
    /// How long the other side, which takes nothing more, may take to end.
    closing: Option<Instant>,
    /// Whether reading stopped only because the task's turn was over.
    is_read_deferred: bool,
    /// Why nothing can be written any more.
    broken: Option<Closed>,
    /// Why the link ends, and when it ends whatever is still to do.
    end: Option<(Closed, Instant)>,
    /// Whether the other side is still to be told of the end.
    says_goodbye: bool,
}

impl Driver {
    pub(super) fn new(link: Arc<Link>, streams: Streams, serves: bool) -> Self {
        let grace = link.grace;
        Self {
            inbox: Inbox::new(Arc::clone(&link), serves),
            decoder: FrameDecoder::new(link.framing, &link.limits).with_max_payload(link.wipc.max_payload),
            link,
            reader: Some(streams.reader),
            writer: Some(streams.writer),
            child: streams.child,
            child_grace: streams.child_grace.unwrap_or(grace),
            drained: None,
            writing: Vec::new(),
            written: 0,
            is_flushed: true,
            sleep: None,
            held: Vec::new(),
            held_from: 0,
            is_behind: false,
            batch: None,
            unfinished: None,
            expiry: None,
            has_read: false,
            is_last_read: false,
            has_sent_close: false,
            closing: None,
            is_read_deferred: false,
            broken: None,
            end: None,
            says_goodbye: false,
        }
    }

    fn poll_link(&mut self, context: &mut Context<'_>) -> Poll<Closed> {
        loop {
            let timeout = self.run_events(context);
            self.notice_close();
            let is_writing = match self.poll_write(context) {
                // A process that does not read any more has its status to report.
                Poll::Ready(Err(error)) if self.reader.is_none() && self.child.is_none() => {
                    return Poll::Ready(Closed::from_io(&error));
                }
                Poll::Ready(Err(error)) => {
                    self.lose_output(Closed::from_io(&error));
                    false
                }
                Poll::Ready(Ok(())) => false,
                Poll::Pending => true,
            };
            self.drain(context);
            self.notice_exit(context);
            if self.is_over(is_writing) {
                if self.write_goodbye() {
                    continue;
                }
                return self.poll_goodbye(context);
            }
            // What was read is answered, and the answers are written, before more is read.
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

    /// Runs what the connection has for the application. Gives when it wants to hear the time.
    fn run_events(&mut self, context: &Context<'_>) -> Option<u64> {
        loop {
            let work = self.link.take_work();
            self.notice(&work.stage);
            if work.events.is_empty() {
                return work.timeout;
            }
            for event in work.events {
                self.run(event, context);
            }
        }
    }

    fn run(&mut self, event: Event<Text>, context: &Context<'_>) {
        match event {
            // A handler may have stopped the link just now: what has not begun does not begin.
            Event::Request { .. } if self.link.stage() != Stage::Open => {}
            Event::Request { key, method, params } => self.link.serve(key, method, params, context),
            Event::Notification(_) if self.link.stage() != Stage::Open => {}
            Event::Notification(told) => self.link.notified(&told.method, told.params.as_deref()),
            Event::Cancelled(key) => self.link.cancel_request(key),
            // A peer also answers cancelled requests.
            Event::Ignored(Ignored::LateResponse(_)) => {}
            Event::Ignored(Ignored::UnmatchedResponse(id)) => {
                self.link.listener.tell(Diagnostic::UnmatchedResponse { id: &id });
            }
            Event::Ignored(Ignored::PeerError(error)) => {
                self.link.listener.tell(Diagnostic::PeerError { code: error.code, message: &error.message });
            }
            Event::Ignored(Ignored::Unreadable(why)) => self.link.listener.tell(Diagnostic::UnreadableAnswer(why)),
            Event::Ignored(Ignored::Malformed) => self.link.listener.tell(Diagnostic::Malformed),
            // The link has seen to it.
            Event::Ended { .. } => {}
        }
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writer) = &mut self.writer else { return Poll::Ready(Ok(())) };
        loop {
            if self.written == self.writing.len() {
                self.link.take_unwritten(&mut self.writing);
                self.written = 0;
                if self.writing.is_empty() {
                    break;
                }
            }
            let rest = self.writing.get(self.written..).unwrap_or_default();
            let count = ready!(Pin::new(&mut *writer).poll_write(context, rest))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += count;
            self.is_flushed = false;
            if self.written < self.writing.len() {
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

    /// Reads once, and takes what has come.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.is_read_deferred = false;
        // A batch that has begun goes on: its replies leave, and make room, once all of it is done.
        if self.batch.is_none() && !self.link.has_room() {
            // That a message does not go on is then no fault of its sender.
            self.unfinished = self.unfinished.map(|unfinished| Unfinished::begin(unfinished.message));
            return Poll::Pending;
        }
        let Some(reader) = &mut self.reader else { return Poll::Pending };
        // Once the turn of this task is over, others have theirs first, even if there always is something to read.
        self.is_read_deferred = true;
        let turn = ready!(poll_proceed(context));
        if self.is_behind {
            turn.made_progress();
            let held = mem::take(&mut self.held);
            let (used, end) = self.take(held.get(self.held_from..).unwrap_or_default(), context);
            self.held_from += used;
            if self.held_from < held.len() {
                self.held = held;
            } else {
                self.held_from = 0;
            }
            if let Some(why) = end {
                self.begin_end(why);
            }
            return Poll::Ready(());
        }
        let mut scratch = SCRATCH.take();
        scratch.resize(CHUNK, 0);
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
            Poll::Ready(Ok(())) if buffer.filled().is_empty() => Some(self.finish(context)),
            Poll::Ready(Ok(())) => {
                let input = buffer.filled();
                let (used, end) = self.take(input, context);
                self.held = input.get(used..).unwrap_or_default().to_vec();
                self.held_from = 0;
                end
            }
        };
        SCRATCH.set(scratch);
        if let Some(why) = end {
            self.begin_end(why);
        }
        Poll::Ready(())
    }

    /// Takes what has come, as far as there is room for what follows from it and time in this turn. Gives how many bytes
    /// that were.
    fn take(&mut self, bytes: &[u8], context: &mut Context<'_>) -> (usize, Option<Closed>) {
        let mut input = bytes;
        self.is_behind = !self.take_elements(context);
        if self.is_behind || self.end.is_some() {
            return (0, None);
        }
        while let Some(frame) = self.decoder.next(&mut input) {
            let mut chunks = 1;
            match self.inbox.take(frame) {
                Next::Go => {}
                Next::Unread(bytes) => {
                    // They cost as much as what comes.
                    chunks += bytes.len() / CHUNK;
                    self.decoder.unread(&bytes);
                }
                Next::Batch(entries) => self.begin_batch(entries),
                Next::End(why) => return (bytes.len(), Some(why)),
                Next::Closing if self.child.is_some() => self.begin_closing(),
                Next::Closing => self.is_last_read = true,
            }
            self.run_events(context);
            let is_within_batch = !self.take_elements(context);
            if self.end.is_some() {
                return (bytes.len(), None);
            }
            let is_over = is_within_batch
                || (0..chunks).any(|_| poll_proceed(context).map(|turn| turn.made_progress()).is_pending());
            self.is_behind = is_over || !self.link.has_room();
            if self.is_behind {
                return (bytes.len() - input.len(), None);
            }
        }
        self.unfinished = self.decoder.unfinished().map(|message| match self.unfinished {
            Some(same) if same.message == message => same.go_on(),
            _ => Unfinished::begin(message),
        });
        (bytes.len(), self.is_last_read.then_some(Closed::End))
    }

    /// The input has ended: what was held of it is the last that comes.
    fn finish(&mut self, context: &mut Context<'_>) -> Closed {
        let mut closed = Closed::End;
        while let Some(frame) = self.decoder.finish() {
            if let Frame::Fault(FrameFault::Truncated { held }) = frame {
                closed = Closed::Truncated(held);
            }
            if let Next::Batch(entries) = self.inbox.take(frame) {
                self.begin_batch(entries);
            }
            self.run_events(context);
            while !self.take_elements(context) {}
        }
        closed
    }

    fn begin_batch(&mut self, entries: Vec<Entry<Text>>) {
        let begin = |connection: &mut Connection<Text>| {
            (!connection.is_closed()).then(|| connection.begin_batch(&entries)).flatten()
        };
        self.batch = self.link.input(begin).map(|batch| (batch, entries.into_iter()));
    }

    /// Takes the elements of the batch that has begun, and runs the events of each before the next. Returns `false` if the
    /// turn of this task was over before the last element.
    fn take_elements(&mut self, context: &mut Context<'_>) -> bool {
        while let Some((batch, entries)) = &mut self.batch {
            let batch = *batch;
            let Some(entry) = entries.next() else {
                self.end_batch();
                return true;
            };
            self.inbox.take_entry(entry, Some(batch));
            self.run_events(context);
            if poll_proceed(context).map(|turn| turn.made_progress()).is_pending() {
                return false;
            }
        }
        true
    }

    /// Ends the batch that has begun. Its elements that were not taken yet are dropped.
    fn end_batch(&mut self) {
        if let Some((batch, _)) = self.batch.take() {
            self.link.input(|connection| connection.end_batch(batch));
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

/// A driver that is dropped has ended the link: nobody waits for it any more.
impl Drop for Driver {
    fn drop(&mut self) {
        if !matches!(self.link.stage(), Stage::Closed(_)) {
            self.link.close(Closed::Local);
        }
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("end", &self.end).finish_non_exhaustive()
    }
}
