// Our calls while they wait, by the slot that wasm gave them: plain arrays, so that a call costs no allocation here.

import { ABANDON } from "./commands.js";
import { CallError } from "./errors.js";

export class Calls {
  #core;
  #resolvers = [];
  #rejecters = [];
  #ids = [];
  #methods = [];
  #owners = [];
  /** What only some calls have: how to let go of their signal and their progress handler. */
  #extras = new Map();
  /** Who hears of a call before its end, by id. */
  #listeners = new Map();
  /** The slots of the calls that follow a signal. */
  #watched = new Map();

  constructor(core) {
    this.#core = core;
  }

  keep(slot, id, owner, method, resolve, reject) {
    this.#ids[slot] = id;
    this.#resolvers[slot] = resolve;
    this.#rejecters[slot] = reject;
    this.#methods[slot] = method;
    this.#owners[slot] = owner;
  }

  /** Whether the call in the slot still is the one with this id. */
  isWaiting(slot, id) {
    return this.#ids[slot] === id && this.#rejecters[slot] !== undefined;
  }

  /** Follows the signal of a call; `cancel` is run with its slot if it is aborted before the call ends. */
  watch(slot, signal, cancel) {
    let slots = this.#watched.get(signal);
    if (slots === undefined) {
      slots = new Set();
      // One listener for all of them: to find one of many, an event target searches them all.
      slots.onAbort = () => slots.forEach(cancel);
      signal.addEventListener("abort", slots.onAbort);
      this.#watched.set(signal, slots);
    }
    slots.add(slot);
    this.#addExtra(slot, () => {
      slots.delete(slot);
      if (slots.size > 0) return;
      signal.removeEventListener("abort", slots.onAbort);
      this.#watched.delete(signal);
    });
  }

  /** Has somebody who hears of a call before its end: a `Stream`, or an object with `onProgress`. */
  listen(slot, id, listener) {
    listener.slot = slot;
    listener.id = id;
    this.#listeners.set(id, listener);
    this.#addExtra(slot, () => this.#listeners.delete(id));
  }

  /** Has a handler for the progress of a call, which ends at last though there is progress. */
  listenToProgress(slot, id, timeout, { onProgress, totalTimeout }) {
    const end = performance.now() + ((totalTimeout ?? 60 * timeout) || Infinity);
    this.listen(slot, id, { onProgress, timeout, end });
  }

  /** Who hears of the call with this id. */
  listener(id) {
    return this.#listeners.get(id);
  }

  resolve(slot, value) {
    const resolve = this.#resolvers[slot];
    this.#release(slot);
    resolve?.(value);
  }

  reject(slot, error) {
    const reject = this.#rejecters[slot];
    this.#release(slot);
    // Where a stack ends within `begin`, wasm may know a call that was never made.
    reject?.(error);
  }

  /** Ends a call that the peer never hears of, or no longer. */
  drop(slot, error) {
    this.#core.run(ABANDON, slot);
    this.reject(slot, error);
  }

  timedOut(slot) {
    const id = this.#ids[slot];
    const method = this.#methods[slot];
    this.reject(slot, new CallError("timeout", `JSON-RPC timeout: ${method} (id=${id})`, method, id));
  }

  invalid(slot) {
    const id = this.#ids[slot];
    const method = this.#methods[slot];
    const text = `JSON-RPC response has neither result nor error: ${method} (id=${id})`;
    this.reject(slot, new CallError("invalid-response", text, method, id));
  }

  destroyed(slot) {
    this.reject(slot, DESTROYED.of(this.#methods[slot], this.#ids[slot]));
  }

  /** How many calls have waited at the same time, at most. */
  get most() {
    return this.#rejecters.length;
  }

  /** The ids of the calls that wait. */
  waiting() {
    return new Set(this.#ids.filter((_, slot) => this.#rejecters[slot] !== undefined));
  }

  /** How many calls of this owner wait. */
  count(owner) {
    return this.#owners.reduce((count, other) => (other === owner ? count + 1 : count), 0);
  }

  /** Ends all calls, or those of one owner. */
  dropAll(end, owner) {
    for (const [slot, other] of this.#owners.entries()) {
      if (other === undefined || (owner !== undefined && other !== owner)) continue;
      this.drop(slot, end.of(this.#methods[slot], this.#ids[slot]));
    }
  }

  /** Ends all streams, or those of one owner, while the other side can be told. */
  dropStreams(end, owner) {
    for (const { item, slot, id } of this.#listeners.values()) {
      if (item === undefined || (owner !== undefined && owner !== this.#owners[slot])) continue;
      this.drop(slot, end.of(this.#methods[slot], id));
    }
  }

  #addExtra(slot, letGo) {
    const before = this.#extras.get(slot);
    this.#extras.set(slot, before === undefined ? letGo : () => (before(), letGo()));
  }

  #release(slot) {
    this.#resolvers[slot] = this.#rejecters[slot] = this.#methods[slot] = this.#owners[slot] = undefined;
    if (this.#extras.size > 0) {
      this.#extras.get(slot)?.();
      this.#extras.delete(slot);
    }
  }
}

/** The end of a call of a client that was destroyed, or of one that was made after that. */
export const DESTROYED = new CallError("destroyed", "JSON-RPC client destroyed");
