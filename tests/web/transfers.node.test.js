// If the transfer list contains the memory of a wasm module, Node sends a copy. Browsers refuse such a list.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer } from "./support/portway.js";
import { channel } from "./support/transports.js";

/**
 * Returns a client. The methods of its server read received bytes (`take`), and return bytes in a memory (`give`).
 * `notes` has the first byte of each received notification.
 */
function taking() {
  const { near, far } = channel();
  const notes = [];
  new JSONRPCServer(far)
    .method("take", ({ bytes }) => [bytes.byteLength, bytes[0]])
    .method("give", (_, { transfer }) => {
      const { buffer } = filled();
      transfer([buffer]);
      return new Uint8Array(buffer);
    })
    .onNotify("take", ({ bytes }) => void notes.push(bytes[0]));
  return { client: new JSONRPCClient(near), notes };
}

/** Returns a memory whose first byte is 7. */
function filled(initial = 1) {
  const memory = new WebAssembly.Memory({ initial });
  if (initial > 0) new Uint8Array(memory.buffer)[0] = 7;
  return memory;
}

describe("the memory of a wasm module in a transfer list", () => {
  it("is copied, keeps its content, and can still grow", async () => {
    const { client } = taking();
    const memory = filled();
    const bytes = new Uint8Array(memory.buffer);
    assert.deepEqual(await client.request("take", { bytes }, { transfer: [memory.buffer] }), [65_536, 7]);
    assert.deepEqual([bytes.byteLength, memory.buffer.byteLength], [65_536, 65_536]);
    memory.grow(1);
    assert.equal(memory.buffer.byteLength, 2 * 65_536);
  });

  it("does not prevent the transfer of other buffers in the list, in any order", async () => {
    for (const memory of [filled(), filled(2)]) {
      for (const reversed of [false, true]) {
        const { client } = taking();
        const others = [8, 65_536, 65_536 * 4].map((length) => new ArrayBuffer(length));
        const bytes = new Uint8Array(memory.buffer);
        const list = [memory.buffer, ...others];
        await client.request("take", { bytes, others }, { transfer: reversed ? list.reverse() : list });
        assert.deepEqual(
          others.map(({ byteLength }) => byteLength),
          [0, 0, 0],
        );
        assert.equal(bytes[0], 7);
      }
    }
  });

  it("is also copied in the transfer lists of a notification and of a result", async () => {
    const { client, notes } = taking();
    const memory = filled();
    client.notify("take", { bytes: new Uint8Array(memory.buffer) }, { transfer: [memory.buffer] });
    const result = await client.request("give");
    assert.deepEqual([notes, result.byteLength, result[0], memory.buffer.byteLength], [[7], 65_536, 7, 65_536]);
    assert.equal(client.pending, 0);
  });
});
