// Sessions with real iframes that reload, navigate, are removed and return.

import { assert } from "chai";
import { connect } from "./support/portway.js";
import { connectingIframe, iframeUrl, origins, scriptedIframe } from "./support/iframes.js";
import { connected, recordSessions, hexId, countTimers } from "./support/connections.js";
import { afterThisTest } from "./support/cleanup.js";
import { isPending, pause, rejection, until } from "./support/outcomes.js";

/** Returns the reason of the rejection, and the milliseconds until the rejection. */
async function timedRejection(promise) {
  const start = performance.now();
  const error = await rejection(promise);
  return [error.reason, performance.now() - start];
}

for (const [kind, query, iframeOptions, options] of [
  ["of the page's origin", {}, {}, undefined],
  ["of another origin", { origin: origins.own }, { origin: origins.other }, { origin: origins.other }],
  ["without an origin", { origin: origins.own }, { sandbox: "allow-scripts" }, { origin: "null" }],
]) {
  describe(`a reloading iframe ${kind}`, () => {
    it("makes the pending calls end, and responds after the reload to calls that were made during the reload", async () => {
      const sessions = recordSessions({ ...options, methods: { name: ([n]) => `page ${n}` } });
      const peer = await connected(connectingIframe(query, iframeOptions), sessions);
      const hanging = timedRejection(peer.request("hang", [], { timeout: 0 }));
      peer.notify("reload");
      const [reason, ms] = await hanging;
      assert.equal(reason, "session-ended");
      assert.isBelow(ms, 3_000);
      const calls = [1, 2, 3].map((n) => peer.request("echo", [n]));
      for (const n of [1, 2, 3]) peer.notify("keep", n === 2 ? { n } : [n]);
      assert.deepEqual(await Promise.all(calls), [[1], [2], [3]]);
      assert.deepEqual(await peer.request("kept"), [[1], { n: 2 }, [3]]);
      assert.deepEqual(await peer.request("callBack", [1]), ["back", "page 1"]);
      assert.deepEqual(sessions.events, [1, "session-ended", 2]);
    });

    it("begins a new session after each of several reloads", async () => {
      const sessions = recordSessions(options);
      const peer = await connected(connectingIframe(query, iframeOptions), sessions);
      for (let n = 2; n <= 4; n++) {
        peer.notify("reload");
        await until(() => sessions.events.includes(n));
        assert.deepEqual(await peer.request("echo", [n]), [n]);
      }
      assert.deepEqual(sessions.events, [1, "session-ended", 2, "session-ended", 3, "session-ended", 4]);
    });
  });
}

for (const [kind, query, iframeOptions, options] of [
  ["of the page's origin", {}, {}, undefined],
  ["of another origin", { origin: origins.own }, { origin: origins.other }, { origin: origins.other }],
]) {
  describe(`the last messages before destroy(), to an iframe ${kind},`, () => {
    it("arrive before the goodbye and before the next hello if the page calls destroy()", async () => {
      const element = connectingIframe(query, iframeOptions);
      let count = 0;
      for (let round = 0; round < 5; round++) {
        const peer = await connected(element, options);
        for (let n = 0; n < 20; n++, count++) peer.notify("keep", [n]);
        peer.destroy();
      }
      const peer = await connected(element, options);
      assert.equal((await peer.request("kept")).length, count);
    });

    it("get their responses if the iframe calls destroy()", async () => {
      for (let round = 0; round < 5; round++) {
        const peer = await connected(connectingIframe(query, iframeOptions), options);
        const call = peer.request("echo", [round]);
        peer.notify("destroy");
        assert.deepEqual(await call, [round]);
      }
    });
  });
}

/**
 * Opens a session with an iframe whose messages the test sends. Returns the iframe, the peer, and the iframe's port.
 * `key` is the key that goodbyes over the window must have. Without `key`, the iframe sends no `rpc.key`.
 */
async function openScripted(options, key) {
  const iframe = await scriptedIframe();
  const connecting = connected(iframe.element, options);
  const isHello = ({ method }) => method === "rpc.hello";
  await until(() => iframe.received.some(isHello));
  const { id } = iframe.received.find(isHello);
  const { port1, port2 } = new MessageChannel();
  afterThisTest(() => port1.close());
  iframe.post(
    { jsonrpc: "2.0", id, result: { session: hexId("f"), version: 1, features: [], port: port2 } },
    undefined,
    [port2],
  );
  const peer = await connecting;
  if (key !== undefined) port1.postMessage({ jsonrpc: "2.0", method: "rpc.key", params: { key } });
  // This message shows that the key has arrived, because a port keeps the order of messages.
  port1.postMessage({ jsonrpc: "2.0", method: "first" });
  return { iframe, peer, port: port1 };
}

describe("a session with a window", () => {
  it("uses a port and no lane: its hello does not name lanes, and a response with a lane is ignored", async () => {
    const iframe = await scriptedIframe();
    const failed = rejection(connect(iframe.element, { connectTimeout: 300 }));
    const isHello = ({ method }) => method === "rpc.hello";
    await until(() => iframe.received.some(isHello));
    const { id, params } = iframe.received.find(isHello);
    assert.notInclude(params.features, "lane");
    const lane = hexId("a");
    iframe.post({ jsonrpc: "2.0", id, result: { session: hexId("f"), version: 1, features: ["lane"], lane } });
    iframe.post({ portway: lane, message: { jsonrpc: "2.0", method: "rpc.ping" } });
    assert.equal((await failed).reason, "no-answer");
  });
});

describe("a goodbye over the window", () => {
  const key = hexId("7");
  const bye = (reason) => ({ jsonrpc: "2.0", method: "rpc.bye", params: { key, reason } });

  /** The hello of the next document. */
  const newcomer = {
    jsonrpc: "2.0",
    id: hexId("e"),
    method: "rpc.hello",
    params: { version: 1, channel: "", features: [] },
  };

  /**
   * Acquires the lock of the iframe's document, announces it over the port, and waits until the library requests it.
   * Returns a function that releases the lock.
   */
  async function locked(port) {
    const name = `portway:${hexId("f")}`;
    let release;
    await new Promise((acquired) => {
      navigator.locks.request(name, () => new Promise((resolve) => acquired((release = resolve))));
    });
    port.postMessage({ jsonrpc: "2.0", method: "rpc.lock" });
    let isRequested = false;
    const isLockPending = ({ pending }) => pending.some((lock) => lock.name === name);
    const query = async () => (isRequested = isLockPending(await navigator.locks.query()));
    await until(() => (query(), isRequested), "the lock was not requested");
    return release;
  }

  it("that overtakes port messages takes effect after these messages, even if the next document has sent its hello", async () => {
    const received = [];
    const sessions = recordSessions({
      notifications: { first: () => received.push("first"), next: ([n]) => received.push(n) },
    });
    const { iframe, port } = await openScripted(sessions, key);
    await until(() => received.length === 1);
    const release = await locked(port);
    iframe.post(bye("closed"));
    release();
    iframe.post(newcomer);
    await iframe.settled();
    // A busy browser may deliver the port messages this late.
    await pause(400);
    for (let n = 0; n < 3; n++) port.postMessage({ jsonrpc: "2.0", method: "next", params: [n] });
    port.postMessage(bye("closed"));
    await until(() => sessions.events.length === 2);
    assert.deepEqual(received, ["first", 0, 1, 2]);
    assert.deepEqual(sessions.events, [1, "session-ended"]);
  });

  it("that arrives before `rpc.key` takes effect after the port messages", async () => {
    const received = [];
    const sessions = recordSessions({
      notifications: { first: () => received.push("first"), next: ([n]) => received.push(n) },
    });
    const { iframe, port } = await openScripted(sessions);
    await until(() => received.length === 1);
    iframe.post(bye("closed"));
    iframe.post(newcomer);
    await iframe.settled();
    port.postMessage({ jsonrpc: "2.0", method: "rpc.key", params: { key } });
    await pause(400);
    for (let n = 0; n < 3; n++) port.postMessage({ jsonrpc: "2.0", method: "next", params: [n] });
    port.postMessage(bye("closed"));
    await until(() => sessions.events.length === 2);
    assert.deepEqual(received, ["first", 0, 1, 2]);
    assert.deepEqual(sessions.events, [1, "session-ended"]);
  });

  it("that arrives before all port messages takes effect after them, in a session that the iframe's hello began", async () => {
    const received = [];
    const sessions = recordSessions({ notifications: { next: ([n]) => received.push(n) } });
    const iframe = await scriptedIframe();
    const connecting = connected(iframe.element, sessions);
    const hello = (id) => ({
      jsonrpc: "2.0",
      id,
      method: "rpc.hello",
      params: { version: 1, channel: "", features: [] },
    });
    const isAnswer = ({ id, result }) => id === hexId("0") && result !== undefined;
    for (; !iframe.received.some(isAnswer); await pause(15)) iframe.post(hello(hexId("0")));
    const { port } = iframe.received.find(isAnswer).result;
    afterThisTest(() => port.close());
    iframe.post(bye("closed"));
    for (let n = 0; n < 5; n++, await pause(80)) iframe.post(hello(`${"0".repeat(31)}1`));
    await iframe.settled();
    port.postMessage({ jsonrpc: "2.0", method: "rpc.ping" });
    port.postMessage({ jsonrpc: "2.0", method: "rpc.key", params: { key } });
    for (let n = 0; n < 3; n++) port.postMessage({ jsonrpc: "2.0", method: "next", params: [n] });
    port.postMessage(bye("closed"));
    await connecting;
    await until(() => sessions.events.length === 2);
    assert.deepEqual(received, [0, 1, 2]);
  });

  it("ends the session if no port message follows: at once for the reason `left`, otherwise after about a second", async () => {
    for (const [reason, minMs, maxMs] of [
      ["left", 0, 500],
      ["closed", 500, 3_000],
    ]) {
      const received = [];
      const sessions = recordSessions({ notifications: { first: () => received.push("first") } });
      const { iframe } = await openScripted(sessions, key);
      await until(() => received.length === 1);
      const start = performance.now();
      iframe.post(bye(reason));
      await until(() => sessions.events.length === 2);
      assert.deepEqual(sessions.events, [1, "session-ended"]);
      assert.isAtLeast(performance.now() - start, minMs);
      assert.isBelow(performance.now() - start, maxMs);
    }
  });
});

describe("an iframe", () => {
  it("that is removed ends the pending calls of the page within a second, and makes later calls fail", async () => {
    for (const [query, iframeOptions, options] of [
      [{}, {}, undefined],
      [{ origin: origins.own }, { origin: origins.other }, { origin: origins.other }],
      [{ origin: origins.own }, { sandbox: "allow-scripts" }, { origin: "null" }],
    ]) {
      const sessions = recordSessions(options);
      const element = connectingIframe(query, iframeOptions);
      const peer = await connected(element, sessions);
      const hanging = timedRejection(peer.request("hang", [], { timeout: 0 }));
      element.remove();
      const [reason, ms] = await hanging;
      assert.equal(reason, "peer-gone");
      assert.isBelow(ms, 1_000);
      assert.deepEqual(sessions.events, [1, "peer-gone"]);
      assert.equal((await rejection(peer.request("echo"))).reason, "peer-gone");
    }
  });

  it("that is removed while no call is pending makes the next call reject", async () => {
    const element = connectingIframe();
    const peer = await connected(element.contentWindow);
    element.remove();
    assert.equal((await rejection(peer.request("echo"))).reason, "peer-gone");
  });

  it("that is removed and appended again begins a new session", async () => {
    const sessions = recordSessions();
    const element = connectingIframe();
    const peer = await connected(element, sessions);
    element.remove();
    await until(() => sessions.events.length === 2);
    document.body.append(element);
    await until(() => sessions.events.length === 3);
    assert.deepEqual(sessions.events, [1, "peer-gone", 2]);
    assert.deepEqual(await peer.request("echo", [1]), [1]);
  });

  /**
   * Connects an iframe, and waits until the library checks the window of the iframe less often, so that the library
   * notices a new window late. `move` appends the iframe again, and so replaces its window.
   */
  async function connectIframeAndWait(options) {
    const element = connectingIframe();
    const peer = await connected(element, options);
    await pause(1_200);
    return { peer, move: () => document.body.append(element) };
  }

  it("that is moved leaves no timer behind if the peer is destroyed in onLost", async () => {
    const timers = countTimers();
    const { peer, move } = await connectIframeAndWait({ onLost: () => peer.destroy() });
    move();
    await rejection(peer.request("echo", []));
    await timers.allEnd();
  });

  it("that is moved receives no call that has already rejected", async () => {
    const calls = [];
    const { peer, move } = await connectIframeAndWait({ methods: { name: ([n]) => calls.push(n) } });
    move();
    assert.equal((await rejection(peer.request("callBack", [1]))).reason, "session-ended");
    await peer.request("callBack", [2]);
    assert.deepEqual(calls, [2]);
  });

  it("that is moved in the document begins a new session", async () => {
    const sessions = recordSessions();
    const element = connectingIframe();
    const peer = await connected(element, sessions);
    const hanging = rejection(peer.request("hang", [], { timeout: 0 }));
    const div = document.createElement("div");
    document.body.append(div);
    afterThisTest(() => div.remove());
    div.append(element);
    assert.include(["session-ended", "peer-gone"], (await hanging).reason);
    await until(() => sessions.events.at(-1) === 2);
    assert.deepEqual(await peer.request("echo", [1]), [1]);
  });

  it("that navigates to another document of its origin begins a new session", async () => {
    const sessions = recordSessions();
    const peer = await connected(connectingIframe({ name: "first" }), sessions);
    assert.equal(await peer.request("name"), "first");
    peer.notify("go", [iframeUrl({ name: "second" })]);
    await until(() => sessions.events.length === 3);
    assert.equal(await peer.request("name"), "second");
  });

  it("that navigates to another allowed origin begins a new session, and onSession gets the origin", async () => {
    const seen = [];
    const element = connectingIframe();
    const peer = await connected(element, {
      origin: [origins.own, origins.other],
      onSession: ({ origin }) => seen.push(origin),
    });
    element.src = iframeUrl({ origin: origins.own }, { origin: origins.other });
    await until(() => seen.length === 2);
    assert.deepEqual(seen, [origins.own, origins.other]);
    assert.deepEqual(await peer.request("echo", [1]), [1]);
  });

  it("that navigates to a document without a peer makes later calls time out", async () => {
    const sessions = recordSessions();
    const element = connectingIframe();
    const peer = await connected(element, sessions);
    element.src = iframeUrl({}, { file: "scripted-iframe.html" });
    await until(() => sessions.events.length === 2);
    assert.equal((await rejection(peer.request("echo", [], { timeout: 100 }))).reason, "timeout");
    assert.deepEqual(sessions.events, [1, "session-ended"]);
  });

  for (const [kind, query, iframeOptions, options] of [
    ["of the page's origin", {}, {}, undefined],
    ["of another origin", { origin: origins.own }, { origin: origins.other }, { origin: origins.other }],
  ]) {
    it(`that navigates without a goodbye ends the session after the next document has loaded: an iframe ${kind}`, async () => {
      const element = connectingIframe({ ...query, mute: "" }, iframeOptions);
      const peer = await connected(element, options);
      // The load event of the iframe fires during this pause.
      await pause(100);
      const hanging = timedRejection(peer.request("hang", [], { timeout: 0 }));
      element.src = iframeUrl({}, { file: "scripted-iframe.html" });
      const [reason, ms] = await hanging;
      assert.equal(reason, "session-ended");
      assert.isBelow(ms, 3_000);
    });
  }

  it("ends its session if the old document sends pongs right after a load event, and nothing afterwards", async () => {
    let loaded = false;
    const { iframe, peer, port } = await openScripted({ notifications: { first: () => (loaded = true) } });
    port.postMessage({ jsonrpc: "2.0", method: "rpc.load" });
    await until(() => loaded);
    // `rpc.load` arrives in this time.
    await pause(20);
    const hanging = timedRejection(peer.request("hang", [], { timeout: 0 }));
    let ended;
    // The library sends a ping to the document 100 ms after the load. In a busy browser, the pongs may arrive after
    // this ping and keep the session open, so the test has three attempts.
    for (let attempt = 0; ended === undefined && attempt < 3; attempt++) {
      iframe.element.dispatchEvent(new Event("load"));
      for (let n = 0; n < 2; n++) port.postMessage({ jsonrpc: "2.0", method: "rpc.pong" });
      ended = await Promise.race([hanging, pause(2_500)]);
    }
    assert.equal(ended?.[0], "session-ended");
  });

  it("keeps its session if it still responds after a second load event", async () => {
    const sessions = recordSessions({ origin: origins.other });
    const element = connectingIframe({ origin: origins.own }, { origin: origins.other });
    const peer = await connected(element, sessions);
    await pause(100);
    const call = peer.request("sleep", [1_500], { timeout: 0 });
    element.dispatchEvent(new Event("load"));
    await call;
    assert.deepEqual(sessions.events, [1]);
  });

  it("that reconnects without reloading begins a new session", async () => {
    const sessions = recordSessions({ methods: { name: () => "page" } });
    const peer = await connected(connectingIframe(), sessions);
    peer.notify("again");
    await until(() => sessions.events.length === 3);
    assert.deepEqual(sessions.events, [1, "session-ended", 2]);
    assert.deepEqual(await peer.request("callBack"), ["back", "page"]);
  });

  it("begins a new session each time the page reconnects", async () => {
    const element = connectingIframe();
    for (let n = 1; n <= 3; n++) {
      const peer = await connect(element);
      const events = await peer.request("sessionEvents");
      assert.deepEqual(
        events.filter((event) => typeof event === "number"),
        Array.from({ length: n }, (_, n) => n + 1),
      );
      peer.destroy();
    }
  });

  it("receives no request of a destroyed peer", async () => {
    const element = connectingIframe();
    const first = await connected(element);
    first.destroy();
    const second = await connected(element);
    assert.equal((await rejection(first.request("echo"))).reason, "destroyed");
    assert.deepEqual(await second.request("echo", [2]), [2]);
  });
});

// WebKit opens no windows under its driver.
const probe = window.open("about:blank", "_blank", "width=200,height=200");
probe?.close();

describe("a popup", () => {
  function popup(query) {
    const opened = window.open(iframeUrl(query), "_blank", "width=200,height=200");
    afterThisTest(() => opened?.close());
    return opened;
  }

  if (probe === null) {
    it("that the browser has blocked is null, and connect rejects with a TypeError that names open()", async () => {
      const error = await rejection(connect(popup()));
      assert.instanceOf(error, TypeError);
      assert.match(error.message, /open\(\)/);
    });
    return;
  }

  it("connects to its opener, which notices within a second that the popup has closed", async () => {
    const opened = popup();
    const sessions = recordSessions();
    const peer = await connected(opened, sessions);
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    const hanging = timedRejection(peer.request("hang", [], { timeout: 0 }));
    opened.close();
    const [reason, ms] = await hanging;
    assert.include(["peer-gone", "session-ended"], reason);
    assert.isBelow(ms, 1_000);
    await until(() => opened.closed);
    const late = await rejection(peer.request("echo", [], { timeout: 3_000 }));
    assert.equal(late.reason, "peer-gone");
  });

  it("that reloads begins a new session", async () => {
    const opened = popup();
    const sessions = recordSessions();
    const peer = await connected(opened, sessions);
    peer.notify("reload");
    await until(() => sessions.events.length === 3);
    assert.deepEqual(await peer.request("echo", [1]), [1]);
  });
});

describe("while an iframe reloads", () => {
  it("all notifications and calls of its page are queued, and reach the next document", async () => {
    const sessions = recordSessions();
    const peer = await connected(connectingIframe(), sessions);
    await peer.request("echo");
    peer.notify("reload");
    await until(() => sessions.events.length === 2);
    // The library still receives messages from the port of the old document right after the goodbye.
    for (let n = 0; n < 20; n++) {
      peer.notify("keep", [n]);
      await pause(5);
    }
    const calls = Array.from({ length: 5 }, (_, n) => peer.request("echo", [n]));
    assert.deepEqual(await Promise.all(calls), [[0], [1], [2], [3], [4]]);
    const kept = await peer.request("kept");
    assert.deepEqual(
      kept,
      Array.from({ length: 20 }, (_, n) => [n]),
    );
  });
});

describe("a page that the user leaves and returns to", () => {
  it("begins a new session with an iframe that was cached with the page", async () => {
    // The iframe substitutes for the page: it gets the same events as a page that is left and shown again.
    const sessions = recordSessions();
    const element = connectingIframe();
    const peer = await connected(element, sessions);
    const inner = element.contentWindow;
    await peer.request("echo");
    inner.dispatchEvent(new inner.PageTransitionEvent("pagehide", { persisted: true }));
    await until(() => sessions.events.length === 2);
    const call = peer.request("echo", [1]);
    assert.isTrue(await isPending(call));
    inner.dispatchEvent(new inner.PageTransitionEvent("pageshow", { persisted: true }));
    assert.deepEqual(await call, [1]);
    assert.deepEqual(sessions.events, [1, "session-ended", 2]);
  });
});
