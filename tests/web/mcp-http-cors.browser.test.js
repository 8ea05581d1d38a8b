// MCP servers of another origin, whose CORS headers hide a header or refuse a request.

import { assert } from "chai";
import { rejection, until } from "./support/outcomes.js";
import { connectMcp, initialize, mcpPeer, startSite } from "./support/sites.js";

const LEGACY_HEADERS = "content-type, mcp-session-id, mcp-protocol-version, last-event-id";

/** A server whose messages need the id of the session. */
const strict = ({ name, headers }, { legacy, error, result }) =>
  name === "server/discover" || name === "initialize"
    ? legacy({ "mcp-session-id": "s-1" })
    : headers["mcp-session-id"] === "s-1"
      ? (legacy() ?? result({ tools: [] }))
      : error(-32000, 400, null);

describe("An MCP server of another origin", () => {
  it("causes an error that names the missing header if the server hides the id of its session", async () => {
    const site = await startSite(strict, { cors: { expose: "" } });
    const { peer, errors } = await connectMcp(site.url);
    const error = await rejection(peer.request("tools/list"));
    assert.deepEqual([error.reason, error.data.status], ["http-failed", 400]);
    assert.match(error.message, /must also send Access-Control-Expose-Headers: Mcp-Session-Id/);
    await until(() => errors.length > 0);
    assert.match(errors[0].message, /Access-Control-Expose-Headers/);
  });

  it("answers calls if it exposes the id of its session", async () => {
    const site = await startSite(strict);
    const { peer } = await connectMcp(site.url);
    assert.deepEqual(await peer.request("tools/list"), { tools: [] });
  });

  it("receives initialize but not server/discover if it refuses the headers of the modern era", async () => {
    const site = await startSite(strict, { cors: { headers: LEGACY_HEADERS } });
    const { peer, transport } = await connectMcp(site.url);
    assert.equal(transport.era, "legacy");
    assert.deepEqual(await peer.request("tools/list"), { tools: [] });
    assert.notInclude(await site.names(), "server/discover");
  });

  it("causes an error that names CORS if the server refuses every preflight", async () => {
    const site = await startSite(strict, { cors: { headers: "x-other" } });
    const error = await rejection(initialize(mcpPeer(site.url).peer));
    assert.deepEqual([error.reason, error.data.status], ["http-failed", undefined]);
    assert.match(error.message, /or its CORS headers do not allow the request/);
    assert.deepEqual(await site.names(), []);
  });

  it("causes an error that names CORS if the server sends no CORS headers", async () => {
    const site = await startSite(strict, { cors: { origin: false } });
    const error = await rejection(initialize(mcpPeer(site.url).peer));
    assert.match(error.message, /or its CORS headers do not allow the request/);
  });

  it("answers calls of a worker", async () => {
    const site = await startSite(strict);
    const source = `
      import init, { JSONRPCPeer } from "${new URL("../../pkg/portway.js", import.meta.url)}";
      import { httpTransport } from "${new URL("../../pkg/mcp.js", import.meta.url)}";
      await init();
      const peer = new JSONRPCPeer(httpTransport("${site.url}"), { dialect: "mcp" });
      await peer.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "w" } });
      peer.notify("notifications/initialized");
      postMessage(await peer.request("tools/list"));
      peer.destroy();`;
    const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })), { type: "module" });
    const result = await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
    });
    worker.terminate();
    assert.deepEqual(result, { tools: [] });
  });
});
