// Runs libraries in separate processes.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const TIMEOUT_MS = 120_000;

/**
 * Starts a process. `words` contains the part of the benchmark and the arguments of the part. A library in JavaScript
 * has a `script`, which Node runs. If `core` is set, the process runs only on the processor core with this number.
 */
function start(binary, { script }, words, core) {
  const inNode = script !== undefined && fileURLToPath(new URL(script, import.meta.url));
  const [program, first] = inNode ? [process.execPath, [inNode]] : [binary, []];
  const command = [program, ...first, ...words.filter((word) => word !== "")];
  const [executable, ...rest] = core === undefined ? command : ["taskset", "--cpu-list", String(core), ...command];
  return spawn(executable, rest, { stdio: ["pipe", "pipe", "inherit"] });
}

/** A process that answers commands, one after the other. */
export class CommandProcess {
  constructor(binary, library, words, core) {
    this.process = start(binary, library, words, core);
    this.name = [library.id, ...words].join(" ");
    // Without a listener, a failed write would end this process. `ask` reports that the child process has exited.
    this.process.stdin.on("error", () => {});
    this.lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
  }

  /** Sends `words` as a command, and returns the answer. Without words, only waits for the next line of output. */
  async ask(...words) {
    if (words.length > 0) this.process.stdin.write(`${words.join(" ")}\n`);
    const late = sleep(TIMEOUT_MS, undefined, { ref: false }).then(() =>
      Promise.reject(new Error(`${this.name} must answer within ${TIMEOUT_MS} ms`)),
    );
    const { value, done } = await Promise.race([this.lines.next(), late]);
    if (done) throw new Error(`${this.name} exited before it answered`);
    return JSON.parse(value);
  }

  memory() {
    return residentBytes(this.process);
  }

  stop() {
    this.process.kill();
  }
}

/** A process that serves on a socket. */
export class Server {
  constructor(binary, library, name, socket, words = ["serve", name, socket]) {
    this.process = start(binary, library, words);
    this.socket = socket;
  }

  async ready() {
    for (const end = Date.now() + TIMEOUT_MS; Date.now() < end && this.process.exitCode === null; await sleep(20)) {
      if (await accepts(this.socket)) return this;
    }
    throw new Error(`no server listens on ${this.socket}`);
  }

  memory() {
    return residentBytes(this.process);
  }

  stop() {
    this.process.kill();
  }
}

/** A process of `portway tap` that connects `socket` with the socket of a server. */
export class TapServer extends Server {
  constructor(portway, socket, server, options) {
    super(portway, {}, "", socket, ["tap", "--listen", socket, "--to", server, ...options]);
  }
}

/** A process that serves on a port. Its first answer contains the number of the port. */
export class PortServer extends CommandProcess {
  constructor(binary, library, name, core) {
    super(binary, library, ["serve", name], core);
  }

  async ready() {
    this.port = (await this.ask()).port;
    return this;
  }
}

/** Returns the resident memory of a process in bytes. */
function residentBytes({ pid }) {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(kilobytes) * 1024;
}

function accepts(socket) {
  return new Promise((resolve) => {
    const connection = connect(socket);
    connection.on("connect", () => resolve(true)).on("error", () => resolve(false));
    connection.on("connect", () => connection.destroy());
  });
}
