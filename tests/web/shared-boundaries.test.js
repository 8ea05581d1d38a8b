// Several clients and servers on one port, worker or channel. Each has its own transport.

import { assert } from "chai";
import { afterThisTest } from "./support/cleanup.js";
import { pause, rejection, until } from "./support/outcomes.js";
import {
  JSONRPCClient,
  JSONRPCPeer,
  JSONRPCServer,
  broadcastTransport,
  connect,
  freshCopy,
  inNode,
  portTransport,
  wasmBytes,
  workerTransport,
} from "./support/portway.js";
import { describeSharedBoundary } from "./support/shared-boundary.js";
import { RPCError } from "./support/portway.js";
import { serve } from "./fixtures/serve.js";

let channels = 0;
const freshName = () => `shared boundary ${++channels} ${Math.random()}`;

/**
 * Creates the other end of a boundary: a peer in this realm with the methods of `serve`. `ask` and `notify` send its
 * requests and notifications to the clients and servers under test.
 */
function farEnd(transport) {
  const peer = new JSONRPCPeer(transport);
  serve(peer, { RPCError });
  return { ask: (method) => peer.request(method), notify: (method, params) => peer.notify(method, params), far: peer };
}

describe("clients and servers on one port", () => {
  describeSharedBoundary(() => {
    const { port1, port2 } = new MessageChannel();
    const { far, ...rest } = farEnd(portTransport(port2));
    return { ...rest, transport: () => portTransport(port1), close: () => far.destroy() };
  });

  it("keep messages for a later server after another server was destroyed", async () => {
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => port2.close());
    const answers = [];
    port2.onmessage = ({ data }) => answers.push(data);
    const laterTransport = portTransport(port1);
    new JSONRPCServer(portTransport(port1)).destroy();
    for (const id of [1, 2]) port2.postMessage({ jsonrpc: "2.0", id, method: "hi" });
    await pause(50);
    const next = new JSONRPCServer(laterTransport);
    next.method("hi", () => "there");
    await until(() => answers.length === 2);
    assert.deepEqual(
      answers,
      [1, 2].map((id) => ({ jsonrpc: "2.0", id, result: "there" })),
    );
    next.destroy();
  });

  it("share one sequence of ids: 1, 2, 3 in the order of the calls", async () => {
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => port2.close());
    const ids = [];
    port2.onmessage = ({ data }) => ids.push(data.id);
    const clients = [0, 1].map(() => new JSONRPCClient(portTransport(port1)));
    for (let n = 0; n < 6; n++) clients[n % 2].request("a").catch(() => {});
    await until(() => ids.length === 6);
    assert.deepEqual(ids, [1, 2, 3, 4, 5, 6]);
    clients.forEach((client) => client.destroy());
  });

  it("keep the port open until the last client or server is destroyed", async () => {
    const { port1, port2 } = new MessageChannel();
    farEnd(portTransport(port2));
    const [first, second] = [0, 1].map(() => new JSONRPCClient(portTransport(port1)));
    first.destroy();
    assert.equal(await second.request("later", [0, "open"]), "open");
    second.destroy();
  });

  it("each receive every notification, also after one of them is destroyed", async () => {
    const { port1, port2 } = new MessageChannel();
    const early = portTransport(port1);
    early.onMessage(() => {});
    const received = [];
    early.onMessage((message) => received.push(message.method));
    const server = new JSONRPCServer(portTransport(port1)).onNotify("note", () => received.push("server"));
    port2.postMessage({ jsonrpc: "2.0", method: "note" });
    await until(() => received.length === 2);
    assert.sameMembers(received, ["note", "server"]);
    server.destroy();
    port2.postMessage({ jsonrpc: "2.0", method: "later" });
    await until(() => received.length === 3);
    early.destroy();
  });

  for (const [how, wrapped] of [
    ["spreads", (inner, onMessage) => ({ ...inner, onMessage })],
    ["inherits from", (inner, onMessage) => Object.assign(Object.create(inner), { onMessage })],
    [
      "is a proxy of",
      (inner, onMessage) => new Proxy(inner, { get: (_, key) => (key === "onMessage" ? onMessage : inner[key]) }),
    ],
  ]) {
    it(`do not bypass a wrapper that ${how} a transport`, async () => {
      const { port1, port2 } = new MessageChannel();
      const inner = portTransport(port1);
      const outer = wrapped(inner, (handler) =>
        inner.onMessage((message) => message.method !== "secret" && handler(message)),
      );
      const server = new JSONRPCServer(outer).method("secret", () => "secret").method("open", () => "open");
      const { ask, far } = farEnd(portTransport(port2));
      const secret = far.request("secret", [], { timeout: 100 }).catch(({ reason }) => reason);
      assert.equal(await ask("open"), "open");
      assert.equal(await secret, "timeout");
      server.destroy();
      far.destroy();
    });
  }

  it("leave the requests of a session on the same port to the session", async () => {
    const { port1, port2 } = new MessageChannel();
    const plain = new JSONRPCServer(portTransport(port1)).method("both", () => "plain");
    const options = { methods: { both: () => "session", own: () => "own" } };
    const [here, there] = await Promise.all([connect(port1, options), connect(port2)]);
    assert.equal(await there.request("own"), "own");
    assert.equal(await there.request("both"), "session");
    assert.equal((await rejection(there.request("neither"))).code, -32601);
    for (const peer of [here, there, plain]) peer.destroy();
  });

  it("each get their own context for a notification", async () => {
    const { port1, port2 } = new MessageChannel();
    const { notify, far } = farEnd(portTransport(port2));
    const arrived = [];
    far.onNotify("from", ([n]) => arrived.push(n));
    const contexts = [];
    const servers = [0, 1].map((n) =>
      new JSONRPCServer(portTransport(port1)).onNotify("note", (_, context) => void (contexts[n] = context)),
    );
    notify("note", []);
    await until(() => contexts[0] !== undefined && contexts[1] !== undefined);
    servers[0].destroy();
    contexts.forEach((context, n) => context.notify("from", [n]));
    await until(() => arrived.length > 0);
    assert.deepEqual(arrived, [1]);
    servers[1].destroy();
    far.destroy();
  });

  it("of two copies of the library do not receive each other's responses", async () => {
    const copy = await freshCopy();
    await copy.default(await wasmBytes());
    const { port1, port2 } = new MessageChannel();
    const { ask, far } = farEnd(portTransport(port2));
    const here = new JSONRPCPeer(portTransport(port1)).method("here", () => "here");
    const there = new copy.JSONRPCPeer(copy.portTransport(port1)).method("there", () => "there");
    const answers = await Promise.all([here.request("later", [20, "a"]), there.request("later", [0, "b"])]);
    assert.deepEqual(answers, ["a", "b"]);
    assert.deepEqual(await Promise.all([ask("here"), ask("there")]), ["here", "there"]);
    here.destroy();
    there.destroy();
    far.destroy();
  });
});

describe("clients and servers on one worker", () => {
  describeSharedBoundary(async () => {
    const worker = await startWorker();
    const caller = new JSONRPCClient(workerTransport(worker));
    return {
      transport: () => workerTransport(worker),
      ask: (method) => caller.request("ask", [method]),
      notify: (method, params) => caller.notify("notifyBack", params),
      close() {
        caller.destroy();
        worker.terminate();
      },
    };
  });
});

describe("clients and servers on channels with the same name", () => {
  describeSharedBoundary(() => {
    const name = freshName();
    const { far, ...rest } = farEnd(broadcastTransport(name));
    return { ...rest, transport: () => broadcastTransport(name), close: () => far.destroy() };
  });

  it("start their ids at random numbers, because clients in several realms can use one channel", async () => {
    const name = freshName();
    const channel = new BroadcastChannel(name);
    afterThisTest(() => channel.close());
    const ids = [];
    channel.onmessage = ({ data }) => ids.push(data.id);
    const clients = [0, 1].map(() => new JSONRPCClient(broadcastTransport(name)));
    for (const client of clients) for (let n = 0; n < 2; n++) client.request("a").catch(() => {});
    await until(() => ids.length === 4);
    const [a, b, c, d] = ids;
    assert.deepEqual([b - a, d - c], [1, 1]);
    assert.isAbove(Math.min(a, c), 1_000_000);
    assert.isTrue(ids.every(Number.isSafeInteger));
    assert.isAbove(Math.abs(a - c), 1_000);
    clients.forEach((client) => client.destroy());
  });

  it("respond in place of a server whose transport was destroyed", async () => {
    const name = freshName();
    const destroyedTransport = broadcastTransport(name);
    const first = new JSONRPCServer(destroyedTransport).method("a", () => "first");
    const second = new JSONRPCServer(broadcastTransport(name)).method("a", () => "second");
    const { ask, far } = farEnd(broadcastTransport(name));
    destroyedTransport.destroy();
    assert.equal(await ask("a"), "second");
    for (const end of [first, second, far]) end.destroy();
  });
});

describe("clients and servers on one BroadcastChannel object", () => {
  describeSharedBoundary(() => {
    const name = freshName();
    const channel = new BroadcastChannel(name);
    const { far, ...rest } = farEnd(broadcastTransport(name));
    return {
      ...rest,
      transport: () => broadcastTransport(channel),
      close() {
        far.destroy();
        channel.close();
      },
    };
  });
});

async function startWorker() {
  if (inNode) {
    const { Worker } = await import("node:worker_threads");
    return new Worker(new URL("fixtures/node-worker.mjs", import.meta.url));
  }
  const { readyWorker } = await import("./support/workers.js");
  return readyWorker("worker.js");
}
