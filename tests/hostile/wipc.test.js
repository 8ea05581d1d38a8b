// A peer over WIPC that sends requests and reads no answers, or requests that cannot be answered under their ids.

import { assert } from "chai";
import { afterThisTest } from "../web/support/cleanup.js";
import { pause, until } from "../web/support/outcomes.js";
import { JSONRPCServer } from "../web/support/portway.js";
import { CALL, WipcChannel, concat, encodeWipc } from "../web/support/wipc.js";

const frame = (message) => encodeWipc(CALL, JSON.stringify({ jsonrpc: "2.0", ...message }));

/** A server over a channel. The test writes for the peer, which reads nothing before `read()`. */
function served(methods) {
  const input = new TransformStream(undefined, { highWaterMark: 1 });
  let open;
  const gate = new Promise((resolve) => (open = resolve));
  let written = 0;
  const output = new WritableStream({
    async write(bytes) {
      await gate;
      written += bytes.length;
    },
  });
  const channel = new WipcChannel({ readable: input.readable, writable: output }, { role: "host" });
  const server = new JSONRPCServer(channel.transport(), { onError() {} });
  for (const [name, handler] of Object.entries(methods)) server.method(name, handler);
  afterThisTest(() => server.destroy());
  return { channel, server, writer: input.writable.getWriter(), read: () => open(), written: () => written };
}

describe("a WIPC peer that reads no answers", function () {
  this.timeout(30_000);

  it("has its requests wait unread, so that no more than a bound is held for it, and gets all answers once it reads", async () => {
    const SIZE = 64 * 1_024;
    const COUNT = 6_000;
    const text = "x".repeat(SIZE);
    let calls = 0;
    const { writer, read, written } = served({ big: () => (calls++, text) });
    let taken = 0;
    const writing = (async () => {
      for (let n = 0; n < COUNT; n++) {
        await writer.write(frame({ id: n, method: "big" }));
        taken++;
      }
    })();
    let before = -1;
    while (taken !== before && taken < COUNT) {
      before = taken;
      await pause(300);
    }
    // 16 MiB are 256 answers; up to 1 024 requests may be in progress beside them.
    assert.isAtMost(calls, 1_400, "it goes on for a peer that reads nothing");
    read();
    await writing;
    await until(() => calls === COUNT && written() > COUNT * SIZE, "not all is answered");
  });

  it("by its notifications alone does not stop the reading", async () => {
    let notes = 0;
    const { writer, server } = served({});
    server.onNotify("note", () => notes++);
    for (let n = 0; n < 5_000; n++) await writer.write(frame({ method: "note", params: ["x".repeat(1_000)] }));
    await until(() => notes === 5_000, "not all have come");
  });
});

describe("a WIPC peer whose requests cannot be answered under their ids", function () {
  this.timeout(30_000);

  const odd = {
    "strings of 5 000 characters": (n) => `${n}`.padEnd(5_000, "z"),
    objects: (n) => ({ n }),
    arrays: (n) => [n],
    "truth values": () => true,
    "whole numbers, for comparison,": (n) => n,
  };
  for (const [what, id] of Object.entries(odd)) {
    it(`since those are ${what}, leaves nothing behind: the channel is idle after them`, async () => {
      const { channel, writer, read } = served({ echo: (params) => params });
      read();
      for (let n = 0; n < 500; n++) await writer.write(frame({ id: id(n), method: "echo" }));
      await writer.write(frame({ id: 1, method: "echo" }));
      const idle = await Promise.race([channel.idle().then(() => "idle"), pause(3_000).then(() => "never idle")]);
      assert.equal(idle, "idle");
    });
  }

  it("since they are not messages, or there are none, leaves nothing behind", async () => {
    const { channel, writer, read } = served({ echo: (params) => params });
    read();
    const payloads = [
      "",
      "{",
      "[]",
      "[[]]",
      "null",
      "5",
      '{"jsonrpc":"2.0"}',
      '{"jsonrpc":"1.0","id":1,"method":"echo"}',
      "[".repeat(100_000),
      '{"jsonrpc":"2.0","id":1e999,"method":"echo"}',
      `[${Array(2_000).fill('{"jsonrpc":"2.0","id":1,"method":"echo"}').join()}]`,
    ];
    for (const payload of payloads) await writer.write(encodeWipc(CALL, payload));
    await writer.write(concat([encodeWipc(CALL, new Uint8Array([0xff, 0xfe])), frame({ id: 1, method: "echo" })]));
    const idle = await Promise.race([channel.idle().then(() => "idle"), pause(3_000).then(() => "never idle")]);
    assert.equal(idle, "idle");
  });
});
