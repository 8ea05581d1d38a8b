//! Ends a child process and its descendants with a job object.
//!
//! A process that was created with `CREATE_BREAKAWAY_FROM_JOB` does not count as a descendant. So a background program
//! can survive its parent on purpose.

use tokio::process::{Child, Command};
use win32job::{ExtendedLimitInfo, Job};

#[derive(Debug)]
pub(super) struct ProcessTree {
    leader: usize,
    /// `None` if the job object could not be created, or after its processes were killed.
    job: Option<Job>,
}

impl ProcessTree {
    /// Does nothing. The flags for a new process group would replace the flags that the application has set.
    pub(super) const fn prepare(_command: &mut Command) {}

    /// Returns the tree of a running process, or `None` if the process was waited for. Descendants that the process
    /// started before this call do not belong to the tree. If the caller has just created the process, no descendant is
    /// missing, because the start of the process takes longer than this call.
    pub(super) fn of(leader: &Child) -> Option<Self> {
        let id = usize::try_from(leader.id()?).ok()?;
        let handle = leader.raw_handle()?.addr().cast_signed();
        // Without a job object, only the process itself is ended.
        let job = Job::create_with_limit_info(ExtendedLimitInfo::new().limit_breakaway_ok());
        Some(Self { leader: id, job: job.ok().filter(|job| job.assign_process(handle).is_ok()) })
    }

    /// Does nothing, because the exit of the leader does not change the job object.
    pub(super) const fn leader_exited(&self) {}

    /// Does nothing, because the system records the descendants.
    pub(super) const fn record_descendants(&self) {}

    /// Returns whether any process remains after the exit of the leader.
    pub(super) fn has_remaining_processes(&mut self) -> bool {
        let processes = self.job.as_ref().and_then(|job| job.query_process_id_list().ok());
        processes.is_some_and(|ids| ids.iter().any(|id| *id != self.leader))
    }

    /// Returns whether the system has a signal like `SIGTERM`. Always false: on Windows, this program can only close
    /// the input of the process, or kill the process.
    pub(super) const fn terminate(&mut self) -> bool {
        false
    }

    /// Kills all processes. Ignores errors, which mean that no process remains, or that this program has no permission
    /// to end the process.
    pub(super) fn kill(&mut self, leader: &mut Child) {
        // The leader is killed before its job is closed, because a process that ends with its job reports a successful
        // exit.
        let _ = leader.start_kill();
        if let Some(job) = self.job.take() {
            // The close of a job object ends its processes only if this limit is set. The limit is not set earlier, so
            // that the processes continue if this program exits first, as on Unix.
            let _ =
                job.set_extended_limit_info(ExtendedLimitInfo::new().limit_breakaway_ok().limit_kill_on_job_close());
        }
    }
}
