// Connects `portway/mcp` to official MCP servers over HTTP: `node tests/peers/mcp-http/run.mjs <engine|node>`. The
// servers are `server-everything`, which begins with `initialize`, and a server on the Python package `mcp`, which
// serves both eras. PORTWAY_PEERS names the folder with the packages of tests/peers/package.json, and PORTWAY_PYTHON
// names a Python with the packages of requirements.txt. Run `cargo xtask build` first.

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Mocha from "mocha";
import { startBrowser } from "../../web/runner/browsers.mjs";
import { watch } from "../../web/runner/in-browser.mjs";
import { startServers } from "../../web/runner/server.mjs";
import { Tally } from "../../web/runner/tally.js";

const { PORTWAY_PEERS, PORTWAY_PYTHON, PORTWAY_REPORT } = process.env;
const [engine = "node"] = process.argv.slice(2);
if (!PORTWAY_PEERS || !PORTWAY_PYTHON) {
  console.error("PORTWAY_PEERS and PORTWAY_PYTHON must be set, but are not; run `cargo xtask test --only mcp`");
  process.exit(2);
}
const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const SPEC = "servers.test.js";
/** Maximum time until a server listens. */
const START_MS = 60_000;

const processes = [];

/** Starts a server on a free port, and returns its URL. */
async function start(command, args, env) {
  const port = await freePort();
  const words = args.map((arg) => (arg === "PORT" ? `${port}` : arg));
  processes.push(spawn(command, words, { env: { ...process.env, ...env(port) }, stdio: "ignore" }));
  for (const deadline = Date.now() + START_MS; !(await isOpen(port)); ) {
    if (Date.now() > deadline) throw new Error(`${command} must listen on port ${port}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return `http://127.0.0.1:${port}/mcp`;
}

function freePort() {
  const server = createServer();
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    }),
  );
}

function isOpen(port) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
    socket.on("connect", () => socket.end());
  });
}

async function runInBrowser(urls) {
  const servers = await startServers();
  let browser;
  try {
    browser = await startBrowser(engine);
    const query = new URLSearchParams({ specs: `../peers/mcp-http/${SPEC}`, ...urls });
    await browser.driver.get(`${servers.origins.own}/tests/web/runner/page.html?${query}`);
    return await watch(browser.driver);
  } finally {
    await browser?.stop();
    servers.stop();
  }
}

async function runInNode(urls) {
  globalThis.mcpServers = urls;
  const mocha = new Mocha({ timeout: 30_000, reporter: class {}, failZero: true });
  mocha.addFile(path(SPEC));
  await mocha.loadFilesAsync();
  const tally = new Tally();
  await new Promise((done) => tally.follow(mocha.run(done), () => SPEC));
  return tally;
}

let outcome;
try {
  const script = join(PORTWAY_PEERS, "node_modules/@modelcontextprotocol/server-everything/dist/index.js");
  const [everything, python] = await Promise.all([
    start(process.execPath, [script, "streamableHttp"], (port) => ({ PORT: `${port}` })),
    start(PORTWAY_PYTHON, [path("../mcp/server.py"), "PORT", "cors"], () => ({})),
  ]);
  outcome = await (engine === "node" ? runInNode : runInBrowser)({ everything, python });
} finally {
  for (const child of processes) child.kill("SIGKILL");
}
const { passed, failures } = outcome;
for (const { name, message } of failures) console.log(`\n✗ ${name}\n${message.replace(/^/gm, "    ")}`);
console.log(`\n${engine}: ${passed} passed, ${failures.length} failed`);
if (PORTWAY_REPORT) writeFileSync(PORTWAY_REPORT, JSON.stringify({ passed, failed: failures.length, failures }));
process.exit(failures.length === 0 && passed > 0 ? 0 : 1);
