// How fast the codec of `portway/wipc` is: beside npm `wipc-js` for small frames, and beside a bare copy of the same chunks
// for large ones. `node benches/wipc.mjs`, after `cargo xtask build`; `--check` fails where it is slower than promised.
//
// The subjects take turns, and the ratio is that of each turn: the machine has other things to do, too.

import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import { rmSync } from "node:fs";
import { WipcDecoder, WipcType, encodeWipc } from "../pkg/wipc.js";
import { Channel, path } from "../tests/web/rig/wipc-js.mjs";

const CHUNK = 64 << 10;
const TOTAL = 16 << 20;
const TURNS = 25;
/** Payload in bytes, and the least ratio that is promised. */
const PROMISED = { 64: ["wipc-js", 5], [1 << 20]: ["a copy", 0.8] };

function chunksOf(size) {
  const frame = encodeWipc(WipcType.DATA, new Uint8Array(size).fill(7));
  const whole = Buffer.concat(Array(Math.floor(TOTAL / frame.length)).fill(frame));
  const chunks = [];
  // Each chunk with a buffer of its own, as it is read.
  for (let at = 0; at < whole.length; at += CHUNK) chunks.push(Buffer.from(Uint8Array.from(whole.subarray(at, at + CHUNK)).buffer));
  return chunks;
}

let bytes = 0;

function portway(chunks) {
  const decoder = new WipcDecoder({ frame: (type, payload) => (bytes += payload.length) });
  for (const chunk of chunks) decoder.push(chunk);
  decoder.finish();
}

class Counting extends Channel {
  onDataMessage(payload) {
    bytes += payload.length;
  }
}

function wipcJs(chunks) {
  const input = new EventEmitter();
  new Counting(input, { write() {} });
  for (const chunk of chunks) input.emit("data", chunk);
}

/** Into a new buffer for each payload: it is given away. */
function copy(chunks, size) {
  let target;
  let at = Infinity;
  for (const chunk of chunks) {
    if (at + chunk.length > size) {
      target = new Uint8Array(Math.max(size, CHUNK));
      at = 0;
    }
    target.set(chunk, at);
    at += chunk.length;
  }
  bytes += at;
}

function time(run) {
  const start = performance.now();
  run();
  return performance.now() - start;
}

function median(numbers) {
  return numbers.sort((a, b) => a - b)[numbers.length >> 1];
}

let isMissed = false;
console.log("payload   Portway      ns/frame   wipc-js takes   a copy takes");
for (const size of [0, 16, 64, 256, 1_024, 16 << 10, 64 << 10, 256 << 10, 1 << 20]) {
  const chunks = chunksOf(size);
  const turns = Array.from({ length: TURNS }, () => [
    time(() => portway(chunks)),
    time(() => wipcJs(chunks)),
    time(() => copy(chunks, size)),
  ]).slice(3);
  const ours = median(turns.map(([ours]) => ours));
  const ratios = { "wipc-js": median(turns.map(([ours, theirs]) => theirs / ours)), "a copy": median(turns.map(([ours, , bare]) => bare / ours)) };
  const [subject, least] = PROMISED[size] ?? [];
  const misses = subject !== undefined && ratios[subject] < least;
  isMissed ||= misses;
  const figures = [`${(TOTAL / 2 ** 30 / (ours / 1_000)).toFixed(2)} GiB/s`, ((ours * 1e6 * (size + 9)) / TOTAL).toFixed(0), `${ratios["wipc-js"].toFixed(1)} x`, `${ratios["a copy"].toFixed(2)} x`];
  console.log(`${String(size).padStart(7)}   ${figures.map((text, at) => text.padEnd([13, 11, 16, 0][at])).join("")}${misses ? `   less than ${least}` : ""}`);
}
rmSync(path);
if (process.argv.includes("--check") && isMissed) process.exitCode = 1;
