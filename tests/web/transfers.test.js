// If a transfer list cannot be sent, no object of the list is detached: all objects still belong to the caller.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, inNode, portTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { channel, scriptedChannel } from "./support/transports.js";
import { rejection } from "./support/outcomes.js";

/**
 * Returns a `server` with the method `echo`, and a `client`. `seen` are the params that `echo` has received. `client`
 * posts on `port`.
 */
function createPair() {
  const { near, far, port1: port } = channel();
  const seen = [];
  const server = new JSONRPCPeer(far).method("echo", (params) => (seen.push(params), params));
  return { client: new JSONRPCPeer(near), server, seen, port };
}

const detachedBuffer = () => {
  const buffer = new ArrayBuffer(8);
  structuredClone(buffer, { transfer: [buffer] });
  return buffer;
};

const wasmMemory = (initial) => new WebAssembly.Memory({ initial }).buffer;

function ports() {
  const { port1, port2 } = new MessageChannel();
  afterThisTest(() => [port1, port2].forEach((port) => port.close()));
  return [port1, port2];
}

function transferredPort() {
  const [port] = ports();
  ports()[0].postMessage(undefined, [port]);
  return port;
}

function closedPort() {
  const [port] = ports();
  port.close();
  return port;
}

function lockedStream(stream) {
  const { readable = stream } = stream;
  if (readable.getReader) readable.getReader();
  else readable.getWriter();
  return stream;
}

/**
 * Objects that make a transfer list fail. Each function gets the valid buffers, and the port on which the caller posts.
 */
const invalidItems = {
  "a buffer twice": ([first]) => first,
  "a detached buffer": detachedBuffer,
  "an object that cannot be transferred": () => ({}),
  "a view": () => new Uint8Array(4),
  null: () => null,
  "a port that was already transferred": transferredPort,
  "a closed port": closedPort,
  "the port on which it is posted": (_, port) => port,
  "a locked ReadableStream": () => lockedStream(new ReadableStream()),
  "a locked WritableStream": () => lockedStream(new WritableStream()),
  "a TransformStream with a locked end": () => lockedStream(new TransformStream()),
  // Node does not refuse the memory of a wasm module, but sends a copy.
  ...(inNode
    ? {}
    : { "the memory of a wasm module": () => wasmMemory(1), "a memory of wasm without a page": () => wasmMemory(0) }),
};

// Two sizes are multiples of 64 KiB, as the size of a wasm memory is. The library orders such buffers separately.
const buffers = () => [8, 1_000, 65_536 * 2, 1 << 20].map((length) => new ArrayBuffer(length));
const lengths = (list) => list.map(({ byteLength }) => byteLength);

/** Returns three copies of the list: with the item at the start, after the first object, and at the end. */
function listsWithItem(list, item) {
  return [0, 1, list.length].map(
    (index) => list.toSpliced?.(index, 0, item) ?? [...list.slice(0, index), item, ...list.slice(index)],
  );
}

describe("a transfer list that contains", () => {
  for (const [name, make] of Object.entries(invalidItems)) {
    describe(name, () => {
      it("makes the call reject, and no object is detached", async () => {
        const { client, seen, port } = createPair();
        const validBuffers = buffers();
        for (const transfer of listsWithItem(validBuffers, make(validBuffers, port))) {
          const error = await rejection(client.request("echo", { validBuffers }, { transfer }));
          assert.include(["DataCloneError", "TypeError"], error.name);
          assert.deepEqual([lengths(validBuffers), client.pending, seen], [lengths(buffers()), 0, []]);
        }
        assert.deepEqual(await client.request("echo", [1]), [1]);
      });

      it("makes notify() throw, and no object is detached", async () => {
        const { client, port } = createPair();
        const validBuffers = buffers();
        for (const transfer of listsWithItem(validBuffers, make(validBuffers, port))) {
          assert.throws(() => client.notify("n", { validBuffers }, { transfer }));
          assert.deepEqual(lengths(validBuffers), lengths(buffers()));
        }
      });

      it("makes the response an error if a handler passes the list to transfer(), and no object is detached", async () => {
        const { client, server } = createPair();
        const validBuffers = buffers();
        let transfer;
        server.method("take", (_, context) => (context.transfer(transfer), { validBuffers }));
        // The handler does not have the port on which the server posts.
        if (name === "the port on which it is posted") return;
        for (transfer of listsWithItem(validBuffers, make(validBuffers))) {
          assert.equal((await rejection(client.request("take"))).code, -32603);
          assert.deepEqual(lengths(validBuffers), lengths(buffers()));
        }
      });

      it("makes only one response of a batch an error, and no object is detached", async () => {
        const { transport, remoteEnd } = scriptedChannel();
        const validBuffers = buffers();
        const list = [
          ...validBuffers,
          name === "the port on which it is posted" ? detachedBuffer() : make(validBuffers),
        ];
        new JSONRPCServer(transport)
          .method("bad", (_, context) => (context.transfer(list), { validBuffers }))
          .method("good", (_, context) => {
            const { buffer } = new Uint8Array([1, 2, 3]);
            context.transfer([buffer]);
            return buffer;
          })
          .method("plain", () => 1);
        remoteEnd.post(["bad", "good", "plain"].map((method, id) => ({ jsonrpc: "2.0", method, id })));
        const replies = await remoteEnd.next();
        assert.deepEqual(
          replies.map(({ id, error }) => [id, error?.code]),
          [
            [0, -32603],
            [1, undefined],
            [2, undefined],
          ],
        );
        assert.deepEqual([...new Uint8Array(replies[1].result)], [1, 2, 3]);
        assert.deepEqual(lengths(validBuffers), lengths(buffers()));
      });

      it("makes progress() throw in the handler, and no object is detached", async () => {
        if (name === "the port on which it is posted") return;
        const { client, server } = createPair();
        const validBuffers = buffers();
        server.method("work", (_, { progress }) => progress({ validBuffers }, [...validBuffers, make(validBuffers)]));
        assert.equal((await rejection(client.request("work", undefined, { onProgress() {} }))).code, -32603);
        assert.deepEqual(lengths(validBuffers), lengths(buffers()));
      });
    });
  }
});

describe("a transfer list of an item of a stream", () => {
  it("ends the stream with an error if the list cannot be sent, and no object is detached", async () => {
    const { client, server } = createPair();
    const validBuffers = buffers();
    server.method("items", async function* (_, { transfer }) {
      yield "first";
      transfer([...validBuffers, transferredPort()]);
      yield validBuffers;
    });
    const items = [];
    const read = async () => {
      for await (const item of client.stream("items")) items.push(item);
    };
    assert.equal((await rejection(read())).code, -32603);
    assert.deepEqual([items, lengths(validBuffers), client.pending], [["first"], lengths(buffers()), 0]);
  });
});

describe("a transfer list", () => {
  it("may be any iterable, which is iterated once", async () => {
    const { client, server } = createPair();
    const [buffer] = buffers();
    assert.equal(
      (await client.request("echo", { buffer }, { transfer: new Set([buffer]).values() })).buffer.byteLength,
      8,
    );
    assert.equal(buffer.byteLength, 0);
    const result = new ArrayBuffer(4);
    server.method("take", (_, { transfer }) => (transfer(new Set([result]).values()), result));
    assert.equal((await client.request("take")).byteLength, 4);
    assert.equal(result.byteLength, 0);
  });

  it("may be null, which means no list", async () => {
    const { client, server } = createPair();
    server.method("work", (_, context) => {
      context.transfer(null);
      context.progress(1, null);
      context.notify("n", [], { transfer: null });
      return "done";
    });
    const seen = [];
    assert.equal(await client.request("work", [], { transfer: null, onProgress: (value) => seen.push(value) }), "done");
    client.notify("n", [], { transfer: null });
    assert.deepEqual(seen, [1]);
  });

  it("causes a TypeError that explains the problem if it is not iterable", async () => {
    const { client, server } = createPair();
    const list = new ArrayBuffer(2);
    const explanation = /transfer.*list/;
    const error = await rejection(client.request("echo", [], { transfer: list }));
    assert.instanceOf(error, TypeError);
    assert.match(error.message, explanation);
    assert.throws(() => client.notify("n", [], { transfer: list }), TypeError, explanation);
    server.method("take", (_, { transfer }) => transfer(list));
    assert.match((await rejection(client.request("take"))).message, explanation);
    assert.equal(client.pending, 0);
  });
});

describe("a value that cannot be cloned", () => {
  it("does not detach the objects of its transfer list", async () => {
    const { client, server, seen } = createPair();
    const validBuffers = buffers();
    await rejection(client.request("echo", { validBuffers, run() {} }, { transfer: validBuffers }));
    server.method("take", (_, context) => (context.transfer(validBuffers), { validBuffers, run() {} }));
    assert.equal((await rejection(client.request("take"))).code, -32603);
    assert.deepEqual([lengths(validBuffers), client.pending, seen], [lengths(buffers()), 0, []]);
  });
});

describe("a valid transfer list", () => {
  it("may contain buffers of any size and ports between them", async () => {
    const { client, server } = createPair();
    const validBuffers = buffers();
    const [first, second] = [ports()[0], ports()[0]];
    server.method("take", ({ validBuffers, first, second }) => {
      first.close();
      second.close();
      return lengths(validBuffers);
    });
    const transfer = [validBuffers[0], first, ...validBuffers.slice(1), second];
    assert.deepEqual(await client.request("take", { validBuffers, first, second }, { transfer }), lengths(buffers()));
    assert.deepEqual(lengths(validBuffers), [0, 0, 0, 0]);
    assert.lengthOf(transfer, 6);
  });

  it("keeps the order of its ports, which still work", async () => {
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => [port1, port2].forEach((port) => port.close()));
    const arrival = new Promise((resolve) => port2.addEventListener("message", resolve));
    port2.start();
    const pairs = [ports(), ports(), ports()];
    const movedPorts = pairs.map(([port]) => port);
    new JSONRPCClient(portTransport(port1)).notify(
      "n",
      { movedPorts },
      { transfer: [movedPorts[0], new ArrayBuffer(8), movedPorts[1], movedPorts[2]] },
    );
    const { data } = await arrival;
    for (const [index, [, other]] of pairs.entries()) {
      const received = new Promise((resolve) => other.addEventListener("message", (event) => resolve(event.data)));
      other.start();
      data.params.movedPorts[index].postMessage(index);
      assert.equal(await received, index);
      data.params.movedPorts[index].close();
    }
  });

  it("does not lose a message that was posted to one of its ports", async () => {
    const { client, server } = createPair();
    const [port, other] = ports();
    other.postMessage("before");
    server.method(
      "hear",
      ({ port }) =>
        new Promise((resolve) => {
          port.addEventListener("message", ({ data }) => (port.close(), resolve(data)));
          port.start();
        }),
    );
    assert.equal(await client.request("hear", { port }, { transfer: [port] }), "before");
  });
});

describe("the memory of the library's wasm", () => {
  it("cannot be reached through the exports of the package", async () => {
    const library = await import("./support/portway.js");
    const memories = new Set();
    const visited = new Set();
    const visit = (value) => {
      if ((typeof value !== "object" && typeof value !== "function") || value === null || visited.has(value)) return;
      if (value === globalThis || visited.size > 100_000) return;
      visited.add(value);
      if (value instanceof WebAssembly.Memory || value instanceof WebAssembly.Instance) memories.add(value);
      for (const key of Reflect.ownKeys(value)) {
        const { value: member } = Object.getOwnPropertyDescriptor(value, key) ?? {};
        visit(member);
      }
      const prototype = Object.getPrototypeOf(value);
      if (prototype !== Object.prototype && prototype !== Function.prototype && prototype !== Array.prototype)
        visit(prototype);
    };
    const { near, far } = channel();
    const peer = new JSONRPCPeer(near);
    const contexts = [];
    new JSONRPCPeer(far).method("a", (_, context) => void contexts.push(context));
    await peer.request("a");
    for (const value of [library, peer, near, contexts, await library.init()]) visit(value);
    assert.isAbove(visited.size, 30);
    assert.equal(memories.size, 0);
  });

  it("is not the buffer of a sent value", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const peer = new JSONRPCPeer(transport).method("a", () => new Uint8Array([1]));
    remoteEnd.post({ jsonrpc: "2.0", method: "a", id: 1 });
    assert.equal((await remoteEnd.next()).result.buffer.byteLength, 1);
    peer.notify("n", { bytes: new Uint8Array(3) });
    assert.equal((await remoteEnd.next()).params.bytes.buffer.byteLength, 3);
  });
});
