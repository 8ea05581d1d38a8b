//! A child process that ends with its link, together with its descendants.

use core::fmt;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use std::boxed::Box;
use std::future::Future;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, Sleep, sleep_until};

use super::limits::TERM_GRACE;
use super::process_tree::ProcessTree;
use super::transport::cannot_start;

/// The pause after the first look for remaining descendants of a process, and after each signal. The system does not report
/// their end. Each pause is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(20);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// A child process with its descendants. At a deadline they get `SIGTERM`, and `TERM_GRACE` later `SIGKILL`. A drop
/// kills them at once.
pub(crate) struct ChildProcess {
    child: Child,
    tree: Option<ProcessTree>,
    stage: Stage,
    /// When they get `SIGTERM`.
    deadline: Option<Instant>,
    /// The exit of the process; the inner `None` if it was signalled before, or cannot be waited for.
    exit: Option<Option<ExitStatus>>,
    sleep: Option<Pin<Box<Sleep>>>,
    /// When the next look for remaining descendants is due, and the pause after it.
    next_look: Option<Instant>,
    pause: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    /// `SIGTERM` was sent.
    Asked(Instant),
    /// `SIGKILL` was sent.
    Killed(Instant),
    /// No process is left, or none that can be ended.
    Gone,
}

/// The pipes of a child process.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: Option<ChildStderr>,
}

impl ChildProcess {
    /// Starts a process in a group of its own, with pipes for its standard input and output. Needs a runtime.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<(Self, Pipes)> {
        let prepared = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).kill_on_drop(true);
        let spawned = prepared.spawn();
        let mut child = spawned.map_err(|error| cannot_start(&error, command.as_std()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the process has no standard input or output"));
        };
        let stderr = child.stderr.take();
        Ok((Self::new(child), Pipes { stdin, stdout, stderr }))
    }

    /// Wraps a process that was started elsewhere.
    pub(crate) fn new(child: Child) -> Self {
        let leader = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let tree = leader.map(ProcessTree::new);
        Self {
            child,
            tree,
            stage: Stage::Running,
            deadline: None,
            exit: None,
            sleep: None,
            next_look: None,
            pause: PAUSE,
        }
    }

    /// Records the current descendants. It is to be called before the process loses its input: the process may end
    /// then, and its remaining descendants cannot be found any more.
    pub(crate) fn look(&mut self) {
        if let Some(tree) = &mut self.tree {
            tree.look();
        }
    }

    /// Sets the deadline for all of them. A deadline that is set stays.
    pub(crate) fn end_by(&mut self, deadline: Instant) {
        if self.deadline.is_none() {
            self.deadline = Some(deadline);
            self.look();
        }
    }

    /// Sets an earlier deadline for all of them.
    pub(crate) fn end_sooner(&mut self, deadline: Instant) {
        self.end_by(deadline);
        self.deadline = self.deadline.min(Some(deadline));
    }

    /// Kills them now.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.stage = Stage::Killed(Instant::now());
    }

    fn signal(&mut self, signal: Signal) {
        if let Some(tree) = &mut self.tree {
            tree.signal(signal);
        }
        (self.next_look, self.pause) = (None, PAUSE);
    }

    /// Whether any process is left, after the process itself has ended. Between two looks the answer stays.
    fn remains(&mut self, now: Instant) -> bool {
        if self.next_look.is_some_and(|next| now < next) {
            return true;
        }
        let remains = self.tree.as_mut().is_some_and(ProcessTree::remains);
        self.next_look = Some(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        remains
    }

    /// Waits for the process itself. Its descendants may still run.
    pub(crate) fn poll_exit(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // This applies the deadline meanwhile.
        let _ = self.poll_gone(context);
        if self.exit.is_some() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// The same, with its status. Only one task may wait at a time, and the deadline does not apply.
    pub(crate) fn poll_status(&mut self, context: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        // `Child` keeps the wait state, so the future can be created anew.
        let exit = pin!(self.child.wait()).poll(context);
        if let Poll::Ready(status) = &exit
            && self.exit.is_none()
        {
            let status = status.as_ref().ok().copied();
            self.exit = Some(status.filter(|_| self.stage == Stage::Running));
            if let Some(tree) = &mut self.tree {
                tree.leader_exited();
            }
        }
        exit
    }

    /// Waits until no process is left. Returns the status of the process, or `None` if it was signalled. Without a
    /// deadline, its descendants may stay for ever.
    pub(crate) fn poll_gone(&mut self, context: &mut Context<'_>) -> Poll<Option<ExitStatus>> {
        loop {
            if self.stage == Stage::Gone {
                return Poll::Ready(self.exit.flatten());
            }
            let now = Instant::now();
            if self.exit.is_none() && self.poll_status(context).is_pending() {
                // The process still runs.
            } else if matches!(self.stage, Stage::Killed(_)) || !self.remains(now) {
                self.stage = Stage::Gone;
                continue;
            }
            let due = match self.stage {
                Stage::Running => self.deadline,
                Stage::Asked(time) | Stage::Killed(time) => Some(time + TERM_GRACE),
                Stage::Gone => None,
            };
            if due.is_some_and(|due| due <= now) {
                self.advance(now);
                continue;
            }
            let look = self.next_look.filter(|_| self.exit.is_some());
            let Some(next) = due.into_iter().chain(look).min() else { return Poll::Pending };
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(next)));
            sleep.as_mut().reset(next);
            if sleep.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Sends the next signal.
    fn advance(&mut self, now: Instant) {
        match self.stage {
            Stage::Running => {
                self.signal(Signal::TERM);
                // A stopped process could not handle the signal.
                self.signal(Signal::CONT);
                self.stage = Stage::Asked(now);
            }
            Stage::Asked(_) => self.kill(),
            // It belongs to another user, or waits in the kernel. Nothing more can be done.
            Stage::Killed(_) | Stage::Gone => self.stage = Stage::Gone,
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if self.stage != Stage::Gone {
            self.kill();
        }
    }
}

impl fmt::Debug for ChildProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildProcess").field("id", &self.child.id()).field("stage", &self.stage).finish_non_exhaustive()
    }
}
