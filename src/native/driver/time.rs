//! Timeouts. Input that has arrived is read before a call or a message times out.

use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::boxed::Box;

use tokio::time::{Instant, sleep_until};

use super::Driver;
use crate::codec::framing::Framing;
use crate::native::error::Closed;
use crate::native::limits::{FINAL_READ, FINAL_READS};

/// A message that has begun and is not complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unfinished {
    /// Its number, see [`FrameDecoder::unfinished`](crate::codec::framing::FrameDecoder::unfinished).
    pub(super) message: u64,
    since: Instant,
    /// When its latest bytes came.
    heard: Instant,
}

/// A time that is up. This process may have been stopped, or its thread blocked: input that has arrived meanwhile is
/// read first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expiry {
    /// The end of reading, however much input is left.
    latest: Instant,
    /// The end of reading, unless input is read before.
    until: Instant,
}

impl Unfinished {
    pub(super) fn begin(message: u64) -> Self {
        let now = Instant::now();
        Self { message, since: now, heard: now }
    }

    /// Records that more of the message has come.
    pub(super) fn go_on(self) -> Self {
        Self { heard: Instant::now(), ..self }
    }
}

impl Driver {
    /// Ends when a deadline was reached and handled.
    pub(super) fn poll_time(&mut self, context: &mut Context<'_>, timeout: Option<u64>) -> Poll<()> {
        let call = timeout.map(|timeout| self.link.instant(timeout));
        let frame = self.frame_deadline();
        let confirmed = self.confirmed(call.into_iter().chain(frame).min());
        let end = self.end.as_ref().map(|(_, deadline)| *deadline);
        let closing = self.closing.and_then(|closing| {
            // Input that is already there is handled for one more grace at most.
            if self.is_read_deferred { closing.checked_add(self.link.grace) } else { Some(closing) }
        });
        let Some(next) = [confirmed, end, closing].into_iter().flatten().min() else { return Poll::Pending };
        ready!(self.poll_until(context, next));
        let now = Instant::now();
        if closing.is_some_and(|deadline| deadline <= now) {
            let why = self.broken.take().filter(|_| self.child.is_none()).unwrap_or(Closed::End);
            self.begin_end(why);
        }
        if confirmed.is_none_or(|confirmed| now < confirmed) {
            return Poll::Ready(());
        }
        if frame.is_some_and(|frame| frame <= now) {
            let fault = self.decoder.time_out();
            self.unfinished = None;
            self.inbox.take_fault(fault);
            // Its end may uncover other messages.
            if let (_, Some(why)) = self.take(&[], context) {
                self.begin_end(why);
            }
        }
        let milliseconds = self.link.now();
        self.link.input(|connection| connection.handle_timeout(milliseconds));
        Poll::Ready(())
    }

    /// When the incomplete message times out. While own calls wait, their timeouts bound its total time, and it only
    /// has to make progress.
    fn frame_deadline(&self) -> Option<Instant> {
        // While unread input is held, the message may be complete, so its timeout does not run.
        let unfinished = self.unfinished.filter(|_| !self.is_behind)?;
        if self.link.framing == Framing::Wipc {
            return unfinished.since.checked_add(self.link.wipc.payload_timeout?);
        }
        let from = if self.link.pending_calls() > 0 { unfinished.heard } else { unfinished.since };
        from.checked_add(Duration::from_millis(self.link.limits.partial_frame_ms))
    }

    /// When a deadline that may have passed takes effect. Once it has passed, the reactor gets another turn, and more
    /// turns as long as there is input.
    fn confirmed(&mut self, due: Option<Instant>) -> Option<Instant> {
        let now = Instant::now();
        let Some(due) = due.filter(|due| *due <= now && self.reader.is_some()) else {
            self.expiry = None;
            return due;
        };
        let expiry = match self.expiry {
            Some(expiry) if now < expiry.until => expiry,
            Some(expiry) if now < expiry.latest && (self.has_read || self.is_read_deferred || self.is_behind) => {
                self.has_read = false;
                Expiry { until: now + FINAL_READ, ..expiry }
            }
            // The state stays until the calls that are due have ended.
            Some(_) => return Some(due),
            None => {
                self.has_read = false;
                Expiry { latest: now + FINAL_READS, until: now + FINAL_READ }
            }
        };
        self.expiry = Some(expiry);
        Some(expiry.until)
    }

    /// Waits with the only timer. The timer may be set to an earlier time than the deadline. It is reset only once that
    /// time has come, since most deadlines are never reached.
    pub(super) fn poll_until(&mut self, context: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        loop {
            if Instant::now() >= deadline {
                return Poll::Ready(());
            }
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            if sleep.deadline() > deadline || sleep.is_elapsed() {
                sleep.as_mut().reset(deadline);
            }
            ready!(sleep.as_mut().poll(context));
        }
    }
}
