// Targets that look like a worker but do not deliver messages to their listeners.

import { assert } from "chai";
import { connect, workerTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
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
