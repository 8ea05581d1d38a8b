// The workloads, which run in the client. Each returns the metrics of one round.

import { quantile } from "../statistics.mjs";
import { wasmBytes } from "./memory.js";

export const MEGABYTE = 2 ** 20;
const CHUNK = 65_536;
/** The maximum of unread chunks of a stream: the default of Portway. */
const WINDOW = 16;

const now = () => performance.now();

/** Microseconds per call. */
const perCall = (start, end, size) => ({ us: ((end - start) * 1000) / size });

async function inTurn(size, make) {
  const start = now();
  for (let n = 0; n < size; n++) await make(n);
  return perCall(start, now(), size);
}

/** Measures a loop of the library itself. */
async function inOwnLoop(loop, size, expected) {
  const start = now();
  const last = await loop(size);
  const end = now();
  if (last !== expected) throw new Error(`the last answer is ${last}`);
  return perCall(start, end, size);
}

function oneAfterTheOther(caller, size) {
  if (caller.inTurn !== undefined) return inOwnLoop(caller.inTurn, size, size - 1);
  return inTurn(size, (n) => caller.call("echo", { n }));
}

async function allAtOnce(caller, size) {
  if (caller.atOnce !== undefined) return inOwnLoop(caller.atOnce, size, size - 1);
  const calls = [];
  const start = now();
  for (let n = 0; n < size; n++) calls.push(caller.call("echo", { n }));
  const results = await Promise.all(calls);
  const end = now();
  if (results[size - 1] !== size - 1) throw new Error(`the last call is answered with ${results[size - 1]}`);
  return perCall(start, end, size);
}

async function notifications(caller, size) {
  if (caller.ticks !== undefined) return inOwnLoop(caller.ticks, size, size);
  const start = now();
  for (let n = 0; n < size; n++) caller.notify("tick", { n });
  const count = await caller.call("flush", {});
  const end = now();
  if (count !== size) throw new Error(`${count} of ${size} have arrived`);
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
    if (weight !== MEGABYTE || buffers[n].byteLength !== 0) throw new Error("the buffer was not moved");
  });
}

async function transferredInResults(caller, size) {
  await caller.call("prepare", { count: size, bytes: MEGABYTE });
  return inTurn(size, async () => {
    const { byteLength } = await caller.call("take", {});
    if (byteLength !== MEGABYTE) throw new Error("the buffer has not come");
  });
}

/** About 100 KB as JSON: a nested value, as a page and its worker may exchange it. */
const record = Array.from({ length: 700 }, (_, id) => ({
  id,
  name: `src/components/module-${id}/index.tsx`,
  size: id * 37.5,
  imports: [id + 1, id + 2, id + 3],
  flags: { external: id % 2 === 0, hash: `${id}`.padStart(12, "a") },
}));

const objects = (caller, size) => inTurn(size, () => caller.call("mirror", { value: record }));

/** Pending calls: the time to start and to end them, and their memory. */
const waiting = (() => {
  const atFirst = wasmBytes();
  let timersPerCall;
  return async (caller, size) => {
    const make = (n) => (caller.callTimed ?? caller.call)("hold", { n });
    timersPerCall ??= await timersOf(caller, make);
    globalThis.gc?.();
    const before = heapBytes();
    const start = now();
    const calls = [];
    for (let n = 0; n < size; n++) calls.push(make(n));
    // After this, messages that are coalesced until the end of the turn are sent.
    await null;
    const issued = now();
    // After this, the server has received all calls.
    await caller.call("flush", {});
    globalThis.gc?.();
    const heap = (heapBytes() - before) / size;
    const wasm = (wasmBytes() - atFirst) / size;
    const release = now();
    caller.call("release", {});
    await Promise.all(calls);
    const end = now();
    const [issue, settle] = [((issued - start) * 1000) / size, ((end - release) * 1000) / size];
    return { both: issue + settle, issue, settle, heap, wasm, timers: timersPerCall };
  };
})();

/** Returns the number of timers of a call. No time is measured while timers are counted. */
async function timersOf(caller, make) {
  const { setTimeout, setInterval } = globalThis;
  let count = 0;
  const counting =
    (set) =>
    (...parameters) => (count++, set(...parameters));
  Object.assign(globalThis, { setTimeout: counting(setTimeout), setInterval: counting(setInterval) });
  const calls = Array.from({ length: 1_000 }, (_, n) => make(n));
  await null;
  Object.assign(globalThis, { setTimeout, setInterval });
  await caller.call("release", {});
  await Promise.all(calls);
  return count / calls.length;
}

function heapBytes() {
  return performance.memory?.usedJSHeapSize ?? NaN;
}

/** Measures small calls, four at a time, while each hundredth call is a large one. */
async function amongLarge(caller, size) {
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

/** Measures a stream of transferred chunks in MB a second. */
async function streamed(caller, size) {
  const start = now();
  const bytes = await caller.drain({ count: size, bytes: CHUNK, window: WINDOW });
  const end = now();
  if (bytes !== size * CHUNK) throw new Error(`${bytes} bytes have come`);
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
  pending: waiting,
  "mixed-sizes": amongLarge,
  "transfer-results": transferredInResults,
  stream: streamed,
  async loopback(caller, size) {
    const { us } = await oneAfterTheOther(caller, size);
    return { ns: us * 1000 };
  },
};
