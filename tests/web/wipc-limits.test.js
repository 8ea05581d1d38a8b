// The limits of a host or a guest: the bytes that it buffers for its peer, the running requests, and the length of a
// message. Beyond a limit, the peer waits, or its message gets an error.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer } from "./support/portway.js";
import {
  CALL,
  CLOSE,
  DATA,
  OPEN,
  WipcChannel,
  WipcDecoder,
  channels,
  concat,
  encodeWipc,
  parseWipcJSON,
  pipes,
  scriptedPipe,
  text,
  utf8,
} from "./support/wipc.js";
import { afterThisTest } from "./support/cleanup.js";
import { deferred, isPending, pause, rejection, until } from "./support/outcomes.js";
import { printed } from "./support/console.js";

/** The maximum number of bytes that a channel buffers for a peer that does not read. */
const MAX_UNWRITTEN_BYTES = 16 << 20;
const KIB_64 = "x".repeat(65_536);

/** Creates a channel whose output is not read before the test calls `read`, which records all frames. */
function channelWithoutReader(options) {
  const [near, far] = pipes();
  const channel = new WipcChannel(near, options);
  const writer = far.writable.getWriter();
  const payloads = [];
  const decoder = new WipcDecoder({ frame: (_, payload) => payloads.push(payload) });
  afterThisTest(() => channel.destroy());
  return {
    channel,
    /** Writes bytes to the channel. The promise resolves after the channel has read the bytes. */
    post(bytes) {
      const written = writer.write(bytes);
      written.catch(() => {});
      return written;
    },
    end: () => writer.close().catch(() => {}),
    /** Returns a reader, with which the test reads chunk by chunk. */
    reader: () => far.readable.getReader(),
    read() {
      const reader = far.readable.getReader();
      const read = async () => {
        for (let next; !(next = await reader.read()).done; ) decoder.push(next.value);
      };
      read().catch(() => {});
    },
    /** The number of frames that `read` has read. `messages` are their contents. */
    get received() {
      return payloads.length;
    },
    get messages() {
      return payloads.map(parseWipcJSON);
    },
  };
}

function request(method, id, params) {
  return encodeWipc(CALL, JSON.stringify({ jsonrpc: "2.0", method, params, id }));
}

/** Returns the frames of `count` requests. The first one has the id `firstId`. */
function requests(method, count, firstId = 0) {
  return concat(Array.from({ length: count }, (_, n) => request(method, firstId + n)));
}

/** Waits until `count()` is above `least` and has not changed for half a second. Returns the count. */
async function settled(count, least = -1) {
  await until(() => count() > least);
  let last = count();
  for (let unchanged = 0; unchanged < 10; unchanged++) {
    await pause(50);
    if (count() === last) continue;
    last = count();
    unchanged = -1;
  }
  return last;
}

describe("a WIPC peer that sends requests and does not read", function () {
  this.timeout(30_000);

  for (const role of ["host", "guest"]) {
    for (const [kind, answer] of [
      ["at once", () => KIB_64],
      ["with a promise", async () => KIB_64],
    ]) {
      it(`causes at most about 16 MiB of buffered responses: a ${role} that responds ${kind}`, async () => {
        const pipe = channelWithoutReader({ role });
        let handled = 0;
        new JSONRPCServer(pipe.channel.transport()).method("big", () => {
          handled += 1;
          return answer();
        });
        await pipe.post(requests("big", 350));
        pipe.post(requests("big", 150, 350));
        const maximum = MAX_UNWRITTEN_BYTES / KIB_64.length + 2 * 16;
        assert.isBelow(await settled(() => handled, 200), maximum);
        pipe.read();
        await until(() => pipe.received === 500);
        assert.deepEqual(
          pipe.messages.map(({ id, result }) => [id, result.length]),
          Array.from({ length: 500 }, (_, id) => [id, 65_536]),
        );
        await pipe.channel.idle();
      });
    }
  }

  it("is not read while the output to this peer is full", async () => {
    const pipe = channelWithoutReader();
    new JSONRPCServer(pipe.channel.transport()).method("big", () => KIB_64);
    let written = 0;
    const write = async () => {
      for (; written < 500; written++) await pipe.post(request("big", written, [KIB_64]));
    };
    write().catch(() => {});
    assert.isBelow(await settled(() => written, 0), 300);
    pipe.read();
    await until(() => pipe.received === 500);
  });

  it("cannot exceed the limit by a batch, or by messages that arrive before a handler", async () => {
    const pipe = channelWithoutReader();
    await pipe.post(
      concat([requests("big", 500), encodeWipc(CALL, JSON.stringify([{ jsonrpc: "2.0", method: "big", id: "b" }]))]),
    );
    let handled = 0;
    await pause(20);
    new JSONRPCServer(pipe.channel.transport()).method("big", () => {
      handled += 1;
      return KIB_64;
    });
    assert.isBelow(await settled(() => handled, 0), 300);
    pipe.read();
    await until(() => pipe.received === 501);
    assert.deepEqual(
      pipe.messages.at(-1).map(({ id }) => id),
      ["b"],
    );
  });

  it("cannot exceed the limit by frames that hooks send back", async () => {
    let handled = 0;
    const pipe = channelWithoutReader({
      onData(payload) {
        handled += 1;
        return pipe.channel.send(DATA, payload);
      },
    });
    const piece = encodeWipc(DATA, KIB_64);
    pipe.post(concat(Array.from({ length: 400 }, () => piece)));
    assert.isBelow(await settled(() => handled, 0), 300);
    pipe.read();
    await until(() => pipe.received === 400);
  });

  it("cannot exceed the limit by notifications that handlers send", async () => {
    const pipe = channelWithoutReader();
    let handled = 0;
    const peer = new JSONRPCPeer(pipe.channel.transport()).method("log", () => {
      handled += 1;
      peer.notify("line", [KIB_64]);
    });
    await pipe.post(requests("log", 500));
    assert.isBelow(await settled(() => handled, 0), 300);
    pipe.read();
    await until(() => pipe.received === 1_000);
  });

  it("cannot exceed the limit by items of a stream, whatever its credit is", async () => {
    const pipe = channelWithoutReader();
    let produced = 0;
    new JSONRPCServer(pipe.channel.transport())
      .method("count", async function* () {
        while (produced < 500) yield `${produced++}`.padEnd(65_536, "x");
      })
      .method("none", () => 5);
    const params = { method: "count", params: [], credit: 65_535 };
    await pipe.post(
      concat([request("rpc.stream", 1, params), request("rpc.stream", 2, { ...params, method: "none", credit: 1 })]),
    );
    assert.isBelow(await settled(() => produced, 0), 300);
    pipe.read();
    await until(() => pipe.received === 502);
    const { messages } = pipe;
    assert.deepEqual(
      [messages.find(({ id }) => id === 2).error.code, messages.at(-1)],
      [-32603, { jsonrpc: "2.0", result: null, id: 1 }],
    );
    assert.deepEqual(
      messages.flatMap(({ params }) => params?.value.replace(/x+$/, "") ?? []),
      Array.from({ length: 500 }, (_, n) => `${n}`),
    );
  });

  it("still has its frames handled while the application sends many bytes", async () => {
    const seen = [];
    const pipe = channelWithoutReader({ onData: (payload) => seen.push(text(payload)) });
    for (let n = 0; n < 20; n++) pipe.channel.send(DATA, new Uint8Array(1 << 20));
    await pipe.post(encodeWipc(DATA, "taken"));
    await until(() => seen.length === 1);
    pipe.read();
    await until(() => pipe.received === 20);
  });

  it("does not prevent the timeouts of calls to this peer", async () => {
    const pipe = channelWithoutReader();
    const peer = new JSONRPCPeer(pipe.channel.transport()).method("big", () => KIB_64);
    await pipe.post(requests("big", 500));
    await settled(() => peer.pending);
    assert.equal((await rejection(peer.request("a", [], { timeout: 100 }))).reason, "timeout");
    pipe.read();
    await until(() => pipe.received >= 501);
  });

  it("does not prevent the channel from being closed or destroyed", async () => {
    for (const close of [(channel) => channel.destroy(), (channel) => channel.close("", { timeout: 100 })]) {
      const pipe = channelWithoutReader();
      let handled = 0;
      new JSONRPCServer(pipe.channel.transport()).method("big", () => ((handled += 1), KIB_64));
      await pipe.post(requests("big", 500));
      await settled(() => handled, 0);
      const before = handled;
      close(pipe.channel);
      assert.isFalse((await pipe.channel.ended).closed);
      await pipe.channel.idle();
      await pause(20);
      assert.equal(handled, before);
    }
  });
});

describe("a WIPC peer that sends many requests and ends its output", function () {
  this.timeout(30_000);

  for (const role of ["host", "guest"]) {
    it(`cannot keep the channel of a ${role} open by never reading: the error reports the dropped messages`, async () => {
      const pipe = channelWithoutReader({ role, closeTimeout: 100 });
      let handled = 0;
      new JSONRPCServer(pipe.channel.transport()).method("big", () => ((handled += 1), KIB_64));
      for (let n = 0; n < 10; n++) pipe.post(requests("big", 100, 100 * n));
      pipe.end();
      const { closed, error } = await pipe.channel.ended;
      assert.deepEqual([closed, error.name, error.reason], [false, "WipcClosedError", "ended"]);
      assert.include(error.message, "dropped");
      assert.isBelow(handled, 300);
    });

    it(`gets all responses of a ${role} if it reads slowly`, async () => {
      // In total, reading takes longer than `closeTimeout`, but each pause is much shorter.
      const pipe = channelWithoutReader({ role, closeTimeout: 2_000 });
      let handled = 0;
      let hasEnded = false;
      pipe.channel.ended.finally(() => (hasEnded = true));
      new JSONRPCServer(pipe.channel.transport()).method("big", () => ((handled += 1), KIB_64));
      for (let n = 0; n < 4; n++) pipe.post(requests("big", 100, 100 * n));
      pipe.end();
      const reader = pipe.reader();
      while (handled < 400 && !hasEnded) {
        for (let n = 0; n < 10; n++) await reader.read();
        await pause(100);
      }
      assert.equal(handled, 400);
      assert.deepEqual(await pipe.channel.ended, { closed: false, error: undefined });
    });
  }
});

describe("a WIPC peer that sends many messages at once", function () {
  this.timeout(30_000);

  const COUNT = 400;
  const note = encodeWipc(CALL, '{"jsonrpc":"2.0","method":"work"}');

  for (const [what, frame, hook, serve] of [
    ["requests", request("work", 1), undefined, (server, work) => server.method("work", work)],
    [
      "requests whose handlers return a promise",
      request("work", 1),
      undefined,
      (server, work) => server.method("work", async () => work()),
    ],
    [
      "requests whose handlers start in a microtask",
      request("work", 1),
      undefined,
      (server, work) => server.method("work", () => Promise.resolve().then(work)),
    ],
    ["notifications", note, undefined, (server, work) => server.onNotify("work", work)],
    ["CALL frames for onCall", note, "onCall"],
    ["DATA", encodeWipc(DATA), "onData"],
    ["OPEN", encodeWipc(OPEN), "onOpen"],
    ["text between frames", concat([utf8("text"), encodeWipc(OPEN)]), "onPassthrough"],
  ]) {
    it(`does not block timers: ${what}`, async () => {
      let completed = 0;
      let timerCalls = 0;
      const timer = setInterval(() => (timerCalls += completed > 0 && completed < COUNT ? 1 : 0), 1);
      afterThisTest(() => clearInterval(timer));
      const work = () => {
        for (const deadline = performance.now() + 1; performance.now() < deadline; );
        completed += 1;
      };
      const pipe = scriptedPipe(hook === undefined ? {} : { [hook]: work });
      serve?.(new JSONRPCServer(pipe.channel.transport()), work);
      pipe.postBytes(concat(Array.from({ length: COUNT }, () => frame))).catch(() => {});
      await until(() => completed === COUNT);
      assert.isAbove(timerCalls, 3);
    });
  }

  it("does not block timers: notifications that arrive before a server exists", async () => {
    let completed = 0;
    let timerCalls = 0;
    const timer = setInterval(() => (timerCalls += completed > 0 && completed < COUNT ? 1 : 0), 1);
    afterThisTest(() => clearInterval(timer));
    const pipe = scriptedPipe();
    pipe.channel.transport();
    await pipe.postBytes(concat(Array.from({ length: COUNT }, () => note)));
    await pause(50);
    new JSONRPCServer(pipe.channel.transport()).onNotify("work", () => {
      for (const deadline = performance.now() + 1; performance.now() < deadline; );
      completed += 1;
    });
    await until(() => completed === COUNT);
    assert.isAbove(timerCalls, 3);
  });

  for (const [what, type, chunked] of [
    ["all in one chunk", DATA, (bytes) => [concat(bytes)]],
    ["each in a separate chunk", DATA, (bytes) => bytes],
    ["each with JSON-RPC in a separate chunk", CALL, (bytes) => bytes],
  ]) {
    it(`does not block timers: 20 large frames, ${what}`, async () => {
      let completed = 0;
      let timerCalls = 0;
      const timer = setInterval(() => (timerCalls += completed > 0 && completed < 20 ? 1 : 0), 1);
      afterThisTest(() => clearInterval(timer));
      const work = () => {
        for (const deadline = performance.now() + 20; performance.now() < deadline; );
        completed += 1;
      };
      const pipe = scriptedPipe({ onData: work });
      if (type === CALL) new JSONRPCServer(pipe.channel.transport()).onNotify("work", work);
      const frame = encodeWipc(type, JSON.stringify({ jsonrpc: "2.0", method: "work", params: [KIB_64] }));
      for (const chunk of chunked(Array.from({ length: 20 }, () => frame))) pipe.postBytes(chunk).catch(() => {});
      await until(() => completed === 20);
      assert.isAbove(timerCalls, 3);
    });
  }

  it("does not block timers: frames that the channel sends to a stream that accepts each frame immediately", async () => {
    let completed = 0;
    let timerCalls = 0;
    const timer = setInterval(() => (timerCalls += completed > 0 && completed < COUNT ? 1 : 0), 1);
    afterThisTest(() => clearInterval(timer));
    const writable = new WritableStream({
      write() {
        for (const deadline = performance.now() + 1; performance.now() < deadline; );
        completed += 1;
      },
    });
    const channel = new WipcChannel({ readable: new ReadableStream(), writable });
    afterThisTest(() => channel.destroy());
    for (let n = 0; n < COUNT; n++) channel.send(DATA, "1");
    await until(() => completed === COUNT);
    assert.isAbove(timerCalls, 3);
  });

  it("does not block timers: text in many chunks", async () => {
    let completed = 0;
    let timerCalls = 0;
    const timer = setInterval(() => (timerCalls += completed > 0 && completed < COUNT ? 1 : 0), 1);
    afterThisTest(() => clearInterval(timer));
    const pipe = scriptedPipe({
      onPassthrough() {
        for (const deadline = performance.now() + 1; performance.now() < deadline; );
        completed += 1;
      },
    });
    for (let n = 0; n < COUNT; n++) pipe.postBytes(utf8("text")).catch(() => {});
    await until(() => completed === COUNT);
    assert.isAbove(timerCalls, 3);
  });
});

describe("two WIPC peers", function () {
  this.timeout(30_000);

  it("that send each other more than 16 MiB of responses at the same time get all responses", async () => {
    const { host, guest } = channels();
    const large = "x".repeat(1 << 20);
    const peers = [host, guest].map((channel) => new JSONRPCPeer(channel.transport()).method("big", () => large));
    const results = await Promise.all(
      peers.flatMap((peer) => Array.from({ length: 24 }, () => peer.request("big", [], { timeout: 0 }))),
    );
    assert.lengthOf(results, 48);
    assert.isTrue(results.every((result) => result.length === large.length));
  });

  it("lose no data if one sends 100 MiB and the other echoes it", async () => {
    let received = 0;
    const { host, guest } = channels(
      { onData: (payload) => void (received += payload.length) },
      { onData: (payload) => guest.send(DATA, payload) },
    );
    for (let n = 0; n < 100; n++) host.send(DATA, new Uint8Array(1 << 20));
    await until(() => received === 100 << 20);
  });

  it("exchange 3 000 calls of one turn, and their responses", async () => {
    const { host, guest } = channels();
    new JSONRPCServer(guest.transport()).method("echo", (params) => params);
    const client = new JSONRPCClient(host.transport());
    const results = await Promise.all(
      Array.from({ length: 3_000 }, (_, n) => client.request("echo", [n, "x".repeat(8_000)], { timeout: 0 })),
    );
    assert.isTrue(results.every(([n], at) => n === at));
  });
});

describe("a request over WIPC whose id cannot be echoed", function () {
  this.timeout(30_000);

  const base = '{"jsonrpc":"2.0","method":"hang"';
  for (const [what, json] of [
    ["a string of 1 025 characters", `${base},"id":"${"z".repeat(1_025)}"}`],
    ["an object", `${base},"id":{}}`],
    ["an array", `${base},"id":[1]}`],
    ["true", `${base},"id":true}`],
    ["a number that JavaScript reads as Infinity", `${base},"id":1e999}`],
    ["an integer that JavaScript reads as another integer", `${base},"id":9007199254740993}`],
    ["a negative integer that JavaScript reads as another integer", `${base},"id":-9007199254740993}`],
    ["an integer of 23 digits", `${base},"id":12345678901234567890123}`],
    [
      "an integer that JavaScript reads as another integer, in a message without the member `jsonrpc`",
      '{"method":"hang","id":9007199254740993}',
    ],
    [
      "any id, in a batch with too many elements",
      JSON.stringify(Array.from({ length: 1_001 }, (_, id) => ({ jsonrpc: "2.0", method: "hang", id }))),
    ],
  ]) {
    it(`gets one response with the id null, and then does not count as a running request: ${what}`, async () => {
      const pipe = scriptedPipe({ role: "guest" });
      const peer = new JSONRPCPeer(pipe.channel.transport())
        .method("hang", () => new Promise(() => {}))
        .method("echo", (params) => params);
      afterThisTest(() => peer.destroy());
      for (let n = 0; n < 100; n++) await pipe.post(CALL, json);
      await until(() => pipe.messages.length === 100);
      for (const { id, error } of pipe.messages) assert.deepEqual([id, error.code], [null, -32600]);
      await pipe.channel.idle();
      await pipe.postBytes(request("echo", "z".repeat(1_024), [1]));
      await until(() => pipe.messages.length === 101);
      assert.deepEqual(pipe.messages[100].result, [1]);
    });
  }

  it("gets its error response within the response to its batch", async () => {
    const pipe = scriptedPipe();
    new JSONRPCServer(pipe.channel.transport()).method("echo", (params) => params);
    await pipe.post(
      CALL,
      '[{"jsonrpc":"2.0","method":"echo","params":[1],"id":9007199254740991},{"jsonrpc":"2.0","method":"echo","id":9007199254740992},{"jsonrpc":"2.0","method":"echo","id":9007199254740993}]',
    );
    await until(() => pipe.messages.length === 1);
    const outcomes = pipe.messages[0].map(({ id, result, error }) => [id, result ?? error.data.reason]);
    assert.sameDeepMembers(outcomes, [
      [2 ** 53 - 1, [1]],
      [null, "invalid-id-type"],
      [null, "invalid-id-type"],
    ]);
  });

  it("gets its error response only after the other requests of its batch, which count as running until then", async () => {
    const pipe = scriptedPipe({ role: "guest" });
    const gate = deferred();
    new JSONRPCServer(pipe.channel.transport()).method("wait", () => gate.promise);
    const waitRequest = { jsonrpc: "2.0", method: "wait" };
    await pipe.post(
      CALL,
      JSON.stringify([
        { ...waitRequest, id: 1 },
        { ...waitRequest, id: {} },
        { ...waitRequest, id: 1 },
        { ...waitRequest, id: "z".repeat(2_000) },
      ]),
    );
    const idle = pipe.channel.idle();
    assert.isTrue(await isPending(idle));
    gate.resolve(5);
    await idle;
    await until(() => pipe.messages.length === 1);
    assert.sameDeepMembers(
      pipe.messages[0].map(({ id, result, error }) => [id, result ?? error.code]),
      [
        [1, 5],
        [null, -32600],
        [1, -32600],
        [null, -32600],
      ],
    );
  });
});

describe("running requests over WIPC", function () {
  this.timeout(30_000);

  it("are at most 1 024: a further request is refused, and does not count after that", async () => {
    const pipe = scriptedPipe();
    const gate = deferred();
    new JSONRPCServer(pipe.channel.transport()).method("wait", () => gate.promise);
    await pipe.postBytes(requests("wait", 1_025));
    await until(() => pipe.messages.length === 1);
    const [{ id, error }] = pipe.messages;
    assert.deepEqual([id, error.code, error.data.reason], [1_024, -32600, "too-many-requests"]);
    gate.resolve(1);
    await pipe.channel.idle();
    await until(() => pipe.messages.length === 1_025);
  });

  it("have at most 64 MiB of payload: a further request is refused until a running request has its response", async () => {
    const pipe = scriptedPipe();
    const gates = [];
    new JSONRPCServer(pipe.channel.transport()).method("wait", () => (gates.push(deferred()), gates.at(-1).promise));
    const large = request("wait", 1, ["x".repeat(9 << 20)]);
    for (let n = 0; n < 8; n++) await pipe.postBytes(large);
    await until(() => pipe.messages.length === 1);
    const [{ id, error }] = pipe.messages;
    assert.deepEqual([id, error.code, error.data.reason, gates.length], [1, -32600, "too-many-requests", 7]);
    await pipe.postBytes(request("wait", 8));
    gates[0].resolve(1);
    await until(() => pipe.messages.length === 2);
    await pipe.postBytes(large);
    await until(() => gates.length === 9);
    for (const gate of gates) gate.resolve(1);
    await pipe.channel.idle();
  });

  it("that arrived in one batch: the whole payload counts until each of them has a response", async () => {
    const pipe = scriptedPipe();
    const gates = [];
    let notes = 0;
    new JSONRPCServer(pipe.channel.transport())
      .method("wait", () => (gates.push(deferred()), gates.at(-1).promise))
      .onNotify("note", () => (notes += 1));
    const wait = (id) => ({ jsonrpc: "2.0", method: "wait", id });
    const batch = (id) =>
      encodeWipc(
        CALL,
        JSON.stringify([
          wait(`${id}a`),
          { jsonrpc: "2.0", method: "note", params: ["x".repeat(9 << 20)] },
          wait(`${id}b`),
        ]),
      );
    for (let n = 0; n < 8; n++) await pipe.postBytes(batch(n));
    await until(() => pipe.messages.length === 1);
    assert.deepEqual(
      pipe.messages[0].map(({ id, error }) => [id, error.data.reason]),
      [
        ["7a", "too-many-requests"],
        ["7b", "too-many-requests"],
      ],
    );
    assert.deepEqual([gates.length, notes], [14, 8]);
    // This ends only one of the batch's two requests. The other request is still running, so the payload still counts.
    gates[0].resolve(1);
    await pipe.postBytes(request("wait", "later", ["x".repeat(9 << 20)]));
    await until(() => pipe.messages.length === 2);
    assert.deepEqual([pipe.messages[1].id, pipe.messages[1].error?.data.reason], ["later", "too-many-requests"]);
    gates[1].resolve(1);
    await until(() => pipe.messages.length === 3);
    await pipe.postBytes(request("wait", "taken", ["x".repeat(9 << 20)]));
    await until(() => gates.length === 15);
    for (const gate of gates) gate.resolve(1);
    await pipe.channel.idle();
  });

  it("stop counting when their server is destroyed, even if another server uses the channel", async () => {
    const pipe = scriptedPipe({ role: "guest" });
    const server = new JSONRPCServer(pipe.channel.transport()).method("hang", () => new Promise(() => {}));
    const peer = new JSONRPCPeer(pipe.channel.transport()).method("echo", (params) => params);
    await pipe.postBytes(concat([request("hang", 1), request("echo", 2, [])]));
    await until(() => pipe.messages.length === 1);
    const idle = pipe.channel.idle();
    assert.isTrue(await isPending(idle));
    server.destroy();
    await idle;
    peer.destroy();
  });

  it("stop counting when the last user of the channel is destroyed", async () => {
    const pipe = scriptedPipe({ role: "guest" });
    let isRunning = false;
    const server = new JSONRPCServer(pipe.channel.transport()).method(
      "hang",
      () => ((isRunning = true), new Promise(() => {})),
    );
    await pipe.postBytes(request("hang", 1));
    await until(() => isRunning);
    server.destroy();
    await pipe.channel.idle();
  });

  it("still count if their id is null and the peer has received an error with the id null", async () => {
    const pipe = scriptedPipe({ role: "guest" });
    const gate = deferred();
    new JSONRPCServer(pipe.channel.transport()).method("wait", () => gate.promise);
    await pipe.post(CALL, '{"jsonrpc":"2.0","method":"wait","id":null}');
    await pipe.post(CALL, "no JSON");
    await until(() => pipe.messages.length === 1);
    const idle = pipe.channel.idle();
    assert.isTrue(await isPending(idle));
    gate.resolve(5);
    await idle;
  });

  it("all get a response before a guest is idle, if they arrive in one chunk with CLOSE", async () => {
    const pipe = scriptedPipe({ role: "guest" });
    new JSONRPCServer(pipe.channel.transport()).method("echo", async (params) => params);
    await pipe.postBytes(concat([requests("echo", 100), encodeWipc(CLOSE), requests("echo", 100, 100)]));
    await pipe.channel.idle();
    // The test reads a written frame some microtasks later.
    await pause(0);
    assert.equal(pipe.messages.length, 200);
  });
});

describe("a message over WIPC that is too long", function () {
  this.timeout(30_000);

  const limit = { maxMessage: 1_000 };
  const long = encodeWipc(CALL, JSON.stringify({ jsonrpc: "2.0", method: "echo", params: ["x".repeat(1_000)], id: 1 }));
  const oversize = {
    jsonrpc: "2.0",
    error: { code: -32600, message: "Invalid Request", data: { reason: "oversize" } },
    id: null,
  };

  for (const [how, pieces] of [
    ["in one piece", [long]],
    ["in two pieces", [long.subarray(0, 500), long.subarray(500)]],
    ["byte by byte", Array.from(long, (_, at) => long.subarray(at, at + 1))],
  ]) {
    it(`gets the error -32600 and is not handled, and the next message is handled: ${how}`, async () => {
      const passed = [];
      const pipe = scriptedPipe({ ...limit, onPassthrough: (bytes) => passed.push(text(bytes)) });
      new JSONRPCServer(pipe.channel.transport()).method("echo", (params) => params);
      for (const piece of pieces) await pipe.postBytes(piece);
      await pipe.postBytes(request("echo", 2, [1]));
      await until(() => pipe.messages.length === 2);
      assert.deepEqual(pipe.messages, [oversize, { jsonrpc: "2.0", result: [1], id: 2 }]);
      assert.deepEqual(passed, []);
    });
  }

  it("has more than 10 485 760 bytes by default", async () => {
    const pipe = scriptedPipe();
    const lengths = [];
    new JSONRPCServer(pipe.channel.transport()).method(
      "length",
      ([value]) => (lengths.push(value.length), value.length),
    );
    const frame = (length) => request("length", 1, ["x".repeat(length - request("length", 1, [""]).length + 9)]);
    const longest = frame(10_485_760);
    assert.equal(longest.length, 9 + 10_485_760);
    await pipe.postBytes(longest);
    const tooLong = frame(10_485_761);
    await pipe.postBytes(tooLong.subarray(0, 1_000));
    await pipe.postBytes(tooLong.subarray(1_000));
    await until(() => pipe.messages.length === 2);
    assert.equal(pipe.messages[0].result, lengths[0]);
    assert.deepEqual([lengths.length, pipe.messages[1]], [1, oversize]);
  });

  it("ends the call that it responds to, and causes at most one call of onError", async () => {
    const pipe = scriptedPipe(limit);
    const errors = [];
    const client = new JSONRPCClient(pipe.channel.transport(), { onError: ({ message }) => errors.push(message) });
    const call = rejection(client.request("a", [], { timeout: 0 }));
    await pipe.post(CALL, JSON.stringify({ jsonrpc: "2.0", result: "x".repeat(1_000), id: 1 }));
    const { reason, message } = await call;
    assert.equal(reason, "unreadable-response");
    assert.include(message, "maxMessage");
    assert.isAtMost(errors.length, 1);
  });

  it("is not sent: a call rejects, and a result becomes an error", async () => {
    const { host, guest } = channels(limit, limit);
    new JSONRPCServer(guest.transport()).method("long", () => "x".repeat(1_000)).method("echo", (params) => params);
    const client = new JSONRPCClient(host.transport());
    const refused = await rejection(client.request("echo", ["x".repeat(1_000)], { timeout: 0 }));
    assert.instanceOf(refused, RangeError);
    assert.include(refused.message, "at most 1000 bytes, got 10");
    assert.equal((await rejection(client.request("long", [], { timeout: 0 }))).code, -32603);
    assert.deepEqual(await client.request("echo", [1]), [1]);
  });

  it("is passed to onCall, to which the limit does not apply", async () => {
    const lengths = [];
    const pipe = scriptedPipe({ ...limit, onCall: (payload) => lengths.push(payload.length) });
    await pipe.postBytes(long.subarray(0, 500));
    await pipe.postBytes(long.subarray(500));
    await until(() => lengths.length === 1);
    assert.deepEqual(lengths, [long.length - 9]);
  });

  it("is reported if the stream ends before its last byte, and its header is passed on as text", async () => {
    const events = [];
    const pipe = scriptedPipe({
      ...limit,
      onPassthrough: (bytes) => events.push(bytes.length),
      onTruncated: (size) => events.push({ size }),
    });
    await pipe.postBytes(long.subarray(0, 500));
    pipe.end();
    await pipe.channel.ended;
    assert.deepEqual(events, [9, { size: 500 }]);
  });

  it("is abandoned after headerTimeout if the rest of its frame does not arrive", async () => {
    const pipe = scriptedPipe({ ...limit, headerTimeout: 50 });
    new JSONRPCServer(pipe.channel.transport()).method("echo", (params) => params);
    await pipe.postBytes(long.subarray(0, 500));
    await pause(100);
    await pipe.postBytes(request("echo", 2, [1]));
    await until(() => pipe.messages.length === 1);
    assert.deepEqual(pipe.messages, [{ jsonrpc: "2.0", result: [1], id: 2 }]);
  });

  it("is longer than maxMessage, which must be an integer from 1 to 2^32 - 1: other values cause a RangeError", () => {
    const [near] = pipes();
    for (const maxMessage of [0, -1, 1.5, 2 ** 32, "1"])
      assert.throws(() => new WipcChannel(near, { maxMessage }), RangeError, "maxMessage");
  });
});

describe("CALL frames that arrive before a handler", function () {
  this.timeout(30_000);

  for (const [what, frame, count] of [
    ["10 000 frames", request("echo", 1), 12_000],
    ["16 MiB", request("echo", 1, [KIB_64]), 400],
  ]) {
    it(`make reading pause with a warning, and are all handled later: more than ${what}`, async () => {
      let data = 0;
      const pipe = scriptedPipe({ onData: () => (data += 1) });
      const lines = await printed(async (lines) => {
        pipe.postBytes(concat([...Array.from({ length: count }, () => frame), encodeWipc(DATA)])).catch(() => {});
        await until(() => lines.length === 1);
        await pause(50);
      });
      assert.lengthOf(lines, 1);
      assert.include(lines[0], "reading is paused");
      assert.equal(data, 0);
      let handled = 0;
      new JSONRPCServer(pipe.channel.transport()).method("echo", () => (handled += 1));
      await until(() => data === 1);
      assert.equal(handled, count);
    });
  }

  it("cause one warning, even if the input ends while their number exceeds the limit", async () => {
    const pipe = scriptedPipe();
    pipe.channel.transport();
    const frame = request("echo", 1);
    const lines = await printed(async (lines) => {
      await pipe.postBytes(concat(Array.from({ length: 9_999 }, () => frame)));
      await pause(50);
      pipe.postBytes(concat(Array.from({ length: 20_000 }, () => frame))).catch(() => {});
      await until(() => lines.length > 0);
      pipe.end();
      await pipe.channel.ended;
    });
    assert.lengthOf(lines, 1);
  });

  it("count with their payload and 256 bytes each", async () => {
    let data = 0;
    const pipe = scriptedPipe({ onData: () => (data += 1) });
    const payload = "x".repeat(1_600);
    await printed(async (lines) => {
      // Without the 256 bytes, the frames would exceed neither 10 000 nor 16 MiB.
      pipe
        .postBytes(concat([...Array.from({ length: 9_500 }, () => encodeWipc(CALL, payload)), encodeWipc(DATA)]))
        .catch(() => {});
      await until(() => lines.length === 1 || data === 1);
    });
    assert.equal(data, 0);
  });

  it("do not prevent the end of the channel", async () => {
    const pipe = scriptedPipe();
    await printed(async () => {
      pipe.postBytes(concat(Array.from({ length: 10_100 }, () => request("echo", 1)))).catch(() => {});
      pipe.end();
      assert.deepEqual(await pipe.channel.ended, { closed: false, error: undefined });
    });
  });
});

describe("messages that must cost a WIPC peer little", function () {
  this.timeout(30_000);

  /** Creates a server that receives the payloads. Returns all responses. */
  async function responsesTo(payloads, rpc) {
    const pipe = scriptedPipe();
    new JSONRPCServer(pipe.channel.transport(), { onError() {}, ...rpc })
      .method("echo", (params) => params)
      .onNotify("note", () => {});
    for (const payload of payloads) await pipe.post(CALL, payload);
    await pipe.postBytes(request("echo", "last", [1]));
    await until(() => pipe.messages.some(({ id }) => id === "last"));
    return pipe.messages;
  }

  it("get one response each, however deep they are nested", async () => {
    const deep = (levels) => "[".repeat(levels) + "]".repeat(levels);
    const messages = await responsesTo([
      deep(500_000),
      "[".repeat(1_000_000),
      `{"jsonrpc":"2.0","method":"echo","params":${deep(100_000)},"id":1}`,
      `{"jsonrpc":"2.0","method":"echo","params":[{"__proto__":{"jsonrpc":1}}],"id":2}`,
    ]);
    assert.lengthOf(messages, 5);
  });

  it("get one error for each batch, even of hundreds of thousands of elements", async () => {
    const many = (element, count) => `[${`${element},`.repeat(count - 1)}${element}]`;
    const [first, second, third] = await responsesTo([
      many("1", 500_000),
      many("{}", 300_000),
      many('{"jsonrpc":"2.0","result":1,"id":1}', 50_000),
    ]);
    for (const { id, error } of [first, second])
      assert.deepEqual([id, error.code, error.data.reason], [null, -32600, "batch-too-large"]);
    assert.equal(third.id, "last");
  });

  it("get no response if they are notifications for an unknown request or stream", async () => {
    const notes = ["$/cancelRequest", "rpc.credit", "rpc.item", "$/progress"].map((method) =>
      JSON.stringify({ jsonrpc: "2.0", method, params: { id: 1, token: 1, count: 1, value: 1 } }),
    );
    assert.lengthOf(await responsesTo(Array.from({ length: 20_000 }, (_, n) => notes[n % 4])), 1);
  });

  it("are found after many bytes that look like headers", async () => {
    const pipe = scriptedPipe({ maxPayload: 1_000 });
    new JSONRPCServer(pipe.channel.transport()).method("echo", (params) => params);
    for (const noise of ["WIPC\x02", "W", "WIPC\x02\xff\xff\xff\x7f", "WIPC\x07\0\0\0\0"]) {
      await pipe.postBytes(Uint8Array.from(noise.repeat(50_000), (letter) => letter.charCodeAt(0)));
    }
    for (const byte of concat([utf8("W".repeat(2_000)), request("echo", 1, [1])]))
      await pipe.postBytes(Uint8Array.of(byte));
    await until(() => pipe.messages.length === 1);
  });
});
