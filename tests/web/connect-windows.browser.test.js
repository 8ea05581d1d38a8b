// `connect` between windows: how the peers connect, which messages a connection ignores, and how it fails.

import { assert } from "chai";
import { connect } from "./support/portway.js";
import { connectingIframe, openIframe, iframeUrl, origins, scriptedIframe } from "./support/iframes.js";
import { connected, hexId, recordListeners, countTimers } from "./support/connections.js";
import { afterThisTest } from "./support/cleanup.js";
import { isPending, pause, rejection, until } from "./support/outcomes.js";

/**
 * By kind of iframe: the query of its document, the options of the iframe, and the options of `connect` in the page.
 */
const kinds = {
  "of the page's origin": [{}, {}, undefined],
  "of another origin": [{ origin: origins.own }, { origin: origins.other }, { origin: origins.other }],
  "of another port": [{ origin: origins.own }, { origin: origins.otherPort }, { origin: origins.otherPort }],
  "without an origin": [{ origin: origins.own }, { sandbox: "allow-scripts" }, { origin: "null" }],
  "for which the page allows several origins": [
    { origin: origins.own },
    { origin: origins.other },
    { origin: [origins.own, origins.other] },
  ],
  "for which the page allows any origin": [{ origin: "*" }, { origin: origins.other }, { origin: "*" }],
};

for (const [kind, [query, iframeOptions, options]] of Object.entries(kinds)) {
  describe(`an iframe ${kind}`, () => {
    it("connects, and calls work both ways", async () => {
      const element = connectingIframe(query, iframeOptions);
      const sessions = [];
      const peer = await connected(element, {
        ...options,
        methods: { name: ([n]) => `page ${n}` },
        onSession: (session) => sessions.push(session),
      });
      assert.deepEqual(await peer.request("echo", [1]), [1]);
      assert.deepEqual(await peer.request("callBack", [1]), ["back", "page 1"]);
      const { sandbox, origin = origins.own } = iframeOptions;
      assert.equal(sessions[0].origin, sandbox === undefined ? origin : "null");
      assert.includeMembers([...sessions[0].features], ["cancel", "progress", "stream"]);
    });
  });
}

describe("an iframe and its page", () => {
  it("deliver the last messages of the iframe even if it removes itself in the same turn", async () => {
    const received = [];
    const peer = await connected(connectingIframe(), { notifications: { step: ([step]) => void received.push(step) } });
    await rejection(peer.request("compute", [3, 0, "remove"]));
    // WebKit drops all messages that a port of a document sent in the turn in which the document is removed.
    if (/AppleWebKit(?!.*Chrome)/.test(navigator.userAgent)) return;
    await until(() => received.length === 3);
    assert.deepEqual(received, [0, 1, 2]);
  });

  it("connect if the iframe starts late", async () => {
    const peer = await connected(connectingIframe({ late: 400 }));
    assert.deepEqual(await peer.request("echo", [1]), [1]);
  });

  it("connect if the page starts late", async () => {
    const element = connectingIframe();
    await new Promise((loaded) => element.addEventListener("load", loaded));
    await pause(300);
    const peer = await connected(element);
    assert.deepEqual(await peer.request("echo", [1]), [1]);
  });

  it("connect if the iframe is appended to the document after connect(), in the same turn", async () => {
    const element = connectingIframe({}, { attach: false });
    const connecting = connected(element);
    await Promise.resolve();
    document.body.append(element);
    assert.deepEqual(await (await connecting).request("echo", [1]), [1]);
  });

  it("connect if connect() gets the window of the iframe in place of the element", async () => {
    const element = connectingIframe();
    const peer = await connected(element.contentWindow);
    assert.deepEqual(await peer.request("echo", [1]), [1]);
  });

  it("connect even if `portway/early` has received the first hellos", async () => {
    const element = connectingIframe({ wasm: "/pkg/portway_bg.wasm?delay=200" }, { file: "connect-early-frame.html" });
    const peer = await connected(element);
    assert.deepEqual(await peer.request("echo", [1]), [1]);
  });

  it("connect only if the names of their channels are equal", async () => {
    const [one, two] = [
      connectingIframe({ channel: "one", name: "one" }),
      connectingIframe({ channel: "two", name: "two" }),
    ];
    const peer = await connected(one, { channel: "one" });
    assert.equal((await rejection(connect(two, { channel: "one", connectTimeout: 300 }))).reason, "no-answer");
    assert.equal(await peer.request("name"), "one");
    assert.equal(await (await connected(two, { channel: "two" })).request("name"), "two");
  });

  it("do not affect other messages of their windows", async () => {
    const child = await scriptedIframe();
    const seen = [];
    const listener = ({ source, data }) => source === child.window && data?.note && seen.push(data.note);
    addEventListener("message", listener);
    afterThisTest(() => removeEventListener("message", listener));
    const connecting = rejection(connect(child.element, { connectTimeout: 200 }));
    child.post({ note: 1 });
    child.post({ jsonrpc: "2.0", method: "note", note: 2 });
    await child.settled();
    assert.deepEqual(seen, [1, 2]);
    await connecting;
  });

  it("connect without a session if the iframe has a plain peer", async () => {
    const element = await openIframe("frame.html", { origin: origins.other, query: { origin: origins.own } });
    const peer = await connected(element, { origin: origins.other, methods: { name: () => "page" } });
    assert.deepEqual(await peer.request("callBack"), ["back", "page"]);
  });
});

describe("a port of another window", () => {
  it("can be connected, although its class belongs to the other window", async () => {
    const { contentWindow } = await openIframe("scripted-iframe.html");
    const { port1, port2 } = new contentWindow.MessageChannel();
    assert.notInstanceOf(port1, MessagePort);
    const [near] = await Promise.all([connected(port1), connected(port2, { methods: { echo: (params) => params } })]);
    assert.deepEqual(await near.request("echo", [1]), [1]);
  });
});

describe("connect to an iframe of another origin that has not loaded", () => {
  it("posts nothing to the initial empty document, and connects after the iframe has loaded", async () => {
    const element = connectingIframe({ origin: origins.own, delay: 400 }, { origin: origins.other });
    const posted = [];
    element.contentWindow.postMessage = (message) => posted.push(message);
    const peer = await connected(element, { origin: origins.other });
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    assert.deepEqual(posted, []);
  });

  it("posts to the initial empty document if the page's own origin is also allowed", async () => {
    const element = connectingIframe({ origin: origins.own, delay: 400 }, { origin: origins.other });
    const posted = [];
    element.contentWindow.postMessage = (message, origin) => posted.push(origin);
    await connected(element, { origin: [origins.other, origins.own] });
    assert.isNotEmpty(posted);
    assert.deepEqual([...new Set(posted)], [origins.own]);
  });
});

describe("a page whose iframe of another origin has the name of a global variable", () => {
  it("can still make calls and connect", async () => {
    const named = await scriptedIframe({ origin: origins.other });
    // The library reads the global variable `Zone`, which is now the window of the iframe.
    named.element.name = "Zone";
    const peer = await connected(connectingIframe());
    assert.deepEqual(await peer.request("echo", [1], { timeout: 5_000 }), [1]);
    named.element.name = "";
  });
});

describe("connect to the page's own window", () => {
  it("reports that the window is its own parent if no response arrives", async () => {
    const { reason, message } = await rejection(connect(window, { connectTimeout: 60 }));
    assert.equal(reason, "no-answer");
    assert.match(message, /this window is its own parent/);
  });
});

describe("a component that is mounted, unmounted and mounted again while its iframe loads", () => {
  it("has one permanent connection if its clean-up destroys the peer", async () => {
    const trial = async () => {
      const element = connectingIframe({ late: Math.round(500 * Math.random()) });
      let isUnmounted = false;
      const first = connect(element).then(
        (peer) => void (isUnmounted ? peer.destroy() : afterThisTest(() => peer.destroy())),
        ({ message }) => message,
      );
      await pause(150 + 250 * Math.random());
      isUnmounted = true;
      await pause(50 * Math.random());
      const lost = [];
      const second = await connected(element, { onLost: ({ message }) => lost.push(message) });
      await Promise.all([first, pause(500)]);
      assert.deepEqual(await second.request("echo", [1]), [1]);
      assert.deepEqual(lost, []);
    };
    await Promise.all(Array.from({ length: 20 }, trial));
  });
});

describe("connect fails at once", () => {
  it("if the window is closed; the error names possible causes", async () => {
    const element = await openIframe("scripted-iframe.html");
    const { contentWindow } = element;
    element.remove();
    const { reason, message } = await rejection(connect(contentWindow, { connectTimeout: 0 }));
    assert.equal(reason, "peer-gone");
    assert.match(message, /closed.*noopener.*Cross-Origin-Opener-Policy/);
  });

  it("if the iframe is not in the document; the error names a remedy", async () => {
    const start = performance.now();
    for (const element of [
      document.createElement("iframe"),
      await openIframe("scripted-iframe.html").then((element) => (element.remove(), element)),
    ]) {
      const { reason, message } = await rejection(connect(element));
      assert.equal(reason, "peer-gone");
      assert.match(message, /the iframe is not in the document: append it before connect/);
    }
    assert.isBelow(performance.now() - start, 5_000);
  });

  it("if the iframe is in the document of another window; the error states this reason", async () => {
    const outer = document.createElement("iframe");
    document.body.append(outer);
    afterThisTest(() => outer.remove());
    const inner = outer.contentDocument.createElement("iframe");
    inner.src = iframeUrl({});
    outer.contentDocument.body.append(inner);
    const { reason, message } = await rejection(connect(inner, { connectTimeout: 0 }));
    assert.equal(reason, "peer-gone");
    assert.match(message, /document of another window/);
  });

  it("if the iframe is removed during the attempt", async () => {
    const child = await scriptedIframe();
    const connecting = rejection(connect(child.element, { connectTimeout: 0 }));
    await pause(30);
    const start = performance.now();
    child.element.remove();
    assert.equal((await connecting).reason, "peer-gone");
    assert.isBelow(performance.now() - start, 1_000);
  });

  it("if the iframe has an origin that is not allowed; the error names the origin", async () => {
    const element = connectingIframe({ origin: origins.own }, { origin: origins.other });
    const [listeners, timers] = [recordListeners(window), countTimers()];
    const { reason, message } = await rejection(connect(element, { origin: origins.otherPort, connectTimeout: 0 }));
    assert.equal(reason, "wrong-origin");
    assert.include(message, origins.other);
    assert.include(message, origins.otherPort);
    assert.include(message, `origin: "${origins.other}"`);
    await timers.allEnd();
    assert.deepEqual(
      listeners.filter(([type]) => type === "message"),
      [],
    );
  });

  it("if the iframe has no origin and the option `origin` is missing; the error names the remedy", async () => {
    const element = connectingIframe({ origin: origins.own }, { sandbox: "allow-scripts" });
    const { reason, message } = await rejection(connect(element, { connectTimeout: 0 }));
    assert.equal(reason, "wrong-origin");
    assert.include(message, 'origin: "null"');
  });

  it("in the iframe, if the page has an origin that is not allowed", async () => {
    const element = connectingIframe({ origin: origins.otherPort }, { origin: origins.other });
    const failed = new Promise((resolve) => {
      const listener = ({ source, data }) =>
        source === element.contentWindow && data?.type === "failed" && resolve(data);
      addEventListener("message", listener);
      afterThisTest(() => removeEventListener("message", listener));
    });
    const connecting = rejection(connect(element, { origin: origins.other, connectTimeout: 3_000 }));
    const { reason, message } = await failed;
    assert.equal(reason, "wrong-origin");
    assert.include(message, origins.own);
    const error = await connecting;
    assert.equal(error.reason, "no-answer");
    assert.include(error.message, `"${origins.own}"`, "the origin that the iframe must allow");
  });

  it("if the document in the iframe has failed to load its wasm", async () => {
    for (const [query, iframeOptions, options] of [
      [{}, {}, undefined],
      [{ origin: origins.own }, { origin: origins.other }, { origin: origins.other }],
      [{ origin: origins.own }, { sandbox: "allow-scripts" }, { origin: "null" }],
    ]) {
      const file = "connect-early-frame.html";
      const element = connectingIframe({ ...query, wasm: "/nowhere.wasm?delay=50" }, { ...iframeOptions, file });
      const { reason, message, cause } = await rejection(connect(element, options));
      assert.equal(reason, "refused");
      assert.equal(message, "portway could not start");
      assert.equal(cause.code, -32603);
    }
  });
});

describe("a connection to an iframe ignores", () => {
  const hello = (id = hexId("f")) => ({
    jsonrpc: "2.0",
    id,
    method: "rpc.hello",
    params: { version: 1, channel: "", features: [] },
  });

  it("the hello of another iframe, before and during the session", async () => {
    const sibling = await scriptedIframe();
    const element = connectingIframe({ late: 200 });
    const events = [];
    const connecting = connected(element, {
      onSession: () => events.push("session"),
      onLost: () => events.push("lost"),
    });
    sibling.post(hello());
    await sibling.settled();
    assert.isTrue(await isPending(connecting));
    const peer = await connecting;
    sibling.post(hello(hexId("e")));
    sibling.post({ jsonrpc: "2.0", id: hexId(0), result: { session: hexId("e") } });
    await sibling.settled();
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    assert.deepEqual(events, ["session"]);
    const received = sibling.received.filter((message) => message?.jsonrpc !== undefined);
    assert.deepEqual(received, []);
  });

  it("an event that a script has created", async () => {
    const events = [];
    const element = connectingIframe();
    const peer = await connected(element, { onLost: () => events.push("lost") });
    for (const data of [hello(), { jsonrpc: "2.0", method: "rpc.bye", params: { reason: "closed" } }]) {
      for (const source of [element.contentWindow, null]) {
        window.dispatchEvent(new MessageEvent("message", { data, origin: origins.own, source }));
      }
    }
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    assert.deepEqual(events, []);
  });

  it("a hello that the page posts to its own window", async () => {
    const events = [];
    const peer = await connected(connectingIframe(), { onLost: () => events.push("lost") });
    window.postMessage(hello(), "*");
    const mark = new Promise((resolve) =>
      addEventListener("message", ({ data }) => data === "mark" && resolve(), { once: false }),
    );
    window.postMessage("mark", "*");
    await mark;
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    assert.deepEqual(events, []);
  });

  it("a hello from a new document whose origin is not allowed; the session with the old document ends", async () => {
    const events = [];
    const element = connectingIframe();
    const peer = await connected(element, { onLost: ({ reason, cause }) => events.push([reason, cause?.reason]) });
    const hanging = rejection(peer.request("hang", [], { timeout: 0 }));
    element.src = iframeUrl({ origin: origins.own }, { origin: origins.other });
    await until(() => events.length > 0);
    assert.include(["session-ended", "peer-gone"], (await hanging).reason);
    const late = await rejection(peer.request("echo", ["secret"]));
    assert.equal(late.reason, "peer-gone");
    assert.equal(late.cause.reason, "wrong-origin");
    element.src = iframeUrl();
    // Makes a call at each check, until one call gets its response.
    await until(
      () =>
        peer.request("echo").then(
          () => events.push("reconnected"),
          () => {},
        ) && events.includes("reconnected"),
    );
  });
});

describe("a page and its iframe, if both reconnect while they start, as components of frameworks do,", () => {
  it("end in one session", async () => {
    const element = connectingIframe();
    const first = new AbortController();
    const aborted = rejection(connect(element, { signal: first.signal }));
    first.abort();
    await aborted;
    const second = await connected(element);
    // The iframe destroys its peer and connects again.
    second.notify("again");
    second.destroy();
    const events = [];
    const third = await connected(element, {
      methods: { name: () => "third" },
      onSession: ({ number }) => events.push(number),
    });
    // Makes a call at each check, until one call gets its response.
    await until(
      () =>
        third.request("callBack", []).then(
          (result) => events.push(result),
          () => {},
        ) && events.some(Array.isArray),
    );
    assert.deepEqual(events.find(Array.isArray), ["back", "third"]);
  });
});
