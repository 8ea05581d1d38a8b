// Connections between two peers, or between a peer and the test.

import { afterThisTest } from "./cleanup.js";
import { RemoteEnd } from "./transports.js";
import { pause, until } from "./outcomes.js";
import { connect } from "./portway.js";

/** Calls `connect`, and destroys the peer after the test. */
export async function connected(target, options) {
  const peer = await connect(target, options);
  afterThisTest(() => peer.destroy());
  return peer;
}

/**
 * Returns the two ports of a channel, for two calls of `connect`. The ports are closed after the test, because a peer
 * closes only the private port of its session.
 */
export function ports() {
  const { port1, port2 } = new MessageChannel();
  afterThisTest(() => [port1, port2].forEach((port) => port.close()));
  return [port1, port2];
}

/** Returns two connected peers with these options. */
export async function connectPair(nearOptions, farOptions) {
  const [near, far] = ports();
  return Promise.all([connected(near, nearOptions), connected(far, farOptions)]);
}

/** Returns options for `connect`. Their array `events` gets the number of each session and the reason of each loss. */
export function recordSessions(options) {
  const events = [];
  return {
    events,
    onSession: ({ number }) => void events.push(number),
    onLost: ({ reason }) => void events.push(reason),
    ...options,
  };
}

/** Returns the id of a session, a hello or a lock: 32 times the same hexadecimal digit. */
export const hexId = (digit) => String(digit).repeat(32);

/** The test's port of a session. With this port, the test acts as the peer of the library. */
export class ScriptedSession extends RemoteEnd {
  /** Returns the next message that is not a notification of the protocol. */
  async nextCall() {
    for (;;) {
      const message = await this.next();
      if (message.id !== undefined || !message.method.startsWith("rpc.")) return message;
    }
  }

  /** Waits for a notification with this name, and returns the first such notification. */
  async notification(method) {
    await until(() => this.received.some((message) => message.method === method), `no ${method} arrived`);
    return this.received.find((message) => message.method === method);
  }

  answer({ id }, result) {
    this.post({ jsonrpc: "2.0", id, result });
  }

  bye(reason = "closed") {
    this.post({ jsonrpc: "2.0", method: "rpc.bye", params: { reason } });
  }
}

/** The port on which the test exchanges hellos with the library, to begin sessions. The test acts as the peer. */
export class ScriptedPeer extends RemoteEnd {
  /** The ids of the hellos that the test has answered. */
  #answered = new Set();

  hello(id, { channel = "", features = [], ...params } = {}) {
    this.post({ jsonrpc: "2.0", id, method: "rpc.hello", params: { version: 1, channel, features, ...params } });
  }

  /** Returns the next message for which `matches` returns true. */
  async find(matches) {
    for (;;) {
      const message = await this.next();
      if (matches(message)) return message;
    }
  }

  /**
   * Returns the next hello that the test has not answered. Answered hellos are skipped, because the library may repeat
   * a hello before it receives the answer.
   */
  nextHello() {
    return this.find((message) => message?.method === "rpc.hello" && !this.#answered.has(message.id));
  }

  /** Responds to a hello of the library with a new port. Returns the `ScriptedSession` on the other port. */
  accept({ id }, { session = hexId("0"), ...members } = {}) {
    this.#answered.add(id);
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => port1.close());
    const result = { session, version: 1, features: [], port: port2, ...members };
    this.post({ jsonrpc: "2.0", id, result }, [port2]);
    return new ScriptedSession(port1);
  }

  /** Begins a session with a response to the library's hello. */
  async open(options) {
    return this.accept(await this.nextHello(), options);
  }

  /** Begins a session with a hello that the library answers. */
  async openByHello(id = hexId(0)) {
    this.hello(id);
    return this.enter(await this.find((message) => message?.id === id && message.result !== undefined));
  }

  /** Begins a session with a hello that the test repeats until the library answers. */
  async openByHellos(id) {
    const isAnswer = (message) => message?.id === id && message.result !== undefined;
    for (; !this.received.some(isAnswer); await pause(15)) this.hello(id);
    return this.enter(this.received.find(isAnswer));
  }

  /** Begins the session whose port is in the library's answer. Returns the `ScriptedSession` on this port. */
  enter({ result }) {
    const end = new ScriptedSession(result.port);
    end.post({ jsonrpc: "2.0", method: "rpc.ping" });
    afterThisTest(() => result.port.close());
    return end;
  }
}

/** Returns a port for `connect`, and the other port of its channel, at which the test acts as the peer. */
export function scriptedPort() {
  const [port, far] = ports();
  return { port, scriptedPeer: new ScriptedPeer(far) };
}

/**
 * Sends a hello with a new id, so that the library ends the old session and sends a new hello. Answers the new hello,
 * and returns the `ScriptedSession` of the new session.
 */
export async function reconnect(scriptedPeer, { digit = 2, ...answer } = {}) {
  const known = scriptedPeer.received.filter((message) => message?.method === "rpc.hello").map(({ id }) => id);
  const isNew = (message) => message?.method === "rpc.hello" && !known.includes(message.id);
  for (; !scriptedPeer.received.some(isNew); await pause(15)) scriptedPeer.hello(hexId("f"));
  return scriptedPeer.accept(scriptedPeer.received.find(isNew), { session: hexId(digit), ...answer });
}

/** Returns an array with all listeners that are added to a target after this call, until they are removed. */
export function recordListeners(target) {
  const added = [];
  const { addEventListener: add, removeEventListener: remove } = target;
  target.addEventListener = function (type, listener, ...rest) {
    added.push([type, listener]);
    return add.call(this, type, listener, ...rest);
  };
  target.removeEventListener = function (type, listener, ...rest) {
    const index = added.findIndex((entry) => entry[0] === type && entry[1] === listener);
    if (index >= 0) added.splice(index, 1);
    return remove.call(this, type, listener, ...rest);
  };
  afterThisTest(() => {
    delete target.addEventListener;
    delete target.removeEventListener;
  });
  return added;
}

/** Returns a set. Each port that code of this realm closes from now on is added to the set. */
export function recordClosedPorts() {
  const hasOwnClose = Object.hasOwn(MessagePort.prototype, "close");
  const { close } = MessagePort.prototype;
  const closed = new Set();
  MessagePort.prototype.close = function (...args) {
    closed.add(this);
    return close.apply(this, args);
  };
  afterThisTest(() => {
    if (hasOwnClose) MessagePort.prototype.close = close;
    else delete MessagePort.prototype.close;
  });
  return closed;
}

/** Counts the channels that code of this realm creates from now on. Returns a function that returns the count. */
export function countChannels() {
  const { MessageChannel: Original } = globalThis;
  let count = 0;
  globalThis.MessageChannel = class extends Original {
    constructor() {
      super();
      count++;
    }
  };
  afterThisTest(() => void (globalThis.MessageChannel = Original));
  return () => count;
}

/**
 * A map from each timer that has not fired to its generation. The generation is the number of calls of `countTimers`
 * before the timer was set. If the callback of a timer sets a new timer, the new timer has the generation of the first
 * timer.
 */
const openTimers = new Map();
let generation = 0;

const { setTimeout: set, clearTimeout: clear } = globalThis;
globalThis.setTimeout = (callback, ms, ...args) => {
  const timerGeneration = generation;
  const timer = set(() => {
    openTimers.delete(timer);
    const current = generation;
    generation = timerGeneration;
    try {
      callback(...args);
    } finally {
      generation = current;
    }
  }, ms);
  openTimers.set(timer, timerGeneration);
  return timer;
};
globalThis.clearTimeout = (timer) => {
  openTimers.delete(timer);
  clear(timer);
};

/** Counts the open timers that are set after this call, except those that the callbacks of earlier timers set. */
export function countTimers() {
  const counted = ++generation;
  return {
    get size() {
      return [...openTimers.values()].filter((each) => each === counted).length;
    },
    /**
     * Waits until no counted timer is open. At first, the timer of a short grace period may still be open. If a
     * heartbeat or retries continued, they would set timers again and again, and this function would fail.
     */
    allEnd() {
      return until(() => this.size === 0, "a timer still runs", 2_000);
    },
  };
}

const isProtocolNotification = ({ id, method }) =>
  id === undefined && method?.startsWith("rpc.") && method !== "rpc.columns";

/** Connects a peer to the test. `untilReceived` returns the peer's messages without notifications of the protocol. */
export async function connectToScripted({ features = ["batch"], ...options } = {}) {
  const { port, scriptedPeer } = scriptedPort();
  const connecting = connected(port, options);
  const end = await scriptedPeer.open({ session: hexId(1), features });
  const peer = await connecting;
  const receivedMessages = () => end.received.filter((message) => !isProtocolNotification(message));
  /** Waits for `count` messages, and returns all messages. */
  const untilReceived = async (count) => (
    await until(() => receivedMessages().length >= count, "some messages did not arrive"), receivedMessages()
  );
  return { peer, end, scriptedPeer, untilReceived };
}
