// `init` and `initSync`: accepted arguments, failures, and the library before the wasm is loaded.

import { assert } from "chai";
import { freshCopy, init, initSync, packaged, wasmBytes } from "./support/portway.js";
import { channel, recorder } from "./support/transports.js";
import { rejection } from "./support/outcomes.js";

/** Returns whether a copy of the library works. */
async function works({ JSONRPCClient, JSONRPCServer, portTransport, validateMessage }) {
  const { port1, port2 } = new MessageChannel();
  const server = new JSONRPCServer(portTransport(port1)).method("echo", (params) => params);
  const client = new JSONRPCClient(portTransport(port2));
  const result = await client.request("echo", [1]);
  client.destroy();
  server.destroy();
  return result[0] === 1 && validateMessage({ jsonrpc: "2.0", method: "a", id: 1 }).isValid;
}

describe("before init,", () => {
  it("every function that needs wasm throws an error that names init()", async () => {
    const { JSONRPCClient, JSONRPCPeer, JSONRPCServer, validateMessage } = await freshCopy();
    for (const Role of [JSONRPCClient, JSONRPCServer, JSONRPCPeer]) {
      assert.throws(() => new Role(recorder()), Error, "init()");
    }
    assert.throws(() => validateMessage({}), Error, "init()");
  });

  it("errors, error codes and transports can be used", async () => {
    const { ErrorCode, RPCError, portTransport } = await freshCopy();
    assert.equal(new RPCError(ErrorCode.InternalError, "x").code, -32603);
    const { port1, port2 } = new MessageChannel();
    portTransport(port1).destroy();
    port2.close();
  });

  it("a transport can be created, and buffers messages for a server that is created after init", async () => {
    const copy = await freshCopy();
    const { port1, port2 } = new MessageChannel();
    const transport = copy.portTransport(port1);
    port2.postMessage({ jsonrpc: "2.0", method: "early", id: 1 });
    await copy.default();
    const server = new copy.JSONRPCServer(transport).method("early", () => "served");
    const reply = await new Promise((resolve) => (port2.onmessage = ({ data }) => resolve(data)));
    assert.equal(reply.result, "served");
    server.destroy();
  });
});

describe("init", () => {
  it("works without an argument, and resolves to undefined", async () => {
    const copy = await freshCopy();
    assert.isUndefined(await copy.default());
    assert.isTrue(await works(copy));
  });

  it("can be called repeatedly, even concurrently", async () => {
    const copy = await freshCopy();
    await Promise.all([copy.default(), copy.default(), copy.default()]);
    await copy.default();
    copy.initSync(await wasmBytes());
    await copy.default();
    assert.isTrue(await works(copy));
  });

  it("does not affect running calls", async () => {
    const { near, far } = channel();
    const { JSONRPCClient, JSONRPCServer } = await import("./support/portway.js");
    new JSONRPCServer(far).method("echo", (params) => params);
    const client = new JSONRPCClient(near);
    const call = client.request("echo", [1]);
    await init();
    initSync(await wasmBytes());
    assert.deepEqual(await call, [1]);
    assert.deepEqual(await client.request("echo", [2]), [2]);
  });

  for (const [name, make] of [
    ["bytes", (bytes) => bytes],
    ["an ArrayBuffer", (bytes) => new Uint8Array(bytes).buffer],
    ["a module", (bytes) => WebAssembly.compile(bytes).then((module) => ({ module }))],
    ["a promise of bytes", (bytes) => ({ promise: Promise.resolve(bytes) })],
    ["a promise of a module", (bytes) => ({ promise: WebAssembly.compile(bytes) })],
  ]) {
    it(`accepts ${name}`, async () => {
      const copy = await freshCopy();
      const argument = await make(await wasmBytes());
      await copy.default(argument.module ?? argument.promise ?? argument);
      assert.isTrue(await works(copy));
    });
  }

  for (const [name, input] of [
    ["bytes that are not wasm", new Uint8Array([1, 2, 3, 4])],
    ["no bytes", new Uint8Array(0)],
    ["a number", 5],
    ["a promise that rejects", () => Promise.reject(new Error("no luck"))],
    ["wasm of another library", new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])],
  ]) {
    it(`rejects for ${name}, and works when it is called again`, async () => {
      const copy = await freshCopy();
      assert.instanceOf(await rejection(copy.default(typeof input === "function" ? input() : input)), Error);
      await copy.default();
      assert.isTrue(await works(copy));
    });
  }

  it("rejects concurrent calls with the same error if the first call fails", async () => {
    const copy = await freshCopy();
    const first = copy.default(new Uint8Array(4));
    const [a, b] = await Promise.all([rejection(first), rejection(copy.default())]);
    assert.equal(a, b);
    await copy.default();
  });
});

describe("initSync", () => {
  it("accepts a module", async () => {
    const copy = await freshCopy();
    copy.initSync(await WebAssembly.compile(await wasmBytes()));
    assert.isTrue(await works(copy));
  });

  it("accepts bytes", async () => {
    const copy = await freshCopy();
    copy.initSync(await wasmBytes());
    assert.isTrue(await works(copy));
  });

  it("throws for bytes that are not wasm, and works when it is called again", async () => {
    const copy = await freshCopy();
    assert.throws(() => copy.initSync(new Uint8Array(4)), Error);
    copy.initSync(await wasmBytes());
    assert.isTrue(await works(copy));
  });
});

describe("portway/inline", () => {
  it("has the same exports as the main module, and needs no wasm file", async () => {
    const inline = await import(packaged("inline.js"));
    assert.sameMembers(Object.keys(inline), Object.keys(await freshCopy()));
    await inline.default();
    assert.isTrue(await works(inline));
  });

  it("exports a server that works with a client of the main module and recognizes an RPCError of the main module", async () => {
    const { JSONRPCServer, portTransport } = await import(packaged("inline.js"));
    const { JSONRPCClient, RPCError } = await import("./support/portway.js");
    const { near, port2 } = channel();
    const server = new JSONRPCServer(portTransport(port2)).method("fail", () => {
      throw new RPCError(-32001, "Build failed", [1]);
    });
    const error = await rejection(new JSONRPCClient(near).request("fail"));
    assert.deepEqual([error.code, error.message, error.data], [-32001, "Build failed", [1]]);
    server.destroy();
  });
});
