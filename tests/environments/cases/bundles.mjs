// Tests bundles for Node by esbuild and Rollup, as ES modules and as CommonJS.

import { nodeResolve } from "@rollup/plugin-node-resolve";
import assert from "node:assert/strict";
import { build } from "esbuild";
import { copyFile, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rollup } from "rollup";
import { root, run } from "../../packaging/tool.mjs";

const tools = {
  esbuild: (input, file, format) =>
    build({ entryPoints: [input], outfile: file, bundle: true, platform: "node", format, logLevel: "error" }),
  async Rollup(input, file, format) {
    const bundle = await rollup({
      input,
      plugins: [nodeResolve({ exportConditions: ["node"] })],
      external: /^node:/,
      onwarn() {},
    });
    await bundle.write({ file, format });
    await bundle.close();
  },
};

export default async function bundles(suite, testFolder) {
  const folder = await testFolder.project("bundle");
  const outputOf = async (file) =>
    (await run(process.execPath, [file], { cwd: folder, timeout: 30_000 })).stdout.trim();
  await symlink(testFolder.module(""), join(folder, "node_modules"));
  const wasm = testFolder.module("portway/portway_bg.wasm");

  await suite.test("the commands in docs/environments.md create a bundle that works", async () => {
    const path = `PATH=${join(root, "node_modules/.bin")}:${process.env.PATH}`;
    await run("env", [path, "sh", "-e", "build.sh"], { cwd: folder, timeout: 30_000 });
    assert.equal(await outputOf("out/main.cjs"), "3");
  });

  // `inline.js` is a code block of docs/environments.md. The bundle of one file uses the import of this block.
  const [entry] = (await readFile(join(folder, "inline.js"), "utf8")).match(/"portway\S*"/);
  await writeFile(
    join(folder, "one-file.js"),
    (await readFile(join(folder, "main.js"), "utf8")).replace('"portway"', entry),
  );

  for (const [tool, bundle] of Object.entries(tools)) {
    for (const [format, ending] of [
      ["esm", "mjs"],
      ["cjs", "cjs"],
    ]) {
      const named = `a bundle of ${tool} as ${ending}`;
      const file = join(folder, `${tool}-${format}/main.${ending}`);
      await suite.test(
        `${named} works with the wasm in its folder, and reports a missing wasm file with a remedy`,
        async () => {
          await bundle(join(folder, "main.js"), file, format);
          assert.match(await outputOf(file), /portway_bg\.wasm cannot be read: .*portway\/inline/);
          await copyFile(wasm, join(file, "../portway_bg.wasm"));
          assert.equal(await outputOf(file), "3");
          await rm(join(file, ".."), { recursive: true });
        },
      );
      await suite.test(`${named} works without other files if it imports portway/inline`, async () => {
        await bundle(join(folder, "one-file.js"), file, format);
        assert.equal(await outputOf(file), "3");
      });
    }
  }
}
