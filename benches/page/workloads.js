// The workloads, as the near end runs them: each gives its metrics for one round.

import { quantile } from "../statistics.mjs";
import { wasmBytes } from "./memory.js";

export const MEGABYTE = 2 ** 20;
const CHUNK = 65_536;
/** As many chunks of a stream may be under way; the default of Portway's streams. */
const WINDOW = 16;

const now = () => performance.now();

/** Microseconds per call. */
const perCall = (start, end, size) => ({ us: ((end - start) * 1000) / size });

async function inTurn(size, make) {
  const start = now();
  for (let n = 0; n < size; n++) await make(n);
  return perCall(start, now(), size);
}

/** Where the caller has a loop of its own, that is what is measured. */
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

/** About 100 KB as JSON: what a page and its worker might really exchange, no flat text. */
const record = Array.from({ length: 700 }, (_, id) => ({
  id,
  name: `src/components/module-${id}/index.tsx`,
  size: id * 37.5,
  imports: [id + 1, id + 2, id + 3],
  flags: { external: id % 2 === 0, hash: `${id}`.padStart(12, "a") },
}));

const objects = (caller, size) => inTurn(size, () => caller.call("mirror", { value: record }));

/** Calls that wait: what it costs to make them, to end them, and to have them. */
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
    // What leaves at the end of the turn has left then.
    await null;
    const issued = now();
    // The other side has all of them then.
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

/** How many timers are set for a call; where that is counted, time is not measured. */
async function timersOf(caller, make) {
  const { setTimeout, setInterval } = globalThis;
  let count = 0;
  const counting =
    (set) =>
    (...given) => (count++, set(...given));
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

/** Small calls, four under way, of which each hundredth is a large one: how long the small ones take. */
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

/** Chunks that are transferred, one after the other; in MB a second. */
async function streamed(caller, size) {
  const start = now();
  const bytes = await caller.drain({ count: size, bytes: CHUNK, window: WINDOW });
  const end = now();
  if (bytes !== size * CHUNK) throw new Error(`${bytes} bytes have come`);
  return { mbs: bytes / MEGABYTE / ((end - start) / 1000) };
}

export const workloads = {
  A: oneAfterTheOther,
  "B-1k": allAtOnce,
  "B-10k": allAtOnce,
  "C-clone": cloned,
  "C-transfer": transferredInParams,
  D: objects,
  E: notifications,
  F: waiting,
  G: amongLarge,
  H: transferredInResults,
  I: streamed,
  async loopback(caller, size) {
    const { us } = await oneAfterTheOther(caller, size);
    return { ns: us * 1000 };
  },
};
