// WASI guests that run in a worker of the page.

import { assert } from "chai";
import { afterThisTest } from "./support/cleanup.js";
import { printed } from "./support/console.js";
import { describeGuest } from "./support/guest-behaviour.js";
import { Host, readAll, guests, odd } from "./support/guests.js";
import { JSONRPCPeer, packaged } from "./support/portway.js";
import { isPending, pause, rejection } from "./support/outcomes.js";

const { WipcChannel } = await import(packaged("wipc.js"));
const { startWasiGuest } = await import(packaged("wipc-wasi.js"));

/** Starts a guest, and kills the guest after the test. */
async function start(module, options) {
  const guest = await startWasiGuest(module, options);
  afterThisTest(() => guest.kill());
  return guest;
}

/** Starts the guest `odd`, whose first argument selects its behaviour. */
function startOddGuest(behaviour, options) {
  return start(odd, { args: [behaviour], ...options });
}

/** Reads the output of a guest to its end. Returns the output as text. */
const text = async ({ readable }) => new TextDecoder().decode(await readAll(readable));

for (const { name, url } of await guests()) describeGuest(name, () => start(url, { onStderr() {} }));

describe("a guest in a worker", () => {
  for (const [name, module] of [
    ["a URL", () => odd],
    ["a relative URL", () => "/target/guests/odd.wasm"],
    ["a Response", () => fetch(odd)],
    ["bytes", async () => (await fetch(odd)).arrayBuffer()],
    ["a view", async () => new Uint8Array(await (await fetch(odd)).arrayBuffer())],
    ["a compiled module", async () => WebAssembly.compile(await (await fetch(odd)).arrayBuffer())],
    ["a file without a type", () => `${odd}?type=`],
  ]) {
    it(`can be started from ${name}`, async () => {
      assert.equal((await (await start(module(), { args: ["x"] })).exited).code, 0);
    });
  }

  it("gets arguments and an environment, and has an exit code of 32 bits", async () => {
    const guest = await startOddGuest("a", { args: ["a", "ö 😀", ""], env: { KEY: "ü=", EMPTY: "" } });
    assert.equal(await text(guest), "guest\0a\0ö 😀\0\0KEY=ü=\0EMPTY=\0");
    assert.deepEqual(await guest.exited, { code: 0xfffffffe });
  });

  it("has its stderr passed to onStderr as text", async () => {
    const pieces = [];
    const guest = await startOddGuest("p", { args: ["p", "ö 😀"], onStderr: (piece) => pieces.push(piece) });
    await guest.exited;
    assert.equal(pieces.join(""), "guest\0p\0ö 😀\0");
    assert.equal(await text(guest), "");
  });

  it("continues if onStderr throws", async () => {
    const onStderr = () => {
      throw new Error("oh no");
    };
    const lines = await printed(async () => {
      assert.deepEqual(await (await startOddGuest("p", { args: ["p", "one"], onStderr })).exited, { code: 0 });
    });
    assert.include(lines, "portway: Error: oh no");
  });

  it("has its stderr printed to the console if onStderr is missing", async () => {
    const lines = await printed(async () => (await startOddGuest("p", { args: ["p", "one\ntwo"] })).exited);
    assert.deepEqual(lines, ["guest\0p\0one", "two\0"]);
  });

  it("gets the available bytes without waiting for more, if it reads into several buffers", async () => {
    const guest = await startOddGuest("s");
    const host = guest.writable.getWriter();
    const reader = guest.readable.getReader();
    for (const length of [4, 2, 1004]) {
      await host.write(new Uint8Array(length).fill(length));
      let readLength = 0;
      while (readLength < length) readLength += (await reader.read()).value.length;
      assert.equal(readLength, length);
    }
    await host.close();
    assert.equal((await guest.exited).code, 0);
  });

  for (const stdinCapacity of [1, 2, 7, 4096]) {
    it(`reads all bytes through a stdin with a capacity of ${stdinCapacity} bytes`, async () => {
      const guest = await startOddGuest("b", { stdinCapacity });
      const host = guest.writable.getWriter();
      await host.write(new Uint8Array(1_000));
      await host.write(new Uint8Array(234).buffer);
      await host.write(new DataView(new ArrayBuffer(10), 4, 6));
      await host.close();
      assert.deepEqual(await guest.exited, { code: 1_240 });
    });
  }
});

describe("a guest in a worker (streams)", () => {
  it("makes a write of the host wait while the guest does not read, and fail when the guest is killed", async () => {
    const guest = await startOddGuest("f");
    const writer = guest.writable.getWriter();
    await writer.write(new Uint8Array(65_536));
    const pendingWrite = writer.write(new Uint8Array(1));
    assert.isTrue(await isPending(pendingWrite, 100));
    guest.kill();
    for (const error of [
      await rejection(pendingWrite),
      await rejection(writer.write(new Uint8Array(1))),
      (await guest.exited).error,
    ]) {
      assert.match(error.message, /was killed/);
    }
  });

  it("does not prevent the abort of a waiting write", async () => {
    const guest = await startOddGuest("f");
    const writer = guest.writable.getWriter();
    const pendingWrite = writer.write(new Uint8Array(100_000));
    assert.isTrue(await isPending(pendingWrite, 50));
    const reason = new Error("enough");
    await writer.abort(reason);
    assert.equal(await rejection(pendingWrite), reason);
    assert.isTrue(await isPending(guest.exited));
  });

  it("makes the host buffer at most about 16 MiB of responses, if it sends requests and does not read", async () => {
    const channel = new WipcChannel(await startOddGuest("q"));
    afterThisTest(() => channel.destroy());
    let handled = 0;
    const peer = new JSONRPCPeer(channel.transport()).method("big", () => `${handled++}`.padEnd(65_536, "x"));
    for (let last = -1; handled === 0 || last !== handled; await pause(200)) last = handled;
    assert.isAbove(handled, 200);
    assert.isBelow(handled, 300);
    assert.equal((await rejection(peer.request("a", [], { timeout: 100 }))).reason, "timeout");
    channel.destroy();
    await channel.ended;
  });

  it("sleeps after about 1 MiB of unread output, which is not lost", async () => {
    const guest = await startOddGuest("f");
    await pause(500);
    guest.kill();
    const outputLength = (await readAll(guest.readable)).length;
    assert.isAtLeast(outputLength, 1 << 19);
    assert.isAtMost(outputLength, (1 << 20) + (1 << 17));
  });

  it("continues to write when the host reads its output after a pause", async () => {
    const guest = await startOddGuest("f");
    await pause(200);
    const reader = guest.readable.getReader();
    for (let read = 0; read < 20 << 20; ) read += (await reader.read()).value.length;
  });

  it("still reads its input after the host has cancelled its output, and exits with 0", async () => {
    const [{ url }] = await guests();
    const guest = await start(url, { onStderr() {} });
    await guest.readable.cancel();
    const writer = guest.writable.getWriter();
    const data = new Uint8Array([0x57, 0x49, 0x50, 0x43, 3, 0, 0, 0x10, 0, ...new Uint8Array(1 << 20)]);
    for (let n = 0; n < 4; n++) await writer.write(data);
    await writer.close();
    assert.deepEqual(await guest.exited, { code: 0 });
  });

  it("makes writes fail after it has closed its stdin", async () => {
    const guest = await startOddGuest("c");
    const error = await guest.writable.getWriter().closed.catch((error) => error);
    assert.match(error.message, /closed its stdin/);
    assert.isTrue(await isPending(guest.exited));
  });

  it("makes writes fail after it has exited", async () => {
    const guest = await startOddGuest("x");
    await guest.exited;
    assert.match((await rejection(guest.writable.getWriter().write(new Uint8Array(1)))).message, /has exited with 0/);
  });

  it("makes a write fail if the value is not bytes", async () => {
    const guest = await startOddGuest("b");
    assert.instanceOf(await rejection(guest.writable.getWriter().write("text")), TypeError);
  });
});

describe("the end of a guest in a worker", () => {
  it("is reported with the trap if the guest traps, and the output of the guest ends", async () => {
    const guest = await startOddGuest("t");
    const { code, error } = await guest.exited;
    assert.isUndefined(code);
    assert.match(error.message, /the guest has failed: RuntimeError: ./);
    assert.equal(error.cause.name, "RuntimeError");
    assert.equal(await text(guest), "guest");
  });

  it("comes when the guest is killed during a read, and the output of the guest ends", async () => {
    const [{ url }] = await guests();
    const guest = await start(url);
    const host = new Host(guest);
    await host.next();
    assert.equal((await host.call(1, "add", [1, 2])).result, 3);
    await pause(50);
    guest.kill();
    guest.kill();
    assert.match((await guest.exited).error.message, /was killed/);
    assert.isUndefined(await host.next());
  });

  it("does not discard the output that the host has not read, if the guest is killed during a read", async () => {
    // The guest writes its input back.
    const guest = await startOddGuest("s", { stdinCapacity: 16 });
    const input = "0123456789".repeat(100);
    // The write ends when at most 16 bytes are unread. The guest reads at most 16 bytes at once, and writes them back
    // before its next read.
    await guest.writable.getWriter().write(new TextEncoder().encode(input));
    await pause(50);
    guest.kill();
    assert.match((await guest.exited).error.message, /was killed/);
    const output = await text(guest);
    assert.isAtLeast(output.length, input.length - 32);
    assert.equal(output, input.slice(0, output.length));
  });

  it("is reported with the reason of the signal if the signal is aborted", async () => {
    const controller = new AbortController();
    const guest = await startOddGuest("b", { signal: controller.signal });
    controller.abort("no more");
    assert.equal((await guest.exited).error.cause, "no more");
    await rejection(guest.writable.getWriter().write(new Uint8Array(1)));
  });

  it("also ends its thread: many sleeping guests can be killed one after another", async () => {
    const module = await WebAssembly.compile(await (await fetch(odd)).arrayBuffer());
    for (let n = 0; n < 60; n++) {
      const guest = await startWasiGuest(module, { args: ["b"] });
      await guest.writable.getWriter().write(new Uint8Array(1));
      guest.kill();
    }
    assert.equal((await (await start(module, { args: ["x"] })).exited).code, 0);
  });
});

describe("a guest that cannot be started", () => {
  const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
  // (module (import "env" "f" (func)) (memory (export "memory") 1) (func (export "_start")))
  const withForeignImport = new Uint8Array([
    ...empty,
    1,
    4,
    1,
    96,
    0,
    0,
    2,
    9,
    1,
    3,
    101,
    110,
    118,
    1,
    102,
    0,
    0,
    3,
    2,
    1,
    0,
    5,
    3,
    1,
    0,
    1,
    7,
    19,
    2,
    6,
    109,
    101,
    109,
    111,
    114,
    121,
    2,
    0,
    6,
    95,
    115,
    116,
    97,
    114,
    116,
    0,
    1,
    10,
    4,
    1,
    2,
    0,
    11,
  ]);
  // This module imports a function that wasi_snapshot_preview1 does not have.
  const withUnknownImport = new Uint8Array([
    ...withForeignImport.subarray(0, 15),
    28,
    1,
    22,
    ...new TextEncoder().encode("wasi_snapshot_preview1"),
    ...withForeignImport.subarray(21),
  ]);
  const withWorker = (worker) => ({ worker: new URL(worker, import.meta.url) });

  for (const [name, module, options, kind, message] of [
    ["a module that is not a command", empty, {}, TypeError, /not a WASI command.*_start/],
    ["a module that imports a function of another module", withForeignImport, {}, TypeError, /imports env\.f/],
    ["a module that imports an unknown function of WASI", withUnknownImport, {}, Error, /LinkError/],
    ["bytes that are not wasm", new Uint8Array(8), {}, WebAssembly.CompileError, /./],
    ["a number in place of a module", 7, {}, TypeError, /guest must be/],
    ["undefined in place of a module", undefined, {}, TypeError, /guest must be/],
    ["a missing file", "/nowhere.wasm", {}, Error, /nowhere\.wasm.*404/],
    ["an HTML page in place of the file", "/tests/web/fixtures/scripted-iframe.html", {}, Error, /text\/html/],
    ["a missing script of the worker", odd, withWorker("nowhere.js"), Error, /worker.*nowhere\.js/],
    [
      "a script of the worker that throws",
      odd,
      withWorker("fixtures/throws.js?isolated"),
      Error,
      /the worker of the guest has failed/,
    ],
    [
      "a script of the worker without the header for isolation",
      odd,
      withWorker("../../pkg/early.js"),
      Error,
      /the worker of the guest/,
    ],
    [
      "a script that does not start the guest",
      odd,
      { ...withWorker("../../pkg/early.js?isolated"), startTimeout: 300 },
      Error,
      /not start within 300 ms/,
    ],
    [
      "a script of the worker that loads too slowly",
      odd,
      { ...withWorker("../../pkg/wasi-worker.js?delay=20000"), startTimeout: 300 },
      Error,
      /within 300 ms/,
    ],
    ["arguments that are not an array", odd, { args: "a" }, TypeError, /args/],
    ["an argument with NUL", odd, { args: ["a\0b"] }, TypeError, /args/],
    ["a variable that is not a string", odd, { env: { A: 1 } }, TypeError, /env\.A/],
    ["a variable with an invalid name", odd, { env: { "A=": "" } }, TypeError, /"A="/],
    ["a stdin with a capacity of 0 bytes", odd, { stdinCapacity: 0 }, RangeError, /stdinCapacity/],
    ["a stdin with a capacity of 1.5 bytes", odd, { stdinCapacity: 1.5 }, RangeError, /stdinCapacity/],
    ["an invalid startTimeout", odd, { startTimeout: -1 }, RangeError, /startTimeout/],
    ["an onStderr that is not a function", odd, { onStderr: {} }, TypeError, /onStderr/],
  ]) {
    it(`causes an error that names the cause: ${name}`, async () => {
      const error = await rejection(startWasiGuest(module, { args: ["x"], ...options }));
      assert.instanceOf(error, kind);
      assert.match(error.message, message);
    });
  }

  it("causes an error that names the cause: a browser that does not share memory", async () => {
    const { SharedArrayBuffer } = globalThis;
    delete globalThis.SharedArrayBuffer;
    try {
      assert.match((await rejection(startWasiGuest(odd))).message, /SharedArrayBuffer/);
    } finally {
      globalThis.SharedArrayBuffer = SharedArrayBuffer;
    }
  });

  it("causes a rejection with the reason of its signal, if the signal is aborted before or during the start", async () => {
    assert.equal(await rejection(startWasiGuest(odd, { signal: AbortSignal.abort("before") })), "before");
    const controller = new AbortController();
    const slow = withWorker("../../pkg/wasi-worker.js?delay=20000");
    const starting = startWasiGuest(odd, { ...slow, signal: controller.signal });
    await pause(100);
    controller.abort("while");
    assert.equal(await rejection(starting), "while");
  });
});

// This test runs last, because WebKit does not stop an endless loop of a terminated worker.
describe("a guest that runs an endless loop without calls", () => {
  it("can be killed", async () => {
    const guest = await startOddGuest("endless");
    assert.isTrue(await isPending(guest.exited, 100));
    guest.kill();
    assert.match((await guest.exited).error.message, /was killed/);
    assert.equal(await text(guest), "");
  });
});
