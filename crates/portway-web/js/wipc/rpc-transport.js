// A transport that carries JSON-RPC 2.0 in CALL frames, for clients, servers and peers.

import { logError } from "../driver/log-error.js";
import {
  INVALID_REQUEST,
  OVERSIZE,
  PARSE_ERROR,
  asMessage,
  asMessages,
  isCall,
  isRequest,
  messageText,
  someMessage,
} from "../driver/json-text.js";
import { responseIds } from "./response-ids.js";
import { InFlightRequests } from "./in-flight-requests.js";
import { FRAME_OVERHEAD_BYTES, compactBytes, parseWipcJSON } from "./frame.js";
import { MAX_UNHANDLED_MESSAGES, MAX_UNWRITTEN_BYTES } from "../driver/limit-values.js";

/** The size and the beginning of a message that exceeds the limit. */
export class OversizeMessage {
  constructor(size, beginning) {
    this.size = size;
    this.beginning = beginning;
  }
}

export class WipcTransport {
  /** @internal The requests in flight, which the link adds and removes. */
  inFlight;
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
    this.inFlight = new InFlightRequests(channel, () => this.#resolveIdle());
  }

  send(message, transfer) {
    if (transfer?.length > 0) throw new TypeError("WIPC carries bytes, so that objects cannot be transferred");
    try {
      // The application limits its own calls. The channel limits all other messages, because the peer may cause them.
      const text = messageText(message, (size, sizeText) => this.#channel.checkLength(size, sizeText));
      this.sendText(text, !someMessage(message, isRequest));
    } catch (/** @type {any} */ error) {
      // A response to a peer that has ended is dropped.
      if (someMessage(message, isCall) || error?.name !== "WipcClosedError") throw error;
    }
  }

  /** @internal Sends the text of a message. `portway/tap` replaces this method of a tapped transport. */
  sendText(text, isPeerCaused) {
    this.#channel.sendMessage(text, isPeerCaused);
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
   * @internal Ends pending calls, since no further response can arrive. If `listens` is true, the peer still accepts
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
    this.#deliver(asMessages(value, withUsableId), payload.length);
  }

  /**
   * Handles an unreadable message. If a server uses this transport, the message is answered. Otherwise the error is
   * reported. If the message is a response, its call ends.
   */
  #reject(answer, bytes, error) {
    if (this.#isServing()) this.send(answer);
    else this.#onError(error);
    if (this.#isWaiting()) this.#onError(error, responseIds(bytes));
  }

  #deliver(message, bytes) {
    if (message === undefined) return;
    this.inFlight.startMessage(bytes);
    this.#handler(message);
  }

  #resolveIdle() {
    if (this.#isHandling || this.inFlight.size + this.#queue.length > 0) return;
    for (const resolve of this.#idleResolvers.splice(0)) resolve();
  }
}

/** The replacement for an id that cannot be echoed. A request with this id is refused. */
const UNUSABLE_ID = {};

/**
 * Converts a value to a message for the core, or returns undefined. An integer id beyond 2^53 - 1 is replaced, because
 * several such integers in a text parse to one number.
 */
function withUsableId(value) {
  const message = asMessage(value);
  if (message === undefined || !isCall(message)) return message;
  const { id } = message;
  if (!Number.isInteger(id) || Number.isSafeInteger(id)) return message;
  return message === value ? { ...message, id: UNUSABLE_ID } : INVALID_REQUEST;
}

/** Returns the cost of a waiting payload, in bytes. */
function costOf(payload) {
  return FRAME_OVERHEAD_BYTES + (payload.length ?? payload.beginning.length);
}
