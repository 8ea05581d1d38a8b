// Messages of one turn are sent together. In a session, both peers must support lists, and `coalesce` must not be
// false. Without a session, `coalesce` must be true or "columns".

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer } from "./support/portway.js";
import { stopClock } from "./support/clock.js";
import { hexId, connectPair, connectToScripted } from "./support/connections.js";
import { loopback, scriptedChannel } from "./support/transports.js";
import { deferred, pause, rejection, until } from "./support/outcomes.js";
import { printed } from "./support/console.js";

const request = (id, method, params) => ({ jsonrpc: "2.0", method, params, id });

describe("calls of one turn", () => {
  beforeEach(stopClock);

  it("are sent in their order: the first alone, the others in one array with a notification", async () => {
    const { peer, untilReceived } = await connectToScripted();
    for (const n of [1, 2]) peer.request("echo", [n]).catch(() => {});
    peer.notify("note");
    const rest = [request(2, "echo", [2]), { jsonrpc: "2.0", method: "note" }];
    assert.deepEqual(await untilReceived(2), [request(1, "echo", [1]), rest]);
  });

  it("are sent separately from calls after an await", async () => {
    const { peer, untilReceived } = await connectToScripted();
    for (const n of [1, 2, 3, 4]) {
      peer.request("echo", [n]).catch(() => {});
      if (n === 2) await null;
    }
    assert.deepEqual(
      await untilReceived(4),
      [1, 2, 3, 4].map((n) => request(n, "echo", [n])),
    );
  });

  it("are not sent in an array if there is only one call", async () => {
    const { peer, untilReceived } = await connectToScripted();
    peer.request("echo", [1]).catch(() => {});
    assert.deepEqual(await untilReceived(1), [request(1, "echo", [1])]);
  });

  it("are sent one by one to a peer that does not support lists", async () => {
    const { peer, untilReceived } = await connectToScripted({ features: ["cancel"] });
    for (const n of [1, 2]) peer.request("echo", [n]).catch(() => {});
    assert.deepEqual(await untilReceived(2), [request(1, "echo", [1]), request(2, "echo", [2])]);
  });

  it("are sent one by one if coalesce is false", async () => {
    const { peer, untilReceived } = await connectToScripted({ coalesce: false });
    for (const n of [1, 2]) peer.request("echo", [n]).catch(() => {});
    assert.deepEqual(await untilReceived(2), [request(1, "echo", [1]), request(2, "echo", [2])]);
  });

  it("are also sent together without a session, if coalesce is true", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport, { coalesce: true });
    for (const n of [1, 2, 3]) client.request("echo", [n]).catch(() => {});
    assert.deepEqual(await remoteEnd.next(), request(1, "echo", [1]));
    assert.deepEqual(await remoteEnd.next(), [request(2, "echo", [2]), request(3, "echo", [3])]);
  });

  it("are sent in arrays of at most 256 elements", async () => {
    const { peer, untilReceived } = await connectToScripted();
    for (let n = 0; n < 600; n++) peer.request("echo").catch(() => {});
    assert.deepEqual(
      (await untilReceived(4)).map((list) => list.length ?? 1),
      [1, 256, 256, 87],
    );
  });

  it("all get their responses, even ten thousand calls", async () => {
    const [near, far] = await connectPair();
    far.method("echo", ([n]) => n);
    const calls = Array.from({ length: 10_000 }, (_, n) => near.request("echo", [n]));
    assert.deepEqual(
      await Promise.all(calls),
      Array.from({ length: 10_000 }, (_, n) => n),
    );
    assert.equal(near.pending, 0);
  });

  it("are sent in separate messages if one of them has a transfer list, and keep their order", async () => {
    const { peer, untilReceived } = await connectToScripted();
    const buffer = new ArrayBuffer(8);
    peer.notify("a");
    peer.notify("b", [buffer], { transfer: [buffer] });
    peer.notify("c");
    const [first, second, third] = await untilReceived(3);
    assert.deepEqual(
      [first, second, third].map(({ method }) => method),
      ["a", "b", "c"],
    );
    assert.equal(second.params[0].byteLength, 8);
    assert.equal(buffer.byteLength, 0);
  });

  it("are sent before a cancellation in the same turn, without delay", async () => {
    const { peer, untilReceived } = await connectToScripted();
    const controller = new AbortController();
    const call = rejection(peer.request("slow", [], { signal: controller.signal }));
    controller.abort(new Error("no more"));
    assert.equal((await call).message, "no more");
    const cancel = { jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } };
    assert.deepEqual(await untilReceived(2), [request(1, "slow", []), cancel]);
  });
});

describe("messages of a long turn", () => {
  /** Blocks this thread for longer than a message may be queued (4 ms). */
  const compute = () => {
    const end = performance.now() + 20;
    while (performance.now() < end);
  };

  it("are sent at once: calls, notifications and messages of a handler", async () => {
    const { peer, end, untilReceived } = await connectToScripted();
    for (const n of [1, 2, 3]) {
      peer.request("echo", [n]).catch(() => {});
      compute();
      peer.notify("note", [n]);
      compute();
    }
    const note = (n) => ({ jsonrpc: "2.0", method: "note", params: [n] });
    assert.deepEqual(
      await untilReceived(6),
      [1, 2, 3].flatMap((n) => [request(n, "echo", [n]), note(n)]),
    );
    peer.method("work", (_, { notify }) => {
      for (const n of [4, 5, 6]) {
        notify("note", [n]);
        compute();
      }
    });
    end.post(request(9, "work"));
    assert.deepEqual((await untilReceived(10)).slice(6), [
      note(4),
      note(5),
      note(6),
      { jsonrpc: "2.0", result: null, id: 9 },
    ]);
  });

  it("are sent at once even if another link sends messages in the same turn", async () => {
    const other = await connectToScripted();
    const { peer, untilReceived } = await connectToScripted();
    const notes = [1, 2, 3, 4].map((n) => ({ jsonrpc: "2.0", method: "note", params: [n] }));
    for (const { method, params } of notes) {
      other.peer.notify(method, params);
      peer.notify(method, params);
      compute();
    }
    assert.deepEqual(await other.untilReceived(4), notes);
    assert.deepEqual(await untilReceived(4), notes);
  });
});

describe("an uncloneable message among the calls of one turn", () => {
  beforeEach(stopClock);

  it("rejects its own call, and the other calls get their responses", async () => {
    const [near, far] = await connectPair();
    far.method("echo", ([n]) => n);
    const calls = [1, () => {}, 3].map((n) => near.request("echo", [n]));
    const [one, two, three] = await Promise.allSettled(calls);
    assert.deepEqual([one.value, two.reason?.name, three.value], [1, "DataCloneError", 3]);
    assert.equal(near.pending, 0);
  });

  it("rejects its call if it is the only message", async () => {
    const [near] = await connectPair();
    assert.equal((await rejection(near.request("echo", [() => {}]))).name, "DataCloneError");
  });

  it("makes notify() throw, and the other notifications arrive", async () => {
    const received = [];
    const [near, far] = await connectPair();
    far.onNotify("note", ([n]) => received.push(n));
    near.notify("note", [1]);
    assert.throws(() => near.notify("note", [() => {}]), /clone/i);
    near.notify("note", [3]);
    await until(() => received.length === 2);
    assert.deepEqual(received, [1, 3]);
  });

  it("becomes an error if it is a result, and the other calls get their results", async () => {
    const [near, far] = await connectPair();
    far.method("give", ([n]) => (n === 2 ? () => {} : n));
    const ends = await Promise.allSettled([1, 2, 3].map((n) => near.request("give", [n])));
    assert.deepEqual(
      ends.map(({ value, reason }) => value ?? reason.code),
      [1, -32603, 3],
    );
  });
});

describe("messages of one turn", () => {
  beforeEach(stopClock);

  /**
   * Makes two calls with `params`, and then modifies `params` by `change`. Returns the params that the peer receives.
   */
  async function paramsAfterChange(params, change) {
    const [near, far] = await connectPair();
    far.method("echo", (params) => params);
    const calls = [near.request("echo", params), near.request("echo", params)];
    change(params);
    return Promise.all(calls);
  }

  for (const [kind, params, change] of [
    ["an array", [1, [2, { a: 3 }]], (params) => ((params[0] = 9), (params[1][1].a = 9), params.push(9))],
    ["an object", { a: { b: [1] } }, (params) => ((params.a.b[0] = 9), (params.c = 9), delete params.a)],
  ]) {
    it(`contain the params as they were when the call was made: ${kind}`, async () => {
      const before = structuredClone(params);
      assert.deepEqual(await paramsAfterChange(params, change), [before, before]);
    });
  }

  const hole = [1, , 3];
  const twice = { a: 1 };
  const named = Object.assign([1], { name: "value" });
  const cycle = [];
  cycle.push(cycle);
  for (const [kind, value] of [
    ["a Date", new Date(5)],
    ["a Map", new Map([[1, { a: 2 }]])],
    ["bytes", new Uint8Array([1, 2])],
    ["a BigInt", 5n],
    ["an array with a hole", hole],
    ["an array with a named property", named],
    ["an array with as many named properties as holes", Object.assign([1, , 3], { name: "value" })],
    ["the same object twice", [twice, twice]],
    ["a cycle", cycle],
    ["a member __proto__", JSON.parse('{"__proto__": {"a": 1}}')],
    ["undefined", [undefined, { a: undefined }]],
    ["a long string", "x".repeat(2_000)],
    ["a large array", Array.from({ length: 1_000 }, (_, n) => ({ n }))],
    ["null", null],
    ["numbers that JSON cannot express", [NaN, -0, Infinity]],
  ]) {
    it(`contain the same value as after a bare postMessage: ${kind}`, async () => {
      const { port1, port2 } = new MessageChannel();
      const posted = new Promise((resolve) => port2.addEventListener("message", ({ data }) => resolve(data)));
      port2.start();
      port1.postMessage([value]);
      const [near, far] = await connectPair();
      const arrivedParams = [];
      far.onNotify("note", (params) => arrivedParams.push(params));
      far.method("give", () => [value]);
      near.notify("note", [0]);
      near.notify("note", [value]);
      near.notify("note", [2]);
      const result = await near.request("give");
      port1.close();
      const expected = await posted;
      // `deepEqual` does not compare the holes and named properties of arrays, the prototype, and the identity of
      // members.
      const traits = ([received]) => [
        Object.keys(received ?? {}),
        Object.getPrototypeOf(received ?? {}) === Object.prototype,
        received?.[0] === received?.[1],
      ];
      for (const arrived of [arrivedParams[1], result]) {
        assert.deepEqual(arrived, expected);
        assert.deepEqual(traits(arrived), traits(expected));
      }
      assert.deepEqual([arrivedParams[0], arrivedParams[2]], [[0], [2]]);
    });
  }
});

describe("a received list", () => {
  beforeEach(stopClock);

  it("is answered request by request: a slow handler delays no other response", async () => {
    const { end, peer, untilReceived } = await connectToScripted();
    const slow = deferred();
    peer.method("slow", () => slow.promise).method("fast", () => "fast");
    end.post([request(1, "slow"), ...[2, 3, 4].map((id) => request(id, "fast"))]);
    const fast = (id) => ({ jsonrpc: "2.0", result: "fast", id });
    assert.deepEqual(await untilReceived(2), [fast(2), [fast(3), fast(4)]]);
    slow.resolve("slow");
    assert.deepEqual((await untilReceived(3))[2], { jsonrpc: "2.0", result: "slow", id: 1 });
  });

  it("is handled as a batch if the peers have not agreed on lists: all responses are sent together", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const slow = deferred();
    new JSONRPCServer(transport).method("slow", () => slow.promise).method("fast", () => "fast");
    remoteEnd.post([request(1, "slow"), request(2, "fast")]);
    await pause(30);
    assert.deepEqual(remoteEnd.received, []);
    slow.resolve("slow");
    assert.equal((await remoteEnd.next()).length, 2);
  });

  it("may contain one id twice: each element is a separate request", async () => {
    const { end, peer, untilReceived } = await connectToScripted();
    peer.method("echo", ([n]) => n);
    end.post([request(1, "echo", ["a"]), request(1, "echo", ["b"])]);
    assert.deepEqual(
      (await untilReceived(2)).map(({ result }) => result),
      ["a", "b"],
    );
  });

  it("is handled completely even if a handler throws or a message is invalid", async () => {
    const { end, peer, untilReceived } = await connectToScripted();
    const received = [];
    peer.onNotify("note", ([n]) => {
      received.push(n);
      throw new Error("a fault of the application");
    });
    peer.method("echo", ([n]) => n);
    await printed(async () => {
      end.post([
        { jsonrpc: "2.0", method: "note", params: [1] },
        { jsonrpc: "2.0" },
        { jsonrpc: "2.0", method: 5, id: 9 },
        request(2, "echo", [2]),
      ]);
      const replies = (await untilReceived(2)).flat();
      assert.deepEqual(
        replies.map(({ id, result, error }) => [id, result ?? error.code]),
        [
          [null, -32600],
          [9, -32600],
          [2, 2],
        ],
      );
      assert.deepEqual(received, [1]);
    });
  });

  it("is handled as a batch, with the limits of batches, if it has more than 256 elements", async () => {
    const { end, peer, untilReceived } = await connectToScripted({ limits: { batchItems: 300 } });
    peer.method("echo", ([n]) => n);
    end.post(Array.from({ length: 301 }, (_, n) => request(n, "echo", [n])));
    const [reply] = await untilReceived(1);
    assert.equal(reply.error?.code ?? reply[0]?.error.code, -32600);
  });

  it("runs no further handler after one of its handlers destroys the peer", async () => {
    const { end, peer } = await connectToScripted();
    const received = [];
    peer.onNotify("end", () => peer.destroy()).onNotify("note", () => received.push("after"));
    end.post([
      { jsonrpc: "2.0", method: "end" },
      { jsonrpc: "2.0", method: "note" },
    ]);
    await pause(30);
    assert.deepEqual(received, []);
  });
});

describe("a message that is queued until the turn ends", () => {
  beforeEach(stopClock);

  it("is sent before the goodbye of destroy()", async () => {
    const received = [];
    const [near, far] = await connectPair();
    far.onNotify("note", ([n]) => received.push(n));
    near.notify("note", [1]);
    near.notify("note", [2]);
    near.destroy();
    await until(() => received.length === 2);
    assert.deepEqual(received, [1, 2]);
  });

  it("is not sent again in a later session", async () => {
    const { peer, end, scriptedPeer } = await connectToScripted();
    let call;
    peer.onNotify("last", () => {
      call = rejection(peer.request("late"));
      peer.notify("late");
      // The goodbye arrives after the messages are sent, and before any response.
      end.bye();
    });
    end.post({ jsonrpc: "2.0", method: "last" });
    await until(() => call !== undefined);
    assert.equal((await call).reason, "session-ended");
    scriptedPeer.hello(hexId("f"));
    const next = await scriptedPeer.open({ session: hexId(2), features: ["batch"] });
    peer.notify("next");
    await until(() => next.received.flat().some(({ method }) => method === "next"));
    assert.isFalse(next.received.flat().some(({ method }) => method === "late"));
  });

  it("is sent before a batch, before progress, and before a response", async () => {
    const { peer, end, untilReceived } = await connectToScripted();
    peer.method("work", (_, { progress, notify }) => {
      notify("first");
      progress("half");
      return "done";
    });
    end.post(request(1, "work"));
    const names = (await untilReceived(3)).flat().map(({ method, result }) => method ?? result);
    assert.deepEqual(names, ["first", "$/progress", "done"]);
    peer.notify("second");
    peer.batch([
      { method: "third", notify: true },
      { method: "fourth", notify: true },
    ]);
    const more = (await untilReceived(5)).flat().map(({ method, result }) => method ?? result);
    assert.deepEqual(more.slice(3), ["second", "third", "fourth"]);
  });

  it("rejects its call if the transport fails, and nothing is reported to onError", async () => {
    const errors = [];
    const transport = {
      send() {
        throw new Error("no way out");
      },
      onMessage() {},
    };
    const client = new JSONRPCClient(transport, { coalesce: true, onError: ({ message }) => errors.push(message) });
    const calls = [1, 2].map(() => rejection(client.request("echo")));
    assert.deepEqual(
      (await Promise.all(calls)).map(({ message }) => message),
      ["no way out", "no way out"],
    );
    assert.deepEqual(errors, []);
    assert.equal(client.pending, 0);
  });

  it("is sent alone if the transport cannot send the list, although the list can be cloned", async () => {
    const { near, far } = loopback();
    const send = near.send.bind(near);
    near.send = (message) => {
      if (JSON.stringify(message).includes("[2]")) throw new TypeError("not that one");
      send(message);
    };
    new JSONRPCServer(far).method("echo", ([n]) => n);
    const client = new JSONRPCClient(near, { coalesce: true });
    const ends = await Promise.allSettled([0, 1, 2, 3].map((n) => client.request("echo", [n])));
    assert.deepEqual(
      ends.map(({ value, reason }) => value ?? reason.name),
      [0, 1, "TypeError", 3],
    );
  });

  it("is delivered in order, even if a handler sends messages during a synchronous delivery", async () => {
    const { near, far } = loopback();
    const [one, other] = [near, far].map((end) => new JSONRPCPeer(end, { coalesce: true }));
    const received = [];
    let sent = 0;
    const send = () => one.notify("note", [++sent]);
    other.onNotify("note", ([n]) => {
      received.push(n);
      if (n === 2) other.request("more");
    });
    one.method("more", send);
    send();
    send();
    send();
    await until(() => received.length === 4);
    assert.deepEqual(received, [1, 2, 3, 4]);
    await Promise.all([1, 2, 3].map(() => other.request("more")));
    await until(() => received.length === 7);
    assert.deepEqual(received, [1, 2, 3, 4, 5, 6, 7]);
  });

  it("may be delivered synchronously", async () => {
    const { near, far } = loopback();
    const peer = new JSONRPCPeer(far, { coalesce: true }).method("twice", ([n]) => 2 * n);
    const client = new JSONRPCClient(near, { coalesce: true });
    assert.deepEqual(await Promise.all([1, 2, 3].map((n) => client.request("twice", [n]))), [2, 4, 6]);
    assert.deepEqual(
      near.sent.map((list) => list.length ?? 1),
      [1, 2],
    );
    assert.deepEqual(
      far.sent.map((list) => list.length ?? 1),
      [1, 2],
    );
    peer.destroy();
  });
});
