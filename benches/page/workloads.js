// The workloads, which run in the client. Each workload returns the metrics of one round.

import { quantile } from "../statistics.mjs";
import { wasmBytes } from "./memory.js";

export const MEGABYTE = 2 ** 20;
const CHUNK = 65_536;
/** The maximum number of unread chunks of a stream: the default of Portway. */
const WINDOW = 16;

const now = () => performance.now();

/** Returns the time of a call in microseconds. */
const perCall = (start, end, size) => ({ us: ((end - start) * 1000) / size });

async function inTurn(size, startCall) {
  const start = now();
  for (let n = 0; n < size; n++) await startCall(n);
  return perCall(start, now(), size);
}

/** Measures a loop that is a part of the library's adapter. The last result of the loop must be `expected`. */
async function inAdapterLoop(loop, size, expected) {
  const start = now();
  const last = await loop(size);
  const end = now();
  if (last !== expected) throw new Error(`the last result must be ${expected}, got ${last}`);
  return perCall(start, end, size);
}

function oneAfterTheOther(caller, size) {
  if (caller.inTurn !== undefined) return inAdapterLoop(caller.inTurn, size, size - 1);
  return inTurn(size, (n) => caller.call("echo", { n }));
}

async function allAtOnce(caller, size) {
  if (caller.atOnce !== undefined) return inAdapterLoop(caller.atOnce, size, size - 1);
  const calls = [];
  const start = now();
  for (let n = 0; n < size; n++) calls.push(caller.call("echo", { n }));
  const results = await Promise.all(calls);
  const end = now();
  if (results[size - 1] !== size - 1) throw new Error(`the last result must be ${size - 1}, got ${results[size - 1]}`);
  return perCall(start, end, size);
}

async function notifications(caller, size) {
  if (caller.ticks !== undefined) return inAdapterLoop(caller.ticks, size, size);
  const start = now();
  for (let n = 0; n < size; n++) caller.notify("tick", { n });
  const count = await caller.call("flush", {});
  const end = now();
  if (count !== size) throw new Error(`the server must receive ${size} notifications, got ${count}`);
  return perCall(start, end, size);
}

function cloned(caller, size) {
  const buffer = new ArrayBuffer(MEGABYTE);
  return inTurn(size, () => caller.call("weigh", { buffer }));
}

function transferredInParams(caller, size) {
  const buffers = Array.from({ length: size }, () => new ArrayBuffer(MEGABYTE));
  return inTurn(size, async (n) => {
    const weight = await caller.call("weigh", { buffer: buffers[n] }, [buffers[n]]);
    if (weight !== MEGABYTE || buffers[n].byteLength !== 0) throw new Error("the buffer was not transferred");
  });
}

async function transferredInResults(caller, size) {
  await caller.call("prepare", { count: size, bytes: MEGABYTE });
  return inTurn(size, async () => {
    const { byteLength } = await caller.call("take", {});
    if (byteLength !== MEGABYTE) throw new Error(`the result must have ${MEGABYTE} bytes, got ${byteLength}`);
  });
}

/** A nested value of about 100 KB as JSON, such as a page and its worker may exchange. */
const record = Array.from({ length: 700 }, (_, id) => ({
  id,
  name: `src/components/module-${id}/index.tsx`,
  size: id * 37.5,
  imports: [id + 1, id + 2, id + 3],
  flags: { external: id % 2 === 0, hash: `${id}`.padStart(12, "a") },
}));

const objects = (caller, size) => inTurn(size, () => caller.call("mirror", { value: record }));

/** Measures many pending calls: the time to start them, the time to receive their results, and their memory. */
const measurePending = (() => {
  const initialWasmBytes = wasmBytes();
  let timersPerCall;
  return async (caller, size) => {
    const startCall = (n) => (caller.callTimed ?? caller.call)("hold", { n });
    timersPerCall ??= await timersOf(caller, startCall);
    globalThis.gc?.();
    const before = heapBytes();
    const start = now();
    const calls = [];
    for (let n = 0; n < size; n++) calls.push(startCall(n));
    // A client may coalesce messages until the end of the turn. The `await` lets the client send the messages.
    await null;
    const issued = now();
    // The response to `flush` shows that the server has received all earlier calls.
    await caller.call("flush", {});
    globalThis.gc?.();
    const heap = (heapBytes() - before) / size;
    const wasm = (wasmBytes() - initialWasmBytes) / size;
    const release = now();
    caller.call("release", {});
    await Promise.all(calls);
    const end = now();
    const [issue, settle] = [((issued - start) * 1000) / size, ((end - release) * 1000) / size];
    return { both: issue + settle, issue, settle, heap, wasm, timers: timersPerCall };
  };
})();

/** Returns the mean number of timers that a call sets. The durations of these calls are not measured. */
async function timersOf(caller, startCall) {
  const { setTimeout, setInterval } = globalThis;
  let count = 0;
  const counting =
    (set) =>
    (...parameters) => (count++, set(...parameters));
  Object.assign(globalThis, { setTimeout: counting(setTimeout), setInterval: counting(setInterval) });
  const calls = Array.from({ length: 1_000 }, (_, n) => startCall(n));
  await null;
  Object.assign(globalThis, { setTimeout, setInterval });
  await caller.call("release", {});
  await Promise.all(calls);
  return count / calls.length;
}

function heapBytes() {
  return performance.memory?.usedJSHeapSize ?? NaN;
}

/** Measures small calls, four at a time. Every hundredth call is large, and its time is not measured. */
async function mixedSizes(caller, size) {
  const buffer = new ArrayBuffer(MEGABYTE);
  const latencies = [];
  let next = 0;
  const chain = async () => {
    while (next < size) {
      const n = next++;
      if (n % 100 === 50) {
        await caller.call("weigh", { buffer });
        continue;
      }
      const start = now();
      await caller.call("echo", { n });
      latencies.push((now() - start) * 1000);
    }
  };
  await Promise.all([chain(), chain(), chain(), chain()]);
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), p999: quantile(latencies, 0.999) };
}

/** Measures a stream of transferred chunks, in MB per second. */
async function streamed(caller, size) {
  const start = now();
  const bytes = await caller.drain({ count: size, bytes: CHUNK, window: WINDOW });
  const end = now();
  if (bytes !== size * CHUNK) throw new Error(`the stream must have ${size * CHUNK} bytes, got ${bytes}`);
  return { mbs: bytes / MEGABYTE / ((end - start) / 1000) };
}

export const workloads = {
  sequential: oneAfterTheOther,
  "concurrent-1k": allAtOnce,
  "concurrent-10k": allAtOnce,
  clone: cloned,
  "transfer-params": transferredInParams,
  objects,
  notifications,
  pending: measurePending,
  "mixed-sizes": mixedSizes,
  "transfer-results": transferredInResults,
  stream: streamed,
  async loopback(caller, size) {
    const { us } = await oneAfterTheOther(caller, size);
    return { ns: us * 1000 };
  },
};
