// Both sides of connections.

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

/** A channel that two connections can be made over; they close ports of their own only. */
export function ports() {
  const { port1, port2 } = new MessageChannel();
  afterThisTest(() => [port1, port2].forEach((port) => port.close()));
  return [port1, port2];
}

/** Two connected peers. */
export async function connectPair(one, other) {
  const [near, far] = ports();
  return Promise.all([connected(near, one), connected(far, other)]);
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

/** The far end of a session, played by the test. */
export class ScriptedSession extends RemoteEnd {
  /** The next message that is not a note about the session itself. */
  async nextCall() {
    for (;;) {
      const message = await this.next();
      if (message.id !== undefined || !message.method.startsWith("rpc.")) return message;
    }
  }

  /** Resolves with the first note of this name. */
  async noted(method) {
    await until(() => this.received.some((message) => message.method === method), `no ${method} came`);
    return this.received.find((message) => message.method === method);
  }

  answer({ id }, result) {
    this.post({ jsonrpc: "2.0", id, result });
  }

  bye(reason = "closed") {
    this.post({ jsonrpc: "2.0", method: "rpc.bye", params: { reason } });
  }
}

/** The peer of a port, played by the test with messages of its own. */
export class ScriptedPeer extends RemoteEnd {
  /** The hellos that were answered, by their ids. */
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

  /** The peer's next unanswered hello. A busy peer may send one again before it has the answer. */
  nextHello() {
    return this.find((message) => message?.method === "rpc.hello" && !this.#answered.has(message.id));
  }

  /** Answers a hello, and returns its own end of the session. */
  accept({ id }, { session = hexId("0"), ...more } = {}) {
    this.#answered.add(id);
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => port1.close());
    const result = { session, version: 1, features: [], port: port2, ...more };
    this.post({ jsonrpc: "2.0", id, result }, [port2]);
    return new ScriptedSession(port1);
  }

  /** Begins a session by answering the peer's hello. */
  async open(options) {
    return this.accept(await this.nextHello(), options);
  }

  /** Begins a session by a hello that the peer answers. */
  async openByHello(id = hexId(0)) {
    this.hello(id);
    return this.enter(await this.find((message) => message?.id === id && message.result !== undefined));
  }

  /** Begins a session by a hello that is repeated until the peer answers. */
  async openByHellos(id) {
    const isAnswer = (message) => message?.id === id && message.result !== undefined;
    for (; !this.received.some(isAnswer); await pause(15)) this.hello(id);
    return this.enter(this.received.find(isAnswer));
  }

  /** Uses the port of an answer. */
  enter({ result }) {
    const end = new ScriptedSession(result.port);
    end.post({ jsonrpc: "2.0", method: "rpc.ping" });
    afterThisTest(() => result.port.close());
    return end;
  }
}

/** A port to connect to, and the test at its far end. */
export function scriptedPort() {
  const [port, far] = ports();
  return { port, scriptedPeer: new ScriptedPeer(far) };
}

/** The peer of an scriptedPeer is there again, under another name. */
export async function reconnect(scriptedPeer, { digit = 2, ...answer } = {}) {
  const known = scriptedPeer.received.filter((message) => message?.method === "rpc.hello").map(({ id }) => id);
  const isNew = (message) => message?.method === "rpc.hello" && !known.includes(message.id);
  for (; !scriptedPeer.received.some(isNew); await pause(15)) scriptedPeer.hello(hexId("f"));
  return scriptedPeer.accept(scriptedPeer.received.find(isNew), { session: hexId(digit), ...answer });
}

/** The listeners that a target has more than now, by any name. */
export function listenersOf(target) {
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
 * All timers that are open, each with the run of `countTimers` that it belongs to: one that a timer sets, to that
 * timer's.
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
     * Waits until no timer is left. A grace period that ends soon may still run, and so may a timer of an earlier test.
     * A heartbeat or a retry would stay.
     */
    allEnd() {
      return until(() => this.size === 0, "a timer is left", 2_000);
    },
  };
}

const isNote = ({ id, method }) => id === undefined && method?.startsWith("rpc.") && method !== "rpc.columns";

/** A peer in a session with the test, and the messages received from it, without notes about the session. */
export async function connectToScripted({ features = ["batch"], ...options } = {}) {
  const { port, scriptedPeer } = scriptedPort();
  const connecting = connected(port, options);
  const end = await scriptedPeer.open({ session: hexId(1), features });
  const peer = await connecting;
  const came = () => end.received.filter((message) => !isNote(message));
  /** Returns the received messages once there are `count`. */
  const arrived = async (count) => (await until(() => came().length >= count, "nothing came"), came());
  return { peer, end, scriptedPeer, arrived };
}
