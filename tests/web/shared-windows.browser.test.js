// Several clients and servers on one window. Each has its own transport.

import { assert } from "chai";
import { afterThisTest } from "./support/cleanup.js";
import { connected, recordSessions } from "./support/connections.js";
import { openIframe, frameIndex, origins, scriptedIframe, untilReady } from "./support/iframes.js";
import { pause, rejection, until } from "./support/outcomes.js";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, connect, init, windowTransport } from "./support/portway.js";
import { describeSharedBoundary } from "./support/shared-boundary.js";

for (const [kind, origin] of [
  ["of the page's origin", origins.own],
  ["of another origin", origins.other],
]) {
  describe(`clients and servers on the window of an iframe ${kind}`, () => {
    describeSharedBoundary(async () => {
      const element = await openIframe("frame.html", { origin, query: { origin: origins.own } });
      const target = element.contentWindow;
      const caller = new JSONRPCClient(windowTransport(target, { origin }));
      return {
        transport: () => windowTransport(target, { origin }),
        ask: (method) => caller.request("ask", [method]),
        notify: (method, params) => caller.notify("notifyBack", params),
        close() {
          caller.destroy();
          element.remove();
        },
      };
    });
  });
}

describe("transports with different origins on one window", () => {
  it("receive their own responses, and each method of their servers can be called", async () => {
    const origin = origins.other;
    const element = await openIframe("frame.html", { origin, query: { origin: origins.own } });
    const originOptions = [origin, [origin, origins.own], "*"];
    const peers = originOptions.map((origin, n) => {
      return new JSONRPCPeer(windowTransport(element.contentWindow, { origin })).method(`own ${n}`, () => n);
    });
    const answers = peers.map((peer, n) => peer.request("later", [30 - 10 * n, n]));
    assert.deepEqual(await Promise.all(answers), [0, 1, 2]);
    const ownResults = peers.map((peer, n) => peer.request("ask", [`own ${(n + 1) % 3}`]));
    assert.deepEqual(await Promise.all(ownResults), [1, 2, 0]);
    assert.equal((await rejection(peers[0].request("ask", ["none of them"]))).code, -32601);
    peers.forEach((peer) => peer.destroy());
  });

  it("respond that a method is unknown if its server does not allow the origin of the request", async () => {
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

describe("after an iframe was appended again,", () => {
  const origin = origins.other;

  async function appendAgain(element) {
    const ready = untilReady(element);
    element.remove();
    document.body.append(element);
    await ready;
    return element.contentWindow;
  }

  it("its session and a transport on its new window receive their own responses", async () => {
    const element = await openIframe("frame.html", { origin, query: { origin: origins.own } });
    const session = await connected(element, { origin });
    for (let n = 0; n < 3; n++) assert.equal(await session.request("later", [0, n]), n);
    const client = new JSONRPCClient(windowTransport(await appendAgain(element), { origin }));
    afterThisTest(() => client.destroy());
    const calls = [];
    for (let n = 0; n < 8; n++) {
      calls.push(client.request("later", [40 - n, `client ${n}`]), session.request("later", [20 + n, `session ${n}`]));
    }
    for (const [n, { value, reason }] of (await Promise.allSettled(calls)).entries()) {
      // The session ends when the library notices that the iframe has another window.
      if (n % 2 === 1 && reason !== undefined) assert.equal(reason.reason, "session-ended");
      else assert.equal(value, `${n % 2 === 0 ? "client" : "session"} ${n >> 1}`);
    }
  });

  it("its session begins again over the new window, although the plain peer in the iframe sends no hello", async () => {
    const element = await openIframe("frame.html", { origin, query: { origin: origins.own } });
    const { events, ...options } = recordSessions({ origin, heartbeat: 100 });
    const session = await connected(element, options);
    await appendAgain(element);
    await until(() => events.includes("session-ended"), "the end of the session was not noticed");
    assert.equal(await session.request("later", [0, "again"], { timeout: 5_000 }), "again");
    assert.deepEqual(events, [1, "session-ended", 2]);
  });

  it("its session and a server on its new window send one response to a request, from the one that has the method", async () => {
    const child = await scriptedIframe({ origin });
    const sessions = [];
    /** Refuses each hello like a peer that does not support sessions. Returns whether the session has begun. */
    const refuseHellos = () => {
      for (const { id, method } of child.received.splice(0)) {
        if (method === "rpc.hello") child.post({ jsonrpc: "2.0", id, error: { code: -32601, message: "none" } });
      }
      return sessions.length > 0;
    };
    const connecting = connected(child.element, {
      origin,
      methods: { whose: () => "the session's" },
      onSession: () => void sessions.push(1),
    });
    await until(refuseHellos, "the session did not begin");
    await connecting;
    const server = new JSONRPCServer(windowTransport(await appendAgain(child.element), { origin })).method(
      "own",
      () => "the server's",
    );
    afterThisTest(() => server.destroy());
    for (const method of ["whose", "own", "none"]) child.post({ jsonrpc: "2.0", id: method, method });
    await until(() => child.received.some(({ id }) => id === "none"), "the last request has no response");
    await child.settled();
    const answers = child.received.filter(({ id }) => ["whose", "own", "none"].includes(id));
    const [whose, own, none] = answers.map(({ id, result, error }) => [id, result ?? error.code]);
    assert.lengthOf(answers, 3);
    // The response is an error if the library has already noticed that the iframe has another window.
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

describe("transports on windows while `connect` waits for an iframe", () => {
  /** Calls `connect` for an iframe, and aborts this call after the test. */
  async function startConnecting(element) {
    const controller = new AbortController();
    connect(element, { connectTimeout: 0, signal: controller.signal }).catch(() => {});
    afterThisTest(() => controller.abort());
    // `connect` adds its listener only after the wasm has loaded.
    await init();
    await pause(20);
  }

  it("receive messages only in the window that their option `source` names", async () => {
    const child = await scriptedIframe();
    await startConnecting(child.element);
    const otherIframe = document.createElement("iframe");
    document.body.append(otherIframe);
    afterThisTest(() => otherIframe.remove());
    const received = { here: [], there: [] };
    for (const [name, source] of [
      ["here", window],
      ["there", otherIframe.contentWindow],
    ]) {
      const server = new JSONRPCServer(windowTransport(child.window, { source }));
      server.method(name, () => void received[name].push(name));
      afterThisTest(() => server.destroy());
    }
    for (const method of ["here", "there"]) {
      child.post({ jsonrpc: "2.0", method });
      child.post({ jsonrpc: "2.0", method }, frameIndex(otherIframe.contentWindow));
    }
    await until(() => received.here.length > 0 && received.there.length > 0, "a message did not arrive");
    await child.settled();
    assert.deepEqual(received, { here: ["here"], there: ["there"] });
  });

  it("belong to the window for which they were created, even if the iframe has a new window", async () => {
    const element = await openIframe("frame.html");
    await startConnecting(element);
    const oldClient = new JSONRPCClient(windowTransport(element.contentWindow), { timeout: 1_000 });
    afterThisTest(() => oldClient.destroy());
    const ready = untilReady(element);
    document.body.append(element);
    await ready;
    const newClient = new JSONRPCClient(windowTransport(element.contentWindow), { timeout: 2_000 });
    afterThisTest(() => newClient.destroy());
    assert.deepEqual(await newClient.request("echo", [5]), [5]);
    assert.equal((await rejection(oldClient.request("echo", [5]))).reason, "peer-gone");
  });
});
