// A transport for clients, servers and peers that carries JSON-RPC 2.0 in CALL frames.

import { logError } from "../driver/log-error.js";
import { checkValue } from "../driver/json-values.js";
import { responseIds } from "./response-ids.js";
import { InFlightRequests } from "./in-flight-requests.js";
import { FRAME_OVERHEAD_BYTES, compactBytes, parseWipcJSON } from "./frame.js";
import { MAX_UNHANDLED_MESSAGES, MAX_UNWRITTEN_BYTES } from "../driver/limit-values.js";

const PARSE_ERROR = { jsonrpc: "2.0", error: { code: -32700, message: "Parse error" }, id: null };
const OVERSIZE = {
  jsonrpc: "2.0",
  error: { code: -32600, message: "Invalid Request", data: { reason: "oversize" } },
  id: null,
};

/** The size and the beginning of a message that exceeds the limit. */
export class OversizeMessage {
  constructor(size, beginning) {
    this.size = size;
    this.beginning = beginning;
  }
}

export class WipcTransport {
  /** @internal The requests in flight, which the link adds and removes. */
  inFlightRequests;
  #channel;
  /**
   * Set by `onMessage`.
   * @type {(message: unknown) => void}
   */
  #handler;
  /** The payloads that wait for a handler, and their cost in bytes. */
  #queue = [];
  #queuedBytes = 0;
  #isServing;
  /** @type {(error: Error, ids?: unknown[]) => void} */
  #onError = () => {};
  /** @type {((error: unknown, reopens: boolean, listens: boolean) => void) | undefined} */
  #onClose = undefined;
  #isWaiting = () => false;
  /**
   * The arguments of `#onClose`, once the peer has ended.
   * @type {[error: unknown, reopens: boolean, listens: boolean]}
   */
  #closeArguments;
  #isHandling = false;
  #idleResolvers = [];

  constructor(channel) {
    this.#channel = channel;
    this.inFlightRequests = new InFlightRequests(channel, () => this.#resolveIdle());
  }

  send(message, transfer) {
    if (transfer?.length > 0) throw new TypeError("WIPC carries bytes, so that objects cannot be transferred");
    try {
      // The application limits its own calls. The channel limits all other messages, because the peer may cause them.
      this.#channel.sendMessage(this.#textOf(message), !someMessage(message, isRequest));
    } catch (/** @type {any} */ error) {
      // A response to a peer that has ended is dropped.
      if (someMessage(message, isCall) || error?.name !== "WipcClosedError") throw error;
    }
  }

  /** Returns the text of a message. If the parts of a batch exceed the limit together, throws before it joins them. */
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
    if (typeof handler !== "function")
      throw new TypeError(`the handler of onMessage must be a function, got ${typeof handler}`);
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

  /** @internal Returns whether outgoing calls are pending. */
  isWaiting() {
    return this.#isWaiting();
  }

  /** @internal Returns whether the payloads that wait for a handler have reached the limit. */
  get isFull() {
    return this.#queue.length >= MAX_UNHANDLED_MESSAGES || this.#queuedBytes > MAX_UNWRITTEN_BYTES;
  }

  /** @internal Handles a CALL frame: its payload, or an `OversizeMessage`. */
  receive(payload) {
    if (this.#handler !== undefined && this.#queue.length === 0) return this.#handlePayload(payload);
    const wasFull = this.isFull;
    this.#queue.push(payload instanceof OversizeMessage ? payload : compactBytes(payload));
    this.#queuedBytes += costOf(payload);
    if (!wasFull && this.isFull && this.#handler === undefined) {
      console.warn("portway: reading is paused, because CALL frames have no handler: use transport() or set onCall");
    }
  }

  /**
   * @internal Ends pending calls, since no further response can arrive. With `listens`, the peer still accepts
   * responses.
   */
  handleClose(error, listens) {
    this.#closeArguments = [error, false, listens];
    this.#onClose?.(...this.#closeArguments);
    if (listens) return;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#channel.wake();
    this.#resolveIdle();
  }

  /** @internal Resolves once all requests in flight have ended. */
  idle() {
    return new Promise((resolve) => {
      this.#idleResolvers.push(resolve);
      this.#resolveIdle();
    });
  }

  /** Handles the payloads that waited for a handler, and pauses while the writer is full. */
  async #handleQueue() {
    // The caller that sets the handler can finish its setup first.
    await undefined;
    while (this.#queue.length > 0 && !this.#channel.isDestroyed) {
      const payload = this.#queue.shift();
      this.#queuedBytes -= costOf(payload);
      try {
        this.#handlePayload(payload);
      } catch (error) {
        logError(error);
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
      const text = `dropped a message of ${size} bytes in a CALL frame: it exceeds maxMessage`;
      return this.#reject(OVERSIZE, beginning, new Error(text));
    }
    let value;
    try {
      value = parseWipcJSON(payload);
    } catch (/** @type {any} */ error) {
      return this.#reject(
        PARSE_ERROR,
        payload,
        new Error(`received a CALL frame that is not JSON: ${error.message}`, { cause: error }),
      );
    }
    if (!Array.isArray(value)) return this.#deliver(asMessage(value), payload.length);
    const messages = value.map(asMessage).filter((message) => message !== undefined);
    if (messages.length > 0) this.#deliver(messages, payload.length);
    else if (value.length === 0) this.#deliver(INVALID_REQUEST, 0);
  }

  /** Answers an unreadable message if a server uses this transport. If the message is a response, its call ends. */
  #reject(answer, bytes, error) {
    if (this.#isServing()) this.send(answer);
    else this.#onError(error);
    if (this.#isWaiting()) this.#onError(error, responseIds(bytes));
  }

  #deliver(message, bytes) {
    if (message === undefined) return;
    this.inFlightRequests.startMessage(bytes);
    this.#handler(message);
  }

  #resolveIdle() {
    if (this.#isHandling || this.inFlightRequests.size + this.#queue.length > 0) return;
    for (const resolve of this.#idleResolvers.splice(0)) resolve();
  }
}

/** Replaces each value that is not a message: one object suffices for millions of them. */
const INVALID_REQUEST = { jsonrpc: "2.0", method: null, id: null };

/**
 * Returns a value as a message for the core, or undefined. On a shared boundary, the core ignores values without
 * `jsonrpc: "2.0"`, because they belong to other code. A CALL frame belongs to this transport, so a value without this
 * member becomes an invalid request, which is answered. A response without a version is not answered.
 */
function asMessage(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return INVALID_REQUEST;
  if (value.jsonrpc === "2.0") return isCall(value) && isInexactId(value.id) ? { ...value, id: UNUSABLE_ID } : value;
  if (value.method === undefined && ("result" in value || "error" in value)) return undefined;
  const isId = typeof value.id === "string" || (typeof value.id === "number" && !isInexactId(value.id));
  return isId ? { jsonrpc: "2.0", method: null, id: value.id } : INVALID_REQUEST;
}

/** Replaces an id that cannot be echoed. A request with this id is refused. */
const UNUSABLE_ID = {};

/**
 * Returns whether an id may differ from the number in the text: beyond 2^53 - 1, several integers parse to one value.
 */
function isInexactId(id) {
  return Number.isInteger(id) && !Number.isSafeInteger(id);
}

function textOf(message) {
  checkValue(message);
  return JSON.stringify(message);
}

/** Returns the cost of a waiting payload, in bytes. */
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
