// The memory that a hostile guest or host can make its peer use. Guests are processes.

import { assert } from "chai";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { JSONRPCPeer, JSONRPCServer, packaged } from "./support/portway.js";
import { CALL, DATA, WipcChannel, WipcDecoder, concat, encodeWipc, parseWipcJSON, text } from "./support/wipc.js";
import { afterThisTest } from "./support/cleanup.js";
import { pause, rejection, until } from "./support/outcomes.js";

const { spawnGuest } = await import(packaged("wipc-node.js"));

setFlagsFromString("--expose_gc");
const collect = runInNewContext("gc");
setFlagsFromString("--no-expose_gc");

const MIB = 1 << 20;

function fixture(file) {
  return fileURLToPath(new URL(`fixtures/${file}`, import.meta.url));
}

/** Returns the memory in use after a garbage collection, in bytes. */
function usedMemory() {
  collect();
  const { heapUsed, arrayBuffers, external } = process.memoryUsage();
  return heapUsed + arrayBuffers + external;
}

/** Returns the memory of another process, in bytes. */
function memoryOf(pid) {
  return 1_024 * Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" }));
}

/** Starts the guest `fixtures/wipc-hostile.mjs`, whose argument selects the attack. */
async function hostile(how, options) {
  const guest = await spawnGuest(process.execPath, [fixture("wipc-hostile.mjs"), how], options);
  afterThisTest(() => guest.kill());
  return guest;
}

/** Returns the maximum growth of the memory in use over `before`, until `isDone()` returns true. */
async function growth(isDone, before) {
  let maximum = 0;
  while (!isDone() && maximum < 512 * MIB) {
    maximum = Math.max(maximum, usedMemory() - before);
    await pause(100);
  }
  return maximum;
}

describe("a hostile guest", function () {
  this.timeout(60_000);

  for (const [kind, answer] of [
    ["at once", (text) => text()],
    ["by a promise", async (text) => text()],
    ["a little later", (text) => new Promise((resolve) => setImmediate(() => resolve(text())))],
  ]) {
    it(`that sends requests and does not read cannot make the host buffer more than the limit: responses ${kind}`, async () => {
      const before = usedMemory();
      const guest = await hostile("unread");
      let handled = 0;
      // The strings differ, so that each needs memory.
      const text = () => `${handled++}`.padEnd(90_000, "x");
      const peer = new JSONRPCPeer(guest.transport()).method("big", () => answer(text));
      let last = -1;
      // Ends when the host has handled no further request in one interval of `growth`.
      const maximum = await growth(() => (handled > 0 && handled === last ? true : void (last = handled)), before);
      // Responses that are sent later are limited only by the number of running requests, so they may need more memory.
      assert.isBelow(maximum, (kind === "a little later" ? 200 : 64) * MIB);
      assert.isBelow(handled, 10_000);
      assert.equal((await rejection(peer.request("a", [], { timeout: 100 }))).reason, "timeout");
      await guest.close({ timeout: 100 });
      await guest.channel.ended;
    });
  }

  it("that sends DATA and does not read cannot make the host buffer more than the limit, even if a hook sends the data back", async () => {
    const before = usedMemory();
    let received = 0;
    const guest = await hostile("data", {
      onData(payload) {
        received += payload.length;
        return guest.channel.send(DATA, payload);
      },
      // After the guest is killed, the queued frames cannot be sent, and each causes an error.
      onError() {},
    });
    let last = -1;
    // Ends when the host has received no further byte in one interval of `growth`.
    const maximum = await growth(() => (received > 0 && received === last ? true : void (last = received)), before);
    assert.isBelow(maximum, 64 * MIB);
    assert.isAbove(received, 16_000_000);
    guest.kill();
    await guest.channel.ended;
  });

  it("that sends requests with ids that cannot be echoed does not make the host's memory grow", async () => {
    let isDone = false;
    const guest = await hostile("ids", { onData: () => (isDone = true) });
    new JSONRPCServer(guest.transport()).method("big", () => 1);
    const before = usedMemory();
    const maximum = await growth(() => isDone, before);
    assert.isTrue(isDone);
    await guest.channel.idle();
    assert.isBelow(usedMemory() - before, 2 * MIB);
    assert.isBelow(maximum, 64 * MIB);
  });

  it("that sends a message of 150 MB does not make the host buffer the message, and the host finds the next frame", async () => {
    const before = usedMemory();
    let isDone = false;
    const guest = await hostile("long", { onData: () => (isDone = true) });
    new JSONRPCServer(guest.transport());
    const maximum = await growth(() => isDone, before);
    assert.isTrue(isDone);
    // The engine may not yet have freed bytes that are no longer needed.
    assert.isBelow(maximum, 100 * MIB);
  });

  it("that sends headers without payloads does not make the host's memory grow", async () => {
    const before = usedMemory();
    const guest = await hostile("headers");
    new JSONRPCServer(guest.transport());
    const start = Date.now();
    assert.isBelow(await growth(() => Date.now() - start > 500, before), 16 * MIB);
  });

  it("that sends the smallest messages gets a response for each, and does not make the host's memory grow", async () => {
    let responseCount;
    const guest = await hostile("tiny", { onData: (payload) => (responseCount = Number(text(payload))) });
    new JSONRPCServer(guest.transport());
    const before = usedMemory();
    const maximum = await growth(() => responseCount !== undefined, before);
    // The guest has sent 200 messages in chunks of one byte, and ten times 2 000 messages in one chunk.
    assert.equal(responseCount, 20_200);
    await guest.channel.idle();
    assert.isBelow(maximum, 64 * MIB);
    assert.isBelow(usedMemory() - before, 16 * MIB);
  });
});

describe("bytes of WIPC frames in chunks whose ArrayBuffers are large", function () {
  this.timeout(60_000);

  /** Returns a chunk that contains the bytes at the start of an ArrayBuffer of 64 KiB. */
  const inLarge = (bytes) => {
    const chunk = new Uint8Array(new ArrayBuffer(65_536), 0, bytes.length);
    chunk.set(bytes);
    return chunk;
  };

  /**
   * Returns the growth of the memory in use. The engine may free memory late, so this function waits up to 3 s for a
   * growth of at most 32 MiB.
   */
  const remainingGrowth = async (before) => {
    let minimum = Infinity;
    for (let n = 0; n < 30 && minimum > 32 * MIB; n++) {
      await pause(100);
      minimum = Math.min(minimum, usedMemory() - before);
    }
    return minimum;
  };

  it("are copied out of the ArrayBuffer if they arrive before a handler", async () => {
    const { readable, writable } = new TransformStream();
    const channel = new WipcChannel({ readable, writable: new WritableStream() });
    afterThisTest(() => channel.destroy());
    const transport = channel.transport();
    const writer = writable.getWriter();
    const frame = encodeWipc(CALL, '{"jsonrpc":"2.0","method":"note"}');
    const before = usedMemory();
    // Each chunk contains a frame and then text, together 64 KiB.
    for (let n = 0; n < 3_000; n++) await writer.write(concat([frame, new Uint8Array(65_536 - frame.length)]));
    assert.isBelow(await remainingGrowth(before), 64 * MIB);
    let notes = 0;
    new JSONRPCServer(transport).onNotify("note", () => (notes += 1));
    await until(() => notes === 3_000);
  });

  it("are copied out of the ArrayBuffer if they arrive while reading is paused", async () => {
    const { readable, writable } = new TransformStream();
    const channel = new WipcChannel({ readable, writable: new WritableStream({ write: () => new Promise(() => {}) }) });
    afterThisTest(() => channel.destroy());
    new JSONRPCServer(channel.transport()).method("big", () => "x".repeat(1 << 20));
    const writer = writable.getWriter();
    const chunk = encodeWipc(CALL, '{"jsonrpc":"2.0","method":"big","id":1}');
    for (let n = 0; n < 20; n++) await writer.write(chunk);
    const before = usedMemory();
    let accepted = 0;
    for (let isAccepted = true; isAccepted && accepted < 3_000; ) {
      isAccepted = await Promise.race([writer.write(inLarge(chunk)).then(() => true), pause(500).then(() => false)]);
      accepted += isAccepted ? 1 : 0;
    }
    assert.isAbove(accepted, 1_000);
    assert.isBelow(await remainingGrowth(before), 64 * MIB);
  });

  it("are copied out of the ArrayBuffer if the rest of their payload has not arrived", async () => {
    const sizes = [];
    const decoder = new WipcDecoder({ frame: (_, payload) => sizes.push(payload.length) });
    const frame = encodeWipc(DATA, new Uint8Array(3 * MIB));
    const before = usedMemory();
    for (let at = 0; at + 2_000 < frame.length; at += 2_000) decoder.push(inLarge(frame.subarray(at, at + 2_000)));
    assert.isBelow(await remainingGrowth(before), 64 * MIB);
    decoder.push(frame.subarray(frame.length - (frame.length % 2_000)));
    assert.deepEqual(sizes, [3 * MIB]);
  });
});

describe("a hostile host", function () {
  this.timeout(60_000);

  /** Starts a guest whose output is not read before the test calls `read`. */
  async function guestOf(mode) {
    const child = spawn(process.execPath, [fixture("wipc-guest.mjs"), mode], { stdio: ["pipe", "pipe", "inherit"] });
    afterThisTest(() => child.kill("SIGKILL"));
    child.stdin.on("error", () => {});
    const frames = [];
    const decoder = new WipcDecoder({ frame: (type, payload) => frames.push([type, payload]) });
    // The guest is ready when it sends OPEN.
    const [chunk] = await once(child.stdout, "data");
    child.stdout.pause();
    decoder.push(chunk);
    assert.lengthOf(frames.splice(0), 1);
    return { child, frames, read: () => child.stdout.on("data", (chunk) => decoder.push(chunk)).resume() };
  }

  /** Writes the bytes. If the buffer of the stream is full, waits until the guest has read the bytes. */
  async function write(child, bytes) {
    if (!child.stdin.write(bytes)) await once(child.stdin, "drain");
  }

  it("that sends requests and does not read cannot make the guest buffer more than the limit, and later gets all responses", async () => {
    const { child, frames, read } = await guestOf("echo");
    const before = memoryOf(child.pid);
    const requests = Array.from({ length: 3_000 }, (_, id) =>
      encodeWipc(CALL, JSON.stringify({ jsonrpc: "2.0", method: "repeat", params: [60_000], id })),
    );
    const written = write(child, concat(requests));
    let maximum = 0;
    for (let n = 0; n < 20; n++) {
      await pause(50);
      maximum = Math.max(maximum, memoryOf(child.pid) - before);
    }
    assert.isBelow(maximum, 120 * MIB);
    read();
    await written;
    while (frames.length < 3_000) await once(child.stdout, "data");
    assert.lengthOf(frames, 3_000);
    const ids = frames
      .map(([, payload]) => parseWipcJSON(payload))
      .map(({ id, result }) => (result.length === 60_000 ? id : -1));
    assert.deepEqual(
      ids,
      Array.from({ length: 3_000 }, (_, id) => id),
    );
  });

  it("that sends DATA and does not read cannot make the guest buffer more than the limit, even if the guest echoes the data", async () => {
    const { child, frames, read } = await guestOf("echo");
    const before = memoryOf(child.pid);
    const written = write(child, concat(Array.from({ length: 3_000 }, () => encodeWipc(DATA, new Uint8Array(60_000)))));
    let maximum = 0;
    for (let n = 0; n < 20; n++) {
      await pause(50);
      maximum = Math.max(maximum, memoryOf(child.pid) - before);
    }
    assert.isBelow(maximum, 100 * MIB);
    read();
    await written;
    while (frames.length < 3_000) await once(child.stdout, "data");
    assert.lengthOf(frames, 3_000);
  });

  it("that sends requests with ids that cannot be echoed does not prevent the exit of the guest", async () => {
    const { child, frames, read } = await guestOf("echo");
    read();
    for (let n = 0; n < 100; n++)
      await write(
        child,
        encodeWipc(CALL, JSON.stringify({ jsonrpc: "2.0", method: "hang", id: `${n}`.padEnd(2_000, "z") })),
      );
    while (frames.length < 100) await once(child.stdout, "data");
    const start = Date.now();
    child.stdin.end();
    assert.deepEqual(await once(child, "exit"), [0, null]);
    assert.isBelow(Date.now() - start, 4_000);
  });
});
