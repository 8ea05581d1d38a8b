// Starts the real MCP server of the suite, which has a tool with a view. Requests pass through the dialect `mcp`.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import init, { JSONRPCPeer } from "../../pkg/node.js";

/** Starts the server. Returns `handle`, which makes a request to the server, and `stop`, which ends the server. */
export async function startServer(packages) {
  await init();
  const script = join(packages, "node_modules/@modelcontextprotocol/server-basic-vanillajs/dist/index.js");
  const child = spawn(process.execPath, [script, "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
  const peer = new JSONRPCPeer(lines(child), { dialect: "mcp" });
  const clientInfo = { name: "host", version: "1.0.0" };
  await peer.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  peer.notify("notifications/initialized");
  return {
    handle: ({ method, params }) => peer.request(method, params),
    stop() {
      peer.destroy();
      child.kill();
    },
  };
}

/** The transport of MCP over standard streams: each line is a message. */
function lines({ stdin, stdout }) {
  return {
    send: (message) => void stdin.write(`${JSON.stringify(message)}\n`),
    onMessage: (handler) => createInterface(stdout).on("line", (line) => handler(JSON.parse(line))),
    destroy: () => stdin.end(),
  };
}
