// Params of messages that arrived together. Structured clone keeps the identity of objects within one message event, so
// two requests could contain the same object.

import { assert } from "chai";
import { JSONRPCServer } from "./support/portway.js";
import { connectToScripted } from "./support/connections.js";
import { scriptedChannel } from "./support/transports.js";
import { pause, until } from "./support/outcomes.js";

/**
 * Clones an array that contains the value twice. Returns whether both items of the clone are the same object. In
 * WebKit, the result is false for a date, which is cloned twice, and for an error, whose cause is not cloned.
 */
function keepsIdentity(value) {
  const [first, second] = structuredClone([value, value]);
  return first === second && (first.cause !== undefined || !(first instanceof Error));
}

/**
 * Connects a peer to the test. Its handler `read` checks the name of a file, waits, and then uses the name. Its handler
 * `rename` changes the name.
 */
async function connectReader() {
  const used = [];
  const methods = {
    async read({ file }) {
      const name = file.name;
      if (name !== "public") throw new Error("denied");
      await pause(10);
      used.push(file.name);
    },
    rename: ({ file }) => void (file.name = "secret"),
  };
  return { used, ...(await connectToScripted({ features: ["batch", "columns"], methods })) };
}

const requests = (file) => [
  { jsonrpc: "2.0", method: "read", params: { file }, id: 1 },
  { jsonrpc: "2.0", method: "rename", params: { file }, id: 2 },
];

const packings = {
  "a list": (messages) => messages,
  columns: (messages) => ({
    jsonrpc: "2.0",
    method: "rpc.columns",
    params: {
      ids: messages.map(({ id }) => id),
      methods: messages.map(({ method }) => method),
      values: messages.map(({ params }) => params),
    },
  }),
};

describe("params of messages that arrived together", () => {
  for (const [packing, pack] of Object.entries(packings)) {
    it(`share no objects in ${packing}: one handler cannot change the params that another handler has checked`, async () => {
      const { end, used } = await connectReader();
      end.post(pack(requests({ name: "public" })));
      await until(() => used.length === 1);
      assert.deepEqual(used, ["public"]);
    });

    it(`share no objects in ${packing}, even if a handler changes its params synchronously`, async () => {
      const { end, replies } = await connectWithKeepAndGrow();
      const list = [1];
      end.post(pack([1, 2].map((id) => ({ jsonrpc: "2.0", method: "grow", params: { list }, id }))));
      await until(() => replies().length === 2);
      assert.deepEqual(
        replies().map(({ result }) => result),
        [2, 2],
      );
    });

    it(`in ${packing} are refused if they share an object that is too large to copy, except those of the first request`, async () => {
      const { end, used, untilReceived } = await connectReader();
      end.post(pack(requests({ name: "public", more: Array.from({ length: 100 }, (_, n) => [n]) })));
      await until(() => used.length === 1);
      assert.deepEqual(used, ["public"]);
      const replies = (await untilReceived(2)).flat();
      const refused = replies
        .filter(({ error }) => error !== undefined)
        .map(({ id, error }) => [id, error.code, error.data?.reason]);
      assert.deepEqual(refused, [[2, -32600, "shared-params"]]);
    });
  }

  it("share no objects in a batch from a peer that does not support lists", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const seen = [];
    new JSONRPCServer(transport).method("keep", (params) => void seen.push(params));
    const deep = { list: [{ n: 1 }] };
    remoteEnd.post(
      [1, 2, 3].map((id) => ({ jsonrpc: "2.0", method: "keep", params: id === 3 ? [deep.list[0]] : { deep }, id })),
    );
    await remoteEnd.next();
    assert.deepEqual(seen, [{ deep }, { deep }, [{ n: 1 }]]);
    assert.notStrictEqual(seen[0].deep, seen[1].deep);
    assert.notStrictEqual(seen[0].deep.list, seen[1].deep.list);
    assert.notStrictEqual(seen[0].deep.list[0], seen[2][0]);
  });

  for (const [what, make] of [
    ["causes of errors", () => new Error("outer", { cause: { n: 1 } })],
    ["maps", () => new Map([["key", { n: 1 }]])],
    ["sets", () => new Set([{ n: 1 }])],
    ["bytes", () => new Uint8Array(8)],
    ["dates", () => new Date(0)],
  ].filter(([, make]) => keepsIdentity(make()))) {
    it(`that share ${what} are refused, except those of the first request`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      const seen = [];
      new JSONRPCServer(transport).method("keep", ([value]) => void seen.push(value));
      const shared = make();
      remoteEnd.post([1, 2].map((id) => ({ jsonrpc: "2.0", method: "keep", params: [shared], id })));
      const replies = await remoteEnd.next();
      assert.lengthOf(seen, 1);
      assert.deepEqual(replies.map(({ id, error }) => [id, error?.code]).sort(), [
        [1, undefined],
        [2, -32600],
      ]);
    });
  }

  it("of notifications are dropped and reported if they share a map, except those of the first notification", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const errors = [];
    const seen = [];
    const server = new JSONRPCServer(transport, { onError: ({ message }) => errors.push(message) });
    server.onNotify("note", ([map]) => void seen.push(map));
    const shared = new Map();
    remoteEnd.post([1, 2, 3].map(() => ({ jsonrpc: "2.0", method: "note", params: [shared] })));
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    assert.deepEqual(
      [seen, errors],
      [[new Map()], Array(2).fill('"note" is dropped: it shares params with a message that came with it')],
    );
  });

  for (const [what, make] of [
    ["blobs", () => new Blob(["text"])],
    ["shared memory", () => new SharedArrayBuffer(8)],
    ["keys", () => crypto.subtle.generateKey({ name: "AES-GCM", length: 128 }, false, ["encrypt"])],
  ]) {
    it(`may share ${what}`, async () => {
      let value;
      try {
        value = await make();
        structuredClone(value);
        new MessageChannel().port1.postMessage(value);
      } catch {
        // Some engines or pages cannot create, clone or post this value.
        return;
      }
      const { transport, remoteEnd } = scriptedChannel();
      const seen = [];
      new JSONRPCServer(transport).method("keep", ([value]) => void seen.push(value));
      remoteEnd.post([1, 2].map((id) => ({ jsonrpc: "2.0", method: "keep", params: [value], id })));
      assert.deepEqual(
        (await remoteEnd.next()).map(({ error }) => error),
        [undefined, undefined],
      );
      assert.lengthOf(seen, 2);
    });
  }

  it("may contain one value several times within one message, and may contain cycles", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const seen = [];
    new JSONRPCServer(transport).method("keep", (params) => void seen.push(params));
    const ring = [];
    ring.push(ring);
    const twice = { n: 1 };
    remoteEnd.post([
      { jsonrpc: "2.0", method: "keep", params: ring, id: 1 },
      { jsonrpc: "2.0", method: "keep", params: [twice, twice], id: 2 },
    ]);
    await remoteEnd.next();
    assert.strictEqual(seen[0][0], seen[0]);
    assert.strictEqual(seen[1][0], seen[1][1]);
  });

  for (const [what, make] of [
    [
      "the same large array, after a request with one object of this array",
      () => {
        const first = {};
        const many = [...Array.from({ length: 20_000 }, () => ({})), first];
        return [[first, ...Array(40).fill(0)], ...Array(999).fill(many)];
      },
    ],
    [
      "the same object with 50 000 members",
      () => {
        const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`m${n}`, n]));
        return Array.from({ length: 1_000 }, () => [wide]);
      },
    ],
  ]) {
    it(`are checked in a short time if they contain ${what}`, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      new JSONRPCServer(transport).method("keep", () => "kept");
      remoteEnd.post(make().map((params, id) => ({ jsonrpc: "2.0", method: "keep", params, id })));
      const start = performance.now();
      const replies = await remoteEnd.next();
      assert.isBelow(performance.now() - start, 2_000);
      assert.lengthOf(
        replies.filter(({ error }) => error?.code === -32600),
        999,
      );
    });
  }

  it("that share one value of a megabyte in 256 requests are checked in a short time", async () => {
    const { end, replies } = await connectWithKeepAndGrow();
    const big = { data: Array.from({ length: 100_000 }, (_, n) => n) };
    end.post(packings.columns(Array.from({ length: 256 }, (_, id) => ({ method: "keep", params: big, id: id + 1 }))));
    const start = performance.now();
    await until(() => replies().length === 256);
    assert.isBelow(performance.now() - start, 2_000);
    assert.equal(replies().filter(({ error }) => error?.code === -32600).length, 255);
  });
});

/**
 * Connects a peer to the test. Its handler `keep` returns a text, and `grow` appends to a list. `replies` returns the
 * replies that have arrived, including those in columns.
 */
async function connectWithKeepAndGrow() {
  const { end } = await connectToScripted({
    features: ["batch", "columns"],
    methods: { keep: () => "kept", grow: ({ list }) => list.push(2) },
  });
  const isReply = ({ id, method }) => id !== undefined && method === undefined;
  const unpacked = (message) => {
    if (message?.method !== "rpc.columns") return [message].flat();
    return message.params.values.map((result, n) => ({ id: message.params.ids[n], result }));
  };
  return { end, replies: () => end.received.flatMap(unpacked).filter(isReply) };
}

describe("an array that repeats the same messages", () => {
  const request = { jsonrpc: "2.0", method: "keep", id: "k".repeat(1_000) };
  const broken = { jsonrpc: "2.0", method: 5, id: "b" };
  const note = { jsonrpc: "2.0", method: "note" };
  const array = [...Array(100).fill(request), ...Array(100).fill(broken), note, note];

  async function checkRepeatedMessages(post) {
    const calls = [];
    const handlers = {
      methods: { keep: () => void calls.push("keep") },
      notifications: { note: () => void calls.push("note") },
    };
    const ids = await post(handlers);
    assert.deepEqual(
      [calls, ids.sort()],
      [
        ["keep", "note", "note"],
        ["b", request.id],
      ],
    );
  }

  it("that is a list gets one response for all copies of a request, and runs a handler for each copy of a notification", () =>
    checkRepeatedMessages(async (handlers) => {
      const { end, untilReceived } = await connectToScripted({ features: ["batch"], ...handlers });
      end.post(array);
      const replies = (await untilReceived(2)).flat();
      await pause(20);
      return replies.map(({ id }) => id);
    }));

  it("that is a batch gets one response for all copies of a request, and runs a handler for each copy of a notification", () =>
    checkRepeatedMessages(async ({ methods, notifications }) => {
      const { transport, remoteEnd } = scriptedChannel();
      new JSONRPCServer(transport).method("keep", methods.keep).onNotify("note", notifications.note);
      remoteEnd.post(array);
      return (await remoteEnd.next()).map(({ id }) => id);
    }));
});

it("a thousand requests whose ids are too long and differ only at the end are refused in a short time", async () => {
  const { transport, remoteEnd } = scriptedChannel();
  new JSONRPCServer(transport).method("keep", () => "kept");
  const long = "x".repeat(50_000);
  remoteEnd.post(Array.from({ length: 1_000 }, (_, n) => ({ jsonrpc: "2.0", method: "keep", id: long + n })));
  const start = performance.now();
  const replies = await remoteEnd.next();
  assert.isBelow(performance.now() - start, 1_000);
  assert.deepEqual([replies.length, replies[0].id, replies[0].error.data.reason], [1_000, null, "id-too-long"]);
});
