// Pages without a bundler: modules straight out of node_modules, in pages, workers and frames.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { visit } from "../browser.mjs";
import { withSite } from "../site.mjs";
import { runTool } from "../tool.mjs";

export default async function plain(suite, { installation, browser }) {
  const app = await suite.test("npm installs the tarball into a plain page", () => installation.app("plain"));
  if (!app) return;
  const opens = async (path, outcome, options) =>
    withSite(app, async (url) => assert.deepEqual(await visit(browser, url + path), { outcome, faults: [] }), options);
  const greetings = { worker: "worker greets page", frame: "frame greets page" };

  await suite.test("a plain page calls a module worker and a frame, and is called back", () => opens("", greetings));

  await suite.test("a plain page finds the package by an import map", () => opens("import-map.html", "hello, map"));

  await suite.test("a module worker alone serves a page that knows only JSON-RPC", () =>
    opens("alone.html", ["who", "worker greets hand"]),
  );

  await suite.test("a server that knows no MIME type of wasm is good enough", () =>
    opens("", greetings, { types: { ".wasm": "application/octet-stream" } }),
  );

  await suite.test("a sandboxed srcdoc frame works with the inline entry bundled into it", async () => {
    const args = ["sandboxed-frame.js", "--bundle", "--format=esm", "--outfile=frame-bundle.js"];
    await runTool("esbuild", args, { cwd: app });
    const script = await readFile(join(app, "frame-bundle.js"), "utf8");
    assert.ok(!script.includes("</script"), "the bundle would end its own script element");
    await writeFile(join(app, "bundled-frame.html"), `<!doctype html><script type="module">${script}</script>`);
    await opens("sandboxed.html?frame=bundled-frame.html", "null frame greets page");
  });

  await suite.test("a sandboxed srcdoc frame works with the inline entry imported by its address", async () => {
    const script = await readFile(join(app, "sandboxed-frame.js"), "utf8");
    const text = script.replace('"./node_modules', '"PAGE/node_modules');
    await writeFile(join(app, "importing-frame.html"), `<!doctype html><script type="module">${text}</script>`);
    // The frame has no origin, so that for it every module is one of another origin.
    const headers = { "Access-Control-Allow-Origin": "*" };
    await opens("sandboxed.html?frame=importing-frame.html", "null frame greets page", { headers });
  });
}
