// What every guest does that answers calls, wherever it runs.

import { assert } from "chai";
import { CALL, CLOSE, DATA, Host, OPEN, frame, joined } from "./guests.js";

/** `start` gives a guest that runs: its streams and how it ends. `code` is its exit code, undefined if it has none. */
export function describeGuest(name, start) {
  describe(`${name}: a guest`, () => {
    async function opened() {
      const guest = await start();
      const host = new Host(guest);
      await host.nextOf(OPEN);
      return { guest, host };
    }

    it("answers calls, and says of a method that it is unknown", async () => {
      const { host } = await opened();
      assert.deepEqual(await host.call(1, "add", [2, 3]), { jsonrpc: "2.0", id: 1, result: 5 });
      assert.deepEqual(await host.call("two", "add", [5, -7]), { jsonrpc: "2.0", id: "two", result: -2 });
      const value = { text: 'ö 😀 "}\\', list: [[], {}, null] };
      assert.deepEqual(await host.call(3, "echo", value), { jsonrpc: "2.0", id: 3, result: value });
      assert.equal((await host.call(4, "missing")).error.code, -32601);
    });

    it("says what is wrong with a call, and answers the next", async () => {
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
      // Neither is answered.
      await host.send(CALL, '{"jsonrpc":"2.0","method":"add","params":[1,2]}');
      await host.send(CALL, '{"jsonrpc":"2.0","id":1,"result":2}');
      assert.equal((await host.call(8, "add", [1, 1])).result, 2);
    });

    it("gives back data of any size", async () => {
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

    it("takes and gives calls of a MiB", async () => {
      const { host } = await opened();
      const text = "0123456789abcdef".repeat(1 << 16);
      assert.isTrue((await host.call(1, "echo", [text])).result[0] === text);
    });

    it("answers many small calls in their order, and may print between them", async () => {
      const { host } = await opened();
      const calls = 1_000;
      const one = (id) => frame(CALL, JSON.stringify({ jsonrpc: "2.0", id, method: "add", params: [id, 1] }));
      const sent = host.write(joined(Array.from({ length: calls }, (_, id) => one(id))));
      for (let id = 0; id < calls; id++) assert.deepEqual(await host.answer(), { jsonrpc: "2.0", id, result: id + 1 });
      await sent;
      assert.match(host.text, /^[\s\S]*\n$/);
      assert.notInclude(host.text, "WIPC");
    });

    it("finds frames that come byte by byte, and behind what is none", async () => {
      const { host } = await opened();
      const call = frame(CALL, '{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}');
      for (const byte of joined([new TextEncoder().encode("noise WIWIPC\xff WW"), call]))
        await host.write(new Uint8Array([byte]));
      assert.equal((await host.answer()).result, 3);
    });

    for (const [end, say, codes = [0]] of [
      ["when it is told to close", (host) => host.send(CLOSE)],
      ["at the end of its input", (host) => host.endInput()],
      // Whether that is a failure is the guest's to say.
      [
        "at the end of its input within a frame",
        (host) => host.write(frame(DATA, "cut").subarray(0, 10)).then(() => host.endInput()),
        [0, 1],
      ],
    ]) {
      it(`ends ${end}`, async () => {
        const { guest, host } = await opened();
        await say(host);
        assert.include(codes, (await guest.exited).code);
        while (await host.next());
      });
    }
  });
}
