// A popup whose Cross-Origin-Opener-Policy separates the popup from its opener.

import { assert } from "chai";
import { connect, windowTransport, JSONRPCClient } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { iframeUrl, origins } from "./support/iframes.js";
import { recordListeners, countTimers } from "./support/connections.js";
import { rejection, until } from "./support/outcomes.js";

// WebKit opens no windows under its driver. In WebKit, this file has no tests.
const probe = window.open("about:blank", "_blank", "width=200,height=200");
probe?.close();

function popup(query, options) {
  const opened = window.open(iframeUrl(query, options), "_blank", "width=200,height=200");
  afterThisTest(() => opened.close());
  return opened;
}

if (probe !== null) {
  describe("a popup with a Cross-Origin-Opener-Policy", () => {
    for (const origin of ["own", "other"]) {
      it(`makes connect reject soon, and the error names the policy: a popup with the origin origins.${origin}`, async () => {
        const opened = popup({ isolated: 1 }, { origin: origins[origin] });
        const [listeners, timers] = [recordListeners(window), countTimers()];
        const start = performance.now();
        const { reason, message } = await rejection(connect(opened, { origin: origins[origin], connectTimeout: 0 }));
        assert.equal(reason, "peer-gone");
        assert.match(message, /Cross-Origin-Opener-Policy/);
        assert.isBelow(performance.now() - start, 5_000);
        assert.deepEqual(
          listeners.filter(([type]) => type === "message"),
          [],
        );
        await timers.allEnd();
      });
    }

    it("ends the pending calls of a plain client, and later calls fail at once", async () => {
      const opened = popup({ isolated: 1 });
      const client = new JSONRPCClient(windowTransport(opened), { timeout: 0 });
      afterThisTest(() => client.destroy());
      assert.equal((await rejection(client.request("a"))).reason, "peer-gone");
      await until(() => opened.closed);
      assert.equal((await rejection(client.request("b"))).reason, "peer-gone");
    });

    it("would connect without its policy", async () => {
      const peer = await connect(popup({}));
      afterThisTest(() => peer.destroy());
      assert.deepEqual(await peer.request("echo", [1]), [1]);
    });
  });
}
