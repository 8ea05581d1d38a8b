// The environments suite: `node tests/environments/run.mjs`. Runs the packed package under the test runners,
// frameworks, bundlers and runtimes of docs/environments.md, with the code of that page. package.json beside this file
// lists them; PORTWAY_ENVIRONMENTS is the folder where they are installed (`cargo xtask test --only environments` does
// that).
//
// Names of groups as arguments run only those: `node tests/environments/run.mjs vitest jest`.

import { launch } from "../packaging/browser.mjs";
import { Suite } from "../packaging/suite.mjs";
import { Environment } from "./environment.mjs";

const groups = ["node", "vitest", "jest", "sinon", "frameworks", "bundles", "runtimes", "browser"];
const asked = process.argv.slice(2);

const suite = new Suite();
const environment = await suite.test("the package is packed and installed beside the other packages", () =>
  Environment.make(),
);
if (environment) {
  try {
    for (const name of groups.filter((name) => asked.length === 0 || asked.includes(name))) {
      const { default: group } = await import(`./cases/${name}.mjs`);
      await group(suite, environment, launch);
    }
    if (asked.length === 0) {
      await suite.test("all code of the page was run", () => environment.page.assertAllTaken());
    }
  } finally {
    await environment.remove();
  }
}
process.exitCode = suite.finish() ? 0 : 1;
