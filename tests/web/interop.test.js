// One peer uses Portway. The other peer uses the library of the original protocol document, the reference library.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer, RPCError, portTransport } from "./support/portway.js";
import { DocumentClient, DocumentError, DocumentServer, documentPortTransport } from "./fixtures/reference-library.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

/** Returns the transports at both ends of a channel. `ours` is of Portway, and `theirs` is of the reference library. */
function boundary() {
  const { port1, port2 } = new MessageChannel();
  afterThisTest(() => [port1, port2].forEach((port) => port.close()));
  return { ours: portTransport(port1), theirs: documentPortTransport(port2) };
}

for (const [name, Client, Server, ServerError, nearAndFar] of [
  [
    "the client of Portway and the server of the reference library",
    JSONRPCClient,
    DocumentServer,
    DocumentError,
    ({ ours, theirs }) => [ours, theirs],
  ],
  [
    "the client of the reference library and the server of Portway",
    DocumentClient,
    JSONRPCServer,
    RPCError,
    ({ ours, theirs }) => [theirs, ours],
  ],
]) {
  describe(`${name} exchange`, () => {
    const createEnds = () => {
      const [near, far] = nearAndFar(boundary());
      return { client: new Client(near, { timeout: 2_000 }), server: new Server(far) };
    };

    it("calls with and without params, concurrently and one by one", async () => {
      const { client, server } = createEnds();
      server.method("fetch", async ({ url }) => ({ status: 200, body: url }));
      server.method("refresh", (params) => ({ got: params === undefined }));
      assert.deepEqual(await client.request("fetch", { url: "/a" }), { status: 200, body: "/a" });
      assert.deepEqual(await client.request("refresh"), { got: true });
      const urls = Array.from({ length: 100 }, (_, n) => `/${n}`);
      const results = await Promise.all(urls.map((url) => client.request("fetch", { url })));
      assert.deepEqual(
        results.map(({ body }) => body),
        urls,
      );
    });

    it("a result that is undefined, which may arrive as null", async () => {
      const { client, server } = createEnds();
      server.method("nothing", () => {});
      assert.oneOf(await client.request("nothing"), [undefined, null]);
    });

    it("errors with data and without data", async () => {
      const { client, server } = createEnds();
      server.method("fail", () => {
        throw new ServerError(-32001, "Build failed", [{ file: "a.ts" }]);
      });
      server.method("break", () => {
        throw new Error("oh no");
      });
      const failed = await rejection(client.request("fail"));
      assert.deepEqual(
        [failed.name, failed.code, failed.message, failed.data],
        ["RPCError", -32001, "Build failed", [{ file: "a.ts" }]],
      );
      const broken = await rejection(client.request("break"));
      assert.deepEqual([broken.code, broken.message, broken.data], [-32603, "oh no", undefined]);
      const missing = await rejection(client.request("missing"));
      assert.deepEqual([missing.code, missing.message], [-32601, "Method not found: missing"]);
    });

    it("notifications, in order", async () => {
      const { client, server } = createEnds();
      const seen = [];
      server.onNotify("console", ({ n }) => void seen.push(n));
      server.onNotify("refresh", (params) => void seen.push(params));
      for (let n = 0; n < 10; n++) client.notify("console", { n });
      client.notify("refresh");
      client.notify("unknown", {});
      await until(() => seen.length === 11);
      assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, undefined]);
    });

    it("values that JSON cannot express", async () => {
      const { client, server } = createEnds();
      server.method("echo", (params) => params);
      const params = { map: new Map([[1, new Date(0)]]), bytes: new Uint8Array([1]), none: undefined };
      assert.deepEqual(await client.request("echo", params), params);
    });
  });
}

it("Portway's client ends a call by its timeout if a handler of the reference server throws null, which causes no response", async () => {
  const { ours, theirs } = boundary();
  // The reference server does not handle the rejection that the error causes, so the test handles it.
  const server = new DocumentServer({
    ...theirs,
    onMessage: (handler) => theirs.onMessage((msg) => Promise.resolve(handler(msg)).catch(() => {})),
  });
  server.method("fail", () => {
    throw null;
  });
  const error = await rejection(new JSONRPCClient(ours, { timeout: 50 }).request("fail"));
  assert.equal(error.message, "JSON-RPC timeout: fail (id=1)");
});
