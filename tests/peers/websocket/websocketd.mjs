// Runs one program behind websocketd and behind `portway serve`: `node tests/peers/websocket/websocketd.mjs`. Compares
// the responses to a client, and checks whether a page of another site can connect. PORTWAY_WEBSOCKETD and PORTWAY_CLI
// name the two servers.

import assert from "node:assert/strict";
import { once } from "node:events";
import WebSocket from "ws";
import init, { JSONRPCPeer } from "../../../pkg/node.js";
import { webSocketTransport } from "../../../pkg/websocket.js";
import { Suite } from "../../packaging/suite.mjs";
import { freePort, Program, programOf, within } from "./programs.mjs";

await init();
const suite = new Suite();
const cli = programOf("PORTWAY_CLI");
// This program reads and writes one message on each line.
const program = [cli, "serve", "--stdio", "--framing", "newline", "--demo"];

async function startWebsocketd() {
  const port = await freePort();
  const words = [`--port=${port}`, "--address=127.0.0.1", ...program];
  const server = new Program(programOf("PORTWAY_WEBSOCKETD"), words);
  await server.listens(port);
  return { server, url: `ws://127.0.0.1:${port}/` };
}

async function startPortway() {
  const server = new Program(cli, ["serve", "--ws", "127.0.0.1:0", "--framing", "newline", "--", ...program]);
  return { server, url: await server.matches(/listening on (ws:\S+)/) };
}

/** Opens a new connection to the program. Returns the results of the calls over this connection. */
async function converse(url) {
  const peer = new JSONRPCPeer(webSocketTransport(url, { WebSocket }));
  try {
    const text = "é€😀\n".repeat(10_000);
    const echo = await within("an echo", peer.request("echo", { text }));
    const unknown = await peer.request("nope").catch(({ code }) => code);
    const pings = await Promise.all(Array.from({ length: 100 }, () => peer.request("ping")));
    return { echo, unknown, pings };
  } finally {
    peer.destroy();
  }
}

/** Returns true if a page of another site can connect, or else the HTTP status of the refusal. */
async function admitsForeignPage(url) {
  const socket = new WebSocket(url, { origin: "https://evil.example" });
  const admitted = await Promise.race([
    once(socket, "open").then(() => true),
    new Promise((resolve) => socket.on("unexpected-response", (_, { statusCode }) => resolve(statusCode))),
  ]);
  socket.on("error", () => {});
  socket.terminate();
  return admitted;
}

const answers = {};
for (const [name, start, foreign] of [
  ["websocketd", startWebsocketd, true],
  ["portway serve", startPortway, 403],
]) {
  await suite.test(`${name} connects a client with a program`, async () => {
    const { server, url } = await start();
    try {
      const [first, second] = await Promise.all([converse(url), converse(url)]);
      assert.deepEqual(first, second);
      assert.equal(first.unknown, -32601);
      assert.equal(first.pings.length, 100);
      answers[name] = first;
      // websocketd admits the pages of all sites by default.
      assert.equal(await admitsForeignPage(url), foreign);
    } finally {
      await server.end("SIGTERM");
    }
  });
}

await suite.test("the answers are the same", () => {
  assert.ok(answers.websocketd, "the answers are missing");
  assert.deepEqual(answers["portway serve"], answers.websocketd);
});

process.exit(suite.finish() ? 0 : 1);
