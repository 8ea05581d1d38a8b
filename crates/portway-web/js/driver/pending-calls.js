// The pending calls, by slot. A slot is a small number that wasm assigns to a call, and reuses after the end of the
// call.

import { now } from "./clock.js";
import { ABANDON } from "./wasm-abi.js";
import { CallError } from "./errors.js";
import { TOTAL_TIMEOUT_FACTOR } from "./limit-values.js";

// The fields of all calls are in one array; the first field of a call is its id. An object for each call would need 36
// bytes more per call.
const OWNER = 1;
const METHOD = 2;
const RESOLVE = 3;
const REJECT = 4;
const FIELDS_PER_CALL = 5;

export class PendingCalls {
  /** The observers of calls, by id: a `Stream` receives items, and an object with `onProgress` receives progress. */
  observers = new Map();
  #wasm;
  #transport;
  /** `FIELDS_PER_CALL` values for each slot. The values are undefined if no call is pending in the slot. */
  #fields = [];
  /**
   * By slot, the function that runs when the call in the slot ends. Only calls with a signal or an observer have one.
   */
  #cleanups = new Map();
  /** The slots of the calls with a signal, by signal. */
  #slotsBySignal = new Map();

  /** This class uses only the member `describeTimeout` of the transport. The transport may lack this member. */
  constructor(wasm, transport) {
    this.#wasm = wasm;
    this.#transport = transport;
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

  /** Returns the id of the call in a slot, or undefined if no call is pending in the slot. */
  idOf(slot) {
    return this.#fields[slot * FIELDS_PER_CALL];
  }

  /** Returns the method of the call in a slot. */
  methodOf(slot) {
    return this.#fields[slot * FIELDS_PER_CALL + METHOD];
  }

  /** Calls `cancel` with the slot if the signal is aborted before the call ends. */
  abortOn(slot, signal, cancel) {
    let slots = this.#slotsBySignal.get(signal);
    if (slots === undefined) {
      slots = new Set();
      // All calls with this signal share one listener. If each call had its own listener, each removal would search all
      // of these listeners.
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

  /** Sets the observer of a call: a `Stream`, or an object with `onProgress`. */
  setObserver(slot, id, observer) {
    observer.slot = slot;
    observer.id = id;
    this.observers.set(id, observer);
    this.#addCleanup(slot, () => this.observers.delete(id));
  }

  /**
   * Sets a handler for the progress of a call. The call times out after `totalTimeout` (ms) in spite of progress; 0
   * means no total timeout.
   */
  observeProgress(slot, id, timeout, { onProgress, totalTimeout }) {
    const end = now() + ((totalTimeout ?? TOTAL_TIMEOUT_FACTOR * timeout) || Infinity);
    this.setObserver(slot, id, { onProgress, timeout, end });
  }

  resolve(slot, value) {
    const resolve = this.#fields[slot * FIELDS_PER_CALL + RESOLVE];
    this.#release(slot);
    resolve?.(value);
  }

  reject(slot, error) {
    const reject = this.#fields[slot * FIELDS_PER_CALL + REJECT];
    this.#release(slot);
    // If the stack overflows in `startCall`, wasm may have a call that was not inserted here. Such a call has no
    // `reject`.
    reject?.(error);
  }

  /** Ends a call without a response. A response that arrives later is ignored. */
  abandon(slot, error) {
    this.#wasm.run(ABANDON, slot);
    this.reject(slot, error);
  }

  /** Rejects a call with a `CallError` that has this `reason`. */
  fail(slot, reason, description, cause) {
    const id = this.idOf(slot);
    description ??= this.#transport.describeTimeout?.(id) ?? reason;
    const method = this.methodOf(slot);
    this.reject(slot, new CallError(reason, `JSON-RPC ${description}: ${method} (id=${id})`, method, id, cause));
  }

  rejectDestroyed(slot) {
    this.reject(slot, this.#errorFor(slot, CLIENT_DESTROYED));
  }

  /** The largest number of calls that were pending at the same time. */
  get capacity() {
    return this.#fields.length / FIELDS_PER_CALL;
  }

  /** Returns the ids of the pending calls. */
  ids() {
    return new Set(this.#slots().map((slot) => this.idOf(slot)));
  }

  /** Returns the number of pending calls of an owner. */
  count(owner) {
    return this.#slots(owner).length;
  }

  /** Ends all calls, or the calls of one owner. Calls with the ids in `kept` do not end. */
  abandonAll(error, owner, kept) {
    for (const slot of this.#slots(owner)) {
      // A cleanup at the end of a call may end other calls or start new calls, so the slot is checked again.
      if (this.#isPending(slot, owner) && !kept?.has(this.idOf(slot))) this.abandon(slot, this.#errorFor(slot, error));
    }
  }

  /**
   * Ends all streams, or the streams of one owner. Each stream also cancels its call at the peer, so the link must
   * still be connected.
   */
  abandonStreams(error, owner) {
    for (const { item, slot } of this.observers.values()) {
      if (item !== undefined && this.#isPending(slot, owner)) this.abandon(slot, this.#errorFor(slot, error));
    }
  }

  /** Returns the slots of all calls, or of the calls of one owner. */
  #slots(owner) {
    const slots = [];
    for (let slot = 0; slot < this.capacity; slot++) if (this.#isPending(slot, owner)) slots.push(slot);
    return slots;
  }

  /** Returns whether a call is pending in a slot. With an `owner`, it must be a call of that owner. */
  #isPending(slot, owner) {
    return (
      this.idOf(slot) !== undefined && (owner === undefined || this.#fields[slot * FIELDS_PER_CALL + OWNER] === owner)
    );
  }

  /** Returns a copy of an error for the call in a slot. */
  #errorFor(slot, error) {
    return error.forCall(this.methodOf(slot), this.idOf(slot));
  }

  #addCleanup(slot, cleanup) {
    const previous = this.#cleanups.get(slot);
    this.#cleanups.set(slot, previous === undefined ? cleanup : () => (previous(), cleanup()));
  }

  #release(slot) {
    // Without further arguments, `insert` clears the slot. Engines compile this call to a few stores; `fill` is slower.
    this.insert(slot);
    if (this.#cleanups.size > 0) {
      this.#cleanups.get(slot)?.();
      this.#cleanups.delete(slot);
    }
  }
}

/** The error of the calls of a destroyed client. */
export const CLIENT_DESTROYED = /* @__PURE__ */ new CallError("destroyed", "JSON-RPC client destroyed");
