// Real messages that cannot be deserialized. In some engines, a message with a wasm module cannot leave its agent
// cluster. Other engines deliver the module or refuse to send it, so the library has nothing to report there.

import { assert } from "chai";
import { JSONRPCPeer, broadcastTransport, portTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { connected } from "./support/connections.js";
import { connectingIframe, openIframe, origins } from "./support/iframes.js";

const text = "received a message that could not be deserialized";

/**
 * Returns a function that gets the reported errors, and checks the outcome of one sent module: either one error is
 * reported, or the module arrives. `modules` collects the arrived modules.
 */
function outcomeCheck(peer, modules = []) {
  peer.onNotify("module", ({ module }) => void modules.push(module));
  return (errors) => {
    assert.equal(errors.length + modules.length, 1);
    assert.deepEqual(errors, modules.length === 1 ? [] : [text]);
  };
}

describe("a wasm module from another origin", () => {
  it("over a plain port is reported to onError if it cannot be deserialized, and the link still works", async () => {
    const { port1, port2 } = new MessageChannel();
    const errors = [];
    const peer = new JSONRPCPeer(portTransport(port1), { onError: ({ message }) => errors.push(message) });
    afterThisTest(() => peer.destroy());
    const check = outcomeCheck(peer);
    const element = await openIframe("frame.html", { origin: origins.other, query: { origin: origins.own } });
    element.contentWindow.postMessage({ type: "port" }, "*", [port2]);
    assert.equal(await peer.request("postModule"), "posted");
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    check(errors);
  });

  it("over the port of a session is reported to onError if it cannot be deserialized, and the session continues", async () => {
    const events = [];
    const peer = await connected(connectingIframe({ origin: origins.own }, { origin: origins.other }), {
      origin: origins.other,
      onError: ({ message }) => events.push(message),
      onLost: ({ reason }) => events.push(reason),
    });
    const check = outcomeCheck(peer);
    assert.equal(await peer.request("postModule"), "posted");
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    check(events);
  });
});

describe("a wasm module from a shared worker", () => {
  it("over a port or a BroadcastChannel is reported to onError if it cannot be deserialized", async () => {
    const name = `unreadable ${Math.random()}`;
    const url = new URL(`fixtures/shared-worker.js?${name}`, import.meta.url);
    const { port } = new SharedWorker(url, { type: "module", name });
    const errors = { port: [], channel: [] };
    const peer = new JSONRPCPeer(portTransport(port), { onError: ({ message }) => errors.port.push(message) });
    const listener = new JSONRPCPeer(broadcastTransport(name), {
      onError: ({ message }) => errors.channel.push(message),
    });
    afterThisTest(() => [peer, listener].forEach((each) => each.destroy()));
    const modules = { channel: [] };
    const checks = { port: outcomeCheck(peer), channel: outcomeCheck(listener, modules.channel) };
    assert.equal(await peer.request("postModule"), "posted");
    checks.port(errors.port);
    const message = new Promise((resolve) => listener.onNotify("after", resolve));
    const posted = await peer.request("broadcastModule", [name]);
    await message;
    // Chromium drops the module on a BroadcastChannel without an event.
    if (posted !== "posted" || errors.channel.length + modules.channel.length === 0)
      assert.deepEqual(errors.channel, []);
    else checks.channel(errors.channel);
  });
});
