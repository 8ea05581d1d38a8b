// The packaging suite: `node tests/packaging/run.mjs`. Packs pkg/, installs the tarball into small apps as a user
// would, builds each with its tool, and lets the result make real calls in Chromium and in Node.
//
// Names of groups as arguments run only those: `node tests/packaging/run.mjs vite node`.

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
const asked = process.argv.slice(2);

const suite = new Suite();
const installation = await suite.test("npm packs the package", () => Installation.make());
if (installation) {
  const browser = await launch();
  try {
    for (const name of groups.filter((name) => asked.length === 0 || asked.includes(name))) {
      const { default: group } = await import(`./cases/${name}.mjs`);
      await group(suite, { installation, browser });
    }
  } finally {
    await browser.close();
    await installation.remove();
  }
}
process.exitCode = suite.finish() ? 0 : 1;
