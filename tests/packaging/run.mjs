// Runs the packaging suite: `node tests/packaging/run.mjs`. The suite packs pkg/, and installs the tarball into small
// apps, as a user would. It builds each app with the tool of the app, and runs the result in Chromium or in Node.
//
// Arguments select groups of tests: `node tests/packaging/run.mjs vite node`.

import { launch } from "./browser.mjs";
import { Installation } from "./installation.mjs";
import { Suite } from "./suite.mjs";

const groups = [
  "facts",
  "surface",
  "node",
  "vite",
  "webpack",
  "esbuild",
  "rollup",
  "plain",
  "policy",
  "guest",
  "wasm-pack",
  "rust",
];
const selectedGroups = process.argv.slice(2);

const suite = new Suite();
const installation = await suite.test("npm packs the package", () => Installation.make());
if (installation) {
  const browser = await launch();
  try {
    for (const name of groups.filter((name) => selectedGroups.length === 0 || selectedGroups.includes(name))) {
      const { default: group } = await import(`./cases/${name}.mjs`);
      await group(suite, { installation, browser });
    }
  } finally {
    await browser.close();
    await installation.remove();
  }
}
process.exitCode = suite.finish() ? 0 : 1;
