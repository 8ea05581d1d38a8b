// Agrees with the other side on a port or a lane, whoever of the two is there first, and again each time that the other side is
// new. PROTOCOL.md has the rules.

import { now } from "./clock.js";
import { INVALID_REQUEST, METHOD_NOT_FOUND, fromWire } from "./errors.js";
import { COPIED_GOODBYE_TIMEOUT, GOODBYE_TIMEOUT, MAX_FEATURES, MIN_HELLO_INTERVAL } from "./limit-values.js";
import { callMessage, isPort } from "./messages.js";
import { setTimer } from "./timers.js";

/** The version of the handshake and of sessions. A peer with another version is refused. */
export const VERSION = 1;
/** The `data.reason` of the refusal, and the reason with which `connect` rejects. */
export const INCOMPATIBLE_VERSION = "incompatible-version";
/** What this side understands beside plain JSON-RPC. */
const FEATURES = ["batch", "cancel", "columns", "progress", "stream"];
/** And that a session needs no port, where its boundary is nobody's who must not hear it. */
const LANE = "lane";
/** The feature of a side that holds its lock already. */
export const LOCK = "lock";
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 250;

/** 128 random bits: they name a session, and are good for one answer. */
export const newId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
export const isId = (value) => typeof value === "string" && /^[0-9a-f]{32}$/.test(value);
const isVersion = (value) => Number.isSafeInteger(value) && value > 0;
/** The names in an array. Nothing is known of its length, or of theirs. */
const names = (value) =>
  Array.isArray(value)
    ? value.slice(0, MAX_FEATURES).filter((item) => typeof item === "string" && item.length < 100)
    : [];

export class Handshake {
  /** What names this side of the session, or of the next one. */
  id = newId();
  #spent = this.id;
  #door;
  #channel;
  #on;
  #features;
  #timer;
  /** The session that there is. */
  #session;
  /** What was sent in answer to a hello, until something comes through its port. */
  #offer;
  #offeredAt = -Infinity;
  /** How long (ms) a hello with another id cannot replace the unused answer. */
  #answerKeptFor = 0;
  #lastMet = -Infinity;
  #hasMet = false;
  /** Whether it has started. */
  isReady = false;
  /** The last hello that came before this side was ready. */
  #early;
  /** Whether this side holds the lock that is named after its id. */
  isLocked = false;

  /**
   * `on` is told of each port that may become a session (`adopt`) and of each that does (`begin`), of a hello of somebody
   * new during a session (`replaced`, which gets the origin and says whether a new one is still wanted) or of an origin that is
   * not allowed (`stranger`), of a peer whose version differs (`incompatible`), and of an error (`refused`).
   */
  constructor(door, channel, on) {
    this.#door = door;
    this.#features = door.lane === undefined ? FEATURES : [...FEATURES, LANE];
    this.#channel = channel;
    this.#on = on;
  }

  /** Says hello until there is a session. Before the start, no hello is answered. */
  start(pause = FIRST_PAUSE) {
    this.isReady = true;
    const early = this.#early;
    this.#early = undefined;
    if (early !== undefined) {
      this.#meet(early);
      // The peer has its refusal, so it needs no hello.
      if (early.version !== VERSION) return;
    }
    clearTimeout(this.#timer);
    this.#timer = setTimer(() => this.start(Math.min(2 * pause, LONGEST_PAUSE)), pause);
    this.#greet();
  }

  stop() {
    clearTimeout(this.#timer);
    this.#withdraw("closed");
  }

  /** Keeps an unused answer longer: a goodbye shows that the peer may have used it, and that its port is slower. */
  keepAnswer() {
    this.#answerKeptFor = COPIED_GOODBYE_TIMEOUT;
  }

  /** Takes an answer back, which the other side may have taken for a session already. */
  #withdraw(reason) {
    this.#offer?.port.postMessage(callMessage("rpc.bye", { reason }));
    this.#offer?.letGo();
    this.#offer = undefined;
  }

  /** The session has ended; from here on, the other side's hello begins another. */
  end() {
    this.#session = undefined;
    this.#spent = this.id;
    this.id = newId();
    this.isLocked = false;
  }

  /** Takes a message of the target, if it is about the handshake. */
  takes(message, origin, isAllowed) {
    const { id, method, params, result, error } = message;
    if (method === "rpc.hello") {
      const { version, channel, features } = Object(params);
      if (!isId(id) || id === this.id || channel !== this.#channel || !isVersion(version)) return true;
      if (isAllowed) this.#meet({ id, origin, version, features: names(features) });
      else this.#on.stranger(origin);
      return true;
    }
    if (method !== undefined || (id !== this.id && id !== this.#spent)) return false;
    if (isAllowed && id === this.id && this.#session === undefined) {
      if (error !== undefined) return (this.#refused(fromWire(error), origin), true);
      const port = isPort(result?.port) ? result.port : isId(result?.lane) ? this.#door.lane?.(result.lane) : undefined;
      // A session of our own name would be watched by the lock that this side holds.
      if (isId(result?.session) && result.session !== this.id && port !== undefined && isVersion(result.version)) {
        if (result.version === VERSION) return (this.#accept(result, port, origin), true);
        this.#on.incompatible(result.version);
      }
    }
    // A name is good for one answer, of a side that is allowed.
    if (isPort(result?.port)) result.port.close();
    return true;
  }

  #greet() {
    this.#door.post(
      callMessage("rpc.hello", { version: VERSION, channel: this.#channel, features: this.#named() }, this.id),
    );
  }

  #named() {
    return this.isLocked ? [...this.#features, LOCK] : this.#features;
  }

  #meet(other) {
    if (!this.isReady) return void (this.#early = other);
    if (other.id === this.#session?.id || other.id === this.#offer?.id) return;
    // Whoever floods this side with names is answered now and then; who means it says hello again.
    const time = now();
    // A clock may be set back.
    if (Math.abs(time - this.#lastMet) < MIN_HELLO_INTERVAL) return;
    if (this.#offer !== undefined && Math.abs(time - this.#offeredAt) < this.#answerKeptFor) return;
    this.#lastMet = time;
    if (other.version !== VERSION) return this.#refuse(other);
    this.#hasMet = true;
    // One of the two answers, whoever spoke first.
    if (this.#session !== undefined) {
      if (!this.#on.replaced(other.origin)) return;
      // A hello now could reach the one that was replaced before the goodbye does; the new one says its own again.
      if (this.id < other.id) return;
    }
    if (this.id < other.id) return this.#greet();
    this.#withdraw("replaced");
    const offered = {};
    const moved = [];
    if (this.#features.includes(LANE) && other.features.includes(LANE)) {
      offered.lane = newId();
      other.port = this.#door.lane(offered.lane);
    } else {
      const { port1, port2 } = new MessageChannel();
      offered.port = port2;
      moved.push(port2);
      other.port = port1;
    }
    this.#offer = other;
    this.#offeredAt = time;
    this.#answerKeptFor = GOODBYE_TIMEOUT;
    this.#on.adopt(other, () => {
      if (this.#offer === other) this.#begin(other);
    });
    const result = { session: this.id, version: VERSION, features: this.#named(), ...offered };
    this.#door.post({ jsonrpc: "2.0", id: other.id, result }, moved, other.origin);
  }

  /** Refuses a hello of another version. A session that there is goes on. */
  #refuse({ id, origin, version }) {
    const data = { reason: INCOMPATIBLE_VERSION, version: VERSION };
    const error = { code: INVALID_REQUEST, message: "Incompatible version", data };
    this.#door.post({ jsonrpc: "2.0", id, error }, [], origin);
    this.#on.incompatible(version);
  }

  #accept({ session, features }, port, origin) {
    const other = { id: session, port, origin, features: names(features) };
    this.#on.adopt(other);
    // Tells the other side that its port is in use.
    port.postMessage(callMessage("rpc.ping"));
    this.#begin(other);
  }

  #refused(error, origin) {
    const { reason, version } = Object(error.data);
    if (reason === INCOMPATIBLE_VERSION && isVersion(version) && version !== VERSION)
      return this.#on.incompatible(version);
    // Beside the one who has said hello there may be another who does not know it.
    if (this.#hasMet) return;
    if (error.code !== METHOD_NOT_FOUND) return this.#on.refused(error);
    this.beginPlain(origin);
  }

  /** Begins a session with a peer that knows none: plain JSON-RPC on the boundary itself. */
  beginPlain(origin) {
    const postMessage = (message, transfer) => this.#door.post(message, transfer, origin);
    this.#begin({ origin, features: [], port: { postMessage }, letGo() {}, isPlain: true });
  }

  #begin(other) {
    if (this.#offer === other) this.#offer = undefined;
    // Whoever has another answer is of the same side, and does not come back.
    this.#withdraw("replaced");
    this.stop();
    this.#session = other;
    this.#on.begin(other);
  }
}
