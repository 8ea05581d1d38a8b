// Runs language servers in workers of a browser: `node tests/peers/language-workers/run.mjs [engine]`. The specs test
// the built package, so `cargo xtask build` must run before. The official libraries are in node_modules of the root.

import { build } from "esbuild";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startBrowser } from "../../web/runner/browsers.mjs";
import { watch } from "../../web/runner/in-browser.mjs";
import { startServers } from "../../web/runner/server.mjs";

const [engine = "chromium"] = process.argv.slice(2);
const path = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Bundles a file into target/language-workers. The official server runs in a classic worker, as Monaco starts it. */
const bundle = (name, format) =>
  build({
    entryPoints: [path(name)],
    alias: { "portway/inline": path("../../../pkg/inline.js") },
    outdir: path("../../../target/language-workers"),
    bundle: true,
    format,
    target: "es2022",
  });

async function run() {
  await Promise.all([
    bundle("css-worker.js", "iife"),
    bundle("portway-worker.js", "esm"),
    bundle("official-client.js", "esm"),
  ]);
  const servers = await startServers();
  let browser;
  try {
    browser = await startBrowser(engine);
    const specs = "../peers/language-workers/language-workers.test.js";
    await browser.driver.get(`${servers.origins.own}/tests/web/runner/page.html?${new URLSearchParams({ specs })}`);
    return await watch(browser.driver);
  } finally {
    await browser?.stop();
    servers.stop();
  }
}

const { passed, failures } = await run();
for (const { name, message } of failures) console.log(`\n✗ ${name}\n${message.replace(/^/gm, "    ")}`);
console.log(`\n${engine}: ${passed} passed, ${failures.length} failed`);
const { PORTWAY_REPORT } = process.env;
if (PORTWAY_REPORT) writeFileSync(PORTWAY_REPORT, JSON.stringify({ passed, failed: failures.length, failures }));
process.exit(failures.length === 0 && passed > 0 ? 0 : 1);
