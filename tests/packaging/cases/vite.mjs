// Tests Vite: the production build, and the development server, which bundles packages in advance.

import { build, createServer } from "vite";
import { withSite } from "../site.mjs";
import { runTool } from "../tool.mjs";
import { assertWorks, withTopLevelAwait } from "../bundled-app.mjs";

export default async function vite(suite, { installation, browser }) {
  await suite.test("a Vite build works without configuration", async () => {
    const app = await installation.app("bundled", "vite-build");
    await runTool("vite", ["build"], { cwd: app });
    await withSite(`${app}/dist`, (url) => assertWorks(browser, url));
  });

  // By default, Vite builds classic workers, which cannot await at the top level.
  await suite.test('a worker with a top-level await works in a Vite build with worker.format "es"', async () => {
    const app = await installation.app("bundled", "vite-await", withTopLevelAwait);
    await build({ configFile: false, logLevel: "error", root: app, worker: { format: "es" } });
    await withSite(`${app}/dist`, (url) => assertWorks(browser, url));
  });

  await suite.test("a Vite development server works without configuration", async () => {
    const app = await installation.app("bundled", "vite-server");
    await withVite({ root: app }, (url) => assertWorks(browser, url));
  });

  // Versions of Vite before 8 lose the wasm when they bundle the package in advance, so they need the option `exclude`.
  await suite.test("a Vite development server works with the package excluded from its bundling", async () => {
    const app = await installation.app("bundled", "vite-excluded");
    await withVite({ root: app, optimizeDeps: { exclude: ["portway"] } }, (url) => assertWorks(browser, url));
  });
}

async function withVite(options, visit) {
  const address = { host: "127.0.0.1", port: 0 };
  const server = await createServer({ configFile: false, logLevel: "error", server: address, ...options });
  try {
    await server.listen();
    await visit(server.resolvedUrls.local[0]);
  } finally {
    await server.close();
  }
}
