// Runs the specs of MCP Apps in a browser: `node tests/mcp-apps/run.mjs <chromium|firefox|webkit> [part of a spec's
// name]`. The specs test the built package with the official classes of MCP Apps, so run `cargo xtask build` first.
// PORTWAY_MCP_APPS names the folder in which the packages of package.json are installed.

import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startBrowser } from "../web/runner/browsers.mjs";
import { watch } from "../web/runner/in-browser.mjs";
import { startServers } from "../web/runner/server.mjs";
import { buildAll } from "./build.mjs";
import { startServer } from "./server.mjs";

const { PORTWAY_MCP_APPS, PORTWAY_REPORT } = process.env;
const [engine, part = ""] = process.argv.slice(2);
if (!["chromium", "firefox", "webkit"].includes(engine)) {
  console.error("usage: node tests/mcp-apps/run.mjs <chromium|firefox|webkit> [part of a spec's name]");
  process.exit(2);
}
if (!PORTWAY_MCP_APPS) {
  console.error("PORTWAY_MCP_APPS must name the folder of the packages, but is not set; run `cargo xtask test`");
  process.exit(2);
}
if (!existsSync(new URL("../../pkg/package.json", import.meta.url))) {
  console.error("pkg/ must exist, but it is missing; run `cargo xtask build`");
  process.exit(2);
}
const specs = readdirSync(fileURLToPath(new URL(".", import.meta.url)))
  .filter((file) => file.endsWith(".test.js") && file.includes(part))
  .sort()
  .map((file) => `../mcp-apps/${file}`);
if (specs.length === 0) {
  console.error(`a spec must have "${part}" in its name, but none has; name another part`);
  process.exit(2);
}

async function run() {
  await buildAll(PORTWAY_MCP_APPS);
  const server = await startServer(PORTWAY_MCP_APPS);
  const servers = await startServers(server.handle);
  let browser;
  try {
    browser = await startBrowser(engine);
    const query = new URLSearchParams({ specs: specs.join(), ...servers.origins });
    await browser.driver.get(`${servers.origins.own}/tests/web/runner/page.html?${query}`);
    return await watch(browser.driver);
  } finally {
    await browser?.stop();
    servers.stop();
    server.stop();
  }
}

const startTime = Date.now();
const { passed, failures, files } = await run();
for (const [file, { passed, failed }] of Object.entries(files))
  console.log(`${failed === 0 ? "  ok  " : "  FAIL"} ${file}: ${passed} passed, ${failed} failed`);
for (const { name, message } of failures) console.log(`\n✗ ${name}\n${message.replace(/^/gm, "    ")}`);
const seconds = ((Date.now() - startTime) / 1000).toFixed(1);
console.log(`\n${engine}: ${passed} passed, ${failures.length} failed in ${seconds} s`);
if (PORTWAY_REPORT) writeFileSync(PORTWAY_REPORT, JSON.stringify({ passed, failed: failures.length, failures }));
process.exit(failures.length === 0 && passed > 0 ? 0 : 1);
