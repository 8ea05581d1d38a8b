// WIPC under test: the built package, a slow and simple reference decoder, and channels whose peer is the test.

import { assert } from "chai";
import { packaged } from "./portway.js";
import { afterThisTest } from "./cleanup.js";

export const {
  WipcChannel,
  WipcClosedError,
  WipcDecoder,
  WipcDecoderStream,
  WipcEncoderStream,
  WipcType,
  encodeWipc,
  parseWipcJSON,
} = await import(packaged("wipc.js"));

export const { OPEN, CLOSE, CALL, DATA } = WipcType;

export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function unhex(text) {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export function text(bytes) {
  return new TextDecoder().decode(bytes);
}

export function utf8(string) {
  return new TextEncoder().encode(string);
}

export function concat(parts) {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Creates a decoder that records its results. Each payload is copied. */
export function recordingDecoder(options) {
  const frames = [];
  const passed = [];
  const recorded = { frames, truncated: undefined };
  const decoder = new WipcDecoder(
    {
      frame: (type, payload) => frames.push([type, payload.slice()]),
      passthrough: (bytes) => passed.push(bytes.slice()),
      truncated: (size) => (recorded.truncated = size),
    },
    options,
  );
  return {
    decoder,
    /** The result of `comparableResult` for the events until now. */
    get found() {
      return comparableResult(frames, concat(passed), recorded.truncated);
    },
  };
}

/** Decodes a stream that arrives in these pieces. Returns the results in a comparable form. */
export function decoded(pieces, options) {
  const recorded = recordingDecoder(options);
  for (const piece of pieces) recorded.decoder.push(piece);
  recorded.decoder.finish();
  return recorded.found;
}

/** Returns the results of a decoder with all bytes in hexadecimal, so that tests can compare them. */
export function comparableResult(frames, passthrough, truncated) {
  return { frames: frames.map(([type, payload]) => [type, hex(payload)]), passthrough: hex(passthrough), truncated };
}

/** Decodes all bytes at once. At each index, the specification requires either a frame or a byte of passthrough. */
export function reference(bytes, maxPayload = 2 ** 32 - 1) {
  const frames = [];
  const passthrough = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (at < bytes.length) {
    const remaining = bytes.length - at;
    const magic = text(bytes.subarray(at, at + 4));
    const couldBeType = remaining < 5 || bytes[at + 4] <= 3;
    const isHeaderWhole = remaining >= 9;
    const couldBeLength = !isHeaderWhole || view.getUint32(at + 5, true) <= maxPayload;
    if (magic !== "WIPC" || !couldBeType || !couldBeLength) {
      passthrough.push(bytes[at]);
      at += 1;
      continue;
    }
    const end = isHeaderWhole ? at + 9 + view.getUint32(at + 5, true) : Infinity;
    if (end > bytes.length) {
      passthrough.push(...bytes.subarray(at));
      return comparableResult(frames, passthrough, remaining);
    }
    frames.push([bytes[at + 4], bytes.subarray(at + 9, end)]);
    at = end;
  }
  return comparableResult(frames, passthrough, undefined);
}

/** Returns two pairs of streams. Each pair reads the bytes that the other pair writes. */
export function pipes() {
  const there = new TransformStream();
  const back = new TransformStream();
  return [
    { readable: back.readable, writable: there.writable },
    { readable: there.readable, writable: back.writable },
  ];
}

/** Returns a connected host and guest. */
export function channels(hostOptions, guestOptions) {
  const [near, far] = pipes();
  const host = new WipcChannel(near, hostOptions);
  const guest = new WipcChannel(far, { role: "guest", ...guestOptions });
  afterThisTest(() => [host, guest].forEach((end) => end.destroy()));
  return { host, guest };
}

/**
 * Creates a channel whose peer is the test. `post` and `postBytes` write to the input of the channel. `end` and `fail`
 * end this input. `frames` are the frames that the channel has written. `messages` are the messages in the CALL frames.
 * `output.isEnded` is true after the channel has ended its output. `streams` are the streams of the channel.
 */
export function scriptedPipe(options) {
  const [near, far] = pipes();
  const writer = far.writable.getWriter();
  const recorded = recordingDecoder();
  const output = { isEnded: false };
  const reader = far.readable.getReader();
  const read = async () => {
    for (let next; !(next = await reader.read()).done; ) recorded.decoder.push(next.value);
    output.isEnded = true;
  };
  read().catch(() => (output.isEnded = true));
  const channel = new WipcChannel(near, options);
  afterThisTest(() => channel.destroy());
  return {
    channel,
    streams: near,
    post: (type, payload) => writer.write(encodeWipc(type, payload)),
    postBytes: (bytes) => writer.write(bytes),
    end: () => writer.close(),
    fail: (error) => writer.abort(error),
    output,
    /** The frames that the channel has written so far: `[type, text]`. */
    get frames() {
      return recorded.found.frames.map(([type, payload]) => [type, text(unhex(payload))]);
    },
    get messages() {
      return this.frames.filter(([type]) => type === CALL).map(([, json]) => JSON.parse(json));
    },
  };
}

/** Returns a function that returns pseudo-random integers below its argument. The sequence depends only on the seed. */
export function randomNumbers(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Splits bytes into pieces of random sizes, most of them small. */
export function split(bytes, random) {
  const pieces = [];
  for (let at = 0; at < bytes.length; ) {
    const size = random(4) === 0 ? random(bytes.length) : random(12);
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

/** Asserts that `run` throws a `WipcClosedError` with this reason. */
export function assertClosed(run, reason) {
  try {
    run();
  } catch (error) {
    assert.instanceOf(error, WipcClosedError);
    return assert.equal(error.reason, reason);
  }
  assert.fail("nothing was thrown");
}
