// The outbound queue. Sends the first message of a turn at once. Queues the later messages of the turn, and sends them
// as one array when the turn ends. The first message also queues a microtask, which ends the turn. So messages after
// the next `await` belong to another turn, although the event loop still runs the same task.

import { encodeColumns } from "./columns.js";
import { INTERNAL_ERROR, truncate, nameOf } from "./errors.js";
import { post, retryWithPlainCopy } from "./messages.js";
import { orderTransferList } from "./transfer-list.js";
import { MAX_LIST_LENGTH } from "./limit-values.js";
import { ParamsIsolator } from "./shared-params.js";
import { snapshotIfSmall } from "./snapshot.js";

/**
 * The number of microtasks by which an item of a stream extends a turn. An async generator needs these microtasks to
 * produce its next item, which is then sent in the same turn.
 */
const EXTRA_MICROTASKS = 4;

/**
 * The maximum time (ms) for which the messages of a turn are queued. After this time, the next message is sent at once,
 * since the turn may be long.
 */
const MAX_DELAY_MS = 4;

/**
 * The last reading of the clock in this turn, by any queue; undefined if there was none. A queue that sends its first
 * message uses this reading as the time of the message. The reading is never later than the message, so the measured
 * time since the message is never too short. The clock is `Date`: in Chromium, `performance.now` takes four times as
 * long.
 * @type {number | undefined}
 */
let lastReading;

// `RESOLVED.then(run)` queues a microtask. `queueMicrotask` takes several times as long.
const RESOLVED = /* @__PURE__ */ Promise.resolve();

/**
 * The queues with waiting messages. If a page or process ends within a turn, the microtask that flushes a queue does
 * not run. In this case, a listener flushes the queues.
 */
const nonEmptyQueues = /* @__PURE__ */ sharedRegistry();

/**
 * Returns the set of queues that all copies of the library in a realm share. One listener flushes all these queues,
 * before the sessions send their goodbyes.
 */
function sharedRegistry() {
  const key = Symbol.for("portway.nonEmptyQueues");
  if (globalThis[key] !== undefined) return globalThis[key];
  const queues = (globalThis[key] = new Set());
  const flushAll = () => queues.forEach((queue) => queue.flush());
  globalThis.addEventListener?.("pagehide", flushAll);
  // In a window, the global `process` may be an iframe with this name. If its origin differs, reading its members
  // throws.
  if (typeof document === "undefined") globalThis.process?.on?.("exit", flushAll);
  return queues;
}

/**
 * The queue of the outgoing messages of one link. A message that cannot be sent does not affect other messages. If it
 * is a reply, an error reply is sent in its place. For any other message, `onSendFailed` is called.
 *
 * Each message has a source: the `slot` of a call, the `method` of a reply, or the `producer` of an item. Messages that
 * are sent together are entries: objects with the `message`, its source, and its `transfer` list if it has one.
 */
export class SendQueue {
  /**
   * Whether the messages of a turn are coalesced; `"columns"` to send them as columns. If undefined, the member
   * `coalesces` of the transport decides. A session sets this member if its peer accepts lists.
   * @type {boolean | "columns" | undefined}
   */
  coalesce = undefined;
  #transport;
  #onSendFailed;
  #report;
  /**
   * The messages that wait for the end of the turn. `#sources` has the source of each message at the same index: a
   * slot, a method, or an object with all members of an entry except `message`.
   */
  #messages = [];
  #sources = [];
  /** The objects to transfer with the waiting messages. */
  #transfers = [];
  /** The number of microtasks until the turn ends. */
  #microtasksLeft = 0;
  /** Whether a message was sent in this turn. */
  #isTurnOpen = false;
  /** The time of the last message that was sent at once. */
  #lastSentAt = 0;
  #endTurn = () => {
    if (this.#microtasksLeft-- > 0) return void RESOLVED.then(this.#endTurn);
    lastReading = undefined;
    this.flush();
    // If the transport delivers at once, its receivers may have sent more messages, which are now in the queue.
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

  /** Returns whether a received array is a list of independent messages, and not a batch with one reply. */
  get acceptsLists() {
    return this.coalesce || this.#transport.coalesces;
  }

  /** Sends a message at once, or queues it. Does not throw. */
  send(message, transfer, slot, method) {
    if (transfer === undefined && this.tryEnqueue(message, slot, method)) return;
    if (this.#messages.length > 0) this.flush();
    try {
      const result = post(this.#transport, message, transfer);
      if (result) this.#failOnRejection(result, [{ message, slot, method }]);
    } catch (error) {
      this.#sendErrorReplies({ message, transfer, slot, method }, error ?? UNKNOWN_ERROR);
    }
  }

  /** Sends an item of a stream at once, or queues it. Throws if sending fails. */
  sendItem(message, transfer, producer) {
    if (!this.coalesces) return this.sendImmediately(message, transfer, producer);
    const list = transfer && orderTransferList(transfer);
    // An object that a waiting message transfers cannot be transferred a second time.
    const isInTransfer = list?.some((item) => this.#transfers.includes(item));
    const isEnqueued = !isInTransfer && this.tryEnqueue(message, undefined, { transfer: list, producer });
    this.#microtasksLeft = EXTRA_MICROTASKS;
    if (!isEnqueued) this.sendImmediately(message, list, producer);
  }

  /** Sends each entry as a message of its own. */
  sendEach(entries) {
    for (const { message, transfer, method } of entries) this.send(message, transfer, undefined, method);
  }

  /** Adds a message to the queue, if the peer accepts lists and the message qualifies. Returns whether it was added. */
  tryEnqueue(message, slot, source) {
    if (!this.coalesces) return false;
    if (!this.#isTurnOpen) {
      // The first message of a turn is sent at once. It may be the only message, and the peer can begin to handle it.
      this.#isTurnOpen = true;
      this.#microtasksLeft = 0;
      RESOLVED.then(this.#endTurn);
      this.#lastSentAt = lastReading ??= Date.now();
      return false;
    }
    lastReading = Date.now();
    if (lastReading - this.#lastSentAt > MAX_DELAY_MS) {
      this.#lastSentAt = lastReading;
      return false;
    }
    if (!snapshotIfSmall(message, source?.transfer)) return false;
    nonEmptyQueues.add(this);
    this.#sources.push(slot ?? source);
    if (source?.transfer !== undefined) this.#transfers.push(...source.transfer);
    if (this.#messages.push(message) === MAX_LIST_LENGTH) this.flush();
    return true;
  }

  /** Answers the requests in one or several messages with an error. */
  rejectRequests(message, error) {
    for (const { method, id } of [message].flat()) {
      if (method !== undefined && id !== undefined) this.send({ jsonrpc: "2.0", error, id });
    }
  }

  /** Sends the messages in the queue, and then a message. Throws if this message cannot be sent. */
  sendImmediately(message, transfer, producer) {
    this.flush();
    const result = post(this.#transport, message, transfer);
    if (result) this.#failOnRejection(result, [{ message, producer }]);
  }

  /** If the result of a transport is a promise that rejects, handles these entries as entries that cannot be sent. */
  #failOnRejection(result, entries) {
    if (typeof result?.then === "function") {
      result.then(undefined, (problem) =>
        entries.forEach((entry) => this.#sendErrorReplies(entry, problem ?? UNKNOWN_ERROR)),
      );
    }
  }

  /** Sends the messages in the queue. */
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
      if (result) this.#failOnRejection(result, entriesOf());
    } catch {
      const entries = entriesOf();
      if (entries.length === 1) this.#sendOne(entries[0]);
      else this.#sendAll(entries);
    }
  }

  /**
   * Combines messages as columns if the peer reads columns and the messages are of one kind. Otherwise combines them as
   * a list. If the transport has no member `columns`, the option of the application decides.
   */
  #combine(messages) {
    const { columns = this.coalesce === "columns" } = this.#transport;
    return (columns && encodeColumns(messages)) || messages;
  }

  /** Drops the messages in the queue. */
  clear() {
    nonEmptyQueues.delete(this);
    this.#messages = [];
    this.#sources = [];
    if (this.#transfers.length > 0) this.#transfers = [];
  }

  /** Sends entries at once, in one array. */
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
      return problem === undefined ? [entry] : this.#errorRepliesFor(entry, problem);
    });
    if (this.#trySendAll(rest) === undefined) return;
    // All entries can be cloned, but the transport cannot send the array. The transport may still accept single
    // messages.
    for (const entry of rest) this.#sendOne(entry);
  }

  #sendOne(entry) {
    if (entry.producer?.hasFailed) return;
    const problem = catchError(() =>
      this.#failOnRejection(post(this.#transport, entry.message, entry.transfer), [entry]),
    );
    if (problem !== undefined) this.#sendErrorReplies(entry, problem);
  }

  #sendErrorReplies(entry, problem) {
    for (const { message } of this.#errorRepliesFor(entry, problem)) {
      const problem = catchError(() => this.#transport.send(message)?.then?.(undefined, this.#report));
      if (problem !== undefined) this.#report(problem);
    }
  }

  /**
   * Returns the entries to send in place of a failed entry: an error reply for a reply, and none for any other message.
   */
  #errorRepliesFor(entry, problem) {
    if (!("method" in entry.message)) return [{ message: uncloneableReply(entry, problem) }];
    this.#onSendFailed(entry, problem);
    return [];
  }

  /** Sends entries in one array. If sending throws, returns the exception. */
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

/** The replacement for `undefined` or `null`, if a transport throws such a value or rejects with it. */
const UNKNOWN_ERROR = /* @__PURE__ */ new Error("the transport cannot send");

function catchError(run) {
  try {
    run();
  } catch (error) {
    return error ?? UNKNOWN_ERROR;
  }
}

/**
 * Throws if an entry cannot be cloned. Otherwise replaces its message and its transfer list by clones. The objects to
 * transfer are moved to the clones, not copied.
 */
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

/** Returns the error reply for a reply that cannot be sent. */
function uncloneableReply({ message: { id, error }, method }, problem) {
  // An error reply is sent again without its data, which may be uncloneable or too large.
  if (error !== undefined) return { jsonrpc: "2.0", error: { code: error.code, message: error.message }, id };
  // Some engines put the source code of a function into the message of the error, so only the error's name is sent.
  const message = `The result of "${truncate(method)}" cannot be sent: ${nameOf(problem)}`;
  return { jsonrpc: "2.0", error: { code: INTERNAL_ERROR, message }, id };
}
