// Streams whose handlers never wait. The streams of a link must leave time for other tasks of their thread. If the peer
// grants no further credit, the server sends a limited number of items in all streams together.

import { assert } from "chai";
import { JSONRPCServer } from "./support/portway.js";
import { scriptedChannel } from "./support/transports.js";
import { until } from "./support/outcomes.js";

const { setImmediate } = globalThis;

/** Returns the maximum growth of a count between two consecutive tasks of this thread, until `isDone` returns true. */
async function maxItemsInATask(count, isDone) {
  const { port1, port2 } = new MessageChannel();
  let maximum = 0;
  let last = count();
  await new Promise((resolve) => {
    const tick = () => {
      maximum = Math.max(maximum, count() - last);
      last = count();
      if (isDone()) resolve();
      else next();
    };
    const next = setImmediate === undefined ? () => port2.postMessage(0) : () => setImmediate(tick);
    port1.onmessage = tick;
    next();
  });
  port1.close();
  port2.close();
  return maximum;
}

/**
 * Creates a server with endless generators that never wait. The test is its peer. `spend` runs before each item.
 * `produced` has the number of produced items of each stream, by the param `of` of its request.
 */
function serveNumbers(spend = () => {}) {
  const { transport, remoteEnd } = scriptedChannel();
  const produced = {};
  const server = new JSONRPCServer(transport).method("numbers", async function* ({ of }) {
    for (let n = 1; ; n++) {
      spend();
      produced[of] = n;
      yield n;
    }
  });
  // A stream that never has an item, and so keeps its credit.
  server.method("nothing", () => ({ next: () => new Promise(() => {}), return: async () => ({ done: true }) }));
  const streamParams = (of, credit, method = "numbers") => ({ method, params: { of }, credit });
  return {
    remoteEnd,
    server,
    produced,
    total: () => Object.values(produced).reduce((sum, n) => sum + n, 0),
    open: (id, credit, method) =>
      remoteEnd.post({ jsonrpc: "2.0", id, method: "rpc.stream", params: streamParams(id, credit, method) }),
    openAll: (count, credit, method) => {
      const ids = Array.from({ length: count }, (_, n) => n);
      const values = ids.map((id) => streamParams(id, credit, method));
      remoteEnd.post({ jsonrpc: "2.0", method: "rpc.columns", params: { ids, methods: "rpc.stream", values } });
    },
    credit: (id, count) => remoteEnd.post({ jsonrpc: "2.0", method: "rpc.credit", params: { id, count } }),
    cancel: (id) => remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id } }),
    items: (id) => remoteEnd.received.filter(({ method, params }) => method === "rpc.item" && params.id === id).length,
    answer: (id) => remoteEnd.received.find((message) => message.id === id && message.method === undefined),
  };
}

describe("all streams of a link", () => {
  for (const [count, credit] of [
    [1, 20_000],
    [256, 100],
  ]) {
    it(`produce at most 256 items in one turn (streams opened in one message: ${count}; credit of each: ${credit})`, async () => {
      const { openAll, total } = serveNumbers();
      openAll(count, credit);
      const wanted = count * credit;
      const maximum = await maxItemsInATask(total, () => total() >= wanted);
      // Two turns may run between two tasks of the test.
      assert.isAtMost(maximum, 512);
    });
  }

  it("end their turn with the first item that is complete 4 ms or more after the start of the turn", async () => {
    const { openAll, total } = serveNumbers(() => {
      const end = performance.now() + 2;
      while (performance.now() < end);
    });
    openAll(8, 20);
    const maximum = await maxItemsInATask(total, () => total() >= 160);
    // Each item takes 2 ms, so a turn has at most three items. Two turns may run between two tasks of the test.
    assert.isAtMost(maximum, 6);
  });

  it("send about equal numbers of items while all streams have credit", async () => {
    const { openAll, produced, total } = serveNumbers();
    openAll(50, 1_000);
    await until(() => total() >= 10_000, "fewer items were sent");
    const counts = Object.values(produced);
    assert.equal(counts.length, 50);
    assert.isAtMost(Math.max(...counts) - Math.min(...counts), 60);
  });

  it("let other tasks run, so that the peer can cancel a stream", async () => {
    const { remoteEnd, open, cancel, answer, produced } = serveNumbers();
    open("a", 20_000);
    cancel("a");
    await until(() => answer("a") !== undefined, "the stream did not end");
    assert.equal(answer("a").error.code, -32800);
    await remoteEnd.unreadBeforeResponse();
    assert.isBelow(produced.a, 19_500);
  });
});

describe("the credit of all streams of a peer", () => {
  it("is at most 65 536: a request that would exceed this sum is refused until other streams have ended", async () => {
    const { remoteEnd, open, cancel, answer } = serveNumbers();
    open("a", 60_000, "nothing");
    open("b", 5_536, "nothing");
    open("c", 1, "nothing");
    await until(() => answer("c") !== undefined, "the request has no response");
    const error = { code: -32600, message: "Invalid Request", data: { reason: "too-much-credit" } };
    assert.deepEqual(answer("c"), { jsonrpc: "2.0", id: "c", error });
    cancel("b");
    await until(() => answer("b") !== undefined, "the stream did not end");
    open("d", 5_536, "nothing");
    open("e", 1, "nothing");
    await until(() => answer("e") !== undefined, "the request has no response");
    assert.deepEqual(answer("e").error, error);
    assert.isUndefined(answer("d"));
    cancel("a");
    cancel("d");
    await until(() => answer("a") !== undefined && answer("d") !== undefined, "the streams did not end");
    await remoteEnd.unreadBeforeResponse();
  });

  it("has the same maximum for requests in columns", async () => {
    const { remoteEnd, openAll, cancel, answer } = serveNumbers();
    openAll(256, 1_000, "nothing");
    await until(() => answer(255) !== undefined, "the last request has no response");
    const refused = () => Array.from({ length: 256 }, (_, id) => id).filter((id) => answer(id) !== undefined);
    await remoteEnd.unreadBeforeResponse();
    assert.deepEqual(
      refused(),
      Array.from({ length: 256 - 65 }, (_, n) => 65 + n),
    );
    for (let id = 0; id < 65; id++) cancel(id);
    await until(() => refused().length === 256, "the streams did not end");
  });

  it("has the same maximum after later grants: a greater grant is reduced", async () => {
    const { remoteEnd, open, credit, cancel, items, answer } = serveNumbers();
    open("a", 65_526, "nothing");
    open("b", 2);
    await until(() => items("b") === 2, "some items are missing");
    credit("b", 100);
    await until(() => items("b") >= 12, "some items are missing");
    await remoteEnd.unreadBeforeResponse();
    assert.equal(items("b"), 12);
    // The window of this stream is 10 now. The window cannot grow, because the other stream has all remaining credit.
    credit("b", 100);
    await until(() => items("b") >= 22, "some items are missing");
    await remoteEnd.unreadBeforeResponse();
    assert.equal(items("b"), 22);
    cancel("a");
    await until(() => answer("a") !== undefined, "the stream did not end");
    credit("b", 100);
    await until(() => items("b") >= 122, "some items are missing");
    await remoteEnd.unreadBeforeResponse();
    assert.equal(items("b"), 122);
    cancel("b");
  });
});
