// Tests Portway with other published JSON-RPC 2.0 libraries over a port. Each library is once the client and once the
// server. This file runs in the page. `check` returns the fault of each test, or `null`, by the name of the test.

import { assert } from "chai";
import * as jsonrpc from "json-rpc-2.0";
import init, { JSONRPCClient, JSONRPCPeer, JSONRPCServer, RPCError, connect, portTransport } from "portway";
import * as vscode from "vscode-jsonrpc/browser";
import * as jsonrpcEnds from "../comparison/libraries/json-rpc-2.0.mjs";

await init();

const vscodeConnection = (port, options) => {
  const reader = new vscode.BrowserMessageReader(port);
  return vscode.createMessageConnection(reader, new vscode.BrowserMessageWriter(port), undefined, options);
};

function ends() {
  const { port1, port2 } = new MessageChannel();
  return { ourTransport: portTransport(port1), theirPort: port2 };
}

/** Returns our client, and a connection of vscode-jsonrpc as its peer. */
function ourClient(options) {
  const { ourTransport, theirPort } = ends();
  return {
    client: new JSONRPCClient(ourTransport, { timeout: 5_000 }),
    connection: vscodeConnection(theirPort, options),
  };
}

/** Returns our server, and a connection of vscode-jsonrpc as its peer. */
function ourServer() {
  const { ourTransport, theirPort } = ends();
  const connection = vscodeConnection(theirPort);
  connection.listen();
  return { server: new JSONRPCServer(ourTransport), connection };
}

async function rejection(promise) {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error) => ({ error }),
  );
  assert.property(
    outcome,
    "error",
    `the promise must be rejected, but is fulfilled with ${JSON.stringify(outcome.value)}`,
  );
  return outcome.error;
}

function deferred() {
  const result = {};
  result.promise = new Promise((resolve) => (result.resolve = resolve));
  return result;
}

const progress = new vscode.ProgressType();

const tests = {
  async "vscode-jsonrpc's server answers our client's requests: params by name, params by position, and no params"() {
    const { client, connection } = ourClient();
    connection.onRequest("build", ({ entry }) => ({ output: `${entry}.js` }));
    connection.onRequest("add", (a, b) => a + b);
    connection.onRequest("refresh", () => undefined);
    connection.listen();
    assert.deepEqual(await client.request("build", { entry: "app" }), { output: "app.js" });
    assert.equal(await client.request("add", [1, 2]), 3);
    assert.isNull(await client.request("refresh"));
  },

  async "our client receives the code, message and data of vscode-jsonrpc's errors, also for unknown methods"() {
    const { client, connection } = ourClient();
    connection.onRequest("fail", () => new vscode.ResponseError(-32001, "no such file", { line: 3 }));
    connection.listen();
    const failed = await rejection(client.request("fail", {}));
    assert.instanceOf(failed, RPCError);
    assert.deepEqual([failed.code, failed.message, failed.data], [-32001, "no such file", { line: 3 }]);
    assert.equal((await rejection(client.request("missing", {}))).code, -32601);
  },

  async "vscode-jsonrpc's server receives notifications of our client in order"() {
    const { client, connection } = ourClient();
    const received = [];
    connection.onNotification("console", ({ n }) => void received.push(n));
    connection.onRequest("flush", () => received);
    connection.listen();
    for (let n = 0; n < 5; n++) client.notify("console", { n });
    assert.deepEqual(await client.request("flush", {}), [0, 1, 2, 3, 4]);
  },

  async "an aborted call of our client rejects at once, and cancels the token of vscode-jsonrpc's handler"() {
    const { client, connection } = ourClient();
    const [started, cancelled] = [deferred(), deferred()];
    connection.onRequest("build", (_, token) => {
      started.resolve();
      return new Promise((resolve) => token.onCancellationRequested(() => resolve(cancelled.resolve("cancelled"))));
    });
    connection.listen();
    const controller = new AbortController();
    const call = rejection(client.request("build", {}, { signal: controller.signal }));
    await started.promise;
    controller.abort();
    assert.equal((await call).name, "AbortError");
    assert.equal(await cancelled.promise, "cancelled");
  },

  async "our client receives progress of vscode-jsonrpc's server under the id of the request"() {
    let id;
    const messageStrategy = {
      handleMessage(message, next) {
        if (message.method === "build") id = message.id;
        return next(message);
      },
    };
    const { client, connection } = ourClient({ messageStrategy });
    connection.onRequest("build", async () => {
      await connection.sendProgress(progress, id, 1);
      await connection.sendProgress(progress, id, 2);
      return "done";
    });
    connection.listen();
    const seen = [];
    assert.equal(await client.request("build", {}, { onProgress: (value) => void seen.push(value) }), "done");
    assert.deepEqual(seen, [1, 2]);
  },

  async "our server answers vscode-jsonrpc's requests: params by name, params by position, and no params"() {
    const { server, connection } = ourServer();
    server.method("build", ({ entry }) => ({ output: `${entry}.js` }));
    server.method("add", ([a, b]) => a + b);
    server.method("refresh", (params) => params === undefined);
    assert.deepEqual(await connection.sendRequest("build", { entry: "app" }), { output: "app.js" });
    assert.equal(await connection.sendRequest("add", 1, 2), 3);
    assert.isTrue(await connection.sendRequest("refresh"));
  },

  async "vscode-jsonrpc's client receives the code, message and data of our errors, also for unknown methods"() {
    const { server, connection } = ourServer();
    server.method("fail", () => {
      throw new RPCError(-32001, "no such file", { line: 3 });
    });
    const failed = await rejection(connection.sendRequest("fail", {}));
    assert.instanceOf(failed, vscode.ResponseError);
    assert.deepEqual([failed.code, failed.message, failed.data], [-32001, "no such file", { line: 3 }]);
    assert.equal((await rejection(connection.sendRequest("missing", {}))).code, vscode.ErrorCodes.MethodNotFound);
  },

  async "our server receives notifications of vscode-jsonrpc's client in order"() {
    const { server, connection } = ourServer();
    const received = [];
    server.onNotify("console", ({ n }) => void received.push(n));
    server.method("flush", () => received);
    for (let n = 0; n < 5; n++) connection.sendNotification("console", { n });
    assert.deepEqual(await connection.sendRequest("flush", {}), [0, 1, 2, 3, 4]);
  },

  async "a cancelled token of vscode-jsonrpc's client aborts the signal of our handler, and ends the call"() {
    const { server, connection } = ourServer();
    const [started, aborted] = [deferred(), deferred()];
    server.method("build", (_, { signal }) => {
      started.resolve();
      signal.addEventListener("abort", () => aborted.resolve("aborted"));
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    });
    const source = new vscode.CancellationTokenSource();
    const call = rejection(connection.sendRequest("build", {}, source.token));
    await started.promise;
    source.cancel();
    assert.equal(await aborted.promise, "aborted");
    assert.equal((await call).code, -32800);
  },

  async "vscode-jsonrpc's client receives progress under the id of the request, and under a token in the params"() {
    const { server, connection } = ourServer();
    server.method("build", (params, context) => {
      context.progress(1);
      context.notify("$/progress", { token: params.token, value: 2 });
      return "done";
    });
    const seen = [];
    // The first request of vscode-jsonrpc has the id 0.
    connection.onProgress(progress, 0, (value) => void seen.push(["id", value]));
    connection.onProgress(progress, "t", (value) => void seen.push(["token", value]));
    assert.equal(await connection.sendRequest("build", { token: "t" }), "done");
    assert.deepEqual(seen, [
      ["id", 1],
      ["token", 2],
    ]);
  },

  async "our peer and vscode-jsonrpc's connection call each other over one port"() {
    const { ourTransport, theirPort } = ends();
    const peer = new JSONRPCPeer(ourTransport, { timeout: 5_000 });
    const connection = vscodeConnection(theirPort);
    peer.method("ask", async ({ n }) => (await peer.request("twice", { n })) + 1);
    connection.onRequest("twice", ({ n }) => 2 * n);
    connection.listen();
    assert.equal(await connection.sendRequest("ask", { n: 4 }), 9);
  },

  async "connect begins a plain session with vscode-jsonrpc, and both peers call each other"() {
    const { port1, port2 } = new MessageChannel();
    const connection = vscodeConnection(port2);
    connection.onRequest("twice", ({ n }) => 2 * n);
    connection.listen();
    const sessions = [];
    const peer = await connect(port1, {
      methods: { half: ({ n }) => n / 2 },
      onSession: (session) => sessions.push(session),
    });
    assert.equal(await peer.request("twice", { n: 4 }), 8);
    assert.equal(await connection.sendRequest("half", { n: 4 }), 2);
    assert.deepEqual(
      sessions.map(({ number, features }) => [number, features]),
      [[1, []]],
    );
  },

  async "connect begins a plain session with json-rpc-2.0, and both peers call each other"() {
    const { port1, port2 } = new MessageChannel();
    const jsonrpcPeer = await jsonrpcEnds.serveAndCall(port2, { twice: ({ n }) => 2 * n });
    const peer = await connect(port1, { methods: { half: ({ n }) => n / 2 } });
    assert.equal(await peer.request("twice", { n: 4 }), 8);
    assert.equal(await jsonrpcPeer.call("half", { n: 4 }), 2);
  },

  async "a session of connect continues after the peer has closed the port over which the session began"() {
    const { port1, port2 } = new MessageChannel();
    connect(port2, { methods: { twice: ({ n }) => 2 * n } });
    const peer = await connect(port1);
    port2.close();
    assert.equal(await peer.request("twice", { n: 4 }), 8);
  },

  async "our client exchanges results, errors, notifications and batches with json-rpc-2.0's server"() {
    const { ourTransport, theirPort } = ends();
    const client = new JSONRPCClient(ourTransport, { timeout: 5_000 });
    const received = [];
    jsonrpcEnds.serve(theirPort, {
      echo: ({ text }) => text,
      console: ({ n }) => void received.push(n),
      flush: () => received,
      fail() {
        throw new jsonrpc.JSONRPCErrorException("no such file", -32001, { line: 3 });
      },
    });
    assert.equal(await client.request("echo", { text: "hi" }), "hi");
    const failed = await rejection(client.request("fail", {}));
    assert.deepEqual([failed.code, failed.message, failed.data], [-32001, "no such file", { line: 3 }]);
    assert.equal((await rejection(client.request("missing", {}))).code, -32601);
    for (let n = 0; n < 3; n++) client.notify("console", { n });
    assert.deepEqual(await client.request("flush", {}), [0, 1, 2]);
    const batch = await client.batch(["a", "b"].map((text) => ({ method: "echo", params: { text } })));
    assert.deepEqual(
      batch.map(({ value }) => value),
      ["a", "b"],
    );
  },

  async "json-rpc-2.0's client exchanges results, errors, notifications and batches with our server"() {
    const { ourTransport, theirPort } = ends();
    const server = new JSONRPCServer(ourTransport);
    const received = [];
    server.method("echo", ({ text }) => text);
    server.method("flush", () => received);
    server.method("fail", () => {
      throw new RPCError(-32001, "no such file", { line: 3 });
    });
    server.onNotify("console", ({ n }) => void received.push(n));
    const client = await jsonrpcEnds.connectCaller(theirPort);
    assert.equal(await client.call("echo", { text: "hi" }), "hi");
    const failed = await rejection(Promise.resolve(client.call("fail", {})));
    assert.deepEqual([failed.code, failed.message, failed.data], [-32001, "no such file", { line: 3 }]);
    for (let n = 0; n < 3; n++) client.notify("console", { n });
    assert.deepEqual(await client.call("flush", {}), [0, 1, 2]);
    const echo = (text) => ({ method: "echo", params: { text } });
    assert.deepEqual(await client.batch([echo("a"), echo("b")]), ["a", "b"]);
  },
};

export async function check() {
  const faults = {};
  for (const [name, test] of Object.entries(tests)) {
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error("a test must end within 10 s")), 10_000));
    faults[name] = await Promise.race([test(), late]).then(
      () => null,
      (error) => `${error}\n${error?.stack}`,
    );
  }
  return faults;
}
