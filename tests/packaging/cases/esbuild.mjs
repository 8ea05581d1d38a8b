// Tests bundles of esbuild, which does not copy the wasm. The tests copy the wasm beside the bundle, import it by a
// loader, or use the inline entry.

import assert from "node:assert/strict";
import { copyFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withSite } from "../site.mjs";
import { runTool } from "../tool.mjs";
import { assertWorks, withInlineEntry, withTopLevelAwait } from "../bundled-app.mjs";

const html = '<!doctype html><title>Portway</title><script type="module" src="index.js"></script>';
const bundle = ["src/index.js", "src/worker.js", "--bundle", "--minify", "--format=esm", "--outdir=dist"];

export default async function esbuild(suite, { installation, browser }) {
  const build = async (copy, { rewrite, options = [] } = {}) => {
    const app = await installation.app("bundled", copy, rewrite);
    await runTool("esbuild", [...bundle, ...options], { cwd: app });
    await writeFile(join(app, "dist/index.html"), html);
    return app;
  };

  await suite.test("an esbuild bundle works with the wasm copied beside it", async () => {
    const app = await build("esbuild-copied", { rewrite: withTopLevelAwait });
    await copyFile(join(app, "node_modules/portway/portway_bg.wasm"), join(app, "dist/portway_bg.wasm"));
    await withSite(join(app, "dist"), (url) => assertWorks(browser, url));
  });

  await suite.test("an esbuild bundle works with the wasm imported by the file loader", async () => {
    const importOfWasm = 'import wasm from "portway/portway_bg.wasm";\n';
    const rewrite = (source) =>
      source.includes("init()")
        ? importOfWasm + source.replace("init()", "init(new URL(wasm, import.meta.url))")
        : source;
    const app = await build("esbuild-loaded", { rewrite, options: ["--loader:.wasm=file"] });
    await withSite(join(app, "dist"), (url) => assertWorks(browser, url));
  });

  await suite.test("an esbuild bundle works with the inline entry and no other file", async () => {
    const app = await build("esbuild-inline", { rewrite: withInlineEntry });
    assert.deepEqual((await readdir(join(app, "dist"))).sort(), ["index.html", "index.js", "worker.js"]);
    await withSite(join(app, "dist"), (url) => assertWorks(browser, url));
  });
}
