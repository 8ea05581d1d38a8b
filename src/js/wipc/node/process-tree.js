// Signals for a child process and its descendants: its process group, and on Linux its descendants in other groups. A process
// that has left the group and has lost its parent does not count as a descendant. Daemons do that on purpose.

import { readFileSync, readdirSync, readlinkSync } from "node:fs";

/** Whether a child that is spawned with `detached` leads its own group. */
export const HAS_GROUPS = process.platform !== "win32";

/** Sends a signal to a process, or by a negative id to a group. Returns whether it was sent. Signal 0 only tests. */
function sendSignal(id, signal) {
  try {
    return process.kill(id, signal);
  } catch {
    return false;
  }
}

/**
 * The names in `/proc`. None if it cannot be read, for instance if no file descriptor is left, or if it is that of another namespace,
 * whose ids are those of other processes.
 */
function processNames() {
  try {
    return readlinkSync("/proc/self") === String(process.pid) ? readdirSync("/proc") : [];
  } catch {
    return [];
  }
}

/** All processes that can be seen, from `/proc/ID/stat`, see proc_pid_stat(5); elsewhere none. */
function listProcesses() {
  if (process.platform !== "linux") return [];
  const found = [];
  for (const name of processNames()) {
    const id = Number(name);
    if (!(id > 0)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      // The name of the program before it may hold spaces and parentheses.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const [state, parent, group] = fields;
      // Its id alone is not unique: another process may get it later.
      found.push({
        id,
        parent: Number(parent),
        group: Number(group),
        isZombie: isZombie(state, fields[17]),
        start: fields[19],
      });
    } catch {
      // The process has ended meanwhile.
    }
  }
  return found;
}

/** If only the main thread of a process has ended, its other threads go on. */
const isZombie = (state, threads) => "ZX".includes(state) && Number(threads) <= 1;

export class ProcessTree {
  #leader = undefined;
  /** Whether the leader has exited. From then on its id may be that of another process. */
  #hasExited = false;
  /** Whether the leader leads a group that still exists. */
  #isGroup = HAS_GROUPS;
  /** The known descendants in other groups. */
  #descendants = [];

  /** Sets the leader: a child that was spawned with `detached`, if there are groups. */
  setLeader(leader) {
    this.#leader = leader;
  }

  /** Records that the leader has exited. */
  leaderExited() {
    this.#hasExited = true;
  }

  /** Records the current descendants. Once the parent of a descendant has ended, it cannot be found any more. */
  refresh() {
    this.#find(listProcesses());
  }

  #find(all) {
    // The list could not be read.
    if (all.length === 0) return;
    // They may have ended since, or have changed their group.
    const now = (known) => all.find(({ id, start }) => id === known.id && start === known.start);
    // Members of the group are kept during the search, to find their children.
    const found = new Map(this.#descendants.map(now).flatMap((process) => (process ? [[process.id, process]] : [])));
    const hasGroup = this.#hasGroup();
    const isOurs = ({ id, parent, group }) =>
      (parent === this.#leader && !this.#hasExited) ||
      found.has(parent) ||
      (hasGroup && group === this.#leader && id !== this.#leader);
    for (let size = -1; size !== found.size; ) {
      size = found.size;
      for (const process of all) if (!found.has(process.id) && isOurs(process)) found.set(process.id, process);
    }
    this.#descendants = [...found.values()].filter(({ group }) => !hasGroup || group !== this.#leader);
  }

  /** Whether any process is left, after the leader has exited. */
  hasProcesses() {
    const hasGroup = this.#hasGroup();
    if (!hasGroup && this.#descendants.length === 0) return false;
    const all = listProcesses();
    this.#find(all);
    // A zombie has ended. In a container it may wait for ever for its parent.
    const isMember = ({ group, isZombie }) => group === this.#leader && !isZombie;
    return (
      (hasGroup && (all.length === 0 || all.some(isMember))) || this.#descendants.some(({ isZombie }) => !isZombie)
    );
  }

  /** Signals all processes. Returns whether a signal was sent. */
  signal(signal) {
    this.refresh();
    let isSent = this.#hasGroup() && sendSignal(-this.#leader, signal);
    // It may have joined another group.
    if (!this.#hasExited) isSent = sendSignal(this.#leader, signal) || isSent;
    for (const { id, group } of this.#descendants) isSent = sendSignal(group === id ? -id : id, signal) || isSent;
    return isSent;
  }

  /**
   * While a group has members, no new process gets its id. If a new process has it, the group has ended, and a later group with this
   * id is another one.
   */
  #hasGroup() {
    if (this.#isGroup && this.#hasExited) this.#isGroup = sendSignal(-this.#leader, 0) && !sendSignal(this.#leader, 0);
    return this.#isGroup;
  }
}
