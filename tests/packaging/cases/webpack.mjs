// Tests webpack 5 with its defaults, without loaders, experiments or a configuration file.

import { writeFile } from "node:fs/promises";
import { withSite } from "../site.mjs";
import { runTool } from "../tool.mjs";
import { assertWorks, withTopLevelAwait } from "../bundled-app.mjs";

const html = '<!doctype html><title>Portway</title><script defer src="main.js"></script>';

export default async function webpack(suite, { installation, browser }) {
  for (const mode of ["production", "development"]) {
    await suite.test(`a webpack ${mode} build works without configuration`, async () => {
      const app = await installation.app("bundled", `webpack-${mode}`, withTopLevelAwait);
      await runTool("webpack", ["build", "--mode", mode], { cwd: app });
      await writeFile(`${app}/dist/index.html`, html);
      await withSite(`${app}/dist`, (url) => assertWorks(browser, url));
    });
  }
}
