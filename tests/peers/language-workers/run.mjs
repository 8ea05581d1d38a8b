// Runs language servers in workers of a browser, and the code of docs/language-servers.md: `node
// tests/peers/language-workers/run.mjs [engine]`. The specs test the built package, so run `cargo xtask build` first.
// The official libraries are in node_modules of the root. PORTWAY_MONACO names the folder in which the package of
// tests/monaco is installed.

import { build } from "esbuild";
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startBrowser } from "../../web/runner/browsers.mjs";
import { watch } from "../../web/runner/in-browser.mjs";
import { startServers } from "../../web/runner/server.mjs";

const { PORTWAY_MONACO } = process.env;
if (!PORTWAY_MONACO) throw new Error("PORTWAY_MONACO must name the folder of the editor; run `cargo xtask test`");

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

/** Writes the code of docs/language-servers.md to target/language-workers/docs, and bundles each file. */
async function bundlePage() {
  const page = readFileSync(path("../../../docs/language-servers.md"), "utf8");
  const files = [...page.matchAll(/^```js (\S+\.js)\n(.*?)^```$/gms)].map(([, file, text]) => ({ file, text }));
  assert.equal(files.length, page.match(/^```\w/gm).length, "each block of code must name a file");
  files.push({ file: "editor.worker.js", text: 'import "monaco-editor/editor/editor.worker.js";' });
  const root = path("../../../");
  const outdir = `${root}target/language-workers/docs`;
  const source = `${root}target/language-workers/source`;
  rmSync(source, { recursive: true, force: true });
  mkdirSync(`${source}/node_modules`, { recursive: true });
  symlinkSync(`${root}pkg`, `${source}/node_modules/portway`);
  for (const { file, text } of files) writeFileSync(`${source}/${file}`, text);
  await build({
    entryPoints: files.map(({ file }) => `${source}/${file}`),
    nodePaths: [`${root}node_modules`, join(PORTWAY_MONACO, "node_modules")],
    loader: { ".ttf": "dataurl" },
    outdir,
    bundle: true,
    format: "esm",
    target: "es2022",
    logLevel: "error",
  });
  copyFileSync(`${root}pkg/portway_bg.wasm`, `${outdir}/portway_bg.wasm`);
}

async function run() {
  await Promise.all([
    bundlePage(),
    bundle("css-worker.js", "iife"),
    bundle("portway-worker.js", "esm"),
    bundle("official-client.js", "esm"),
  ]);
  const servers = await startServers();
  let browser;
  try {
    browser = await startBrowser(engine);
    const specs = ["language-workers", "docs"].map((name) => `../peers/language-workers/${name}.test.js`).join();
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
