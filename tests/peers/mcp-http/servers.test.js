// `portway/mcp` with official MCP servers over HTTP. In a page, the servers have another origin.

import { assert } from "chai";
import { rejection } from "../../web/support/outcomes.js";
import { JSONRPCPeer, packaged } from "../../web/support/portway.js";

const { httpTransport } = await import(packaged("mcp.js"));
const urls = globalThis.mcpServers ?? Object.fromEntries(new URLSearchParams(globalThis.location.search));

async function connect(url, options) {
  const errors = [];
  const transport = httpTransport(url, options);
  const peer = new JSONRPCPeer(transport, { dialect: "mcp", onError: (error) => errors.push(error), timeout: 20_000 });
  peer.method("ping", () => {});
  peer.method("roots/list", () => ({ roots: [{ uri: "file:///project", name: "a project" }] }));
  peer.method("elicitation/create", () => ({ action: "accept", content: { name: "Ada" } }));
  const capabilities = { roots: {}, elicitation: {}, sampling: {} };
  const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "specs", version: "1.0.0" } };
  const server = await peer.request("initialize", params);
  peer.notify("notifications/initialized");
  return { peer, transport, server, errors };
}

const call = (peer, name, args = {}, options = {}) => peer.request("tools/call", { name, arguments: args }, options);

const text = ({ content }) => content[0].text;

async function progressOf(peer, name, args) {
  const values = [];
  await call(peer, name, args, { onProgress: ({ progress }) => values.push(progress) });
  return values;
}

describe("server-everything over HTTP", () => {
  it("is initialized, is called, reports progress and asks for the roots of the client", async () => {
    const { peer, transport, server, errors } = await connect(urls.everything);
    assert.deepEqual([transport.era, server.protocolVersion], ["legacy", "2025-11-25"]);
    assert.deepEqual(await peer.request("ping"), {});
    const { tools } = await peer.request("tools/list");
    assert.isAbove(tools.length, 5);
    assert.include(text(await call(peer, "get-sum", { a: 2, b: 3 })), "5");
    const steps = { duration: 0.3, steps: 3 };
    assert.deepEqual(await progressOf(peer, "trigger-long-running-operation", steps), [1, 2, 3]);
    assert.include(JSON.stringify(await call(peer, "get-roots-list")), "file:///project");
    assert.deepEqual(errors, []);
    peer.destroy();
  });

  it("ends a session that is deleted", async () => {
    const own = (url, init) => {
      const id = new Headers(init.headers).get("mcp-session-id");
      if (id) session = id;
      return fetch(url, init);
    };
    let session;
    const { peer } = await connect(urls.everything, { fetch: own });
    await peer.request("ping");
    peer.destroy();
    // The server answers requests of an unknown session with 400.
    for (let status = 0; status !== 400; ) {
      const headers = { "mcp-session-id": session, accept: "text/event-stream" };
      const controller = new AbortController();
      const response = await fetch(urls.everything, { headers, signal: controller.signal });
      status = response.status;
      controller.abort();
    }
  });
});

for (const [era, version, greeting] of [
  [undefined, "2026-07-28", "greet_later"],
  ["modern", "2026-07-28", "greet_later"],
  ["legacy", "2025-11-25", "greet"],
])
  describe(`A server on the Python package mcp over HTTP, with the option era ${era}`, () => {
    it("is called, reports progress, asks for input, and returns errors", async () => {
      const { peer, server, transport, errors } = await connect(urls.python, { era });
      assert.deepEqual([server.protocolVersion, transport.era], [version, era ?? "modern"]);
      const { tools } = await peer.request("tools/list");
      assert.include(
        tools.map(({ name }) => name),
        "add",
      );
      assert.equal(text(await call(peer, "add", { a: 2, b: 3 })), "5");
      assert.deepEqual(await progressOf(peer, "steps", { count: 3 }), [1, 2, 3]);
      const { contents } = await peer.request("resources/read", { uri: "text://readme" });
      assert.equal(contents[0].text, "é😀");
      assert.isNumber((await rejection(peer.request("unknown/method", {}))).code);
      assert.match(text(await call(peer, greeting)), /^hello Ada/);
      assert.deepEqual(errors, []);
      peer.destroy();
    });

    it("serves 64 calls at once", async () => {
      const { peer } = await connect(urls.python, { era });
      const sums = await Promise.all(Array.from({ length: 64 }, (_, n) => call(peer, "add", { a: n, b: 1 })));
      assert.deepEqual(
        sums.map(text),
        Array.from({ length: 64 }, (_, n) => `${n + 1}`),
      );
      peer.destroy();
    });

    it("still answers after a call was aborted", async () => {
      const { peer } = await connect(urls.python, { era });
      const controller = new AbortController();
      const aborted = rejection(call(peer, "wait", { file: "/dev/null" }, { signal: controller.signal }));
      setTimeout(() => controller.abort(), 100);
      assert.equal((await aborted).name, "AbortError");
      assert.equal(text(await call(peer, "add", { a: 1, b: 1 })), "2");
      peer.destroy();
    });
  });
