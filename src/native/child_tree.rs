//! A child process and its descendants, for programs that do not use a [`Transport`](crate::Transport) for the pipes of
//! the process.

use core::future::poll_fn;
use core::time::Duration;
use std::io;
use std::process::ExitStatus;

use tokio::process::Child;
use tokio::time::Instant;

use super::child::ChildProcess;

/// A child process and its descendants. [`ChildTree::end`] ends these processes in the same way as
/// [`Transport::child`](crate::Transport::child). Use this type if your program reads and writes the pipes of the
/// process itself.
///
/// If the value is dropped, all of these processes are killed at once.
///
/// # Platforms
/// On Windows, only descendants that the process starts after [`ChildTree::new`] are ended.
#[derive(Debug)]
#[must_use = "the processes are killed when this value is dropped"]
pub struct ChildTree(ChildProcess);

impl ChildTree {
    /// Wraps a running process. If the process leads a process group, all processes of the group belong to the tree;
    /// see `process_group` of [`Command`](tokio::process::Command).
    pub fn new(child: Child) -> Self {
        Self(ChildProcess::new(child))
    }

    /// Waits for the exit of the process. Its descendants may still run.
    ///
    /// # Errors
    /// If the system cannot wait for the process.
    pub async fn exit(&mut self) -> io::Result<ExitStatus> {
        poll_fn(|context| self.0.poll_status(context)).await
    }

    /// Records the current descendants. Call this method before you close the input of the process, because the process
    /// may exit at the end of its input. After its exit, descendants in other process groups cannot be found.
    pub fn record_descendants(&mut self) {
        self.0.record_descendants();
    }

    /// Waits until all processes have exited, for at most `grace`. Then the remaining processes get `SIGTERM`, and half
    /// a second later `SIGKILL`. On Windows, the remaining processes are killed after `grace`. Returns the exit status
    /// of the process. Returns `None` if the process exited after this method had sent a signal.
    pub async fn end(&mut self, grace: Duration) -> Option<ExitStatus> {
        self.0.set_deadline(Instant::now() + grace);
        poll_fn(|context| self.0.poll_tree_exit(context)).await
    }
}
