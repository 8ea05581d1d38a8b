// WIPC with npm `wipc-js` as the peer: its host with our guest, its guest with our host, and the example.
//
// The tests avoid four faults of `wipc-js`. It loses a frame whose magic is split over two reads. It waits for a
// payload after any text that begins with the magic. It throws for a reserved type. It drops the payloads of OPEN and
// CLOSE.

import { assert } from "chai";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { JSONRPCClient, packaged } from "./support/portway.js";
import { DATA, OPEN, text } from "./support/wipc.js";
import { Channel, MessageType, compiledPath } from "./support/wipc-js.mjs";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

const { spawnGuest } = await import(packaged("wipc-node.js"));
const pathOf = (file) => fileURLToPath(new URL(file, import.meta.url));

after(() => rmSync(compiledPath));

describe("a host of wipc-js", () => {
  /** Starts our guest, and connects a host of wipc-js. `seen` records the frames and the text of our guest. */
  function host() {
    const child = spawn(process.execPath, [pathOf("fixtures/wipc-guest.mjs"), "echo"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    afterThisTest(() => child.kill("SIGKILL"));
    const seen = { calls: [], data: [], opened: 0, closed: 0, passed: "" };
    class Host extends Channel {
      onOpen() {
        seen.opened += 1;
      }
      onClose() {
        seen.closed += 1;
      }
      onCall(message) {
        seen.calls.push(message);
      }
      onDataMessage(data) {
        seen.data.push(data);
      }
      onPassthrough(data) {
        seen.passed += data;
      }
    }
    return { child, seen, channel: new Host(child.stdout, child.stdin) };
  }

  it("gets responses from our guest, gets its data back, and can make our guest exit", async () => {
    const { child, seen, channel } = host();
    await until(() => seen.opened === 1);
    channel.send(MessageType.OPEN);
    channel.sendJSON(MessageType.CALL, { jsonrpc: "2.0", method: "echo", params: [1], id: "a" });
    channel.sendJSON(MessageType.CALL, { jsonrpc: "2.0", method: "missing", id: "b" });
    channel.send(MessageType.DATA, Buffer.from("abc"));
    await until(() => seen.opened === 2 && seen.calls.length === 2 && seen.data.length === 1);
    assert.deepEqual(seen.calls[0], { jsonrpc: "2.0", result: [1], id: "a" });
    assert.deepEqual([seen.calls[1].error.code, seen.calls[1].id], [-32601, "b"]);
    assert.equal(String(seen.data[0]), "abc");
    channel.send(MessageType.CLOSE);
    assert.deepEqual(await once(child, "exit"), [0, null]);
    assert.equal(seen.passed, "");
  });

  it("gets errors for a call without a version, and for invalid JSON", async () => {
    const { seen, channel } = host();
    await until(() => seen.opened === 1);
    channel.sendJSON(MessageType.CALL, { id: 1, method: "echo", params: ["arg"] });
    channel.send(MessageType.CALL, Buffer.from("hello"));
    await until(() => seen.calls.length === 2);
    assert.deepEqual(
      seen.calls.map(({ error, id }) => [error.code, id]),
      [
        [-32600, 1],
        [-32700, null],
      ],
    );
  });

  it("gets ten megabytes of data back", async () => {
    const { seen, channel } = host();
    await until(() => seen.opened === 1);
    channel.send(MessageType.DATA, Buffer.alloc(10 << 20, 7));
    await until(() => seen.data.length === 1);
    assert.isTrue(seen.data[0].equals(Buffer.alloc(10 << 20, 7)));
  });
});

describe("a guest of wipc-js", () => {
  it("responds to our host, prints text, sends data back, and exits when our host closes it", async () => {
    const seen = { opened: 0, closed: 0, data: 0, passed: "" };
    const guest = await spawnGuest(process.execPath, [pathOf("fixtures/wipc-js-guest.mjs"), compiledPath], {
      onOpen: () => (seen.opened += 1),
      onClose: () => (seen.closed += 1),
      onData: (payload) => (seen.data += payload.length),
      onPassthrough: (bytes) => (seen.passed += text(bytes)),
    });
    afterThisTest(() => guest.kill());
    const client = new JSONRPCClient(guest.transport());
    guest.channel.send(OPEN);
    guest.channel.send(DATA, new Uint8Array(1 << 20));
    assert.equal(await client.request("add", [1, 2]), 3);
    assert.equal((await rejection(client.request("missing"))).code, -32601);
    client.notify("print", ["a line"]);
    await until(() => seen.opened === 1 && seen.data === 1 << 20 && seen.passed !== "");
    assert.equal(seen.passed, "a line\n");
    assert.deepEqual(await guest.close(), { code: 0, signal: null });
    await guest.channel.ended;
    assert.equal(seen.closed, 1);
  });
});

it("the example prints the described output if the package is installed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wipc-guest-"));
  afterThisTest(() => rmSync(folder, { recursive: true }));
  cpSync(pathOf("../../examples/wipc-guest-js"), folder, { recursive: true });
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(pathOf("../../pkg"), join(folder, "node_modules/portway"));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(folder, "host.mjs")]);
  const lines = stdout.trim().split("\n");
  assert.sameMembers(lines.slice(0, -1), [
    "the guest is ready",
    "1 + 2 = 3",
    "-32001: this method always fails",
    "this line was printed by the guest",
    "1000000 bytes came back",
  ]);
  assert.equal(lines.at(-1), "after 100 ms the guest has exited with 0");
  assert.equal(stderr, "guest: received CLOSE\n");
});
