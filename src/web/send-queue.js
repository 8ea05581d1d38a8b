// Where the messages of a link leave: each by itself, or those of one turn together but for the first.

import { now } from "./clock.js";
import { encodeColumns } from "./columns.js";
import { INTERNAL_ERROR, truncate, nameOf } from "./errors.js";
import { post, retryWithPlainCopy } from "./messages.js";
import { orderTransferList } from "./transfer-list.js";
import { MAX_LIST_LENGTH } from "./limit-values.js";
import { ParamsIsolator } from "./shared-params.js";
import { snapshotIfSmall } from "./snapshot.js";

/** As many steps a turn goes on after an item of a stream: so many an async generator takes to give the next one. */
const EXTRA_MICROTASKS = 4;

/** In milliseconds: a message that is sent so long after the last one leaves at once, since the turn may be long. */
const MAX_DELAY_MS = 4;

// `queueMicrotask` costs several times as much.
const RESOLVED = /* @__PURE__ */ Promise.resolve();

/** The outboxes with waiting messages. If a page or a process ends within a turn, the end of that turn does not come. */
const nonEmptyQueues = /* @__PURE__ */ sharedRegistry();

/** All copies of this library in the realm share one listener. It runs before those of the sessions, which say goodbye. */
function sharedRegistry() {
  const key = Symbol.for("portway.holding");
  if (globalThis[key] !== undefined) return globalThis[key];
  const queues = (globalThis[key] = new Set());
  const flushAll = () => queues.forEach((queue) => queue.flush());
  globalThis.addEventListener?.("pagehide", flushAll);
  // In a window, that name may be a frame's of any origin, no member of which may be read.
  if (typeof document === "undefined") globalThis.process?.on?.("exit", flushAll);
  return queues;
}

/**
 * A message that cannot be sent does no harm to others: a reply becomes an error, anything else goes to `drop`.
 *
 * What sends a message names where it comes from: its `slot` if it is a call, its `method` if it is a reply. Where messages
 * are sent together, each is an entry: a `message`, perhaps what to `transfer`, and its `slot` or `method`, or the `outflow`
 * of the stream that it is an item of.
 */
export class SendQueue {
  /**
   * Whether messages of a turn leave together, and if they do, perhaps as `"columns"`; undefined to do what the two sides of
   * the transport have agreed on.
   */
  coalesce = undefined;
  #transport;
  #onSendFailed;
  #report;
  /** What waits for the end of the turn; the slot or method of each, or of an item the rest of its entry. */
  #messages = [];
  #sources = [];
  /** What is to be transferred with them. */
  #transfers = [];
  /** How many steps the turn still takes. */
  #microtasksLeft = 0;
  /** Whether a message was sent in this turn, and the time when the last one left at once. */
  #isTurnOpen = false;
  #lastSentAt = 0;
  #endTurn = () => {
    if (this.#microtasksLeft-- > 0) return void RESOLVED.then(this.#endTurn);
    this.flush();
    // Over a transport that delivers at once, more may wait now, behind what was sent just before.
    this.#isTurnOpen = this.#messages.length > 0;
    if (this.#isTurnOpen) RESOLVED.then(this.#endTurn);
  };

  constructor(transport, onSendFailed, report) {
    this.#transport = transport;
    this.#onSendFailed = onSendFailed;
    this.#report = report;
  }

  get coalesces() {
    return this.coalesce ?? this.#transport.coalesces;
  }

  /** Whether an array that comes is a list of messages that came together, and no batch whose replies wait for each other. */
  get acceptsLists() {
    return this.coalesce || this.#transport.coalesces;
  }

  /** Sends a message. */
  send(message, transfer, slot, method) {
    if (transfer === undefined && this.tryEnqueue(message, slot, method)) return;
    if (this.#messages.length > 0) this.flush();
    try {
      const result = post(this.#transport, message, transfer);
      if (result !== undefined) this.#failOnRejection(result, [{ message, slot, method }]);
    } catch (error) {
      this.#sendInstead({ message, transfer, slot, method }, error ?? UNKNOWN_ERROR);
    }
  }

  /** Sends an item of a stream, perhaps with others that come soon; throws if it cannot be sent. */
  sendItem(message, transfer, producer) {
    if (!this.coalesces) return this.sendImmediately(message, transfer, producer);
    const list = transfer && orderTransferList(transfer);
    // Nothing can be moved twice.
    const isMoving = list?.some((item) => this.#transfers.includes(item));
    const isEnqueued = !isMoving && this.tryEnqueue(message, undefined, { transfer: list, producer });
    this.#microtasksLeft = EXTRA_MICROTASKS;
    if (!isEnqueued) this.sendImmediately(message, list, producer);
  }

  /** Sends entries, each by itself. */
  sendEach(entries) {
    for (const { message, transfer, method } of entries) this.send(message, transfer, undefined, method);
  }

  /** Keeps a message for the end of the turn, if the other side takes lists and it is fit for one; says whether it does. */
  tryEnqueue(message, slot, source) {
    if (!this.coalesces) return false;
    const time = now();
    if (!this.#isTurnOpen) {
      // The first of a turn leaves at once: it may be the only one, and the other side can begin.
      this.#isTurnOpen = true;
      this.#microtasksLeft = 0;
      RESOLVED.then(this.#endTurn);
      this.#lastSentAt = time;
      return false;
    }
    if (time - this.#lastSentAt > MAX_DELAY_MS) {
      this.#lastSentAt = time;
      return false;
    }
    if (!snapshotIfSmall(message, source?.transfer)) return false;
    nonEmptyQueues.add(this);
    this.#sources.push(slot ?? source);
    if (source?.transfer !== undefined) this.#transfers.push(...source.transfer);
    if (this.#messages.push(message) === MAX_LIST_LENGTH) this.flush();
    return true;
  }

  /** Answers the requests in a message with an error. */
  rejectRequests(message, error) {
    for (const { method, id } of [message].flat()) {
      if (method !== undefined && id !== undefined) this.send({ jsonrpc: "2.0", error, id });
    }
  }

  /** Sends a message at once, or throws. */
  sendImmediately(message, transfer, producer) {
    this.flush();
    const result = post(this.#transport, message, transfer);
    if (result !== undefined) this.#failOnRejection(result, [{ message, producer }]);
  }

  /** Where a transport returns a promise, its rejection is the failure of these entries. */
  #failOnRejection(result, entries) {
    if (typeof result?.then === "function") {
      result.then(undefined, (problem) =>
        entries.forEach((entry) => this.#sendInstead(entry, problem ?? UNKNOWN_ERROR)),
      );
    }
  }

  /** Sends what waits for the end of the turn. */
  flush() {
    const messages = this.#messages;
    if (messages.length === 0) return;
    const sources = this.#sources;
    const transfers = this.#transfers;
    this.clear();
    const entriesOf = () => messages.map((message, n) => entryOf(message, sources[n]));
    try {
      const combined = messages.length === 1 ? messages[0] : this.#combine(messages);
      const result = post(this.#transport, combined, transfers.length > 0 ? transfers : undefined);
      if (result !== undefined) this.#failOnRejection(result, entriesOf());
    } catch {
      const entries = entriesOf();
      if (entries.length === 1) this.#sendOne(entries[0]);
      else this.#sendAll(entries);
    }
  }

  /** Messages as one: in columns, if the other side reads those and they fit in, or in a list. */
  #combine(messages) {
    return ((this.coalesce === "columns" || this.#transport.columns === true) && encodeColumns(messages)) || messages;
  }

  /** Lets go of what waits. */
  clear() {
    nonEmptyQueues.delete(this);
    this.#messages = [];
    this.#sources = [];
    if (this.#transfers.length > 0) this.#transfers = [];
  }

  /** Sends entries at once, as one array. */
  sendBatch(entries) {
    this.flush();
    const isolator = new ParamsIsolator();
    for (const entry of entries) isolator.isolateMessage(entry);
    this.#sendAll(entries);
  }

  #sendAll(entries) {
    if (this.#trySendAll(entries) === undefined) return;
    const rest = entries.flatMap((entry) => {
      if (entry.producer?.hasFailed) return [];
      const problem = catchError(() => assertCloneable(entry));
      return problem === undefined ? [entry] : this.#replace(entry, problem);
    });
    if (this.#trySendAll(rest) === undefined) return;
    // What the transport cannot send is not what cannot be cloned: by themselves, all others may go.
    for (const entry of rest) this.#sendOne(entry);
  }

  #sendOne(entry) {
    if (entry.producer?.hasFailed) return;
    const problem = catchError(() =>
      this.#failOnRejection(post(this.#transport, entry.message, entry.transfer), [entry]),
    );
    if (problem !== undefined) this.#sendInstead(entry, problem);
  }

  #sendInstead(entry, problem) {
    for (const { message } of this.#replace(entry, problem)) {
      const problem = catchError(() => this.#transport.send(message)?.then?.(undefined, this.#report));
      if (problem !== undefined) this.#report(problem);
    }
  }

  /** What to send in place of an entry that cannot be sent: a reply with an error, or nothing. */
  #replace(entry, problem) {
    if (!("method" in entry.message)) return [{ message: uncloneableReply(entry, problem) }];
    this.#onSendFailed(entry, problem);
    return [];
  }

  /** Sends entries in one array; what was thrown at that, if anything. */
  #trySendAll(entries) {
    if (entries.length === 0) return undefined;
    const transfer = entries.flatMap((entry) => entry.transfer ?? []);
    const messages = entries.map((entry) => entry.message);
    return catchError(() =>
      this.#failOnRejection(post(this.#transport, messages, transfer.length > 0 ? transfer : undefined), entries),
    );
  }
}

function entryOf(message, source) {
  switch (typeof source) {
    case "number":
      return { message, slot: source };
    case "object":
      return { message, ...source };
    default:
      return { message, method: source };
  }
}

/** Stands for what was thrown, if that was nothing. */
const UNKNOWN_ERROR = /* @__PURE__ */ new Error("the transport cannot send");

function catchError(run) {
  try {
    run();
  } catch (error) {
    return error ?? UNKNOWN_ERROR;
  }
}

/** Fails if this entry cannot be sent. What it transfers can be moved more than once, and is not copied by that. */
function assertCloneable(entry) {
  const { message } = entry;
  const transfer = entry.transfer && orderTransferList(entry.transfer);
  const clone = (parts) => Object.assign(entry, structuredClone(parts, { transfer: transfer ?? [] }));
  const parts = transfer === undefined ? { message } : { message, transfer };
  try {
    clone(parts);
  } catch (error) {
    retryWithPlainCopy(error, parts, clone);
  }
}

/** The reply in place of one that cannot be sent. */
function uncloneableReply({ message: { id, error }, method }, problem) {
  // An error stays what it is, without the data that cannot cross.
  if (error !== undefined) return { jsonrpc: "2.0", error: { code: error.code, message: error.message }, id };
  // By name only: engines put the source of a function that cannot be cloned into the text.
  const message = `The result of "${truncate(method)}" cannot be sent: ${nameOf(problem)}`;
  return { jsonrpc: "2.0", error: { code: INTERNAL_ERROR, message }, id };
}
