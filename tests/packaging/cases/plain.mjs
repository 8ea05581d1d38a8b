// Tests the package without a bundler. Pages, workers and iframes import the modules directly from node_modules.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { visit } from "../browser.mjs";
import { withSite } from "../site.mjs";
import { runTool } from "../tool.mjs";

export default async function plain(suite, { installation, browser }) {
  const app = await suite.test("npm installs the tarball into a plain page", () => installation.app("plain"));
  if (!app) return;
  const assertOutcome = async (path, outcome, options) =>
    withSite(app, async (url) => assert.deepEqual(await visit(browser, url + path), { outcome, faults: [] }), options);
  const greetings = { worker: "worker greets page", frame: "frame greets page" };

  await suite.test("a plain page calls a module worker and an iframe, and both call the page", () =>
    assertOutcome("", greetings),
  );

  await suite.test("a plain page imports the package by an import map", () =>
    assertOutcome("import-map.html", "hello, map"),
  );

  await suite.test("a module worker serves a page that sends JSON-RPC without a library", () =>
    assertOutcome("alone.html", ["who", "worker greets hand"]),
  );

  await suite.test("the package works on a server that sends a wrong MIME type for wasm", () =>
    assertOutcome("", greetings, { types: { ".wasm": "application/octet-stream" } }),
  );

  await suite.test("a sandboxed srcdoc iframe works with the inline entry bundled into its script", async () => {
    const args = ["sandboxed-frame.js", "--bundle", "--format=esm", "--outfile=frame-bundle.js"];
    await runTool("esbuild", args, { cwd: app });
    const script = await readFile(join(app, "frame-bundle.js"), "utf8");
    assert.ok(!script.includes("</script"), "the bundle must not contain </script");
    await writeFile(join(app, "bundled-frame.html"), `<!doctype html><script type="module">${script}</script>`);
    await assertOutcome("sandboxed.html?frame=bundled-frame.html", "null frame greets page");
  });

  await suite.test("a sandboxed srcdoc iframe works with the inline entry imported by its address", async () => {
    const script = await readFile(join(app, "sandboxed-frame.js"), "utf8");
    const text = script.replace('"./node_modules', '"PAGE/node_modules');
    await writeFile(join(app, "importing-frame.html"), `<!doctype html><script type="module">${text}</script>`);
    // The iframe has no origin, so each module has another origin than the iframe.
    const headers = { "Access-Control-Allow-Origin": "*" };
    await assertOutcome("sandboxed.html?frame=importing-frame.html", "null frame greets page", { headers });
  });
}
