// A guest as a child process: frames on its standard input and output, its standard error beside ours.

import { CLOSE_TIMEOUT, OUTPUT_GRACE } from "../../../web/limit-values.js";
import { spawn } from "node:child_process";
import { WipcChannel } from "../../entry/wipc.js";
import { timer } from "../time.js";
import { readableOf, writableOf } from "./streams.js";

/** The guests that run, so that none outlives this process. */
const running = new Set();

function killAll() {
  for (const child of running) child.kill("SIGKILL");
}

export async function spawnGuest(command, args = [], options = {}) {
  const { cwd, env, signal, ...channelOptions } = options;
  signal?.throwIfAborted();
  const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
  await started(child, command);
  return new WipcGuest(child, channelOptions, signal);
}

function started(child, command) {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => reject(new Error(`the guest ${command} cannot be started: ${error.message}`, { cause: error })));
  });
}

class WipcGuest {
  channel;
  exited;
  #child;
  #timeout;
  #killTimer = undefined;

  constructor(child, options, signal) {
    this.#child = child;
    if (running.size === 0) process.on("exit", killAll);
    running.add(child);
    // Such as a signal that cannot be sent: the exit tells.
    child.on("error", () => {});
    const onAbort = () => this.kill();
    signal?.addEventListener("abort", onAbort);
    // That may have been while it was started.
    if (signal?.aborted) onAbort();
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signalName) => {
        running.delete(child);
        if (running.size === 0) process.off("exit", killAll);
        signal?.removeEventListener("abort", onAbort);
        clearTimeout(this.#killTimer);
        // What has been read by then is still handled.
        const late = setTimeout(() => child.stdout.destroy(), OUTPUT_GRACE);
        this.channel.ended.then(() => clearTimeout(late));
        resolve({ code, signal: signalName });
      });
    });
    // However the channel is closed, by us or by the guest, the guest has to exit then.
    const writable = writableOf(child.stdin, () => {
      child.stdin.end();
      this.#expectExit();
    });
    this.#timeout = options.closeTimeout ?? CLOSE_TIMEOUT;
    this.channel = new WipcChannel({ readable: readableOf(child.stdout), writable }, { ...options, role: "host" });
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
    this.#expectExit();
    return this.exited;
  }

  kill(signal = "SIGKILL") {
    return this.#child.kill(signal);
  }

  #expectExit() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    clearTimeout(this.#killTimer);
    this.#killTimer = timer(() => this.kill(), this.#timeout);
  }
}
