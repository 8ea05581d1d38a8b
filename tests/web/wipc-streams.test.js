// The codec of WIPC as two transform streams.

import { assert } from "chai";
import {
  CALL,
  DATA,
  OPEN,
  WipcDecoderStream,
  WipcEncoderStream,
  concat,
  encodeWipc,
  hex,
  text,
  utf8,
} from "./support/wipc.js";
import { pause, rejection } from "./support/outcomes.js";

function streamOf(parts) {
  return new ReadableStream({
    pull(controller) {
      if (parts.length === 0) controller.close();
      else controller.enqueue(parts.shift());
    },
  });
}

async function all(readable) {
  const items = [];
  const reader = readable.getReader();
  for (let next; !(next = await reader.read()).done; ) items.push(next.value);
  return items;
}

describe("WipcDecoderStream", () => {
  it("returns the frames, and passes other bytes to its hooks", async () => {
    const events = [];
    const bytes = concat([
      utf8("hi"),
      encodeWipc(OPEN),
      encodeWipc(DATA, "abc"),
      encodeWipc(CALL, "never").subarray(0, 11),
    ]);
    const hooks = { passthrough: (bytes) => events.push(text(bytes)), truncated: (size) => events.push(size) };
    const pieces = Array.from(bytes, (byte) => Uint8Array.of(byte));
    const frames = await all(streamOf(pieces).pipeThrough(new WipcDecoderStream(hooks)));
    assert.deepEqual(
      frames.map(({ type, payload }) => [type, text(payload)]),
      [
        [OPEN, ""],
        [DATA, "abc"],
      ],
    );
    assert.equal(events.at(-1), 11);
    assert.equal(events.slice(0, -1).join(""), `hi${text(encodeWipc(CALL, "never").subarray(0, 11))}`);
  });

  it("has the limit of its option maxPayload", async () => {
    const stream = new WipcDecoderStream({ maxPayload: 2 });
    const frames = await all(streamOf([encodeWipc(DATA, "abc"), encodeWipc(DATA, "ab")]).pipeThrough(stream));
    assert.deepEqual(
      frames.map(({ payload }) => text(payload)),
      ["ab"],
    );
    assert.throws(() => new WipcDecoderStream({ maxPayload: -1 }), RangeError);
  });

  it("reads only a few chunks before its reader requests them", async () => {
    let pulled = 0;
    const source = new ReadableStream({ pull: (controller) => controller.enqueue(encodeWipc(DATA, String(pulled++))) });
    const reader = source.pipeThrough(new WipcDecoderStream()).getReader();
    await reader.read();
    await pause(30);
    assert.isBelow(pulled, 10);
    await reader.cancel();
  });

  it("fails with the error that a hook throws", async () => {
    const passthrough = () => {
      throw new Error("oh no");
    };
    const error = await rejection(all(streamOf([utf8("text")]).pipeThrough(new WipcDecoderStream({ passthrough }))));
    assert.equal(error.message, "oh no");
  });
});

describe("WipcEncoderStream", () => {
  it("returns one chunk for each frame", async () => {
    const chunks = await all(
      streamOf([{ type: OPEN }, { type: DATA, payload: "abc" }]).pipeThrough(new WipcEncoderStream()),
    );
    assert.deepEqual(chunks.map(hex), [hex(encodeWipc(OPEN)), hex(encodeWipc(DATA, "abc"))]);
  });

  it("fails for a value that is not a frame", async () => {
    const error = await rejection(all(streamOf([{ type: 9 }]).pipeThrough(new WipcEncoderStream())));
    assert.instanceOf(error, RangeError);
  });

  it("and WipcDecoderStream in sequence return the written frames", async () => {
    const encoder = new WipcEncoderStream();
    const frames = all(encoder.readable.pipeThrough(new WipcDecoderStream()));
    const writer = encoder.writable.getWriter();
    const sent = Array.from({ length: 100 }, (_, n) => ({ type: n % 4, payload: new Uint8Array(n * n).fill(n) }));
    for (const frame of sent) writer.write(frame).catch(() => {});
    writer.close();
    assert.deepEqual(await frames, sent);
  });
});
