// Runs the tests of projects/runtimes in Node, Deno and Bun. Deno and Bun are programs in npm packages.

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../../packaging/tool.mjs";
import { addPrinted } from "../environment.mjs";

/**
 * Returns the path of the program in the package for this machine. The usual command of Deno or Bun is missing, because
 * the install scripts did not run.
 */
async function programOf(testFolder, scope, file) {
  for (const name of await readdir(testFolder.module(scope))) return join(testFolder.module(scope), name, file);
  throw new Error(`${scope} has no program for this machine`);
}

export default async function runtimes(suite, testFolder) {
  const folder = await testFolder.project("runtimes");
  for (const [name, scope, file, args] of [
    ["Node", undefined, undefined, []],
    ["Deno", "@deno", "deno", ["run", "--allow-all", "--no-lock"]],
    ["Bun", "@oven", "bin/bun", []],
  ]) {
    const program = scope === undefined ? process.execPath : await programOf(testFolder, scope, file);
    await suite.test(
      `${name}: the code in docs/environments.md makes a call, and the process exits by itself`,
      async () => {
        const { stdout } = await run(program, [...args, "main.js"], { cwd: folder, timeout: 30_000 });
        assert.equal(stdout.trim(), "3");
      },
    );
    await addPrinted(suite, name, folder, program, ...args, "calls-here.js");
  }
}
