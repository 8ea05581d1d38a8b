// The rows of the table of limits (limits.toml). Each test checks that the built package has the value of the row, and
// beyond this value the effect that the row states. The limits of time are in `timeLimits`, because their tests wait.

import { assert } from "chai";
import {
  CallError,
  JSONRPCClient,
  JSONRPCPeer,
  JSONRPCServer,
  broadcastTransport,
  inNode,
  packaged,
  validateMessage,
} from "./support/portway.js";
import { hexId, connectToScripted, scriptedPort, connected } from "./support/connections.js";
import { printed } from "./support/console.js";
import { channel, scriptedChannel, recorder } from "./support/transports.js";
import { pause, rejection, until } from "./support/outcomes.js";
import { CALL, WipcChannel, WipcDecoder, scriptedPipe } from "./support/wipc.js";
import { stopClock } from "./support/clock.js";
import { afterThisTest } from "./support/cleanup.js";

const { startWasiGuest } = await import(packaged("wipc-wasi.js"));

const call = (id, method, params) => ({ jsonrpc: "2.0", method, params, id });
const neverResolves = () => new Promise(() => {});
const nextMacrotask = () => new Promise((resolve) => setTimeout(resolve));

/** Posts the messages one after the other, and returns the responses of the server. */
async function answers(serve, messages) {
  const { transport, remoteEnd } = scriptedChannel();
  serve(new JSONRPCServer(transport));
  for (const message of messages) remoteEnd.post(message);
  return remoteEnd.unreadBeforeResponse();
}

/** Posts requests whose handlers never end. Returns the number of started handlers and the reasons of the refusals. */
async function requestMany(count) {
  let begun = 0;
  const refused = await answers(
    (server) => server.method("work", () => (begun++, neverResolves())),
    Array.from({ length: count }, (_, id) => call(id, "work")),
  );
  return { begun, reasons: refused.map(({ error }) => error.data.reason) };
}

/**
 * Makes three calls in one turn, the second with these params. The first call is sent alone. Returns the list of the
 * other two calls, or an empty array if each of them is sent alone.
 */
async function listOfOneTurn(params) {
  const { transport, remoteEnd } = scriptedChannel();
  const client = new JSONRPCClient(transport, { coalesce: true });
  for (const value of [[], params, []]) client.request("a", value).catch(() => {});
  const haveArrived = () => remoteEnd.received.flat().length === 3;
  await until(haveArrived, "the calls were not sent");
  return remoteEnd.received.find((message) => Array.isArray(message)) ?? [];
}

/**
 * Returns the number of items that a server sends on `streams` endless streams, each with this credit. An item takes
 * `busy` ms. `turns` is the number of turns that end before the items are counted. If `turns` is 0, only microtasks run
 * before the count.
 */
async function countSentItems(credit, { streams = 1, busy = 0, turns = 0 } = {}) {
  const transport = recorder();
  const server = new JSONRPCServer(transport);
  server.method("flood", async function* () {
    for (;;) {
      for (const end = performance.now() + busy; performance.now() < end; );
      yield 1;
    }
  });
  for (let id = 1; id <= streams; id++) transport.deliver(call(id, "rpc.stream", { method: "flood", credit }));
  for (let step = 0; step < 20_000; step++) await undefined;
  for (let turn = 0; turn < turns; turn++) await nextMacrotask();
  const sent = transport.sent.filter(({ method }) => method === "rpc.item").length;
  server.destroy();
  return sent;
}

/**
 * Sends messages over WIPC to a server. If `handler` is `neverResolves`, reads all responses. With another handler,
 * stops after the first write of the server, so that the responses accumulate. Returns the number of requests that
 * reached the handler, and the text of the responses.
 */
async function sendOverWipc(messages, handler) {
  let count = 0;
  let text = "";
  const writable = new WritableStream({
    write: (bytes) => (
      (text += new TextDecoder().decode(bytes)), handler === neverResolves ? undefined : neverResolves()
    ),
  });
  const { readable, writable: input } = new TransformStream();
  const wipc = new WipcChannel({ readable, writable });
  afterThisTest(() => wipc.destroy());
  new JSONRPCServer(wipc.transport()).method("work", (params) => (count++, handler(params)));
  const writer = input.getWriter();
  const { encodeWipc } = await import(packaged("wipc.js"));
  for (const message of messages)
    await Promise.race([writer.write(encodeWipc(CALL, JSON.stringify(message))), pause(200)]);
  await pause(100);
  return { count, text };
}

const tests = {
  "pending-calls": async (limit) => {
    const client = new JSONRPCClient({ send() {}, onMessage() {} }, { timeout: 0 });
    for (let n = 0; n < limit; n++) client.request("a");
    assert.equal(client.pending, limit);
    const error = await rejection(client.request("a"));
    assert.instanceOf(error, CallError);
    assert.equal(error.reason, "too-many-calls");
  },

  "in-flight": async (limit) => {
    // `requestMany` calls `unreadBeforeResponse()`, which posts one more request. This request also counts.
    assert.deepEqual(await requestMany(limit - 1), { begun: limit - 1, reasons: [] });
    const { transport, remoteEnd } = scriptedChannel();
    let begun = 0;
    new JSONRPCServer(transport).method("work", () => (begun++, neverResolves()));
    for (let id = 0; id <= limit; id++) remoteEnd.post(call(id, "work"));
    const { id, error } = await remoteEnd.next();
    assert.deepEqual([begun, id, error.code, error.data.reason], [limit, limit, -32600, "too-many-requests"]);
  },

  "batch-items": async (limit) => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method("a", () => 1);
    const batch = (length) => Array.from({ length }, (_, id) => call(id, "a"));
    remoteEnd.post(batch(limit));
    assert.lengthOf(await remoteEnd.next(), limit);
    remoteEnd.post(batch(limit + 1));
    const { id, error } = await remoteEnd.next();
    assert.deepEqual([id, error.code, error.data.reason], [null, -32600, "batch-too-large"]);
  },

  "id-length": async (limit) => {
    const ids = [limit, limit + 1].map((length) => "é".repeat(length));
    const [accepted, refused] = await answers(
      (server) => server.method("a", () => 1),
      ids.map((id) => call(id, "a")),
    );
    assert.deepEqual(accepted, { jsonrpc: "2.0", result: 1, id: ids[0] });
    assert.deepEqual([refused.id, refused.error.code, refused.error.data.reason], [null, -32600, "id-too-long"]);
  },

  "method-length": async (limit) => {
    const names = [limit, limit + 1].map((length) => "m".repeat(length));
    const serve = (server) => names.forEach((name) => server.method(name, () => 1));
    const [accepted, refused] = await answers(
      serve,
      names.map((name, id) => call(id, name)),
    );
    assert.deepEqual([accepted.result, refused.id, refused.error.code], [1, 1, -32600]);
    assert.notInclude(JSON.stringify(refused), "mmm");
  },

  "error-echo": async (limit) => {
    const replies = await answers(
      () => {},
      [limit, limit + 1].map((length, id) => call(id, "m".repeat(length))),
    );
    const [whole, cut] = replies.map(({ error }) => /m{3,}/.exec(JSON.stringify(error))?.[0].length ?? 0);
    assert.equal(whole, limit);
    assert.isAtMost(cut, limit);
  },

  "error-depth": async (limit) => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("fail", () => {
      let error = new Error(`level ${limit + 1}`);
      for (let level = limit; level >= 0; level--) error = new Error(`level ${level}`, { cause: error });
      throw error;
    });
    const text = JSON.stringify((await rejection(new JSONRPCClient(near).request("fail"))).data);
    assert.include(text, `"level ${limit}"`);
    assert.notInclude(text, `"level ${limit + 1}"`);
  },

  "error-values": async (limit) => {
    // The error, its name and the array of errors also count.
    for (const [count, sentCount] of [
      [limit - 3, limit - 3],
      [limit - 2, limit - 3],
    ]) {
      const { near, far } = channel();
      new JSONRPCServer(far).method("fail", () => {
        throw new AggregateError(Array.from({ length: count }, (_, n) => n));
      });
      const { data } = await rejection(new JSONRPCClient(near).request("fail"));
      assert.lengthOf(data.errors, sentCount);
    }
  },

  "error-characters": async (limit) => {
    // The names of both errors also count.
    const allowed = limit - 2 * "Error".length;
    for (const length of [allowed, allowed + 1]) {
      const { near, far } = channel();
      new JSONRPCServer(far).method("fail", () => {
        throw new Error("outer", { cause: new Error("x".repeat(length)) });
      });
      const { data } = await rejection(new JSONRPCClient(near).request("fail"));
      assert.lengthOf(data.cause.message, allowed);
    }
  },

  "printed-faults": async (limit) => {
    const transport = recorder();
    new JSONRPCServer(transport).onNotify("a", () => {
      throw new Error("no");
    });
    // The library limits the printed lines in each whole second of the clock. So the test begins with a new second.
    const lines = await printed(async (lines) => {
      await pause(1_010 - (performance.now() % 1_000));
      for (let n = 0; n < limit; n++) transport.deliver({ jsonrpc: "2.0", method: "a" });
      assert.equal(lines.filter((line) => line.includes("Error: no")).length, limit);
      transport.deliver({ jsonrpc: "2.0", method: "a" });
    });
    assert.equal(lines.filter((line) => line.includes("Error: no")).length, limit);
  },

  findings: (limit) => {
    const broken = { jsonrpc: "2.0", id: 1 };
    // The validator warns of each notification, because a notification gets no response.
    const notification = { jsonrpc: "2.0", method: "note" };
    for (const count of [limit, limit + 1]) {
      const { isValid, errors, warnings } = validateMessage(Array(count).fill(notification));
      assert.deepEqual([isValid, errors.length, warnings.length], [true, 0, limit]);
    }
    const withError = [...Array(limit + 1).fill(notification), broken];
    assert.isFalse(
      validateMessage(withError).isValid,
      "an error must be found even if the warnings before it exceed the limit",
    );
    const { errors } = validateMessage(Array(300_000).fill(broken));
    assert.lengthOf(errors, limit);
    assert.isTrue(errors.at(-1).includes("[Item "), errors.at(-1));
  },

  "unhandled-messages": async (limit) => {
    const name = `unhandled ${Math.random()}`;
    const transport = broadcastTransport(name);
    const peer = new BroadcastChannel(name);
    afterThisTest(() => [peer.close(), transport.destroy()]);
    const lines = await printed(async (lines) => {
      for (let n = 0; n < limit; n++) peer.postMessage({ jsonrpc: "2.0", method: "note", params: [n] });
      await pause(500);
      assert.deepEqual(lines, []);
      for (let n = limit; n < limit + 3; n++) peer.postMessage({ jsonrpc: "2.0", method: "note", params: [n] });
      await until(() => lines.length > 0, "no warning was printed");
      await pause(50);
    });
    assert.lengthOf(lines, 1);
    const received = [];
    new JSONRPCServer(transport).onNotify("note", ([n]) => void received.push(n));
    await until(() => received.length > 0, "no message was buffered");
    peer.postMessage({ jsonrpc: "2.0", method: "note", params: ["later"] });
    await until(() => received.at(-1) === "later", "the next message did not arrive");
    assert.deepEqual(received.slice(-2), [limit - 1, "later"]);
    assert.lengthOf(received, limit + 1);
  },

  "session-queue": async (limit) => {
    const { peer, end } = await connectToScripted({ timeout: 0 });
    let lost = false;
    peer.request("last").catch(() => (lost = true));
    await end.nextCall();
    end.bye("closed");
    await until(() => lost, "the session did not end");
    for (let n = 0; n < limit; n++) peer.request("a").catch(() => {});
    assert.equal((await rejection(peer.request("a"))).reason, "too-many-calls");
  },

  features: async (limit) => {
    for (const [count, acceptedCount] of [
      [limit, limit],
      [limit + 1, limit],
    ]) {
      const { port, scriptedPeer } = scriptedPort();
      const sessions = [];
      const connecting = connected(port, { onSession: (session) => void sessions.push(session) });
      await scriptedPeer.open({ session: hexId(1), features: Array.from({ length: count }, (_, n) => `feature ${n}`) });
      await connecting;
      assert.lengthOf(sessions[0].features, acceptedCount);
    }
  },

  columns: async (limit) => {
    stopClock();
    const { transport, remoteEnd } = scriptedChannel();
    const peer = new JSONRPCPeer(transport, { coalesce: "columns" });
    let count = 0;
    peer.onNotify("a", () => void count++);
    const columns = (length) => ({
      jsonrpc: "2.0",
      method: "rpc.columns",
      params: { methods: "a", values: Array(length).fill([]) },
    });
    remoteEnd.post(columns(limit));
    remoteEnd.post(columns(limit + 1));
    await remoteEnd.unreadBeforeResponse();
    assert.equal(count, limit);
    remoteEnd.received.length = 0;
    for (let n = 0; n < limit + 2; n++) peer.notify("b", [n]);
    await until(() => remoteEnd.received.length === 3, "the notifications were not sent in three messages");
    // The first message of a turn is always sent alone.
    assert.deepEqual(
      remoteEnd.received.map(({ method, params }) => (method === "rpc.columns" ? params.values.length : 1)),
      [1, limit, 1],
    );
  },

  "coalesced-values": async (limit) => {
    stopClock();
    // The array of the params also counts as a value.
    assert.lengthOf(await listOfOneTurn(Array(limit - 1).fill(1)), 2);
    assert.lengthOf(await listOfOneTurn(Array(limit).fill(1)), 0);
  },

  "coalesced-string": async (limit) => {
    stopClock();
    assert.lengthOf(await listOfOneTurn(["s".repeat(limit)]), 2);
    assert.lengthOf(await listOfOneTurn(["s".repeat(limit + 1)]), 0);
  },

  "stream-window": async (limit) => {
    const transport = recorder();
    new JSONRPCClient(transport)
      .stream("a")
      .next()
      .catch(() => {});
    assert.equal(transport.sent[0].params.credit, limit);
    assert.equal(await countSentItems(limit, { turns: 5 }), limit);
  },

  "stream-credit": async (limit) => {
    const client = new JSONRPCClient(recorder());
    client.stream("a", undefined, { window: limit });
    assert.throws(() => client.stream("a", undefined, { window: limit + 1 }), RangeError);
    const transport = recorder();
    const items = async function* () {
      await neverResolves();
    };
    new JSONRPCServer(transport).method("a", items);
    for (const [id, credit] of [limit, limit + 1].entries())
      transport.deliver(call(id, "rpc.stream", { method: "a", credit }));
    assert.deepEqual(
      transport.sent.map(({ id, error }) => [id, error.code]),
      [[1, -32602]],
    );
  },

  "peer-credit": async (limit) => {
    const excess = async (streams) => (await countSentItems(limit, { streams, turns: 2_000 })) - limit;
    assert.equal(await excess(1), 0);
    assert.isAtMost(await excess(2), 1);
  },

  "stream-turn-items": async (limit) => {
    assert.isAtMost(await countSentItems(4 * limit), limit);
    assert.isAtMost(await countSentItems(4 * limit, { streams: 3 }), limit);
    assert.equal(await countSentItems(4 * limit, { turns: 100 }), 4 * limit);
  },

  "stream-turn-time": async (limit) => {
    // Each item takes at least a millisecond, and one more item may have started before the time ends.
    const sent = await countSentItems(1_000, { busy: 1 });
    assert.isAbove(sent, 0);
    assert.isAtMost(sent, limit + 1);
  },

  "in-flight-bytes": async (limit) => {
    const megabyte = "x".repeat(1_000_000);
    // Each message is a little longer than its megabyte of params.
    const count = Math.floor(limit / 1_000_100);
    const { count: begun, text } = await sendOverWipc(
      Array.from({ length: count + 3 }, (_, id) => call(id, "work", [megabyte])),
      neverResolves,
    );
    assert.approximately(begun, count, 2);
    assert.include(text, "-32600");
  },

  "unwritten-bytes": async (limit) => {
    const megabyte = "x".repeat(1_000_000);
    const { count } = await sendOverWipc(
      Array.from({ length: 100 }, (_, id) => call(id, "work")),
      () => megabyte,
    );
    assert.approximately(count, limit / 1_000_000, 3);
  },

  "message-bytes": async (limit) => {
    const pipe = scriptedPipe();
    new JSONRPCServer(pipe.channel.transport()).method("size", ([text]) => text.length);
    const message = (id, length) => {
      const start = `{"jsonrpc":"2.0","id":${id},"method":"size","params":["`;
      return `${start}${"x".repeat(length - start.length - 3)}"]}`;
    };
    for (const [id, length] of [limit, limit + 1].entries()) pipe.post(CALL, message(id, length));
    await until(() => pipe.messages.length === 2, "some requests have no response");
    const [accepted, refused] = pipe.messages;
    assert.isAbove(accepted.result, limit - 100);
    assert.deepEqual([refused.id, refused.error.code, refused.error.data.reason], [null, -32600, "oversize"]);
  },

  "wipc-payload": (limit) => {
    const header = (length) => {
      const bytes = new Uint8Array(9);
      bytes.set(new TextEncoder().encode("WIPC\x02"));
      new DataView(bytes.buffer).setUint32(5, length, true);
      return bytes;
    };
    /** Returns the length in a header that the decoder accepts, or undefined for a length above the limit. */
    const acceptedLength = (length, options) => {
      const decoder = new WipcDecoder({ frame() {} }, options);
      decoder.push(header(length));
      return decoder.partial?.length;
    };
    assert.equal(acceptedLength(limit), limit);
    assert.equal(acceptedLength(1_000, { maxPayload: 1_000 }), 1_000);
    assert.equal(acceptedLength(1_001, { maxPayload: 1_000 }), undefined);
    assert.throws(() => acceptedLength(0, { maxPayload: limit + 1 }), RangeError);
  },

  "wasi-input": async (limit) => {
    // The signal is aborted, so no guest starts. The options are checked before the signal.
    const signal = AbortSignal.abort();
    const start = (stdinCapacity) => rejection(startWasiGuest(undefined, { stdinCapacity, signal }));
    assert.notInstanceOf(await start(limit), RangeError);
    assert.instanceOf(await start(limit + 1), RangeError);
  },

  // The value of this row is a number by which the timeout is multiplied.
  "total-timeout": async (factor) => {
    // The timeout is long because a busy machine may stop the test for a tenth of a second.
    const timeout = 250;
    const transport = recorder();
    const start = performance.now();
    const call = new JSONRPCClient(transport).request("a", [], { timeout, onProgress() {} });
    const params = { token: transport.sent[0].id, value: 1 };
    const timer = setInterval(() => transport.deliver({ jsonrpc: "2.0", method: "$/progress", params }), 5);
    afterThisTest(() => clearInterval(timer));
    const error = await rejection(call);
    assert.equal(error.reason, "timeout");
    assert.isAtLeast(performance.now() - start, factor * timeout - 1);
    assert.isBelow(performance.now() - start, factor * timeout + 2_000);
  },
};

/** Limits of time. Each function waits until the limit ends the operation. All functions run at the same time. */
const timeLimits = {
  "call-timeout": async () => (await rejection(new JSONRPCClient(recorder()).request("a"))).reason,

  "connect-timeout": async () => (await rejection(connected(scriptedPort().port))).reason,

  heartbeat: async () => {
    const { peer } = await connectToScripted();
    return (await rejection(peer.request("a", [], { timeout: 0 }))).reason;
  },

  "link-grace": async () => {
    await scriptedPipe().channel.close();
    return "closed";
  },
};

/** The outcome of each function in `timeLimits`. */
const outcomes = {
  "call-timeout": "timeout",
  "connect-timeout": "no-answer",
  heartbeat: "unresponsive",
  "link-grace": "closed",
};

async function loadTable() {
  const url = new URL("../data/limits.json", import.meta.url);
  if (!inNode) return (await fetch(url)).json();
  const { readFile } = await import("node:fs/promises");
  return JSON.parse(await readFile(url, "utf8"));
}

const rows = (await loadTable()).filter(({ drivers }) => drivers.includes("tests/web/limits-table.test.js"));

describe("in the table of limits,", () => {
  it("each row has a test, and each test has a row", () => {
    assert.sameMembers(
      [...Object.keys(tests), ...Object.keys(timeLimits)],
      rows.map(({ name }) => name),
    );
  });

  for (const { name, value } of rows.filter(({ name }) => name in tests)) {
    it(`${name} is ${value}, and more than ${value} has the effect that the row states`, () =>
      tests[name](value)).timeout(60_000);
  }

  const timed = rows.filter(({ name }) => name in timeLimits);
  it(`${timed.map(({ name, value }) => `${name} is ${value} ms`).join(", ")}, and each operation ends after about this time`, async () => {
    const run = async ({ name, value }) => {
      const start = performance.now();
      const outcome = await timeLimits[name]();
      const elapsed = performance.now() - start;
      assert.equal(outcome, outcomes[name]);
      // The heartbeat is checked three times in its period. The timeout of a call may be late by a sixteenth.
      assert.isAtLeast(elapsed, name === "heartbeat" ? value * 0.6 : value - 2, name);
      assert.isBelow(elapsed, (name === "heartbeat" ? value * 1.4 : value * 1.07) + 1_500, name);
    };
    await Promise.all(timed.map(run));
  }).timeout(40_000);
});
