// Subscriptions over a WebSocket, and the start of each connection: its first messages, URL and subprotocols.

import { assert } from "chai";
import { CallError, RPCError } from "./support/portway.js";
import { connectTo, requestsIn, startServer, subscribe } from "./support/sockets.js";
import { pause, rejection, until } from "./support/outcomes.js";

const methodNames = { method: "subscribe", unsubscribe: "unsubscribe", notification: "subscription" };

/** Starts a server, connects a peer to the server, and subscribes. `items` is the subscription. */
async function subscribed(options) {
  const server = await startServer();
  const connection = connectTo(server.url);
  const gaps = [];
  const items = subscribe(connection.peer, {
    transport: connection.transport,
    ...methodNames,
    params: [],
    onGap: (gap) => gaps.push(gap),
    ...options,
  });
  /** Waits until the server has received this number of requests to subscribe. Returns the log of the server. */
  const untilSubscribed = (count = 1) =>
    server.logOnce((log) => requestsIn(log, options?.method ?? "subscribe").length === count);
  return { server, items, gaps, untilSubscribed, ...connection };
}

/** Returns the next `count` items. */
async function take(items, count) {
  const values = [];
  for (let n = 0; n < count; n++) values.push((await items.next()).value);
  return values;
}

describe("a subscription", () => {
  it("returns the items of its notifications in order, and unsubscribes when a loop over the subscription ends", async () => {
    const { server, items, untilSubscribed } = await subscribed({ params: [1, 2] });
    assert.deepEqual(await take(items, 2), [1, 2]);
    const third = items.next();
    await server.command("event", { item: 3 });
    assert.deepEqual(await third, { done: false, value: 3 });
    await untilSubscribed();
    for await (const item of (await server.command("event", { item: 4 }), items)) {
      assert.equal(item, 4);
      break;
    }
    const [text] = requestsIn(
      await server.logOnce((log) => requestsIn(log, "unsubscribe").length === 1),
      "unsubscribe",
    );
    assert.deepEqual(JSON.parse(text).params, ["0x1"]);
    assert.deepEqual(await items.next(), { done: true, value: undefined });
  });

  it("returns items that arrive before the response that contains its id, and ignores items of other subscriptions", async () => {
    const { server, items } = await subscribed({ method: "subscribe_eagerly", params: ["a", "b"] });
    assert.deepEqual(await take(items, 2), ["a", "b"]);
    await server.command("event", { item: "foreign", subscription: "0x99" });
    await server.command("event", { item: "own" });
    assert.deepEqual(await take(items, 1), ["own"]);
  });

  it("subscribes again after a reconnect, uses the new id, and reports the gap", async () => {
    const { server, items, gaps, session } = await subscribed({ params: [1] });
    assert.deepEqual(await take(items, 1), [1]);
    const before = Date.now();
    await server.command("terminate");
    await session(2);
    assert.deepEqual(await take(items, 1), [1]);
    assert.equal(gaps.length, 1);
    assert.equal(gaps[0].dropped, 0);
    assert.isAtMost(gaps[0].since, before);
    await server.command("event", { item: "old id", subscription: "0x1" });
    await server.command("event", { item: "new id", subscription: "0x2" });
    assert.deepEqual(await take(items, 1), ["new id"]);
    await items.return();
    const texts = requestsIn(await server.logOnce((log) => requestsIn(log, "unsubscribe").length === 1), "unsubscribe");
    assert.deepEqual(JSON.parse(texts[0]).params, ["0x2"]);
  });

  it("calls `params` again for each request to subscribe if `params` is a function", async () => {
    let callCount = 0;
    const { server, items, session } = await subscribed({ params: async () => [++callCount] });
    assert.deepEqual(await take(items, 1), [1]);
    await server.command("close", { code: 1001, reason: "" });
    await session(2);
    assert.deepEqual(await take(items, 1), [2]);
  });

  it("continues if the connection is lost before the request to subscribe gets a response", async () => {
    const { server, items, session, untilSubscribed } = await subscribed({ params: ["x"] });
    await server.set({ isMute: true });
    await session();
    await untilSubscribed();
    await server.set({ isMute: false });
    await server.command("terminate");
    assert.deepEqual(await take(items, 1), ["x"]);
  });

  it("drops its oldest items, and reports the number of dropped items, if its buffer is full", async () => {
    const { server, items, gaps, untilSubscribed, peer } = await subscribed({ buffer: 3 });
    await untilSubscribed();
    for (let item = 0; item < 5; item++) await server.command("event", { item });
    await peer.request("echo", []);
    assert.deepEqual(
      gaps.map(({ dropped }) => dropped),
      [1, 1],
    );
    assert.deepEqual(await take(items, 3), [2, 3, 4]);
  });

  it("buffers 1 000 unread items by default", async () => {
    const { server, items, gaps, untilSubscribed, peer } = await subscribed({
      params: Array.from({ length: 1_000 }, (_, n) => n),
    });
    await untilSubscribed();
    await peer.request("echo", []);
    assert.equal(gaps.length, 0);
    await server.command("event", { item: 1_000 });
    await peer.request("echo", []);
    assert.equal(gaps.length, 1);
    assert.deepEqual(await take(items, 2), [1, 2]);
  });

  it("limits the items that it buffers before its id arrives, and reports a gap if it has dropped some", async () => {
    const eager = { method: "subscribe_eagerly", params: ["a", "b", "c"], buffer: 1 };
    const { items, gaps, untilSubscribed, peer } = await subscribed(eager);
    await untilSubscribed();
    await peer.request("echo", []);
    assert.deepEqual(
      gaps.map(({ dropped }) => dropped),
      [1],
    );
    assert.deepEqual(await take(items, 1), ["c"]);
  });

  it("rejects and then ends, even over an open connection, if `params` throws", async () => {
    const server = await startServer();
    const { peer, transport, session } = connectTo(server.url);
    await session();
    let callCount = 0;
    const params = () => {
      callCount++;
      throw new Error("no params");
    };
    const items = subscribe(peer, { transport, ...methodNames, params });
    assert.equal((await rejection(items.next())).message, "no params");
    assert.deepEqual(await items.next(), { done: true, value: undefined });
    await server.command("terminate");
    await session(2);
    assert.equal(callCount, 1);
  });

  it("makes next() reject with the error of the peer, and then ends, if the peer refuses the request", async () => {
    const { items } = await subscribed({ method: "none" });
    assert.instanceOf(await rejection(items.next()), RPCError);
    assert.deepEqual(await items.next(), { done: true, value: undefined });
  });

  it("rejects if its signal is aborted, the client is destroyed, or the transport closes permanently", async () => {
    const controller = new AbortController();
    const { items, untilSubscribed, server } = await subscribed({ signal: controller.signal });
    await untilSubscribed();
    const next = rejection(items.next());
    controller.abort();
    assert.equal((await next).name, "AbortError");
    await server.logOnce((log) => requestsIn(log, "unsubscribe").length === 1);
    assert.equal(await rejection((await subscribed({ signal: AbortSignal.abort("no") })).items.next()), "no");
    const { items: others, peer } = await subscribed();
    const end = rejection(others.next());
    peer.destroy();
    assert.instanceOf(await end, CallError);
    const closed = await subscribed();
    await closed.untilSubscribed();
    const last = rejection(closed.items.next());
    await closed.server.command("close", { code: 1008, reason: "" });
    assert.equal((await last).reason, "peer-gone");
    // A later subscription on a transport that has ended also rejects.
    const { peer: latePeer, transport } = connectTo(closed.server.url);
    transport.close();
    assert.equal((await rejection(subscribe(latePeer, { ...methodNames, transport }).next())).reason, "peer-gone");
  });

  it("unsubscribes after the response to its request, even if it has already ended", async () => {
    // The server does not answer this method, so the test sends the response.
    const { items, server, untilSubscribed, peer } = await subscribed({ method: "never" });
    const [request] = requestsIn(await untilSubscribed(), "never");
    const next = items.next();
    await items.return();
    assert.deepEqual(await next, { done: true, value: undefined });
    await peer.request("echo", []);
    assert.lengthOf(requestsIn(await server.log(), "unsubscribe"), 0);
    const { id } = JSON.parse(request);
    await server.command("send", { text: JSON.stringify({ jsonrpc: "2.0", result: "0x7", id }) });
    const log = await server.logOnce((log) => requestsIn(log, "unsubscribe").length === 1);
    assert.deepEqual(JSON.parse(requestsIn(log, "unsubscribe")[0]).params, ["0x7"]);
  });

  it("sends no request if it ends before the connection opens", async () => {
    const { items, server, peer } = await subscribed();
    await items.return();
    await peer.request("echo", []);
    assert.lengthOf(requestsIn(await server.log(), "echo"), 1);
    assert.lengthOf(requestsIn(await server.log(), "subscribe"), 0);
  });

  it("uses readId, readEventId and readItem of the application for notifications of another form", async () => {
    const { server, items, untilSubscribed } = await subscribed({
      notification: "tick",
      readId: () => undefined,
      readEventId: () => undefined,
      readItem: ([item]) => item,
    });
    await untilSubscribed();
    await server.command("send", { text: '{"jsonrpc":"2.0","method":"tick","params":["tock"]}' });
    assert.deepEqual(await take(items, 1), ["tock"]);
  });

  it("throws if its transport is missing or its buffer is 0", async () => {
    const { peer, transport } = connectTo("ws://127.0.0.1:9/");
    assert.throws(() => subscribe(peer, { ...methodNames }), TypeError, "transport must be made by webSocketTransport");
    assert.throws(() => subscribe(peer, { ...methodNames, transport, buffer: 0 }), RangeError, "buffer must be");
  });
});

describe("a connection of a WebSocket transport", () => {
  it("begins with the messages that the function `first` returns, and calls this function for each attempt", async () => {
    const server = await startServer();
    let ticket = 0;
    const first = async () => [{ jsonrpc: "2.0", method: "login", params: { ticket: ++ticket } }, '{"raw":true}'];
    const { peer, session, named, transport } = connectTo(server.url, {
      first,
      onSession: ({ number }) => peer.notify("hello", [number]),
    });
    const early = peer.request("echo", ["early"]);
    await early;
    await server.command("terminate");
    // If the client had not noticed the end yet, it would send the request over the lost connection.
    await until(() => named("onLost").length === 1);
    const late = peer.request("echo", ["late"]);
    await session(2);
    await late;
    const log = await server.log();
    assert.deepEqual(
      log.map(({ received }) =>
        received.map((text) => JSON.parse(text)).map(({ method, raw, params }) => raw ?? [method, params]),
      ),
      [
        [["login", { ticket: 1 }], true, ["hello", [1]], ["echo", ["early"]]],
        [["login", { ticket: 2 }], true, ["hello", [2]], ["echo", ["late"]]],
      ],
    );
    assert.equal(transport.state, "open");
  });

  it("uses the URL and the subprotocols that functions return, and calls these functions for each attempt", async () => {
    const server = await startServer();
    let attempt = 0;
    const { session, named } = connectTo(async () => `${server.url}?attempt=${++attempt}`, {
      protocols: () => ["jsonrpc-2.0", `ticket.${attempt}`],
    });
    await session();
    await server.command("terminate");
    await session(2);
    assert.deepEqual(
      (await server.log()).map(({ url, protocols }) => [url, protocols.replace(" ", "")]),
      [
        ["/path?attempt=1", "jsonrpc-2.0,ticket.1"],
        ["/path?attempt=2", "jsonrpc-2.0,ticket.2"],
      ],
    );
    assert.deepEqual(
      named("onSession").map(({ number, url, protocol }) => [number, url, protocol]),
      [1, 2].map((number) => [number, `${server.url}?attempt=${number}`, "jsonrpc-2.0"]),
    );
  });

  it("offers no subprotocol by default", async () => {
    const server = await startServer();
    const { session } = connectTo(server.url);
    await session();
    assert.isNull((await server.log())[0].protocols);
  });

  it("is attempted again after a delay if `first` throws", async () => {
    const server = await startServer();
    let attempt = 0;
    const first = () => {
      if (++attempt < 3) throw new Error("no ticket");
      return [];
    };
    const { peer, named } = connectTo(server.url, { first });
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    assert.deepEqual(
      named("onRetry").map(({ cause, attempt }) => [cause.message, attempt]),
      [
        ["no ticket", 1],
        ["no ticket", 2],
      ],
    );
    assert.equal((await server.log()).length, 1);
  });

  it("is not opened if the client is destroyed while the promise of `first` is pending", async () => {
    const server = await startServer();
    let deliver;
    const { peer, transport } = connectTo(server.url, { first: () => new Promise((resolve) => (deliver = resolve)) });
    await until(() => deliver !== undefined);
    peer.destroy();
    deliver([]);
    await pause(100);
    assert.equal((await server.log()).length, 0);
    assert.equal(transport.state, "closed");
  });
});
