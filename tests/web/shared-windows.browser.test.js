// Several clients and servers with transports of their own on one window.

import { assert } from "chai";
import { afterThisTest } from "./support/cleanup.js";
import { connected } from "./support/connections.js";
import { openIframe, frameIndex, origins, scriptedIframe, untilReady } from "./support/iframes.js";
import { pause, rejection, until } from "./support/outcomes.js";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, connect, init, windowTransport } from "./support/portway.js";
import { describeSharedBoundary } from "./support/shared-boundary.js";

for (const [kind, origin] of [
  ["of the page's origin", origins.own],
  ["of another origin", origins.other],
]) {
  describe(`clients and servers on the window of a frame ${kind}`, () => {
    describeSharedBoundary(async () => {
      const element = await openIframe("frame.html", { origin, query: { origin: origins.own } });
      const target = element.contentWindow;
      const asker = new JSONRPCClient(windowTransport(target, { origin }));
      return {
        transport: () => windowTransport(target, { origin }),
        ask: (method) => asker.request("ask", [method]),
        notify: (method, params) => asker.notify("notifyBack", params),
        close() {
          asker.destroy();
          element.remove();
        },
      };
    });
  });
}

describe("transports on one window that allow other origins", () => {
  it("do not mix answers, and a method that one of them serves is known", async () => {
    const origin = origins.other;
    const element = await openIframe("frame.html", { origin, query: { origin: origins.own } });
    const ways = [origin, [origin, origins.own], "*"];
    const peers = ways.map((origin, n) => {
      return new JSONRPCPeer(windowTransport(element.contentWindow, { origin })).method(`own ${n}`, () => n);
    });
    const answers = peers.map((peer, n) => peer.request("later", [30 - 10 * n, n]));
    assert.deepEqual(await Promise.all(answers), [0, 1, 2]);
    const asked = peers.map((peer, n) => peer.request("ask", [`own ${(n + 1) % 3}`]));
    assert.deepEqual(await Promise.all(asked), [1, 2, 0]);
    assert.equal((await rejection(peers[0].request("ask", ["none of them"]))).code, -32601);
    peers.forEach((peer) => peer.destroy());
  });

  it("answer that a method is unknown to an origin that its server does not allow", async () => {
    const element = await openIframe("frame.html", { origin: origins.other, query: { origin: origins.own } });
    const target = element.contentWindow;
    const peer = new JSONRPCPeer(windowTransport(target, { origin: origins.other })).method("open", () => "open");
    const server = new JSONRPCServer(windowTransport(target, { origin: origins.otherPort })).method(
      "secret",
      () => "secret",
    );
    assert.equal(await peer.request("ask", ["open"]), "open");
    assert.equal((await rejection(peer.request("ask", ["secret"]))).code, -32601);
    peer.destroy();
    server.destroy();
  });
});

describe("a session on a frame that was put in again, and ends on the window that is in it now", () => {
  const origin = origins.other;

  async function putInAgain(element) {
    const ready = untilReady(element);
    element.remove();
    document.body.append(element);
    await ready;
    return element.contentWindow;
  }

  it("do not mix answers", async () => {
    const element = await openIframe("frame.html", { origin, query: { origin: origins.own } });
    const session = await connected(element, { origin });
    for (let n = 0; n < 3; n++) assert.equal(await session.request("later", [0, n]), n);
    const client = new JSONRPCClient(windowTransport(await putInAgain(element), { origin }));
    afterThisTest(() => client.destroy());
    const calls = [];
    for (let n = 0; n < 8; n++) {
      calls.push(client.request("later", [40 - n, `client ${n}`]), session.request("later", [20 + n, `session ${n}`]));
    }
    for (const [n, { value, reason }] of (await Promise.allSettled(calls)).entries()) {
      // A session ends once it notices that its window is another one.
      if (n % 2 === 1 && reason !== undefined) assert.equal(reason.reason, "session-ended");
      else assert.equal(value, `${n % 2 === 0 ? "client" : "session"} ${n >> 1}`);
    }
  });

  it("answer a request once: the one that has the method", async () => {
    const mine = await scriptedIframe({ origin });
    const sessions = [];
    /** The scriptedIframe, as a peer that knows no sessions. */
    const begun = () => {
      for (const { id, method } of mine.received.splice(0)) {
        if (method === "rpc.hello") mine.post({ jsonrpc: "2.0", id, error: { code: -32601, message: "none" } });
      }
      return sessions.length > 0;
    };
    const connecting = connected(mine.element, {
      origin,
      methods: { whose: () => "the session's" },
      onSession: () => void sessions.push(1),
    });
    await until(begun, "no session");
    await connecting;
    const server = new JSONRPCServer(windowTransport(await putInAgain(mine.element), { origin })).method(
      "own",
      () => "the server's",
    );
    afterThisTest(() => server.destroy());
    for (const method of ["whose", "own", "none"]) mine.post({ jsonrpc: "2.0", id: method, method });
    await until(() => mine.received.some(({ id }) => id === "none"), "no answer");
    await mine.settled();
    const answers = mine.received.filter(({ id }) => ["whose", "own", "none"].includes(id));
    const [whose, own, none] = answers.map(({ id, result, error }) => [id, result ?? error.code]);
    assert.lengthOf(answers, 3);
    // Or the session has noticed meanwhile that its window is another one.
    assert.include(["the session's", -32601], whose[1]);
    assert.deepEqual(
      [own, none],
      [
        ["own", "the server's"],
        ["none", -32601],
      ],
    );
  });
});

describe("transports on windows while a frame is connected", () => {
  /** Has `connect` listen for a frame, until the end of the test. */
  async function connecting(element) {
    const end = new AbortController();
    connect(element, { connectTimeout: 0, signal: end.signal }).catch(() => {});
    afterThisTest(() => end.abort());
    // The wasm may still be loading.
    await init();
    await pause(20);
  }

  it("receive from the window that they listen on, and from no other", async () => {
    const mine = await scriptedIframe();
    await connecting(mine.element);
    const other = document.createElement("iframe");
    document.body.append(other);
    afterThisTest(() => other.remove());
    const received = { here: [], there: [] };
    for (const [place, source] of [
      ["here", window],
      ["there", other.contentWindow],
    ]) {
      const server = new JSONRPCServer(windowTransport(mine.window, { source }));
      server.method(place, () => void received[place].push(place));
      afterThisTest(() => server.destroy());
    }
    for (const method of ["here", "there"]) {
      mine.post({ jsonrpc: "2.0", method });
      mine.post({ jsonrpc: "2.0", method }, frameIndex(other.contentWindow));
    }
    await until(() => received.here.length > 0 && received.there.length > 0, "nothing came");
    await mine.settled();
    assert.deepEqual(received, { here: ["here"], there: ["there"] });
  });

  it("are of the window that they were made for, though the frame had another before", async () => {
    const element = await openIframe("frame.html");
    await connecting(element);
    const before = new JSONRPCClient(windowTransport(element.contentWindow), { timeout: 1_000 });
    afterThisTest(() => before.destroy());
    const ready = untilReady(element);
    document.body.append(element);
    await ready;
    const now = new JSONRPCClient(windowTransport(element.contentWindow), { timeout: 2_000 });
    afterThisTest(() => now.destroy());
    assert.deepEqual(await now.request("echo", [5]), [5]);
    assert.equal((await rejection(before.request("echo", [5]))).reason, "peer-gone");
  });
});
