// Sends signals to a child process and its descendants: to its process group, and on Linux to descendants in other
// groups. A process that has left the group, and whose parent has ended, does not count as a descendant. Some programs
// leave the group on purpose, in order to continue.

import { readFileSync, readdirSync, readlinkSync } from "node:fs";

/** Whether a child that is spawned with `detached` leads its own process group. */
export const HAS_GROUPS = process.platform !== "win32";

/**
 * Sends a signal to a process, or to a group by its negative id. Returns whether the signal was sent. Signal 0 only
 * tests whether a signal can be sent.
 */
function sendSignal(id, signal) {
  try {
    return process.kill(id, signal);
  } catch {
    return false;
  }
}

/**
 * Returns the names in `/proc`. The list is empty if `/proc` cannot be read, for instance without a free file
 * descriptor. It is also empty if `/proc` belongs to another namespace of process ids.
 */
function processNames() {
  try {
    return readlinkSync("/proc/self") === String(process.pid) ? readdirSync("/proc") : [];
  } catch {
    return [];
  }
}

/**
 * Returns all visible processes from `/proc/ID/stat`, see proc_pid_stat(5). Outside of Linux, the list is empty.
 */
function listProcesses() {
  if (process.platform !== "linux") return [];
  const found = [];
  for (const name of processNames()) {
    const id = Number(name);
    if (!(id > 0)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      // The name of the program, which precedes these fields, may contain spaces and parentheses.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const [state, parent, group] = fields;
      // The id alone is not unique: a later process may have the same id. The id and the start time together are
      // unique.
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

/**
 * Returns whether a process is a zombie. A process whose main thread has ended is not a zombie while other threads
 * run.
 */
const isZombie = (state, threads) => "ZX".includes(state) && Number(threads) <= 1;

export class ProcessTree {
  /**
   * The process id of the leader, once it is spawned.
   * @type {number}
   */
  #leader;
  /** Whether the leader has exited. After that, another process may have the same id. */
  #hasExited = false;
  /** Whether the leader leads a group that still exists. */
  #isGroup = HAS_GROUPS;
  /** The known descendants in other groups. */
  #descendants = [];

  /** Sets the leader: a child that was spawned with `detached` where groups exist. */
  setLeader(leader) {
    this.#leader = leader;
  }

  /** Records that the leader has exited. */
  leaderExited() {
    this.#hasExited = true;
  }

  /** Records the current descendants. A descendant cannot be found once its parent has ended. */
  refresh() {
    this.#find(listProcesses());
  }

  #find(all) {
    // The list could not be read.
    if (all.length === 0) return;
    // Known descendants may have ended, or may have changed their group.
    const currentEntryOf = (known) => all.find(({ id, start }) => id === known.id && start === known.start);
    // Members of the group are kept during the search, to find their children.
    const found = new Map(
      this.#descendants.map(currentEntryOf).flatMap((process) => (process ? [[process.id, process]] : [])),
    );
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

  /** Returns whether any process remains after the leader has exited. */
  hasProcesses() {
    const hasGroup = this.#hasGroup();
    if (!hasGroup && this.#descendants.length === 0) return false;
    const all = listProcesses();
    this.#find(all);
    // A zombie is a process that has ended. In a container, it may stay a zombie, because no parent collects it.
    const isMember = ({ group, isZombie }) => group === this.#leader && !isZombie;
    return (
      (hasGroup && (all.length === 0 || all.some(isMember))) || this.#descendants.some(({ isZombie }) => !isZombie)
    );
  }

  /** Signals all processes of the tree. Returns whether a signal was sent. */
  signal(signal) {
    this.refresh();
    let isSent = this.#hasGroup() && sendSignal(-this.#leader, signal);
    // The leader may have joined another group.
    if (!this.#hasExited) isSent = sendSignal(this.#leader, signal) || isSent;
    for (const { id, group } of this.#descendants) isSent = sendSignal(group === id ? -id : id, signal) || isSent;
    return isSent;
  }

  /**
   * Returns whether the group of the leader still exists. While a group has members, a new process does not get the id
   * of the group. If a new process has the id, the group has ended, and a later group with this id is a different
   * group.
   */
  #hasGroup() {
    if (this.#isGroup && this.#hasExited) this.#isGroup = sendSignal(-this.#leader, 0) && !sendSignal(this.#leader, 0);
    return this.#isGroup;
  }
}
