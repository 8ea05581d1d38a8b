// Params, results and peers inside the proxies of user interface libraries.

import { assert } from "chai";
import {
  reactive,
  readonly,
  ref,
  shallowReactive,
} from "../../node_modules/@vue/reactivity/dist/reactivity.esm-browser.prod.js";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, portTransport } from "./support/portway.js";
import { channel, scriptedChannel } from "./support/transports.js";
import { connectPair } from "./support/connections.js";
import { rejection } from "./support/outcomes.js";
import { afterThisTest } from "./support/cleanup.js";

const form = () => ({
  name: "Ada",
  tags: ["a", { b: [1] }],
  since: new Date(0),
  bytes: new Uint8Array([1, 2]),
  many: new Map([["k", { v: 1 }]]),
  set: new Set([1]),
});

describe("values that contain a reactive proxy", () => {
  for (const [name, make] of Object.entries({
    reactive: () => reactive(form()),
    readonly: () => readonly(form()),
    "shallow, with a reactive member": () => shallowReactive({ ...form(), name: "Ada", tags: reactive(form().tags) }),
    "reactive, within a plain object": () => ({ ...form(), tags: reactive(form().tags), many: reactive(form().many) }),
  })) {
    it(`arrive as plain data in params, alone and after another call in the same turn: ${name}`, async () => {
      const [near] = await connectPair(undefined, { methods: { echo: (params) => params, ping: () => "pong" } });
      const alone = await near.request("echo", make());
      const [, queued, large] = await Promise.all([
        near.request("ping"),
        near.request("echo", make()),
        near.request("echo", Object.assign(make(), { note: "x".repeat(2_000) })).catch((error) => error),
      ]);
      assert.deepEqual(alone, form());
      assert.deepEqual(queued, form());
      // Object.assign cannot add the member `note` to a read-only proxy.
      if (name !== "readonly") assert.deepEqual(large, { ...form(), note: "x".repeat(2_000) });
    });
  }

  it("arrive as plain data in notifications, results, batches and stream items", async () => {
    const { near, far } = channel();
    const received = [];
    const server = new JSONRPCServer(far)
      .method("echo", (params) => reactive(params))
      .onNotify("note", (params) => void received.push(params));
    server.method("items", async function* () {
      yield reactive({ n: 1 });
      yield reactive([2]);
    });
    const client = new JSONRPCClient(near);
    client.notify("note", reactive({ n: 1 }));
    assert.deepEqual(await client.request("echo", reactive({ a: [1] })), { a: [1] });
    const results = await client.batch([
      { method: "echo", params: reactive([1]) },
      { method: "echo", params: [() => {}] },
      { method: "echo", params: [2] },
    ]);
    assert.deepEqual(
      results.map(({ value, reason }) => value ?? reason.name),
      [[1], "DataCloneError", [2]],
    );
    const items = [];
    for await (const item of client.stream("items")) items.push(item);
    assert.deepEqual([items, received], [[{ n: 1 }, [2]], [{ n: 1 }]]);
    client.destroy();
    server.destroy();
  });

  it("can be sent with a transfer list", async () => {
    const { near, far } = channel();
    const server = new JSONRPCServer(far).method("take", ({ bytes }) => bytes.byteLength);
    const client = new JSONRPCClient(near);
    const bytes = new Uint8Array(100);
    assert.equal(await client.request("take", { bytes, form: reactive({ a: 1 }) }, { transfer: [bytes.buffer] }), 100);
    assert.equal(bytes.byteLength, 0);
    client.destroy();
    server.destroy();
  });

  it("keep cycles, holes and a member with the name __proto__", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const cycle = reactive({ list: [1, , 3], ...JSON.parse('{"__proto__": {"x": 1}}') });
    cycle.self = cycle;
    client.request("a", cycle).catch(() => {});
    const { params } = await remoteEnd.next();
    assert.equal(params.self, params);
    assert.deepEqual(Object.keys(params.list), ["0", "2"]);
    assert.deepEqual([Object.hasOwn(params, "__proto__"), params.x], [true, undefined]);
    client.destroy();
  });

  it("still make the call reject with a DataCloneError if a member cannot be cloned", async () => {
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => port2.close());
    const client = new JSONRPCClient(portTransport(port1));
    assert.equal((await rejection(client.request("a", reactive({ f() {} })))).name, "DataCloneError");
    client.destroy();
  });
});

describe("a peer or server in a reactive object", () => {
  it("works", async () => {
    const { near, far } = channel();
    const state = reactive({ peer: new JSONRPCPeer(near) });
    const serverRef = ref(new JSONRPCServer(far));
    serverRef.value.method("echo", (params) => params);
    assert.deepEqual(await state.peer.request("echo", [1]), [1]);
    assert.deepEqual(await state.peer.remote.echo([2]), [2]);
    state.peer.destroy();
    serverRef.value.destroy();
  });
});

describe("a stream in a reactive object", () => {
  it("works", async () => {
    const { near, far } = channel();
    const server = new JSONRPCServer(far).method("items", async function* () {
      yield* [1, 2];
    });
    const client = new JSONRPCClient(near);
    const state = reactive({ items: client.stream("items") });
    const items = [];
    for await (const item of state.items) items.push(item);
    assert.deepEqual(items, [1, 2]);
    client.destroy();
    server.destroy();
  });
});

describe("the context of a handler in a reactive object", () => {
  it("works", async () => {
    const { near, far } = channel();
    const running = ref([]);
    const server = new JSONRPCServer(far).method("work", async (_, context) => {
      running.value.push({ context });
      const [task] = running.value;
      task.context.progress(1);
      task.context.transfer([]);
      await task.context.yield();
      return [task.context.method, task.context.signal.aborted];
    });
    const client = new JSONRPCClient(near);
    const progress = [];
    const onProgress = (value) => void progress.push(value);
    assert.deepEqual(await client.request("work", undefined, { onProgress }), ["work", false]);
    assert.deepEqual(progress, [1]);
    client.destroy();
    server.destroy();
  });
});
