// A guest as a child process, with frames on its standard input and output. The guest shares the standard error of this
// process.

import { CLOSE_TIMEOUT, OUTPUT_GRACE, TERM_GRACE } from "../../driver/limit-values.js";
import { spawn } from "node:child_process";
import { WipcChannel } from "../../entry/wipc.js";
import { startTimer } from "../timers.js";
import { beforeExit } from "./before-exit.js";
import { HAS_GROUPS, ProcessTree } from "./process-tree.js";
import { toReadableStream, toWritableStream } from "./web-streams.js";

/** The interval between checks for remaining descendants of a guest. The system does not report their end. */
const POLL_INTERVAL_MS = 20;

/** The running guests with their descendants. This process kills them when it ends. */
const running = new Set();
let stopWatching;

function add(tree) {
  if (running.size === 0) stopWatching = beforeExit(() => running.forEach((tree) => tree.signal("SIGKILL")));
  running.add(tree);
}

function remove(tree) {
  if (running.delete(tree) && running.size === 0) stopWatching();
}

/** @type {typeof import("../../../types/wipc-node.js").spawnGuest} */
export async function spawnGuest(command, args = [], options = {}) {
  const { cwd, env, signal, ...channelOptions } = options;
  signal?.throwIfAborted();
  const tree = new ProcessTree();
  // The tree is added before the spawn, so that the guest never outlives this process.
  add(tree);
  try {
    // A detached child leads its own process group.
    const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "inherit"], detached: HAS_GROUPS });
    tree.setLeader(child.pid);
    await untilSpawned(child, command);
    return new WipcGuest(child, tree, channelOptions, signal);
  } catch (error) {
    // The process may have started before an option was found to be invalid.
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
  /**
   * The timer of the next signal.
   * @type {import("../timers.js").Timer}
   */
  #timer = undefined;
  /**
   * The last signal that was sent.
   * @type {string | undefined}
   */
  #lastSignal = undefined;

  constructor(child, tree, options, signal) {
    this.#child = child;
    this.#tree = tree;
    // Errors, such as a signal that cannot be sent, are ignored: `exit` reports the end.
    child.on("error", () => {});
    const onAbort = () => this.kill();
    signal?.addEventListener("abort", onAbort);
    // The signal may have been aborted during the start.
    if (signal?.aborted) onAbort();
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signalName) => {
        this.#hasExited = true;
        this.#tree.leaderExited();
        signal?.removeEventListener("abort", onAbort);
        // Output that arrives within `OUTPUT_GRACE` is still handled.
        const outputTimer = setTimeout(() => child.stdout.destroy(), OUTPUT_GRACE);
        this.channel?.ended.then(() => clearTimeout(outputTimer));
        // The descendants of the guest are ended soon after the guest.
        if (this.#timer === undefined) this.#killAfter(OUTPUT_GRACE);
        this.#pollTree();
        resolve({ code, signal: signalName });
      });
    });
    // Once either side closes the channel, the guest has to exit.
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

  /** @param {Parameters<import("../../../types/wipc-node.js").WipcGuest["close"]>[0]} [options] */
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

  /** Starts the timer that ends the guest and its descendants after a time in milliseconds. */
  #killAfter(time) {
    if (this.#lastSignal !== undefined) return;
    // The guest may exit before its descendants, which cannot be found after that.
    this.#tree.refresh();
    clearTimeout(this.#timer);
    this.#timer = startTimer(() => {
      this.#signalTree("SIGTERM");
      // A stopped process handles SIGTERM only after SIGCONT.
      this.#tree.signal("SIGCONT");
      this.#timer = setTimeout(() => this.#signalTree("SIGKILL"), TERM_GRACE);
    }, time);
  }

  #signalTree(signal) {
    this.#lastSignal = signal;
    this.#tree.signal(signal);
  }

  /** Polls for the remaining descendants of a guest that has exited. */
  #pollTree() {
    if (this.#lastSignal !== "SIGKILL" && this.#tree.hasProcesses())
      return void setTimeout(() => this.#pollTree(), POLL_INTERVAL_MS);
    clearTimeout(this.#timer);
    remove(this.#tree);
    this.#resolveTreeEnded();
  }
}
