// Tests the dialect `mcp` with the official client and server of MCP, over a `MessageChannel`: `node
// tests/peers/mcp/sdk.mjs`. PORTWAY_PEERS names the folder in which the packages of tests/peers/package.json are
// installed.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import init, { JSONRPCPeer, RPCError, portTransport } from "../../../pkg/node.js";
import { Suite } from "../../packaging/suite.mjs";

const { PORTWAY_PEERS } = process.env;
if (!PORTWAY_PEERS) throw new Error("PORTWAY_PEERS must name the folder of the packages; run `cargo xtask test`");
const require = createRequire(join(PORTWAY_PEERS, "package.json"));
const { Client } = require("@modelcontextprotocol/client");
const { Server } = require("@modelcontextprotocol/server");

await init();
const suite = new Suite({ limitMs: 30_000 });

/** The transport of the official packages over a port. */
class PortTransport {
  #port;

  constructor(port) {
    this.#port = port;
  }

  async start() {
    this.#port.on("message", (message) => this.onmessage?.(message));
  }

  async send(message) {
    this.#port.postMessage(message);
  }

  async close() {
    this.#port.close();
    this.onclose?.();
  }
}

/** The errors that either side has reported. Each test must leave the array empty. */
const errors = [];

/** Returns a peer in the dialect, and the transport of the official peer. */
function connectedPair() {
  const { port1, port2 } = new MessageChannel();
  const peer = new JSONRPCPeer(portTransport(port1), { dialect: "mcp", onError: (error) => errors.push(error) });
  return { peer, transport: new PortTransport(port2) };
}

async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Returns the error with which a promise rejects. */
const rejection = (promise) =>
  promise.then(
    () => assert.fail("the promise must reject"),
    (error) => error,
  );

/** Returns a promise that rejects when the signal is aborted. */
const untilAborted = (signal) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

const textResult = (text) => ({ content: [{ type: "text", text }] });

// The official client, and a server in the dialect.

const { peer: server, transport: clientTransport } = connectedPair();
const client = new Client({ name: "client", version: "1.0.0" }, { capabilities: { roots: {}, sampling: {} } });
client.onerror = (error) => errors.push(error);
let initialized = false;
const serverSignals = [];
server
  .method("initialize", ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, logging: {} },
    serverInfo: { name: "server", version: "1.0.0" },
  }))
  .onNotify("notifications/initialized", () => (initialized = true))
  .method("logging/setLevel", () => {})
  .method("tools/list", () => ({
    tools: ["sum", "slow", "steps", "fail"].map((name) => ({ name, inputSchema: { type: "object" } })),
  }))
  .method("tools/call", ({ name, arguments: values }, { signal, progress }) => {
    if (name === "sum") return textResult(String(values.a + values.b));
    if (name === "fail") throw new RPCError(-32004, "no such thing", { name });
    if (name === "slow") {
      serverSignals.push(signal);
      return untilAborted(signal);
    }
    progress(1);
    progress({ progress: 2, total: 2, message: "done" });
    return textResult("done");
  });

/** Sends a request and waits for its response, so that all earlier messages of both sides have arrived. */
async function assertNoErrors() {
  await client.ping();
  await server.request("ping");
  assert.deepEqual(errors.splice(0), []);
}

await suite.test("the official client connects, lists the tools and calls one", async () => {
  await client.connect(clientTransport);
  await until(() => initialized);
  assert.equal((await client.listTools()).tools.length, 4);
  assert.equal((await client.callTool({ name: "sum", arguments: { a: 2, b: 3 } })).content[0].text, "5");
  await assertNoErrors();
});

await suite.test("the official client accepts the results of handlers that return nothing", async () => {
  assert.deepEqual(await client.setLoggingLevel("debug"), {});
  assert.deepEqual(await server.request("ping"), {});
  await assertNoErrors();
});

await suite.test("the official client receives the code and the data of an error", async () => {
  const error = await rejection(client.callTool({ name: "fail" }));
  assert.equal(error.code, -32004);
  assert.deepEqual(error.data, { name: "fail" });
  await assertNoErrors();
});

await suite.test("an abort and a timeout of the official client abort the signal of the handler", async () => {
  const controller = new AbortController();
  const aborted = rejection(client.callTool({ name: "slow" }, { signal: controller.signal }));
  await until(() => serverSignals.length === 1);
  controller.abort("no longer needed");
  await aborted;
  await until(() => serverSignals[0].aborted);
  assert.match(serverSignals[0].reason.message, /no longer needed/);
  const timedOut = rejection(client.callTool({ name: "slow" }, { timeout: 50 }));
  await timedOut;
  await until(() => serverSignals[1]?.aborted);
  assert.equal(serverSignals[1].reason.name, "AbortError");
  await assertNoErrors();
});

await suite.test("the official client receives progress", async () => {
  const seen = [];
  await client.callTool({ name: "steps" }, { onprogress: (progress) => seen.push(progress) });
  assert.deepEqual(seen, [{ progress: 1 }, { progress: 2, total: 2, message: "done" }]);
  await client.callTool({ name: "steps" });
  await assertNoErrors();
});

await suite.test(
  "an abort and a timeout in the dialect abort the signal of the official client's handler",
  async () => {
    const signals = [];
    client.setRequestHandler("roots/list", (_, context) => {
      signals.push(context.mcpReq.signal);
      return untilAborted(context.mcpReq.signal);
    });
    const controller = new AbortController();
    const aborted = rejection(server.request("roots/list", undefined, { signal: controller.signal }));
    await until(() => signals.length === 1);
    controller.abort(new Error("the server stops"));
    assert.equal((await aborted).message, "the server stops");
    await until(() => signals[0].aborted);
    assert.match(String(signals[0].reason), /the server stops/);
    assert.equal((await rejection(server.request("roots/list", undefined, { timeout: 50 }))).reason, "timeout");
    await until(() => signals[1]?.aborted);
    await assertNoErrors();
  },
);
await client.close();
server.destroy();

// The official server, and a client in the dialect.

const { peer: host, transport: serverTransport } = connectedPair();
const official = new Server({ name: "server", version: "1.0.0" }, { capabilities: { tools: {} } });
official.onerror = (error) => errors.push(error);
const officialSignals = [];
official.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
  if (params.name === "slow") {
    officialSignals.push(mcpReq.signal);
    return untilAborted(mcpReq.signal);
  }
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken !== undefined)
    for (const progress of [1, 2])
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 2 } });
  return textResult(params.name);
});

async function assertNoErrorsOfServer() {
  await official.ping();
  await host.request("ping");
  assert.deepEqual(errors.splice(0), []);
}

await suite.test("the official server accepts the handshake and a call", async () => {
  await official.connect(serverTransport);
  const clientInfo = { name: "host", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: { roots: {} }, clientInfo };
  assert.equal((await host.request("initialize", params)).serverInfo.name, "server");
  host.notify("notifications/initialized");
  assert.equal((await host.request("tools/call", { name: "a" })).content[0].text, "a");
  await assertNoErrorsOfServer();
});

await suite.test("the official server sends progress, only if the call has onProgress", async () => {
  const [seen, others] = [[], []];
  host.onNotify("notifications/progress", (params) => others.push(params));
  await host.request("tools/call", { name: "a" }, { onProgress: (value) => seen.push(value) });
  await host.request("tools/call", { name: "a" });
  assert.deepEqual(
    [seen, others],
    [
      [
        { progress: 1, total: 2 },
        { progress: 2, total: 2 },
      ],
      [],
    ],
  );
  await assertNoErrorsOfServer();
});

await suite.test(
  "an abort and a timeout in the dialect abort the signal of the official server's handler",
  async () => {
    const controller = new AbortController();
    const call = rejection(host.request("tools/call", { name: "slow" }, { signal: controller.signal }));
    await until(() => officialSignals.length === 1);
    controller.abort(new Error("the host stops"));
    assert.equal((await call).message, "the host stops");
    await until(() => officialSignals[0].aborted);
    assert.match(String(officialSignals[0].reason), /the host stops/);
    assert.equal((await rejection(host.request("tools/call", { name: "slow" }, { timeout: 50 }))).reason, "timeout");
    await until(() => officialSignals[1]?.aborted);
    await assertNoErrorsOfServer();
  },
);
await official.close();
host.destroy();

process.exit(suite.finish() ? 0 : 1);
