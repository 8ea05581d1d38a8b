// Columns are one notification that contains several messages of one kind. In a session, the messages of one turn are
// sent as columns if the peer supports columns. Without a session, `coalesce` must be "columns".

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer } from "./support/portway.js";
import { stopClock } from "./support/clock.js";
import { connectPair, connectToScripted } from "./support/connections.js";
import { loopback, scriptedChannel } from "./support/transports.js";
import { until } from "./support/outcomes.js";

const columns = (params) => ({ jsonrpc: "2.0", method: "rpc.columns", params });

/** Connects a peer to the test. The handshake of the test names the feature `columns`. */
const connectWithColumns = (options) => connectToScripted({ features: ["batch", "columns"], ...options });

/** Makes calls in one turn. Each call is an array of the method and the params. */
function callAll(peer, ...calls) {
  for (const [method, params] of calls) peer.request(method, params).catch(() => {});
}

describe("messages of one turn are sent as columns", () => {
  beforeEach(stopClock);

  it("if they are calls of one method; the first call is sent alone", async () => {
    const { peer, untilReceived } = await connectWithColumns();
    callAll(peer, ["a", [1]], ["a", [2]], ["a", { n: 3 }]);
    const [, rest] = await untilReceived(2);
    assert.deepEqual(rest, columns({ ids: [2, 3], methods: "a", values: [[2], { n: 3 }] }));
  });

  it("if they are calls of several methods", async () => {
    const { peer, untilReceived } = await connectWithColumns();
    callAll(peer, ["a", [1]], ["a", [2]], ["b", [3]]);
    assert.deepEqual((await untilReceived(2))[1], columns({ ids: [2, 3], methods: ["a", "b"], values: [[2], [3]] }));
  });

  it("if they are notifications", async () => {
    const { peer, untilReceived } = await connectWithColumns();
    for (const n of [1, 2, 3]) peer.notify("note", [n]);
    assert.deepEqual((await untilReceived(2))[1], columns({ methods: "note", values: [[2], [3]] }));
  });

  it("if they are results, even of calls with ids of different types", async () => {
    const { end, peer, untilReceived } = await connectWithColumns();
    peer.method("echo", ([value]) => value);
    end.post(columns({ ids: [7, "x", 1.5], methods: "echo", values: [[1], [null], [[3]]] }));
    assert.deepEqual(await untilReceived(2), [
      { jsonrpc: "2.0", result: 1, id: 7 },
      columns({ ids: ["x", 1.5], values: [null, [3]] }),
    ]);
  });

  it("if they are items of a stream; the buffers of the items are transferred", async () => {
    const { end, peer, untilReceived } = await connectWithColumns();
    peer.method("chunks", async function* (_, { transfer }) {
      for (const length of [1, 2, 3]) {
        const chunk = new ArrayBuffer(length);
        transfer([chunk]);
        yield chunk;
      }
    });
    end.post({ jsonrpc: "2.0", id: 1, method: "rpc.stream", params: { method: "chunks", credit: 16 } });
    const isOver = () => end.received.some(({ id, result }) => id === 1 && result === null);
    await until(isOver, "the stream did not end");
    const notifications = (await untilReceived(1)).filter(({ method }) => method === "rpc.columns");
    const sizes = notifications.flatMap(({ params }) => params.values.map(({ value }) => value.byteLength));
    // The first item may be sent alone.
    assert.isAbove(sizes.length, 1);
    assert.deepEqual(sizes, [1, 2, 3].slice(-sizes.length));
  });

  it("with at most 256 messages in one notification", async () => {
    const { peer, untilReceived } = await connectWithColumns();
    callAll(peer, ...Array.from({ length: 600 }, (_, n) => ["a", [n]]));
    assert.deepEqual(
      (await untilReceived(4)).map(({ id, params }) => id ?? params.values.length),
      [1, 256, 256, 87],
    );
  });
});

describe("messages of one turn are sent as a list", () => {
  beforeEach(stopClock);

  it("if the peer does not support columns", async () => {
    const { peer, untilReceived } = await connectToScripted({ features: ["batch"] });
    callAll(peer, ["a", [1]], ["a", [2]], ["a", [3]]);
    assert.lengthOf((await untilReceived(2))[1], 2);
  });

  it("if they are of several kinds", async () => {
    const { peer, untilReceived } = await connectWithColumns();
    callAll(peer, ["a", [1]], ["a", [2]]);
    peer.notify("note", [3]);
    assert.deepEqual(
      (await untilReceived(2))[1].map(({ method }) => method),
      ["a", "note"],
    );
  });

  it("if one of them has no params", async () => {
    const { peer, untilReceived } = await connectWithColumns();
    callAll(peer, ["a", [1]], ["a", [2]], ["b"], ["a", [3]]);
    assert.deepEqual(
      (await untilReceived(2))[1].map(({ params }) => params),
      [[2], undefined, [3]],
    );
  });

  it("if one of them is an error", async () => {
    const { end, peer, untilReceived } = await connectWithColumns();
    peer.method("half", ([n]) => {
      if (n === 2) throw new Error("odd one");
      return n;
    });
    end.post(columns({ ids: [1, 2, 3], methods: "half", values: [[1], [2], [3]] }));
    const [, rest] = await untilReceived(2);
    assert.deepEqual(
      rest.map(({ id, result }) => [id, result]),
      [
        [2, undefined],
        [3, 3],
      ],
    );
  });
});

describe("an uncloneable result among the results of one turn", () => {
  beforeEach(stopClock);

  it("becomes an error, and the other results arrive", async () => {
    const [near, far] = await connectPair();
    far.method("give", ([n]) =>
      n === 2
        ? {
            get broken() {
              throw new Error("no");
            },
          }
        : { n },
    );
    const ends = await Promise.allSettled([1, 2, 3].map((n) => near.request("give", [n])));
    assert.deepEqual(
      ends.map(({ value, reason }) => value ?? reason.code),
      [{ n: 1 }, -32603, { n: 3 }],
    );
  });
});

describe("received columns", () => {
  beforeEach(stopClock);

  it("are handled as calls, notifications and results, in their order", async () => {
    const { end, peer } = await connectWithColumns();
    const received = [];
    peer.method("a", ([n]) => void received.push(n)).method("b", ([n]) => void received.push(n));
    peer.onNotify("note", ([n]) => void received.push(n));
    const calls = [1, 2, 3].map((n) => peer.request("x", [n]));
    end.post(columns({ ids: [7, 8], methods: ["b", "a"], values: [[1], [2]] }));
    end.post(columns({ methods: "note", values: [[3], [4]] }));
    end.post(columns({ ids: [3, 1, 2], values: ["c", "a", "b"] }));
    assert.deepEqual(await Promise.all(calls), ["a", "b", "c"]);
    assert.deepEqual(received, [1, 2, 3, 4]);
  });

  it("are ignored and counted in `ignored` if they are invalid, and calls stay pending", async () => {
    const { end, peer } = await connectWithColumns();
    const served = [];
    peer.method("a", (params) => void served.push(params));
    const values = [[1], [2]];
    const call = peer.request("x", [1]);
    const broken = [
      undefined,
      1,
      [],
      {},
      { values: 2 },
      { values: { length: 2 } },
      { ids: [1], methods: "a", values },
      { ids: 1, methods: "a", values },
      { ids: [1, 2], methods: ["a"], values },
      { ids: [1, 2], methods: null, values },
      { ids: [1, 2], methods: 7, values },
      { ids: [1, 2], methods: true, values },
      { ids: [1, 2], methods: 7n, values },
      { ids: null, methods: "a", values },
      { ids: [], methods: [], values: [] },
      { ids: Array(257).fill(1), methods: "a", values: Array(257).fill([1]) },
    ];
    for (const params of broken) end.post(columns(params));
    await end.unreadBeforeResponse();
    assert.deepEqual([served, peer.ignored, peer.pending], [[], broken.length, 1]);
    end.post(columns({ ids: [1], values: ["lives"] }));
    assert.equal(await call, "lives");
  });

  it("are checked message by message, by the rules of single messages", async () => {
    const { end, peer } = await connectWithColumns();
    peer.method("a", ([n]) => n);
    end.post(columns({ ids: [1, {}, 3, 4], methods: ["a", "a", "missing", 9], values: [[1], [2], [3], [4]] }));
    const replies = (await end.unreadBeforeResponse()).flat().filter(({ method }) => method === undefined);
    assert.deepEqual(
      replies.map(({ id, result, error }) => [id, result ?? error.code]),
      [
        [1, 1],
        [null, -32600],
        [3, -32601],
        [4, -32600],
      ],
    );
  });

  // The engine clones a repeated object once, so a few bytes could represent millions of messages.
  it("are ignored inside columns, lists and batches", async () => {
    const { end, peer } = await connectWithColumns();
    let count = 0;
    peer.onNotify("note", () => void count++);
    let nestedColumns = { methods: "note", values: Array(256).fill([]) };
    for (let depth = 0; depth < 4; depth++)
      nestedColumns = { methods: "rpc.columns", values: Array(256).fill(nestedColumns) };
    const start = performance.now();
    for (const message of [
      columns(nestedColumns),
      Array(256).fill(columns(nestedColumns)),
      Array(300).fill(columns(nestedColumns)),
    ])
      end.post(message);
    await end.unreadBeforeResponse();
    assert.equal(count, 0);
    assert.isBelow(performance.now() - start, 2_000);
  });

  it("are handled even if coalesce is not set, and each response is sent alone", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method("twice", ([n]) => 2 * n);
    remoteEnd.post(columns({ ids: [1, 2], methods: "twice", values: [[1], [2]] }));
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), [
      { jsonrpc: "2.0", result: 2, id: 1 },
      { jsonrpc: "2.0", result: 4, id: 2 },
    ]);
  });

  it("have the same effect as single messages if a value is null", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport, { paramsNull: "invalid" }).method("a", () => "called");
    remoteEnd.post(columns({ ids: [1], methods: "a", values: [null] }));
    assert.equal((await remoteEnd.next()).error.code, -32600);
  });
});

describe("columns without a session", () => {
  beforeEach(stopClock);

  it('are sent if coalesce is "columns"', async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport, { coalesce: "columns" });
    callAll(client, ["a", [1]], ["a", [2]], ["a", [3]]);
    await until(() => remoteEnd.received.length >= 2);
    assert.deepEqual(remoteEnd.received.at(-1), columns({ ids: [2, 3], methods: "a", values: [[2], [3]] }));
  });

  it("are not sent if coalesce is true, even after columns have arrived", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const peer = new JSONRPCPeer(transport, { coalesce: true });
    remoteEnd.post(columns({ methods: "note", values: [[1], [2]] }));
    await remoteEnd.unreadBeforeResponse();
    callAll(peer, ["a", [1]], ["a", [2]], ["a", [3]]);
    await until(() => remoteEnd.received.length >= 3);
    assert.lengthOf(remoteEnd.received.at(-1), 2);
  });

  it("also work over a transport of JSON text", async () => {
    const { near, far } = loopback();
    for (const end of [near, far]) {
      const send = end.send.bind(end);
      end.send = (message) => send(JSON.parse(JSON.stringify(message)));
    }
    new JSONRPCServer(far, { coalesce: "columns" }).method("twice", ([n]) => 2 * n);
    const client = new JSONRPCClient(near, { coalesce: "columns", paramsNull: "invalid" });
    for (let turn = 0; turn < 3; turn++) {
      assert.deepEqual(await Promise.all([1, 2, 3].map((n) => client.request("twice", [n]))), [2, 4, 6]);
    }
    assert.isTrue(near.sent.some(({ params }) => params?.methods === "twice"));
    assert.isTrue(far.sent.some(({ params }) => params?.values?.length === 2));
  });
});
