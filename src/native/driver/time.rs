//! Handles timeouts. Before a call or a message times out, the driver reads the input that is already available.

use core::task::{Context, Poll, ready};
use core::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Driver;
use super::streams::Io;
use crate::error::Closed;
use crate::native::limits::{FINAL_READ_TIMEOUT, MAX_FINAL_READ_TIME};

/// A message that is not complete yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartialMessage {
    /// The number of the message, see [`FrameDecoder::unfinished`](crate::codec::FrameDecoder::unfinished).
    pub(super) message: u64,
    /// The start of the timeout: the time at which the driver received the beginning of the message, or last paused
    /// reading.
    since: Instant,
    /// The time at which the latest bytes of the message were received.
    last_received: Instant,
}

/// An expired deadline of a call or of a partial message. The missing bytes may be available already, and unread only
/// because this process was suspended or its thread was blocked. So available input is read before the deadline takes
/// effect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expiry {
    /// The time at which the deadline takes effect, even if more input is available.
    latest: Instant,
    /// The time at which the deadline takes effect, unless input is read before this time.
    until: Instant,
}

impl PartialMessage {
    pub(super) fn new(message: u64) -> Self {
        let now = Instant::now();
        Self { message, since: now, last_received: now }
    }

    /// Records that more bytes of the message were received.
    pub(super) fn continued(self) -> Self {
        Self { last_received: Instant::now(), ..self }
    }
}

impl Driver {
    /// Polls for the next deadline, and handles it.
    pub(super) fn poll_time(&mut self, context: &mut Context<'_>, timeout: Option<u64>) -> Poll<()> {
        let call = timeout.map(|timeout| self.link.instant(timeout));
        let frame = self.frame_deadline();
        let effective_deadline = self.effective_deadline(call.into_iter().chain(frame).min());
        let end = self.end.as_ref().map(|(_, deadline)| *deadline);
        let read_deadline = self.read_deadline.and_then(|read_deadline| {
            // Available input is still handled after the deadline, for at most the grace of the link.
            if self.is_read_deferred { read_deadline.checked_add(self.link.grace) } else { Some(read_deadline) }
        });
        let Some(next) = [effective_deadline, end, read_deadline].into_iter().flatten().min() else {
            return Poll::Pending;
        };
        ready!(self.poll_until(context, next));
        let now = Instant::now();
        if read_deadline.is_some_and(|deadline| deadline <= now) {
            let why = self.write_error.take().filter(|_| self.child.is_none()).unwrap_or(Closed::End);
            self.begin_end(why);
        }
        if effective_deadline.is_none_or(|effective_deadline| now < effective_deadline) {
            return Poll::Ready(());
        }
        if frame.is_some_and(|frame| frame <= now) {
            self.partial_message = None;
            self.time_out_message(context);
        }
        let milliseconds = self.link.now();
        self.link.with_connection(|connection| connection.handle_timeout(milliseconds));
        Poll::Ready(())
    }

    /// Handles an incomplete message whose timeout has expired. A byte stream continues. A channel of messages ends,
    /// because it cannot skip the rest of the message.
    fn time_out_message(&mut self, context: &mut Context<'_>) {
        let end = match &mut self.io {
            Io::Messages(io) => Some(io.channel.time_out(context)),
            Io::Bytes(_) => {
                if let Some(fault) = self.io.time_out() {
                    self.frame_handler.handle_fault(fault);
                }
                // The abandoned bytes may contain other messages.
                self.handle_bytes(&[], context).1
            }
        };
        if let Some(why) = end {
            self.begin_end(why);
        }
    }

    /// Returns the deadline of the incomplete message. The timeout starts at the first byte of the message. While
    /// outgoing calls are pending, each received byte restarts the timeout, because the timeouts of the calls limit the
    /// total time. With WIPC, the option `payload_timeout` applies instead, and received bytes do not restart the
    /// timeout.
    fn frame_deadline(&self) -> Option<Instant> {
        // The rest of the message may be in input that is not decoded yet. While undecoded input exists, the message
        // does not time out.
        let partial_message = self.partial_message.filter(|_| !self.has_backlog)?;
        if self.link.is_wipc() {
            return partial_message.since.checked_add(self.link.wipc.payload_timeout?);
        }
        let from = if self.link.pending_calls() > 0 { partial_message.last_received } else { partial_message.since };
        from.checked_add(Duration::from_millis(self.link.limits.partial_frame_ms))
    }

    /// Returns the time at which the deadline `due` takes effect. If `due` has expired, this time is a little later, so
    /// that available input is read first. While input arrives, the time is extended, at most to [`Expiry::latest`].
    fn effective_deadline(&mut self, due: Option<Instant>) -> Option<Instant> {
        let now = Instant::now();
        let Some(due) = due.filter(|due| *due <= now && self.io.is_reading()) else {
            self.expiry = None;
            return due;
        };
        let expiry = match self.expiry {
            Some(expiry) if now < expiry.until => expiry,
            Some(expiry) if now < expiry.latest && (self.has_read || self.is_read_deferred || self.has_backlog) => {
                self.has_read = false;
                Expiry { until: now + FINAL_READ_TIMEOUT, ..expiry }
            }
            // The expiry is kept until the expired calls have ended.
            Some(_) => return Some(due),
            None => {
                self.has_read = false;
                Expiry { latest: now + MAX_FINAL_READ_TIME, until: now + FINAL_READ_TIMEOUT }
            }
        };
        self.expiry = Some(expiry);
        Some(expiry.until)
    }

    /// Polls for the deadline with the only timer of the link. If the timer is set to an earlier time, it is not reset
    /// before that time. This avoids most resets, because most calls end before their deadline.
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
