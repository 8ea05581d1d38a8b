// JSON-RPC 2.0 in CALL frames, as a transport of clients, servers and peers.

import { Inbox } from "../../web/inbox.js";
import { WipcType, parseWipcJSON } from "./frame.js";

const PARSE_ERROR = { jsonrpc: "2.0", error: { code: -32700, message: "Parse error" }, id: null };

export class WipcTransport {
  #channel;
  #inbox = new Inbox();
  /** How many frames wait for a handler. */
  #unread = 0;
  #isServing;
  #report = () => {};
  #lose = undefined;
  /** How the other side has ended, if it has: the arguments of `#lose`. */
  #end = undefined;
  /** The requests that are being answered: how many of each id. */
  #open = new Map();
  #whenIdle = [];

  constructor(channel) {
    this.#channel = channel;
  }

  send(message, transfer) {
    if (transfer?.length > 0) throw new TypeError("WIPC carries bytes: nothing can be transferred");
    const replies = list(message).filter(({ method }) => method === undefined);
    for (const { id } of replies) this.#answered(id);
    try {
      this.#channel.send(WipcType.CALL, JSON.stringify(message));
    } catch (error) {
      // Whom an answer does not reach any more does not wait for it.
      if (replies.length < list(message).length || error?.name !== "WipcClosedError") throw error;
    }
  }

  onMessage(handler, isServing = () => true) {
    this.#isServing = isServing;
    this.#inbox.attach((payload) => this.#deliver(payload, handler));
  }

  onClose(handler) {
    this.#lose = handler;
    if (this.#end !== undefined) Promise.resolve().then(() => handler(...this.#end));
  }

  onError(handler) {
    this.#report = handler;
  }

  destroy() {
    this.#channel.close();
  }

  /** @internal A CALL frame has come. */
  receive(payload) {
    this.#unread += 1;
    this.#inbox.receive(payload);
  }

  /** @internal No answer comes any more; with `listens`, the other side still takes some. */
  lose(error, listens) {
    this.#end = [error, false, listens];
    this.#lose?.(...this.#end);
    if (listens) return;
    this.#open.clear();
    this.#unread = 0;
    this.#rest();
  }

  /** @internal Once all requests that came are answered. */
  idle() {
    return new Promise((resolve) => {
      this.#whenIdle.push(resolve);
      this.#rest();
    });
  }

  #deliver(payload, handler) {
    if (this.#unread > 0) this.#unread -= 1;
    try {
      this.#read(payload, handler);
    } finally {
      this.#rest();
    }
  }

  #read(payload, handler) {
    let value;
    try {
      value = parseWipcJSON(payload);
    } catch (error) {
      if (this.#isServing()) return this.send(PARSE_ERROR);
      return this.#report(new Error(`a CALL frame without JSON: ${error.message}`, { cause: error }));
    }
    if (!Array.isArray(value)) return this.#pass(asMessage(value), handler);
    const messages = value.map(asMessage).filter((message) => message !== undefined);
    if (messages.length > 0 || value.length === 0) this.#pass(messages.length > 0 ? messages : invalid(null), handler);
  }

  #pass(message, handler) {
    if (message === undefined) return;
    // What nobody serves is answered by nobody.
    for (const { id, method } of this.#isServing() ? list(message) : []) {
      if (method !== undefined && id !== undefined) this.#open.set(keyOf(id), (this.#open.get(keyOf(id)) ?? 0) + 1);
    }
    handler(message);
  }

  #answered(id) {
    const count = this.#open.get(keyOf(id));
    if (count === undefined) return;
    if (count > 1) return void this.#open.set(keyOf(id), count - 1);
    this.#open.delete(keyOf(id));
    this.#rest();
  }

  #rest() {
    if (this.#open.size + this.#unread === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}

/**
 * What the core shall make of a value. On a boundary that is shared, what does not say `jsonrpc: "2.0"` belongs to somebody
 * else and is passed over; a CALL frame is for us, so that it becomes an invalid request, which is answered. A response
 * without a version is answered nowhere.
 */
function asMessage(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return invalid(null);
  if (value.jsonrpc === "2.0") return value;
  if (value.method === undefined && ("result" in value || "error" in value)) return undefined;
  const isId = typeof value.id === "string" || typeof value.id === "number";
  return invalid(isId ? value.id : null);
}

function invalid(id) {
  return { jsonrpc: "2.0", method: null, id };
}

function list(message) {
  return Array.isArray(message) ? message : [message];
}

/** `1` and `"1"` are two ids. */
function keyOf(id) {
  return JSON.stringify(id);
}
