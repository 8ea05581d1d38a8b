// Builds the example, and drives it in headless Chromium: `node examples/rust-worker/check.mjs`.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "../../tests/chromium.mjs";

const folder = new URL("./", import.meta.url);
const types = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };
const failures = [];

try {
  await check();
  console.log("✓ a page and a worker in Rust");
} catch (error) {
  console.error(`✗ a page and a worker in Rust\n${error.stack}`);
  failures.push({ name: "a page and a worker in Rust", message: error.message });
}
const report = { passed: 1 - failures.length, failed: failures.length, failures };
if (process.env.PORTWAY_REPORT) await writeFile(process.env.PORTWAY_REPORT, JSON.stringify(report));
process.exitCode = failures.length;

async function check() {
  const build = spawnSync("wasm-pack", ["build", "--target", "web"], { cwd: fileURLToPath(folder), stdio: "inherit" });
  assert.notEqual(build.error?.code, "ENOENT", 'wasm-pack is not in PATH; in the repository: eval "$(cargo xtask env)"');
  assert.equal(build.status, 0, `wasm-pack: ${build.error?.message ?? `exit status ${build.status}`}`);
  const server = createServer(serve).listen(0, "127.0.0.1");
  const browser = await launch();
  try {
    const page = await browser.newPage();
    const trouble = [];
    page.on("pageerror", (error) => trouble.push(error.message));
    page.on("console", (message) => message.type() === "error" && trouble.push(message.text()));
    await page.goto(`http://127.0.0.1:${server.address().port}/index.html`);
    const says = (id, text) => page.locator(`#${id}`, { hasText: text }).waitFor({ timeout: 30_000 });
    await says("after", "And 4 below 10.").catch((error) => assert.fail([error.message, ...trouble].join("\n")));
    await says("count", "There are 17984 primes below 200 000.");
    await says("error", "4294967295 is more than 10000000 (-32602)");
    assert.equal(await page.getAttribute("#progress", "value"), "0.95");
    assert.deepEqual(trouble, []);
  } finally {
    await browser.close();
    server.close();
    server.closeAllConnections();
  }
}

async function serve({ url }, response) {
  const file = new URL(`.${new URL(url, "http://host").pathname}`, folder);
  try {
    const bytes = await readFile(file);
    response.writeHead(200, { "content-type": types[extname(file.pathname)] ?? "application/octet-stream" }).end(bytes);
  } catch {
    response.writeHead(404).end();
  }
}
