//! Sends signals to a child process and its descendants. The signals are sent to the process group of the child, and to
//! descendants in other groups.
//!
//! A process in another group is found only through its parent. If the parent exits before the search, the process does
//! not count as a descendant. So a background program can survive on purpose.

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, getpgid, kill_process, kill_process_group, test_kill_process, test_kill_process_group,
};
use tokio::process::{Child, Command};

#[derive(Debug)]
pub(super) struct ProcessTree {
    leader: Pid,
    /// Whether the child leads a process group that still exists.
    is_group: bool,
    /// Whether the leader has exited and was waited for. Afterwards, another process may get the id of the leader.
    is_waited_for: bool,
    /// The known descendants in other groups.
    descendants: Vec<Process>,
    /// A descendant or group member that was running when the process list was last read.
    alive: Option<Process>,
}

/// A process. The id and the start time together identify it, because a later process may get the same id.
#[derive(Clone, Copy, Debug)]
struct Process {
    id: Pid,
    parent: Option<Pid>,
    group: Option<Pid>,
    is_zombie: bool,
    /// The start time, in clock ticks since the start of the system.
    start: u64,
}

impl ProcessTree {
    /// Configures a command so that its process leads a new process group.
    pub(super) fn prepare(command: &mut Command) {
        command.process_group(0);
    }

    /// Returns the tree of a running process, or `None` if the process was waited for.
    pub(super) fn of(leader: &Child) -> Option<Self> {
        let leader = Pid::from_raw(leader.id()?.try_into().ok()?)?;
        let is_group = getpgid(Some(leader)) == Ok(leader);
        Some(Self { leader, is_group, is_waited_for: false, descendants: Vec::new(), alive: None })
    }

    /// Records that the leader has exited and was waited for.
    pub(super) const fn leader_exited(&mut self) {
        self.is_waited_for = true;
    }

    /// Records the current descendants, which cannot be found after their parent has exited.
    pub(super) fn record_descendants(&mut self) {
        self.update(&processes());
    }

    fn update(&mut self, all: &[Process]) {
        // An empty list means that the processes could not be read.
        if all.is_empty() {
            return;
        }
        // Known descendants may have exited, or may have changed their group.
        let current = |known: &Process| all.iter().find(|process| process.is_same(known)).copied();
        // Group members stay in the list during the search, so that their children are found. Group members are removed
        // after the search, because the signal to the group reaches them.
        let mut found: Vec<_> = self.descendants.iter().filter_map(current).collect();
        let has_group = self.has_group();
        let leader = (!self.is_waited_for).then_some(self.leader);
        loop {
            let is_new = |process: &&Process| {
                let is_child = process.parent.is_some()
                    && (process.parent == leader || found.iter().any(|parent| process.parent == Some(parent.id)));
                let is_member = has_group && process.group == Some(self.leader) && process.id != self.leader;
                (is_child || is_member) && !found.iter().any(|known| known.id == process.id)
            };
            let new: Vec<_> = all.iter().filter(is_new).copied().collect();
            if new.is_empty() {
                break;
            }
            found.extend(new);
        }
        found.retain(|process| !has_group || process.group != Some(self.leader));
        self.descendants = found;
    }

    /// Returns whether any process remains after the exit of the leader.
    pub(super) fn has_remaining_processes(&mut self) -> bool {
        let has_group = self.has_group();
        if !has_group && self.descendants.is_empty() {
            return false;
        }
        // One process can be read faster than all processes.
        if self.alive.is_some_and(|known| read(known.id).is_some_and(|now| now.is_running_in_same_group(&known))) {
            return true;
        }
        let all = processes();
        self.update(&all);
        let is_member = |process: &&Process| has_group && process.group == Some(self.leader);
        let known = self.descendants.iter().chain(all.iter().filter(is_member));
        // A zombie has exited, so it does not count. In a container, it may remain forever, because its parent may
        // never wait for it.
        self.alive = known.copied().find(|process| !process.is_zombie);
        // Without a process list, only the group can be checked.
        self.alive.is_some() || (has_group && all.is_empty())
    }

    /// Sends `SIGTERM` to all processes. Returns whether the system has this signal: always true on Unix.
    pub(super) fn terminate(&mut self) -> bool {
        self.signal(Signal::TERM);
        // A stopped process cannot handle `SIGTERM`.
        self.signal(Signal::CONT);
        true
    }

    /// Kills all processes. Only the implementation for Windows uses the argument.
    pub(super) fn kill(&mut self, _leader: &mut Child) {
        self.signal(Signal::KILL);
    }

    /// Sends a signal to all processes. Ignores errors, which mean that no process remains, or that this program has no
    /// permission to send the signal.
    fn signal(&mut self, signal: Signal) {
        self.record_descendants();
        if self.has_group() {
            let _ = kill_process_group(self.leader, signal);
        }
        if !self.is_waited_for {
            // The leader may have joined another group.
            let _ = kill_process(self.leader, signal);
        }
        for process in &self.descendants {
            let _ = match process.group {
                Some(group) if group == process.id => kill_process_group(group, signal),
                _ => kill_process(process.id, signal),
            };
        }
    }

    /// Returns whether the group of the leader still exists. While a group has members, no new process gets the id of
    /// the group. If a process has this id after the leader was waited for, it is a new process. In this case, the
    /// group of the leader has ended, and a group with this id is a new group.
    fn has_group(&mut self) -> bool {
        // The error for a missing permission also means that the process or the group exists.
        let exists = |result: rustix::io::Result<()>| result != Err(Errno::SRCH);
        if self.is_group && self.is_waited_for {
            self.is_group = exists(test_kill_process_group(self.leader)) && !exists(test_kill_process(self.leader));
        }
        self.is_group
    }
}

impl Process {
    fn is_same(&self, other: &Self) -> bool {
        self.id == other.id && self.start == other.start
    }

    /// Returns whether `self` is the same process as `other`, is running, and is in the same group.
    fn is_running_in_same_group(&self, other: &Self) -> bool {
        self.is_same(other) && self.group == other.group && !self.is_zombie
    }
}

/// Returns all visible processes. Returns an empty list if `/proc` is missing or belongs to another PID namespace.
#[cfg(target_os = "linux")]
fn processes() -> Vec<Process> {
    // If `/proc` belongs to another PID namespace, its ids identify other processes.
    let own = std::fs::read_link("/proc/self").ok().and_then(|id| pid(id.to_str()?));
    let Some(entries) =
        own.filter(|own| *own == rustix::process::getpid()).and_then(|_| std::fs::read_dir("/proc").ok())
    else {
        return Vec::new();
    };
    entries.filter_map(|entry| read(pid(entry.ok()?.file_name().to_str()?)?)).collect()
}

#[cfg(target_os = "linux")]
fn read(id: Pid) -> Option<Process> {
    parse(id, &std::fs::read(std::format!("/proc/{}/stat", id.as_raw_nonzero())).ok()?)
}

/// Parses `/proc/ID/stat`, see proc_pid_stat(5). The name of the program may contain spaces and parentheses.
#[cfg(target_os = "linux")]
fn parse(id: Pid, text: &[u8]) -> Option<Process> {
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let mut fields = core::str::from_utf8(text.get(end + 1..)?).ok()?.split_ascii_whitespace();
    let state = fields.next()?;
    let mut next_id = || pid(fields.next()?);
    let (parent, group) = (next_id(), next_id());
    let threads: u32 = fields.nth(14)?.parse().ok()?;
    let start = fields.nth(1)?.parse().ok()?;
    // If only the main thread has exited, the other threads continue.
    let is_zombie = matches!(state, "Z" | "X") && threads <= 1;
    Some(Process { id, parent, group, is_zombie, start })
}

/// Parses the id of a process or a group. Returns `None` for 0 and -1: a process that the system is releasing has the
/// parent 0 and the group -1.
#[cfg(target_os = "linux")]
fn pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok().filter(|id| *id > 0)?)
}

/// Returns an empty list, because systems other than Linux cannot list processes without `unsafe`. On these systems,
/// only the process group gets signals.
#[cfg(not(target_os = "linux"))]
const fn processes() -> Vec<Process> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
const fn read(_: Pid) -> Option<Process> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An id that is too large for any system, so no process has it.
    const LEADER: i32 = i32::MAX - 1;

    /// Returns a running process with the start time 7.
    fn process(id: i32, parent: i32, group: i32) -> Process {
        let pid = |id| Pid::from_raw(id);
        Process { id: pid(id).unwrap_or(Pid::INIT), parent: pid(parent), group: pid(group), is_zombie: false, start: 7 }
    }

    /// Returns the tree that was found in `all`. The leader was waited for after the search.
    fn tree(all: &[Process]) -> ProcessTree {
        let leader = Pid::from_raw(LEADER).unwrap_or(Pid::INIT);
        let mut tree =
            ProcessTree { leader, is_group: true, is_waited_for: false, descendants: Vec::new(), alive: None };
        tree.update(all);
        tree.leader_exited();
        tree
    }

    fn ids(tree: &ProcessTree) -> Vec<i32> {
        tree.descendants.iter().map(|process| process.id.as_raw_nonzero().get()).collect()
    }

    #[test]
    fn an_update_refreshes_the_group_and_the_state_of_a_descendant() {
        let mut stray = process(10, LEADER, 10);
        let mut tree = tree(&[stray]);
        assert_eq!(ids(&tree), [10]);
        (stray.parent, stray.group, stray.is_zombie) = (Pid::from_raw(1), Pid::from_raw(11), true);
        tree.update(&[stray]);
        assert_eq!(
            tree.descendants.iter().map(|known| (known.group, known.is_zombie)).collect::<Vec<_>>(),
            [(Pid::from_raw(11), true)]
        );
        // Another process now has the id.
        stray.start = 8;
        tree.update(&[stray]);
        assert_eq!(ids(&tree), [0; 0]);
    }

    #[test]
    fn a_later_group_with_the_id_of_the_leader_is_not_part_of_the_tree() {
        let mut tree = tree(&[process(10, LEADER, 10), process(11, LEADER, LEADER), process(12, 11, 12)]);
        assert_eq!(ids(&tree), [10, 12]);
        // The leader was waited for, and its group has ended. Other processes now have its id as their id or group.
        let others = [process(LEADER, 1, LEADER), process(20, LEADER, LEADER), process(21, 20, 21)];
        tree.update(&[process(10, 1, 10), others[0], others[1], others[2]]);
        assert_eq!(ids(&tree), [10]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_is_being_released_has_neither_parent_nor_group() {
        let text = |parent: i32, group: i32| {
            std::format!("10 (a) b) X {parent} {group} -1 0 -1 4228108 99 0 0 0 0 0 0 0 20 0 1 0 1234 0 0\n")
        };
        let read = |text: &str| {
            let process = parse(Pid::from_raw(10)?, text.as_bytes())?;
            Some((process.parent, process.group, process.start))
        };
        assert_eq!(read(&text(7, 8)), Some((Pid::from_raw(7), Pid::from_raw(8), 1234)));
        assert_eq!(read(&text(0, -1)), Some((None, None, 1234)));
    }

    /// This test starts itself in another PID namespace, in which `/proc` still belongs to the first namespace.
    #[cfg(target_os = "linux")]
    #[test]
    fn processes_of_another_namespace_are_not_read() -> std::io::Result<()> {
        use std::process::Command;

        const IS_INSIDE: &str = "PORTWAY_IS_INSIDE";
        if std::env::var_os(IS_INSIDE).is_some() {
            assert_eq!(processes().len(), 0);
            return Ok(());
        }
        assert!(processes().iter().any(|process| process.id == rustix::process::getpid()));
        for options in ["-pf", "-rpf"] {
            if !Command::new("unshare").args([options, "true"]).status().is_ok_and(|status| status.success()) {
                std::eprintln!("unshare {options} is not permitted");
                continue;
            }
            let mut inside = Command::new("unshare");
            inside.args([options, "--kill-child"]).arg(std::env::current_exe()?).env(IS_INSIDE, "1");
            let name = "native::process_tree::tests::processes_of_another_namespace_are_not_read";
            let output = inside.args(["--exact", name]).output()?;
            let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}");
        }
        Ok(())
    }
}
