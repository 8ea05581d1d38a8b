// Where the messages of a link leave: each by itself, or those of one turn together but for the first.

import { now } from "./clock.js";
import { packed } from "./columns.js";
import { INTERNAL_ERROR, beginning, nameOf } from "./errors.js";
import { post, sendPlain, transferable } from "./messages.js";
import { MAX_TOGETHER } from "./limit-values.js";
import { ParamsOfEvent } from "./shared-params.js";
import { settle } from "./snapshot.js";

/** As many steps a turn goes on after an item of a stream: so many an async generator takes to give the next one. */
const STEPS = 4;

/** In milliseconds: a message that is sent so long after the last one leaves at once, since the turn may be long. */
const LONGEST_WAIT = 4;

// `queueMicrotask` costs several times as much.
const TURN = /* @__PURE__ */ Promise.resolve();

/** The outboxes with waiting messages. If a page or a process ends within a turn, the end of that turn does not come. */
const holding = /* @__PURE__ */ shared();

/** All copies of this library in the realm share one listener. It runs before those of the sessions, which say goodbye. */
function shared() {
  const key = Symbol.for("portway.holding");
  if (globalThis[key] !== undefined) return globalThis[key];
  const outboxes = (globalThis[key] = new Set());
  const flushAll = () => outboxes.forEach((outbox) => outbox.flush());
  globalThis.addEventListener?.("pagehide", flushAll);
  // In a window, that name may be a frame's of any origin, no member of which may be read.
  if (typeof document === "undefined") globalThis.process?.on?.("exit", flushAll);
  return outboxes;
}

/**
 * A message that cannot be sent does no harm to others: a reply becomes an error, anything else goes to `drop`.
 *
 * What sends a message names where it comes from: its `slot` if it is a call, its `method` if it is a reply. Where messages
 * are sent together, each is an entry: a `message`, perhaps what to `transfer`, and its `slot` or `method`, or the `outflow`
 * of the stream that it is an item of.
 */
export class Outbox {
  /**
   * Whether messages of a turn leave together, and if they do, perhaps as `"columns"`; undefined to do what the two sides of
   * the transport have agreed on.
   */
  coalesce = undefined;
  #transport;
  #drop;
  #report;
  /** What waits for the end of the turn; the slot or method of each, or of an item the rest of its entry. */
  #messages = [];
  #origins = [];
  /** What is to be transferred with them. */
  #moved = [];
  /** How many steps the turn still takes. */
  #steps = 0;
  /** Whether a message was sent in this turn, and the time when the last one left at once. */
  #hasBegun = false;
  #leftAt = 0;
  #endTurn = () => {
    if (this.#steps-- > 0) return void TURN.then(this.#endTurn);
    this.flush();
    // Over a transport that delivers at once, more may wait now, behind what was sent just before.
    this.#hasBegun = this.#messages.length > 0;
    if (this.#hasBegun) TURN.then(this.#endTurn);
  };

  constructor(transport, drop, report) {
    this.#transport = transport;
    this.#drop = drop;
    this.#report = report;
  }

  get coalesces() {
    return this.coalesce ?? this.#transport.coalesces;
  }

  /** Whether an array that comes is a list of messages that came together, and no batch whose replies wait for each other. */
  get takesLists() {
    return this.coalesce || this.#transport.coalesces;
  }

  /** Sends a message. */
  send(message, transfer, slot, method) {
    if (transfer === undefined && this.keep(message, slot, method)) return;
    if (this.#messages.length > 0) this.flush();
    try {
      const sent = post(this.#transport, message, transfer);
      if (sent !== undefined) this.#watch(sent, [{ message, slot, method }]);
    } catch (error) {
      this.#sendInstead({ message, transfer, slot, method }, error ?? UNKNOWN);
    }
  }

  /** Sends an item of a stream, perhaps with others that come soon; throws if it cannot be sent. */
  sendItem(message, transfer, outflow) {
    if (!this.coalesces) return this.sendNow(message, transfer, outflow);
    const list = transfer && transferable(transfer);
    // Nothing can be moved twice.
    const isMoving = list?.some((item) => this.#moved.includes(item));
    const isKept = !isMoving && this.keep(message, undefined, { transfer: list, outflow });
    this.#steps = STEPS;
    if (!isKept) this.sendNow(message, list, outflow);
  }

  /** Sends entries, each by itself. */
  sendEach(entries) {
    for (const { message, transfer, method } of entries) this.send(message, transfer, undefined, method);
  }

  /** Keeps a message for the end of the turn, if the other side takes lists and it is fit for one; says whether it does. */
  keep(message, slot, origin) {
    if (!this.coalesces) return false;
    const time = now();
    if (!this.#hasBegun) {
      // The first of a turn leaves at once: it may be the only one, and the other side can begin.
      this.#hasBegun = true;
      this.#steps = 0;
      TURN.then(this.#endTurn);
      this.#leftAt = time;
      return false;
    }
    if (time - this.#leftAt > LONGEST_WAIT) {
      this.#leftAt = time;
      return false;
    }
    if (!settle(message, origin?.transfer)) return false;
    holding.add(this);
    this.#origins.push(slot ?? origin);
    if (origin?.transfer !== undefined) this.#moved.push(...origin.transfer);
    if (this.#messages.push(message) === MAX_TOGETHER) this.flush();
    return true;
  }

  /** Answers the requests in a message with an error. */
  refuse(message, error) {
    for (const { method, id } of [message].flat()) {
      if (method !== undefined && id !== undefined) this.send({ jsonrpc: "2.0", error, id });
    }
  }

  /** Sends a message at once, or throws. */
  sendNow(message, transfer, outflow) {
    this.flush();
    const sent = post(this.#transport, message, transfer);
    if (sent !== undefined) this.#watch(sent, [{ message, outflow }]);
  }

  /** Where a transport returns a promise, its rejection is the failure of these entries. */
  #watch(sent, entries) {
    if (typeof sent?.then === "function") {
      sent.then(undefined, (problem) => entries.forEach((entry) => this.#sendInstead(entry, problem ?? UNKNOWN)));
    }
  }

  /** Sends what waits for the end of the turn. */
  flush() {
    const messages = this.#messages;
    if (messages.length === 0) return;
    const origins = this.#origins;
    const moved = this.#moved;
    this.clear();
    const entriesOf = () => messages.map((message, n) => entryOf(message, origins[n]));
    try {
      const together = messages.length === 1 ? messages[0] : this.#together(messages);
      const sent = post(this.#transport, together, moved.length > 0 ? moved : undefined);
      if (sent !== undefined) this.#watch(sent, entriesOf());
    } catch {
      const entries = entriesOf();
      if (entries.length === 1) this.#sendOne(entries[0]);
      else this.#sendAll(entries);
    }
  }

  /** Messages as one: in columns, if the other side reads those and they fit in, or in a list. */
  #together(messages) {
    return ((this.coalesce === "columns" || this.#transport.columns === true) && packed(messages)) || messages;
  }

  /** Lets go of what waits. */
  clear() {
    holding.delete(this);
    this.#messages = [];
    this.#origins = [];
    if (this.#moved.length > 0) this.#moved = [];
  }

  /** Sends entries at once, as one array. */
  sendTogether(entries) {
    this.flush();
    const event = new ParamsOfEvent();
    for (const entry of entries) event.part(entry);
    this.#sendAll(entries);
  }

  #sendAll(entries) {
    if (this.#problemOf(entries) === undefined) return;
    const rest = entries.flatMap((entry) => {
      if (entry.outflow?.hasFailed) return [];
      const problem = thrownBy(() => tryOut(entry));
      return problem === undefined ? [entry] : this.#replace(entry, problem);
    });
    if (this.#problemOf(rest) === undefined) return;
    // What the transport cannot send is not what cannot be cloned: by themselves, all others may go.
    for (const entry of rest) this.#sendOne(entry);
  }

  #sendOne(entry) {
    if (entry.outflow?.hasFailed) return;
    const problem = thrownBy(() => this.#watch(post(this.#transport, entry.message, entry.transfer), [entry]));
    if (problem !== undefined) this.#sendInstead(entry, problem);
  }

  #sendInstead(entry, problem) {
    for (const { message } of this.#replace(entry, problem)) {
      const problem = thrownBy(() => this.#transport.send(message)?.then?.(undefined, this.#report));
      if (problem !== undefined) this.#report(problem);
    }
  }

  /** What to send in place of an entry that cannot be sent: a reply with an error, or nothing. */
  #replace(entry, problem) {
    if (!("method" in entry.message)) return [{ message: unsendable(entry, problem) }];
    this.#drop(entry, problem);
    return [];
  }

  /** Sends entries in one array; what was thrown at that, if anything. */
  #problemOf(entries) {
    if (entries.length === 0) return undefined;
    const transfer = entries.flatMap((entry) => entry.transfer ?? []);
    const messages = entries.map((entry) => entry.message);
    return thrownBy(() =>
      this.#watch(post(this.#transport, messages, transfer.length > 0 ? transfer : undefined), entries),
    );
  }
}

function entryOf(message, origin) {
  switch (typeof origin) {
    case "number":
      return { message, slot: origin };
    case "object":
      return { message, ...origin };
    default:
      return { message, method: origin };
  }
}

/** Stands for what was thrown, if that was nothing. */
const UNKNOWN = /* @__PURE__ */ new Error("the transport cannot send");

function thrownBy(run) {
  try {
    run();
  } catch (error) {
    return error ?? UNKNOWN;
  }
}

/** Fails if this entry cannot be sent. What it transfers can be moved more than once, and is not copied by that. */
function tryOut(entry) {
  const { message } = entry;
  const transfer = entry.transfer && transferable(entry.transfer);
  const clone = (both) => Object.assign(entry, structuredClone(both, { transfer: transfer ?? [] }));
  const both = transfer === undefined ? { message } : { message, transfer };
  try {
    clone(both);
  } catch (error) {
    sendPlain(error, both, clone);
  }
}

/** The reply in place of one that cannot be sent. */
function unsendable({ message: { id, error }, method }, problem) {
  // An error stays what it is, without the data that cannot cross.
  if (error !== undefined) return { jsonrpc: "2.0", error: { code: error.code, message: error.message }, id };
  // By name only: engines put the source of a function that cannot be cloned into the text.
  const message = `The result of "${beginning(method)}" cannot be sent: ${nameOf(problem)}`;
  return { jsonrpc: "2.0", error: { code: INTERNAL_ERROR, message }, id };
}
