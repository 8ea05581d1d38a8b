// Measures the cost of one message over WIPC in JavaScript: the bytes in both directions, and the time for which the
// message blocks the event loop.

import { assert } from "chai";
import { afterThisTest } from "../web/support/cleanup.js";
import { JSONRPCServer } from "../web/support/portway.js";
import { CALL, WipcChannel, concat, encodeWipc, text, utf8 } from "../web/support/wipc.js";
import { check, rowsOf } from "./support/amplification.js";
import { longestTask } from "./support/measure.js";
import { engine } from "./support/parties.js";

const TRIES = 20;
const many = (count, make) => Array.from({ length: count }, (_, n) => make(n));
const message = (rest) => JSON.stringify({ jsonrpc: "2.0", ...rest });
const call = (payload) => encodeWipc(CALL, payload);

const kinds = {
  unknown: () => call(message({ id: 1, method: "no such method" })),
  longName: () => call(message({ id: 1, method: "x".repeat(900_000) })),
  longId: () => call(message({ id: "x".repeat(900_000), method: "swallow" })),
  batch: () => call(`[${many(1_000, (id) => message({ id, method: "no such method" })).join()}]`),
  garbage: () =>
    concat(many(1_000, (n) => call(["{", "x", "[1", '{"jsonrpc":"2.0"', "\u0000"][n % 5].padEnd(80, " x")))),
  noise: () => concat(many(100_000, () => utf8("WIPC\u0002\u007f\u007f\u007f\u0000"))),
};

/**
 * Creates a server in a WIPC host. The test acts as the guest. Returns a function that writes bytes to the host, and
 * resolves to the number of bytes in all responses.
 */
function startAttackedServer() {
  const input = new TransformStream();
  let bytesOut = 0;
  let onLast;
  const output = new WritableStream({
    write(bytes) {
      bytesOut += bytes.length;
      if (bytes.length < 1_000 && text(bytes).includes('"last"')) onLast();
    },
  });
  // The decoder handles a header with a length above `maxPayload` as passthrough. The headers of the kind `noise` have
  // lengths above `maxPayload`.
  const channel = new WipcChannel(
    { readable: input.readable, writable: output },
    { role: "host", maxPayload: 2_000_000, onPassthrough() {}, onError() {} },
  );
  const server = new JSONRPCServer(channel.transport(), { onError() {} }).method("swallow", () => null);
  afterThisTest(() => server.destroy());
  const writer = input.writable.getWriter();
  return async (bytes) => {
    bytesOut = 0;
    const last = new Promise((resolve) => (onLast = resolve));
    await writer.write(bytes);
    await writer.write(call(message({ id: "last", method: "no such method" })));
    await last;
    return bytesOut;
  };
}

describe("the cost of one message of a peer over WIPC", function () {
  this.timeout(30_000);

  for (const row of rowsOf("wipc")) {
    it(row.what, async () => {
      const bytes = kinds[row.id]();
      const attack = startAttackedServer();
      let ms = Infinity;
      let bytesOut;
      for (let n = 0; n < TRIES && ms > row.blocks; n++) {
        const task = longestTask();
        bytesOut = await attack(bytes);
        ms = Math.min(ms, task.stop());
      }
      check(row, { bytesIn: bytes.length, bytesOut, ms }, engine === "node");
      assert.isAbove(bytesOut, 0);
    });
  }
});
