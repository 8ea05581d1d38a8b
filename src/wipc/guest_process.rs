//! Ends the process of a guest when the grace is over.

use core::task::{Context, Poll};
use core::time::Duration;
use std::future::poll_fn;
use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::channel::{Output, WriteState, run_until};
use crate::native::child::ChildProcess;
use crate::native::limits::{OUTPUT_GRACE, SHUTDOWN_TIMEOUT};

/// The process of a guest, and its descendants. These processes are ended when the grace is over.
///
/// A task waits for the exit and sends the signals, even if no other code waits for the guest. If this value is
/// dropped, the guest is killed at once.
#[derive(Debug)]
pub(super) struct GuestProcess {
    guest: Arc<Mutex<Guest>>,
    state: watch::Receiver<ProcessState>,
    /// Wakes the task after [`GuestProcess::end`] and [`GuestProcess::kill`].
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
enum ProcessState {
    Running,
    Exited,
    /// The guest and its descendants have exited.
    AllExited,
}

impl GuestProcess {
    /// Starts the task, which requires a runtime.
    pub(super) fn new(process: ChildProcess, output: &Arc<Output>) -> Self {
        let guest = Arc::new(Mutex::new(Guest { process, grace: SHUTDOWN_TIMEOUT }));
        let ending = Arc::new(Notify::new());
        let (sender, state) = watch::channel(ProcessState::Running);
        let task = watch_guest(Arc::downgrade(&guest), Arc::clone(output), Arc::clone(&ending), sender);
        Self { guest, state, ending, output: Arc::clone(output), task: tokio::spawn(task).abort_handle() }
    }

    pub(super) fn set_grace(&self, grace: Duration) {
        lock(&self.guest).grace = grace;
    }

    /// Waits until the guest has exited.
    pub(super) async fn exited(&self) {
        self.wait_for(ProcessState::Exited).await;
    }

    /// Waits until the guest and its descendants have exited.
    pub(super) async fn all_exited(&self) {
        self.wait_for(ProcessState::AllExited).await;
    }

    async fn wait_for(&self, target: ProcessState) {
        // An error means that the runtime has shut down.
        let _ = self.state.clone().wait_for(|state| *state >= target).await;
    }

    /// Starts the grace, unless the grace has already started.
    pub(super) fn end(&self) {
        lock(&self.guest).end();
        self.ending.notify_one();
    }

    pub(super) fn kill(&self) {
        lock(&self.guest).process.kill();
        self.ending.notify_one();
    }

    /// Waits for the exit of the guest, and returns its exit status.
    pub(super) async fn status(&self) -> io::Result<ExitStatus> {
        self.exited().await;
        poll_fn(|context| lock(&self.guest).process.poll_status(context)).await
    }
}

impl Drop for GuestProcess {
    fn drop(&mut self) {
        self.task.abort();
        self.output.advance_to(WriteState::GuestExited);
    }
}

impl Guest {
    fn end(&mut self) {
        let grace = self.grace.min(MAX_GRACE);
        self.process.set_deadline(Instant::now() + grace);
    }
}

/// Maximum grace: one year. A longer grace is reduced to this maximum, because an `Instant` could overflow.
const MAX_GRACE: Duration = Duration::from_secs(60 * 60 * 24 * 365);

fn lock(guest: &Mutex<Guest>) -> MutexGuard<'_, Guest> {
    guest.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the exit of the guest, and then for the exit of its descendants. Reports both events to `state`. Starts
/// the grace when `CLOSE` was sent or received, when all handles of the channel were dropped, or when `ending` is
/// notified.
async fn watch_guest(
    guest: Weak<Mutex<Guest>>,
    output: Arc<Output>,
    ending: Arc<Notify>,
    state: watch::Sender<ProcessState>,
) {
    let close = run_until(output.wait_for(WriteState::CloseSent), ending.notified());
    if run_until(poll_guest(&guest, ChildProcess::poll_exit), close).await.is_none() {
        if let Some(guest) = guest.upgrade() {
            lock(&guest).end();
        }
        poll_guest(&guest, ChildProcess::poll_exit).await;
    }
    if let Some(guest) = guest.upgrade() {
        // The descendants of the guest must exit soon after the guest.
        lock(&guest).process.set_deadline(Instant::now() + OUTPUT_GRACE);
    }
    // A child of the guest may keep the input of the guest open, so writing must end here.
    output.advance_to(WriteState::GuestExited);
    state.send_replace(ProcessState::Exited);
    poll_guest(&guest, |process, context| process.poll_tree_exit(context).map(drop)).await;
    state.send_replace(ProcessState::AllExited);
}

/// Waits until `poll` is ready, or the handle of the guest is dropped.
async fn poll_guest(guest: &Weak<Mutex<Guest>>, mut poll: impl FnMut(&mut ChildProcess, &mut Context<'_>) -> Poll<()>) {
    poll_fn(|context| match guest.upgrade() {
        Some(guest) => poll(&mut lock(&guest).process, context),
        None => Poll::Ready(()),
    })
    .await;
}
