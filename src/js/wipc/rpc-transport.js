// JSON-RPC 2.0 in CALL frames, as a transport of clients, servers and peers.

import { logError } from "../../web/log-error.js";
import { checkValue } from "../json-values.js";
import { answersIn } from "./answers.js";
import { AtWork } from "./at-work.js";
import { OVERHEAD, ownBytes, parseWipcJSON } from "./frame.js";
import { MAX_UNHANDLED_MESSAGES, MAX_UNWRITTEN_BYTES } from "../../web/limit-values.js";

const PARSE_ERROR = { jsonrpc: "2.0", error: { code: -32700, message: "Parse error" }, id: null };
const OVERSIZE = {
  jsonrpc: "2.0",
  error: { code: -32600, message: "Invalid Request", data: { reason: "oversize" } },
  id: null,
};

/** The size and the beginning of a message that is too long. */
export class TooLong {
  constructor(size, beginning) {
    this.size = size;
    this.beginning = beginning;
  }
}

export class WipcTransport {
  /** @internal The requests that are being answered, for the link. */
  atWork;
  #channel;
  #handler = undefined;
  /** The payloads that wait for a handler, with their costs. */
  #unread = [];
  #unreadBytes = 0;
  #isServing;
  #report = () => {};
  #lose = undefined;
  #isWaiting = () => false;
  /** How the other side has ended, if it has: the arguments of `#lose`. */
  #end = undefined;
  #isReading = false;
  #whenIdle = [];

  constructor(channel) {
    this.#channel = channel;
    this.atWork = new AtWork(channel, () => this.#rest());
  }

  send(message, transfer) {
    if (transfer?.length > 0) throw new TypeError("WIPC carries bytes: nothing can be transferred");
    try {
      // Of calls there are as many as this side makes; all else may be caused by the peer.
      this.#channel.sendMessage(this.#textOf(message), !some(message, isRequest));
    } catch (error) {
      // Whom an answer does not reach any more does not wait for it.
      if (some(message, isCall) || error?.name !== "WipcClosedError") throw error;
    }
  }

  /** The text of a message. That of a batch is not made if it is too long: its parts may have any length together. */
  #textOf(message) {
    if (!Array.isArray(message)) return textOf(message);
    let size = 2 + message.length;
    const parts = message.map((part) => {
      const text = textOf(part);
      size += text.length;
      this.#channel.checkLength(size, "more");
      return text;
    });
    return `[${parts.join()}]`;
  }

  onMessage(handler, isServing = () => true) {
    if (typeof handler !== "function") throw new TypeError("onMessage takes a function");
    this.#isServing = isServing;
    const isFirst = this.#handler === undefined;
    this.#handler = handler;
    if (isFirst) this.#readOn();
  }

  onClose(handler, isWaiting) {
    this.#lose = handler;
    if (isWaiting !== undefined) this.#isWaiting = isWaiting;
    if (this.#end !== undefined) Promise.resolve().then(() => handler(...this.#end));
  }

  onError(handler) {
    this.#report = handler;
  }

  destroy() {
    this.#channel.close();
  }

  /** @internal Whether calls of ours wait for an answer. */
  isWaiting() {
    return this.#isWaiting();
  }

  /** @internal Whether as much as may be waits for a handler. */
  get isFull() {
    return this.#unread.length >= MAX_UNHANDLED_MESSAGES || this.#unreadBytes > MAX_UNWRITTEN_BYTES;
  }

  /** @internal A CALL frame has come: its payload, or a `TooLong`. */
  receive(payload) {
    if (this.#handler !== undefined && this.#unread.length === 0) return this.#read(payload);
    const wasFull = this.isFull;
    this.#unread.push(payload instanceof TooLong ? payload : ownBytes(payload));
    this.#unreadBytes += costOf(payload);
    if (!wasFull && this.isFull && this.#handler === undefined) {
      console.warn(
        "portway: reading pauses, since nobody handles CALL frames: make a client or server of transport(), or set onCall",
      );
    }
  }

  /** @internal No answer comes any more; with `listens`, the other side still takes some. */
  lose(error, listens) {
    this.#end = [error, false, listens];
    this.#lose?.(...this.#end);
    if (listens) return;
    this.#unread = [];
    this.#unreadBytes = 0;
    this.#channel.wake();
    this.#rest();
  }

  /** @internal Once all requests that came are answered. */
  idle() {
    return new Promise((resolve) => {
      this.#whenIdle.push(resolve);
      this.#rest();
    });
  }

  /** Hands over what has waited for a handler, as there is room for what follows from it. */
  async #readOn() {
    // Whoever attaches the handler may finish setting up first.
    await undefined;
    while (this.#unread.length > 0 && !this.#channel.isDestroyed) {
      const payload = this.#unread.shift();
      this.#unreadBytes -= costOf(payload);
      try {
        this.#read(payload);
      } catch (error) {
        logError(error);
      }
      await this.#channel.room();
    }
    this.#channel.wake();
  }

  #read(payload) {
    this.#isReading = true;
    try {
      this.#take(payload);
    } finally {
      this.#isReading = false;
      this.#rest();
    }
  }

  #take(payload) {
    if (payload instanceof TooLong) {
      const { size, beginning } = payload;
      const text = `a message of ${size} bytes in a CALL frame was dropped: maxMessage sets the limit`;
      return this.#refuse(OVERSIZE, beginning, new Error(text));
    }
    let value;
    try {
      value = parseWipcJSON(payload);
    } catch (error) {
      return this.#refuse(
        PARSE_ERROR,
        payload,
        new Error(`a CALL frame without JSON: ${error.message}`, { cause: error }),
      );
    }
    if (!Array.isArray(value)) return this.#pass(asMessage(value), payload.length);
    const messages = value.map(asMessage).filter((message) => message !== undefined);
    if (messages.length > 0) this.#pass(messages, payload.length);
    else if (value.length === 0) this.#pass(INVALID, 0);
  }

  /** Answers a message that cannot be read, if this side serves. If the message is an answer, its call ends. */
  #refuse(answer, bytes, error) {
    if (this.#isServing()) this.send(answer);
    else this.#report(error);
    if (this.#isWaiting()) this.#report(error, answersIn(bytes));
  }

  #pass(message, bytes) {
    if (message === undefined) return;
    this.atWork.take(bytes);
    this.#handler(message);
  }

  #rest() {
    if (this.#isReading || this.atWork.size + this.#unread.length > 0) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}

/** There may be millions of elements that are none: one object stands for all of them. */
const INVALID = { jsonrpc: "2.0", method: null, id: null };

/**
 * What the core shall make of a value. On a boundary that is shared, what does not say `jsonrpc: "2.0"` belongs to somebody
 * else and is passed over; a CALL frame is for us, so that it becomes an invalid request, which is answered. A response
 * without a version is answered nowhere.
 */
function asMessage(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return INVALID;
  if (value.jsonrpc === "2.0") return isCall(value) && isInexact(value.id) ? { ...value, id: NO_ID } : value;
  if (value.method === undefined && ("result" in value || "error" in value)) return undefined;
  const isId = typeof value.id === "string" || (typeof value.id === "number" && !isInexact(value.id));
  return isId ? { jsonrpc: "2.0", method: null, id: value.id } : INVALID;
}

/** In place of an id that cannot be echoed: a request that has it is refused. */
const NO_ID = {};

/** Whether an id may have been another number in the text: several integers up there are read as one. */
function isInexact(id) {
  return Number.isInteger(id) && !Number.isSafeInteger(id);
}

function textOf(message) {
  checkValue(message);
  return JSON.stringify(message);
}

/** What a payload costs that waits, in bytes. */
function costOf(payload) {
  return OVERHEAD + (payload.length ?? payload.beginning.length);
}

function isCall({ method }) {
  return method !== undefined;
}

function isRequest({ method, id }) {
  return method !== undefined && id !== undefined;
}

function some(message, test) {
  return Array.isArray(message) ? message.some(test) : test(message);
}
