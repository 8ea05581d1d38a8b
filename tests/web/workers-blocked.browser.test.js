// Workers that a Content-Security-Policy keeps from starting.

import { assert } from "chai";
import { JSONRPCClient, connect, workerTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { connected, listenersOf, countTimers } from "./support/connections.js";
import { iframeUrl, untilReady } from "./support/iframes.js";
import { rejection } from "./support/outcomes.js";
import { worker } from "./support/workers.js";

/** A worker whose own policy forbids the modules that it imports. */
function blocked(query) {
  const started = worker("worker.js", { csp: "script-src 'none'", ...query });
  // Else it is one of the page.
  started.addEventListener("error", (event) => event.preventDefault());
  return started;
}

describe("a worker whose policy blocks its modules", () => {
  it("has connect rejected with worker-failed, and leaves nothing behind", async () => {
    const started = blocked();
    const [listeners, timers] = [listenersOf(started), countTimers()];
    const { reason, message } = await rejection(connect(started, { connectTimeout: 0 }));
    assert.equal(reason, "worker-failed");
    assert.match(message, /has not started/);
    assert.deepEqual(listeners, []);
    await timers.allEnd();
  });

  it("has connect rejected, too, if it is slow", async () => {
    assert.equal((await rejection(connect(blocked({ delay: 200 }), { connectTimeout: 0 }))).reason, "worker-failed");
  });

  it("has the calls of a plain client rejected, those that wait and those that come later", async () => {
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

  it("differs from one whose policy allows them", async () => {
    const peer = await connected(worker("connect-worker.js", { csp: "script-src 'self' 'wasm-unsafe-eval'" }));
    assert.deepEqual(await peer.request("echo", [1]), [1]);
  });
});

describe("in a page whose policy forbids workers", () => {
  async function outcomes(policy) {
    const element = document.createElement("iframe");
    element.src = iframeUrl(policy === undefined ? {} : { csp: policy }, { file: "blocked-worker.html" });
    const ready = untilReady(element);
    document.body.append(element);
    afterThisTest(() => element.remove());
    return (await ready).outcomes;
  }

  it("connect and a plain call reject, and report that the worker has not started", async () => {
    const { connect, call } = await outcomes("script-src 'self' 'wasm-unsafe-eval'; worker-src 'none'");
    for (const { resolved, isCallError, name } of [connect, call]) {
      assert.isUndefined(resolved);
      // Some engines refuse to make such a worker at all.
      assert.isTrue(isCallError || name === "SecurityError", name);
    }
    if (connect.isCallError) assert.deepEqual([connect.reason, call.reason], ["worker-failed", "peer-gone"]);
    assert.isBelow(connect.ms, 5_000);
    assert.isBelow(call.ms, 5_000);
  });
});
