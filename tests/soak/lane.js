// One side of a link as the caller: makes calls by the hundred thousand and keeps the ledger of what became of each.

import { after, forget, later } from "./instruments.js";
import { KINDS, pick } from "./kinds.js";

/** How many calls are made at once, in turn. The server has room for 1 024. */
const BURSTS = [10, 100, 30, 300, 1000];
const MOST = 1000;
/** Every call ends by itself before this. */
const DRAINED = 120_000;
const REMEMBERED = 20;

export class Lane {
  /** Aborted once the calls of a burst are on their way. */
  group = new AbortController();
  forever = new AbortController();
  made = 0;
  ended = 0;
  notes = 0;
  /** How many ended as they should, by kind. */
  counts = new Array(KINDS.length).fill(0);
  wrong = [];
  wrongCount = 0;
  mostInFlight = 0;
  #inFlight = 0;
  #wake;
  #kinds;
  #ends;
  #random;

  constructor(name, peer, portway, total, seed) {
    this.name = name;
    this.peer = peer;
    this.portway = portway;
    this.#kinds = new Uint8Array(total);
    this.#ends = new Uint8Array(total);
    this.#random = generator(seed);
  }

  /** Makes `count` calls, spread over `ms` milliseconds or longer if the machine is slow, and waits for their ends. */
  async run(count, ms) {
    const start = performance.now();
    for (let sent = 0, burst = 0; sent < count; burst++) {
      const size = Math.min(BURSTS[burst % BURSTS.length], count - sent);
      await this.#below(MOST - size);
      const early = start + (ms * sent) / count - performance.now();
      if (early > 0) await after(early);
      this.#burst(size);
      sent += size;
    }
    await this.#below(0);
  }

  #burst(size) {
    for (let left = size; left > 0; ) {
      const kind = pick(this.#random(), left);
      this.#make(kind);
      left -= kind.width;
      if (this.#random() < 0.05) {
        this.notes++;
        this.peer.notify("note");
      }
    }
    const { group } = this;
    this.group = new AbortController();
    group.abort(new Error("the whole burst is not wanted any more"));
  }

  #make(kind) {
    const n = this.made;
    this.#kinds.fill(kind.index, n, n + kind.width);
    this.made += kind.width;
    this.#inFlight += kind.width;
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
    kind.make(this, n).then(
      () => this.#end(kind, n),
      (error) => this.#end(kind, n, error),
    );
  }

  #end(kind, n, error) {
    for (let i = n; i < n + kind.width; i++) this.#ends[i]++;
    this.ended += kind.width;
    this.#inFlight -= kind.width;
    if (error === undefined) this.counts[kind.index] += kind.width;
    else this.#complain(`call ${n} (${kind.name}): ${error.message ?? error}`);
    this.#wake?.();
  }

  #complain(text) {
    this.wrongCount++;
    if (this.wrong.length < REMEMBERED) this.wrong.push(text);
  }

  /** Until so few calls are in flight. Calls that do not end are complained of, by their numbers. */
  async #below(most) {
    let isLate = false;
    const limit = later(() => {
      isLate = true;
      this.#wake?.();
    }, DRAINED);
    while (this.#inFlight > most && !isLate) await new Promise((resolve) => (this.#wake = resolve));
    forget(limit);
    this.#wake = undefined;
    if (!isLate) return;
    const open = Array.from(this.#ends.subarray(0, this.made).entries()).filter(([, ends]) => ends === 0);
    const named = open.slice(0, REMEMBERED).map(([n]) => `${n} (${KINDS[this.#kinds[n]].name})`);
    throw new Error(`${this.name}: ${open.length} calls have no end after ${DRAINED / 1000} s: ${named.join(", ")}`);
  }

  /** What the other side must have seen: `served` says of each number how many times a handler ran for it. */
  compare(served) {
    for (let n = 0; n < this.made; n++) {
      const kind = KINDS[this.#kinds[n]];
      const wanted = kind.numbered ? 1 : 0;
      if (this.#ends[n] !== 1) this.#complain(`call ${n} (${kind.name}) has ${this.#ends[n]} ends`);
      if (served[n] !== wanted) this.#complain(`call ${n} (${kind.name}) was served ${served[n]} times`);
    }
  }

  ledger() {
    const { name, made, ended, notes, wrong, wrongCount, mostInFlight } = this;
    const counts = Object.fromEntries(KINDS.map((kind) => [kind.name, this.counts[kind.index]]));
    return { name, made, ended, notes, counts, wrong, wrongCount, mostInFlight };
  }
}

/** Random numbers that are the same for the same seed (mulberry32). */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
