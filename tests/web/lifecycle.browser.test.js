// The effects on a page: no listener of the library keeps it from the back/forward cache, or asks its user to stay.

import { assert } from "chai";
import { JSONRPCPeer, windowTransport, workerTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { connected } from "./support/connections.js";
import { connectingIframe, openIframe } from "./support/iframes.js";
import { readyWorker, worker } from "./support/workers.js";

/** The events for which a window gets listeners from now on, in any way. */
function eventsHeard(window) {
  const { prototype } = window.EventTarget;
  const { addEventListener } = prototype;
  const received = new Set();
  prototype.addEventListener = function (type, ...more) {
    received.add(String(type));
    return addEventListener.call(this, type, ...more);
  };
  afterThisTest(() => Object.assign(prototype, { addEventListener }));
  return received;
}

/** Events whose listeners keep a page out of the back/forward cache, or ask the user. */
const harmful = ["unload", "beforeunload"];

function assertHarmless(window, received) {
  for (const type of harmful) {
    assert.isFalse(received.has(type), type);
    assert.isNull(window[`on${type}`], type);
  }
}

describe("a page is not listened to for its unload", () => {
  it("by connections, from their beginning to their end", async () => {
    const received = eventsHeard(window);
    for (const target of [connectingIframe(), worker("connect-worker.js"), connectingIframe({ heartbeat: 50 })]) {
      const peer = await connected(target, { heartbeat: 50 });
      await peer.request("echo", [1]);
      const call = peer.request("hang", [], { timeout: 0 }).catch(() => {});
      peer.destroy();
      await call;
    }
    assert.isTrue(received.has("pagehide"), "the listeners are seen");
    assertHarmless(window, received);
  });

  it("by plain transports, from their beginning to their end", async () => {
    const received = eventsHeard(window);
    for (const transport of [
      windowTransport((await openIframe("frame.html")).contentWindow),
      workerTransport(await readyWorker("worker.js")),
    ]) {
      const peer = new JSONRPCPeer(transport);
      await peer.request("echo", [1]);
      peer.destroy();
    }
    assert.isTrue(received.has("message"), "the listeners are seen");
    assertHarmless(window, received);
  });

  it("in a frame that connects, and loads the library for that", async () => {
    const element = connectingIframe({ late: 200 }, { attach: false });
    document.body.append(element);
    // Its document has another global object than the empty one before it.
    await new Promise((loaded) => element.addEventListener("load", loaded));
    const received = eventsHeard(element.contentWindow);
    const peer = await connected(element);
    peer.notify("again");
    await peer.request("echo", [1]).catch(() => {});
    assertHarmless(element.contentWindow, received);
  });
});
