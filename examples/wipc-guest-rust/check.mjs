// Builds the guest as a native program and as a WASI module, and calls both with the npm package:
// `node examples/wipc-guest-rust/check.mjs`.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import init, { JSONRPCClient } from "../../pkg/node.js";
import { spawnGuest } from "../../pkg/wipc-node.js";
import { WipcType } from "../../pkg/wipc.js";
import { report } from "../check-in-chromium.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const target = "wasm32-unknown-unknown";
const runner = fileURLToPath(new URL("../run-wasi.mjs", import.meta.url));

await init();
await report({
  async "the guest answers calls as a native program"() {
    const messages = build([]);
    await check(messages.find(({ executable }) => executable).executable, []);
  },

  async "the guest answers calls as a WASI module in Node"() {
    const messages = build(["--lib", "--release", "--target", target]);
    const files = messages.flatMap(({ filenames = [] }) => filenames);
    const module = files.find((file) => file.endsWith("wipc_guest_rust.wasm"));
    await check(process.execPath, ["--no-warnings", runner, module]);
  },
});

/** Builds the package. Returns the messages of cargo. */
function build(options) {
  const args = ["build", "--package", "wipc-guest-rust", "--message-format", "json-render-diagnostics", ...options];
  const stdio = ["ignore", "pipe", "inherit"];
  const { status, error, stdout } = spawnSync("cargo", args, { cwd: root, stdio, encoding: "utf8" });
  assert.equal(status, 0, `cargo build: ${error?.message ?? `exit status ${status}`}`);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Starts the guest with this command, calls its methods, and checks its output and its exit. */
async function check(program, args) {
  let printed = "";
  const data = [];
  const guest = await spawnGuest(program, args, {
    onPassthrough: (bytes) => (printed += new TextDecoder().decode(bytes)),
    onData: (payload) => data.push(payload.length),
  });
  const client = new JSONRPCClient(guest.transport());
  const errors = [];
  assert.equal(await client.request("add", [1, 2]), 3);
  await client.request("add", [1]).catch(({ code }) => errors.push(code));
  await client.request("missing").catch(({ code }) => errors.push(code));
  assert.deepEqual(errors, [-32602, -32601]);
  const large = { text: "ö".repeat(500_000) };
  assert.deepEqual(await client.request("echo", large), large);
  await guest.channel.send(WipcType.DATA, new Uint8Array(1_000_000));
  // The guest handles frames in order, so the DATA frame arrives before the responses to these calls.
  assert.deepEqual([await client.request("count", [2]), await client.request("count", [3])], [2, 5]);
  assert.deepEqual(data, [1_000_000]);
  assert.equal(printed, "the guest is ready\n");
  assert.deepEqual(await guest.close(), { code: 0, signal: null });
}
