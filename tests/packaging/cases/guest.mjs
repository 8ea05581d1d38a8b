// Tests WASI guests in bundles. Vite and webpack bundle the script of the worker. For esbuild, the test copies it.

import assert from "node:assert/strict";
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createServer } from "vite";
import { visit } from "../browser.mjs";
import { withSite } from "../site.mjs";
import { runTool } from "../tool.mjs";

const headers = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };
const html = (script) =>
  `<!doctype html><title>A guest</title><link rel="icon" href="data:,"><script type="module" src="${script}"></script>`;

export default async function guest(suite, { installation, browser }) {
  const assertWorks = async (url) => assert.deepEqual(await visit(browser, url), { outcome: { code: 7 }, faults: [] });
  const assertBuildWorks = (app) => withSite(join(app, "dist"), assertWorks, { headers });

  await suite.test("a WASI guest runs in a Vite build without configuration", async () => {
    const app = await installation.app("guest", "guest-vite");
    await runTool("vite", ["build", "--target", "es2022"], { cwd: app });
    await assertBuildWorks(app);
  });

  await suite.test("a WASI guest runs on a Vite development server if only the headers are configured", async () => {
    const root = await installation.app("guest", "guest-vite-server");
    const server = await createServer({
      configFile: false,
      logLevel: "error",
      root,
      server: { host: "127.0.0.1", port: 0, headers },
    });
    try {
      await server.listen();
      await assertWorks(server.resolvedUrls.local[0]);
    } finally {
      await server.close();
    }
  });

  await suite.test("a WASI guest runs in a webpack build without configuration", async () => {
    const app = await installation.app("guest", "guest-webpack");
    await runTool("webpack", ["build", "--mode", "production"], { cwd: app });
    await writeFile(join(app, "dist/index.html"), html("main.js"));
    await assertBuildWorks(app);
  });

  await suite.test(
    "a WASI guest runs in an esbuild bundle with the script of the worker copied beside it",
    async () => {
      const app = await installation.app("guest", "guest-esbuild");
      await runTool("esbuild", ["src/index.js", "--bundle", "--format=esm", "--outdir=dist"], { cwd: app });
      await writeFile(join(app, "dist/index.html"), html("index.js"));
      await copyFile(join(app, "node_modules/portway/wasi-worker.js"), join(app, "dist/wasi-worker.js"));
      await assertBuildWorks(app);
    },
  );
}
