// Where the messages of a link leave: each by itself, or those of one turn together.

import { INTERNAL_ERROR } from "./errors.js";
import { post, transferable } from "./outgoing.js";
import { settle } from "./small.js";

/** As many messages leave together at most: the other side begins with the first while the next are on their way. */
export const MOST_TOGETHER = 256;

// `queueMicrotask` costs several times as much.
const TURN = Promise.resolve();

/**
 * An entry is a `message`, perhaps with what to `transfer`; of a reply, also the `method`; of a call, its `slot` and how to
 * `reject` it. One that cannot be sent does no harm to others: a reply becomes an error, anything else goes to `drop`.
 */
export class Outbox {
  /** Whether messages of a turn leave together; undefined to do what the two sides of the transport have agreed on. */
  coalesce = undefined;
  #transport;
  #drop;
  #report;
  #waiting = [];
  #flush = () => this.flush();

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
    return this.coalesce === true || this.#transport.coalesces;
  }

  /** Sends an entry. */
  send(entry) {
    if (this.keep(entry)) return;
    this.flush();
    this.#deliver(entry);
  }

  /** Keeps an entry for the end of the turn, if the other side takes lists and it is fit for one; says whether it does. */
  keep(entry) {
    if (entry.transfer !== undefined || !this.coalesces || !settle(entry.message)) return false;
    const count = this.#waiting.push(entry);
    if (count === 1) TURN.then(this.#flush);
    else if (count === MOST_TOGETHER) this.flush();
    return true;
  }

  /** Answers the requests in a message with an error. */
  refuse(message, error) {
    for (const { method, id } of [message].flat()) {
      if (method !== undefined && id !== undefined) this.send({ message: { jsonrpc: "2.0", error, id } });
    }
  }

  /** Sends a message at once, or throws. */
  sendNow(message, transfer) {
    this.flush();
    post(this.#transport, message, transfer);
  }

  /** Sends what waits for the end of the turn. */
  flush() {
    if (this.#waiting.length === 0) return;
    const entries = this.clear();
    if (entries.length === 1) this.#deliver(entries[0]);
    else this.#sendAll(entries);
  }

  /** Takes out what waits. */
  clear() {
    const entries = this.#waiting;
    this.#waiting = [];
    return entries;
  }

  /** Sends entries at once, as one array. */
  sendTogether(entries) {
    this.flush();
    this.#sendAll(entries);
  }

  #sendAll(entries) {
    if (this.#problemOf(entries) === undefined) return;
    const rest = entries.flatMap((entry) => {
      const problem = thrownBy(() => tryOut(entry));
      return problem === undefined ? [entry] : this.#replace(entry, problem);
    });
    if (this.#problemOf(rest) === undefined) return;
    // What the transport cannot send is not what cannot be cloned: by themselves, all others may go.
    for (const entry of rest) this.#deliver(entry);
  }

  #deliver(entry) {
    const { message, transfer } = entry;
    const problem = thrownBy(() => post(this.#transport, message, transfer));
    if (problem === undefined) return;
    for (const { message } of this.#replace(entry, problem)) {
      const problem = thrownBy(() => this.#transport.send(message));
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
    return thrownBy(() => post(this.#transport, messages, transfer.length > 0 ? transfer : undefined));
  }
}

function thrownBy(run) {
  try {
    run();
  } catch (error) {
    return error ?? new Error("the transport cannot send");
  }
}

/** Fails if this entry cannot be sent. What it transfers can be moved more than once, and is not copied by that. */
function tryOut(entry) {
  const { message } = entry;
  const transfer = entry.transfer && transferable(entry.transfer);
  if (transfer === undefined) structuredClone(message);
  else Object.assign(entry, structuredClone({ message, transfer }, { transfer }));
}

/** The reply in place of one that cannot be sent. */
function unsendable({ message: { id, error }, method }, problem) {
  // An error stays what it is, without the data that cannot cross.
  if (error !== undefined) return { jsonrpc: "2.0", error: { code: error.code, message: error.message }, id };
  // By name only: engines put the source of a function that cannot be cloned into the text.
  const message = `The result of "${method}" cannot be sent: ${nameOf(problem)}`;
  return { jsonrpc: "2.0", error: { code: INTERNAL_ERROR, message }, id };
}

/** What is thrown while a result is read may be anything. */
function nameOf(problem) {
  try {
    return String(problem.name);
  } catch {
    return "Error";
  }
}
