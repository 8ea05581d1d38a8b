//! The end of a link: what is finished before it, and how long that may take.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::mem;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::{CHUNK, Driver, SCRATCH};
use crate::codec::framing::Framing;
use crate::codec::wipc::{self, FrameType};
use crate::native::child::ChildProcess;
use crate::native::error::Closed;
use crate::native::limits::{OUTPUT_GRACE, REST_GRACE};
use crate::native::state::Stage;

/// Longer than any link lasts.
const LONGEST_GRACE: Duration = Duration::from_secs(60 * 60 * 24 * 365);

impl Driver {
    /// Has the end begin that others have asked for.
    pub(super) fn notice(&mut self, stage: &Stage) {
        if self.end.is_none() && *stage != Stage::Open {
            self.begin_end(Closed::Local);
        }
    }

    /// A guest exits by itself: nothing more is said to it, and what it still says is read.
    pub(super) fn begin_closing(&mut self) {
        self.end_output(&Closed::End);
    }

    /// Checks whether the application sent a `CLOSE` frame. If so, output ends and the grace begins.
    pub(super) fn notice_close(&mut self) {
        let may_have = self.link.framing == Framing::Wipc && self.end.is_none() && !self.has_sent_close;
        if may_have && !self.link.owes_goodbye() {
            self.has_sent_close = true;
            self.begin_grace();
        }
    }

    /// The other side may have ended just now. What it has said before is still to be read, and the end of a process tells its
    /// status.
    pub(super) fn lose_output(&mut self, why: Closed) {
        self.end_output(&why);
        if self.child.is_none() {
            self.end_within(REST_GRACE);
        }
        self.broken = Some(why);
    }

    /// A process that has exited says nothing more, even if another one holds its output open.
    pub(super) fn notice_exit(&mut self, context: &mut Context<'_>) {
        let Some(child) = &mut self.child else { return };
        if child.poll_exit(context).is_ready() && self.end.is_none() {
            // Its descendants end soon after it. A grace that was requested stays; a pipe may break shortly before the
            // exit.
            let deadline = Instant::now() + OUTPUT_GRACE;
            if self.broken.is_some() {
                child.end_sooner(deadline)
            } else {
                child.end_by(deadline)
            }
            self.end_within(OUTPUT_GRACE);
        }
    }

    /// Reads on for so long at most.
    fn end_within(&mut self, grace: Duration) {
        let deadline = Instant::now() + grace.min(self.link.grace);
        self.closing = Some(self.closing.map_or(deadline, |closing| closing.min(deadline)));
    }

    /// What waits to be written is dropped: it is not to keep the link from reading, or from its end.
    fn end_output(&mut self, why: &Closed) {
        self.link.end_output(why);
        self.link.take_unwritten(&mut self.writing);
        self.written = 0;
        self.begin_grace();
        self.writer = None;
    }

    /// Starts the grace. Reading goes on until the grace is over. Then the child process gets `SIGTERM`.
    fn begin_grace(&mut self) {
        let deadline = *self.closing.get_or_insert_with(|| in_grace(self.link.grace));
        if let Some(child) = &mut self.child {
            child.end_by(deadline);
        }
    }

    /// Nothing more is read. What runs, and what is to be written, has until the end of the grace.
    pub(super) fn begin_end(&mut self, why: Closed) {
        let why = match self.broken.take() {
            // A process has more to tell: its status.
            Some(broken) if why == Closed::End && self.child.is_none() => broken,
            _ => why,
        };
        let reader = self.reader.take();
        self.drained = reader.filter(|_| self.child.is_some());
        self.closing = None;
        self.says_goodbye = why == Closed::Local && self.link.owes_goodbye();
        self.unfinished = None;
        self.end_batch();
        self.link.end_input(&why);
        self.end.get_or_insert_with(|| (why, in_grace(self.link.grace)));
    }

    /// Whether there is nothing left to do, or no time.
    pub(super) fn is_over(&self, is_writing: bool) -> bool {
        self.end.as_ref().is_some_and(|(_, deadline)| {
            let is_done =
                !is_writing && self.link.running.is_empty() && self.link.is_idle() && self.link.backlog() == 0;
            is_done || Instant::now() >= *deadline
        })
    }

    /// Has the last frame written, if there is one: everything else has been.
    pub(super) fn write_goodbye(&mut self) -> bool {
        let says_goodbye = mem::take(&mut self.says_goodbye);
        if says_goodbye {
            // Without a payload it always fits.
            wipc::encode(FrameType::Close, &[], &mut self.writing).unwrap_or_default();
        }
        says_goodbye
    }

    /// Drops what the process prints after the end.
    pub(super) fn drain(&mut self, context: &mut Context<'_>) {
        let Some(reader) = &mut self.drained else { return };
        let mut scratch = SCRATCH.take();
        scratch.resize(CHUNK, 0);
        loop {
            let mut buffer = ReadBuf::new(&mut scratch);
            match Pin::new(&mut *reader).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {}
                Poll::Ready(_) => break self.drained = None,
                Poll::Pending => break,
            }
        }
        SCRATCH.set(scratch);
    }

    pub(super) fn poll_goodbye(&mut self, context: &mut Context<'_>) -> Poll<Closed> {
        let Some((why, deadline)) = self.end.clone() else { return Poll::Ready(Closed::Local) };
        if let Some(writer) = &mut self.writer {
            self.child.iter_mut().for_each(ChildProcess::look);
            let shutdown = Pin::new(writer).poll_shutdown(context);
            // A peer that reads nothing more does not get to hold the link.
            if shutdown.is_pending() && self.poll_until(context, deadline).is_pending() {
                return Poll::Pending;
            }
            // The input of a process has ended once the pipe is closed.
            self.writer = None;
        }
        let Some(child) = &mut self.child else { return Poll::Ready(why) };
        child.end_by(in_grace(self.child_grace));
        let status = ready!(child.poll_gone(context));
        Poll::Ready(match (why, status) {
            (Closed::End, Some(status)) => Closed::Exited(status),
            (why, _) => why,
        })
    }
}

/// The end of a grace that begins now. The grace is capped, since `Instant` overflows otherwise.
fn in_grace(grace: Duration) -> Instant {
    Instant::now() + grace.min(LONGEST_GRACE)
}
