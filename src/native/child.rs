//! A child process. The end of the link to the process also ends the process and its descendants.

use core::fmt;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use std::future::Future;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, Sleep, sleep_until};

use super::limits::TERM_GRACE;
use super::process_tree::ProcessTree;
use super::transport::cannot_start;

/// The first interval between two checks for descendants. Each interval is twice as long as the previous one. After a
/// signal, the intervals start again with this value. Descendants are polled, because the system does not report when a
/// descendant exits.
const MIN_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The maximum interval between two checks for descendants.
const MAX_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// A child process with its descendants. On Unix, these processes get `SIGTERM` at a deadline, and `SIGKILL` after a
/// further `TERM_GRACE`. Windows has neither signal, so the processes are killed at the deadline. If this value is
/// dropped, the processes are killed at once.
pub(crate) struct ChildProcess {
    child: Child,
    tree: Option<ProcessTree>,
    state: State,
    /// The time at which the processes get `SIGTERM`, or are killed on Windows.
    deadline: Option<Instant>,
    /// The exit of the process, or `None` before the exit was detected. The inner value is the exit status. The inner
    /// value is `None` if the process exited after `SIGTERM` or a kill, or if waiting failed.
    exit: Option<Option<ExitStatus>>,
    sleep: Option<Pin<Box<Sleep>>>,
    /// The time of the next check for remaining descendants.
    next_check: Option<Instant>,
    /// The interval between the next check and the check after it.
    check_interval: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    /// The processes got `SIGTERM` at this time.
    Terminating(Instant),
    /// The processes were killed at this time.
    Killed(Instant),
    /// No process remains, or the wait after a kill has ended. That wait ends when the process has exited, or after
    /// `TERM_GRACE`.
    Ended,
}

/// The pipes of a child process.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: Option<ChildStderr>,
}

impl ChildProcess {
    /// Starts a process with pipes for its standard input and output. On Unix, creates a process group for the process.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<(Self, Pipes)> {
        ProcessTree::prepare(command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true));
        let spawned = command.spawn();
        let mut child = spawned.map_err(|error| cannot_start(&error, command.as_std()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the process has no standard input or output"));
        };
        let stderr = child.stderr.take();
        Ok((Self::new(child), Pipes { stdin, stdout, stderr }))
    }

    /// Wraps a running process.
    pub(crate) fn new(child: Child) -> Self {
        let tree = ProcessTree::of(&child);
        Self {
            child,
            tree,
            state: State::Running,
            deadline: None,
            exit: None,
            sleep: None,
            next_check: None,
            check_interval: MIN_CHECK_INTERVAL,
        }
    }

    /// Records the current descendants. Call this method before the input of the process is closed, because the process
    /// may exit at the end of its input. After its exit, descendants cannot be found.
    pub(crate) fn record_descendants(&mut self) {
        if let Some(tree) = &mut self.tree {
            tree.record_descendants();
        }
    }

    /// Sets the deadline for all processes, unless a deadline is set already.
    pub(crate) fn set_deadline(&mut self, deadline: Instant) {
        if self.deadline.is_none() {
            self.deadline = Some(deadline);
            self.record_descendants();
        }
    }

    /// Sets the deadline, or moves it earlier.
    pub(crate) fn shorten_deadline(&mut self, deadline: Instant) {
        self.set_deadline(deadline);
        self.deadline = self.deadline.min(Some(deadline));
    }

    /// Kills all processes now.
    pub(crate) fn kill(&mut self) {
        if let Some(tree) = &mut self.tree {
            tree.kill(&mut self.child);
        }
        self.check_soon();
        self.state = State::Killed(Instant::now());
    }

    /// Makes the next check for descendants due now.
    const fn check_soon(&mut self) {
        (self.next_check, self.check_interval) = (None, MIN_CHECK_INTERVAL);
    }

    /// Returns whether any descendant remains after the exit of the process. Until the next check is due, returns true
    /// without a check.
    fn has_remaining_processes(&mut self, now: Instant) -> bool {
        if self.next_check.is_some_and(|next| now < next) {
            return true;
        }
        let has_remaining = self.tree.as_mut().is_some_and(ProcessTree::has_remaining_processes);
        self.next_check = Some(Instant::now() + self.check_interval);
        self.check_interval = (self.check_interval * 2).min(MAX_CHECK_INTERVAL);
        has_remaining
    }

    /// Polls for the exit of the process. Descendants may still run. After a kill, the poll is ready after
    /// `TERM_GRACE`, even if the process has not exited. After the deadline, this method ends all processes.
    pub(crate) fn poll_exit(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // `poll_tree_exit` detects the exit, and ends the processes after the deadline.
        let _ = self.poll_tree_exit(context);
        if self.exit.is_some() || self.state == State::Ended { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Polls for the exit of the process, and returns its status. Only one task may wait at a time. This method ends no
    /// process.
    pub(crate) fn poll_status(&mut self, context: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        // `Child` keeps the wait state, so a new future can continue the wait.
        let exit = pin!(self.child.wait()).poll(context);
        if let Poll::Ready(status) = &exit
            && self.exit.is_none()
        {
            let status = status.as_ref().ok().copied();
            self.exit = Some(status.filter(|_| self.state == State::Running));
            if let Some(tree) = &mut self.tree {
                tree.leader_exited();
            }
        }
        exit
    }

    /// Polls for the exit of all processes, and ends them after the deadline. After a kill, the poll is ready when the
    /// process has exited, or after `TERM_GRACE`. Returns the exit status of the process. Returns `None` if the process
    /// exited after `SIGTERM` or a kill, or if waiting failed. Without a deadline, the poll may stay pending forever,
    /// because descendants may run forever.
    pub(crate) fn poll_tree_exit(&mut self, context: &mut Context<'_>) -> Poll<Option<ExitStatus>> {
        loop {
            if self.state == State::Ended {
                return Poll::Ready(self.exit.flatten());
            }
            let now = Instant::now();
            if self.exit.is_none() && self.poll_status(context).is_pending() {
                // The process is still running.
            } else if matches!(self.state, State::Killed(_)) || !self.has_remaining_processes(now) {
                self.state = State::Ended;
                continue;
            }
            let due = match self.state {
                State::Running => self.deadline,
                State::Terminating(time) | State::Killed(time) => Some(time + TERM_GRACE),
                State::Ended => None,
            };
            if due.is_some_and(|due| due <= now) {
                self.advance(now);
                continue;
            }
            let check = self.next_check.filter(|_| self.exit.is_some());
            let Some(next) = due.into_iter().chain(check).min() else { return Poll::Pending };
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(next)));
            sleep.as_mut().reset(next);
            if sleep.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Performs the next step to end the processes. The steps are `SIGTERM`, a kill, and the end of the wait.
    fn advance(&mut self, now: Instant) {
        match self.state {
            State::Running if self.tree.as_mut().is_none_or(ProcessTree::terminate) => {
                self.check_soon();
                self.state = State::Terminating(now);
            }
            State::Running | State::Terminating(_) => self.kill(),
            // A process that remains after a kill belongs to another user, or waits in the kernel. This process cannot
            // be ended.
            State::Killed(_) | State::Ended => self.state = State::Ended,
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if self.state != State::Ended {
            self.kill();
        }
    }
}

impl fmt::Debug for ChildProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildProcess").field("id", &self.child.id()).field("state", &self.state).finish_non_exhaustive()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use core::future::poll_fn;

    use tokio::time::timeout;

    use super::*;

    /// The system may refuse to end a process of another user. This test cannot start a process of another user.
    /// Instead, the test sets the state `Killed` for a process that still runs.
    #[tokio::test]
    async fn the_wait_for_a_process_that_cannot_be_ended_is_limited() -> io::Result<()> {
        let mut command = Command::new("sleep");
        let mut process = ChildProcess::new(command.arg("60").kill_on_drop(true).spawn()?);
        process.state = State::Killed(Instant::now());
        timeout(TERM_GRACE * 20, poll_fn(|context| process.poll_exit(context))).await?;
        assert_eq!(timeout(TERM_GRACE, poll_fn(|context| process.poll_tree_exit(context))).await?, None);
        Ok(())
    }
}
