// Tests the inputs and the errors of init() in Node, and the package in realms that lack some globals of Node.

import assert from "node:assert/strict";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../../packaging/tool.mjs";

const entries = [
  "portway",
  "portway/inline",
  "portway/early",
  "portway/wipc",
  "portway/wipc/wasi",
  "portway/portway.js",
];

export default async function node(suite, testFolder) {
  const folder = await testFolder.project("node");
  const outputOf = async (script, ...args) =>
    (await run(process.execPath, [script, ...args], { cwd: folder, timeout: 30_000 })).stdout.trim();

  await suite.test("Node: init() accepts a file: URL as a string", () => outputOf("init.mjs"));

  for (const kind of ["a path", "a relative path", "a file: URL", "bytes", "a module", "nothing"]) {
    await suite.test(`Node: init() loads the wasm when it gets ${kind}`, async () =>
      assert.equal(await outputOf("takes.mjs", kind), "3"),
    );
  }

  for (const entry of entries) {
    await suite.test(
      `Node: ${entry} can be imported in a realm that has only the globals of the language`,
      async () => {
        assert.equal(await outputOf("bare.mjs", entry), "imported");
      },
    );
  }

  await suite.test(
    "Node: without timers, calls without a timeout work, and the error of other calls names the missing setTimeout",
    async () => {
      assert.deepEqual(JSON.parse(await outputOf("no-timers.mjs")), {
        sum: 3,
        stream: 300,
        refused: "there is no setTimeout here: set the timeout to 0",
      });
    },
  );

  await suite.test("Node: if the wasm is missing, the error names the missing file and a remedy", async () => {
    const copy = join(folder, "copy");
    await cp(testFolder.module("portway"), copy, { recursive: true });
    await rm(join(copy, "portway_bg.wasm"));
    const text = await outputOf("lost.mjs");
    assert.ok(text.includes(join(copy, "portway_bg.wasm")), text);
    assert.match(text, /cannot be read: .*portway\/inline.*init\(\)/);
  });
}
