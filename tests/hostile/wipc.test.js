// Tests a peer over WIPC that sends requests but reads no responses, and a peer whose requests have invalid ids.

import { assert } from "chai";
import { afterThisTest } from "../web/support/cleanup.js";
import { pause, until } from "../web/support/outcomes.js";
import { JSONRPCServer } from "../web/support/portway.js";
import { CALL, WipcChannel, concat, encodeWipc } from "../web/support/wipc.js";

const frame = (message) => encodeWipc(CALL, JSON.stringify({ jsonrpc: "2.0", ...message }));

/** Creates a server over a channel. The test acts as its peer, and reads nothing before it calls `read()`. */
function startServer(methods) {
  const input = new TransformStream(undefined, { highWaterMark: 1 });
  let openGate;
  const gate = new Promise((resolve) => (openGate = resolve));
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
  return { channel, server, writer: input.writable.getWriter(), read: () => openGate(), written: () => written };
}

describe("a WIPC peer that reads no responses", function () {
  this.timeout(30_000);

  it("makes the server stop reading at a limit, and receives all responses when it reads again", async () => {
    const SIZE = 64 * 1_024;
    const COUNT = 6_000;
    const text = "x".repeat(SIZE);
    let calls = 0;
    const { writer, read, written } = startServer({ big: () => (calls++, text) });
    let acceptedCount = 0;
    const writing = (async () => {
      for (let n = 0; n < COUNT; n++) {
        await writer.write(frame({ id: n, method: "big" }));
        acceptedCount++;
      }
    })();
    let before = -1;
    while (acceptedCount !== before && acceptedCount < COUNT) {
      before = acceptedCount;
      await pause(300);
    }
    // The server buffers 16 MiB, which is the size of 256 responses. In addition, up to 1 024 requests may be running.
    assert.isAtMost(calls, 1_400, "the server must stop reading");
    read();
    await writing;
    await until(() => calls === COUNT && written() > COUNT * SIZE, "all requests must be answered");
  });

  it("does not make the server stop reading if it sends only notifications", async () => {
    let notes = 0;
    const { writer, server } = startServer({});
    server.onNotify("note", () => notes++);
    for (let n = 0; n < 5_000; n++) await writer.write(frame({ method: "note", params: ["x".repeat(1_000)] }));
    await until(() => notes === 5_000, "all notifications must arrive");
  });
});

describe("a WIPC peer", function () {
  this.timeout(30_000);

  const odd = {
    "strings of 5 000 characters": (n) => `${n}`.padEnd(5_000, "z"),
    objects: (n) => ({ n }),
    arrays: (n) => [n],
    booleans: () => true,
    "valid numbers": (n) => n,
  };
  for (const [what, id] of Object.entries(odd)) {
    it(`that sends requests whose ids are ${what} leaves the channel idle`, async () => {
      const { channel, writer, read } = startServer({ echo: (params) => params });
      read();
      for (let n = 0; n < 500; n++) await writer.write(frame({ id: id(n), method: "echo" }));
      await writer.write(frame({ id: 1, method: "echo" }));
      const idle = await Promise.race([channel.idle().then(() => "idle"), pause(3_000).then(() => "never idle")]);
      assert.equal(idle, "idle");
    });
  }

  it("that sends invalid messages leaves the channel idle", async () => {
    const { channel, writer, read } = startServer({ echo: (params) => params });
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
