// Code that the checks of the examples share. It runs wasm-pack, opens a page in headless Chromium, and reports
// results.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "../tests/chromium.mjs";

const root = new URL("../", import.meta.url);
const types = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };

/**
 * Runs named checks, one after the other, prints their results, and sets the exit code of the process. If
 * `PORTWAY_REPORT` names a file, the function also writes the results to this file.
 */
export async function report(checks) {
  const failures = [];
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
      console.log(`✓ ${name}`);
    } catch (error) {
      console.error(`✗ ${name}\n${error.stack}`);
      failures.push({ name, message: error.message });
    }
  }
  const [failed, all] = [failures.length, Object.keys(checks).length];
  const path = process.env.PORTWAY_REPORT;
  if (path) await writeFile(path, JSON.stringify({ passed: all - failed, failed, failures }));
  process.exitCode = failed === 0 ? 0 : 1;
}

/** Builds the example in a folder with wasm-pack. */
export function wasmPack(folder) {
  const build = spawnSync("wasm-pack", ["build", "--target", "web"], { cwd: fileURLToPath(folder), stdio: "inherit" });
  assert.notEqual(
    build.error?.code,
    "ENOENT",
    'wasm-pack must be in PATH; in the repository, run eval "$(cargo xtask env)"',
  );
  assert.equal(build.status, 0, `wasm-pack: ${build.error?.message ?? `exit status ${build.status}`}`);
}

/**
 * Opens a page of the repository and calls `check(page, waitForText, errors)`. `waitForText(id, text)` waits until the
 * element with this id contains the text, and fails after 30 s. `errors` contains the errors of the page. `check` may
 * remove expected errors from this array. Any other error is a failure. `prepare(origin)` may start a server for the
 * page, and returns the query of the page's URL. Returns the result of `check`.
 */
export async function inPage(file, check, prepare = () => "") {
  const server = createServer(serve).listen(0, "127.0.0.1");
  const browser = await launch();
  try {
    const page = await browser.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    const origin = `http://127.0.0.1:${server.address().port}`;
    await page.goto(`${origin}${file.pathname.slice(root.pathname.length - 1)}${await prepare(origin)}`);
    const waitForText = (id, text) =>
      page
        .locator(`#${id}`, { hasText: text })
        .waitFor({ timeout: 30_000 })
        .catch((error) => assert.fail([error.message, ...errors].join("\n")));
    const result = await check(page, waitForText, errors);
    assert.deepEqual(errors, []);
    return result;
  } finally {
    await browser.close();
    server.close();
    server.closeAllConnections();
  }
}

/** Answers an HTTP request with a file of the repository. */
async function serve({ url }, response) {
  const file = new URL(`.${new URL(url, "http://host").pathname}`, root);
  try {
    const bytes = await readFile(file);
    response.writeHead(200, { "content-type": types[extname(file.pathname)] ?? "application/octet-stream" }).end(bytes);
  } catch {
    response.writeHead(404).end();
  }
}
