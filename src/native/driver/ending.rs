//! Ends a link: completes the remaining work, within time limits.

use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::mem;

use tokio::time::Instant;

use super::Driver;
use crate::codec::wipc::FrameType;
use crate::error::Closed;
use crate::native::child::ChildProcess;
use crate::native::limits::{DRAIN_TIMEOUT, OUTPUT_GRACE};
use crate::native::state::LinkState;

/// Maximum grace at the end of a link: one year.
const MAX_GRACE: Duration = Duration::from_secs(60 * 60 * 24 * 365);

impl Driver {
    /// Begins to end the link if the application has closed or stopped it.
    pub(super) fn handle_link_state(&mut self, link_state: &LinkState) {
        if self.end.is_none() && *link_state != LinkState::Open {
            self.begin_end(Closed::Local);
        }
    }

    /// Handles the frame `CLOSE` from a guest, which exits after this frame. So the driver of the host ends the output,
    /// and continues to read until the guest has exited.
    pub(super) fn begin_half_close(&mut self) {
        self.end_output(&Closed::End);
    }

    /// Over WIPC, starts the grace if the application has sent a `CLOSE` frame, or if the output has ended.
    pub(super) fn detect_sent_close(&mut self) {
        let may_have_sent_close = self.link.is_wipc() && self.end.is_none() && !self.has_sent_close;
        if may_have_sent_close && !self.link.must_send_close() {
            self.has_sent_close = true;
            self.begin_grace();
        }
    }

    /// Handles a failed write. The peer may have sent messages before it closed the stream, so reading continues for at
    /// most `DRAIN_TIMEOUT`. The output of a child process is read until its exit, but at most until the end of the
    /// grace. A link to a process ends with the exit status, which is more informative than the failed write.
    pub(super) fn handle_write_error(&mut self, why: Closed) {
        self.end_output(&why);
        if self.child.is_none() {
            self.end_within(DRAIN_TIMEOUT);
        }
        self.write_error = Some(why);
    }

    /// Polls for the exit of the child process. After the exit, reading ends within `OUTPUT_GRACE`, even if another
    /// process keeps the pipe open.
    pub(super) fn poll_child_exit(&mut self, context: &mut Context<'_>) {
        let Some(child) = &mut self.child else { return };
        if child.poll_exit(context).is_ready() && self.end.is_none() {
            // Descendants must exit soon after the process. A deadline that was set before the exit remains. The
            // deadline after a failed write is moved earlier, because the exit may have caused the failure.
            let deadline = Instant::now() + OUTPUT_GRACE;
            if self.write_error.is_some() {
                child.shorten_deadline(deadline)
            } else {
                child.set_deadline(deadline)
            }
            self.end_within(OUTPUT_GRACE);
        }
    }

    /// Limits the time of further reading to the shorter of `grace` and the grace of the link.
    fn end_within(&mut self, grace: Duration) {
        let deadline = Instant::now() + grace.min(self.link.grace);
        self.read_deadline = Some(self.read_deadline.map_or(deadline, |read_deadline| read_deadline.min(deadline)));
    }

    /// Ends the output and drops unwritten bytes, so that they do not delay reading or the end of the link.
    fn end_output(&mut self, why: &Closed) {
        self.link.end_output(why);
        self.link.take_unwritten(&mut self.write_buffer);
        self.written = 0;
        self.begin_grace();
        self.io.end_writing();
    }

    /// Starts the grace. Reading continues until the end of the grace. Then the child process gets `SIGTERM`.
    fn begin_grace(&mut self) {
        let deadline = *self.read_deadline.get_or_insert_with(|| grace_end(self.link.grace));
        if let Some(child) = &mut self.child {
            child.set_deadline(deadline);
        }
    }

    /// Ends the input, and starts the grace, in which running handlers and writing can complete.
    pub(super) fn begin_end(&mut self, why: Closed) {
        let why = match self.write_error.take() {
            // For a process, the reason is the exit status, which is more informative than the failed write.
            Some(write_error) if why == Closed::End && self.child.is_none() => write_error,
            _ => why,
        };
        self.io.end_reading(self.child.is_some());
        self.read_deadline = None;
        self.must_write_close = why == Closed::Local && self.link.must_send_close();
        self.partial_message = None;
        self.end_batch();
        self.link.end_input(&why);
        self.end.get_or_insert_with(|| (why, grace_end(self.link.grace)));
    }

    /// Returns whether all work is done, or the grace is over.
    pub(super) fn is_finished(&self, is_writing: bool) -> bool {
        self.end.as_ref().is_some_and(|(_, deadline)| {
            let is_done = !is_writing && self.link.is_idle() && self.link.backlog() == 0;
            is_done || Instant::now() >= *deadline
        })
    }

    /// Encodes `CLOSE` if it must still be written. All other output is written before it. Returns whether `CLOSE` was
    /// encoded.
    pub(super) fn write_close(&mut self) -> bool {
        let must_write_close = mem::take(&mut self.must_write_close);
        if must_write_close {
            // The encoding cannot fail, because the frame has no payload.
            self.write_buffer.push_frame(FrameType::Close, &[]).unwrap_or_default();
        }
        must_write_close
    }

    /// Shuts the output down, and then polls for the exit of the child process. Returns the reason why the link ends.
    pub(super) fn poll_shutdown_and_exit(&mut self, context: &mut Context<'_>) -> Poll<Closed> {
        let Some((why, deadline)) = self.end.clone() else { return Poll::Ready(Closed::Local) };
        if self.io.is_writing() {
            self.child.iter_mut().for_each(ChildProcess::record_descendants);
            let shutdown = self.io.poll_shutdown(context);
            // A peer that does not read must not delay the end of the link.
            if shutdown.is_pending() && self.poll_until(context, deadline).is_pending() {
                return Poll::Pending;
            }
            // The drop of the writer closes the pipe, which ends the input of the process.
            self.io.end_writing();
        }
        let Some(child) = &mut self.child else { return Poll::Ready(why) };
        child.set_deadline(grace_end(self.child_grace));
        let status = ready!(child.poll_tree_exit(context));
        Poll::Ready(match (why, status) {
            (Closed::End, Some(status)) => Closed::Exited(status),
            (why, _) => why,
        })
    }
}

/// Returns the end of a grace that begins now. The grace is at most [`MAX_GRACE`], because a longer grace could
/// overflow an `Instant`.
fn grace_end(grace: Duration) -> Instant {
    Instant::now() + grace.min(MAX_GRACE)
}
