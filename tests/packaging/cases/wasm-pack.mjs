// Tests the output of `wasm-pack build npm --target web`: the JavaScript API without the later steps of xtask.

import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { visit } from "../browser.mjs";
import { withSite } from "../site.mjs";
import { root, run, runTool } from "../tool.mjs";

export default async function wasmPack(suite, { installation, browser }) {
  const app = join(installation.folder, "generated");
  await cp(join(root, "tests/packaging/apps/generated"), app, { recursive: true });

  const isBuilt = await suite.test("plain wasm-pack builds the crate", async () => {
    // `cargo xtask env` prints the paths of the toolchain.
    const command =
      'eval "$(cargo xtask env)" && exec wasm-pack build npm --target web --out-name portway --out-dir "$0"';
    await run("sh", ["-c", command, join(app, "pkg")], { cwd: root, timeout: 500_000 });
    return true;
  });
  if (!isBuilt) return;

  await suite.test("a page and its worker make calls with the output of plain wasm-pack", () =>
    withSite(app, async (url) => {
      const outcome = { greeting: "worker greets page", refusal: -32001 };
      assert.deepEqual(await visit(browser, url), { outcome, faults: [] });
    }),
  );

  await suite.test("the declarations that plain wasm-pack writes compile", async () => {
    const options = ["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom"];
    await runTool("tsc", [...options, "use.ts"], { cwd: app });
  });
}
