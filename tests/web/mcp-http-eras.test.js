// The era of an MCP server over HTTP: the vectors of tests/data/mcp-era.json, and the handshake of `httpTransport`.

import { assert } from "chai";
import { afterThisTest } from "./support/cleanup.js";
import { CallError, RPCError, inNode } from "./support/portway.js";
import { isPending, rejection } from "./support/outcomes.js";
import { clientInfo, connectMcp, detectEra, initialize, mcpPeer, startSite } from "./support/sites.js";

async function readVectors() {
  const url = new URL("../data/mcp-era.json", import.meta.url);
  if (!inNode) return (await fetch(url)).json();
  const { readFile } = await import("node:fs/promises");
  return JSON.parse(await readFile(url, "utf8"));
}

/** Returns a state as the vectors write it. */
const textOf = ({ action, version, reason, status }) =>
  [action, version ?? reason, status].filter((word) => word !== undefined).join(" ");

/**
 * Replaces the global `fetch` for this test by a server of one era, which has any URL. `connect` resolves to the era of
 * a new transport, and to the methods of its requests.
 */
function fakeServer() {
  const server = { era: "legacy" };
  const real = globalThis.fetch;
  let methods = [];
  globalThis.fetch = async (_, { body }) => {
    const { id, method } = body ? JSON.parse(body) : {};
    if (id === undefined) return new Response(null, { status: body ? 202 : 405 });
    methods.push(method);
    const result = {
      legacy: method === "initialize" && { protocolVersion: "2025-11-25", capabilities: {} },
      modern: method === "server/discover" && { supportedVersions: ["2026-07-28"], capabilities: {} },
    }[server.era];
    const outcome = result ? { result } : { error: { code: -32601, message: "Method not found" } };
    const headers = { "content-type": "application/json" };
    return new Response(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }), { headers });
  };
  afterThisTest(() => (globalThis.fetch = real));
  return {
    server,
    async connect(url, options) {
      methods = [];
      const { transport, peer } = await connectMcp(url, { fetch: undefined, ...options });
      peer.destroy();
      return [transport.era, methods];
    },
  };
}

describe("The era of an MCP server", () => {
  it("is detected as the vectors specify", async () => {
    const vectors = await readVectors();
    assert.isAtLeast(vectors.length, 75);
    for (const { name, modern, legacy, first, steps } of vectors) {
      const detection = await detectEra({ modern, legacy });
      assert.equal(textOf(detection.state), first, name);
      for (const [index, { reply, state }] of steps.entries()) {
        detection.handle(reply);
        assert.equal(textOf(detection.state), state, `${name}, step ${index}`);
      }
    }
  });

  for (const [text, response] of [
    ["the status 400 and text", { status: 400, type: "text/plain", body: "Bad Request" }],
    [
      "an error -32000 with the id null",
      { status: 400, body: '{"jsonrpc":"2.0","error":{"code":-32000,"message":"x"},"id":null}' },
    ],
    ["an error -32601", { body: '{"jsonrpc":"2.0","error":{"code":-32601,"message":"x"},"id":"portway.discover"}' }],
    ["an error without jsonrpc", { status: 400, body: '{"error":{"code":-32000,"message":"x"},"id":null}' }],
    ["the status 404", { status: 404 }],
    ["the status 500 and HTML", { status: 500, type: "text/html", body: "<p>" }],
    ["another result", { body: '{"jsonrpc":"2.0","result":{},"id":"portway.discover"}' }],
    ["a stream that ends at once", { type: "text/event-stream" }],
  ])
    it(`is legacy if server/discover is answered with ${text}`, async () => {
      const site = await startSite(
        ({ name }, { data, legacy }) => (name === "server/discover" ? data : legacy({ "mcp-session-id": "s-1" })),
        { data: response },
      );
      const { transport, server } = await connectMcp(site.url);
      assert.deepEqual([transport.era, server.protocolVersion], ["legacy", "2025-11-25"]);
      const { message } = await site.request("initialize");
      assert.deepEqual(message.params, { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
      await site.request("notifications/initialized");
    });

  it("is kept for its origin, and is detected again if the server refuses it", async () => {
    const { server, connect } = fakeServer();
    const url = "http://kept.test/mcp";
    for (const [era, methods] of [
      ["legacy", ["server/discover", "initialize"]],
      ["legacy", ["initialize"]],
      ["modern", ["initialize", "server/discover"]],
      ["modern", ["server/discover"]],
      ["legacy", ["server/discover", "server/discover", "initialize"]],
    ]) {
      server.era = era;
      assert.deepEqual(await connect(url), [era, methods]);
    }
    // Another path has the same origin, and another port does not.
    assert.deepEqual(await connect("http://kept.test/other"), ["legacy", ["initialize"]]);
    assert.deepEqual(await connect("http://kept.test:81/"), ["legacy", ["server/discover", "initialize"]]);
    // The option `era` replaces the kept era.
    server.era = "modern";
    assert.deepEqual(await connect(url, { era: "modern" }), ["modern", ["server/discover"]]);
    // A function of the application may send the requests to any server.
    const own = { fetch: globalThis.fetch };
    for (let n = 0; n < 2; n++)
      assert.deepEqual(await connect("http://own.test", own), ["modern", ["server/discover"]]);
    server.era = "legacy";
    assert.deepEqual(await connect("http://own.test", own), ["legacy", ["server/discover", "initialize"]]);
  });

  it("is forgotten for the oldest origin: the eras of at most 1024 origins are kept", async () => {
    const { connect } = fakeServer();
    const isKept = async (n) => (await connect(`http://host-${n}.test/`))[1].length === 1;
    for (let n = 0; n < 1_025; n++) assert.isFalse(await isKept(n));
    assert.isTrue(await isKept(1));
    assert.isFalse(await isKept(0));
  });

  it("that is silent receives initialize after five seconds", async () => {
    const site = await startSite(({ name }, { legacy }) => (name === "server/discover" ? { isOpen: true } : legacy()));
    const { peer, transport } = mcpPeer(site.url);
    const start = Date.now();
    const connecting = initialize(peer);
    assert.isTrue(await isPending(connecting, 4_500));
    await connecting;
    assert.isBelow(Date.now() - start, 8_000);
    assert.equal(transport.era, "legacy");
    await site.request(({ name, isClosed }) => name === "server/discover" && isClosed);
  });

  it("is modern if server/discover has a result with a version of this client", async () => {
    const site = await startSite((_, { modern }) => modern());
    const { transport, server } = await connectMcp(site.url);
    assert.equal(transport.era, "modern");
    assert.deepEqual(server, { capabilities: { tools: {} }, protocolVersion: "2026-07-28" });
    assert.deepEqual(await site.names(), ["server/discover"]);
  });

  it("is modern after an error that only this era has", async () => {
    const site = await startSite((_, { error }) => error(-32021, 400));
    const { transport, server } = await connectMcp(site.url);
    assert.equal(transport.era, "modern");
    assert.deepEqual(server, { capabilities: {}, protocolVersion: "2026-07-28" });
  });

  it("is legacy after -32022 with legacy versions only", async () => {
    const site = await startSite(({ name }, { error, legacy, message, result }) =>
      name === "server/discover" ? error(-32022, 400, undefined, { supported: ["2025-11-25"] }) : legacy(),
    );
    assert.equal((await connectMcp(site.url)).transport.era, "legacy");
  });

  it("is unknown if the server has no version of this client, and the error names its versions", async () => {
    const site = await startSite((_, { result }) => result({ supportedVersions: ["2031-01-01"] }));
    const { peer, transport } = mcpPeer(site.url);
    const error = await rejection(initialize(peer));
    assert.instanceOf(error, CallError);
    assert.deepEqual([error.reason, error.data], ["incompatible-version", { supported: ["2031-01-01"] }]);
    assert.match(error.message, /supports no version of MCP that the server supports: 2031-01-01/);
    assert.isUndefined(transport.era);
  });

  it("is unknown if the server answers initialize with an unknown version", async () => {
    const site = await startSite(({ name }, { legacy, result }) =>
      name === "initialize" ? result({ protocolVersion: "1999-01-01" }) : legacy(),
    );
    const error = await rejection(initialize(mcpPeer(site.url).peer));
    assert.equal(error.reason, "incompatible-version");
    assert.match(error.message, /1999-01-01/);
  });

  it("is unknown if the server refuses initialize, and the call gets the server's error", async () => {
    const site = await startSite(({ name }, { legacy, error }) =>
      name === "initialize" ? error(-32603, 500) : legacy(),
    );
    const error = await rejection(initialize(mcpPeer(site.url).peer));
    assert.instanceOf(error, RPCError);
    assert.equal(error.code, -32603);
  });

  for (const status of [401, 403])
    it(`is unknown after the status ${status}, and initialize is not sent`, async () => {
      const site = await startSite(
        (_, { data, error }) => ({ ...error(-32021, data), headers: { "www-authenticate": "Bearer" } }),
        { data: status },
      );
      const { peer, transport } = mcpPeer(site.url);
      const error = await rejection(initialize(peer));
      assert.deepEqual([error.reason, error.data], ["http-failed", { status, challenge: "Bearer" }]);
      assert.deepEqual(await site.names(), ["server/discover"]);
      assert.isUndefined(transport.era);
    });

  it("is not detected if the application names it", async () => {
    const legacy = await startSite((_, { legacy }) => legacy());
    await connectMcp(legacy.url, { era: "legacy" });
    assert.equal((await legacy.names())[0], "initialize");
    const error = await rejection(initialize(mcpPeer(legacy.url, { era: "modern" }).peer));
    assert.equal(error.reason, "incompatible-version");
    assert.notInclude((await legacy.names()).slice(2), "initialize");
  });

  it("is kept for another initialize on the same transport", async () => {
    const site = await startSite((_, { legacy }) => legacy());
    const { peer } = await connectMcp(site.url);
    await initialize(peer);
    assert.equal((await site.names()).filter((name) => name === "server/discover").length, 1);
  });

  it("fails if the server cannot be reached", async () => {
    const error = await rejection(initialize(mcpPeer("http://127.0.0.1:1/mcp").peer));
    assert.deepEqual([error.reason, error.data.status], ["http-failed", undefined]);
  });
});
