// A transport can report that the peer is lost. These tests check the effects on the link.
import { assert } from "chai";
import { CallError, JSONRPCClient, JSONRPCPeer, JSONRPCServer } from "./support/portway.js";
import { recorder } from "./support/transports.js";
import { printed } from "./support/console.js";
import { rejection } from "./support/outcomes.js";

/**
 * Returns a transport without a peer. `lose(error, reopens, listens)` reports the loss of the peer. `reopens` is true
 * if the peer may return. `listens` is true if the peer still receives responses. `isWaiting()` returns whether calls
 * are pending.
 */
function closableTransport() {
  return {
    ...recorder(),
    onClose(lose, isWaiting) {
      Object.assign(this, { lose, isWaiting });
    },
  };
}

describe("a transport that reports the loss of the peer", () => {
  it("ends all pending calls with the error of the transport, and each error has the method and the id of its call", async () => {
    const transport = closableTransport();
    const client = new JSONRPCClient(transport, { timeout: 0 });
    const calls = [client.request("a"), client.request("b")];
    transport.lose(new CallError("session-ended", "it reloads"), true);
    const errors = await Promise.all(calls.map(rejection));
    assert.deepEqual(
      errors.map(({ reason, message, method, id }) => [reason, message, method, id]),
      [
        ["session-ended", "it reloads", "a", 1],
        ["session-ended", "it reloads", "b", 2],
      ],
    );
    assert.equal(client.pending, 0);
  });

  it("ends the calls with a CallError if the reported error is not a CallError; the cause is the reported error", async () => {
    const transport = closableTransport();
    const call = new JSONRPCClient(transport).request("a");
    const cause = new Error("the socket is closed");
    transport.lose(cause);
    const error = await rejection(call);
    assert.deepEqual([error.reason, error.cause], ["peer-gone", cause]);
  });

  it("makes later calls fail at once, and reports later notifications to onError, until a message arrives", async () => {
    const transport = closableTransport();
    const reported = [];
    const client = new JSONRPCClient(transport, { onError: (error) => reported.push(error.reason) });
    transport.lose();
    assert.equal((await rejection(client.request("a"))).reason, "peer-gone");
    assert.equal((await rejection(client.batch([{ method: "b" }]))).reason, "peer-gone");
    client.notify("c");
    assert.deepEqual([transport.sent, reported], [[], ["peer-gone"]]);
    transport.deliver({ jsonrpc: "2.0", method: "hello again" });
    const call = client.request("d");
    transport.deliver({ jsonrpc: "2.0", result: 4, id: transport.sent[0].id });
    assert.equal(await call, 4);
  });

  it("can report that the peer may return: later calls are sent, and late responses to earlier calls are ignored", async () => {
    const transport = closableTransport();
    const client = new JSONRPCClient(transport);
    const before = client.request("a");
    transport.lose(new CallError("session-ended", "it reloads"), true);
    await rejection(before);
    const after = client.request("b");
    assert.deepEqual(
      transport.sent.map(({ id }) => id),
      [1, 2],
    );
    transport.deliver({ jsonrpc: "2.0", result: "late", id: 1 });
    transport.deliver({ jsonrpc: "2.0", result: "right", id: 2 });
    assert.equal(await after, "right");
  });

  it("aborts the running handlers, drops their responses, and accepts further requests", async () => {
    const transport = closableTransport();
    const signals = [];
    const resolvers = [];
    const errors = [];
    const onError = ({ reason, method, id }) => errors.push([reason, method, id]);
    const server = new JSONRPCServer(transport, { limits: { inFlight: 1 }, onError });
    server.method("work", (_, { signal }) => (signals.push(signal), new Promise((resolve) => resolvers.push(resolve))));
    transport.deliver({ jsonrpc: "2.0", method: "work", id: 1 });
    const loss = new CallError("session-ended", "it reloads");
    transport.lose(loss, true);
    assert.deepEqual([signals[0].aborted, signals[0].reason], [true, loss]);
    transport.deliver({ jsonrpc: "2.0", method: "work", id: 1 });
    resolvers[0]("late");
    await Promise.resolve();
    assert.deepEqual([transport.sent, errors], [[], []]);
    resolvers[1]("right");
    await Promise.resolve();
    assert.deepEqual(transport.sent, [{ jsonrpc: "2.0", result: "right", id: 1 }]);
  });

  it("makes the server drop its responses to an incomplete batch", async () => {
    const transport = closableTransport();
    new JSONRPCServer(transport).method("now", () => 1).method("never", () => new Promise(() => {}));
    transport.deliver([
      { jsonrpc: "2.0", method: "now", id: 1 },
      { jsonrpc: "2.0", method: "never", id: 2 },
    ]);
    transport.lose(undefined, true);
    transport.deliver({ jsonrpc: "2.0", method: "now", id: 3 });
    assert.deepEqual(transport.sent, [{ jsonrpc: "2.0", result: 1, id: 3 }]);
  });

  it("does not abort the handlers if it reports that the peer still receives responses", async () => {
    const transport = closableTransport();
    const peer = new JSONRPCPeer(transport);
    let resolveWork;
    let signal;
    peer.method("work", (_, context) => ((signal = context.signal), new Promise((resolve) => (resolveWork = resolve))));
    transport.deliver({ jsonrpc: "2.0", method: "work", id: 1 });
    const call = rejection(peer.request("a"));
    transport.lose(new Error("the peer sends no more requests"), false, true);
    assert.equal((await call).reason, "peer-gone");
    assert.equal((await rejection(peer.request("b"))).reason, "peer-gone");
    assert.isFalse(signal.aborted);
    resolveWork("done");
    await Promise.resolve();
    assert.deepEqual(transport.sent.slice(1), [{ jsonrpc: "2.0", result: "done", id: 1 }]);
  });

  it("can ask whether a server exists, because only a server responds to unreadable messages", () => {
    let isServing;
    const transport = { ...recorder(), onMessage: (_, ask) => (isServing = ask) };
    const client = new JSONRPCClient(transport);
    assert.isFalse(isServing());
    const server = new JSONRPCServer(transport);
    assert.isTrue(isServing());
    server.destroy();
    assert.isFalse(isServing());
    client.destroy();
  });

  it("can ask whether calls are pending", async () => {
    const transport = closableTransport();
    const client = new JSONRPCClient(transport);
    assert.isFalse(transport.isWaiting());
    client.request("a").catch(() => {});
    assert.isTrue(transport.isWaiting());
    client.destroy();
    assert.isFalse(transport.isWaiting());
  });

  it("has no effect on a client that is already destroyed", async () => {
    const transport = closableTransport();
    const client = new JSONRPCClient(transport);
    client.destroy();
    transport.lose(new Error("too late"));
    assert.equal((await rejection(client.request("a"))).reason, "destroyed");
  });
});

describe("notifications whose names begin with rpc.", () => {
  it("are passed to the transport, and not to handlers", async () => {
    const received = [];
    const transport = { ...recorder(), onControl: (method, params) => received.push([method, params]) };
    const peer = new JSONRPCPeer(transport);
    peer.onNotify("other", () => received.push("other"));
    transport.deliver({ jsonrpc: "2.0", method: "rpc.ping", params: { n: 1 } });
    transport.deliver({ jsonrpc: "2.0", method: "other" });
    assert.deepEqual(received, [["rpc.ping", { n: 1 }], "other"]);
    peer.destroy();
  });

  it("are ignored if the transport has no onControl", async () => {
    const transport = recorder();
    new JSONRPCPeer(transport);
    assert.deepEqual(await printed(async () => transport.deliver({ jsonrpc: "2.0", method: "rpc.bye" })), []);
    assert.deepEqual(transport.sent, []);
  });
});
