// Tests that one small message cannot make a peer send, buffer or compute without a limit.

import { assert } from "chai";
import { hexId, connectToScripted } from "../web/support/connections.js";
import { afterThisTest } from "../web/support/cleanup.js";
import { scriptedChannel } from "../web/support/transports.js";
import { pause, until } from "../web/support/outcomes.js";
import { JSONRPCPeer } from "../web/support/portway.js";
import { engine } from "./support/parties.js";

const message = (rest) => ({ jsonrpc: "2.0", ...rest });
const columns = (ids, methods, values) => message({ method: "rpc.columns", params: { ids, methods, values } });
const numbers = (count) => Array.from({ length: count }, (_, n) => n + 1);
/** Returns all received messages, including the messages in lists. */
const allReceived = (end) => end.received.flat();

/** Returns the length of the longest run of the letter x in a message. The id of the message does not count. */
function longestRun({ id, ...rest }) {
  const runs = JSON.stringify(rest).match(/x+/g) ?? [];
  return Math.max(0, ...runs.map((run) => run.length));
}

describe("many streams that a peer requests at once", function () {
  this.timeout(30_000);
  const STREAMS = 256;
  const MAX_CREDIT = 65_536;

  const ways = {
    "in columns": (end) =>
      end.post(columns(numbers(STREAMS), "rpc.stream", Array(STREAMS).fill({ method: "ticks", credit: MAX_CREDIT }))),
    "in a list": (end) =>
      end.post(
        numbers(STREAMS).map((id) =>
          message({ id, method: "rpc.stream", params: { method: "ticks", credit: MAX_CREDIT } }),
        ),
      ),
    "with repeated credit": (end) => {
      end.post(
        numbers(STREAMS).map((id) => message({ id, method: "rpc.stream", params: { method: "ticks", credit: 1 } })),
      );
      end.post(
        columns(
          undefined,
          "rpc.credit",
          numbers(STREAMS).map((id) => ({ id, count: MAX_CREDIT })),
        ),
      );
      end.post(numbers(STREAMS).map((id) => message({ method: "rpc.credit", params: { id, count: MAX_CREDIT } })));
    },
  };
  for (const [way, request] of Object.entries(ways)) {
    it(`let other tasks run, and produce a limited number of items: requests ${way}`, async () => {
      let items = 0;
      let itemsAtLastTurn = 0;
      let maxInTurn = 0;
      const { port1, port2 } = new MessageChannel();
      afterThisTest(() => port1.close());
      port1.onmessage = () => {
        maxInTurn = Math.max(maxInTurn, items - itemsAtLastTurn);
        itemsAtLastTurn = items;
        port2.postMessage(0);
      };
      const { end } = await connectToScripted({
        features: ["batch", "columns", "stream"],
        methods: {
          async *ticks() {
            // If the library has no limit, the test ends after this number of items.
            while (items < 500_000) yield items++;
          },
        },
      });
      port2.postMessage(0);
      request(end);
      let before = -1;
      while (items !== before && items < 500_000) {
        before = items;
        await pause(500);
      }
      assert.isAbove(items, 0);
      await pause(20);
      // The library sends 256 items in one task. Each of the 256 streams may have produced one more item. The
      // bound is twice the sum.
      assert.isAtMost(maxInTurn, 1_024);
      assert.isAtMost(items, 2 * MAX_CREDIT);
    });
  }
});

describe("a text that a peer sent", () => {
  const long = "x".repeat(1_000);

  /** Returns the responses to the messages that `post` sends. */
  async function answers(post, features = ["batch", "columns", "stream"]) {
    const { end } = await connectToScripted({
      features,
      onError() {},
      methods: {
        [long]: () => () => {},
        [`${long}y`]: () => [],
        async *[`${long}z`]() {
          yield 1;
        },
      },
    });
    await post(end);
    end.post(message({ id: "last", method: "no such method" }));
    await until(() => allReceived(end).some(({ id }) => id === "last"), "the peer must answer the last request");
    return allReceived(end).filter(({ method, id }) => method === undefined && id !== "last");
  }

  it("is repeated in errors with at most a hundred characters", async () => {
    const stream = (method, id) => message({ id, method: "rpc.stream", params: { method, credit: 1 } });
    const got = await answers((end) => {
      end.post(message({ id: 1, method: "x".repeat(1_024) }));
      end.post(message({ id: 2, method: long }));
      end.post(stream(`${long}y`, 3));
      end.post(message({ id: 4, method: `${long}z` }));
      end.post(stream("x".repeat(100_000), 5));
      end.post(message({ id: 6, method: "x".repeat(100_000) }));
      end.post(message({ id: 7, method: "ok", params: "x".repeat(100_000) }));
      end.post(message({ id: 8, method: { toString: "x".repeat(1_000) } }));
      end.post(message({ id: "x".repeat(1_025), method: "ok" }));
      end.post([message({ id: 9, method: "x".repeat(100_000) })]);
      end.post(columns([10, 11], "x".repeat(1_025), [[], []]));
    });
    assert.isAtLeast(got.length, 11);
    for (const answer of got) assert.isAtMost(longestRun(answer), 100, JSON.stringify(answer).slice(0, 300));
  });

  it("is neither looked up nor repeated if it is a method name of more than 1 024 characters", async () => {
    const name = "x".repeat(1_025);
    const got = await answers((end) => {
      end.post(message({ id: 1, method: name }));
      end.post([message({ id: 2, method: name }), message({ id: 3, method: name })]);
      end.post(columns([4, 5], name, [[], []]));
      end.post(message({ id: 6, method: "rpc.stream", params: { method: name, credit: 1 } }));
      end.post(message({ method: name }));
    });
    assert.deepEqual(got.map(({ id }) => id).sort(), [1, 2, 3, 4, 5, 6]);
    for (const { id, error } of got) {
      assert.include(id === 6 ? [-32600, -32602] : [-32600], error.code, `the error of the request ${id}`);
      assert.notInclude(JSON.stringify(error), "xx");
    }
  });

  it("causes at most 128 kB of responses if it is the method name of 256 requests and has 1 MB", async () => {
    const got = await answers((end) => end.post(columns(numbers(256), "x".repeat(1_000_000), Array(256).fill([]))));
    assert.isAtMost(JSON.stringify(got).length, 256 * 500);
  });
});

describe("requests that are sent together and share an object", () => {
  const shared = () => ({ path: "public", deep: { list: [1] } });
  const ways = {
    "in columns": (one) => columns([1, 2], ["first", "second"], [one, one]),
    "in a list": (one) => [
      message({ id: 1, method: "first", params: one }),
      message({ id: 2, method: "second", params: one }),
    ],
    "below their params": ({ deep }) => [
      message({ id: 1, method: "first", params: { deep } }),
      message({ id: 2, method: "second", params: { deep } }),
    ],
    "below their params, in columns": ({ deep }) => columns([1, 2], ["first", "second"], [{ deep }, { deep }]),
  };
  for (const [way, make] of Object.entries(ways)) {
    for (const features of [["batch", "columns"], []]) {
      it(`${way}: each handler receives its own copy (features: ${features.join() || "none"})`, async () => {
        const seen = [];
        const { end } = await connectToScripted({
          features,
          methods: {
            first(params) {
              seen.push(params);
              params.path = "changed";
              params.deep.list.push(2);
            },
            second(params) {
              seen.push({ params, saw: structuredClone(params) });
            },
          },
        });
        end.post(make(shared()));
        await until(() => seen.length === 2, "both handlers must be called");
        const [first, { params, saw }] = seen;
        assert.notStrictEqual(first, params);
        assert.notStrictEqual(first.deep, params.deep);
        assert.deepEqual(saw.deep, { list: [1] });
        assert.notEqual(saw.path, "changed");
      });
    }
  }
});

describe("a flood of values that are not messages", () => {
  it("over a plain port does not stop a peer from answering, and leaves no pending call", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const peer = new JSONRPCPeer(transport, { onError() {} }).method("echo", (params) => params);
    afterThisTest(() => peer.destroy());
    const holes = [];
    // WebKit visits each index of an array that it clones, so the array must be shorter in WebKit.
    holes.length = engine === "webkit" ? 1_000 : 4_000_000_000;
    let deep = [];
    for (let n = 0; n < 500; n++) deep = [deep];
    let lattice = [];
    for (let n = 0; n < 40; n++) lattice = [lattice, lattice];
    const odd = [
      null,
      1,
      "text",
      [],
      [[]],
      holes,
      { jsonrpc: "1.0", method: "echo", id: 1 },
      new Map([["jsonrpc", "2.0"]]),
      new Date(),
      { portway: hexId(0), message: message({ id: 1, method: "echo" }) },
    ];
    for (let n = 0; n < 1_000; n++) remoteEnd.post(odd[n % odd.length]);
    for (const params of [[holes], [deep], [lattice], { a: lattice }]) {
      remoteEnd.post(message({ id: "odd", method: "echo", params }));
      remoteEnd.post(message({ id: "odd", method: "unknown", params }));
    }
    await remoteEnd.unreadBeforeResponse();
    remoteEnd.post(message({ id: 5, method: "echo", params: [1] }));
    await until(
      () => remoteEnd.received.flat().some(({ id, result }) => id === 5 && result[0] === 1),
      "the peer must answer after the flood",
    );
    assert.equal(peer.pending, 0);
  });
});
