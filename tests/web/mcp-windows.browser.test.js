// The dialect `mcp` between a page and an iframe, as a host and a view of MCP Apps use it.

import { assert } from "chai";
import { JSONRPCPeer, windowTransport } from "./support/portway.js";
import { openIframe, origins, scriptedIframe } from "./support/iframes.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

const kinds = {
  "of another origin": [{ origin: origins.other }, origins.other],
  "that is sandboxed": [{ sandbox: "allow-scripts" }, "null"],
};

for (const [kind, [options, origin]] of Object.entries(kinds)) {
  describe(`in the dialect mcp, a page and an iframe ${kind}`, () => {
    let host;
    let errors;

    beforeEach(async () => {
      errors = [];
      const { contentWindow } = await openIframe("mcp-frame.html", { ...options, query: { origin: origins.own } });
      host = new JSONRPCPeer(windowTransport(contentWindow, { origin }), {
        dialect: "mcp",
        onError: (error) => errors.push(error),
      });
      afterThisTest(() => host.destroy());
    });

    afterEach(() => assert.deepEqual(errors, []));

    it("exchange calls, progress and results without a value", async () => {
      assert.deepEqual(await host.request("ping"), {});
      const seen = [];
      const onProgress = (value) => seen.push(value);
      assert.deepEqual(await host.request("count", { to: 2 }, { onProgress }), { to: 2 });
      assert.deepEqual(seen, [
        { progress: 1, total: 2 },
        { progress: 2, total: 2 },
      ]);
      host.method("work", (_, { progress }) => progress(0.5));
      assert.deepEqual(await host.request("askParent", { method: "work", timeout: 0 }), {
        result: {},
        seen: [{ progress: 0.5 }],
      });
    });

    it("cancel each other's requests", async () => {
      const controller = new AbortController();
      const call = host.request("slow", {}, { signal: controller.signal });
      await host.request("ping");
      controller.abort(new Error("the user has left"));
      assert.equal((await rejection(call)).message, "the user has left");
      assert.deepEqual(await host.request("reasons"), { reasons: ["the user has left"] });
      let signal;
      host.method("never", (_, context) => ((signal = context.signal), new Promise(() => {})));
      assert.equal((await host.request("askParent", { method: "never", timeout: 50 })).reason, "timeout");
      await until(() => signal.aborted);
      assert.equal(signal.reason.message, "timeout");
    });
  });
}

it("in the dialect mcp, a page sends an iframe nothing before its first call, and no goodbye", async () => {
  const iframe = await scriptedIframe();
  const peer = new JSONRPCPeer(windowTransport(iframe.window), { dialect: "mcp" });
  await iframe.settled();
  assert.deepEqual(iframe.received, []);
  iframe.post({ jsonrpc: "2.0", id: 0, method: "ping" });
  await until(() => iframe.received.length > 0);
  peer.destroy();
  await iframe.settled();
  assert.deepEqual(iframe.received, [{ jsonrpc: "2.0", id: 0, result: {} }]);
});
