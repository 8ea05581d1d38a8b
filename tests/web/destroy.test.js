// destroy() of clients, servers, peers and transports.

import { assert } from "chai";
import {
  CallError,
  JSONRPCClient,
  JSONRPCPeer,
  JSONRPCServer,
  connect,
  inNode,
  portTransport,
} from "./support/portway.js";
import { channel, loopback, scriptedChannel, recorder } from "./support/transports.js";
import { deferred, pause, rejection, until } from "./support/outcomes.js";

const destroyedMessage = "JSON-RPC client destroyed";

describe("destroying a client", () => {
  it("rejects all pending calls with the same message and the reason destroyed", async () => {
    const client = new JSONRPCClient(recorder());
    const calls = Array.from({ length: 50 }, (_, n) => client.request(`method ${n}`));
    client.destroy();
    assert.equal(client.pending, 0);
    for (const [n, error] of (await Promise.all(calls.map(rejection))).entries()) {
      assert.instanceOf(error, CallError);
      assert.deepEqual(
        [error.message, error.reason, error.method, error.id],
        [destroyedMessage, "destroyed", `method ${n}`, n + 1],
      );
    }
  });

  it("destroys the transport only once", () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    client.destroy();
    client.destroy();
    client.destroy();
    assert.equal(transport.destroyed, 1);
  });

  it("works if the transport has no destroy()", async () => {
    const transport = recorder();
    delete transport.destroy;
    const client = new JSONRPCClient(transport);
    const call = client.request("a");
    client.destroy();
    assert.equal((await rejection(call)).message, destroyedMessage);
  });

  it("makes later calls fail at once, and sends nothing", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    client.destroy();
    const start = performance.now();
    const error = await rejection(client.request("a"));
    assert.deepEqual([error.message, error.reason], [destroyedMessage, "destroyed"]);
    assert.isBelow(performance.now() - start, 1000);
    assert.equal(transport.sent.length, 0);
  });

  it("makes later calls fail even if a server still uses the transport", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    new JSONRPCServer(transport);
    client.destroy();
    assert.equal((await rejection(client.request("a", undefined, { timeout: 50 }))).message, destroyedMessage);
    assert.equal(transport.sent.length, 0);
  });

  it("drops later notifications, and reports them to onError", () => {
    const transport = recorder();
    const errors = [];
    const client = new JSONRPCClient(transport, { onError: (error) => errors.push(error.message) });
    client.destroy();
    client.notify("a");
    assert.deepEqual([transport.sent.length, errors], [0, [destroyedMessage]]);
  });

  it("makes a pending call reject, even if its response arrives afterwards", async () => {
    const transport = recorder();
    const client = new JSONRPCClient(transport);
    const call = client.request("a");
    client.destroy();
    transport.deliver({ jsonrpc: "2.0", id: 1, result: "late" });
    assert.equal((await rejection(call)).message, destroyedMessage);
  });

  it("works in a callback of the client's own call", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const first = client.request("a").then(() => client.destroy());
    const second = client.request("b");
    remoteEnd.post([
      { jsonrpc: "2.0", id: 1, result: 1 },
      { jsonrpc: "2.0", method: "x" },
    ]);
    await first;
    assert.equal((await rejection(second)).message, destroyedMessage);
  });

  it("works in onError", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    let client;
    client = new JSONRPCClient(transport, { onError: () => client.destroy() });
    const call = client.request("a");
    remoteEnd.post({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } });
    assert.equal((await rejection(call)).message, destroyedMessage);
  });

  it("ends only the calls of this client if two clients share a transport", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const [first, second] = [new JSONRPCClient(transport), new JSONRPCClient(transport)];
    const calls = [first.request("a"), second.request("b")];
    first.destroy();
    assert.equal((await rejection(calls[0])).message, destroyedMessage);
    const ids = [await remoteEnd.next(), await remoteEnd.next()].map(({ id }) => id);
    remoteEnd.post({ jsonrpc: "2.0", id: ids[1], result: "lives on" });
    assert.equal(await calls[1], "lives on");
  });

  it("does not stop a server that shares the transport", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    new JSONRPCServer(transport).method("a", () => "served");
    client.destroy();
    remoteEnd.post({ jsonrpc: "2.0", method: "a", id: 1 });
    assert.equal((await remoteEnd.next()).result, "served");
  });

  it("makes the calls of the peer fail: at once if the engine reports closed ports, otherwise after the timeout", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("a", () => "served");
    new JSONRPCClient(near).destroy();
    const other = new JSONRPCClient(far);
    const { reason } = await rejection(other.request("b", undefined, { timeout: 30 }));
    assert.equal(reason, inNode ? "peer-gone" : "timeout");
  });
});

const destroyedAnswer = (id) => ({
  jsonrpc: "2.0",
  error: { code: -32603, message: "JSON-RPC server destroyed", data: { reason: "destroyed" } },
  id,
});

describe("destroying a server", () => {
  for (const [kind, makeTransports] of Object.entries({
    "a port": channel,
    "a transport that delivers synchronously": loopback,
  })) {
    it(`over ${kind} ends all calls, batches and streams of the peer at once, even if handlers ignore the signal`, async () => {
      const { near, far } = makeTransports();
      const hang = () => new Promise(() => {});
      let started = 0;
      const server = new JSONRPCServer(far).method("hang", () => (started++, hang()));
      server.method("items", async function* () {
        yield started++;
        await hang();
      });
      const client = new JSONRPCClient(near, { timeout: 0 });
      const single = rejection(client.request("hang"));
      const batch = client.batch([{ method: "hang" }, { method: "hang" }]);
      const stream = client.stream("items");
      const iterator = stream[Symbol.asyncIterator]();
      assert.isFalse((await iterator.next()).done);
      const rest = rejection(iterator.next());
      await until(() => started === 4);
      server.destroy();
      const errors = [await single, ...(await batch).map(({ reason }) => reason), await rest];
      for (const error of errors) assert.deepEqual([error.code, error.data], [-32603, { reason: "destroyed" }]);
      client.destroy();
    });
  }

  it("sends error responses for all running requests at once, and drops later results of handlers", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const ends = [deferred(), deferred()];
    let started = 0;
    const server = new JSONRPCServer(transport).method("work", ([n]) => {
      started++;
      return ends[n].promise;
    });
    remoteEnd.post({ jsonrpc: "2.0", method: "work", params: [0], id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "work", params: [1], id: 2 });
    await until(() => started === 2);
    server.destroy();
    ends[0].resolve("too late");
    ends[1].reject(new Error("too late"));
    await until(() => remoteEnd.received.length >= 2);
    await pause(30);
    assert.deepEqual(remoteEnd.received, [destroyedAnswer(1), destroyedAnswer(2)]);
  });

  it("prevents later calls of its handlers", async () => {
    const transport = recorder();
    let ran = 0;
    const server = new JSONRPCServer(transport).method("a", () => ++ran).onNotify("b", () => ++ran);
    server.destroy();
    transport.deliver({ jsonrpc: "2.0", method: "a", id: 1 });
    transport.deliver({ jsonrpc: "2.0", method: "b" });
    assert.deepEqual([ran, transport.sent], [0, []]);
  });

  it("destroys the transport only once", () => {
    const transport = recorder();
    const server = new JSONRPCServer(transport);
    server.destroy();
    server.destroy();
    assert.equal(transport.destroyed, 1);
  });

  it("sends error responses for all running requests, even if a client still uses the transport", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCClient(transport);
    const end = deferred();
    let started = false;
    const server = new JSONRPCServer(transport).method("work", () => {
      started = true;
      return end.promise;
    });
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: 1 });
    await until(() => started);
    server.destroy();
    end.resolve("too late");
    await until(() => remoteEnd.received.length >= 1);
    await pause(30);
    assert.deepEqual(remoteEnd.received, [destroyedAnswer(1)]);
  });

  it("aborts the signals of its handlers, even if a client still uses the transport", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCClient(transport);
    let signal;
    const server = new JSONRPCServer(transport).method("work", (_, context) => {
      signal = context.signal;
      return new Promise(() => {});
    });
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: 1 });
    await until(() => signal !== undefined);
    server.destroy();
    assert.isTrue(signal.aborted);
  });

  it("does not affect running requests of another server on the transport, even if a batch has requests for both", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const [destroyedServer, remainingServer] = [new JSONRPCServer(transport), new JSONRPCServer(transport)];
    const end = deferred();
    destroyedServer.method("going", () => end.promise);
    remainingServer.method("staying", () => end.promise).method("started", () => "yes");
    remoteEnd.post({ jsonrpc: "2.0", method: "going", id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "staying", id: 2 });
    remoteEnd.post([
      { jsonrpc: "2.0", method: "going", id: 3 },
      { jsonrpc: "2.0", method: "staying", id: 4 },
    ]);
    remoteEnd.post([{ jsonrpc: "2.0", method: "going", id: 5 }]);
    await remoteEnd.unreadBeforeResponse();
    destroyedServer.destroy();
    end.resolve("done");
    const replies = await remoteEnd.unreadBeforeResponse();
    const done = (id) => ({ jsonrpc: "2.0", result: "done", id });
    assert.deepEqual(replies, [destroyedAnswer(1), [destroyedAnswer(5)], done(2), [destroyedAnswer(3), done(4)]]);
  });

  it("removes its running requests from the count of the limit inFlight", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const limits = { inFlight: 1 };
    const end = deferred();
    const destroyedServer = new JSONRPCServer(transport, { limits }).method("work", () => end.promise);
    new JSONRPCServer(transport, { limits }).method("other", () => "served");
    remoteEnd.post({ jsonrpc: "2.0", method: "work", id: 1 });
    await remoteEnd.unreadBeforeResponse();
    destroyedServer.destroy();
    end.resolve();
    await pause(10);
    assert.deepEqual(await remoteEnd.next(), destroyedAnswer(1));
    remoteEnd.post({ jsonrpc: "2.0", method: "other", id: 2 });
    assert.equal((await remoteEnd.next()).result, "served");
  });

  it("does not stop a client that shares the transport", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("a", () => "served");
    const client = new JSONRPCClient(near);
    new JSONRPCServer(near).destroy();
    assert.equal(await client.request("a"), "served");
  });
});

describe("destroying a client, server or peer", () => {
  it("ends the calls of a JSONRPCPeer, stops its handlers, and destroys its transport once", async () => {
    const transport = recorder();
    let ran = false;
    const peer = new JSONRPCPeer(transport).method("a", () => (ran = true));
    const call = peer.request("b");
    peer.destroy();
    peer.destroy();
    transport.deliver({ jsonrpc: "2.0", method: "a", id: 1 });
    assert.equal((await rejection(call)).message, destroyedMessage);
    assert.deepEqual([ran, transport.destroyed, transport.sent.length], [false, 1, 1]);
  });

  it("twice, by Symbol.dispose or destroy(), destroys the transport only once", async () => {
    const dispose = Symbol.dispose ?? "destroy";
    for (const Role of [JSONRPCClient, JSONRPCServer, JSONRPCPeer]) {
      for (const [first, second] of [
        [dispose, dispose],
        [dispose, "destroy"],
        ["destroy", dispose],
      ]) {
        const transport = recorder();
        const role = new Role(transport);
        const call = role.request === undefined ? undefined : rejection(role.request("a"));
        role[first]();
        role[second]();
        assert.equal(transport.destroyed, 1);
        if (call !== undefined) assert.deepEqual([(await call).reason, role.pending], ["destroyed", 0]);
      }
    }
  });

  it("repeatedly does not affect another client on the same transport", async () => {
    const transport = recorder();
    const [one, other] = [new JSONRPCClient(transport), new JSONRPCClient(transport)];
    const call = other.request("a");
    one[Symbol.dispose ?? "destroy"]();
    one.destroy();
    one.destroy();
    assert.deepEqual([transport.destroyed, other.pending], [0, 1]);
    transport.deliver({ jsonrpc: "2.0", id: 1, result: "lives" });
    assert.equal(await call, "lives");
  });

  it("works with Symbol.dispose if the engine has this symbol", () => {
    // Without Symbol.dispose, no method may have the name "undefined".
    if (Symbol.dispose === undefined) return assert.isUndefined(JSONRPCPeer.prototype[undefined]);
    for (const Role of [JSONRPCClient, JSONRPCServer, JSONRPCPeer]) {
      const transport = recorder();
      new Role(transport)[Symbol.dispose]();
      assert.equal(transport.destroyed, 1);
    }
  });
});

describe("a peer that is destroyed while it handles a batch", () => {
  // The rest of the batch has the ids of the calls of the next peer, and must not affect these calls.
  const call = (id, method = "work") => ({ jsonrpc: "2.0", id, method });

  for (const [way, begin, message] of [
    [
      "onProgress",
      (old, destroy) => old.request("slow", [], { onProgress: destroy }),
      { method: "$/progress", params: { token: 1, value: 1 } },
    ],
    [
      "the handler of a notification",
      (old, destroy) => (old.method("end", destroy), new Promise(() => {})),
      { method: "end" },
    ],
    [
      "the abort listener of a request",
      (old) => old.request("slow"),
      { method: "$/cancelRequest", params: { id: "own" } },
    ],
  ]) {
    it(`does not handle the rest of the batch, which could affect the next peer: destroyed by ${way}`, async () => {
      const transport = recorder();
      const nextTransport = recorder();
      const old = new JSONRPCPeer(transport);
      let next;
      let nextRejection;
      let ran = 0;
      let isDestroyed = false;
      const destroy = () => {
        // destroy() aborts the signal of the running request, and so calls this function again.
        if (isDestroyed) return;
        isDestroyed = true;
        old.destroy();
        next = new JSONRPCPeer(nextTransport, { limits: { inFlight: 1 }, timeout: 300 });
        next.method("work", () => "of the next");
        nextRejection = rejection(next.request("other"));
      };
      old.method("work", () => void ran++);
      old.method("own", (_, { signal }) => new Promise(() => signal.addEventListener("abort", destroy)));
      rejection(begin(old, destroy));
      transport.deliver(call("own", "own"));
      transport.deliver([
        { jsonrpc: "2.0", ...message },
        { jsonrpc: "2.0", id: 1, result: "forged" },
        call(1),
        call(2),
        call(3),
      ]);
      assert.equal((await nextRejection).reason, "timeout");
      assert.equal(ran, 0);
      nextTransport.deliver(call(1));
      await until(() => nextTransport.sent.some(({ id, result }) => id === 1 && result === "of the next"));
      next.destroy();
    });
  }
});

describe("destroying a transport", () => {
  it("removes the listeners of its port, and closes the port", async () => {
    const { port1, port2 } = new MessageChannel();
    const counts = { added: 0, removed: 0, closed: 0 };
    const countCalls = (name, key) => {
      const original = port1[name];
      port1[name] = function (...args) {
        counts[key]++;
        return original.apply(this, args);
      };
    };
    countCalls("addEventListener", "added");
    countCalls("removeEventListener", "removed");
    countCalls("close", "closed");
    const transport = portTransport(port1);
    transport.onMessage(() => {});
    transport.destroy();
    transport.destroy();
    port2.close();
    assert.isAtLeast(counts.added, 1);
    assert.equal(counts.removed, counts.added);
    assert.equal(counts.closed, 1);
  });

  it("works before a listener is set", () => {
    const { port1, port2 } = new MessageChannel();
    portTransport(port1).destroy();
    port2.close();
  });

  it("allows a new client on the same port object, but all calls of the new client fail at once", async () => {
    const { port1, port2 } = new MessageChannel();
    new JSONRPCClient(portTransport(port1)).destroy();
    const client = new JSONRPCClient(portTransport(port1), { timeout: 5_000 });
    const first = rejection(client.request("a"));
    assert.equal((await first).reason, "peer-gone");
    assert.equal((await rejection(client.request("b"))).reason, "peer-gone");
    client.destroy();
    port2.close();
  });

  it("makes connect() fail at once on its port, as on a port that the engine can detect as closed or transferred", async () => {
    const [destroyed, closed, transferred] = [0, 1, 2].map(() => new MessageChannel().port1);
    const { port1: abandoned, port2: other } = new MessageChannel();
    portTransport(destroyed).destroy();
    // Node reports the close of a port once. The test waits for these reports, so that no client receives them.
    const closeEvents = inNode ? [closed, abandoned].map((port) => new Promise((end) => port.once("close", end))) : [];
    closed.close();
    other.close();
    await Promise.all(closeEvents);
    const { port2 } = new MessageChannel();
    port2.postMessage(undefined, [transferred]);
    const isDetectable = (port) => {
      if (inNode) return true;
      // An open port throws, because it cannot transfer itself. If closed and transferred ports also throw, the library
      // cannot detect them.
      try {
        port.postMessage(undefined, [port]);
        return true;
      } catch {
        return false;
      }
    };
    const detectable = [closed, transferred, ...(inNode ? [abandoned] : [])].filter(isDetectable);
    for (const port of [destroyed, ...detectable]) {
      const { reason, message } = await rejection(connect(port, { connectTimeout: 5_000 }));
      assert.deepEqual([reason, message], ["peer-gone", "the port is closed"]);
      const client = new JSONRPCClient(portTransport(port), { timeout: 5_000 });
      assert.equal((await rejection(client.request("a"))).reason, "peer-gone");
      client.destroy();
    }
    port2.close();
  });

  it("allows a new client on the same custom transport", async () => {
    const transport = recorder();
    new JSONRPCClient(transport).destroy();
    const client = new JSONRPCClient(transport);
    const call = client.request("a");
    transport.deliver({ jsonrpc: "2.0", id: 1, result: "again" });
    assert.equal(await call, "again");
  });
});

it("an open port stays open when a new client checks whether the port is closed", async () => {
  const { port1, port2 } = new MessageChannel();
  const server = new JSONRPCServer(portTransport(port2)).method("a", () => "open");
  for (let n = 0; n < 2; n++) {
    const client = new JSONRPCClient(portTransport(port1));
    assert.equal(await client.request("a"), "open");
  }
  server.destroy();
  port1.close();
});
