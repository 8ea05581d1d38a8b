// Runs the server in Node of docs/websocket-server.md.

import { assert } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import WebSocket from "ws";
import { documentedPrograms } from "./support/documented-programs.js";
import { afterThisTest } from "./support/cleanup.js";
import { JSONRPCClient } from "./support/portway.js";
import { webSocketTransport } from "./support/sockets.js";
import { rejection, until } from "./support/outcomes.js";

const programs = documentedPrograms("docs/websocket-server.md", "websocket-server-docs");
const ADD = JSON.stringify({ jsonrpc: "2.0", method: "add", params: [1, 2], id: 1 });
const SUM = { jsonrpc: "2.0", result: 3, id: 1 };

/** Starts the server of the document, and waits until it listens. `change` changes its text. */
async function startServer(change) {
  const port = await programs.write(change);
  const server = programs.start("server.mjs");
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const [isOpen] = await Promise.race([
      once(socket, "connect").then(() => [true]),
      once(socket, "close").then(() => [false]),
    ]).catch(() => [false]);
    socket.destroy();
    if (isOpen) break;
    assert.isNull(server.child.exitCode, server.output.err);
  }
  return { ...server, port };
}

/** Opens a socket to the server. `received` has the messages from the server. */
async function open(port, options) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, options);
  afterThisTest(() => socket.terminate());
  const received = [];
  socket.on("message", (data) => received.push(JSON.parse(String(data))));
  await once(socket, "open");
  return { socket, received };
}

/** Returns the status of the response that refuses an upgrade. */
async function refusal(port, options) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, options);
  socket.on("error", () => {});
  const [, response] = await once(socket, "unexpected-response");
  socket.terminate();
  return response.statusCode;
}

const upgradeRequest = (port) =>
  `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/** Opens a TCP connection, and requests the upgrade. The connection never answers a ping. */
async function openMute(port) {
  const socket = connect(port, "127.0.0.1");
  afterThisTest(() => socket.destroy());
  socket.write(upgradeRequest(port));
  await once(socket, "readable");
  return socket.resume();
}

describe("the server in Node of docs/websocket-server.md", function () {
  this.timeout(60_000);

  it("serves the client of the page, which prints the output in the page", async () => {
    const files = programs.blocks.filter(({ language }) => language === "js").map(({ file }) => file);
    assert.lengthOf(programs.page.match(/^```js/gm), files.length, "each program must name a file");
    assert.deepEqual(files, ["server.mjs", "client.mjs"]);
    const server = await startServer();
    const { child, output } = programs.start("client.mjs");
    const [code] = await once(child, "close");
    assert.deepEqual([code, output.err, output.out], [0, "", programs.outputOf("client.mjs")]);
    assert.deepEqual([server.output.out, server.output.err], ["", ""]);
  });

  it("is valid TypeScript with the option strict", async () => {
    await programs.write();
    const folder = fileURLToPath(new URL("../../target/websocket-server-docs/", import.meta.url));
    copyFileSync(`${folder}server.mjs`, `${folder}server.mts`);
    const tsc = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));
    const options = "--noEmit --strict --skipLibCheck --module nodenext --target es2022 --types node server.mts";
    const child = spawn(process.execPath, [tsc, ...options.split(" ")], { cwd: folder });
    let output = "";
    child.stdout.on("data", (text) => (output += text));
    const [code] = await once(child, "close");
    assert.deepEqual([code, output], [0, ""]);
  });

  it("stops cleanly after SIGTERM: closes its connections with 4503, and exits", async () => {
    const { port, child, output } = await startServer();
    const { socket, received } = await open(port);
    socket.send(ADD);
    await until(() => received.length > 0);
    child.kill("SIGTERM");
    const [[closeCode], [exitCode]] = await Promise.all([once(socket, "close"), once(child, "exit")]);
    assert.deepEqual([closeCode, exitCode, output.err], [4503, 0, ""]);
  });

  it("admits programs and listed origins, and refuses other origins and hosts with 403", async () => {
    const { port } = await startServer();
    const admitted = [
      {},
      { origin: `http://127.0.0.1:${port}` },
      { origin: "https://app.example.org" },
      { headers: { Host: `localhost:${port}` } },
      { headers: { Host: `localhost:${port}` }, origin: `http://localhost:${port}` },
    ];
    for (const options of admitted) {
      const { socket, received } = await open(port, options);
      socket.send(ADD);
      await until(() => received.length > 0);
      assert.deepEqual(received, [SUM]);
    }
    const refused = [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: "https://app.example.org.evil.example" },
      { headers: { Host: `evil.example:${port}` } },
      { headers: { Host: "127.0.0.1" } },
    ];
    for (const options of refused) assert.equal(await refusal(port, options), 403, JSON.stringify(options));
  });

  it("answers a text that is not JSON, or not a message, and serves the next message", async () => {
    const { port, child, output } = await startServer();
    const { socket, received } = await open(port);
    for (const text of ["{nope", "", "[", "17", "[]", '{"jsonrpc":"2.0","method":1,"id":2}', ADD]) socket.send(text);
    await until(() => received.length === 7);
    const codes = received.map(({ error }) => error?.code);
    assert.deepEqual(codes, [-32700, -32700, -32700, -32600, -32600, -32600, undefined]);
    assert.deepEqual(received.at(-1), SUM);
    assert.isNull(child.exitCode);
    assert.equal(output.err, "");
  });

  for (const [name, code, send] of [
    ["text that is not UTF-8", 1007, (socket) => socket._socket.write("\x81\x81\0\0\0\0\xff", "latin1")],
    ["a frame that is not masked", 1002, (socket) => socket._socket.write("\x81\x02{}", "latin1")],
    ["a message over maxPayload", 1009, (socket) => socket.send("x".repeat(10 * 1024 * 1024 + 1))],
  ])
    it(`closes the connection with ${code} after ${name}, and serves further connections`, async () => {
      const { port, child } = await startServer();
      const neighbour = await open(port);
      const { socket } = await open(port);
      // The server may end the connection while the message is sent.
      socket.on("error", () => {});
      send(socket);
      const [closeCode] = await once(socket, "close");
      assert.equal(closeCode, code);
      neighbour.socket.send(ADD);
      await until(() => neighbour.received.length > 0);
      assert.deepEqual(neighbour.received, [SUM]);
      assert.isNull(child.exitCode);
    });

  it("serves further connections after a packet that contains a request for a connection and an invalid frame", async () => {
    const { port, child, output } = await startServer();
    const socket = connect(port, "127.0.0.1");
    afterThisTest(() => socket.destroy());
    // The frame has no mask.
    socket.write(Buffer.concat([Buffer.from(upgradeRequest(port)), Buffer.from([0x81, 2, 0x7b, 0x7d])]));
    socket.resume();
    await once(socket, "close");
    const { socket: next, received } = await open(port);
    next.send(ADD);
    await until(() => received.length === 1);
    assert.deepEqual(received, [SUM]);
    assert.isNull(child.exitCode, output.err);
  });

  it("answers a request that arrives in the same packet as the request for the connection", async () => {
    const { port } = await startServer();
    const socket = connect(port, "127.0.0.1");
    afterThisTest(() => socket.destroy());
    const text = Buffer.from(ADD);
    // The mask consists of zeros, so it does not change the text.
    const frame = Buffer.concat([Buffer.from([0x81, 0x80 + text.length, 0, 0, 0, 0]), text]);
    socket.write(Buffer.concat([Buffer.from(upgradeRequest(port)), frame]));
    let response = "";
    socket.on("data", (data) => (response += data.toString("latin1")));
    await until(() => response.includes(JSON.stringify(SUM)), "the request was not answered");
  });

  it("ends its pending calls, and aborts its handlers, when the client disconnects", async () => {
    const methods = 'peer.method("add"';
    const { port, output } = await startServer((text) =>
      text.replace(
        methods,
        `peer.request("name", [], { timeout: 0 }).catch(({ reason, data }) => console.log(reason, data.code));
         peer.method("wait", (_, { signal }) => new Promise(() => signal.onabort = () => console.log("aborted")));
         ${methods}`,
      ),
    );
    for (const [disconnect, code] of [
      [(socket) => socket.terminate(), 1006],
      [(socket) => socket.close(4000), 4000],
    ]) {
      output.out = "";
      const { socket, received } = await open(port);
      socket.send(JSON.stringify({ jsonrpc: "2.0", method: "wait", id: 1 }));
      socket.send(ADD.replace('"id":1', '"id":2'));
      await until(() => received.some(({ method }) => method === "name") && received.some(({ id }) => id === 2));
      disconnect(socket);
      await until(() => output.out.split("\n").length > 2);
      assert.sameMembers(output.out.trim().split("\n"), [`peer-gone ${code}`, "aborted"]);
    }
  });

  it("closes a connection with the code that its listener passes to `close`, or with 1000 after `destroy`", async () => {
    const created = "const peer = new JSONRPCPeer(transport);";
    for (const [change, code, reason] of [
      ['transport.close(4401, "no ticket"); return;', 4401, "no ticket"],
      [`${created} peer.destroy();`, 1000, ""],
    ]) {
      const { port } = await startServer((text) => text.replace(created, change));
      const socket = new WebSocket(`ws://127.0.0.1:${port}`);
      const [closeCode, closeReason] = await once(socket, "close");
      assert.deepEqual([closeCode, String(closeReason)], [code, reason]);
    }
  });

  it("carries JSON, as the README states", async () => {
    const { port } = await startServer((text) =>
      text.replace('peer.method("add"', 'peer.method("echo", (value) => value);\n peer.method("add"'),
    );
    const client = new JSONRPCClient(webSocketTransport(`ws://127.0.0.1:${port}`, { WebSocket }));
    afterThisTest(() => client.destroy());
    const values = [new Map([[1, 2]]), new Set([1]), new Date(0), new Uint8Array([1, 2]), NaN];
    const expected = [{}, {}, "1970-01-01T00:00:00.000Z", { 0: 1, 1: 2 }, null];
    assert.deepEqual(await client.request("echo", values), expected);
    assert.instanceOf(await rejection(client.request("echo", [1n])), TypeError);
    const { buffer } = new Uint8Array(1);
    assert.instanceOf(await rejection(client.request("echo", [buffer], { transfer: [buffer] })), TypeError);
    assert.equal(buffer.byteLength, 1);
  });

  it("ends a connection whose client does not answer pings, and keeps a connection whose client answers", async () => {
    const { port } = await startServer((text) => text.replace("30_000", "2_000"));
    const { socket, received } = await open(port);
    let pings = 0;
    socket.on("ping", () => pings++);
    const mute = await openMute(port);
    const start = Date.now();
    await once(mute, "close");
    assert.isAtLeast(Date.now() - start, 1_900);
    await until(() => pings >= 3);
    socket.send(ADD);
    await until(() => received.length > 0);
    assert.deepEqual(received, [SUM]);
  });
});
