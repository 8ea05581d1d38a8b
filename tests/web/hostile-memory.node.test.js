// The memory that a peer needs for the messages of a hostile peer.

import { assert } from "chai";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { JSONRPCPeer, JSONRPCServer } from "./support/portway.js";

setFlagsFromString("--expose_gc");
const collect = runInNewContext("gc");
setFlagsFromString("--no-expose_gc");

/** Returns the memory in use after a garbage collection, in bytes: the objects of JavaScript and the memory of wasm. */
function used() {
  collect();
  collect();
  const { heapUsed, arrayBuffers, external } = process.memoryUsage();
  return heapUsed + arrayBuffers + external;
}

describe("the memory of a peer", function () {
  this.timeout(60_000);

  it("grows by less than 1 MiB in a flood of a hundred thousand hostile messages and batches", () => {
    const message = (rest) => ({ jsonrpc: "2.0", ...rest });
    const kinds = [
      (i) => message({ method: "no such method", id: `${i}`.repeat(20) }),
      (i) => message({ method: `event ${i}` }),
      (i) => message({ method: "rpc.item", params: { id: i, value: i } }),
      (i) => message({ method: "$/cancelRequest", params: { id: i } }),
      (i) => message({ method: "$/progress", params: { token: i, value: i } }),
      (i) => message({ id: i + 1e6, result: i }),
      (i) => message({ id: {}, method: 5 }),
      (i) => message({ method: "echo", id: "x".repeat(1_025) + i }),
      (i) => message({ method: "throw", params: [i] }),
    ];
    let deliver;
    const transport = { send() {}, onMessage: (handler) => (deliver = handler) };
    const peer = new JSONRPCPeer(transport, { onError() {} }).onNotify("throw", ([i]) => {
      throw new Error(`gotcha ${i}`);
    });
    const flood = (from, to) => {
      for (let i = from; i < to; i++) deliver(kinds[i % kinds.length](i));
      for (let i = 0; i < 50; i++) deliver(Array.from({ length: 1_000 }, (_, n) => kinds[n % kinds.length](from + n)));
      deliver(Array.from({ length: 100_000 }, (_, n) => message({ id: n + 1e6, result: n })));
    };
    flood(0, 20_000);
    const before = used();
    flood(20_000, 120_000);
    assert.isBelow(used() - before, 1 << 20);
    peer.destroy();
  });
});

it("the library does not keep the params of running requests", () => {
  let deliver;
  const transport = { send() {}, onMessage: (handler) => (deliver = handler) };
  let begun = 0;
  const server = new JSONRPCServer(transport).method("work", () => (begun++, new Promise(() => {})));
  const request = (id) => deliver({ jsonrpc: "2.0", id, method: "work", params: [new ArrayBuffer(1 << 20)] });
  const before = used();
  for (let id = 0; id < 500; id++) request(id);
  assert.equal(begun, 500);
  assert.isBelow(used() - before, 20 << 20);
  server.destroy();
});

for (const [what, part] of [
  ["a response to no call", { id: 1e6, result: 0 }],
  ["an error with the id null", { id: null, error: { code: 1, message: "", data: 0 } }],
  ["an invalid request", { id: {}, method: "work", params: 0 }],
  ["a request for an unknown method", { id: "other", method: "none", params: 0 }],
  ["a notification without a handler", { method: "none", params: 0 }],
  ["a request with a long id", { id: "long", method: "work", params: [] }],
  ["a request with an id that is an object", { id: "object", method: "work", params: [] }],
]) {
  it(`a running request keeps no other element of its batch in memory: ${what}`, () => {
    let deliver;
    const transport = { send() {}, onMessage: (handler) => (deliver = handler) };
    let begun = 0;
    const server = new JSONRPCServer(transport, { onError() {} }).method(
      "work",
      () => (begun++, new Promise(() => {})),
    );
    const large = (n) => {
      const value = [new ArrayBuffer(1 << 20)];
      const { id, error } = part;
      if (id === "long") return { ...part, id: `${n}${"x".repeat(1 << 20)}` };
      if (id === "object") return { ...part, id: value };
      if (error !== undefined) return { ...part, error: { ...error, data: value } };
      return { ...part, ["result" in part ? "result" : "params"]: value };
    };
    const before = used();
    for (let n = 0; n < 200; n++)
      deliver([
        { jsonrpc: "2.0", id: n, method: "work" },
        { jsonrpc: "2.0", ...large(n) },
      ]);
    assert.equal(begun, 200);
    assert.isBelow(used() - before, 20 << 20);
    server.destroy();
  });
}
