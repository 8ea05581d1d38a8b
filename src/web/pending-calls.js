// Our calls while they wait, by the slot that wasm gave them.

import { now } from "./clock.js";
import { ABANDON } from "./wasm-commands.js";
import { CallError } from "./errors.js";
import { TOTAL_TIMEOUT_FACTOR } from "./limit-values.js";

// What is known of a call lies side by side in one array, its id first: an object for each would cost 36 bytes more.
const OWNER = 1;
const METHOD = 2;
const RESOLVE = 3;
const REJECT = 4;
const WIDTH = 5;

export class Calls {
  #core;
  /** `WIDTH` places for each slot; undefined where no call waits. */
  #places = [];
  /** What only some calls have: how to let go of their signal and their listener. */
  #extras = new Map();
  /** Who hears of a call before its end, by id. */
  #listeners = new Map();
  /** The slots of the calls that follow a signal. */
  #watched = new Map();

  constructor(core) {
    this.#core = core;
  }

  keep(slot, id, owner, method, resolve, reject) {
    const at = slot * WIDTH;
    const places = this.#places;
    places[at] = id;
    places[at + OWNER] = owner;
    places[at + METHOD] = method;
    places[at + RESOLVE] = resolve;
    places[at + REJECT] = reject;
  }

  /** The id of the call in a slot, if one waits there. */
  idOf(slot) {
    return this.#places[slot * WIDTH];
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
    this.#atEnd(slot, () => {
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
    this.#atEnd(slot, () => this.#listeners.delete(id));
  }

  /** Has a handler for the progress of a call, which ends at last though there is progress. */
  listenToProgress(slot, id, timeout, { onProgress, totalTimeout }) {
    const end = now() + ((totalTimeout ?? TOTAL_TIMEOUT_FACTOR * timeout) || Infinity);
    this.listen(slot, id, { onProgress, timeout, end });
  }

  /** Who hears of the call with this id. */
  listener(id) {
    return this.#listeners.get(id);
  }

  resolve(slot, value) {
    const resolve = this.#places[slot * WIDTH + RESOLVE];
    this.#release(slot);
    resolve?.(value);
  }

  reject(slot, error) {
    const reject = this.#places[slot * WIDTH + REJECT];
    this.#release(slot);
    // Where a stack ends within `begin`, wasm may know a call that was never made.
    reject?.(error);
  }

  /** Ends a call that the peer never hears of, or no longer. */
  drop(slot, error) {
    this.#core.run(ABANDON, slot);
    this.reject(slot, error);
  }

  invalid(slot) {
    this.reject(slot, this.failure(slot, "invalid-response", "response has neither result nor error"));
  }

  /** The answer has come, but reading it failed with this error. */
  unreadable(slot, error) {
    this.reject(slot, this.failure(slot, "unreadable-response", `response cannot be read (${error.message})`, error));
  }

  destroyed(slot) {
    this.reject(slot, this.#end(slot, DESTROYED));
  }

  /** How many calls have waited at the same time, at most. */
  get most() {
    return this.#places.length / WIDTH;
  }

  /** The ids of the calls that wait. */
  waiting() {
    return new Set(this.#slots().map((slot) => this.idOf(slot)));
  }

  /** How many calls of this owner wait. */
  count(owner) {
    return this.#slots(owner).length;
  }

  /** Ends all calls, or those of one owner. */
  dropAll(end, owner) {
    for (const slot of this.#slots(owner)) {
      // To end one may end others, and begin new ones.
      if (this.#isOf(slot, owner)) this.drop(slot, this.#end(slot, end));
    }
  }

  /** Ends all streams, or those of one owner, while the other side can be told. */
  dropStreams(end, owner) {
    for (const { item, slot } of this.#listeners.values()) {
      if (item !== undefined && this.#isOf(slot, owner)) this.drop(slot, this.#end(slot, end));
    }
  }

  /** The slots of all calls, or of those of one owner. */
  #slots(owner) {
    const slots = [];
    for (let slot = 0; slot < this.most; slot++) if (this.#isOf(slot, owner)) slots.push(slot);
    return slots;
  }

  /** Whether a call waits in a slot, of this owner if one is given. */
  #isOf(slot, owner) {
    return this.idOf(slot) !== undefined && (owner === undefined || this.#places[slot * WIDTH + OWNER] === owner);
  }

  /** An end, as it is told of the call in a slot. */
  #end(slot, end) {
    return end.of(this.#places[slot * WIDTH + METHOD], this.idOf(slot));
  }

  /** The error for the end of the call in a slot. */
  failure(slot, reason, what = reason, cause) {
    const id = this.idOf(slot);
    const method = this.#places[slot * WIDTH + METHOD];
    return new CallError(reason, `JSON-RPC ${what}: ${method} (id=${id})`, method, id, cause);
  }

  #atEnd(slot, letGo) {
    const before = this.#extras.get(slot);
    this.#extras.set(slot, before === undefined ? letGo : () => (before(), letGo()));
  }

  #release(slot) {
    // By `keep`, which engines compile to some stores; not so `fill`.
    this.keep(slot);
    if (this.#extras.size > 0) {
      this.#extras.get(slot)?.();
      this.#extras.delete(slot);
    }
  }
}

/** The end of a call of a client that was destroyed, or of one that was made after that. */
export const DESTROYED = /* @__PURE__ */ new CallError("destroyed", "JSON-RPC client destroyed");
