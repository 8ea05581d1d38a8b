//! The process of a guest. It is killed when its grace is over.

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

use super::channel::{Output, Stage, run_until};
use crate::native::limits::LINK_GRACE;

/// The process of a guest. It is killed when its grace is over.
///
/// A task waits for the exit and kills the guest, whether or not anybody waits for it. A drop kills the guest at once.
#[derive(Debug)]
pub(super) struct GuestProcess {
    guest: Arc<Mutex<Guest>>,
    has_exited: watch::Receiver<bool>,
    output: Arc<Output>,
    task: AbortHandle,
}

#[derive(Debug)]
struct Guest {
    child: Child,
    grace: Duration,
    /// When it is killed, if `CLOSE` was sent or received.
    deadline: Option<Instant>,
}

impl GuestProcess {
    /// For a child that was spawned with `kill_on_drop`, in a runtime.
    pub(super) fn new(child: Child, output: &Arc<Output>) -> Self {
        let guest = Arc::new(Mutex::new(Guest { child, grace: LINK_GRACE, deadline: None }));
        let (exit, has_exited) = watch::channel(false);
        let task = tokio::spawn(watch_guest(Arc::downgrade(&guest), Arc::clone(output), exit)).abort_handle();
        Self { guest, has_exited, output: Arc::clone(output), task }
    }

    pub(super) fn set_grace(&self, grace: Duration) {
        lock(&self.guest).grace = grace;
    }

    /// Ends once the guest has exited.
    pub(super) async fn exited(&self) {
        // An error means that the runtime has shut down.
        let _ = self.has_exited.clone().wait_for(|has_exited| *has_exited).await;
    }

    /// The time at which the guest is killed. The first call starts the grace.
    pub(super) fn deadline(&self) -> Instant {
        lock(&self.guest).deadline()
    }

    pub(super) fn kill(&self) {
        lock(&self.guest).kill();
    }

    /// Waits for the exit and returns the status.
    pub(super) async fn status(&self) -> io::Result<ExitStatus> {
        self.exited().await;
        poll_fn(|context| lock(&self.guest).poll_exit(context)).await
    }
}

impl Drop for GuestProcess {
    fn drop(&mut self) {
        self.task.abort();
        self.output.advance_to(Stage::GuestExited);
    }
}

impl Guest {
    fn deadline(&mut self) -> Instant {
        let grace = self.grace.min(LONGEST_GRACE);
        *self.deadline.get_or_insert_with(|| Instant::now() + grace)
    }

    fn kill(&mut self) {
        // An error means that it has exited already.
        let _ = self.child.start_kill();
    }

    fn poll_exit(&mut self, context: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        // `Child` keeps the wait state, so the future can be created anew.
        pin!(self.child.wait()).poll(context)
    }
}

/// Longer than any process runs. The grace is capped, since `Instant` overflows otherwise.
const LONGEST_GRACE: Duration = Duration::from_secs(60 * 60 * 24 * 365);

fn lock(guest: &Mutex<Guest>) -> MutexGuard<'_, Guest> {
    guest.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn watch_guest(guest: Weak<Mutex<Guest>>, output: Arc<Output>, exit: watch::Sender<bool>) {
    if run_until(exit_of(&guest), output.wait_for(Stage::CloseSent)).await.is_none() {
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
    // A child of the guest may keep the guest's input open.
    output.advance_to(Stage::GuestExited);
    exit.send_replace(true);
}

/// Ends once the guest has exited or its handle is dropped.
async fn exit_of(guest: &Weak<Mutex<Guest>>) {
    poll_fn(|context| match guest.upgrade() {
        Some(guest) => lock(&guest).poll_exit(context).map(drop),
        None => Poll::Ready(()),
    })
    .await;
}
