// Tests messages of the former document of an iframe. Another window of the same origin can keep a function of this
// document, and call the function later. Firefox delivers the messages of such a function with the old origin, and with
// the iframe as the source. Chromium delivers these messages without a source. WebKit does not run such a function.

import { assert } from "chai";
import { connected } from "../web/support/connections.js";
import { pause } from "../web/support/outcomes.js";
import { origins, party } from "./support/parties.js";

/**
 * Opens an iframe with a document of the party `former`, and replaces this document by a document of the friend.
 * `hello` sends a hello with a function of the former document.
 */
async function openWithFormerDocument(former) {
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
        // WebKit does not run functions of a former document.
      }
    });
  return { frame: await frame.load("friend"), hello };
}

describe("the former document of an iframe", function () {
  this.timeout(30_000);

  for (const [former, origin] of [
    ["stranger", origins.friend],
    ["third", [origins.friend, origins.third]],
  ]) {
    it(`does not prevent a session of the new document, if the former origin is ${former === "third" ? "also allowed" : "not allowed"}`, async () => {
      const { frame, hello } = await openWithFormerDocument(former);
      const connecting = connected(frame.element, { origin, connectTimeout: 20_000 });
      await pause(50);
      await hello();
      await pause(200);
      await frame.run((origin) => void connectTo(parent, { origin }), origins.host);
      assert.deepEqual(await (await connecting).request("echo", [1]), [1]);
    });

    it(`does not end the session of the new document, if the former origin is ${former === "third" ? "also allowed" : "not allowed"}`, async () => {
      const { frame, hello } = await openWithFormerDocument(former);
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
      // A session ends if its peer does not answer a ping in time. This pause is longer than that time.
      await pause(1_500);
      assert.deepEqual(await peer.request("echo", [2]), [2]);
      assert.deepEqual(events, [1]);
    });
  }
});
