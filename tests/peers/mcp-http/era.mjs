// Connects to an MCP server with `portway/mcp`, and prints the version of MCP: `node era.mjs URL ERA`. ERA is
// `modern`, `legacy` or `detected`.

import init, { JSONRPCPeer } from "../../../pkg/node.js";
import { httpTransport } from "../../../pkg/mcp.js";

const [url, era] = process.argv.slice(2);
await init();
const options = era === "detected" ? {} : { era };
const peer = new JSONRPCPeer(httpTransport(url, options), { dialect: "mcp", timeout: 20_000 });
peer.method("ping", () => {});
const clientInfo = { name: "eras", version: "1.0.0" };
try {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const { protocolVersion } = await peer.request("initialize", params);
  peer.notify("notifications/initialized");
  await peer.request("tools/list");
  console.log(protocolVersion);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  peer.destroy();
}
