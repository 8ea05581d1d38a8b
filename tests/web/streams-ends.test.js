// Streams that end by destroy(), by the loss of the peer, or by the end of a session.

import { assert } from "chai";
import { CallError, JSONRPCClient, JSONRPCPeer, JSONRPCServer } from "./support/portway.js";
import { channel, scriptedChannel, recorder } from "./support/transports.js";
import { connectPair } from "./support/connections.js";
import { rejection, until } from "./support/outcomes.js";

/**
 * Creates a server with an endless stream of numbers. Returns the `server`, the number of `ended` iterators, the
 * `signal` of the last handler, and the last `error` that the server has reported.
 */
function serveNumbers(transport) {
  const seen = { ended: 0, signal: undefined };
  seen.server = new JSONRPCServer(transport, { onError: (error) => (seen.error = error) });
  seen.server.method("count", async function* (_, { signal }) {
    seen.signal = signal;
    try {
      for (let n = 1; ; n++) yield n;
    } finally {
      seen.ended++;
    }
  });
  return seen;
}

/** Creates a transport whose function `lose` reports the loss of the peer. */
function losable() {
  const transport = recorder();
  transport.onClose = (handler) => (transport.lose = handler);
  return transport;
}

const reasonOf = (error) => [error instanceof CallError, error.reason];

describe("destroy()", () => {
  it("of a client ends its streams at both peers, even if another client uses the transport", async () => {
    const { near, far } = channel();
    const serving = serveNumbers(far);
    const client = new JSONRPCClient(near);
    const otherClient = new JSONRPCClient(near);
    const items = client.stream("count");
    const otherItems = otherClient.stream("count");
    await items.next();
    const { signal } = serving;
    await otherItems.next();
    client.destroy();
    assert.deepEqual(reasonOf(await rejection(items.next())), [true, "destroyed"]);
    assert.isTrue((await items.next()).done);
    assert.equal(client.pending, 0);
    await until(() => serving.ended === 1);
    assert.isTrue(signal.aborted);
    assert.equal((await otherItems.next()).value, 2);
    await otherItems.return();
  });

  it("of the last client cancels its streams at the peer", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const pendingItems = [client.stream("a").next(), client.stream("b").next()];
    client.destroy();
    for (const next of pendingItems) assert.equal((await rejection(next)).reason, "destroyed");
    await until(() => remoteEnd.received.length === 4);
    assert.deepEqual(
      remoteEnd.received.slice(2).map(({ method, params }) => [method, params.id]),
      [
        ["$/cancelRequest", 1],
        ["$/cancelRequest", 2],
      ],
    );
  });

  it("of a client makes unread streams and later streams fail", async () => {
    const client = new JSONRPCClient(recorder());
    const items = client.stream("a");
    client.destroy();
    assert.equal((await rejection(items.next())).reason, "destroyed");
    assert.equal((await rejection(client.stream("a").next())).reason, "destroyed");
  });

  it("of a server ends each iterator once", async () => {
    const { near, far } = channel();
    const serving = serveNumbers(far);
    const client = new JSONRPCClient(near);
    await client.stream("count", undefined, { window: 1 }).next();
    serving.server.destroy();
    serving.server.destroy();
    await until(() => serving.ended > 0);
    assert.deepEqual([serving.ended, serving.signal.reason.reason, serving.error], [1, "destroyed", undefined]);
  });

  it("of a server does not report errors that iterators throw when they are ended", async () => {
    const { near, far } = channel();
    const server = new JSONRPCServer(far).method("a", async function* () {
      try {
        yield 1;
        yield 2;
      } finally {
        throw new Error("not tidied up");
      }
    });
    await new JSONRPCClient(near).stream("a", undefined, { window: 1 }).next();
    server.destroy();
  });
});

describe("when the peer is lost, a stream", () => {
  for (const [reason, reopens] of [
    ["peer-gone", false],
    ["session-ended", true],
  ]) {
    it(`fails at once with ${reason} at the caller, and no message is sent`, async () => {
      const transport = losable();
      const client = new JSONRPCClient(transport);
      const items = client.stream("a", undefined, { window: 4 });
      const first = items.next();
      transport.deliver({ jsonrpc: "2.0", method: "rpc.item", params: { id: 1, value: 1 } });
      transport.deliver({ jsonrpc: "2.0", method: "rpc.item", params: { id: 1, value: 2 } });
      await first;
      transport.lose(new CallError(reason, "lost"), reopens);
      assert.equal(client.pending, 0);
      assert.deepEqual(reasonOf(await rejection(items.next())), [true, reason]);
      assert.isTrue((await items.next()).done);
      transport.deliver({ jsonrpc: "2.0", method: "rpc.item", params: { id: 1, value: "late" } });
      assert.equal(transport.sent.length, 1);
    });
  }

  it("is cancelled at a peer that is only unresponsive", async () => {
    const transport = losable();
    const first = new JSONRPCClient(transport).stream("a").next();
    transport.lose(new CallError("unresponsive", "silent"), true);
    assert.equal((await rejection(first)).reason, "unresponsive");
    assert.deepEqual(transport.sent[1], { jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
  });

  it("ends its iterator at the server, and no further item is sent", async () => {
    const transport = losable();
    const serving = serveNumbers(transport);
    transport.deliver({ jsonrpc: "2.0", method: "rpc.stream", params: { method: "count", credit: 2 }, id: 1 });
    await until(() => transport.sent.length === 2);
    transport.lose(new CallError("session-ended", "reloaded"), true);
    transport.deliver({ jsonrpc: "2.0", method: "rpc.credit", params: { id: 1, count: 2 } });
    await until(() => serving.ended === 1);
    assert.deepEqual([transport.sent.length, serving.signal.reason.reason], [2, "session-ended"]);
  });
});

describe("the end of a session", () => {
  it("makes its streams fail at the caller, and ends each iterator once at the server", async () => {
    let ended = 0;
    const count = async function* () {
      try {
        for (let n = 1; ; n++) yield n;
      } finally {
        ended++;
      }
    };
    const [near, far] = await connectPair({ methods: { count } });
    const items = far.stream("count");
    assert.equal((await items.next()).value, 1);
    near.destroy();
    // Items that arrived before the goodbye are still returned.
    const error = await rejection(
      (async () => {
        for await (const n of items) assert.isBelow(n, 100);
      })(),
    );
    assert.equal(error.reason, "session-ended");
    assert.isTrue((await items.next()).done);
    await until(() => ended === 1);
    assert.equal(far.pending, 0);
  });
});

describe("many streams", () => {
  it("leave no pending call and no running iterator, however they end", async () => {
    const { near, far } = channel();
    const serving = serveNumbers(far);
    const client = new JSONRPCPeer(near);
    const endings = [
      async (items) => items.return(),
      async (items, controller) => {
        controller.abort();
        await rejection(items.next());
      },
      async (items) => {
        for await (const n of items) if (n > 20) break;
      },
    ];
    await Promise.all(
      Array.from({ length: 300 }, async (_, i) => {
        const controller = new AbortController();
        const items = client.stream("count", undefined, { signal: controller.signal, window: 1 + (i % 7) });
        assert.equal((await items.next()).value, 1);
        await endings[i % endings.length](items, controller);
        assert.isTrue((await items.next()).done);
      }),
    );
    assert.equal(client.pending, 0);
    await until(() => serving.ended === 300);
  });
});
