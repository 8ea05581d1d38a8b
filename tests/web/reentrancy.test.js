// Callbacks and getters of the application that the library calls. Many of them destroy the peer that has called them.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer } from "./support/portway.js";
import { scriptedChannel, recorder } from "./support/transports.js";
import { stopClock } from "./support/clock.js";
import { deferred, isPending, pause, rejection } from "./support/outcomes.js";

const destroyedMessage = "JSON-RPC client destroyed";

/** Returns a peer on the transport, and the array of the errors that the peer reports to `onError`. */
function peerOn(transport, options) {
  const errors = [];
  const peer = new JSONRPCPeer(transport, { onError: (error) => errors.push(error), ...options });
  return { peer, errors };
}

describe("a peer that is destroyed", () => {
  it("by the first handler of a batch runs no other handler and sends no response", async () => {
    const transport = recorder();
    const { peer, errors } = peerOn(transport);
    const ran = [];
    peer.method("stop", () => (ran.push("stop"), peer.destroy())).method("work", () => ran.push("work"));
    peer.onNotify("note", () => void ran.push("note"));
    transport.deliver([
      { jsonrpc: "2.0", method: "stop", id: 1 },
      { jsonrpc: "2.0", method: "work", id: 2 },
      { jsonrpc: "2.0", method: "note" },
      { jsonrpc: "2.0", method: "missing", id: 3 },
    ]);
    await pause(10);
    assert.deepEqual([ran, transport.sent, errors], [["stop"], [], []]);
  });

  it("by the handler of a notification in a batch runs no other handler", () => {
    const transport = recorder();
    const { peer, errors } = peerOn(transport);
    let ran = 0;
    peer.onNotify("stop", () => (ran++, peer.destroy()));
    transport.deliver([
      { jsonrpc: "2.0", method: "stop" },
      { jsonrpc: "2.0", method: "stop" },
    ]);
    assert.deepEqual([ran, errors], [1, []]);
  });

  it("in onProgress makes the call reject, whether the progress arrives alone or in an array", async () => {
    for (const wrap of [(message) => message, (message) => [message, { jsonrpc: "2.0", id: 1, result: "late" }]]) {
      const transport = recorder();
      const { peer, errors } = peerOn(transport);
      const call = peer.request("work", undefined, { onProgress: () => peer.destroy() });
      transport.deliver(wrap({ jsonrpc: "2.0", method: "$/progress", params: { token: 1, value: 1 } }));
      assert.equal((await rejection(call)).message, destroyedMessage);
      assert.deepEqual(errors, []);
    }
  });

  it("by the abort listener of a cancelled request responds only to this request", async () => {
    const transport = recorder();
    const { peer, errors } = peerOn(transport);
    peer.method("work", (_, { signal }) => {
      signal.addEventListener("abort", () => peer.destroy());
      return new Promise(() => {});
    });
    transport.deliver({ jsonrpc: "2.0", method: "work", id: 1 });
    transport.deliver([
      { jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } },
      { jsonrpc: "2.0", method: "work", id: 2 },
    ]);
    assert.deepEqual(
      [transport.sent.map(({ id, error }) => [id, error.data.reason]), errors],
      [[[1, "destroyed"]], []],
    );
  });

  for (const [name, start] of [
    ["a call", (peer) => peer.request("a")],
    [
      "a batch",
      (peer) => peer.batch([{ method: "a" }, { method: "b" }]).then(([{ reason }]) => Promise.reject(reason)),
    ],
  ]) {
    it(`while ${name} is being sent makes the call reject and throws nothing`, async () => {
      const transport = recorder();
      const { peer, errors } = peerOn(transport);
      transport.send = () => peer.destroy();
      const call = start(peer);
      assert.equal((await rejection(call)).message, destroyedMessage);
      assert.deepEqual([errors, peer.pending], [[], 0]);
    });

    it(`while ${name} is being sent, by a send() that throws afterwards, makes the call reject once`, async () => {
      const transport = recorder();
      const { peer, errors } = peerOn(transport);
      transport.send = () => {
        peer.destroy();
        throw new Error("the wire is cut");
      };
      const error = await rejection(start(peer));
      assert.oneOf(error.message, [destroyedMessage, "the wire is cut"]);
      assert.isTrue(errors.every(({ message }) => message === "the wire is cut"));
      assert.equal(peer.pending, 0);
    });
  }

  it("while a response is being sent throws nothing", () => {
    const transport = recorder();
    const { peer, errors } = peerOn(transport);
    peer.method("a", () => 1);
    transport.send = () => peer.destroy();
    transport.deliver({ jsonrpc: "2.0", method: "a", id: 1 });
    transport.deliver({ jsonrpc: "2.0", method: "a", id: 2 });
    assert.deepEqual(errors, []);
  });

  it("while a notification is being sent throws nothing", () => {
    const transport = recorder();
    const { peer, errors } = peerOn(transport);
    transport.send = () => peer.destroy();
    peer.notify("a");
    assert.deepEqual(errors, []);
  });

  it("calls the destroy() of its transport once, even if this function destroys the peer again", () => {
    const transport = recorder();
    const { peer } = peerOn(transport);
    transport.destroy = () => {
      transport.destroyed++;
      peer.destroy();
    };
    peer.destroy();
    assert.equal(transport.destroyed, 1);
  });

  it("sends nothing for later uses of a handler's context", async () => {
    const transport = recorder();
    const { peer, errors } = peerOn(transport);
    let context;
    const handlerEnd = deferred();
    peer.method("work", (_, requestContext) => {
      context = requestContext;
      return handlerEnd.promise;
    });
    transport.deliver({ jsonrpc: "2.0", method: "work", id: 1 });
    peer.destroy();
    context.progress(1);
    context.transfer([]);
    context.notify("note");
    handlerEnd.resolve();
    await pause(5);
    assert.deepEqual([transport.sent.map(({ id }) => id), context.signal.aborted], [[1], true]);
    assert.isTrue(errors.every(({ message }) => message === destroyedMessage));
  });
});

describe("a transport that delivers messages during send()", () => {
  it("may deliver the response and then throw: the response ends the call", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    transport.send = ({ id }) => {
      transport.deliver({ jsonrpc: "2.0", id, result: "answer" });
      throw new Error("after all");
    };
    assert.equal(await client.request("a"), "answer");
    assert.equal(client.pending, 0);
  });

  it("may deliver a request while a call is sent", async () => {
    const transport = recorder();
    const peer = new JSONRPCPeer(transport).method("echo", (params) => params);
    const { send } = transport;
    transport.send = (message) => {
      send.call(transport, message);
      if (message.method === "a") transport.deliver({ jsonrpc: "2.0", method: "echo", params: [1], id: 1 });
    };
    const call = peer.request("a");
    transport.deliver({ jsonrpc: "2.0", id: 1, result: "done" });
    assert.equal(await call, "done");
    assert.deepEqual(transport.sent[1], { jsonrpc: "2.0", result: [1], id: 1 });
  });

  it("may deliver another batch with the same ids while the reply to the first batch is sent", () => {
    const transport = recorder();
    new JSONRPCServer(transport).method("echo", ([n]) => n);
    const batch = (n) => [1, 2].map((id) => ({ jsonrpc: "2.0", method: "echo", params: [n + id], id }));
    const sent = [];
    transport.send = (message) => {
      sent.push(message);
      if (sent.length === 1) transport.deliver(batch(10));
    };
    transport.deliver(batch(0));
    const results = sent.map((replies) => replies.map(({ result }) => result).sort((a, b) => a - b));
    assert.deepEqual(results, [
      [1, 2],
      [11, 12],
    ]);
  });
});

describe("a getter in the params", () => {
  beforeEach(stopClock);

  for (const kind of ["notification", "request"]) {
    it(`that sends a ${kind} does not duplicate an object that two other members share`, async () => {
      const transport = recorder();
      const { peer, errors } = peerOn(transport, { coalesce: true });
      const shared = { n: 1 };
      // The first message of a turn is sent at once. Later messages are copied and queued.
      peer.notify("first");
      peer.notify("outer", {
        a: shared,
        get g() {
          if (kind === "request") peer.request("inner", [1]).catch(() => {});
          else peer.notify("inner", [1]);
          return 2;
        },
        b: shared,
      });
      await pause();
      const messages = transport.sent.flat();
      const { params } = messages.find(({ method }) => method === "outer");
      assert.isTrue(params.a === params.b);
      assert.deepEqual({ ...params }, { a: { n: 1 }, g: 2, b: { n: 1 } });
      assert.includeMembers(
        messages.map(({ method }) => method),
        ["first", "inner", "outer"],
      );
      assert.deepEqual(errors, []);
      peer.destroy();
    });
  }

  it("that sends a large message does not prevent the copy of the other params: later changes are not sent", async () => {
    const transport = recorder();
    const { peer } = peerOn(transport, { coalesce: true });
    const params = {
      get g() {
        peer.notify("inner", Array.from({ length: 1000 }));
        return 1;
      },
      rest: [1, 2],
    };
    peer.notify("first");
    peer.notify("outer", params);
    params.rest.push(3);
    await pause();
    const messages = transport.sent.flat();
    assert.deepEqual(messages.find(({ method }) => method === "outer").params.rest, [1, 2]);
    peer.destroy();
  });
});

describe("a handler that makes a call", () => {
  it("does not get the response to an earlier call if this response arrives in one array with the handler's request", async () => {
    const transport = recorder();
    const peer = new JSONRPCPeer(transport);
    let innerCall;
    peer.method("work", () => void (innerCall = peer.request("b")));
    const earlierCall = peer.request("a");
    transport.deliver([
      { jsonrpc: "2.0", method: "work", id: 9 },
      { jsonrpc: "2.0", id: 1, result: "of a" },
    ]);
    assert.equal(await earlierCall, "of a");
    assert.isTrue(await isPending(innerCall));
    transport.deliver({ jsonrpc: "2.0", id: 2, result: "of b" });
    assert.equal(await innerCall, "of b");
  });
});

describe("two requests with the same id", () => {
  it("are not both cancelled by one cancellation", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const signals = [];
    new JSONRPCServer(transport).method("work", (_, { signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    });
    for (let n = 0; n < 2; n++) remoteEnd.post({ jsonrpc: "2.0", method: "work", id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    await remoteEnd.unreadBeforeResponse();
    assert.equal(signals.filter(({ aborted }) => aborted).length, 1);
  });

  it("get separate responses if they run at the same time", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const resolvers = [];
    new JSONRPCServer(transport).method("work", () => new Promise((resolve) => resolvers.push(resolve)));
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: 1 });
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    resolvers.forEach((resolve, n) => resolve(n));
    assert.deepEqual(
      [await remoteEnd.next(), await remoteEnd.next()].map(({ id, result }) => [id, result]),
      [
        [1, 0],
        [1, 1],
      ],
    );
  });
});
