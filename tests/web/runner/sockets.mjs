// The WebSocket servers of specs, each in its own process. A spec posts commands as JSON to an HTTP server of the
// runner. In a page, it posts them to the server that has served the page.

import { fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startRelay } from "./relay.mjs";

const script = fileURLToPath(new URL("socket-server.mjs", import.meta.url));

export function startSockets() {
  const servers = new Map();
  const relays = new Map();
  let lastServer = 0;
  let lastCommand = 0;
  const folder = mkdtempSync(join(tmpdir(), "portway-sockets-"));

  /**
   * Starts a server on `port`, or on a free port. If `isCounted`, the server records its executions in a file, which
   * remains after a kill. In this case, the free port is below the range that the system uses for outgoing connections.
   * So a client that reconnects cannot get the port of the killed server as its own port.
   */
  async function start(port, isCounted) {
    const number = ++lastServer;
    if (!isCounted) return startOn(number, port ?? 0, []);
    const file = join(folder, String(number));
    writeFileSync(file, "");
    for (let attempt = 1; ; attempt++) {
      try {
        return await startOn(number, port ?? 20_000 + Math.floor(Math.random() * 12_000), [file]);
      } catch (error) {
        if (port !== undefined || attempt === 100) throw error;
      }
    }
  }

  async function startOn(number, port, extraArgs) {
    const child = fork(script, [String(port), ...extraArgs]);
    const entry = { child, pendingCommands: new Map(), file: extraArgs[0] };
    const exited = new Promise((resolve) => child.once("exit", resolve));
    const started = await new Promise((resolve, reject) => {
      child.on("message", (message) => {
        if (message.port !== undefined) return resolve(message);
        entry.pendingCommands.get(message.id)?.(message.result);
        entry.pendingCommands.delete(message.id);
      });
      exited.then(() => reject(new Error("the socket server has ended")));
    });
    entry.exited = exited;
    servers.set(number, entry);
    return { number, port: started.port };
  }

  async function kill(number, signal) {
    const { child, exited } = servers.get(number);
    child.kill(signal);
    if (signal === "SIGKILL") await exited;
  }

  function run(number, values) {
    const { child, pendingCommands } = servers.get(number);
    const id = ++lastCommand;
    return new Promise((resolve, reject) => {
      pendingCommands.set(id, resolve);
      child.send({ id, ...values }, (error) => error && reject(error));
    });
  }

  /** Returns the first parameter of each `run` call that the server has executed, even if the server was killed. */
  function executions(number) {
    const lines = readFileSync(servers.get(number).file, "utf8").split("\n");
    return lines.slice(0, -1).map(Number);
  }

  /** Starts a relay to a port. `rates` may limit its speed. */
  async function relay(port, rates) {
    const started = await startRelay(port, rates);
    const number = relays.size + 1;
    relays.set(number, started);
    return { number, port: started.port };
  }

  return {
    /** Handles a command that a spec has posted, and returns the result. */
    async handle({ action, number, port, signal, isCounted, rates, ...values }) {
      if (action === "start") return start(port, isCounted);
      if (action === "relay") return relay(port, rates);
      if (action === "drop") return relays.get(number).drop();
      if (action === "executions") return executions(number);
      if (action === "kill") return kill(number, signal);
      return run(number, values);
    },
    stop() {
      for (const { child } of servers.values()) child.kill("SIGKILL");
      for (const relay of relays.values()) relay.stop();
      rmSync(folder, { recursive: true });
    },
  };
}
