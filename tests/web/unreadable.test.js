// Messages that have come and cannot be read here: the application is told, and the link lives on. Engines do not agree on
// what such a message is, so the event is made here; `unreadable.browser.test.js` has real ones.

import { assert } from "chai";
import { JSONRPCPeer, broadcastTransport, inNode, portTransport, workerTransport } from "./rig/portway.js";
import { afterThisTest } from "./rig/cleanup.js";
import { connected, hexId, stage } from "./rig/connections.js";
import { Raw } from "./rig/ends.js";
import { printed } from "./rig/console.js";

const text = "a message of the other side cannot be read here";

function fire(target) {
  target.dispatchEvent(inNode ? new Event("messageerror") : new MessageEvent("messageerror"));
}

/** A boundary that is as good as a worker to a transport: no port, and nothing to start. */
function asWorker(port) {
  const target = new EventTarget();
  target.postMessage = (message, transfer) => port.postMessage(message, transfer);
  port.addEventListener("message", ({ data }) => target.dispatchEvent(Object.assign(new Event("message"), { data })));
  port.start();
  return target;
}

function channel() {
  const { port1, port2 } = new MessageChannel();
  afterThisTest(() => [port1, port2].forEach((port) => port.close()));
  return [port1, port2];
}

const boundaries = {
  "a port": () => {
    const [near, far] = channel();
    return { target: near, transport: portTransport(near), raw: new Raw(far) };
  },
  "a worker": () => {
    const [near, far] = channel();
    const target = asWorker(near);
    return { target, transport: workerTransport(target), raw: new Raw(far) };
  },
  "a BroadcastChannel": () => {
    const name = `unreadable ${Math.random()}`;
    const [target, far] = [new BroadcastChannel(name), new BroadcastChannel(name)];
    afterThisTest(() => [target, far].forEach((channel) => channel.close()));
    return { target, transport: broadcastTransport(target), raw: new Raw(far) };
  },
};

for (const [name, make] of Object.entries(boundaries)) {
  describe(`an unreadable message of ${name}`, () => {
    it("is told to onError once, ends no call, and keeps nothing from being served", async () => {
      const { target, transport, raw } = make();
      const errors = [];
      const peer = new JSONRPCPeer(transport, { onError: ({ message }) => errors.push(message) }).method("echo", ([n]) => n);
      afterThisTest(() => peer.destroy());
      const call = peer.request("a", undefined, { timeout: 0 });
      const { id } = await raw.next();
      fire(target);
      assert.deepEqual([errors, peer.pending], [[text], 1]);
      raw.post({ jsonrpc: "2.0", method: "echo", params: [5], id: "x" });
      assert.deepEqual(await raw.next(), { jsonrpc: "2.0", result: 5, id: "x" });
      raw.post({ jsonrpc: "2.0", result: "lives", id });
      assert.equal(await call, "lives");
    });

    it("is printed if nobody is told, and no more once it is destroyed", async () => {
      const { target, transport } = make();
      const peer = new JSONRPCPeer(transport);
      const lines = await printed(() => fire(target));
      assert.deepEqual([lines.length, lines[0].includes(text)], [1, true]);
      peer.destroy();
      fire(target);
    });
  });
}

describe("an unreadable message of a session", () => {
  it("is told to onError once, and the session goes on", async () => {
    const { addEventListener } = MessagePort.prototype;
    const own = Object.hasOwn(MessagePort.prototype, "addEventListener");
    const targets = new Set();
    MessagePort.prototype.addEventListener = function (type, ...more) {
      if (type === "messageerror") targets.add(this);
      return addEventListener.call(this, type, ...more);
    };
    afterThisTest(() => {
      if (own) MessagePort.prototype.addEventListener = addEventListener;
      else delete MessagePort.prototype.addEventListener;
    });
    const { port, actor } = stage();
    const told = [];
    const options = { onError: ({ message }) => told.push(message), onLost: ({ reason }) => told.push(reason), timeout: 0 };
    const connecting = connected(port, options);
    const end = await actor.open({ session: hexId(1) });
    const peer = await connecting;
    const call = peer.request("a");
    const request = await end.nextCall();
    assert.equal(targets.size, 1);
    targets.forEach(fire);
    assert.deepEqual([told, peer.pending], [[text], 1]);
    end.answer(request, "lives");
    assert.equal(await call, "lives");
  });
});
