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

// The deserializers of the worker and of the socket report invalid params with different texts. So only the prefix of
// these messages is compared.
const INVALID_PARAMS = "Invalid params";

const progressValue = (checked) => ({ checked, of: 50_000 });
/** The expected outcomes. The keys are the purposes of the calls in `calls.js`. */
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

let workerOutcomes;
let programPath;

await report({
  async "the service answers Portway's client in a worker"() {
    wasmPack(folder);
    workerOutcomes = await inPage(new URL("index.html", folder), async (page, waitForText) => {
      await waitForText("end", "All calls have ended.");
      const [names, texts] = [await page.locator("dt").allTextContents(), await page.locator("dd").allTextContents()];
      return parseOutcomes(names.map((name, index) => [name, texts[index]]));
    });
    assert.deepEqual(workerOutcomes, expected);
  },

  async "the service on a socket sends the same responses to vscode-jsonrpc"() {
    programPath = build();
    assert.ok(workerOutcomes, "the check of the worker must succeed before this check");
    await withProgram(async (socketPath) => {
      assert.deepEqual(await outcomesOn(socketPath), workerOutcomes);
      const second = await outcomesOn(socketPath);
      assert.deepEqual(second, workerOutcomes, "the second caller must not see changes that the first caller has made");
    });
  },

  "the program prints its usage"() {
    const { status, stderr } = spawnSync(programPath, [], { encoding: "utf8" });
    assert.equal(status, 2);
    assert.match(stderr, /^usage: one-service PATH$/m);
  },
});

/** Makes all calls on the socket. Returns the outcomes. */
async function outcomesOn(socketPath) {
  const reported = [];
  await ask(socketPath, (purpose, outcome) => reported.push([purpose, JSON.stringify(outcome)]));
  return parseOutcomes(reported);
}

/**
 * Parses reported outcomes. The keys of the returned object are the purposes. A message about invalid params is reduced
 * to its prefix.
 */
function parseOutcomes(reported) {
  const outcomes = Object.fromEntries(reported.map(([purpose, text]) => [purpose, JSON.parse(text)]));
  for (const { error } of Object.values(outcomes)) {
    if (error?.message.startsWith(`${INVALID_PARAMS}: `)) error.message = INVALID_PARAMS;
  }
  return outcomes;
}

/** Builds the program. Returns its path. */
function build() {
  const args = ["build", "--bin", "one-service", "--message-format", "json-render-diagnostics"];
  const stdio = ["ignore", "pipe", "inherit"];
  const { status, error, stdout } = spawnSync("cargo", args, { cwd: fileURLToPath(folder), stdio, encoding: "utf8" });
  assert.equal(status, 0, `cargo build: ${error?.message ?? `exit status ${status}`}`);
  const messages = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return messages.find(({ executable }) => executable).executable;
}

/** Runs the program on a new socket, calls `use(socketPath)`, and ends the program with the signal of Ctrl-C. */
async function withProgram(use) {
  const directory = mkdtempSync(join(tmpdir(), "one-service-"));
  const socketPath = join(directory, "primes.sock");
  const child = spawn(programPath, [socketPath], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  try {
    const [line] = await Promise.race([once(createInterface(child.stdout), "line"), exited]);
    assert.equal(line, `listening on ${socketPath}`);
    await use(socketPath);
    child.kill("SIGINT");
    assert.deepEqual(await exited, [0, null]);
    assert.ok(!existsSync(socketPath), "the program must remove the file of the socket");
  } finally {
    child.kill("SIGKILL");
    rmSync(directory, { recursive: true });
  }
}
