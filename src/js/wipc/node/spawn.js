// A guest as a child process: frames on its standard input and output, its standard error beside ours.

import { CLOSE_TIMEOUT, OUTPUT_GRACE, TERM_GRACE } from "../../../web/limit-values.js";
import { spawn } from "node:child_process";
import { WipcChannel } from "../../entry/wipc.js";
import { startTimer } from "../timers.js";
import { beforeExit } from "./last-signals.js";
import { HAS_GROUPS, ProcessTree } from "./process-tree.js";
import { toReadableStream, toWritableStream } from "./web-streams.js";

/** How often to look for the remaining descendants of a guest, in milliseconds. The system does not report their end. */
const POLL_INTERVAL_MS = 20;

/** The guests that run, with their descendants. They end with this process. */
const running = new Set();
let stopWatching;

function add(tree) {
  if (running.size === 0) stopWatching = beforeExit(() => running.forEach((tree) => tree.signal("SIGKILL")));
  running.add(tree);
}

function remove(tree) {
  if (running.delete(tree) && running.size === 0) stopWatching();
}

export async function spawnGuest(command, args = [], options = {}) {
  const { cwd, env, signal, ...channelOptions } = options;
  signal?.throwIfAborted();
  const tree = new ProcessTree();
  // It is added first, so that the guest ends with this process from its start.
  add(tree);
  try {
    // A detached child leads its own process group.
    const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "inherit"], detached: HAS_GROUPS });
    tree.setLeader(child.pid);
    await untilSpawned(child, command);
    return new WipcGuest(child, tree, channelOptions, signal);
  } catch (error) {
    // The process may have started, although the options are wrong.
    tree.signal("SIGKILL");
    remove(tree);
    throw error;
  }
}

function untilSpawned(child, command) {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) =>
      reject(new Error(`the guest ${command} cannot be started: ${error.message}`, { cause: error })),
    );
  });
}

class WipcGuest {
  channel;
  exited;
  #child;
  #tree;
  #timeout;
  #hasExited = false;
  #resolveTreeEnded;
  /** Resolves once the guest and its descendants have ended. */
  #treeEnded = new Promise((resolve) => (this.#resolveTreeEnded = resolve));
  /** The timer of the next signal. */
  #timer = undefined;
  /** The last signal that was sent. */
  #lastSignal = undefined;

  constructor(child, tree, options, signal) {
    this.#child = child;
    this.#tree = tree;
    // Such as a signal that cannot be sent: the exit tells.
    child.on("error", () => {});
    const onAbort = () => this.kill();
    signal?.addEventListener("abort", onAbort);
    // That may have been while it was started.
    if (signal?.aborted) onAbort();
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signalName) => {
        this.#hasExited = true;
        this.#tree.leaderExited();
        signal?.removeEventListener("abort", onAbort);
        // What has been read by then is still handled.
        const late = setTimeout(() => child.stdout.destroy(), OUTPUT_GRACE);
        this.channel?.ended.then(() => clearTimeout(late));
        // Its descendants end soon after it.
        if (this.#timer === undefined) this.#killAfter(OUTPUT_GRACE);
        this.#pollTree();
        resolve({ code, signal: signalName });
      });
    });
    // However the channel is closed, by us or by the guest, the guest has to exit then.
    const writable = toWritableStream(child.stdin, () => {
      if (!this.#hasExited) this.#killAfter(this.#timeout);
      child.stdin.end();
    });
    this.#timeout = options.closeTimeout ?? CLOSE_TIMEOUT;
    this.channel = new WipcChannel(
      { readable: toReadableStream(child.stdout), writable },
      { ...options, role: "host" },
    );
  }

  get pid() {
    return this.#child.pid;
  }

  transport() {
    return this.channel.transport();
  }

  async close({ payload, timeout = this.#timeout } = {}) {
    this.channel.close(payload, { timeout });
    this.#timeout = timeout;
    if (!this.#hasExited) this.#killAfter(timeout);
    await this.#treeEnded;
    return this.exited;
  }

  kill(signal = "SIGKILL") {
    return (!this.#hasExited || this.#tree.hasProcesses()) && this.#tree.signal(signal);
  }

  /** Starts the timer that ends them after a time in milliseconds. */
  #killAfter(time) {
    if (this.#lastSignal !== undefined) return;
    // The guest is about to lose its input, and may end before its descendants.
    this.#tree.refresh();
    clearTimeout(this.#timer);
    this.#timer = startTimer(() => {
      this.#signalTree("SIGTERM");
      // A stopped process could not handle the signal.
      this.#tree.signal("SIGCONT");
      this.#timer = setTimeout(() => this.#signalTree("SIGKILL"), TERM_GRACE);
    }, time);
  }

  #signalTree(signal) {
    this.#lastSignal = signal;
    this.#tree.signal(signal);
  }

  /** Watches the remaining descendants of a guest that has exited. */
  #pollTree() {
    if (this.#lastSignal !== "SIGKILL" && this.#tree.hasProcesses())
      return void setTimeout(() => this.#pollTree(), POLL_INTERVAL_MS);
    clearTimeout(this.#timer);
    remove(this.#tree);
    this.#resolveTreeEnded();
  }
}
