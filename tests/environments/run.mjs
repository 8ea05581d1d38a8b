// Runs the environments suite: `node tests/environments/run.mjs`. The suite tests the packed package with the code of
// docs/environments.md. It uses the test runners, frameworks, bundlers and runtimes of that page. package.json in this
// folder lists their npm packages. PORTWAY_ENVIRONMENTS names the folder in which these packages are installed.
// `cargo xtask test --only environments` installs them and sets this variable.
//
// Arguments select groups of tests: `node tests/environments/run.mjs vitest jest`.

import { launch } from "../packaging/browser.mjs";
import { Suite } from "../packaging/suite.mjs";
import { TestFolder } from "./environment.mjs";

const groups = ["node", "vitest", "jest", "sinon", "frameworks", "bundles", "runtimes", "browser"];
const selectedGroups = process.argv.slice(2);

const suite = new Suite();
const testFolder = await suite.test("the package can be packed and installed", () => TestFolder.make());
if (testFolder) {
  try {
    for (const name of groups.filter((name) => selectedGroups.length === 0 || selectedGroups.includes(name))) {
      const { default: group } = await import(`./cases/${name}.mjs`);
      await group(suite, testFolder, launch);
    }
    if (selectedGroups.length === 0) {
      await suite.test("the tests used every code block of docs/environments.md", () =>
        testFolder.codeBlocks.assertAllUsed(),
      );
    }
  } finally {
    await testFolder.remove();
  }
}
process.exitCode = suite.finish() ? 0 : 1;
