// Items of streams that are ready in one turn are sent together if both peers support lists.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer } from "./support/portway.js";
import { stopClock } from "./support/clock.js";
import { connectPair } from "./support/connections.js";
import { loopback, scriptedChannel } from "./support/transports.js";

async function collect(stream) {
  const items = [];
  for await (const item of stream) items.push(item);
  return items;
}

const numbers = {
  "a generator": function* ({ count }) {
    for (let n = 0; n < count; n++) yield n;
  },
  "an async generator": async function* ({ count }) {
    for (let n = 0; n < count; n++) yield n;
  },
  "a ReadableStream": ({ count }) => {
    let n = 0;
    return new ReadableStream({ pull: (controller) => (n < count ? controller.enqueue(n++) : controller.close()) });
  },
};

describe("items that are ready in one turn", () => {
  beforeEach(stopClock);

  for (const [kind, numbersOf] of Object.entries(numbers)) {
    it(`are sent together, in their order: items of ${kind}`, async () => {
      const { near, far } = loopback();
      new JSONRPCServer(far, { coalesce: true }).method("numbers", numbersOf);
      const client = new JSONRPCClient(near, { coalesce: true });
      const items = await collect(client.stream("numbers", { count: 100 }, { window: 64 }));
      assert.deepEqual(
        items,
        Array.from({ length: 100 }, (_, n) => n),
      );
      assert.isBelow(far.sent.length, 30);
    });
  }

  it("are copied when the handler yields them, even if the handler yields one object repeatedly", async () => {
    const [near, far] = await connectPair();
    far.method("same", function* () {
      const item = { n: 0, list: [0] };
      for (; item.n < 10; item.n++, item.list[0]++) yield item;
    });
    const wanted = Array.from({ length: 10 }, (_, n) => ({ n, list: [n] }));
    assert.deepEqual(await collect(near.stream("same")), wanted);
  });

  it("are copied when the handler yields them, even if only their transferred members differ", async () => {
    const [near, far] = await connectPair();
    far.method("same", function* (_, context) {
      const item = { n: 0, buffer: undefined };
      for (; item.n < 10; item.n++) {
        item.buffer = new ArrayBuffer(item.n);
        context.transfer([item.buffer]);
        yield item;
      }
    });
    const items = await collect(near.stream("same"));
    assert.deepEqual(
      items.map(({ n, buffer }) => [n, buffer.byteLength]),
      Array.from({ length: 10 }, (_, n) => [n, n]),
    );
  });

  it("are sent with their transfer lists: buffers, views and ports", async () => {
    const [near, far] = await connectPair();
    const views = [];
    far.method("moved", function* (_, context) {
      for (let n = 0; n < 10; n++) {
        const { port1, port2 } = new MessageChannel();
        const view = new Uint8Array(4).fill(n);
        views.push(view);
        port1.postMessage(n);
        port1.close();
        context.transfer([view.buffer, port2]);
        yield { view, port: port2 };
      }
    });
    const items = await collect(near.stream("moved"));
    assert.deepEqual(
      items.map(({ view }) => [...view]),
      Array.from({ length: 10 }, (_, n) => [n, n, n, n]),
    );
    assert.isTrue(views.every(({ byteLength }) => byteLength === 0));
    for (const { port } of items) port.close();
  });

  it("are sent even if a later item cannot be sent; that item ends the stream", async () => {
    for (const bad of [() => {}, new WeakMap()]) {
      const [near, far] = await connectPair();
      let produced = 0;
      let isClosed = false;
      far.method("some", function* () {
        try {
          for (produced = 0; produced < 20; produced++) yield produced === 5 ? bad : produced;
        } finally {
          isClosed = true;
        }
      });
      const items = [];
      let failure;
      try {
        for await (const item of near.stream("some")) items.push(item);
      } catch (error) {
        failure = error;
      }
      assert.deepEqual(items, [0, 1, 2, 3, 4]);
      assert.equal(failure?.code, -32603);
      assert.deepEqual([produced, isClosed], [5, true]);
    }
  });

  for (const [reason, detach] of [
    // The handler transfers one buffer with two items.
    ["because it is already detached", () => {}],
    [
      "because the handler detaches it by structuredClone()",
      (buffer, n) => n === 3 && structuredClone(buffer, { transfer: [buffer] }),
    ],
  ]) {
    it(`are sent even if the buffer of a later item cannot be transferred ${reason}; that item ends the stream`, async () => {
      const [near, far] = await connectPair();
      far.method("some", function* (_, context) {
        const buffer = new ArrayBuffer(8);
        for (let n = 0; n < 10; n++) {
          if (n === 3 || n === 4) context.transfer([buffer]);
          yield n === 3 || n === 4 ? { n, buffer } : { n };
          detach(buffer, n);
        }
      });
      const items = [];
      let failure;
      try {
        for await (const { n } of near.stream("some")) items.push(n);
      } catch (error) {
        failure = error;
      }
      // The fourth item may have been sent before the handler detached its buffer.
      assert.include(["0,1,2", "0,1,2,3"], String(items));
      assert.equal(failure?.code, -32603);
    });
  }

  it("arrive in their order, and the notifications of the handler also arrive in their order", async () => {
    const [near, far] = await connectPair();
    const received = [];
    near.onNotify("note", ([n]) => received.push(`note ${n}`));
    far.method("mixed", function* (_, { notify }) {
      for (let n = 0; n < 6; n++) {
        yield n;
        notify("note", [n]);
      }
    });
    const stream = near.stream("mixed", undefined, { window: 64 });
    for await (const n of stream) received.push(n);
    for (let n = 0; n < 6; n++) assert.isAbove(received.indexOf(`note ${n}`), -1);
    const notes = received.filter((entry) => typeof entry === "string");
    assert.deepEqual(
      notes,
      [0, 1, 2, 3, 4, 5].map((n) => `note ${n}`),
    );
    assert.deepEqual(
      received.filter((entry) => typeof entry === "number"),
      [0, 1, 2, 3, 4, 5],
    );
  });

  it("are sent even if credit arrives during send()", async () => {
    const { near, far } = loopback();
    new JSONRPCServer(far, { coalesce: true }).method("three", function* () {
      yield* [1, 2, 3];
    });
    const client = new JSONRPCClient(near, { coalesce: true, timeout: 1_000 });
    const items = [];
    for await (const item of client.stream("three", undefined, { window: 1 })) items.push(item);
    assert.deepEqual(items, [1, 2, 3]);
  });

  it("arrive even if the same array contains an error with the id null and the end of the stream", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const onError = () => {};
    const items = collect(new JSONRPCClient(transport, { coalesce: true, onError }).stream("numbers"));
    const { id } = await remoteEnd.next();
    remoteEnd.post([
      { jsonrpc: "2.0", method: "rpc.item", params: { id, value: 7 } },
      { jsonrpc: "2.0", result: null, id },
      { jsonrpc: "2.0", error: { code: -32600, message: "Invalid Request" }, id: null },
    ]);
    assert.deepEqual(await items, [7]);
  });
});
