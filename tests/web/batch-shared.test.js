// Calls of one batch may have the same object in their params or results. Each call gets its own copy of the object,
// and no call fails.

import { assert } from "chai";
import { JSONRPCPeer } from "./support/portway.js";
import { connectPair } from "./support/connections.js";
import { channel, loopback } from "./support/transports.js";
import { until } from "./support/outcomes.js";

const largeObject = () => ({ token: "t", rights: Array.from({ length: 50 }, (_, n) => ({ n })) });
const views = () => {
  const { buffer } = new Uint8Array([1, 2, 3, 4]);
  return [new Uint8Array(buffer, 0, 2), new Uint8Array(buffer, 2, 2)];
};

/** Functions that return two values, for the params of two calls. The key names the object that both values share. */
const kinds = {
  "a large object": () => Array(2).fill(largeObject()),
  "a large object and a member of it": () => {
    const large = largeObject();
    return [large, large.rights[7]];
  },
  "a proxy of a large object": () => Array(2).fill(new Proxy(largeObject(), {})),
  "a map": () => Array(2).fill(new Map([["key", { n: 1 }]])),
  "a set": () => Array(2).fill(new Set([1, 2])),
  "a date": () => Array(2).fill(new Date(5)),
  "a regular expression": () => Array(2).fill(/a+/g),
  "an error": () => Array(2).fill(new Error("shared")),
  "a buffer": () => Array(2).fill(new ArrayBuffer(8)),
  "a view": () => Array(2).fill(new Float64Array([1, 2])),
  "a DataView": () => Array(2).fill(new DataView(new ArrayBuffer(8))),
  "two views of one buffer": views,
  "an object that is also in a map": () => {
    const inner = largeObject();
    return [new Map([["key", inner]]), [inner]];
  },
  ...(typeof Blob === "function" && { "a blob": () => Array(2).fill(new Blob(["text"])) }),
  ...(globalThis.crossOriginIsolated !== false && { "shared memory": () => Array(2).fill(new SharedArrayBuffer(8)) }),
  ...(typeof Buffer === "function" && { "two small buffers of Node": () => [Buffer.from("one"), Buffer.from("two")] }),
};

const connections = {
  "a session": connectPair,
  "plain transports": async () => {
    const { near, far } = channel();
    return [new JSONRPCPeer(near), new JSONRPCPeer(far)];
  },
};

for (const [connectionKind, makePeers] of Object.entries(connections)) {
  describe(`a batch whose calls share objects, over ${connectionKind}:`, () => {
    for (const [kind, make] of Object.entries(kinds)) {
      it(`each call gets a response, and each notification is handled: ${kind}`, async () => {
        const [near, far] = await makePeers();
        const seen = [];
        const received = [];
        far.method("keep", (params) => void seen.push(params)).onNotify("note", (params) => void received.push(params));
        const values = make();
        // `structuredClone` throws for a proxy, so an equal object is cloned instead.
        const before = structuredClone(kind.includes("proxy") ? [largeObject(), largeObject()] : values);
        const calls = values.flatMap((value, n) => [
          { method: "keep", params: [n, value] },
          { method: "note", params: { n, value }, notify: true },
        ]);
        const outcomes = await near.batch(calls);
        assert.deepEqual(
          outcomes.map(({ status, reason }) => reason?.message ?? status),
          Array(4).fill("fulfilled"),
        );
        await until(() => received.length === 2);
        assert.deepEqual(
          seen.map(([, value]) => comparable(value)),
          before.map(comparable),
        );
        assert.deepEqual(
          received.map(({ value }) => comparable(value)),
          before.map(comparable),
        );
      });
    }

    it("the params are copied when batch() is called, and the caller's objects stay unchanged", async () => {
      const [near, far] = await makePeers();
      const seen = [];
      far.method("keep", (params) => void seen.push(params));
      const auth = largeObject();
      const before = structuredClone(auth);
      const calls = [1, 2].map((n) => ({ method: "keep", params: { n, auth } }));
      const batch = near.batch(calls);
      assert.strictEqual(calls[1].params.auth, auth);
      auth.token = "changed";
      await batch;
      assert.deepEqual(
        seen,
        [1, 2].map((n) => ({ n, auth: before })),
      );
      assert.notStrictEqual(seen[0].auth, seen[1].auth);
    });

    it("each call gets its own copy of the result, even if the handler returns one object twice", async () => {
      const [near, far] = await makePeers();
      const cached = largeObject();
      far.method("get", () => cached);
      const [one, other] = await near.batch([{ method: "get" }, { method: "get" }]);
      assert.deepEqual([one.value, other.value], [cached, cached]);
      assert.notStrictEqual(one.value, other.value);
      assert.notStrictEqual(one.value.rights, other.value.rights);
    });
  });
}

/** Returns a comparable form of a value: the bytes of a view, the size of a buffer or blob, the message of an error. */
function comparable(value) {
  if (value instanceof Error) return value.message;
  if (ArrayBuffer.isView(value) && value.BYTES_PER_ELEMENT > 0) return [...value];
  return value instanceof ArrayBuffer || value instanceof DataView ? value.byteLength : (value?.size ?? value);
}

it("a batch over a transport of JSON text converts its params as JSON.stringify does", async () => {
  class Money {
    constructor(cents) {
      this.cents = cents;
    }
    toJSON() {
      return `${this.cents} cents`;
    }
  }
  const { near, far } = loopback();
  const send = near.send.bind(near);
  near.send = (message) => send(JSON.parse(JSON.stringify(message)));
  const peer = new JSONRPCPeer(near);
  new JSONRPCPeer(far).method("keep", (params) => params);
  const bytes = typeof Buffer === "function" ? [Buffer.from("one")] : [new Uint8Array([1])];
  const params = [new Money(5), new Date(0), bytes, largeObject()];
  const outcomes = await peer.batch([1, 2, 3].map(() => ({ method: "keep", params })));
  for (const { value } of outcomes) assert.deepEqual(value, JSON.parse(JSON.stringify(params)));
});
