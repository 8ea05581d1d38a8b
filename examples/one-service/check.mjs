// Builds the example, makes the calls in headless Chromium and on a socket, and compares the responses:
// `node examples/one-service/check.mjs`.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { inPage, report, wasmPack } from "../check-in-chromium.mjs";
import { ask } from "./ask.mjs";

const folder = new URL("./", import.meta.url);

// The deserializers of the worker and of the socket report different texts. So only this prefix is compared.
const INVALID_PARAMS = "Invalid params";

const progressValue = (checked) => ({ checked, of: 50_000 });
const expected = {
  "progress, and then a result": {
    result: { count: 5133, largest: 49_999 },
    progress: [0, 10_000, 20_000, 30_000, 40_000].map(progressValue),
  },
  "an empty result": { result: { count: 0, largest: null } },
  "params by position": {
    result: [
      [2, 3],
      [3, 2],
      [5, 1],
    ].map(([prime, exponent]) => ({ prime, exponent })),
  },
  "no params": { result: { most: 10_000_000, counting: 0 } },
  "an error of the service": { error: { code: -32001, message: "0 has no prime factors" } },
  "an error with data": {
    error: { code: -32602, message: "4000000000 is more than 10000000", data: { most: 10_000_000 } },
  },
  "a param of the wrong type": { error: { code: -32602, message: INVALID_PARAMS } },
  "params without a required member": { error: { code: -32602, message: INVALID_PARAMS } },
  "no params for a method that needs them": { error: { code: -32602, message: INVALID_PARAMS } },
  "an unknown method": { error: { code: -32601, message: "Method not found: countSheep" } },
  "a notification is handled before a later request": {
    error: { code: -32602, message: "1000001 is more than 1000000", data: { most: 1_000_000 } },
  },
  "a cancelled call": { cancelled: true },
  "a call during the cancelled one": { result: { most: 1_000_000, counting: 1 } },
  "a call after the cancelled one": { result: { most: 1_000_000, counting: 0 } },
};

let inWorker;
let program;

await report({
  async "the service answers Portway's client in a worker"() {
    wasmPack(folder);
    inWorker = await inPage(new URL("index.html", folder), async (page, waitForText) => {
      await waitForText("end", "All calls have ended.");
      const [names, texts] = [await page.locator("dt").allTextContents(), await page.locator("dd").allTextContents()];
      return parseResponses(names.map((name, index) => [name, texts[index]]));
    });
    assert.deepEqual(inWorker, expected);
  },

  async "the service sends vscode-jsonrpc the same responses on a socket"() {
    program = build();
    assert.ok(inWorker, "the answers of the worker are missing");
    await withProgram(async (path) => {
      assert.deepEqual(await onSocket(path), inWorker);
      assert.deepEqual(await onSocket(path), inWorker, "the second caller must not see changes of the first");
    });
  },

  "the program prints its usage"() {
    const { status, stderr } = spawnSync(program, [], { encoding: "utf8" });
    assert.equal(status, 2);
    assert.match(stderr, /^usage: one-service PATH$/m);
  },
});

async function onSocket(path) {
  const reported = [];
  await ask(path, (what, answer) => reported.push([what, JSON.stringify(answer)]));
  return parseResponses(reported);
}

/** Parses the responses. The keys of the returned object are the purposes of the calls. */
function parseResponses(reported) {
  const all = Object.fromEntries(reported.map(([what, text]) => [what, JSON.parse(text)]));
  for (const { error } of Object.values(all)) {
    if (error?.message.startsWith(`${INVALID_PARAMS}: `)) error.message = INVALID_PARAMS;
  }
  return all;
}

/** Builds the program. Returns its path. */
function build() {
  const words = ["build", "--bin", "one-service", "--message-format", "json-render-diagnostics"];
  const stdio = ["ignore", "pipe", "inherit"];
  const { status, error, stdout } = spawnSync("cargo", words, { cwd: fileURLToPath(folder), stdio, encoding: "utf8" });
  assert.equal(status, 0, `cargo build: ${error?.message ?? `exit status ${status}`}`);
  const built = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return built.find(({ executable }) => executable).executable;
}

/** Runs the program on a new socket, calls `use`, and ends the program with the signal of Ctrl-C. */
async function withProgram(use) {
  const directory = mkdtempSync(join(tmpdir(), "one-service-"));
  const path = join(directory, "primes.sock");
  const served = spawn(program, [path], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(served, "exit");
  try {
    const [line] = await Promise.race([once(createInterface(served.stdout), "line"), ended]);
    assert.equal(line, `listening on ${path}`);
    await use(path);
    served.kill("SIGINT");
    assert.deepEqual(await ended, [0, null]);
    assert.ok(!existsSync(path), "the program must remove the file of the socket");
  } finally {
    served.kill("SIGKILL");
    rmSync(directory, { recursive: true });
  }
}
