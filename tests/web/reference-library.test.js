// The examples of the original protocol document, whose authors wrote them for their own library. They must also work
// with this library.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer, RPCError, portTransport, wiggum } from "./support/portway.js";
import { channel, scriptedChannel } from "./support/transports.js";
import { deferred, rejection, until } from "./support/outcomes.js";

describe("the messages of the protocol:", () => {
  it("a request gets a success response with its id", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method("fetch", ({ url }) => ({ status: 200, body: `contents of ${url}` }));
    remoteEnd.post({ jsonrpc: "2.0", method: "fetch", params: { url: "/dist/app.js" }, id: 1 });
    const result = { status: 200, body: "contents of /dist/app.js" };
    assert.deepEqual(await remoteEnd.next(), { jsonrpc: "2.0", result, id: 1 });
  });

  it("an error response has data for the caller", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const call = new JSONRPCClient(transport).request("nonexistent");
    const error = { code: -32601, message: "Method not found", data: { method: "nonexistent" } };
    remoteEnd.post({ jsonrpc: "2.0", error, id: 1 });
    const { name, code, message, data } = await rejection(call);
    assert.deepEqual({ name, code, message, data }, { name: "RPCError", ...error });
  });

  it("a notification runs its handler and gets no response", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const server = new JSONRPCServer(transport);
    const lines = [];
    server.onNotify("console", (params) => void lines.push(params));
    remoteEnd.post({ jsonrpc: "2.0", method: "console", params: { level: "error", message: "Uncaught TypeError..." } });
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    assert.deepEqual(lines, [{ level: "error", message: "Uncaught TypeError..." }]);
  });
});

describe("an agent and its harness", () => {
  it("exchange requests and notifications over one port", async () => {
    const { port1, port2 } = channel();
    const harness = portTransport(port1);
    const agent = portTransport(port2);
    const server = new JSONRPCServer(harness);
    const log = [];
    server.method("requestPermission", async ({ action }) => {
      if (action === "delete") throw new RPCError(wiggum.PERMISSION_DENIED, "Permission denied", { action });
      return { granted: true };
    });
    server.method("askUser", ({ question }) => ({ answer: `yes to: ${question}` }));
    server.onNotify("iterationStart", ({ iteration }) => void log.push(`iteration ${iteration}`));
    server.onNotify("progress", ({ message }) => void log.push(message));
    server.onNotify("gateResult", ({ gate, result }) => void log.push(`${gate}: ${result.pass}`));

    const client = new JSONRPCClient(agent);
    client.notify("iterationStart", { iteration: 1 });
    assert.deepEqual(await client.request("requestPermission", { action: "write" }), { granted: true });
    client.notify("progress", { message: "writing" });
    assert.deepEqual(await client.request("askUser", { question: "go on?" }), { answer: "yes to: go on?" });
    const denied = await rejection(client.request("requestPermission", { action: "delete" }));
    client.notify("gateResult", { gate: "lint", result: { pass: true } });
    await until(() => log.length === 3);
    assert.deepEqual([denied.code, denied.data], [-32003, { action: "delete" }]);
    assert.deepEqual(log, ["iteration 1", "writing", "lint: true"]);
  });
});

describe("a coordinator and its agent", () => {
  it("exchange tasks, cancellations and progress with a client and a server on each transport", async () => {
    const { near, far } = channel();
    const log = [];
    const coordinator = new JSONRPCClient(near);
    const coordinatorServer = new JSONRPCServer(near);
    coordinatorServer.onNotify("progress", ({ percent }) => void log.push(percent));
    coordinatorServer.onNotify("complete", ({ iterations }) => void log.push(`done after ${iterations}`));

    const tasks = new Map();
    const agent = new JSONRPCServer(far);
    const agentClient = new JSONRPCClient(far);
    agent.method("sendTask", async ({ id }) => {
      const task = deferred();
      tasks.set(id, task);
      agentClient.notify("progress", { percent: 50 });
      await task.promise;
      agentClient.notify("complete", { iterations: 3 });
      return { id };
    });
    agent.method("cancelTask", ({ id }) => {
      tasks.get(id).reject(new RPCError(wiggum.TASK_CANCELLED, "Task was cancelled"));
      return { cancelled: id };
    });

    const first = coordinator.request("sendTask", { id: "a" });
    const second = coordinator.request("sendTask", { id: "b" });
    await until(() => tasks.size === 2);
    assert.deepEqual(await coordinator.request("cancelTask", { id: "a" }), { cancelled: "a" });
    assert.equal((await rejection(first)).code, -32004);
    tasks.get("b").resolve();
    assert.deepEqual(await second, { id: "b" });
    assert.deepEqual(log, [50, 50, "done after 3"]);
  });
});

describe("the acceptance test of the original protocol document:", () => {
  it("a client sends a request through a mock window, a handler runs, and the response reaches the call", async () => {
    // As in the reference library, the only parameter of `send` is the message.
    const mock = () => {
      let handler = null;
      const end = {
        peer: undefined,
        transport: {
          send: (msg) => queueMicrotask(() => end.peer.receive(msg)),
          onMessage: (h) => {
            handler = h;
          },
          destroy: () => {
            handler = null;
          },
        },
        receive: (data) => {
          if (data?.jsonrpc !== "2.0") return;
          handler?.(data);
        },
      };
      return end;
    };
    const [page, preview] = [mock(), mock()];
    page.peer = preview;
    preview.peer = page;
    const client = new JSONRPCClient(preview.transport);
    const server = new JSONRPCServer(page.transport);
    server.method("fetch", async (params) => {
      if (params.url === "/missing") return { status: 404, headers: {}, body: "" };
      return { status: 200, headers: { "Content-Type": "text/html" }, body: btoa("<h1>hi</h1>") };
    });
    const [found, missing] = await Promise.all([
      client.request("fetch", { url: "/", method: "GET" }),
      client.request("fetch", { url: "/missing", method: "GET" }),
    ]);
    assert.deepEqual([found.status, atob(found.body), missing.status], [200, "<h1>hi</h1>", 404]);
    client.destroy();
    server.destroy();
  });
});
