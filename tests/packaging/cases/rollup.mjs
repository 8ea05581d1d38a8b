// Tests bundles of Rollup with only the plugin that finds packages. Like esbuild, Rollup does not copy the wasm.

import { nodeResolve } from "@rollup/plugin-node-resolve";
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rollup } from "rollup";
import { withSite } from "../site.mjs";
import { assertWorks, withInlineEntry } from "../bundled-app.mjs";

const html = '<!doctype html><title>Portway</title><script type="module" src="index.js"></script>';

export default async function withRollup(suite, { installation, browser }) {
  const build = async (copy, rewrite) => {
    const app = await installation.app("bundled", copy, rewrite);
    const bundle = await rollup({
      input: [join(app, "src/index.js"), join(app, "src/worker.js")],
      plugins: [nodeResolve()],
      onwarn: ({ message }) => Promise.reject(new Error(message)),
    });
    await bundle.write({ dir: join(app, "dist"), format: "es", chunkFileNames: "[name].js" });
    await bundle.close();
    await writeFile(join(app, "dist/index.html"), html);
    return app;
  };

  await suite.test("a Rollup bundle works with the wasm copied beside it", async () => {
    const app = await build("rollup-copied");
    await copyFile(join(app, "node_modules/portway/portway_bg.wasm"), join(app, "dist/portway_bg.wasm"));
    await withSite(join(app, "dist"), (url) => assertWorks(browser, url));
  });

  await suite.test("a Rollup bundle works with the inline entry and no other file", async () => {
    const app = await build("rollup-inline", withInlineEntry);
    await withSite(join(app, "dist"), (url) => assertWorks(browser, url));
  });
}
