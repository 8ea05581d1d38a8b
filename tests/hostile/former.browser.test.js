// A document that was in the frame before. Its functions run on where a window of its origin has kept one: Firefox
// still delivers their messages, under the old origin, with the frame as the source. Other browsers deliver them
// without a source.

import { assert } from "chai";
import { connected } from "../web/support/connections.js";
import { pause } from "../web/support/outcomes.js";
import { origins, party } from "./support/parties.js";

/** A frame with a document of a friend, and a function by which the document before it, of `former`, sends a hello. */
async function scene(former) {
  const frame = await party(former);
  const sibling = await party(former);
  const index = Array.from(frames).indexOf(frame.window);
  await sibling.run((index) => {
    globalThis.postAsFormer = parent.frames[index].Function("target", "data", "target.postMessage(data, '*')");
  }, index);
  const hello = () =>
    sibling.run(() => {
      try {
        const params = { version: 1, channel: "", features: [] };
        postAsFormer(parent, message({ id: randomId(), method: "rpc.hello", params }));
      } catch {
        // WebKit does not run it.
      }
    });
  return { frame: await frame.go("friend"), hello };
}

describe("a document that was in the frame before", function () {
  this.timeout(30_000);

  for (const [former, origin] of [
    ["stranger", origins.friend],
    ["third", [origins.friend, origins.third]],
  ]) {
    it(`does not keep the present one from a session, if it is of ${former === "third" ? "another allowed origin" : "a stranger"}`, async () => {
      const { frame, hello } = await scene(former);
      const connecting = connected(frame.element, { origin, connectTimeout: 20_000 });
      await pause(50);
      await hello();
      await pause(200);
      await frame.run((origin) => void connectTo(parent, { origin }), origins.host);
      assert.deepEqual(await (await connecting).request("echo", [1]), [1]);
    });

    it(`ends no session of the present one, if it is of ${former === "third" ? "another allowed origin" : "a stranger"}`, async () => {
      const { frame, hello } = await scene(former);
      const events = [];
      const options = {
        onSession: ({ number }) => void events.push(number),
        onLost: ({ reason }) => void events.push(reason),
      };
      const connecting = connected(frame.element, { origin, connectTimeout: 20_000, ...options });
      await frame.run((origin) => void connectTo(parent, { origin }), origins.host);
      const peer = await connecting;
      for (let n = 0; n < 3; n++) {
        await hello();
        await pause(300);
      }
      // Longer than a peer may be silent that is asked.
      await pause(1_500);
      assert.deepEqual(await peer.request("echo", [2]), [2]);
      assert.deepEqual(events, [1]);
    });
  }
});
