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
 * Returns the two ports of a channel, for two calls of `connect`. A peer closes only the private port of its session.
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

/** Returns options that record session events. */
export function recordSessions(options) {
  const events = [];
  return {
    events,
    onSession: ({ number }) => void events.push(number),
    onLost: ({ reason }) => void events.push(reason),
    ...options,
  };
}

export const hexId = (digit) => String(digit).repeat(32);

/** The test as a peer in a session. */
export class ScriptedSession extends RemoteEnd {
  /** Returns the next message that is not a notification of the protocol. */
  async nextCall() {
    for (;;) {
      const message = await this.next();
      if (message.id !== undefined || !message.method.startsWith("rpc.")) return message;
    }
  }

  /** Waits for a notification with this name, and returns the first. */
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

/** The test as the peer that exchanges hellos over a port. */
export class ScriptedPeer extends RemoteEnd {
  /** The ids of the hellos that the test has answered. */
  #answered = new Set();

  hello(id, { channel = "", features = [], ...more } = {}) {
    this.post({ jsonrpc: "2.0", id, method: "rpc.hello", params: { version: 1, channel, features, ...more } });
  }

  /** Returns the next message for which `isIt` returns true. */
  async find(isIt) {
    for (;;) {
      const message = await this.next();
      if (isIt(message)) return message;
    }
  }

  /** Returns the next hello without a response. A busy peer may repeat a hello before it receives the response. */
  nextHello() {
    return this.find((message) => message?.method === "rpc.hello" && !this.#answered.has(message.id));
  }

  /** Answers a hello, and returns the test's end of the session. */
  accept({ id }, { session = hexId("0"), ...more } = {}) {
    this.#answered.add(id);
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => port1.close());
    const result = { session, version: 1, features: [], port: port2, ...more };
    this.post({ jsonrpc: "2.0", id, result }, [port2]);
    return new ScriptedSession(port1);
  }

  /** Begins a session with a response to the peer's hello. */
  async open(options) {
    return this.accept(await this.nextHello(), options);
  }

  /** Begins a session with a hello that the peer answers. */
  async openByHello(id = hexId(0)) {
    this.hello(id);
    return this.enter(await this.find((message) => message?.id === id && message.result !== undefined));
  }

  /** Begins a session with a hello that the test repeats until the peer answers. */
  async openByHellos(id) {
    const isAnswer = (message) => message?.id === id && message.result !== undefined;
    for (; !this.received.some(isAnswer); await pause(15)) this.hello(id);
    return this.enter(this.received.find(isAnswer));
  }

  /** Begins to use the port of the peer's response. */
  enter({ result }) {
    const end = new ScriptedSession(result.port);
    end.post({ jsonrpc: "2.0", method: "rpc.ping" });
    afterThisTest(() => result.port.close());
    return end;
  }
}

/** Returns a port for `connect`, and the test as the peer of the port. */
export function scriptedPort() {
  const [port, far] = ports();
  return { port, scriptedPeer: new ScriptedPeer(far) };
}

/** Ends the old session with a hello under another name, and begins a new session. */
export async function reconnect(scriptedPeer, { digit = 2, ...answer } = {}) {
  const known = scriptedPeer.received.filter((message) => message?.method === "rpc.hello").map(({ id }) => id);
  const isNew = (message) => message?.method === "rpc.hello" && !known.includes(message.id);
  for (; !scriptedPeer.received.some(isNew); await pause(15)) scriptedPeer.hello(hexId("f"));
  return scriptedPeer.accept(scriptedPeer.received.find(isNew), { session: hexId(digit), ...answer });
}

/** Records the listeners that are added to a target from now on. Returns the list of those that are not removed. */
export function recordListeners(target) {
  const added = [];
  const { addEventListener: add, removeEventListener: remove } = target;
  target.addEventListener = function (type, listener, ...more) {
    added.push([type, listener]);
    return add.call(this, type, listener, ...more);
  };
  target.removeEventListener = function (type, listener, ...more) {
    const index = added.findIndex((one) => one[0] === type && one[1] === listener);
    if (index >= 0) added.splice(index, 1);
    return remove.call(this, type, listener, ...more);
  };
  afterThisTest(() => {
    delete target.addEventListener;
    delete target.removeEventListener;
  });
  return added;
}

/**
 * All open timers. The value of a timer is the number of calls of `countTimers` before the timer was set. A timer that
 * another timer sets has the value of that timer.
 */
const open = new Map();
let run = 0;

const { setTimeout: set, clearTimeout: clear } = globalThis;
globalThis.setTimeout = (act, ms, ...args) => {
  const mine = run;
  const timer = set(() => {
    open.delete(timer);
    const current = run;
    run = mine;
    try {
      act(...args);
    } finally {
      run = current;
    }
  }, ms);
  open.set(timer, mine);
  return timer;
};
globalThis.clearTimeout = (timer) => {
  open.delete(timer);
  clear(timer);
};

/** Counts the open timers that are set from now on. Timers of earlier tests do not count. */
export function countTimers() {
  const mine = ++run;
  return {
    get size() {
      return [...open.values()].filter((one) => one === mine).length;
    },
    /**
     * Waits until all timers have ended. The timer of a short grace period may still run at first, and so may a timer
     * of an earlier test. The timer of a heartbeat or a retry would not end.
     */
    allEnd() {
      return until(() => this.size === 0, "a timer still runs", 2_000);
    },
  };
}

const isNote = ({ id, method }) => id === undefined && method?.startsWith("rpc.") && method !== "rpc.columns";

/** Connects a peer to the test. `untilReceived` returns the peer's messages without notifications of the protocol. */
export async function connectToScripted({ features = ["batch"], ...options } = {}) {
  const { port, scriptedPeer } = scriptedPort();
  const connecting = connected(port, options);
  const end = await scriptedPeer.open({ session: hexId(1), features });
  const peer = await connecting;
  const receivedMessages = () => end.received.filter((message) => !isNote(message));
  /** Waits for `count` messages, and returns all messages. */
  const untilReceived = async (count) => (
    await until(() => receivedMessages().length >= count, "some messages did not arrive"), receivedMessages()
  );
  return { peer, end, scriptedPeer, untilReceived };
}
