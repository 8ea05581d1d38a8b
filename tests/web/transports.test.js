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

  it("is asked to listen once, at construction", () => {
    let handlers = 0;
    const transport = { send() {}, onMessage: () => handlers++ };
    const client = new JSONRPCClient(transport);
    assert.equal(handlers, 1);
    client.request("a").catch(() => {});
    new JSONRPCServer(transport);
    assert.equal(handlers, 1);
    client.destroy();
  });

  it("keeps its own this", async () => {
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

  it("gets the transfer list beside the message", () => {
    const transport = recorder();
    const { buffer } = new Uint8Array(1);
    new JSONRPCClient(transport).request("a", { buffer }, { transfer: [buffer] }).catch(() => {});
    assert.deepEqual(transport.transfers, [[buffer]]);
  });

  it("can go over text: everything comes and goes as JSON", async () => {
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

  it("may be wrapped by another, to inspect its messages", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("a", () => "result");
    const tap = tapped(near);
    await new JSONRPCClient(tap).request("a");
    assert.deepEqual(tap.sent, [{ jsonrpc: "2.0", method: "a", id: 1 }]);
    assert.deepEqual(tap.received, [{ jsonrpc: "2.0", result: "result", id: 1 }]);
  });

  it("may deliver late, and twice", async () => {
    const transport = recorder();
    const call = new JSONRPCClient(transport).request("a");
    await pause(10);
    transport.deliver({ jsonrpc: "2.0", id: 1, result: "once" });
    transport.deliver({ jsonrpc: "2.0", id: 1, result: "twice" });
    assert.equal(await call, "once");
  });

  it("may deliver messages with getters that throw: onError is called, and the calls wait on", async () => {
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

  it("may fail to send a reply: onError is called, and the server lives on", async () => {
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

  it("logs faults on the console without onError", async () => {
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

  it("may hand over messages while its handler is being attached", async () => {
    const sent = [];
    const early = { jsonrpc: "2.0", method: "echo", params: [1], id: 1 };
    const transport = { send: (message) => void sent.push(message), onMessage: (handler) => handler(early) };
    new JSONRPCServer(transport).method("echo", (params) => params);
    await until(() => sent.length > 0);
    assert.deepEqual(sent, [{ jsonrpc: "2.0", result: [1], id: 1 }]);
  });
});

describe("a transport that is made before there is a handler", () => {
  it("loses nothing that comes over a port meanwhile", async () => {
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

  it("waits for handlers that are registered in the same turn", async () => {
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => [port1, port2].forEach((port) => port.close()));
    const call = new JSONRPCClient(portTransport(port2)).request("late");
    await pause(30);
    const server = new JSONRPCServer(portTransport(port1));
    server.method("late", () => "in time");
    assert.equal(await call, "in time");
  });
});

describe("the handler of a transport", () => {
  it("is the newest", async () => {
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

  it("gets JSON-RPC messages, alone or in arrays, and nothing else", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const seen = [];
    transport.onMessage((message) => seen.push(message));
    const ours = [{ jsonrpc: "2.0", method: "a" }, [{ jsonrpc: "2.0", method: "b" }], { jsonrpc: "2.0" }];
    const foreign = [null, "text", { type: "build" }, { jsonrpc: 2 }, { jsonrpc: "1.0", method: "a" }, [1], new Map()];
    for (const message of [ours[0], ...foreign, ours[1], ours[2]]) remoteEnd.post(message);
    await until(() => seen.length >= 3);
    assert.deepEqual(seen, ours);
  });

  it("has to be a function", () => {
    assert.throws(() => scriptedChannel().transport.onMessage(), TypeError);
  });
});

describe("an object that acts as a port", () => {
  /** Two ends that deliver at once, and can be closed repeatedly. */
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

  it("is open, gets messages alone, and may be used again after a transport on it is destroyed", async () => {
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

describe("a port that others use, too", () => {
  it("leaves foreign messages to other listeners, untouched", async () => {
    const { transport, remoteEnd, port } = scriptedChannel();
    const seen = [];
    port.onmessage = ({ data }) => seen.push(data);
    port.addEventListener("message", ({ data }) => seen.push(data));
    new JSONRPCPeer(transport).method("echo", (params) => params);
    const foreign = [{ type: "build", entry: "app.ts" }, "text", 5, null];
    for (const message of foreign) remoteEnd.post(message);
    assert.deepEqual(await remoteEnd.drain(), []);
    assert.deepEqual(
      seen.filter((message) => message?.jsonrpc === undefined),
      foreign.flatMap((message) => [message, message]),
    );
  });

  it("never has its onmessage assigned", async () => {
    const { transport, remoteEnd, port } = scriptedChannel();
    let assigned = 0;
    Object.defineProperty(port, "onmessage", { get: () => null, set: () => void assigned++ });
    const peer = new JSONRPCPeer(transport);
    await remoteEnd.drain();
    peer.destroy();
    assert.equal(assigned, 0);
  });

  it("lets ad-hoc messages and calls go side by side", async () => {
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

describe("a transport that is made of the wrong thing", () => {
  it("is a TypeError that names the missing methods", () => {
    for (const wrong of [undefined, null, {}, "port", 5]) {
      assert.throws(() => portTransport(wrong), TypeError, "port");
      assert.throws(() => workerTransport(wrong), TypeError, "worker");
    }
  });

  it("is, for a broadcast channel or a port, a TypeError that names the right function", () => {
    const channel = new BroadcastChannel("of the wrong function");
    const { port1 } = new MessageChannel();
    for (const make of [portTransport, workerTransport]) {
      assert.throws(() => make(channel), TypeError, "broadcastTransport(channel)");
    }
    assert.throws(() => broadcastTransport(port1), TypeError, "portTransport(port)");
    channel.close();
    port1.close();
  });

  it("is, for an iframe, a TypeError that names the right argument", () => {
    assert.throws(() => windowTransport({ contentWindow: {} }), TypeError, "contentWindow");
  });

  it("is a TypeError for selfTransport() outside of a worker, which names the right function", () => {
    assert.throws(() => selfTransport(), TypeError, /windowTransport|worker/);
  });
});
