//! The process of a guest, which does not outlive its time.

use core::pin::pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::future::{Future, poll_fn};
use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use super::channel::{Output, Stage, before};
use crate::native::limits::LINK_GRACE;

/// A guest with a task that notices its exit, and kills it when it stays after `CLOSE`, whether or not anybody waits for it.
///
/// One that is dropped kills the guest at once.
#[derive(Debug)]
pub(super) struct Tended {
    guest: Arc<Mutex<Guest>>,
    has_exited: watch::Receiver<bool>,
    output: Arc<Output>,
    task: AbortHandle,
}

#[derive(Debug)]
struct Guest {
    child: Child,
    grace: Duration,
    /// When it is killed, if `CLOSE` was sent or has come.
    deadline: Option<Instant>,
}

impl Tended {
    /// For a child that was spawned with `kill_on_drop`, in a runtime.
    pub(super) fn new(child: Child, output: &Arc<Output>) -> Self {
        let guest = Arc::new(Mutex::new(Guest { child, grace: LINK_GRACE, deadline: None }));
        let (exit, has_exited) = watch::channel(false);
        let task = tokio::spawn(tend(Arc::downgrade(&guest), Arc::clone(output), exit)).abort_handle();
        Self { guest, has_exited, output: Arc::clone(output), task }
    }

    pub(super) fn set_grace(&self, grace: Duration) {
        lock(&self.guest).grace = grace;
    }

    /// Ends once the guest has exited.
    pub(super) async fn exited(&self) {
        // Without the task there is no runtime any more.
        let _ = self.has_exited.clone().wait_for(|has_exited| *has_exited).await;
    }

    /// Until when the guest, which is to exit, may take.
    pub(super) fn deadline(&self) -> Instant {
        lock(&self.guest).deadline()
    }

    pub(super) fn kill(&self) {
        lock(&self.guest).kill();
    }

    /// How it has exited, once it has.
    pub(super) async fn status(&self) -> io::Result<ExitStatus> {
        self.exited().await;
        poll_fn(|context| lock(&self.guest).poll_exit(context)).await
    }
}

impl Drop for Tended {
    fn drop(&mut self) {
        self.task.abort();
        self.output.reach(Stage::Gone);
    }
}

impl Guest {
    fn deadline(&mut self) -> Instant {
        let grace = self.grace.min(LONGEST_GRACE);
        *self.deadline.get_or_insert_with(|| Instant::now() + grace)
    }

    fn kill(&mut self) {
        // One that has just ended cannot be killed, which is as good.
        let _ = self.child.start_kill();
    }

    fn poll_exit(&mut self, context: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        // What is waited for is in the child, and lost by no future.
        pin!(self.child.wait()).poll(context)
    }
}

/// Longer than any process runs; a time beyond the last one that there is would be none.
const LONGEST_GRACE: Duration = Duration::from_secs(60 * 60 * 24 * 365);

fn lock(guest: &Mutex<Guest>) -> MutexGuard<'_, Guest> {
    guest.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn tend(guest: Weak<Mutex<Guest>>, output: Arc<Output>, exit: watch::Sender<bool>) {
    if before(exit_of(&guest), output.reached(Stage::Ended)).await.is_none() {
        let deadline = guest.upgrade().map(|guest| lock(&guest).deadline());
        let in_time = match deadline {
            Some(deadline) => timeout_at(deadline, exit_of(&guest)).await.is_ok(),
            None => true,
        };
        if !in_time {
            if let Some(guest) = guest.upgrade() {
                lock(&guest).kill();
            }
            exit_of(&guest).await;
        }
    }
    // A process of its own may keep its input open.
    output.reach(Stage::Gone);
    exit.send_replace(true);
}

/// Ends once it has exited, or is nobody's any more.
async fn exit_of(guest: &Weak<Mutex<Guest>>) {
    poll_fn(|context| match guest.upgrade() {
        Some(guest) => lock(&guest).poll_exit(context).map(drop),
        None => Poll::Ready(()),
    })
    .await;
}
