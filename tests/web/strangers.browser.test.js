// Windows of other origins, and other windows of the same origin, cannot affect a page that listens for messages. The
// library does not read the data of their messages. Only `connect` reads a few messages of the peer's window, even if
// their origin differs. In a session, only messages of the origin of the session arrive.

import { assert } from "chai";
import { JSONRPCPeer, windowTransport } from "./support/portway.js";
import { iframeUrl, origins, scriptedIframe, untilReady, recordDataReads } from "./support/iframes.js";
import { ScriptedSession, connected, recordSessions, hexId } from "./support/connections.js";
import { afterThisTest } from "./support/cleanup.js";
import { pause, rejection, until } from "./support/outcomes.js";

const request = (method, id = 1) => ({ jsonrpc: "2.0", id, method });
const notification = (method) => ({ jsonrpc: "2.0", method });

/**
 * Returns an array with one entry, `true`, for each event from the window of an iframe. The test cannot compare the
 * events themselves, because chai would read the members of a window of another origin.
 */
const eventsOf = ({ window }, events) =>
  events.map(({ source }) => source === window).filter((isFromWindow) => isFromWindow);

describe("the data of a message", () => {
  for (const link of ["windowTransport", "connect"]) {
    it(`of another window is not read: ${link}`, async () => {
      const otherIframe = await scriptedIframe({ origin: origins.other });
      const peerIframe = await scriptedIframe();
      const calls = [];
      const methods = { call: () => void calls.push(1) };
      if (link === "connect") {
        const connecting = connected(peerIframe.element, { methods });
        await until(() => peerIframe.received.some(({ method }) => method === "rpc.hello"), "no hello arrived");
        const { id } = peerIframe.received.find(({ method }) => method === "rpc.hello");
        peerIframe.post({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } });
        await connecting;
      } else {
        const peer = new JSONRPCPeer(windowTransport(peerIframe.window)).method("call", methods.call);
        afterThisTest(() => peer.destroy());
      }
      const reads = recordDataReads(window);
      for (const message of [request("call"), notification("call"), [request("call")], "text"])
        otherIframe.post(message);
      await otherIframe.settled();
      peerIframe.post(request("call", 2));
      await until(() => calls.length > 0, "the message of the peer did not arrive");
      await otherIframe.settled();
      assert.deepEqual(calls, [1]);
      assert.isNotEmpty(eventsOf(peerIframe, reads));
      assert.isEmpty(eventsOf(otherIframe, reads));
    });
  }

  it("from the peer's window, but from another origin, is not read by windowTransport", async () => {
    const otherIframe = await scriptedIframe({ origin: origins.other });
    const peer = new JSONRPCPeer(windowTransport(otherIframe.window));
    afterThisTest(() => peer.destroy());
    const reads = recordDataReads(window);
    otherIframe.post(request("call"));
    await otherIframe.settled();
    assert.isEmpty(eventsOf(otherIframe, reads));
  });

  it("from the peer's window, but from another origin, is read by connect only in 32 of 100 messages", async () => {
    const otherIframe = await scriptedIframe({ origin: origins.other });
    const connecting = rejection(connected(otherIframe.element, { connectTimeout: 1_000 }));
    const reads = recordDataReads(window);
    for (let n = 0; n < 100; n++) otherIframe.post(request("call"));
    await otherIframe.settled();
    assert.equal(eventsOf(otherIframe, reads).length, 32);
    assert.equal((await connecting).reason, "no-answer");
  });

  it("of an event that a script has created is not read", async () => {
    const peerIframe = await scriptedIframe();
    const peer = new JSONRPCPeer(windowTransport(peerIframe.window));
    afterThisTest(() => peer.destroy());
    const connecting = rejection(connected(peerIframe.element, { connectTimeout: 100 }));
    const reads = recordDataReads(window);
    dispatchEvent(
      new MessageEvent("message", { data: request("call"), source: peerIframe.window, origin: origins.own }),
    );
    await connecting;
    assert.isTrue(reads.every(({ isTrusted }) => isTrusted));
  });
});

describe("a session with a peer that does not support sessions", () => {
  /**
   * Connects this page to an iframe of its own origin, up to the hello. The test then posts `refusal` from the iframe:
   * the response of a peer that does not support sessions.
   */
  async function connectUpToHello(options) {
    const peerIframe = await scriptedIframe();
    const sessions = [];
    const contexts = [];
    const recorded = recordSessions({
      origin: [origins.own, origins.other],
      methods: { call: (params, context) => (contexts.push(context), "called") },
      notifications: { note: (params, context) => void contexts.push(context) },
      ...options,
      onSession: ({ origin }) => sessions.push(origin),
    });
    const connecting = connected(peerIframe.element, recorded);
    await until(() => peerIframe.received.some(({ method }) => method === "rpc.hello"), "no hello arrived");
    const { id } = peerIframe.received.find(({ method }) => method === "rpc.hello");
    return {
      peerIframe,
      connecting,
      events: recorded.events,
      sessions,
      contexts,
      refusal: { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } },
    };
  }

  /** Loads a document of the other origin into the iframe. */
  async function navigate({ element }) {
    const ready = untilReady(element);
    element.src = iframeUrl({}, { file: "scripted-iframe.html", origin: origins.other });
    await ready;
  }

  it("receives only from its own origin, and a message of another allowed origin begins a new session", async () => {
    const errors = [];
    const { peerIframe, connecting, events, sessions, contexts, refusal } = await connectUpToHello({
      onError: (error) => errors.push(error),
    });
    peerIframe.post(refusal);
    await connecting;
    peerIframe.post(request("call", "first"));
    await until(() => peerIframe.received.some(({ id }) => id === "first"), "the first request has no response");
    assert.deepEqual([sessions, events], [[origins.own], []]);
    await navigate(peerIframe);
    peerIframe.post(notification("note"));
    peerIframe.post(request("call", "second"));
    await until(() => peerIframe.received.some(({ id }) => id === "second"), "the second request has no response");
    assert.deepEqual([sessions, events], [[origins.own, origins.other], ["session-ended"]]);
    assert.equal(contexts.length, 3);
    // A context of the first session cannot send messages to the document of the new session.
    contexts[0].notify("secret");
    contexts[1].notify("open");
    await until(
      () => peerIframe.received.some(({ method }) => method === "open"),
      "the notification of the new session did not arrive",
    );
    await peerIframe.settled();
    assert.isFalse(peerIframe.received.some(({ method }) => method === "secret"));
    assert.deepEqual(
      errors.map(({ reason, method }) => [reason, method]),
      [["session-ended", "call"]],
    );
  });

  it("contains no message that another origin sent before the session", async () => {
    const { peerIframe, connecting, sessions, contexts } = await connectUpToHello();
    peerIframe.post(notification("note"));
    await peerIframe.settled();
    await navigate(peerIframe);
    await until(
      () => peerIframe.received.filter(({ method }) => method === "rpc.hello").length > 1,
      "no hello arrived",
    );
    const { id } = peerIframe.received.findLast(({ method }) => method === "rpc.hello");
    peerIframe.post(request("call"));
    peerIframe.post({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } });
    await connecting;
    await until(
      () => peerIframe.received.some((message) => message.result === "called"),
      "the request has no response",
    );
    await pause(20);
    assert.deepEqual([sessions, contexts.length], [[origins.other], 1]);
  });

  it("ends at a message of another origin, and its peer can be destroyed in onLost", async () => {
    let peer;
    const { peerIframe, connecting, refusal, sessions, contexts } = await connectUpToHello({
      onLost: () => peer.destroy(),
    });
    peerIframe.post(refusal);
    peer = await connecting;
    await navigate(peerIframe);
    peerIframe.post(request("call"));
    await peerIframe.settled();
    await pause(20);
    assert.deepEqual([sessions, contexts.length], [[origins.own], 0]);
  });
});

describe("an iframe of another origin that does not respond", () => {
  it("makes a call end as unresponsive, even if the iframe announces a lock that this page holds", async () => {
    const other = await scriptedIframe({ origin: origins.other });
    const connecting = connected(other.element, { origin: origins.other, heartbeat: 300 });
    await until(() => other.received.some(({ method }) => method === "rpc.hello"), "no hello arrived");
    const { id } = other.received.find(({ method }) => method === "rpc.hello");
    const session = hexId("3");
    let release;
    // Outside of tests, this page would hold this lock for a session with another peer.
    await new Promise((acquired) => {
      navigator.locks.request(`portway:${session}`, () => (acquired(), new Promise((resolve) => (release = resolve))));
    });
    afterThisTest(() => release());
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => port1.close());
    // The iframe posts the response, so that the event has the origin of the iframe.
    other.element.contentWindow.postMessage(
      { type: "post", message: { jsonrpc: "2.0", id, result: { session, version: 1, features: [] } }, port: true },
      "*",
      [port2],
    );
    const end = new ScriptedSession(port1);
    const peer = await connecting;
    end.post({ jsonrpc: "2.0", method: "rpc.lock" });
    await pause(50);
    assert.equal((await rejection(peer.request("a", [], { timeout: 5_000 }))).reason, "unresponsive");
  });
});
