//! Signals for a child process and its descendants: its process group, and descendants in other groups.
//!
//! A process that has left the group and has lost its parent does not count as a descendant. Daemons do that on
//! purpose.

use std::vec::Vec;

use rustix::process::{
    Pid, Signal, getpgid, kill_process, kill_process_group, test_kill_process, test_kill_process_group,
};

#[derive(Debug)]
pub(super) struct ProcessTree {
    leader: Pid,
    /// Whether the leader leads a process group.
    is_group: bool,
    /// Whether the leader has been waited for. From then on its id may be that of another process.
    is_waited_for: bool,
    /// The known descendants in other groups.
    descendants: Vec<Process>,
}

/// A process. Its id alone is not unique: another process may get it later.
#[derive(Clone, Copy, Debug)]
struct Process {
    id: Pid,
    parent: Option<Pid>,
    group: Option<Pid>,
    is_zombie: bool,
    /// When it started, in clock ticks since the start of the system.
    start: u64,
}

impl ProcessTree {
    pub(super) fn new(leader: Pid) -> Self {
        let is_group = getpgid(Some(leader)) == Ok(leader);
        Self { leader, is_group, is_waited_for: false, descendants: Vec::new() }
    }

    /// Records that the leader has ended and was waited for.
    pub(super) const fn leader_exited(&mut self) {
        self.is_waited_for = true;
    }

    /// Records the current descendants. Once the parent of a descendant has ended, it cannot be found any more.
    pub(super) fn look(&mut self) {
        self.find(&processes());
    }

    fn find(&mut self, all: &[Process]) {
        self.descendants.retain(|known| all.iter().any(|process| process.is_same(known)));
        // Members of the group are kept during the search, to find their children.
        let mut found = self.descendants.clone();
        let leader = (!self.is_waited_for).then_some(self.leader);
        loop {
            let is_new = |process: &&Process| {
                let is_child = process.parent.is_some()
                    && (process.parent == leader || found.iter().any(|parent| process.parent == Some(parent.id)));
                let is_member = self.is_group && process.group == Some(self.leader) && process.id != self.leader;
                (is_child || is_member) && !found.iter().any(|known| known.id == process.id)
            };
            let new: Vec<_> = all.iter().filter(is_new).copied().collect();
            if new.is_empty() {
                break;
            }
            found.extend(new);
        }
        found.retain(|process| !self.is_group || process.group != Some(self.leader));
        self.descendants = found;
    }

    /// Whether any process is left, after the leader has ended.
    pub(super) fn remains(&mut self) -> bool {
        let has_group = self.has_group();
        if !has_group && self.descendants.is_empty() {
            return false;
        }
        let all = processes();
        self.find(&all);
        // A zombie has ended. In a container it may wait for ever for its parent.
        let is_member = |process: &Process| process.group == Some(self.leader) && !process.is_zombie;
        let is_group_alive = has_group && (all.is_empty() || all.iter().any(is_member));
        is_group_alive || self.descendants.iter().any(|process| !process.is_zombie)
    }

    /// Signals all processes. An error means that none is left, or that none may be signalled.
    pub(super) fn signal(&mut self, signal: Signal) {
        self.look();
        if self.has_group() {
            let _ = kill_process_group(self.leader, signal);
        }
        if !self.is_waited_for {
            // It may have joined another group.
            let _ = kill_process(self.leader, signal);
        }
        for process in &self.descendants {
            let _ = match process.group {
                Some(group) if group == process.id => kill_process_group(group, signal),
                _ => kill_process(process.id, signal),
            };
        }
    }

    /// While a group has members, no new process gets its id. If a new process has it, the group has ended.
    fn has_group(&self) -> bool {
        let is_reused = || self.is_waited_for && test_kill_process(self.leader).is_ok();
        self.is_group && test_kill_process_group(self.leader).is_ok() && !is_reused()
    }
}

impl Process {
    fn is_same(&self, other: &Self) -> bool {
        self.id == other.id && self.start == other.start
    }
}

/// All processes that can be seen.
#[cfg(target_os = "linux")]
fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| read(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

/// Reads `/proc/ID/stat`, see proc_pid_stat(5). The name of the program may hold spaces and parentheses.
#[cfg(target_os = "linux")]
fn read(id: i32) -> Option<Process> {
    let text = std::fs::read(std::format!("/proc/{id}/stat")).ok()?;
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let mut fields = core::str::from_utf8(text.get(end + 1..)?).ok()?.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = Pid::from_raw(fields.next()?.parse().ok()?);
    let group = Pid::from_raw(fields.next()?.parse().ok()?);
    let start = fields.nth(16)?.parse().ok()?;
    Some(Process { id: Pid::from_raw(id)?, parent, group, is_zombie: matches!(state, "Z" | "X"), start })
}

/// On other systems, the list of processes cannot be read without `unsafe`: only the process group gets signals there.
#[cfg(not(target_os = "linux"))]
const fn processes() -> Vec<Process> {
    Vec::new()
}
