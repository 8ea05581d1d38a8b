// The handshake of a session: both sides agree on a port, or a virtual port, for the messages of the session. Each side
// sends a hello, the request `rpc.hello`. The answer to a hello offers a port. After a reload of either side, the
// handshake begins again. PROTOCOL.md has the rules and a state diagram.

import { now } from "../driver/clock.js";
import { INVALID_REQUEST, METHOD_NOT_FOUND, deserializeError } from "../driver/errors.js";
import { COPIED_GOODBYE_TIMEOUT, GOODBYE_TIMEOUT, MAX_FEATURES, MIN_HELLO_INTERVAL } from "../driver/limit-values.js";
import { requestOrNotification } from "../driver/messages.js";
import { isPort } from "../driver/transfer-list.js";
import { setTimer } from "../driver/timers.js";

/** The version of the session protocol. A peer with another version is refused. */
export const VERSION = 1;
/** The `data.reason` of a refused hello, and the `reason` of the error with which `connect` rejects. */
export const INCOMPATIBLE_VERSION = "incompatible-version";
const FEATURES = ["batch", "cancel", "columns", "progress", "stream"];
/**
 * The feature of a side that can use a virtual port. It is not sent to windows, because other scripts in the window
 * would receive the messages of the virtual port.
 */
const LANE = "lane";
/** The feature of a side that already holds its Web Lock. */
export const LOCK = "lock";
const INITIAL_RETRY_DELAY_MS = 20;
const MAX_RETRY_DELAY_MS = 250;

/**
 * Returns 128 random bits in hexadecimal digits. The text is used as the id of one side in one session, as the name of
 * a virtual port, or as the key of a session.
 */
export const newId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
export const isId = (value) => typeof value === "string" && /^[0-9a-f]{32}$/.test(value);
const isVersion = (value) => Number.isSafeInteger(value) && value > 0;
/**
 * Returns the short strings among the first elements of an array. The result is limited, because the peer may send an
 * array or strings of any length.
 */
const stringArray = (value) =>
  Array.isArray(value)
    ? value.slice(0, MAX_FEATURES).filter((item) => typeof item === "string" && item.length < 100)
    : [];

export class Handshake {
  /** The id of this side in the current session, or in the next session. */
  id = newId();
  /**
   * The id of this side in the previous session. Late answers to this id are recognized, and their ports are closed.
   */
  #previousId = this.id;
  #target;
  #channel;
  #callbacks;
  #features;
  #timer;
  /** The peer of the current session. */
  #session;
  /** The peer whose hello was answered, until its first message arrives on the offered port. */
  #offer;
  #offeredAt = -Infinity;
  /** The time in ms for which a hello with another id does not replace the offer. */
  #offerKeptMs = 0;
  #lastHelloAt = -Infinity;
  /** Whether a hello of the same version has arrived, which shows that the peer supports sessions. */
  #hasReceivedHello = false;
  /** Whether `start` was called. Before the call, no hello is answered. */
  isStarted = false;
  /** The last hello that arrived before `start`. */
  #earlyHello;
  /** Whether this side holds the lock that is named by its id. */
  isLocked = false;

  /**
   * The handshake calls these functions of `callbacks`:
   * - `listen(peer, onFirstMessage)` for each port that may become the port of a session;
   * - `begin(peer)` when a port has become the port of the session;
   * - `onNewHello(origin)` for a hello with a new id during a session; returns whether another session should begin at
   *   once;
   * - `onForbiddenOrigin(origin)` for a hello of an origin that is not allowed;
   * - `onIncompatibleVersion(version)` for a peer of another version;
   * - `onRefused(error)` for any other error that answers a hello.
   */
  constructor(target, channel, callbacks) {
    this.#target = target;
    this.#features = target.virtualPort === undefined ? FEATURES : [...FEATURES, LANE];
    this.#channel = channel;
    this.#callbacks = callbacks;
  }

  /**
   * Sends hellos until a session begins. `delay` is the time in ms before the next hello. Each later delay is twice the
   * previous one, up to `MAX_RETRY_DELAY_MS`.
   */
  start(delay = INITIAL_RETRY_DELAY_MS) {
    this.isStarted = true;
    const earlyHello = this.#earlyHello;
    this.#earlyHello = undefined;
    if (earlyHello !== undefined) {
      this.#handleHello(earlyHello);
      // The peer has received the refusal, and does not need a hello.
      if (earlyHello.version !== VERSION) return;
    }
    clearTimeout(this.#timer);
    this.#timer = setTimer(() => this.start(Math.min(2 * delay, MAX_RETRY_DELAY_MS)), delay);
    this.#sendHello();
  }

  stop() {
    clearTimeout(this.#timer);
    this.#revokeOffer("closed");
  }

  /**
   * Keeps the offer longer. Called when a copy of a goodbye has arrived over the window. The peer may have begun a
   * session with the offered port, and its messages over that port may arrive later than the copy.
   */
  extendOffer() {
    this.#offerKeptMs = COPIED_GOODBYE_TIMEOUT;
  }

  /** Revokes the offer. The peer may already have begun a session with the offered port, so a goodbye is sent. */
  #revokeOffer(reason) {
    this.#offer?.port.postMessage(requestOrNotification("rpc.bye", { reason }));
    this.#offer?.release();
    this.#offer = undefined;
  }

  /** Ends the session. The next hello from the peer begins another session. */
  end() {
    this.#session = undefined;
    this.#previousId = this.id;
    this.id = newId();
    this.isLocked = false;
  }

  /**
   * Handles a message of the target. `isAllowed` is true if messages of its origin are allowed. Returns false if the
   * message does not belong to the handshake.
   */
  handleMessage(message, origin, isAllowed) {
    const { id, method, params, result, error } = message;
    if (method === "rpc.hello") {
      const { version, channel, features } = Object(params);
      if (!isId(id) || id === this.id || channel !== this.#channel || !isVersion(version)) return true;
      if (isAllowed) this.#handleHello({ id, origin, version, features: stringArray(features) });
      else this.#callbacks.onForbiddenOrigin(origin);
      return true;
    }
    if (method !== undefined || (id !== this.id && id !== this.#previousId)) return false;
    if (isAllowed && id === this.id && this.#session === undefined) {
      if (error !== undefined) return (this.#handleError(deserializeError(error), origin), true);
      if (this.#handleAnswer(Object(result), origin)) return true;
    }
    // The answer is not used, so its port is closed.
    if (isPort(result?.port)) result.port.close();
    return true;
  }

  /** Handles the answer to the local hello. Returns whether the session has begun. */
  #handleAnswer({ session, version, port, lane, features }, origin) {
    if (!isPort(port)) port = isId(lane) ? this.#target.virtualPort?.(lane) : undefined;
    // An answer with the id of this side is refused, because this side would watch its own lock instead of the peer's
    // lock.
    if (!isId(session) || session === this.id || port === undefined || !isVersion(version)) return false;
    if (version !== VERSION) return (this.#callbacks.onIncompatibleVersion(version), false);
    const peer = { id: session, port, origin, features: stringArray(features) };
    this.#callbacks.listen(peer);
    // The first message on the port opens the session for the peer.
    port.postMessage(requestOrNotification("rpc.ping"));
    this.#begin(peer);
    return true;
  }

  #sendHello() {
    const params = { version: VERSION, channel: this.#channel, features: this.#ownFeatures() };
    this.#target.post(requestOrNotification("rpc.hello", params, this.id));
  }

  #ownFeatures() {
    return this.isLocked ? [...this.#features, LOCK] : this.#features;
  }

  #handleHello(peer) {
    if (!this.isStarted) return void (this.#earlyHello = peer);
    if (peer.id === this.#session?.id || peer.id === this.#offer?.id) return;
    // `MIN_HELLO_INTERVAL` limits the number of answers to a peer that sends many ids. Peers repeat hellos that are
    // dropped.
    const time = now();
    // The difference is negative after the clock was set back, so its absolute value is compared.
    if (Math.abs(time - this.#lastHelloAt) < MIN_HELLO_INTERVAL) return;
    if (this.#offer !== undefined && Math.abs(time - this.#offeredAt) < this.#offerKeptMs) return;
    this.#lastHelloAt = time;
    if (peer.version !== VERSION) return this.#refuse(peer);
    this.#hasReceivedHello = true;
    if (this.#session !== undefined) {
      if (!this.#callbacks.onNewHello(peer.origin)) return;
      // No hello is sent, because it could reach the replaced document before the goodbye does. The new document
      // repeats its own hello.
      if (this.id < peer.id) return;
    }
    // The side with the greater id answers, so that only one of two crossing hellos is answered.
    if (this.id < peer.id) return this.#sendHello();
    this.#revokeOffer("replaced");
    this.#sendAnswer(peer, time);
  }

  #sendAnswer(peer, time) {
    const result = { session: this.id, version: VERSION, features: this.#ownFeatures() };
    const transfer = [];
    if (this.#features.includes(LANE) && peer.features.includes(LANE)) {
      result.lane = newId();
      peer.port = this.#target.virtualPort(result.lane);
    } else {
      const { port1, port2 } = new MessageChannel();
      result.port = port2;
      transfer.push(port2);
      peer.port = port1;
    }
    this.#offer = peer;
    this.#offeredAt = time;
    this.#offerKeptMs = GOODBYE_TIMEOUT;
    this.#callbacks.listen(peer, () => {
      if (this.#offer === peer) this.#begin(peer);
    });
    this.#target.post({ jsonrpc: "2.0", id: peer.id, result }, transfer, peer.origin);
  }

  /** Refuses a hello of another version. The current session continues. */
  #refuse({ id, origin, version }) {
    const data = { reason: INCOMPATIBLE_VERSION, version: VERSION };
    const error = { code: INVALID_REQUEST, message: "Incompatible version", data };
    this.#target.post({ jsonrpc: "2.0", id, error }, [], origin);
    this.#callbacks.onIncompatibleVersion(version);
  }

  /** Handles an error that answers the local hello. */
  #handleError(error, origin) {
    const { reason, version } = Object(error.data);
    if (reason === INCOMPATIBLE_VERSION && isVersion(version) && version !== VERSION)
      return this.#callbacks.onIncompatibleVersion(version);
    // A peer that has sent a hello supports sessions. So another receiver on the same target has sent this error.
    if (this.#hasReceivedHello) return;
    if (error.code !== METHOD_NOT_FOUND) return this.#callbacks.onRefused(error);
    this.beginPlain(origin);
  }

  /** Begins a plain session: JSON-RPC on the target itself, with a peer that does not support the handshake. */
  beginPlain(origin) {
    const postMessage = (message, transfer) => this.#target.post(message, transfer, origin);
    this.#begin({ origin, features: [], port: { postMessage }, release() {}, isPlain: true });
  }

  #begin(peer) {
    if (this.#offer === peer) this.#offer = undefined;
    // Any other offer was made to an earlier document of the peer, which no longer exists.
    this.#revokeOffer("replaced");
    this.stop();
    this.#session = peer;
    this.#callbacks.begin(peer);
  }
}
