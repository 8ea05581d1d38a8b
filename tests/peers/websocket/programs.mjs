// Code that the tests with WebSocket peers share: programs, ports and conditions.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createConnection, createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** The time in which a program must start or answer, in ms. The machine may be busy. */
export const TIMEOUT = 60_000;

/** Returns the path that an environment variable contains. `cargo xtask test` sets the variables. */
export function programOf(variable) {
  const path = process.env[variable];
  assert.ok(path, `${variable} must name a program; \`cargo xtask test\` sets it`);
  return path;
}

/** Returns a TCP port of 127.0.0.1 that no program uses. */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/**
 * Waits until `condition` returns a value other than `undefined`, and returns the value. `what` describes the condition
 * in the error of a timeout.
 */
export async function eventually(what, condition) {
  const end = Date.now() + TIMEOUT;
  while (Date.now() < end) {
    const value = await condition();
    if (value !== undefined) return value;
    await delay(20);
  }
  assert.fail(`the test waited ${TIMEOUT} ms for ${what}`);
}

/** Returns the result of `promise`, or rejects after `TIMEOUT`. `what` describes the promise in this error. */
export async function within(what, promise) {
  const timer = new AbortController();
  try {
    return await Promise.race([
      promise,
      delay(TIMEOUT, undefined, { signal: timer.signal }).then(() =>
        assert.fail(`the test waited ${TIMEOUT} ms for ${what}`),
      ),
    ]);
  } finally {
    timer.abort();
  }
}

/** A program that a test has started. */
export class Program {
  #child;
  #exit;
  /** The text that the program has written to its standard output and standard error. */
  output = "";

  constructor(command, words, options = {}) {
    this.#child = spawn(command, words, { stdio: ["ignore", "pipe", "pipe"], ...options });
    this.#exit = new Promise((resolve) => {
      this.#child.on("error", (error) => {
        this.output += error.message;
        resolve();
      });
      this.#child.on("close", resolve);
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.setEncoding("utf8").on("data", (text) => {
        this.output += text;
      });
  }

  get #hasEnded() {
    return this.#child.exitCode !== null || this.#child.signalCode !== null || this.#child.pid === undefined;
  }

  /** Waits for output that matches `pattern`. Returns the first group of the pattern. */
  matches(pattern) {
    return eventually(`output that matches ${pattern}`, () => {
      const found = pattern.exec(this.output);
      assert.ok(found || !this.#hasEnded, `the program has ended: ${this.output}`);
      return found ? (found[1] ?? "") : undefined;
    });
  }

  /** Waits until the program accepts connections. */
  listens(port) {
    return eventually(`a listener on port ${port}`, async () => {
      assert.ok(!this.#hasEnded, `the program has ended: ${this.output}`);
      const socket = createConnection({ port, host: "127.0.0.1" });
      const [outcome] = await Promise.race([
        once(socket, "connect").then(() => [true]),
        once(socket, "close").then(() => [undefined]),
      ]).catch(() => [undefined]);
      socket.destroy();
      return outcome;
    });
  }

  /** Ends the program, and waits for its end. */
  async end(signal = "SIGKILL") {
    this.#child.kill(signal);
    await within("the end of a program", this.#exit);
  }
}
