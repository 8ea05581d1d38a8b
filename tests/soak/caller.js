// Makes hundreds of thousands of calls over a link, and records the end of each call.

import { pause, stopTimer, startTimer } from "./instruments.js";
import { WORKLOADS, pick } from "./workloads.js";

/** The sizes of bursts, which are used one after another. The server accepts 1 024 requests at a time. */
const BURSTS = [10, 100, 30, 300, 1000];
/** Maximum pending calls of one caller. */
const MAX_IN_FLIGHT = 1000;
/** Every call must end within this number of milliseconds. */
const DRAIN_TIMEOUT_MS = 120_000;
/** The number of failures whose texts are stored. Further failures are only counted. */
const MAX_FAILURES = 20;

export class Caller {
  /** Aborts the calls of the workload `cancelledTogether`, after all calls of a burst were sent. */
  burstAbort = new AbortController();
  /** The signal of the workload `watched`. This signal is never aborted. */
  neverAborted = new AbortController();
  made = 0;
  ended = 0;
  notificationCount = 0;
  /** The number of calls that ended as expected, by workload. */
  counts = new Array(WORKLOADS.length).fill(0);
  failures = [];
  failureCount = 0;
  maxInFlight = 0;
  #inFlight = 0;
  #wake;
  #workloads;
  #ends;
  #random;

  constructor(name, peer, portway, total, seed) {
    this.name = name;
    this.peer = peer;
    this.portway = portway;
    this.#workloads = new Uint8Array(total);
    this.#ends = new Uint8Array(total);
    this.#random = generator(seed);
  }

  /** Makes `count` calls, spread over at least `ms` milliseconds, and waits until they have ended. */
  async run(count, ms) {
    const start = performance.now();
    for (let sent = 0, burst = 0; sent < count; burst++) {
      const size = Math.min(BURSTS[burst % BURSTS.length], count - sent);
      await this.#untilPendingAtMost(MAX_IN_FLIGHT - size);
      const waitMs = start + (ms * sent) / count - performance.now();
      if (waitMs > 0) await pause(waitMs);
      this.#burst(size);
      sent += size;
    }
    await this.#untilPendingAtMost(0);
  }

  #burst(size) {
    for (let left = size; left > 0; ) {
      const workload = pick(this.#random(), left);
      this.#make(workload);
      left -= workload.width;
      if (this.#random() < 0.05) {
        this.notificationCount++;
        this.peer.notify("note");
      }
    }
    const { burstAbort } = this;
    this.burstAbort = new AbortController();
    burstAbort.abort(new Error("the whole burst is not wanted any more"));
  }

  #make(workload) {
    const n = this.made;
    this.#workloads.fill(workload.index, n, n + workload.width);
    this.made += workload.width;
    this.#inFlight += workload.width;
    this.maxInFlight = Math.max(this.maxInFlight, this.#inFlight);
    workload.make(this, n).then(
      () => this.#end(workload, n),
      (error) => this.#end(workload, n, error),
    );
  }

  #end(workload, n, error) {
    for (let i = n; i < n + workload.width; i++) this.#ends[i]++;
    this.ended += workload.width;
    this.#inFlight -= workload.width;
    if (error === undefined) this.counts[workload.index] += workload.width;
    else this.#addFailure(`call ${n} (${workload.name}): ${error.message ?? error}`);
    this.#wake?.();
  }

  #addFailure(text) {
    this.failureCount++;
    if (this.failures.length < MAX_FAILURES) this.failures.push(text);
  }

  /** Resolves when at most `limit` calls are pending. After a timeout, throws an error that names the calls. */
  async #untilPendingAtMost(limit) {
    let isLate = false;
    const timer = startTimer(() => {
      isLate = true;
      this.#wake?.();
    }, DRAIN_TIMEOUT_MS);
    while (this.#inFlight > limit && !isLate) await new Promise((resolve) => (this.#wake = resolve));
    stopTimer(timer);
    this.#wake = undefined;
    if (!isLate) return;
    const open = Array.from(this.#ends.subarray(0, this.made).entries()).filter(([, ends]) => ends === 0);
    const openCalls = open.slice(0, MAX_FAILURES).map(([n]) => `${n} (${WORKLOADS[this.#workloads[n]].name})`);
    throw new Error(
      `${this.name}: ${open.length} calls have not ended after ${DRAIN_TIMEOUT_MS / 1000} s: ${openCalls.join(", ")}`,
    );
  }

  /**
   * Checks that each call ended once. Checks that a handler ran once for each numbered call, and never for a call
   * without a number. `served[n]` is how often a handler ran for the call `n`.
   */
  compare(served) {
    for (let n = 0; n < this.made; n++) {
      const workload = WORKLOADS[this.#workloads[n]];
      const expected = workload.isNumbered ? 1 : 0;
      if (this.#ends[n] !== 1) this.#addFailure(`call ${n} (${workload.name}) ended ${this.#ends[n]} times`);
      if (served[n] !== expected) this.#addFailure(`call ${n} (${workload.name}) was served ${served[n]} times`);
    }
  }

  ledger() {
    const { name, made, ended, notificationCount, failures, failureCount, maxInFlight } = this;
    const counts = Object.fromEntries(WORKLOADS.map((workload) => [workload.name, this.counts[workload.index]]));
    return { name, made, ended, notificationCount, counts, failures, failureCount, maxInFlight };
  }
}

/** Returns a generator of random numbers that the seed determines (mulberry32). */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
