// Workers that a Content-Security-Policy prevents from starting.

import { assert } from "chai";
import { JSONRPCClient, connect, workerTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { connected, recordListeners, countTimers } from "./support/connections.js";
import { iframeUrl, untilReady } from "./support/iframes.js";
import { rejection } from "./support/outcomes.js";
import { worker } from "./support/workers.js";

/** Starts a worker whose own policy forbids the modules that it imports. */
function blocked(query) {
  const started = worker("worker.js", { csp: "script-src 'none'", ...query });
  // Without preventDefault(), the error would also be an error of the page.
  started.addEventListener("error", (event) => event.preventDefault());
  return started;
}

describe("a worker whose policy blocks its modules", () => {
  it("makes connect reject with worker-failed; no listener or timer remains", async () => {
    const started = blocked();
    const [listeners, timers] = [recordListeners(started), countTimers()];
    const { reason, message } = await rejection(connect(started, { connectTimeout: 0 }));
    assert.equal(reason, "worker-failed");
    assert.match(message, /has not started/);
    assert.deepEqual(listeners, []);
    await timers.allEnd();
  });

  it("makes connect reject even if the script loads slowly", async () => {
    assert.equal((await rejection(connect(blocked({ delay: 200 }), { connectTimeout: 0 }))).reason, "worker-failed");
  });

  it("makes pending and later calls of a plain client reject", async () => {
    const client = new JSONRPCClient(workerTransport(blocked()), { timeout: 0 });
    afterThisTest(() => client.destroy());
    const errors = await Promise.all(["a", "b"].map((method) => rejection(client.request(method))));
    assert.deepEqual(
      errors.map(({ reason }) => reason),
      ["peer-gone", "peer-gone"],
    );
    assert.equal((await rejection(client.request("c"))).reason, "peer-gone");
    assert.equal(client.pending, 0);
  });

  it("would connect without its policy", async () => {
    const peer = await connected(worker("connect-worker.js", { csp: "script-src 'self' 'wasm-unsafe-eval'" }));
    assert.deepEqual(await peer.request("echo", [1]), [1]);
  });
});

describe("in a page whose policy forbids workers,", () => {
  /** Opens an iframe with this policy. Returns the outcomes of `connect` and of a call in the iframe. */
  async function outcomes(policy) {
    const element = document.createElement("iframe");
    element.src = iframeUrl(policy === undefined ? {} : { csp: policy }, { file: "blocked-worker.html" });
    const ready = untilReady(element);
    document.body.append(element);
    afterThisTest(() => element.remove());
    return (await ready).outcomes;
  }

  it("connect and a call of a plain client reject within five seconds, because the worker has not started", async () => {
    const { connect, call } = await outcomes("script-src 'self' 'wasm-unsafe-eval'; worker-src 'none'");
    for (const { resolved, isCallError, name } of [connect, call]) {
      assert.isUndefined(resolved);
      // Some engines throw a SecurityError when the page creates the worker.
      assert.isTrue(isCallError || name === "SecurityError", name);
    }
    if (connect.isCallError) assert.deepEqual([connect.reason, call.reason], ["worker-failed", "peer-gone"]);
    assert.isBelow(connect.ms, 5_000);
    assert.isBelow(call.ms, 5_000);
  });
});
