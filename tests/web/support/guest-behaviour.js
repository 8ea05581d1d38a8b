// Tests of the behaviour that every guest must have on every platform.

import { assert } from "chai";
import { CALL, CLOSE, DATA, Host, OPEN, frame, concat } from "./guests.js";

/**
 * Registers the tests of a guest. `start` returns a running guest, or a promise of one. A guest is
 * `{ readable, writable, exited }`. `exited` is a promise of an object with the exit `code`.
 */
export function describeGuest(name, start) {
  describe(`${name}: a guest`, () => {
    /** Starts a guest, and waits for its OPEN frame. */
    async function opened() {
      const guest = await start();
      const host = new Host(guest);
      await host.nextOf(OPEN);
      return { guest, host };
    }

    it("responds to calls, and to an unknown method with an error", async () => {
      const { host } = await opened();
      assert.deepEqual(await host.call(1, "add", [2, 3]), { jsonrpc: "2.0", id: 1, result: 5 });
      assert.deepEqual(await host.call("two", "add", [5, -7]), { jsonrpc: "2.0", id: "two", result: -2 });
      const value = { text: 'ö 😀 "}\\', list: [[], {}, null] };
      assert.deepEqual(await host.call(3, "echo", value), { jsonrpc: "2.0", id: 3, result: value });
      assert.equal((await host.call(4, "missing")).error.code, -32601);
    });

    it("responds to an invalid call with an error, and to the next call with its result", async () => {
      const { host } = await opened();
      for (const [text, code] of [
        ["{", -32700],
        ['{"jsonrpc":"2.0","id":7}', -32600],
        ['{"id":7,"method":"add","params":[1,2]}', -32600],
        ['{"jsonrpc":"2.0","id":7,"method":"add","params":["1",2]}', -32602],
      ]) {
        await host.send(CALL, text);
        assert.equal((await host.answer()).error.code, code, text);
      }
      // A guest sends no response to a notification or to a response.
      await host.send(CALL, '{"jsonrpc":"2.0","method":"add","params":[1,2]}');
      await host.send(CALL, '{"jsonrpc":"2.0","id":1,"result":2}');
      assert.equal((await host.call(8, "add", [1, 1])).result, 2);
    });

    it("sends back data of any size", async () => {
      const { host } = await opened();
      for (const size of [0, 1, 65_535, 65_536, 5_000_000]) {
        const bytes = new Uint8Array(size).map((_, index) => index * 31);
        const sent = host.send(DATA, bytes);
        const back = await host.nextOf(DATA);
        await sent;
        assert.equal(back.length, size);
        assert.isTrue(back.every((byte, index) => byte === bytes[index]));
      }
    });

    it("receives a call of a MiB, and sends a response of a MiB", async () => {
      const { host } = await opened();
      const text = "0123456789abcdef".repeat(1 << 16);
      assert.isTrue((await host.call(1, "echo", [text])).result[0] === text);
    });

    it("responds to many small calls in their order, and prints whole lines outside of the frames", async () => {
      const { host } = await opened();
      const callCount = 1_000;
      const addCall = (id) => frame(CALL, JSON.stringify({ jsonrpc: "2.0", id, method: "add", params: [id, 1] }));
      const sent = host.write(concat(Array.from({ length: callCount }, (_, id) => addCall(id))));
      for (let id = 0; id < callCount; id++)
        assert.deepEqual(await host.answer(), { jsonrpc: "2.0", id, result: id + 1 });
      await sent;
      assert.match(host.text, /^[\s\S]*\n$/);
      assert.notInclude(host.text, "WIPC");
    });

    it("finds a frame that arrives byte by byte, after other bytes", async () => {
      const { host } = await opened();
      const call = frame(CALL, '{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}');
      for (const byte of concat([new TextEncoder().encode("noise WIWIPC\xff WW"), call]))
        await host.write(new Uint8Array([byte]));
      assert.equal((await host.answer()).result, 3);
    });

    for (const [when, end, codes = [0]] of [
      ["on CLOSE", (host) => host.send(CLOSE)],
      ["at the end of its input", (host) => host.endInput()],
      // The guest decides whether a truncated frame is a failure.
      [
        "at the end of its input in the middle of a frame",
        (host) => host.write(frame(DATA, "cut").subarray(0, 10)).then(() => host.endInput()),
        [0, 1],
      ],
    ]) {
      it(`ends ${when}`, async () => {
        const { guest, host } = await opened();
        await end(host);
        assert.include(codes, (await guest.exited).code);
        while (await host.next());
      });
    }
  });
}
