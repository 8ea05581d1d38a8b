// `windowTransport` with real iframes.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, packaged, windowTransport } from "./support/portway.js";
import { recordMessageListeners, openIframe, receivedBy, origins, scriptedIframe } from "./support/iframes.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

/** Creates a peer for the window of an iframe. */
function peerOf(element, ...options) {
  const peer = new JSONRPCPeer(windowTransport(element.contentWindow, ...options));
  afterThisTest(() => peer.destroy());
  return peer;
}

/** Returns a document that contains the library, for iframes that cannot load files. */
async function selfContained(origin) {
  const inline = await (await fetch(packaged("inline.js"))).text();
  const serve = await (await fetch("/tests/web/fixtures/serve.js")).text();
  const asModule = (text) => JSON.stringify(`data:text/javascript,${encodeURIComponent(text)}`);
  return `<!doctype html><script type="module">
    import * as portway from ${asModule(inline)};
    import { serve } from ${asModule(serve)};
    try {
      await portway.default();
      serve(new portway.JSONRPCPeer(portway.windowTransport(parent, ${JSON.stringify({ origin })})), portway);
      parent.postMessage({ type: "ready" }, "*");
    } catch (error) {
      parent.postMessage({ type: "failed", message: String(error) }, "*");
    }
  </script>`;
}

const kinds = {
  "of the same origin": async () => [await openIframe("frame.html"), undefined],
  "of the same origin, with the option origin": async () => [
    await openIframe("frame.html", { query: { origin: origins.own } }),
    { origin: origins.own },
  ],
  "of another origin": async () => [
    await openIframe("frame.html", { origin: origins.other, query: { origin: origins.own } }),
    { origin: origins.other },
  ],
  "of another port": async () => [
    await openIframe("frame.html", { origin: origins.otherPort, query: { origin: origins.own } }),
    { origin: origins.otherPort },
  ],
  "that is sandboxed": async () => [
    await openIframe("frame.html", { sandbox: "allow-scripts", query: { origin: origins.own } }),
    { origin: "null" },
  ],
  "that is sandboxed and has its whole document in srcdoc": async () => [
    await openIframe("", { sandbox: "allow-scripts", srcdoc: await selfContained(origins.own) }),
    { origin: "null" },
  ],
  "that has its whole document in srcdoc": async () => [
    await openIframe("", { srcdoc: await selfContained() }),
    undefined,
  ],
  "that may have any origin": async () => [
    await openIframe("frame.html", { origin: origins.other, query: { origin: "*" } }),
    { origin: "*" },
  ],
};

for (const [kind, make] of Object.entries(kinds)) {
  describe(`an iframe ${kind}`, () => {
    it("responds to calls, and calls methods of the page", async () => {
      const [element, options] = await make();
      const peer = peerOf(element, options).method("name", ([n]) => `page ${n}`);
      assert.deepEqual(await peer.request("echo", { url: "/a" }), { url: "/a" });
      assert.deepEqual(await peer.request("callBack", [1]), ["back", "page 1"]);
      const { code, message, data } = await rejection(peer.request("fail"));
      assert.deepEqual({ code, message, data }, { code: -32005, message: "Preview load failed", data: { url: "/" } });
    });
  });
}

describe("a window transport", () => {
  it("accepts source and origin as separate arguments", async () => {
    const element = await openIframe("frame.html", { origin: origins.other, query: { origin: origins.own } });
    assert.deepEqual(await peerOf(element, window, origins.other).request("echo", [1]), [1]);
  });

  it("can be created with only a source, and then allows only the origin of the page", async () => {
    const element = await openIframe("frame.html");
    assert.deepEqual(await peerOf(element, window).request("echo", [1]), [1]);
    for (const origin of [origins.other, origins.otherPort]) {
      const child = await scriptedIframe({ origin });
      const transport = windowTransport(child.window, window);
      const received = receivedBy(transport);
      child.post({ jsonrpc: "2.0", method: "from the child" });
      transport.send({ jsonrpc: "2.0", method: "to the child" });
      await child.settled();
      assert.deepEqual([received, child.received], [[], []]);
    }
  });

  it("transmits progress, transfer lists and ports", async () => {
    const peer = peerOf(await openIframe("frame.html"));
    const seen = [];
    await peer.request("progress", [], { onProgress: (n) => seen.push(n) });
    assert.deepEqual(seen, [1, 2, 3]);
    const bytes = new Uint8Array([1, 2, 3]);
    const result = await peer.request("take", { bytes }, { transfer: [bytes.buffer] });
    assert.deepEqual([result.length, [...result.bytes], bytes.byteLength], [3, [1, 2, 3], 0]);
    const port = await peer.request("connect");
    const message = new Promise((resolve) => (port.onmessage = ({ data }) => resolve(data)));
    port.postMessage("hi");
    assert.equal(await message, "echo hi");
  });

  it("separates the calls of several iframes", async () => {
    const elements = await Promise.all([1, 2, 3].map(() => openIframe("frame.html")));
    const peers = elements.map((element, n) => peerOf(element).method("name", () => `page for ${n}`));
    const results = await Promise.all(
      peers.flatMap((peer, n) => [peer.request("echo", [n]), peer.request("callBack")]),
    );
    assert.deepEqual(
      results,
      [0, 1, 2].flatMap((n) => [[n], ["back", `page for ${n}`]]),
    );
  });

  it("separates two sandboxed iframes, both of which have the origin null", async () => {
    const options = { sandbox: "allow-scripts", query: { origin: origins.own } };
    const elements = [await openIframe("frame.html", options), await openIframe("frame.html", options)];
    const peers = elements.map((element, n) => peerOf(element, { origin: "null" }).method("name", () => n));
    assert.deepEqual(await Promise.all(peers.map((peer) => peer.request("callBack"))), [
      ["back", 0],
      ["back", 1],
    ]);
  });

  it("buffers messages that arrive before its handler is set", async () => {
    const child = await scriptedIframe();
    const transport = windowTransport(child.window);
    for (let n = 0; n < 3; n++) child.post({ jsonrpc: "2.0", method: "count", params: [n] });
    await child.settled();
    const seen = [];
    const server = new JSONRPCServer(transport).onNotify("count", ([n]) => void seen.push(n));
    afterThisTest(() => server.destroy());
    await until(() => seen.length === 3);
    assert.deepEqual(seen, [0, 1, 2]);
  });

  it("does not affect foreign messages, and does not assign window.onmessage", async () => {
    const child = await scriptedIframe();
    const before = window.onmessage;
    const received = receivedBy(windowTransport(child.window));
    const seen = [];
    const listener = ({ source, data }) => source === child.window && data?.type !== "received" && seen.push(data);
    addEventListener("message", listener);
    const foreign = [
      null,
      "text",
      "{}",
      42,
      { type: "wiggum-console", level: "log" },
      [1],
      { jsonrpc: 2 },
      new Map(),
      { source: "react-devtools" },
    ];
    for (const message of foreign) child.post(message);
    child.post({ jsonrpc: "2.0", method: "console" });
    await child.settled();
    removeEventListener("message", listener);
    assert.deepEqual(received, [{ jsonrpc: "2.0", method: "console" }]);
    assert.deepEqual(seen.slice(0, foreign.length), foreign);
    assert.equal(window.onmessage, before);
  });

  it("shares one listener with other transports, until the last of these transports is destroyed", async () => {
    const child = await scriptedIframe();
    const listeners = recordMessageListeners(window);
    const peers = Array.from({ length: 20 }, () => new JSONRPCPeer(windowTransport(child.window)));
    // All transports on one window share the listener.
    assert.equal(listeners.size, 1);
    for (const peer of peers) peer.destroy();
    assert.equal(listeners.size, 0);
  });

  it("leaves no listener after ten thousand peers were created and destroyed", async () => {
    const child = await scriptedIframe();
    const listeners = recordMessageListeners(window);
    for (let n = 0; n < 10_000; n++) new JSONRPCPeer(windowTransport(child.window)).destroy();
    assert.equal(listeners.size, 0);
  });

  it("ends its pending calls within a second after its iframe is removed, and later calls fail at once", async () => {
    const element = await openIframe("frame.html");
    const peer = peerOf(element);
    await peer.request("echo");
    const call = peer.request("never", [], { timeout: 0 });
    element.remove();
    const start = performance.now();
    assert.equal((await rejection(call)).reason, "peer-gone");
    assert.isBelow(performance.now() - start, 1_000);
    assert.equal((await rejection(peer.request("echo", [], { timeout: 0 }))).reason, "peer-gone");
  });

  it("ends a call within a second if its iframe was removed between an earlier call and this call", async () => {
    const element = await openIframe("frame.html");
    const peer = peerOf(element);
    await peer.request("echo");
    element.remove();
    const start = performance.now();
    assert.equal((await rejection(peer.request("echo", [], { timeout: 0 }))).reason, "peer-gone");
    assert.isBelow(performance.now() - start, 1_000);
  });

  it("transfers no object if the transfer list is null", async () => {
    const peer = peerOf(await openIframe("frame.html"));
    const buffer = new ArrayBuffer(8);
    await peer.request("echo", [buffer], { transfer: null });
    peer.notify("echo", [buffer], { transfer: null });
    assert.equal(buffer.byteLength, 8);
  });

  it("does not detach the buffers of a call that is made after the iframe was removed", async () => {
    const element = await openIframe("frame.html");
    const peer = peerOf(element);
    await peer.request("echo");
    element.remove();
    const buffer = new ArrayBuffer(8);
    assert.equal((await rejection(peer.request("echo", [buffer], { transfer: [buffer] }))).reason, "peer-gone");
    assert.equal(buffer.byteLength, 8);
  });

  it("calls onError for a message that cannot be deserialized, and calls stay pending", async () => {
    // In some engines, a wasm module from another origin cannot be deserialized. Other engines deliver the module.
    const errors = [];
    const child = await scriptedIframe({ origin: origins.other });
    const peer = new JSONRPCPeer(windowTransport(child.window, { origin: origins.other }), {
      onError: (error) => errors.push(error.message),
    });
    afterThisTest(() => peer.destroy());
    const handled = new Promise((resolve) => peer.onNotify("module", ({ module }) => resolve(module)));
    const broken = new Promise((resolve) => addEventListener("messageerror", resolve, { once: true }));
    child.element.contentWindow.postMessage({ type: "postModule" }, "*");
    const [kind] = await Promise.race([handled.then(() => ["handled"]), broken.then(() => ["broken"])]);
    assert.deepEqual(errors, kind === "broken" ? ["received a message that could not be deserialized"] : []);
    const call = peer.request("a", [], { timeout: 0 });
    await child.settled();
    child.post({ jsonrpc: "2.0", result: "lives", id: 1 });
    assert.equal(await call, "lives");
  });

  it("checks its window only while calls are pending", async () => {
    const element = await openIframe("frame.html");
    const peer = peerOf(element);
    const timers = new Set();
    const { setTimeout, clearTimeout } = globalThis;
    globalThis.setTimeout = (callback, ms) => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        callback();
      }, ms);
      // Counts only timers with the interval of the checks. The timeouts of calls are longer.
      if (ms === 500) timers.add(timer);
      return timer;
    };
    globalThis.clearTimeout = (timer) => (timers.delete(timer), clearTimeout(timer));
    afterThisTest(() => Object.assign(globalThis, { setTimeout, clearTimeout }));
    await peer.request("echo");
    await peer.request("echo");
    assert.equal(timers.size, 1);
    await until(() => timers.size === 0);
    peer.request("never", [], { timeout: 0 }).catch(() => {});
    assert.equal(timers.size, 1);
    peer.destroy();
    assert.equal(timers.size, 0);
  });

  it("needs a window, which an iframe has only in a document", () => {
    const detached = document.createElement("iframe");
    assert.throws(() => windowTransport(detached.contentWindow), TypeError, "window");
    assert.throws(() => windowTransport(undefined), TypeError);
  });

  it("makes a call reject if its params cannot be cloned, and later calls work", async () => {
    const client = new JSONRPCClient(windowTransport((await openIframe("frame.html")).contentWindow));
    afterThisTest(() => client.destroy());
    assert.equal((await rejection(client.request("echo", [() => {}]))).name, "DataCloneError");
    assert.deepEqual(await client.request("echo", [1]), [1]);
  });
});
