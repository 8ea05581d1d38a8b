// Values in params and results: values that can be cloned, transferred objects, and values that cannot be cloned.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer, inNode, portTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { channel, scriptedChannel } from "./support/transports.js";
import { rejection } from "./support/outcomes.js";

/** Creates a client, and a server that echoes its params. */
function echo() {
  const { near, far } = channel();
  const seen = [];
  const server = new JSONRPCServer(far).method("echo", (params) => {
    seen.push(params);
    return params;
  });
  return { client: new JSONRPCClient(near), server, seen };
}

const values = {
  "a Map": new Map([
    ["a", 1],
    [{ b: 2 }, new Set([3])],
  ]),
  "a Set": new Set([1, "a", null]),
  "a Date": new Date(1234567890),
  "a RegExp": /a+b/gi,
  "a Uint8Array": new Uint8Array([1, 2, 255]),
  "a Float64Array": new Float64Array([0.1, -0, NaN]),
  "an ArrayBuffer": new Uint8Array([1, 2]).buffer,
  "an array with holes": [1, , 3], // eslint-disable-line no-sparse-arrays
  "members whose values are undefined": { a: undefined, b: null },
  "numbers that JSON cannot express": { a: NaN, b: Infinity, c: -0, d: 2 ** 60 },
  bigints: { a: 12345678901234567890n, b: -1n },
  "text with characters of all planes": { ключ: "é€😀\u0000\ud83d" },
  "members with the names of an envelope": { jsonrpc: "1.0", id: 7, method: "x", result: 1, error: { code: 1 } },
};

describe("params and results", () => {
  for (const [name, value] of Object.entries(values)) {
    it(`can contain ${name}`, async () => {
      const { client, seen } = echo();
      const result = await client.request("echo", { value });
      assert.deepEqual(seen, [{ value }]);
      assert.deepEqual(result, { value });
    });
  }

  for (const name of ["a Map", "a Date", "a Uint8Array"]) {
    it(`can be ${name}`, async () => {
      const { client } = echo();
      assert.deepEqual(await client.request("echo", values[name]), values[name]);
    });
  }

  it("can contain cycles", async () => {
    const { client } = echo();
    const ring = { name: "ring" };
    ring.self = ring;
    const result = await client.request("echo", ring);
    assert.equal(result.self, result);
    assert.equal(result.name, "ring");
  });

  it("can have a member __proto__, which does not change a prototype", async () => {
    const { client } = echo();
    const result = await client.request("echo", JSON.parse('{ "__proto__": { "polluted": true } }'));
    assert.isTrue(Object.hasOwn(result, "__proto__"));
    assert.isUndefined(result.polluted);
    assert.isUndefined({}.polluted);
  });

  it("can have a size of several megabytes", async () => {
    const { client } = echo();
    const bytes = new Uint8Array(1 << 20).fill(7);
    const result = await client.request("echo", { bytes, text: "é".repeat(500_000) });
    assert.equal(result.bytes.length, bytes.length);
    assert.equal(result.bytes.at(-1), 7);
    assert.equal(result.text.length, 500_000);
  });

  it("can be nested 10 000 levels deep, or make the call reject; the link still works in both cases", async () => {
    const { client } = echo();
    let deep = {};
    for (let i = 0; i < 10_000; i++) deep = { deep };
    const outcome = await client.request("echo", deep).catch((error) => error);
    if (outcome instanceof Error) assert.include(["DataCloneError", "RangeError", "InternalError"], outcome.name);
    assert.deepEqual(await client.request("echo", [1]), [1]);
  });

  it("are copies of the sender's objects", async () => {
    const { client, seen } = echo();
    const params = { a: [1] };
    await client.request("echo", params);
    params.a.push(2);
    assert.deepEqual(seen, [{ a: [1] }]);
  });

  it("can contain a message port, through which the peers can exchange messages", async () => {
    const { client, server } = echo();
    server.method("open", ({ port }) => {
      port.postMessage("hello");
      port.close?.();
    });
    const { port1, port2 } = new MessageChannel();
    const message = new Promise((resolve) => {
      port1.addEventListener("message", ({ data }) => resolve(data));
      port1.start();
    });
    await client.request("open", { port: port2 }, { transfer: [port2] });
    assert.equal(await message, "hello");
    port1.close();
  });

  it("can be a message port, as the result of a handler", async () => {
    const { client, server } = echo();
    server.method("connect", (_, context) => {
      const { port1, port2 } = new MessageChannel();
      const direct = new JSONRPCServer(portTransport(port1)).method("hi", () => "from the port");
      afterThisTest(() => direct.destroy());
      context.transfer([port2]);
      return port2;
    });
    const port = await client.request("connect");
    const direct = new JSONRPCClient(portTransport(port));
    assert.equal(await direct.request("hi"), "from the port");
    direct.destroy();
  });
});

describe("a transfer", () => {
  it("moves the buffer of a request to the peer, and detaches the buffer at the sender", async () => {
    const { client, seen } = echo();
    const bytes = new Uint8Array([1, 2, 3]);
    await client.request("echo", { bytes }, { transfer: [bytes.buffer] });
    assert.equal(bytes.byteLength, 0);
    assert.deepEqual([...seen[0].bytes], [1, 2, 3]);
  });

  it("does not happen without a transfer list: the buffer is copied", async () => {
    const { client } = echo();
    const bytes = new Uint8Array([1, 2, 3]);
    await client.request("echo", { bytes });
    assert.equal(bytes.byteLength, 3);
  });

  it("copies the buffers that are not in the transfer list", async () => {
    const { client, seen } = echo();
    const [moved, copied] = [new Uint8Array([1, 2, 3]), new Uint8Array([4, 5])];
    await client.request("echo", { moved, copied }, { transfer: [moved.buffer] });
    assert.deepEqual([moved.byteLength, [...copied]], [0, [4, 5]]);
    assert.deepEqual(
      [[...seen[0].moved], [...seen[0].copied]],
      [
        [1, 2, 3],
        [4, 5],
      ],
    );
  });

  it("moves the buffer of a notification to the peer", async () => {
    const { client, server } = echo();
    const seen = [];
    server.onNotify("take", ({ bytes }) => void seen.push([...bytes]));
    const bytes = new Uint8Array([1, 2, 3]);
    client.notify("take", { bytes }, { transfer: [bytes.buffer] });
    await client.request("echo");
    assert.deepEqual([seen, bytes.byteLength], [[[1, 2, 3]], 0]);
  });

  for (const [name, list] of [
    ["contains a buffer twice", ({ buffer }) => [buffer, buffer]],
    ["contains an object that cannot be transferred", () => [{}]],
    ["contains a detached buffer", ({ buffer }) => (structuredClone(buffer, { transfer: [buffer] }), [buffer])],
    // Node does not refuse the memory of a wasm module, but sends a copy.
    ...(inNode
      ? []
      : [["contains the memory of a wasm module", () => [new WebAssembly.Memory({ initial: 1 }).buffer]]]),
  ]) {
    it(`makes the call reject, and leaves no call pending, if the transfer list ${name}`, async () => {
      const { client, seen } = echo();
      const bytes = new Uint8Array([1]);
      const transfer = list(bytes);
      const error = await rejection(client.request("echo", { a: 1 }, { transfer }));
      assert.include(["DataCloneError", "TypeError"], error.name);
      assert.deepEqual([client.pending, seen], [0, []]);
      assert.deepEqual(await client.request("echo", [1]), [1]);
    });
  }

  it("makes the response an error if the transfer list of the result is invalid", async () => {
    const { client, server } = echo();
    server.method("twice", (_, context) => {
      const { buffer } = new Uint8Array(1);
      context.transfer([buffer, buffer]);
      return buffer;
    });
    assert.equal((await rejection(client.request("twice"))).code, -32603);
  });
});

describe("an uncloneable value", () => {
  for (const [name, value] of [
    ["a function", () => {}],
    ["a symbol", Symbol("a")],
    ["a WeakMap", new WeakMap()],
    [
      "a getter that throws",
      {
        get a() {
          throw new TypeError("gotcha");
        },
      },
    ],
  ]) {
    it(`makes the call reject if it is ${name} in the params: nothing is sent and no call is pending`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      const client = new JSONRPCClient(transport);
      const error = await rejection(client.request("a", { value }));
      assert.include(["DataCloneError", "TypeError"], error.name);
      assert.equal(client.pending, 0);
      client.notify("after");
      assert.equal((await remoteEnd.next()).method, "after");
    });

    it(`makes the response the error -32603 if it is ${name} in the result, and the server still works`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      new JSONRPCServer(transport).method("bad", () => ({ value })).method("good", () => "good");
      remoteEnd.post({ jsonrpc: "2.0", method: "bad", id: 1 });
      remoteEnd.post({ jsonrpc: "2.0", method: "good", id: 2 });
      const { error, id } = await remoteEnd.next();
      assert.deepEqual([error.code, id], [-32603, 1]);
      assert.include(error.message, "bad");
      assert.equal((await remoteEnd.next()).result, "good");
    });
  }
});
