// The encoder and the decoder of WIPC frames. The cases are in `tests/data/wipc-vectors.json`, which the native tests
// also run.

import { assert } from "chai";
import { inNode } from "./support/portway.js";
import {
  CALL,
  CLOSE,
  DATA,
  OPEN,
  WipcDecoder,
  WipcType,
  concat,
  decoded,
  encodeWipc,
  hex,
  recordingDecoder,
  parseWipcJSON,
  randomNumbers,
  reference,
  split,
  text,
  unhex,
  utf8,
} from "./support/wipc.js";

const vectors = await load("wipc-vectors.json");

async function load(file) {
  const url = new URL(`../data/${file}`, import.meta.url);
  if (!inNode) return (await fetch(url)).json();
  const { readFile } = await import("node:fs/promises");
  return JSON.parse(await readFile(url, "utf8"));
}

describe("the decoder of WIPC", () => {
  for (const { name, pieces, maxPayload, frames, passthrough, truncated } of vectors) {
    const bytes = pieces.map(unhex);
    const expected = { frames, passthrough, truncated };

    it(`${name}`, () => assert.deepEqual(decoded(bytes, { maxPayload }), expected));

    it(`${name}, in other splits`, () => {
      const whole = concat(bytes);
      assert.deepEqual(decoded([whole], { maxPayload }), expected);
      for (let at = 1; at < whole.length; at++) {
        assert.deepEqual(
          decoded([whole.subarray(0, at), whole.subarray(at)], { maxPayload }),
          expected,
          `split at ${at}`,
        );
      }
      assert.deepEqual(
        decoded(
          Array.from(whole, (_, at) => whole.subarray(at, at + 1)),
          { maxPayload },
        ),
        expected,
      );
      assert.deepEqual(reference(whole, maxPayload), expected, "the result of the reference decoder");
    });
  }

  it("finds the same frames as the reference decoder in 10 000 random streams that are split at random", () => {
    const random = randomNumbers(1);
    const fragments = ["W", "WI", "WIP", "WIPC", "C", "x", "\n", "\0", "\x01", "\x02", "\x03", "\x04"].map(utf8);
    let frames = 0;
    let truncated = 0;
    for (let run = 0; run < 10_000; run++) {
      const parts = Array.from({ length: random(12) }, () => {
        switch (random(4)) {
          case 0:
            return encodeWipc(
              random(4),
              concat(Array.from({ length: random(6) }, () => fragments[random(fragments.length)])),
            );
          case 1: {
            const frame = encodeWipc(random(4), new Uint8Array(random(30)));
            return frame.subarray(0, random(frame.length + 1));
          }
          case 2: {
            const frame = encodeWipc(DATA, "abc");
            frame[random(frame.length)] = random(256);
            return frame;
          }
          default:
            return fragments[random(fragments.length)];
        }
      });
      const bytes = concat(parts);
      const maxPayload = [undefined, 0, 5, 1_000, 2 ** 24][random(5)];
      const expected = reference(bytes, maxPayload);
      const context = `run ${run}: ${hex(bytes)}, maxPayload ${maxPayload}`;
      assert.deepEqual(decoded([bytes], { maxPayload }), expected, context);
      assert.deepEqual(decoded(split(bytes, random), { maxPayload }), expected, context);
      frames += expected.frames.length;
      truncated += expected.truncated === undefined ? 0 : 1;
    }
    assert.isAbove(frames, 10_000, "too few frames in the streams");
    assert.isAbove(truncated, 1_000, "too few streams end in the middle of a frame");
  });

  it("delivers a payload as a view if one chunk contains the frame, and as a copy if two chunks contain the payload", () => {
    const frame = encodeWipc(DATA, "abcdef");
    const payloads = [];
    const decoder = new WipcDecoder({ frame: (_, payload) => payloads.push(payload) });
    decoder.push(frame);
    for (const piece of [frame.slice(0, 4), frame.slice(4)]) decoder.push(piece);
    for (const piece of [frame.slice(0, 12), frame.slice(12)]) decoder.push(piece);
    assert.deepEqual(payloads.map(text), ["abcdef", "abcdef", "abcdef"]);
    assert.equal(payloads[0].buffer, frame.buffer);
    assert.equal(payloads[2].byteLength, payloads[2].buffer.byteLength);
  });

  it("joins a megabyte from chunks of various sizes", () => {
    const random = randomNumbers(2);
    const payload = Uint8Array.from({ length: 1 << 20 }, () => random(256));
    const bytes = encodeWipc(DATA, payload);
    for (const maxSize of [3, 1_000, 1_100, 5_000, 100_000]) {
      const pieces = [];
      for (let at = 0; at < bytes.length; ) {
        const size = 1 + random(maxSize);
        pieces.push(bytes.subarray(at, (at += size)));
      }
      const payloads = [];
      const decoder = new WipcDecoder({ frame: (_, whole) => payloads.push(whole) });
      for (const piece of pieces) decoder.push(piece);
      assert.lengthOf(payloads, 1);
      assert.isTrue(
        payloads[0].every((byte, at) => byte === payload[at]),
        `chunks of up to ${maxSize} bytes`,
      );
    }
  });

  it("accepts ArrayBuffers and views, and throws a TypeError for other values", () => {
    const frame = encodeWipc(DATA, "abc");
    const padded = concat([utf8("xx"), frame, utf8("yy")]);
    for (const chunk of [frame.buffer, new DataView(padded.buffer, 2, frame.length), new Uint8ClampedArray(frame)]) {
      assert.deepEqual(decoded([chunk]).frames, [[DATA, hex(utf8("abc"))]]);
    }
    const { decoder } = recordingDecoder();
    for (const wrong of [undefined, null, "WIPC", 5, {}, [1, 2]])
      assert.throws(() => decoder.push(wrong), TypeError, "chunk must be");
  });

  it("throws a TypeError if the hook `frame` is missing, and a RangeError if the limit is invalid", () => {
    for (const hooks of [undefined, {}, { frame: 1 }]) assert.throws(() => new WipcDecoder(hooks), TypeError, "frame");
    for (const maxPayload of [-1, 1.5, 2 ** 32, NaN, "5"]) {
      assert.throws(() => new WipcDecoder({ frame() {} }, { maxPayload }), RangeError, "maxPayload");
    }
  });

  it("can be used again after finish()", () => {
    const recording = recordingDecoder();
    recording.decoder.push(encodeWipc(DATA, "abc").subarray(0, 10));
    recording.decoder.finish();
    recording.decoder.push(encodeWipc(DATA, "abc"));
    recording.decoder.finish();
    assert.deepEqual(recording.found.frames, [[DATA, hex(utf8("abc"))]]);
  });
});

describe("a decoder hook that throws", () => {
  it("does not stop the decoding of the chunk, and push() then throws the error", () => {
    const seen = [];
    const decoder = new WipcDecoder({
      frame(_, payload) {
        seen.push(text(payload));
        if (seen.length === 1) throw new Error("oh no");
      },
      passthrough: (bytes) => seen.push(text(bytes)),
    });
    const chunk = concat([
      encodeWipc(DATA, "1"),
      utf8("between"),
      encodeWipc(DATA, "2"),
      encodeWipc(DATA, "3").subarray(0, 9),
    ]);
    assert.throws(() => decoder.push(chunk), Error, "oh no");
    decoder.push(utf8("3"));
    assert.deepEqual(seen, ["1", "between", "2", "3"]);
  });

  it("causes an AggregateError if several hooks throw", () => {
    const decoder = new WipcDecoder({
      frame() {
        throw new Error("frame");
      },
      passthrough() {
        throw new Error("passthrough");
      },
      truncated() {
        throw new Error("truncated");
      },
    });
    let error;
    try {
      decoder.push(concat([utf8("a"), encodeWipc(OPEN)]));
    } catch (thrown) {
      error = thrown;
    }
    assert.instanceOf(error, AggregateError);
    assert.deepEqual(
      error.errors.map(({ message }) => message),
      ["passthrough", "frame"],
    );
    decoder.push(utf8("WIPC"));
    assert.throws(() => decoder.finish(), AggregateError);
    assert.throws(() => decoder.push(encodeWipc(OPEN)), Error, "frame");
  });
});

describe("a decoder hook that calls its decoder", () => {
  it("gets an error that explains the problem, and does not stop the decoding", () => {
    const payloads = [];
    const errors = [];
    const decoder = new WipcDecoder({
      frame(_, payload) {
        payloads.push(text(payload));
        for (const use of [() => decoder.push(utf8("x")), () => decoder.finish()]) {
          try {
            use();
          } catch (error) {
            errors.push(error.message);
          }
        }
      },
    });
    decoder.push(concat([encodeWipc(DATA, "1"), encodeWipc(DATA, "2")]));
    assert.deepEqual(payloads, ["1", "2"]);
    assert.lengthOf(errors, 4);
    for (const message of errors) assert.include(message, "in its own hooks");
  });
});

describe("an abandoned frame", () => {
  const falseMagic = concat([utf8("WIPC"), new Uint8Array([2]), utf8(" is\n")]);

  it("is searched for frames from its second byte", () => {
    const recording = recordingDecoder();
    const { decoder } = recording;
    decoder.push(falseMagic);
    decoder.push(utf8("more text "));
    decoder.push(encodeWipc(DATA, "abc"));
    assert.deepEqual(recording.found.frames, []);
    assert.deepEqual({ ...decoder.partial }, { type: CALL, length: 0x0a736920, received: 10 + 12 });
    assert.isTrue(decoder.giveUp());
    assert.deepEqual(recording.found, {
      frames: [[DATA, hex(utf8("abc"))]],
      passthrough: hex(concat([falseMagic, utf8("more text ")])),
      truncated: undefined,
    });
    assert.isUndefined(decoder.partial);
    assert.isFalse(decoder.giveUp());
  });

  it("may contain the start of another frame, whose rest the decoder then expects", () => {
    const recording = recordingDecoder();
    const { decoder } = recording;
    const frame = encodeWipc(DATA, "abc");
    decoder.push(concat([falseMagic, frame.subarray(0, 10)]));
    decoder.giveUp();
    assert.deepEqual({ ...decoder.partial }, { type: DATA, length: 3, received: 1 });
    decoder.push(frame.subarray(10));
    assert.deepEqual(recording.found.frames, [[DATA, hex(utf8("abc"))]]);
  });

  it("causes no loss of bytes in random streams, whenever a frame is abandoned", () => {
    const random = randomNumbers(3);
    for (let run = 0; run < 500; run++) {
      const order = [];
      const decoder = new WipcDecoder({
        frame: (type, payload) => order.push(encodeWipc(type, payload)),
        passthrough: (bytes) => order.push(bytes.slice()),
      });
      const bytes = concat(
        Array.from({ length: 6 }, () => encodeWipc(random(4), new Uint8Array(random(20))).subarray(0, 4 + random(26))),
      );
      for (const piece of split(bytes, random)) {
        decoder.push(piece);
        if (random(3) === 0) decoder.giveUp();
      }
      decoder.finish();
      assert.equal(hex(concat(order)), hex(bytes));
    }
  });
});

describe("the encoder of WIPC", () => {
  it("writes the magic, the type, the length in little-endian order and the payload", () => {
    assert.equal(hex(encodeWipc(DATA, "abc")), "574950430303000000616263");
    assert.equal(hex(encodeWipc(OPEN)), "574950430000000000");
    assert.equal(hex(encodeWipc(CALL, new Uint8Array(0x010203)).subarray(0, 9)), "574950430203020100");
  });

  it("accepts bytes in any view, and encodes text as UTF-8", () => {
    const bytes = utf8("grün");
    const padded = concat([utf8("xx"), bytes, utf8("yy")]);
    for (const payload of ["grün", bytes, bytes.slice().buffer, new DataView(padded.buffer, 2, bytes.length)]) {
      assert.equal(hex(encodeWipc(DATA, payload)), `574950430305000000${hex(bytes)}`);
    }
  });

  it("refuses an invalid type and an invalid payload", () => {
    for (const type of [-1, 4, 255, 1.5, "2", undefined, NaN])
      assert.throws(() => encodeWipc(type), RangeError, "type");
    for (const payload of [5, {}, true, [1, 2]]) assert.throws(() => encodeWipc(DATA, payload), TypeError, "payload");
  });

  it("has named types", () => {
    assert.deepEqual({ ...WipcType }, { OPEN: 0, CLOSE: 1, CALL: 2, DATA: 3 });
    assert.deepEqual([OPEN, CLOSE, CALL, DATA], [0, 1, 2, 3]);
    assert.isFrozen(WipcType);
  });
});

it("parseWipcJSON returns the value of a payload, or throws an error if the payload is not JSON in UTF-8", () => {
  assert.deepEqual(parseWipcJSON(utf8('{"id":1,"method":"grün"}')), { id: 1, method: "grün" });
  for (const wrong of ["", "{", "hello", "\ufeff1"]) assert.throws(() => parseWipcJSON(utf8(wrong)), SyntaxError);
  assert.throws(() => parseWipcJSON(new Uint8Array([0x22, 0xff, 0x22])), TypeError);
});
