// Uses an MCP server with the official client: `node tests/peers/mcp/client.mjs MODE TARGET`. MODE is `legacy`, `auto`
// or a version, and TARGET is a URL or a program. PORTWAY_PEERS names the folder in which the packages of
// tests/peers/package.json are installed. The server is examples/mcp-conformance-server.rs.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";

const { PORTWAY_PEERS } = process.env;
if (!PORTWAY_PEERS) throw new Error("PORTWAY_PEERS must name the folder of the packages; run `cargo xtask test`");
const require = createRequire(join(PORTWAY_PEERS, "package.json"));
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const [mode, target] = process.argv.slice(2);
const isHttp = target.startsWith("http");
const httpTransport = () => new StreamableHTTPClientTransport(new URL(target));
const transport = isHttp ? httpTransport() : new StdioClientTransport({ command: target });
const negotiation = { mode: mode === "legacy" || mode === "auto" ? mode : { pin: mode } };
const capabilities = { elicitation: { form: {} }, roots: {} };
const client = new Client({ name: "client", version: "1.0.0" }, { capabilities, versionNegotiation: negotiation });
const errors = [];
client.onerror = (error) => errors.push(error);
client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: "Ada", username: "Ada" } }));
client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///project", name: "a project" }] }));

await client.connect(transport);
const version = client.getNegotiatedProtocolVersion();
assert.equal(client.getServerVersion().name, "portway-conformance");
const { tools } = await client.listTools();
assert.ok(tools.some(({ name }) => name === "test_simple_text"));
const call = async (name, values, options) => {
  const { content } = await client.callTool({ name, arguments: values }, options);
  return content[0].text;
};
assert.match(await call("test_simple_text"), /simple text/);
assert.equal(await call("test_x_mcp_header", { region: "Zürich" }), '{"region":"Zürich"}');
const progress = [];
await call("test_tool_with_progress", {}, { onprogress: ({ progress: value }) => progress.push(value) });
assert.deepEqual(progress, [0, 50, 100]);
assert.match(await call("test_elicitation", { message: "name?" }), /Ada/);
assert.match(await call("test_input_required_result_list_roots"), /file:\/\/\/project/);
assert.match(await call("test_input_required_result_multi_round"), /Ada.*Ada/);
await assert.rejects(call("test_missing_capability"), { code: -32021 });
assert.equal((await client.callTool({ name: "test_error_handling" })).isError, true);
await assert.rejects(client.callTool({ name: "nothing" }), { code: -32602 });
const read = await client.readResource({ uri: "test://template/7/data" });
assert.equal(JSON.parse(read.contents[0].text).id, "7");
const prompt = await client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "é" } });
assert.match(prompt.messages[0].content.text, /arg2='é'/);
const controller = new AbortController();
const aborted = client.callTool({ name: "test_tool_with_progress" }, { signal: controller.signal });
controller.abort(new Error("no longer needed"));
await assert.rejects(aborted);
assert.match(await call("test_simple_text"), /simple text/);
await client.close();
assert.deepEqual(errors, []);
console.log("ok", version);
process.exit(0);
