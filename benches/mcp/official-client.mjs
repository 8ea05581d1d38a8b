// Runs the client of the npm package @modelcontextprotocol/client: `node official-client.mjs call`. The Rust program in
// `src` has a part of the same name, with the same commands and answers. PORTWAY_PEERS names the folder in which the
// packages of tests/peers/package.json are installed.

import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const { PORTWAY_PEERS } = process.env;
if (!PORTWAY_PEERS) throw new Error("PORTWAY_PEERS must be set, but is not; run `cargo xtask bench --only mcp`");
const require = createRequire(join(PORTWAY_PEERS, "package.json"));
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

// All pending calls add listeners to one signal. Without the next line, Node would print warnings about these
// listeners.
process.removeAllListeners("warning");

const MODES = { legacy: "legacy", modern: { pin: "2026-07-28" } };

console.log("{}");
for await (const line of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(await call(...line.split(" "))));

function transportOf(kind, [first, ...args]) {
  if (kind === "http") return new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${first}/mcp`));
  return new StdioClientTransport({ command: first, args });
}

async function call(count, depth, era, kind, ...target) {
  const total = Number(count);
  const client = new Client({ name: "benchmark", version: "1.0.0" }, { versionNegotiation: { mode: MODES[era] } });
  await client.connect(transportOf(kind, target));
  const start = performance.now();
  let started = 0;
  const makeCalls = async () => {
    while (started < total) {
      const values = { number: started++, text: "hello" };
      const { content } = await client.callTool({ name: "echo", arguments: values });
      const expected = JSON.stringify(values);
      if (content[0].text !== expected) throw new Error(`the text must be ${expected}, got ${content[0].text}`);
    }
  };
  await Promise.all(Array.from({ length: Math.min(total, Number(depth)) }, makeCalls));
  const rps = total / ((performance.now() - start) / 1e3);
  await client.close();
  return { rps };
}
