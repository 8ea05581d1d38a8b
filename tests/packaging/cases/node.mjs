// Tests the package in Node: as an ES module, in worker threads, with child processes, and from CommonJS.

import assert from "node:assert/strict";
import { run } from "../tool.mjs";

export default async function node(suite, { installation }) {
  const app = await suite.test("npm installs the tarball into a Node app", () => installation.app("node"));
  if (!app) return;
  // A script that does not exit by itself is killed after the timeout, and the test fails.
  const runs = async (script) => run(process.execPath, [script], { cwd: app, timeout: 15_000 });
  const assertPrints = async (script, expected) => {
    const { stdout, stderr } = await runs(script);
    assert.deepEqual({ printed: JSON.parse(stdout), stderr }, { printed: expected, stderr: "" });
  };

  await suite.test("a Node script makes calls over a MessageChannel, and exits by itself", () =>
    assertPrints("message-channel.js", { sum: 42, refusal: -32001, late: "JSON-RPC timeout: never (id=3)" }),
  );

  await suite.test("a Node worker and its owner call each other", () =>
    assertPrints("threads.js", { greeting: "thread greets main thread", moved: [0, 3, 2, 1] }),
  );

  await suite.test("the inline entry and initSync work in Node", () => assertPrints("inline.js", [true, true]));

  await suite.test("a host calls a guest in a child process, and both processes exit by themselves", () =>
    assertPrints("wipc.js", { sum: 42, isChannel: true, exit: { code: 0, signal: null } }),
  );

  await suite.test("CommonJS can import the package by import()", () => assertPrints("imported.cjs", true));

  await suite.test(
    "require() returns the module if Node can require ES modules, or else throws ERR_REQUIRE_ESM",
    async () => {
      const { stdout } = await runs("required.cjs");
      const expected = process.features.require_module ? true : "ERR_REQUIRE_ESM";
      assert.equal(JSON.parse(stdout), expected);
    },
  );
}
