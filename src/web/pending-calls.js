// Our calls while they wait, by the slot that wasm gave them.

import { now } from "./clock.js";
import { ABANDON } from "./wasm-abi.js";
import { CallError } from "./errors.js";
import { TOTAL_TIMEOUT_FACTOR } from "./limit-values.js";

// What is known of a call lies side by side in one array, its id first: an object for each would cost 36 bytes more.
const OWNER = 1;
const METHOD = 2;
const RESOLVE = 3;
const REJECT = 4;
const FIELDS_PER_CALL = 5;

export class PendingCalls {
  #wasm;
  /** `WIDTH` places for each slot; undefined where no call waits. */
  #fields = [];
  /** What only some calls have: how to let go of their signal and their listener. */
  #cleanups = new Map();
  /** Who hears of a call before its end, by id. */
  #observers = new Map();
  /** The slots of the calls that follow a signal. */
  #slotsBySignal = new Map();

  constructor(wasm) {
    this.#wasm = wasm;
  }

  insert(slot, id, owner, method, resolve, reject) {
    const at = slot * FIELDS_PER_CALL;
    const fields = this.#fields;
    fields[at] = id;
    fields[at + OWNER] = owner;
    fields[at + METHOD] = method;
    fields[at + RESOLVE] = resolve;
    fields[at + REJECT] = reject;
  }

  /** The id of the call in a slot, if one waits there. */
  idOf(slot) {
    return this.#fields[slot * FIELDS_PER_CALL];
  }

  /** Follows the signal of a call; `cancel` is run with its slot if it is aborted before the call ends. */
  abortOn(slot, signal, cancel) {
    let slots = this.#slotsBySignal.get(signal);
    if (slots === undefined) {
      slots = new Set();
      // One listener for all of them: to find one of many, an event target searches them all.
      slots.onAbort = () => slots.forEach(cancel);
      signal.addEventListener("abort", slots.onAbort);
      this.#slotsBySignal.set(signal, slots);
    }
    slots.add(slot);
    this.#addCleanup(slot, () => {
      slots.delete(slot);
      if (slots.size > 0) return;
      signal.removeEventListener("abort", slots.onAbort);
      this.#slotsBySignal.delete(signal);
    });
  }

  /** Has somebody who hears of a call before its end: a `Stream`, or an object with `onProgress`. */
  setObserver(slot, id, observer) {
    observer.slot = slot;
    observer.id = id;
    this.#observers.set(id, observer);
    this.#addCleanup(slot, () => this.#observers.delete(id));
  }

  /** Has a handler for the progress of a call, which ends at last though there is progress. */
  observeProgress(slot, id, timeout, { onProgress, totalTimeout }) {
    const end = now() + ((totalTimeout ?? TOTAL_TIMEOUT_FACTOR * timeout) || Infinity);
    this.setObserver(slot, id, { onProgress, timeout, end });
  }

  /** Who hears of the call with this id. */
  observer(id) {
    return this.#observers.get(id);
  }

  resolve(slot, value) {
    const resolve = this.#fields[slot * FIELDS_PER_CALL + RESOLVE];
    this.#release(slot);
    resolve?.(value);
  }

  reject(slot, error) {
    const reject = this.#fields[slot * FIELDS_PER_CALL + REJECT];
    this.#release(slot);
    // Where a stack ends within `begin`, wasm may know a call that was never made.
    reject?.(error);
  }

  /** Ends a call that the peer never hears of, or no longer. */
  abandon(slot, error) {
    this.#wasm.run(ABANDON, slot);
    this.reject(slot, error);
  }

  rejectInvalid(slot) {
    this.reject(slot, this.createError(slot, "invalid-response", "response has neither result nor error"));
  }

  /** The answer has come, but reading it failed with this error. */
  rejectUnreadable(slot, error) {
    this.reject(
      slot,
      this.createError(slot, "unreadable-response", `response cannot be read (${error.message})`, error),
    );
  }

  rejectDestroyed(slot) {
    this.reject(slot, this.#errorFor(slot, CLIENT_DESTROYED));
  }

  /** How many calls have waited at the same time, at most. */
  get capacity() {
    return this.#fields.length / FIELDS_PER_CALL;
  }

  /** The ids of the calls that wait. */
  ids() {
    return new Set(this.#slots().map((slot) => this.idOf(slot)));
  }

  /** How many calls of this owner wait. */
  count(owner) {
    return this.#slots(owner).length;
  }

  /** Ends all calls, or those of one owner. */
  abandonAll(error, owner) {
    for (const slot of this.#slots(owner)) {
      // To end one may end others, and begin new ones.
      if (this.#isPending(slot, owner)) this.abandon(slot, this.#errorFor(slot, error));
    }
  }

  /** Ends all streams, or those of one owner, while the other side can be told. */
  abandonStreams(error, owner) {
    for (const { item, slot } of this.#observers.values()) {
      if (item !== undefined && this.#isPending(slot, owner)) this.abandon(slot, this.#errorFor(slot, error));
    }
  }

  /** The slots of all calls, or of those of one owner. */
  #slots(owner) {
    const slots = [];
    for (let slot = 0; slot < this.capacity; slot++) if (this.#isPending(slot, owner)) slots.push(slot);
    return slots;
  }

  /** Whether a call waits in a slot, of this owner if one is given. */
  #isPending(slot, owner) {
    return (
      this.idOf(slot) !== undefined && (owner === undefined || this.#fields[slot * FIELDS_PER_CALL + OWNER] === owner)
    );
  }

  /** An end, as it is told of the call in a slot. */
  #errorFor(slot, error) {
    return error.forCall(this.#fields[slot * FIELDS_PER_CALL + METHOD], this.idOf(slot));
  }

  /** The error for the end of the call in a slot. */
  createError(slot, reason, description = reason, cause) {
    const id = this.idOf(slot);
    const method = this.#fields[slot * FIELDS_PER_CALL + METHOD];
    return new CallError(reason, `JSON-RPC ${description}: ${method} (id=${id})`, method, id, cause);
  }

  #addCleanup(slot, cleanup) {
    const previous = this.#cleanups.get(slot);
    this.#cleanups.set(slot, previous === undefined ? cleanup : () => (previous(), cleanup()));
  }

  #release(slot) {
    // By `keep`, which engines compile to some stores; not so `fill`.
    this.insert(slot);
    if (this.#cleanups.size > 0) {
      this.#cleanups.get(slot)?.();
      this.#cleanups.delete(slot);
    }
  }
}

/** The end of a call of a client that was destroyed, or of one that was made after that. */
export const CLIENT_DESTROYED = /* @__PURE__ */ new CallError("destroyed", "JSON-RPC client destroyed");
