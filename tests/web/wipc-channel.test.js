// Tests of `WipcChannel`: frames, the bytes between frames, CLOSE, and the ways in which a channel ends.

import { assert } from "chai";
import {
  CALL,
  CLOSE,
  DATA,
  OPEN,
  WipcChannel,
  assertClosed,
  channels,
  concat,
  encodeWipc,
  parseWipcJSON,
  pipes,
  scriptedPipe,
  text,
  utf8,
} from "./support/wipc.js";
import { JSONRPCServer } from "./support/portway.js";
import { isPending, pause, until } from "./support/outcomes.js";
import { printed } from "./support/console.js";

/** Returns hooks that record their arguments as events. */
function recordHooks(events = []) {
  const record = (name) => (argument) =>
    void events.push([name, typeof argument === "number" ? argument : text(argument)]);
  const hooks = Object.fromEntries(
    ["onOpen", "onClose", "onCall", "onData", "onPassthrough", "onTruncated"].map((name) => [name, record(name)]),
  );
  return { events, hooks };
}

describe("a WIPC channel", () => {
  for (const [from, to] of [
    ["host", "guest"],
    ["guest", "host"],
  ]) {
    it(`transmits frames of every type from ${from} to ${to}, in order`, async () => {
      const { events, hooks } = recordHooks();
      const sides = channels(to === "host" ? hooks : {}, to === "guest" ? hooks : {});
      await sides[from].send(OPEN, "1");
      sides[from].send(CALL, utf8("2"));
      sides[from].send(DATA, utf8("3").buffer);
      sides[from].sendJSON(CALL, { n: 4 });
      sides[from].send(DATA);
      sides[from].close("5");
      await until(() => events.length === 6);
      assert.deepEqual(events, [
        ["onOpen", "1"],
        ["onCall", "2"],
        ["onData", "3"],
        ["onCall", '{"n":4}'],
        ["onData", ""],
        ["onClose", "5"],
      ]);
    });
  }

  it("passes on the bytes outside of frames, and reports the size of a truncated frame", async () => {
    const { events, hooks } = recordHooks();
    const pipe = scriptedPipe(hooks);
    const cut = encodeWipc(DATA, "never").subarray(0, 11);
    pipe.postBytes(concat([utf8("one"), encodeWipc(DATA, "2"), utf8("three"), encodeWipc(DATA, "4"), cut]));
    pipe.end();
    assert.deepEqual(await pipe.channel.ended, { closed: false, error: undefined });
    assert.deepEqual(events, [
      ["onPassthrough", "one"],
      ["onData", "2"],
      ["onPassthrough", "three"],
      ["onData", "4"],
      ["onPassthrough", text(cut.subarray(0, 9))],
      ["onPassthrough", "ne"],
      ["onTruncated", 11],
    ]);
  });

  it("writes each frame in one chunk, and waits until the peer reads", async () => {
    const [near, far] = pipes();
    const channel = new WipcChannel(near);
    const written = [channel.send(DATA, "1"), channel.send(DATA, "2")];
    assert.isTrue(await isPending(written[1]));
    const reader = far.readable.getReader();
    assert.deepEqual((await reader.read()).value, encodeWipc(DATA, "1"));
    assert.deepEqual((await reader.read()).value, encodeWipc(DATA, "2"));
    await Promise.all(written);
    channel.destroy();
  });

  it("sends a hundred thousand frames in one turn, in order", async () => {
    let next = 0;
    let isInOrder = true;
    const { host } = channels(
      {},
      { onData: (payload) => (isInOrder &&= new DataView(payload.buffer, payload.byteOffset).getUint32(0) === next++) },
    );
    for (let n = 0; n < 100_000; n++) {
      const payload = new DataView(new ArrayBuffer(4));
      payload.setUint32(0, n);
      host.send(DATA, payload);
    }
    await until(() => next === 100_000 || !isInOrder);
    assert.isTrue(isInOrder);
  });

  it("refuses invalid frames before it writes anything, and still works", async () => {
    const pipe = scriptedPipe();
    const { channel } = pipe;
    assert.throws(() => channel.send(4), RangeError);
    assert.throws(() => channel.send(DATA, {}), TypeError);
    assert.throws(() => channel.sendJSON(CALL, undefined), TypeError);
    assert.throws(() => channel.sendJSON(CALL, 1n), TypeError);
    assert.throws(() => channel.close({}), TypeError);
    await channel.send(DATA, "right");
    channel.close();
    await until(() => pipe.output.isEnded);
    assert.deepEqual(pipe.frames, [
      [DATA, "right"],
      [CLOSE, ""],
    ]);
  });

  it("throws for invalid options", () => {
    const [near] = pipes();
    for (const streams of [undefined, {}, { readable: near.readable }, { readable: 1, writable: 2 }]) {
      assert.throws(() => new WipcChannel(streams), TypeError, "readable");
    }
    assert.throws(() => new WipcChannel(near, { role: "server" }), TypeError, "server");
    assert.throws(() => new WipcChannel(near, { headerTimeout: -1 }), RangeError, "headerTimeout");
    assert.throws(() => new WipcChannel(near, { closeTimeout: "long" }), RangeError, "closeTimeout");
    assert.throws(() => new WipcChannel(near, { maxPayload: 2 ** 32 }), RangeError, "maxPayload");
    assert.isFalse(near.readable.locked);
  });

  it("reports errors that its hooks throw, and continues", async () => {
    const errors = [];
    const seen = [];
    const pipe = scriptedPipe({
      onError: (error) => errors.push(error.name),
      onCall: (payload) => seen.push(parseWipcJSON(payload)),
      async onData() {
        throw new TypeError("late");
      },
    });
    await pipe.postBytes(concat([encodeWipc(CALL, "{"), encodeWipc(DATA, ""), encodeWipc(CALL, '"right"')]));
    await until(() => errors.length === 2);
    assert.deepEqual([errors, seen], [["SyntaxError", "TypeError"], ["right"]]);
  });

  it("prints errors if there is no onError, and prints errors that onError throws", async () => {
    const lines = await printed(async (lines) => {
      const onData = () => {
        throw new Error("oh no");
      };
      const onError = () => {
        throw new Error("oh no, too");
      };
      await scriptedPipe({ onData }).post(DATA);
      await until(() => lines.length === 1);
      await scriptedPipe({ onData, onError }).post(DATA);
      await until(() => lines.length === 3);
    });
    assert.include(lines[0], "oh no");
    assert.include(lines[1], "oh no, too");
  });

  it("prints the rejection of an asynchronous onError", async () => {
    const lines = await printed(async (lines) => {
      const onData = () => {
        throw new Error("oh no");
      };
      await scriptedPipe({ onData, onError: () => Promise.reject(new Error("oh no, too")) }).post(DATA);
      await until(() => lines.length === 2);
    });
    assert.deepEqual(lines, ["portway: Error: oh no, too", "portway: Error: oh no"]);
  });

  it("abandons a header whose payload does not arrive within headerTimeout", async () => {
    const { events, hooks } = recordHooks();
    const pipe = scriptedPipe({ ...hooks, headerTimeout: 50 });
    const falseMagic = concat([encodeWipc(DATA).subarray(0, 5), utf8(" is\n")]);
    await pipe.postBytes(concat([falseMagic, encodeWipc(DATA, "1")]));
    await pipe.post(DATA, "2");
    await until(() => events.filter(([name]) => name === "onData").length === 2);
    assert.deepEqual(
      events.filter(([name]) => name === "onData"),
      [
        ["onData", "1"],
        ["onData", "2"],
      ],
    );
    assert.equal(
      events
        .filter(([name]) => name === "onPassthrough")
        .map(([, bytes]) => bytes)
        .join(""),
      text(falseMagic),
    );
  });

  it("waits for a payload without a time limit if headerTimeout is not set", async () => {
    const { events, hooks } = recordHooks();
    const pipe = scriptedPipe(hooks);
    const frame = encodeWipc(DATA, "abc");
    await pipe.postBytes(frame.subarray(0, 10));
    await pause(100);
    await pipe.postBytes(frame.subarray(10));
    await until(() => events.length === 1);
    assert.deepEqual(events, [["onData", "abc"]]);
  });
});

describe("CLOSE", () => {
  it("ends the output of a host that receives it, but the host still delivers later frames of the guest", async () => {
    const { events, hooks } = recordHooks();
    const pipe = scriptedPipe(hooks);
    await pipe.postBytes(concat([encodeWipc(CLOSE, "bye"), encodeWipc(DATA, "1")]));
    await pipe.post(DATA, "2");
    await until(() => events.length === 3);
    assert.deepEqual(events, [
      ["onClose", "bye"],
      ["onData", "1"],
      ["onData", "2"],
    ]);
    assertClosed(() => pipe.channel.send(DATA), "closed-by-peer");
    await until(() => pipe.output.isEnded);
    assert.deepEqual(pipe.frames, []);
    pipe.end();
    assert.deepEqual(await pipe.channel.ended, { closed: true, error: undefined });
  });

  it("closes the output of a host once, and is reported once, if it arrives repeatedly", async () => {
    const { events, hooks } = recordHooks();
    const [near, far] = pipes();
    const writer = near.writable.getWriter();
    const close = writer.close.bind(writer);
    let closed = 0;
    writer.close = () => ((closed += 1), close());
    const channel = new WipcChannel({ readable: near.readable, writable: { getWriter: () => writer } }, hooks);
    far.writable
      .getWriter()
      .write(concat([...Array(100).fill(encodeWipc(CLOSE)), encodeWipc(DATA, "late")]))
      .catch(() => {});
    await until(() => events.length > 1);
    await pause(20);
    assert.deepEqual([closed, events.length], [1, 2]);
    channel.destroy();
  });

  it("does not end the output of a guest, which can still send its last messages", async () => {
    const { events, hooks } = recordHooks();
    const pipe = scriptedPipe({ ...hooks, role: "guest" });
    await pipe.post(CLOSE);
    pipe.end();
    await pipe.channel.ended;
    await pipe.channel.send(DATA, "still here");
    pipe.channel.close();
    await until(() => pipe.output.isEnded);
    assert.deepEqual(pipe.frames, [
      [DATA, "still here"],
      [CLOSE, ""],
    ]);
    assertClosed(() => pipe.channel.send(DATA), "closed");
    assert.deepEqual(events, [["onClose", ""]]);
  });

  it("is sent once, as the last frame, and the channel then ends when the peer ends its output", async () => {
    const pipe = scriptedPipe({ closeTimeout: 0 });
    pipe.channel.send(DATA, "1");
    const ended = pipe.channel.close("bye");
    assert.equal(pipe.channel.close("again"), ended);
    assertClosed(() => pipe.channel.send(DATA), "closed");
    await until(() => pipe.output.isEnded);
    assert.deepEqual(pipe.frames, [
      [DATA, "1"],
      [CLOSE, "bye"],
    ]);
    assert.isTrue(await isPending(ended));
    pipe.end();
    // `closed` is true only if the peer has sent CLOSE.
    assert.deepEqual(await ended, { closed: false, error: undefined });
  });

  it("may be sent by send()", async () => {
    const pipe = scriptedPipe();
    pipe.channel.send(CLOSE, "bye");
    await until(() => pipe.output.isEnded);
    assert.deepEqual(pipe.frames, [[CLOSE, "bye"]]);
  });

  it("ends the channel after closeTimeout if the peer does not end its output", async () => {
    const start = performance.now();
    await scriptedPipe({ closeTimeout: 60 }).channel.close();
    assert.isAtLeast(performance.now() - start, 50);
    await scriptedPipe().channel.close("", { timeout: 60 });
    assert.isBelow(performance.now() - start, 1_500);
    assert.throws(() => scriptedPipe().channel.close("", { timeout: -1 }), RangeError);
  });
});

describe("a WIPC channel whose input or output ends, or that is destroyed", () => {
  it("refuses to send frames after its input has ended", async () => {
    const pipe = scriptedPipe();
    pipe.end();
    assert.deepEqual(await pipe.channel.ended, { closed: false, error: undefined });
    assertClosed(() => pipe.channel.send(DATA), "ended");
  });

  it("reports the error if its input fails, and then refuses to send frames", async () => {
    const pipe = scriptedPipe();
    const error = new Error("the wire is cut");
    pipe.fail(error);
    assert.deepEqual(await pipe.channel.ended, { closed: false, error });
    assertClosed(() => pipe.channel.send(DATA), "ended");
  });

  it("refuses to send frames after its output has failed, but still reads", async () => {
    const seen = [];
    const [near, far] = pipes();
    const channel = new WipcChannel(near, { onData: (payload) => seen.push(text(payload)) });
    await far.readable.cancel(new Error("not interested"));
    await until(() => {
      try {
        return void channel.send(DATA);
      } catch {
        return true;
      }
    });
    assertClosed(() => channel.send(DATA), "ended");
    const writer = far.writable.getWriter();
    await writer.write(encodeWipc(DATA, "still here"));
    await until(() => seen.length === 1);
    channel.destroy();
  });

  it("reports an error if its input delivers a value that is not bytes, and continues to read", async () => {
    const errors = [];
    const seen = [];
    const pipe = scriptedPipe({
      onError: (error) => errors.push(error.message),
      onData: (payload) => seen.push(text(payload)),
    });
    await pipe.postBytes("text");
    await pipe.post(DATA, "1");
    await until(() => seen.length === 1);
    assert.lengthOf(errors, 1);
    assert.include(errors[0], "Uint8Array");
  });

  it("delivers no further frame after a hook or a handler has destroyed it, not even of the same chunk", async () => {
    for (const role of ["host", "guest"]) {
      for (const type of [DATA, CALL]) {
        let handled = 0;
        const take = () => {
          handled += 1;
          if (handled === 5) pipe.channel.destroy();
        };
        const pipe = scriptedPipe({ role, onData: take });
        if (type === CALL) new JSONRPCServer(pipe.channel.transport(), { onError() {} }).method("take", take);
        const frame = encodeWipc(type, '{"jsonrpc":"2.0","method":"take","id":1}');
        pipe.postBytes(concat(Array.from({ length: 100 }, () => frame))).catch(() => {});
        await pipe.channel.ended;
        await pause(20);
        assert.equal(handled, 5);
      }
    }
  });

  it("does not deliver the frame after the text if onPassthrough destroys the channel", async () => {
    for (const type of [OPEN, DATA, CALL, CLOSE]) {
      const { events, hooks } = recordHooks();
      const pipe = scriptedPipe({ ...hooks, onPassthrough: () => pipe.channel.destroy() });
      pipe.postBytes(concat([utf8("text"), encodeWipc(type, "{}")])).catch(() => {});
      await pipe.channel.ended;
      await pause(20);
      assert.deepEqual(events, []);
    }
  });

  it("does not report a truncated frame if the application destroys the channel", async () => {
    const { events, hooks } = recordHooks();
    const pipe = scriptedPipe(hooks);
    await pipe.postBytes(encodeWipc(DATA, "x".repeat(100)).subarray(0, 50));
    await pause(20);
    pipe.channel.destroy();
    await pipe.channel.ended;
    await pause(20);
    assert.deepEqual(events, []);
  });

  it("runs no handler for buffered calls after a handler has destroyed the channel", async () => {
    for (const frameCount of [500, 9_900]) {
      let handled = 0;
      const pipe = scriptedPipe();
      const transport = pipe.channel.transport();
      const frame = encodeWipc(CALL, '{"jsonrpc":"2.0","method":"take","id":1}');
      await pipe.postBytes(concat(Array.from({ length: frameCount }, () => frame)));
      await pause(100);
      new JSONRPCServer(transport, { onError() {} }).method("take", () => {
        if (++handled === 3) pipe.channel.destroy();
      });
      // More frames arrive while the handler runs.
      for (let n = 0; n < frameCount; n++) pipe.postBytes(frame).catch(() => {});
      await pipe.channel.ended;
      await pause(50);
      assert.equal(handled, 3);
    }
  });

  it("aborts the running handlers and becomes idle when it is destroyed, even if its input has already ended", async () => {
    for (const role of ["host", "guest"]) {
      for (const endsFirst of [false, true]) {
        const pipe = scriptedPipe({ role });
        let signal;
        new JSONRPCServer(pipe.channel.transport()).method(
          "hang",
          (params, context) => ((signal = context.signal), new Promise(() => {})),
        );
        await pipe.post(CALL, '{"jsonrpc":"2.0","method":"hang","id":1}');
        await until(() => signal !== undefined);
        if (endsFirst) {
          pipe.end();
          await pipe.channel.ended;
        }
        pipe.channel.destroy();
        await pipe.channel.ended;
        assert.isFalse(await isPending(pipe.channel.idle()));
        assert.isTrue(signal.aborted);
      }
    }
  });

  it("ends at once when it is destroyed", async () => {
    const pipe = scriptedPipe();
    pipe.channel.destroy();
    pipe.channel.destroy();
    assert.deepEqual(await pipe.channel.ended, { closed: false, error: undefined });
    assertClosed(() => pipe.channel.send(DATA), "destroyed");
    assert.isTrue(pipe.streams.readable.locked);
  });
});
