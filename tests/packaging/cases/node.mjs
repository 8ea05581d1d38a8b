// Node: ES modules, worker threads, and the error for CommonJS.

import assert from "node:assert/strict";
import { run } from "../tool.mjs";

export default async function node(suite, { installation }) {
  const app = await suite.test("npm installs the tarball into a Node app", () => installation.app("node"));
  if (!app) return;
  // A script that does not end by itself is stopped, and has failed.
  const runs = async (script) => run(process.execPath, [script], { cwd: app, timeout: 15_000 });
  const prints = async (script, expected) => {
    const { stdout, stderr } = await runs(script);
    assert.deepEqual({ printed: JSON.parse(stdout), stderr }, { printed: expected, stderr: "" });
  };

  await suite.test("a Node script calls over a MessageChannel, and ends by itself", () =>
    prints("message-channel.js", { sum: 42, refusal: -32001, late: "JSON-RPC timeout: never (id=3)" }),
  );

  await suite.test("a Node worker and its owner call each other", () =>
    prints("threads.js", { greeting: "thread greets main thread", moved: [0, 3, 2, 1] }),
  );

  await suite.test("the inline entry and initSync work in Node", () => prints("inline.js", [true, true]));

  await suite.test("a host starts a guest, which is a child process, and both end by themselves", () =>
    prints("wipc.js", { sum: 42, isChannel: true, exit: { code: 0, signal: null } }),
  );

  await suite.test("CommonJS gets the package by import()", () => prints("imported.cjs", true));

  await suite.test("require() gives the module where Node can, and ERR_REQUIRE_ESM elsewhere", async () => {
    const { stdout } = await runs("required.cjs");
    const expected = process.features.require_module ? true : "ERR_REQUIRE_ESM";
    assert.equal(JSON.parse(stdout), expected);
  });
}
