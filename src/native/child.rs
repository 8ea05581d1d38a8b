//! A child process at the other end.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::boxed::Box;
use std::future::Future;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::Child;
use tokio::time::timeout;

/// Sees to it that a process does not outlive its link.
///
/// It waits for the process, which has lost its input, to end, and kills it if that takes longer than the grace. A guard
/// that is dropped kills it at once.
pub(super) struct ChildGuard(Pin<Box<dyn Future<Output = Option<ExitStatus>> + Send>>);

impl ChildGuard {
    /// For a child that was spawned with `kill_on_drop`.
    pub(super) fn new(child: Child, grace: Duration) -> Self {
        Self(Box::pin(wait(child, grace)))
    }

    /// Ends with the status of the process, unless it had to be killed.
    pub(super) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Option<ExitStatus>> {
        self.0.as_mut().poll(context)
    }
}

async fn wait(mut child: Child, grace: Duration) -> Option<ExitStatus> {
    if let Ok(status) = timeout(grace, child.wait()).await {
        return status.ok();
    }
    // One that has ended just now cannot be killed, which is as good.
    let _ = child.kill().await;
    None
}

impl fmt::Debug for ChildGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChildGuard")
    }
}
