// The library adds no listeners for `unload` and `beforeunload`. Such listeners exclude a page from the back/forward
// cache, or make the browser ask the user before the page is left.

import { assert } from "chai";
import { JSONRPCPeer, windowTransport, workerTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { connected } from "./support/connections.js";
import { connectingIframe, openIframe } from "./support/iframes.js";
import { readyWorker, worker } from "./support/workers.js";

/** Records the names of the events for which a window gets listeners from now on. */
function recordListenedEvents(window) {
  const { prototype } = window.EventTarget;
  const { addEventListener } = prototype;
  const types = new Set();
  prototype.addEventListener = function (type, ...more) {
    types.add(String(type));
    return addEventListener.call(this, type, ...more);
  };
  afterThisTest(() => Object.assign(prototype, { addEventListener }));
  return types;
}

/** Events whose listeners exclude a page from the back/forward cache, or make the browser ask the user. */
const harmful = ["unload", "beforeunload"];

function assertHarmless(window, types) {
  for (const type of harmful) {
    assert.isFalse(types.has(type), type);
    assert.isNull(window[`on${type}`], type);
  }
}

describe("no listener for the unloading of a page is added", () => {
  it("by connections, from connect() to destroy()", async () => {
    const types = recordListenedEvents(window);
    for (const target of [connectingIframe(), worker("connect-worker.js"), connectingIframe({ heartbeat: 50 })]) {
      const peer = await connected(target, { heartbeat: 50 });
      await peer.request("echo", [1]);
      const call = peer.request("hang", [], { timeout: 0 }).catch(() => {});
      peer.destroy();
      await call;
    }
    assert.isTrue(types.has("pagehide"), "the test must record listeners");
    assertHarmless(window, types);
  });

  it("by plain transports, from the constructor to destroy()", async () => {
    const types = recordListenedEvents(window);
    for (const transport of [
      windowTransport((await openIframe("frame.html")).contentWindow),
      workerTransport(await readyWorker("worker.js")),
    ]) {
      const peer = new JSONRPCPeer(transport);
      await peer.request("echo", [1]);
      peer.destroy();
    }
    assert.isTrue(types.has("message"), "the test must record listeners");
    assertHarmless(window, types);
  });

  it("in an iframe that loads the library and connects", async () => {
    const element = connectingIframe({ late: 200 }, { attach: false });
    document.body.append(element);
    // The loaded document and the initial empty document have different global objects.
    await new Promise((loaded) => element.addEventListener("load", loaded));
    const types = recordListenedEvents(element.contentWindow);
    const peer = await connected(element);
    peer.notify("again");
    await peer.request("echo", [1]).catch(() => {});
    assertHarmless(element.contentWindow, types);
  });
});
