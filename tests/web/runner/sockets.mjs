// The WebSocket servers of specs, each in its own process. A spec posts commands as JSON: in a page to the server of
// the page, in Node to a server of the runner.

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("socket-server.mjs", import.meta.url));

export function startSockets() {
  const servers = new Map();
  let lastServer = 0;
  let lastCommand = 0;

  async function start(port = 0) {
    const child = fork(script, [String(port)]);
    const entry = { child, waiting: new Map() };
    const exited = new Promise((resolve) => child.once("exit", resolve));
    const started = await new Promise((resolve, reject) => {
      child.on("message", (message) => {
        if (message.port !== undefined) return resolve(message);
        entry.waiting.get(message.id)?.(message.result);
        entry.waiting.delete(message.id);
      });
      exited.then(() => reject(new Error("the socket server has ended")));
    });
    entry.exited = exited;
    const number = ++lastServer;
    servers.set(number, entry);
    return { number, port: started.port };
  }

  async function kill(number, signal) {
    const { child, exited } = servers.get(number);
    child.kill(signal);
    if (signal === "SIGKILL") await exited;
  }

  function run(number, values) {
    const { child, waiting } = servers.get(number);
    const id = ++lastCommand;
    return new Promise((resolve, reject) => {
      waiting.set(id, resolve);
      child.send({ id, ...values }, (error) => error && reject(error));
    });
  }

  return {
    /** Handles a command that a spec has posted, and returns the result. */
    async handle({ action, number, port, signal, ...values }) {
      if (action === "start") return start(port);
      if (action === "kill") return kill(number, signal);
      return run(number, values);
    },
    stop() {
      for (const { child } of servers.values()) child.kill("SIGKILL");
    },
  };
}
