// WASI guests in Node, as commands that any host can start.

import { assert } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterThisTest } from "./support/cleanup.js";
import { describeGuest } from "./support/guest-behaviour.js";
import { readAll, guests, odd } from "./support/guests.js";

const script = fileURLToPath(new URL("../../examples/run-wasi.mjs", import.meta.url));

/** Starts `run-wasi.mjs` with these arguments. `exited` resolves to the exit code and the text on stderr. */
function run(...args) {
  const child = spawn(process.execPath, ["--no-warnings", script, ...args], { stdio: ["pipe", "pipe", "pipe"] });
  afterThisTest(() => child.kill("SIGKILL"));
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
  const exited = once(child, "close").then(([code]) => ({ code, errors }));
  return { readable: Readable.toWeb(child.stdout), writable: Writable.toWeb(child.stdin), exited };
}

for (const { name, url } of await guests()) describeGuest(name, () => run(fileURLToPath(url)));

describe("a WASI command in Node", () => {
  const file = fileURLToPath(odd);

  it("gets its arguments and the selected environment, and has an exit code", async () => {
    process.env.PORTWAY_OF_A_TEST = "ü";
    process.env.WASI_ENV = "PORTWAY_OF_A_TEST";
    const { readable, exited } = run(file, "a", "ö");
    delete process.env.WASI_ENV;
    assert.equal(new TextDecoder().decode(await readAll(readable)), `${file}\0a\0ö\0PORTWAY_OF_A_TEST=ü\0`);
    assert.equal((await exited).code, 254);
  });

  it("that traps reports the trap on stderr, after its output", async () => {
    const { readable, exited } = run(file, "trap");
    assert.equal((await readAll(readable)).length, 5);
    const { code, errors } = await exited;
    assert.equal(code, 134);
    assert.match(errors, /odd\.wasm has failed: .*unreachable/);
  });

  for (const [what, args, code, text] of [
    ["is not named", [], 2, /usage/],
    ["is missing", ["nowhere.wasm"], 126, /nowhere\.wasm cannot be started: .*ENOENT/],
    ["is not WebAssembly", [script], 126, /cannot be started/],
  ]) {
    it(`that ${what} causes an error on stderr`, async () => {
      const outcome = await run(...args).exited;
      assert.equal(outcome.code, code);
      assert.match(outcome.errors, text);
    });
  }
});
