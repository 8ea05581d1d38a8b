//! A child process at the other end.

use core::fmt;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use std::boxed::Box;
use std::future::{Future, poll_fn};
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::Child;
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// Sees to it that a process does not outlive its link.
///
/// A guard that is dropped kills the process at once.
pub(super) struct ChildGuard {
    /// Ends with the status of the process, unless it had to be killed.
    end: Pin<Box<dyn Future<Output = Option<ExitStatus>> + Send>>,
    kill: Option<oneshot::Sender<()>>,
    /// How the process has ended, once it has.
    ended: Option<Option<ExitStatus>>,
    grace: Duration,
    patience: Option<Pin<Box<Sleep>>>,
}

impl ChildGuard {
    /// For a child that was spawned with `kill_on_drop`.
    pub(super) fn new(child: Child, grace: Duration) -> Self {
        let (kill, order) = oneshot::channel();
        Self { end: Box::pin(end_of(child, order)), kill: Some(kill), ended: None, grace, patience: None }
    }

    /// Waits for the process to exit. Returns its status, or `None` if it was killed. Before the grace begins, it waits without
    /// a timeout.
    pub(super) fn poll_exit(&mut self, context: &mut Context<'_>) -> Poll<Option<ExitStatus>> {
        let ended = self.poll_status(context);
        let Some(patience) = self.patience.as_mut().filter(|_| ended.is_pending() && self.kill.is_some()) else {
            return ended;
        };
        if patience.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        if let Some(kill) = self.kill.take() {
            // Whom it is for is polled next.
            let _ = kill.send(());
        }
        self.poll_status(context)
    }

    fn poll_status(&mut self, context: &mut Context<'_>) -> Poll<Option<ExitStatus>> {
        if let Some(ended) = self.ended {
            return Poll::Ready(ended);
        }
        let ended = self.end.as_mut().poll(context);
        if let Poll::Ready(status) = ended {
            self.ended = Some(status);
        }
        ended
    }

    /// Kills the process at `deadline` if it still runs. A deadline that is set stays.
    pub(super) fn end_by(&mut self, deadline: Instant) {
        self.patience.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
    }

    /// The same for a process that has lost its input: its grace begins now, unless it has before.
    pub(super) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Option<ExitStatus>> {
        let grace = self.grace;
        self.patience.get_or_insert_with(|| Box::pin(sleep(grace)));
        self.poll_exit(context)
    }
}

async fn end_of(mut child: Child, mut order: oneshot::Receiver<()>) -> Option<ExitStatus> {
    let ended = {
        let mut wait = pin!(child.wait());
        poll_fn(|context| match wait.as_mut().poll(context) {
            Poll::Ready(status) => Poll::Ready(Some(status)),
            Poll::Pending => Pin::new(&mut order).poll(context).map(|_| None),
        })
        .await
    };
    match ended {
        Some(status) => status.ok(),
        None => {
            // One that has ended just now cannot be killed, which is as good.
            let _ = child.kill().await;
            None
        }
    }
}

impl fmt::Debug for ChildGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChildGuard")
    }
}
