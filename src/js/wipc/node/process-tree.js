// Signals for a child process and for what it has started itself: its process group, and on Linux its descendants in other
// groups. A process that has left the group and has lost its parent belongs to nobody here: so a daemon leaves on purpose.

import { readFileSync, readdirSync } from "node:fs";

/** Whether a child may lead a group of its own, to be spawned with `detached`. */
export const HAS_GROUPS = process.platform !== "win32";

/** Whether the signal could be sent: to a process, or by a negative id to a group. Signal 0 only asks. */
function send(id, signal) {
  try {
    return process.kill(id, signal);
  } catch {
    return false;
  }
}

/** All processes that can be seen, from `/proc/ID/stat`, see proc_pid_stat(5); elsewhere none. */
function processes() {
  if (process.platform !== "linux") return [];
  const found = [];
  for (const name of readdirSync("/proc")) {
    const id = Number(name);
    if (!(id > 0)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      // The name of the program before it may hold spaces and parentheses.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const [state, parent, group] = fields;
      // Its id alone may be given to another process later.
      found.push({ id, parent: Number(parent), group: Number(group), isZombie: "ZX".includes(state), start: fields[19] });
    } catch {
      // It has ended meanwhile.
    }
  }
  return found;
}

export class ProcessTree {
  #leader = undefined;
  /** From then on its id may be that of another process. */
  #hasExited = false;
  /** Descendants in other groups that were seen. */
  #strays = [];

  /** Begins with a child that was spawned with `detached`, if there are groups. */
  lead(leader) {
    this.#leader = leader;
  }

  /** The leader has exited. */
  loseLeader() {
    this.#hasExited = true;
  }

  /** Notes the descendants that there are. Once their parent has ended, they cannot be found any more. */
  look() {
    this.#find(processes());
  }

  #find(all) {
    const isThere = ({ id, start }) => all.some((process) => process.id === id && process.start === start);
    // Those in the group are kept meanwhile, for what they have started.
    const found = new Map(this.#strays.filter(isThere).map((stray) => [stray.id, stray]));
    const isOurs = ({ id, parent, group }) =>
      (parent === this.#leader && !this.#hasExited) || found.has(parent) || (group === this.#leader && id !== this.#leader);
    for (let size = -1; size !== found.size; ) {
      size = found.size;
      for (const process of all) if (!found.has(process.id) && isOurs(process)) found.set(process.id, process);
    }
    this.#strays = [...found.values()].filter(({ group }) => group !== this.#leader);
  }

  /** Whether anything is left, now that the leader has exited. */
  remains() {
    const hasGroup = this.#hasGroup();
    if (!hasGroup && this.#strays.length === 0) return false;
    const all = processes();
    this.#find(all);
    // A zombie has ended. In a container it may wait for ever for its parent.
    const isMember = ({ group, isZombie }) => group === this.#leader && !isZombie;
    return (hasGroup && (all.length === 0 || all.some(isMember))) || this.#strays.some(({ isZombie }) => !isZombie);
  }

  /** Signals all of them. Returns whether there was one that could be signalled. */
  signal(signal) {
    this.look();
    let isSent = this.#hasGroup() && send(-this.#leader, signal);
    // It may have joined another group.
    if (!this.#hasExited) isSent = send(this.#leader, signal) || isSent;
    for (const { id, group } of this.#strays) isSent = send(group === id ? -id : id, signal) || isSent;
    return isSent;
  }

  /** While a group has members, no new process gets its id: where one has it, the group has ended. */
  #hasGroup() {
    return HAS_GROUPS && send(-this.#leader, 0) && !(this.#hasExited && send(this.#leader, 0));
  }
}
