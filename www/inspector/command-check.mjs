// The check of the page that the command serves: `node www/inspector/command-check.mjs [chromium|firefox|webkit]
// [PART]`. Only the steps whose names contain PART run. PORTWAY_CLI is the path of a `portway` that contains the page,
// and PORTWAY_PYLSP is the path of pylsp. Screenshots are written to target/inspector-check/.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Suite } from "../../tests/packaging/suite.mjs";
import { startBrowser } from "../../tests/web/runner/browsers.mjs";
import { commandSteps } from "./check/command-steps.mjs";
import { InspectorPage } from "./check/page.mjs";

const engine = process.argv[2] ?? "chromium";
const part = process.argv[3] ?? "";
const shots = fileURLToPath(new URL("../../target/inspector-check/", import.meta.url));
mkdirSync(shots, { recursive: true });

const suite = new Suite();
await suite.test("the package of the command contains the page", async () => {
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const built = readdirSync(join(root, "www/inspector/dist"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(join(root, "www/inspector/dist"), join(parentPath, name)));
  const listing = ["package", "--package", "portway-cli", "--list", "--allow-dirty", "--offline"];
  const packed = execFileSync("cargo", listing, { cwd: root, encoding: "utf8" }).split("\n");
  assert.ok(built.includes("index.html"));
  const page = packed.filter((path) => path.startsWith("page/") && path !== "page/README.md");
  assert.deepEqual(page.sort(), built.map((path) => `page/${path}`).sort());
  // The package contains the files of crates/portway-cli/page. They must equal the built files.
  for (const path of built) {
    const [packaged, fresh] = ["crates/portway-cli/page", "www/inspector/dist"].map((folder) =>
      join(root, folder, path),
    );
    assert.ok(readFileSync(packaged).equals(readFileSync(fresh)), `${path} must be the built file`);
  }
});
const browser = await startBrowser(engine);
try {
  const page = new InspectorPage(browser.driver, { url: "", violations: [] }, engine, shots);
  for (const [name, step] of commandSteps) {
    if (!name.includes(part)) continue;
    await suite.test(name, async () => {
      await step(page);
      await page.assertNoErrors();
    });
  }
} finally {
  await browser.stop();
}
process.exitCode = suite.finish() ? 0 : 1;
