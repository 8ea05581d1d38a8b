// Measures decoders of WIPC frames in Node: `node wipc-in-node.mjs wipc LIBRARY`. The first argument is the part of the
// benchmark, which `run.mjs` passes to all programs. This script has only the part `wipc`, so it ignores the argument.
//
// Each line of standard input is a command `PAYLOAD TOTAL`: the length of every payload, and the sum of these lengths.
// The script answers each command with a line of JSON. The decoders are the Rust decoder as wasm, the decoder of the
// npm package, and wipc-js. For comparison, wasm and JavaScript copy the bytes.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const CHUNK = 64 * 1024;
/** The minimum duration of a measurement, in milliseconds. */
const MIN_DURATION_MS = 60;

const root = fileURLToPath(new URL("../../", import.meta.url));
const libraries = {
  "wasm-portway": inWasm("decode"),
  "wasm-copy": inWasm("copy"),
  "js-portway": portway,
  "wipc-js": wipcJs,
  "js-copy": copy,
};

const make = libraries[process.argv[3]];
if (make === undefined) {
  console.error(`LIBRARY must be one of ${Object.keys(libraries).join(", ")}, got ${process.argv[3]}`);
  process.exit(2);
}
const prepared = new Map();
const prepareStream = await make();
// This line reports that the process is ready.
console.log("{}");
for await (const line of createInterface({ input: process.stdin })) {
  const [payload, total] = line.split(" ").map(Number);
  if (!prepared.has(line)) prepared.set(line, prepareStream(payload, total));
  const { length, decodeOnce } = prepared.get(line);
  const start = performance.now();
  let bytes = 0;
  while (performance.now() - start < MIN_DURATION_MS) {
    if (!decodeOnce()) throw new Error("the decoder did not find all frames");
    bytes += length;
  }
  console.log(JSON.stringify({ mbs: bytes / 1e3 / (performance.now() - start) }));
}

function inWasm(name) {
  return async () => {
    const bytes = readFileSync(`${root}target/bench/wipc_bench.wasm`);
    // Each stream has a separate instance, because an instance contains only one stream.
    const module = new WebAssembly.Module(bytes);
    return (payload, total) => {
      const { exports } = new WebAssembly.Instance(module);
      const length = exports.prepare(payload, total);
      return { length, decodeOnce: () => exports[name]() === 1 };
    };
  };
}

/** Returns a stream in chunks of 64 KiB, and the number of frames in the stream. */
function streamOf(payload, total) {
  const count = Math.floor(total / payload);
  const frame = Buffer.alloc(9 + payload);
  frame.write("WIPC", "latin1");
  frame.writeUInt8(3, 4);
  frame.writeUInt32LE(payload, 5);
  for (let index = 0; index < payload; index++) frame[9 + index] = (index * 31) % 256;
  const bytes = Buffer.concat(Array.from({ length: count }, () => frame));
  const chunks = [];
  // Each chunk has a separate buffer, like the chunks that Node reads from a pipe.
  for (let at = 0; at < bytes.length; at += CHUNK)
    chunks.push(Buffer.from(Uint8Array.from(bytes.subarray(at, at + CHUNK)).buffer));
  return { count, length: bytes.length, chunks };
}

async function portway() {
  const { WipcDecoder } = await import(`${root}pkg/wipc.js`);
  return (payload, total) => {
    const { count, length, chunks } = streamOf(payload, total);
    const decodeOnce = () => {
      let found = 0;
      const decoder = new WipcDecoder({
        frame: (type, bytes) => {
          if (type === 3 && bytes.length === payload) found += 1;
        },
      });
      for (const chunk of chunks) decoder.push(chunk);
      return found === count;
    };
    return { length, decodeOnce };
  };
}

/** Bundles wipc-js, which is published as TypeScript. */
async function wipcJs() {
  const outfile = `${root}target/bench/wipc-js.mjs`;
  buildSync({
    stdin: { contents: 'export * from "wipc-js";', resolveDir: root },
    bundle: true,
    platform: "node",
    format: "esm",
    outfile,
    logLevel: "error",
  });
  const { Channel } = await import(outfile);
  return (payload, total) => {
    const { count, length, chunks } = streamOf(payload, total);
    const decodeOnce = () => {
      let found = 0;
      class Counting extends Channel {
        onDataMessage(bytes) {
          if (bytes.length === payload) found += 1;
        }
      }
      const input = new PassThrough();
      new Counting(input, new PassThrough());
      // A direct `emit` avoids the cost of a write to `input`.
      for (const chunk of chunks) input.emit("data", chunk);
      // wipc-js loses a frame whose magic is split between two chunks. It loses at most one frame per chunk.
      return found <= count && found >= count - chunks.length;
    };
    return { length, decodeOnce };
  };
}

async function copy() {
  return (payload, total) => {
    const { length, chunks } = streamOf(payload, total);
    // The application may keep a payload, so a decoder allocates a new buffer for each payload. For a fair comparison,
    // the copy also allocates new buffers.
    const decodeOnce = () => {
      let at = 0;
      let destination = new Uint8Array(Math.max(payload, CHUNK));
      for (const chunk of chunks) {
        if (at + chunk.length > destination.length) {
          at = 0;
          destination = new Uint8Array(destination.length);
        }
        destination.set(chunk, at);
        at += chunk.length;
      }
      return true;
    };
    return { length, decodeOnce };
  };
}
