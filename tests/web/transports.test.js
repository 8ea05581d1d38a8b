// Transports of an application, and the behaviour that all transports of the library have.

import { assert } from "chai";
import {
  JSONRPCClient,
  JSONRPCPeer,
  JSONRPCServer,
  broadcastTransport,
  connect,
  portTransport,
  selfTransport,
  windowTransport,
  workerTransport,
} from "./support/portway.js";
import { channel, loopback, scriptedChannel, recorder, tapped } from "./support/transports.js";
import { pause, until } from "./support/outcomes.js";
import { printed } from "./support/console.js";
import { afterThisTest } from "./support/cleanup.js";

describe("any object with send and onMessage", () => {
  it("is a transport", async () => {
    const { near, far } = loopback();
    new JSONRPCServer(far).method("echo", (params) => params);
    assert.deepEqual(await new JSONRPCClient(near).request("echo", { a: 1 }), { a: 1 });
  });

  it("gets one call of onMessage, when its first client or server is created", () => {
    let handlers = 0;
    const transport = { send() {}, onMessage: () => handlers++ };
    const client = new JSONRPCClient(transport);
    assert.equal(handlers, 1);
    client.request("a").catch(() => {});
    new JSONRPCServer(transport);
    assert.equal(handlers, 1);
    client.destroy();
  });

  it("is the `this` of its methods", async () => {
    class Custom {
      #sent = [];
      send(message) {
        this.#sent.push(message);
      }
      onMessage(handler) {
        this.handler = handler;
      }
      get sent() {
        return this.#sent;
      }
    }
    const transport = new Custom();
    const call = new JSONRPCClient(transport).request("a");
    assert.lengthOf(transport.sent, 1);
    transport.handler({ jsonrpc: "2.0", id: 1, result: 1 });
    assert.equal(await call, 1);
  });

  it("gets the transfer list together with the message", () => {
    const transport = recorder();
    const { buffer } = new Uint8Array(1);
    new JSONRPCClient(transport).request("a", { buffer }, { transfer: [buffer] }).catch(() => {});
    assert.deepEqual(transport.transfers, [[buffer]]);
  });

  it("may convert messages to JSON text and back", async () => {
    const { near, far } = loopback();
    const overText = (end) => ({
      send: (message) => end.send(JSON.stringify(message)),
      onMessage: (handler) => end.onMessage((text) => handler(JSON.parse(text))),
    });
    new JSONRPCServer(overText(far))
      .method("nothing", () => {})
      .method("fail", () => {
        throw undefined;
      });
    const client = new JSONRPCClient(overText(near));
    assert.isNull(await client.request("nothing"));
    assert.equal((await client.request("fail").catch((error) => error)).code, -32603);
  });

  it("may be wrapped by another transport that records messages", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("a", () => "result");
    const tap = tapped(near);
    await new JSONRPCClient(tap).request("a");
    assert.deepEqual(tap.sent, [{ jsonrpc: "2.0", method: "a", id: 1 }]);
    assert.deepEqual(tap.received, [{ jsonrpc: "2.0", result: "result", id: 1 }]);
  });

  it("may deliver messages late and twice", async () => {
    const transport = recorder();
    const call = new JSONRPCClient(transport).request("a");
    await pause(10);
    transport.deliver({ jsonrpc: "2.0", id: 1, result: "once" });
    transport.deliver({ jsonrpc: "2.0", id: 1, result: "twice" });
    assert.equal(await call, "once");
  });

  it("may deliver messages with getters that throw: onError is called, and calls stay pending", async () => {
    const transport = recorder();
    const errors = [];
    const call = new JSONRPCClient(transport, { onError: (error) => errors.push(error.message) }).request("a");
    transport.deliver({
      jsonrpc: "2.0",
      get id() {
        throw new Error("gotcha");
      },
    });
    transport.deliver({ jsonrpc: "2.0", id: 1, result: "right" });
    assert.equal(await call, "right");
    assert.deepEqual(errors, ["gotcha"]);
  });

  it("may fail to send a response: onError is called, and the server still works", async () => {
    const transport = recorder();
    const errors = [];
    new JSONRPCServer(transport, { onError: (error) => errors.push(error.message) }).method("a", () => "result");
    const { send } = transport;
    transport.send = () => {
      throw new Error("the wire is cut");
    };
    transport.deliver({ jsonrpc: "2.0", method: "a", id: 1 });
    transport.send = send;
    transport.deliver({ jsonrpc: "2.0", method: "a", id: 2 });
    assert.deepEqual(errors, ["the wire is cut"]);
    assert.deepEqual(transport.sent, [{ jsonrpc: "2.0", result: "result", id: 2 }]);
  });

  it("can be used without onError: errors of handlers are then printed to the console", async () => {
    const transport = recorder();
    const lines = await printed(() => {
      new JSONRPCServer(transport).onNotify("a", () => {
        throw new Error("oh no");
      });
      transport.deliver({ jsonrpc: "2.0", method: "a" });
    });
    assert.lengthOf(lines, 1);
    assert.include(lines[0], "oh no");
  });

  it("may deliver messages during onMessage", async () => {
    const sent = [];
    const early = { jsonrpc: "2.0", method: "echo", params: [1], id: 1 };
    const transport = { send: (message) => void sent.push(message), onMessage: (handler) => handler(early) };
    new JSONRPCServer(transport).method("echo", (params) => params);
    await until(() => sent.length > 0);
    assert.deepEqual(sent, [{ jsonrpc: "2.0", result: [1], id: 1 }]);
  });
});

describe("a transport that is created before its handler", () => {
  it("loses no message that arrives at its port before the handler is set", async () => {
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => [port1, port2].forEach((port) => port.close()));
    for (let n = 0; n < 5; n++) port2.postMessage({ jsonrpc: "2.0", method: "count", params: [n] });
    const transport = portTransport(port1);
    await pause(30);
    for (let n = 5; n < 10; n++) port2.postMessage({ jsonrpc: "2.0", method: "count", params: [n] });
    await pause(30);
    const seen = [];
    new JSONRPCServer(transport).onNotify("count", ([n]) => void seen.push(n));
    await until(() => seen.length === 10);
    assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it("delivers an earlier request to a method that is registered right after the server is created", async () => {
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => [port1, port2].forEach((port) => port.close()));
    const call = new JSONRPCClient(portTransport(port2)).request("late");
    await pause(30);
    const server = new JSONRPCServer(portTransport(port1));
    server.method("late", () => "in time");
    assert.equal(await call, "in time");
  });
});

describe("the handler that a transport gets", () => {
  it("replaces the previous handler", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const seen = [];
    transport.onMessage((message) => seen.push(["old", message.method]));
    remoteEnd.post({ jsonrpc: "2.0", method: "a" });
    await until(() => seen.length === 1);
    transport.onMessage((message) => seen.push(["new", message.method]));
    remoteEnd.post({ jsonrpc: "2.0", method: "b" });
    await until(() => seen.length === 2);
    assert.deepEqual(seen, [
      ["old", "a"],
      ["new", "b"],
    ]);
  });

  it("receives JSON-RPC messages, single or in arrays, and nothing else", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const seen = [];
    transport.onMessage((message) => seen.push(message));
    const ours = [{ jsonrpc: "2.0", method: "a" }, [{ jsonrpc: "2.0", method: "b" }], { jsonrpc: "2.0" }];
    const foreign = [null, "text", { type: "build" }, { jsonrpc: 2 }, { jsonrpc: "1.0", method: "a" }, [1], new Map()];
    for (const message of [ours[0], ...foreign, ours[1], ours[2]]) remoteEnd.post(message);
    await until(() => seen.length >= 3);
    assert.deepEqual(seen, ours);
  });

  it("must be a function", () => {
    assert.throws(() => scriptedChannel().transport.onMessage(), TypeError);
  });
});

describe("an object that behaves like a port", () => {
  /** Returns two connected ends, which deliver synchronously. `close()` has no effect on them. */
  function pair() {
    const end = () => ({
      listeners: new Set(),
      received: [],
      addEventListener(type, listener) {
        if (type === "message") this.listeners.add(listener);
      },
      removeEventListener(type, listener) {
        this.listeners.delete(listener);
      },
      postMessage(data) {
        this.other.received.push(data);
        for (const listener of [...this.other.listeners]) listener({ data });
      },
      start() {},
      close() {},
    });
    const [near, far] = [end(), end()];
    near.other = far;
    far.other = near;
    return [near, far];
  }

  it("never counts as closed, receives only JSON-RPC messages, and may be used again after its transport is destroyed", async () => {
    const [near, far] = pair();
    const server = new JSONRPCServer(portTransport(far)).method("echo", (params) => params);
    for (let n = 0; n < 2; n++) {
      const client = new JSONRPCClient(portTransport(near));
      assert.deepEqual(await client.request("echo", [n]), [n]);
      client.destroy();
    }
    assert.isTrue([...near.received, ...far.received].every((message) => message?.jsonrpc === "2.0"));
    const peer = await connect(near, { connectTimeout: 5_000 });
    assert.deepEqual(await peer.request("echo", [2]), [2]);
    peer.destroy();
    server.destroy();
  });
});

describe("a port with other listeners", () => {
  it("delivers foreign messages to other listeners unchanged", async () => {
    const { transport, remoteEnd, port } = scriptedChannel();
    const seen = [];
    port.onmessage = ({ data }) => seen.push(data);
    port.addEventListener("message", ({ data }) => seen.push(data));
    new JSONRPCPeer(transport).method("echo", (params) => params);
    const foreign = [{ type: "build", entry: "app.ts" }, "text", 5, null];
    for (const message of foreign) remoteEnd.post(message);
    assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []);
    assert.deepEqual(
      seen.filter((message) => message?.jsonrpc === undefined),
      foreign.flatMap((message) => [message, message]),
    );
  });

  it("keeps its onmessage unassigned", async () => {
    const { transport, remoteEnd, port } = scriptedChannel();
    let assigned = 0;
    Object.defineProperty(port, "onmessage", { get: () => null, set: () => void assigned++ });
    const peer = new JSONRPCPeer(transport);
    await remoteEnd.unreadBeforeResponse();
    peer.destroy();
    assert.equal(assigned, 0);
  });

  it("can transmit ad-hoc messages and calls at the same time", async () => {
    const { near, far, port1, port2 } = channel();
    const adHoc = [];
    port2.addEventListener(
      "message",
      ({ data }) => data.type === "ping" && port2.postMessage({ type: "pong", n: data.n }),
    );
    port1.addEventListener("message", ({ data }) => data.type === "pong" && adHoc.push(data.n));
    new JSONRPCServer(far).method("echo", ([n]) => n);
    const client = new JSONRPCClient(near);
    const results = [];
    for (let n = 0; n < 10; n++) {
      port1.postMessage({ type: "ping", n });
      results.push(await client.request("echo", [n]));
    }
    await until(() => adHoc.length === 10);
    assert.deepEqual([adHoc, results], [results, adHoc]);
  });
});

describe("a transport of an object of the wrong class", () => {
  it("causes a TypeError that names the required object", () => {
    for (const wrong of [undefined, null, {}, "port", 5]) {
      assert.throws(() => portTransport(wrong), TypeError, "port");
      assert.throws(() => workerTransport(wrong), TypeError, "worker");
    }
  });

  it("causes a TypeError that names the right function, if the object is a broadcast channel or a port", () => {
    const channel = new BroadcastChannel("of the wrong function");
    const { port1 } = new MessageChannel();
    for (const make of [portTransport, workerTransport]) {
      assert.throws(() => make(channel), TypeError, "broadcastTransport(channel)");
    }
    assert.throws(() => broadcastTransport(port1), TypeError, "portTransport(port)");
    channel.close();
    port1.close();
  });

  it("causes a TypeError that names contentWindow, if the object is an iframe", () => {
    assert.throws(() => windowTransport({ contentWindow: {} }), TypeError, "contentWindow");
  });

  it("causes a TypeError that names the right function, if selfTransport() is called outside of a worker", () => {
    assert.throws(() => selfTransport(), TypeError, /windowTransport|worker/);
  });
});
