// Targets of the wrong kind. The library refuses them at once, and the error names the remedy.

import { assert } from "chai";
import { connect, portTransport, workerTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { openIframe, origins } from "./support/iframes.js";
import { rejection } from "./support/outcomes.js";

describe("a service worker", () => {
  it("is refused at once, and the error names the alternative", async () => {
    const script = new URL("fixtures/empty-service-worker.js", import.meta.url);
    const registration = await navigator.serviceWorker.register(script);
    afterThisTest(() => registration.unregister());
    const worker = registration.installing ?? registration.waiting ?? registration.active;
    const error = await rejection(connect(worker));
    assert.instanceOf(error, TypeError);
    assert.include(error.message, "port of a MessageChannel");
    assert.throws(() => workerTransport(worker), TypeError, "port of a MessageChannel");
  });
});

describe("a target of the wrong kind", () => {
  const channel = () => new BroadcastChannel("odd targets");
  const sharedWorker = () =>
    new SharedWorker(new URL("fixtures/shared-worker.js", import.meta.url), { type: "module" });

  for (const [name, make, remedy] of [
    ["a broadcast channel", channel, "broadcastTransport(channel)"],
    ["a shared worker", sharedWorker, "sharedWorker.port"],
  ]) {
    it(`is refused with an error that names the remedy: ${name}`, async () => {
      const target = make();
      afterThisTest(() => target.close?.());
      const error = await rejection(connect(target));
      assert.instanceOf(error, TypeError);
      assert.include(error.message, remedy);
      for (const transport of [portTransport, workerTransport]) {
        assert.throws(() => transport(target), TypeError, remedy);
      }
    });
  }

  it("is refused with an error that names windowTransport if it is a window in place of a port or a worker", async () => {
    const { contentWindow } = await openIframe("scripted-iframe.html", { origin: origins.other });
    for (const target of [window, contentWindow]) {
      for (const transport of [portTransport, workerTransport]) {
        assert.throws(() => transport(target), TypeError, "windowTransport(window, { origin })");
      }
    }
  });
});

describe("a target that connect() does not support", () => {
  for (const [name, target] of [
    ["a string", "worker.js"],
    ["an object", {}],
    ["a URL", new URL("https://localhost/")],
    ["an event target", new EventTarget()],
  ]) {
    it(`makes connect reject at once with a TypeError: ${name}`, async () => {
      const error = await rejection(connect(target));
      assert.instanceOf(error, TypeError);
      assert.include(error.message, "send, onMessage");
    });
  }
});
