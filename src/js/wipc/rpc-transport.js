// JSON-RPC 2.0 in CALL frames, as a transport of clients, servers and peers.

import { complain } from "../../web/log-error.js";
import { checkValue } from "../json-values.js";
import { responseIds } from "./response-ids.js";
import { InFlightRequests } from "./in-flight-requests.js";
import { FRAME_OVERHEAD_BYTES, compactBytes, parseWipcJSON } from "./frame.js";
import { MAX_UNHANDLED_MESSAGES, MAX_UNWRITTEN_BYTES } from "../../web/limit-values.js";

const PARSE_ERROR = { jsonrpc: "2.0", error: { code: -32700, message: "Parse error" }, id: null };
const OVERSIZE = {
  jsonrpc: "2.0",
  error: { code: -32600, message: "Invalid Request", data: { reason: "oversize" } },
  id: null,
};

/** The size and the beginning of a message that is too long. */
export class OversizeMessage {
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
  #queue = [];
  #queuedBytes = 0;
  #isServing;
  #onError = () => {};
  #onClose = undefined;
  #isWaiting = () => false;
  /** How the other side has ended, if it has: the arguments of `#onClose`. */
  #closeArguments = undefined;
  #isHandling = false;
  #idleResolvers = [];

  constructor(channel) {
    this.#channel = channel;
    this.atWork = new InFlightRequests(channel, () => this.#resolveIdle());
  }

  send(message, transfer) {
    if (transfer?.length > 0) throw new TypeError("WIPC carries bytes: nothing can be transferred");
    try {
      // Of calls there are as many as this side makes; all else may be caused by the peer.
      this.#channel.sendMessage(this.#textOf(message), !someMessage(message, isRequest));
    } catch (error) {
      // Whom an answer does not reach any more does not wait for it.
      if (someMessage(message, isCall) || error?.name !== "WipcClosedError") throw error;
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
    if (isFirst) this.#handleQueue();
  }

  onClose(handler, isWaiting) {
    this.#onClose = handler;
    if (isWaiting !== undefined) this.#isWaiting = isWaiting;
    if (this.#closeArguments !== undefined) Promise.resolve().then(() => handler(...this.#closeArguments));
  }

  onError(handler) {
    this.#onError = handler;
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
    return this.#queue.length >= MAX_UNHANDLED_MESSAGES || this.#queuedBytes > MAX_UNWRITTEN_BYTES;
  }

  /** @internal A CALL frame has come: its payload, or a `OversizeMessage`. */
  receive(payload) {
    if (this.#handler !== undefined && this.#queue.length === 0) return this.#handlePayload(payload);
    const wasFull = this.isFull;
    this.#queue.push(payload instanceof OversizeMessage ? payload : compactBytes(payload));
    this.#queuedBytes += costOf(payload);
    if (!wasFull && this.isFull && this.#handler === undefined) {
      console.warn(
        "portway: reading pauses, since nobody handles CALL frames: make a client or server of transport(), or set onCall",
      );
    }
  }

  /** @internal No answer comes any more; with `listens`, the other side still takes some. */
  handleClose(error, listens) {
    this.#closeArguments = [error, false, listens];
    this.#onClose?.(...this.#closeArguments);
    if (listens) return;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#channel.wake();
    this.#resolveIdle();
  }

  /** @internal Once all requests that came are answered. */
  idle() {
    return new Promise((resolve) => {
      this.#idleResolvers.push(resolve);
      this.#resolveIdle();
    });
  }

  /** Hands over what has waited for a handler, as there is room for what follows from it. */
  async #handleQueue() {
    // Whoever attaches the handler may finish setting up first.
    await undefined;
    while (this.#queue.length > 0 && !this.#channel.isDestroyed) {
      const payload = this.#queue.shift();
      this.#queuedBytes -= costOf(payload);
      try {
        this.#handlePayload(payload);
      } catch (error) {
        complain(error);
      }
      await this.#channel.untilWritable();
    }
    this.#channel.wake();
  }

  #handlePayload(payload) {
    this.#isHandling = true;
    try {
      this.#parse(payload);
    } finally {
      this.#isHandling = false;
      this.#resolveIdle();
    }
  }

  #parse(payload) {
    if (payload instanceof OversizeMessage) {
      const { size, beginning } = payload;
      const text = `a message of ${size} bytes in a CALL frame was dropped: maxMessage sets the limit`;
      return this.#reject(OVERSIZE, beginning, new Error(text));
    }
    let value;
    try {
      value = parseWipcJSON(payload);
    } catch (error) {
      return this.#reject(
        PARSE_ERROR,
        payload,
        new Error(`a CALL frame without JSON: ${error.message}`, { cause: error }),
      );
    }
    if (!Array.isArray(value)) return this.#deliver(asMessage(value), payload.length);
    const messages = value.map(asMessage).filter((message) => message !== undefined);
    if (messages.length > 0) this.#deliver(messages, payload.length);
    else if (value.length === 0) this.#deliver(INVALID_REQUEST, 0);
  }

  /** Answers a message that cannot be read, if this side serves. If the message is an answer, its call ends. */
  #reject(answer, bytes, error) {
    if (this.#isServing()) this.send(answer);
    else this.#onError(error);
    if (this.#isWaiting()) this.#onError(error, responseIds(bytes));
  }

  #deliver(message, bytes) {
    if (message === undefined) return;
    this.atWork.startMessage(bytes);
    this.#handler(message);
  }

  #resolveIdle() {
    if (this.#isHandling || this.atWork.size + this.#queue.length > 0) return;
    for (const resolve of this.#idleResolvers.splice(0)) resolve();
  }
}

/** There may be millions of elements that are none: one object stands for all of them. */
const INVALID_REQUEST = { jsonrpc: "2.0", method: null, id: null };

/**
 * What the core shall make of a value. On a boundary that is shared, what does not say `jsonrpc: "2.0"` belongs to somebody
 * else and is passed over; a CALL frame is for us, so that it becomes an invalid request, which is answered. A response
 * without a version is answered nowhere.
 */
function asMessage(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return INVALID_REQUEST;
  if (value.jsonrpc === "2.0") return isCall(value) && isInexactId(value.id) ? { ...value, id: UNUSABLE_ID } : value;
  if (value.method === undefined && ("result" in value || "error" in value)) return undefined;
  const isId = typeof value.id === "string" || (typeof value.id === "number" && !isInexactId(value.id));
  return isId ? { jsonrpc: "2.0", method: null, id: value.id } : INVALID_REQUEST;
}

/** In place of an id that cannot be echoed: a request that has it is refused. */
const UNUSABLE_ID = {};

/** Whether an id may have been another number in the text: several integers up there are read as one. */
function isInexactId(id) {
  return Number.isInteger(id) && !Number.isSafeInteger(id);
}

function textOf(message) {
  checkValue(message);
  return JSON.stringify(message);
}

/** What a payload costs that waits, in bytes. */
function costOf(payload) {
  return FRAME_OVERHEAD_BYTES + (payload.length ?? payload.beginning.length);
}

function isCall({ method }) {
  return method !== undefined;
}

function isRequest({ method, id }) {
  return method !== undefined && id !== undefined;
}

function someMessage(message, test) {
  return Array.isArray(message) ? message.some(test) : test(message);
}
