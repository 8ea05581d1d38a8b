// Tests `portway/websocket` with a server of the Python package `websockets` and with a server of the npm package `ws`.
// Then tests a client of `websockets` with a server of `ws` and Portway: `node tests/peers/websocket/libraries.mjs`.
// PORTWAY_PYTHON names a Python that has the package `websockets`.

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import WebSocket from "ws";
import init, { JSONRPCPeer } from "../../../pkg/node.js";
import { webSocketTransport } from "../../../pkg/websocket.js";
import { Suite } from "../../packaging/suite.mjs";
import { eventually, Program, programOf } from "./programs.mjs";

await init();
const suite = new Suite();
const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const listening = /listening on port (\d+)/;

/** Runs a test with a program. The program is killed at the end of the test. */
const withProgram = (name, command, words, test) =>
  suite.test(name, async () => {
    const program = new Program(command, words);
    try {
      await test(program);
    } finally {
      await program.end();
    }
  });

for (const [name, command, script] of [
  ["websockets", programOf("PORTWAY_PYTHON"), "websockets_server.py"],
  ["ws", process.execPath, "ws-server.mjs"],
]) {
  await withProgram(`a server with ${name} answers, asks and notifies`, command, [file(script)], async (server) => {
    const lost = [];
    const ticks = [];
    const transport = webSocketTransport(`ws://127.0.0.1:${await server.matches(listening)}`, {
      WebSocket,
      reconnect: { base: 10, restart: 50 },
      onLost: ({ data }) => lost.push([data.code, data.reason]),
    });
    const peer = new JSONRPCPeer(transport).method("name", () => "Ada");
    peer.onNotify("ticked", ([tick]) => ticks.push(tick));
    try {
      const long = "é€😀".repeat(50_000);
      if (name === "ws") assert.deepEqual(await peer.request("ask", [long]), ["Ada", long.length]);
      else {
        assert.deepEqual(await peer.request("ask", []), ["héllo 😀", "Ada"]);
        assert.deepEqual(await peer.request("echo", [long]), [long]);
      }
      assert.equal(await peer.request("tick"), null);
      await eventually("three notifications", () => ticks[2]);
      assert.deepEqual(ticks, [0, 1, 2]);
      const unknown = await peer.request("nope").catch((error) => error);
      assert.equal(unknown.code, -32601);
      const dropped = await peer.request("drop").catch((error) => error);
      assert.equal(dropped.reason, "session-ended");
      assert.deepEqual(lost, [name === "ws" ? [1006, ""] : [1012, "restart"]]);
      assert.equal(await peer.request("tick"), null);
    } finally {
      peer.destroy();
    }
  });
}

const server = new Program(process.execPath, [file("ws-server.mjs")]);
const url = `ws://127.0.0.1:${await server.matches(listening)}`;
await withProgram(
  "a client with websockets calls a server with ws and Portway",
  programOf("PORTWAY_PYTHON"),
  [file("websockets_client.py"), url],
  async (client) => {
    assert.deepEqual(JSON.parse(await client.matches(/^(\{.*\})$/m)), {
      added: { jsonrpc: "2.0", result: 3, id: 1 },
      unknown: ["ü", -32601],
      garbage: [null, -32700],
      fragments: 42,
      question: "name",
      asked: ["Ada", 200_000],
      closed: 1000,
    });
  },
);
await server.end();
process.exit(suite.finish() ? 0 : 1);
