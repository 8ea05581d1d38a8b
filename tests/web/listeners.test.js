// Callbacks of the application: an error that a callback throws is reported or printed, and has no other effect.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer } from "./support/portway.js";
import { channel } from "./support/transports.js";
import { printed } from "./support/console.js";
import { until } from "./support/outcomes.js";

function fail(text) {
  throw new Error(text);
}

describe("a callback that fails", () => {
  for (const [how, failCallback] of [
    ["throws", fail],
    ["rejects", async (text) => fail(text)],
  ]) {
    it(`does not end a call or the link if it ${how}: onProgress, onNotify and onError`, async () => {
      const { near, far } = channel();
      const lines = await printed(async (lines) => {
        const onError = () => failCallback("of onError");
        const server = new JSONRPCServer(far, { onError }).onNotify("note", () => failCallback("of onNotify"));
        server.method("work", (params, context) => {
          context.progress(1);
          return "done";
        });
        const client = new JSONRPCClient(near, { onError });
        client.notify("note");
        assert.equal(await client.request("work", [], { onProgress: () => failCallback("of onProgress") }), "done");
        assert.equal(await client.request("work"), "done");
        await until(() => lines.length === 4);
      });
      // The callbacks of onNotify and onProgress fail, and then onError fails for each of these two errors.
      const expected = ["onError", "onError", "onNotify", "onProgress"].map((name) => `portway: Error: of ${name}`);
      assert.deepEqual(lines.sort(), expected);
    });
  }
});
