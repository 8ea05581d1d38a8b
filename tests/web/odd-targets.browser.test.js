// Targets that look like a worker, and send no messages to their listeners.

import { assert } from "chai";
import { connect, workerTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection } from "./support/outcomes.js";

describe("a service worker", () => {
  it("is refused at once, with the way that there is", async () => {
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

describe("targets that connect() does not know", () => {
  for (const [name, target] of [
    ["a text", "worker.js"],
    ["an object", {}],
    ["an address", new URL("https://localhost/")],
    ["an event target", new EventTarget()],
  ]) {
    it(`is a TypeError at once: ${name}`, async () => {
      const error = await rejection(connect(target));
      assert.instanceOf(error, TypeError);
      assert.include(error.message, "send, onMessage");
    });
  }
});
