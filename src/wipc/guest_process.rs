//! The process of a guest. It ends when its grace is over.

use core::task::{Context, Poll};
use core::time::Duration;
use std::future::poll_fn;
use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::channel::{Output, Stage, run_until};
use crate::native::child::ChildProcess;
use crate::native::limits::{OUTPUT_GRACE, SHUTDOWN_TIMEOUT};

/// The process of a guest, and its descendants. They end when the grace is over.
///
/// A task waits for the exit and sends the signals, even if nothing waits for the guest. A drop kills the guest at
/// once.
#[derive(Debug)]
pub(super) struct GuestProcess {
    guest: Arc<Mutex<Guest>>,
    life: watch::Receiver<Life>,
    /// Wakes the task when the grace begins.
    ending: Arc<Notify>,
    output: Arc<Output>,
    task: AbortHandle,
}

#[derive(Debug)]
struct Guest {
    process: ChildProcess,
    grace: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Life {
    Running,
    Exited,
    /// No descendant is left.
    Gone,
}

impl GuestProcess {
    /// Starts the task; needs a runtime.
    pub(super) fn new(process: ChildProcess, output: &Arc<Output>) -> Self {
        let guest = Arc::new(Mutex::new(Guest { process, grace: SHUTDOWN_TIMEOUT }));
        let ending = Arc::new(Notify::new());
        let (sender, life) = watch::channel(Life::Running);
        let task = watch_guest(Arc::downgrade(&guest), Arc::clone(output), Arc::clone(&ending), sender);
        Self { guest, life, ending, output: Arc::clone(output), task: tokio::spawn(task).abort_handle() }
    }

    pub(super) fn set_grace(&self, grace: Duration) {
        lock(&self.guest).grace = grace;
    }

    /// Ends once the guest has exited.
    pub(super) async fn exited(&self) {
        self.reach(Life::Exited).await;
    }

    /// Ends once the guest and its descendants have ended.
    pub(super) async fn gone(&self) {
        self.reach(Life::Gone).await;
    }

    async fn reach(&self, stage: Life) {
        // An error means that the runtime has shut down.
        let _ = self.life.clone().wait_for(|life| *life >= stage).await;
    }

    /// Starts the grace, unless it has started.
    pub(super) fn end(&self) {
        lock(&self.guest).end();
        self.ending.notify_one();
    }

    pub(super) fn kill(&self) {
        lock(&self.guest).process.kill();
        self.ending.notify_one();
    }

    /// Waits for the exit and returns the status.
    pub(super) async fn status(&self) -> io::Result<ExitStatus> {
        self.exited().await;
        poll_fn(|context| lock(&self.guest).process.poll_status(context)).await
    }
}

impl Drop for GuestProcess {
    fn drop(&mut self) {
        self.task.abort();
        self.output.advance_to(Stage::GuestExited);
    }
}

impl Guest {
    fn end(&mut self) {
        let grace = self.grace.min(LONGEST_GRACE);
        self.process.set_deadline(Instant::now() + grace);
    }
}

/// Longer than any process runs. The grace is capped, since `Instant` overflows otherwise.
const LONGEST_GRACE: Duration = Duration::from_secs(60 * 60 * 24 * 365);

fn lock(guest: &Mutex<Guest>) -> MutexGuard<'_, Guest> {
    guest.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn watch_guest(guest: Weak<Mutex<Guest>>, output: Arc<Output>, ending: Arc<Notify>, life: watch::Sender<Life>) {
    let close = run_until(output.wait_for(Stage::CloseSent), ending.notified());
    if run_until(poll_guest(&guest, ChildProcess::poll_exit), close).await.is_none() {
        if let Some(guest) = guest.upgrade() {
            lock(&guest).end();
        }
        poll_guest(&guest, ChildProcess::poll_exit).await;
    }
    if let Some(guest) = guest.upgrade() {
        // Its descendants end soon after it.
        lock(&guest).process.set_deadline(Instant::now() + OUTPUT_GRACE);
    }
    // A child of the guest may keep the guest's input open.
    output.advance_to(Stage::GuestExited);
    life.send_replace(Life::Exited);
    poll_guest(&guest, |process, context| process.poll_tree_exit(context).map(drop)).await;
    life.send_replace(Life::Gone);
}

/// Ends once `poll` has, or the handle of the guest is dropped.
async fn poll_guest(guest: &Weak<Mutex<Guest>>, mut poll: impl FnMut(&mut ChildProcess, &mut Context<'_>) -> Poll<()>) {
    poll_fn(|context| match guest.upgrade() {
        Some(guest) => poll(&mut lock(&guest).process, context),
        None => Poll::Ready(()),
    })
    .await;
}
