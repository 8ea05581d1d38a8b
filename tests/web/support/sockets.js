// WebSocket servers that a spec controls, and peers that connect to these servers.

import { assert } from "chai";
import { afterThisTest } from "./cleanup.js";
import { until } from "./outcomes.js";
import { JSONRPCPeer, inNode, packaged } from "./portway.js";

const { ReconnectPolicy, webSocketTransport } = await import(packaged("websocket.js"));
const { subscribe } = await import(packaged("subscription.js"));
/** Options with the WebSocket class, which an application in Node must pass. Pages need no such option. */
const sockets = inNode ? { WebSocket: (await import("ws")).default } : {};

export { ReconnectPolicy, sockets, subscribe, webSocketTransport };

async function post(values) {
  const origin = inNode ? globalThis.portwayRunner : location.origin;
  const response = await fetch(`${origin}/sockets`, { method: "POST", body: JSON.stringify(values) });
  return response.json();
}

/**
 * Starts a server in its own process. `command` makes the server run a command, and `signal` sends a signal to the
 * process. If `isCounted`, the method `run` of the server writes each execution to a file before the answer is sent.
 */
export async function startServer(isCounted) {
  let { number, port } = await post({ action: "start", isCounted });
  const command = (command, values) => post({ action: "run", number, command, ...values });
  const signal = (signal) => post({ action: "kill", number, signal });
  afterThisTest(() => signal("SIGKILL"));
  return {
    url: `ws://127.0.0.1:${port}/path`,
    signal,
    command,
    /** Returns the URL of a relay with limits of its speed to clients (`down`) and to the server (`up`), in bytes/s. */
    async slowUrl(rates) {
      const relay = await post({ action: "relay", port, rates });
      return `ws://127.0.0.1:${relay.port}/path`;
    },
    set: (values) => command("set", values),
    /** Returns the connections so far, each with the messages that the server received over it. */
    log: () => command("log"),
    /** Waits until `holds(log)` returns true, and returns the log. Fails with `text` after 5 s. */
    async logOnce(holds, text) {
      const deadline = Date.now() + 5_000;
      for (;;) {
        const log = await command("log");
        if (holds(log)) return log;
        if (Date.now() > deadline) assert.fail(text ?? `the log is ${JSON.stringify(log)}`);
      }
    },
    /** Starts a killed server again on the same port. */
    async restart() {
      ({ number, port } = await post({ action: "start", port, isCounted }));
    },
    /** Resolves to the first param of each `run` call that was executed since the last start, even after a kill. */
    executions: () => post({ action: "executions", number }),
  };
}

/**
 * Returns a peer that connects to the server. `events` records the name and the argument of each call of a callback.
 * Without the option `reconnect`, the delays before new connections are at most 200 ms.
 */
export function connectTo(url, options = {}, peerOptions = {}) {
  const events = [];
  const record = (name) => (value) => {
    events.push({ name, value });
    options[name]?.(value);
  };
  const names = ["onSession", "onLost", "onRetry", "onEnd"];
  const transport = webSocketTransport(url, {
    ...sockets,
    reconnect: { base: 20, cap: 200 },
    ...options,
    ...Object.fromEntries(names.map((name) => [name, record(name)])),
  });
  const errors = [];
  const peer = new JSONRPCPeer(transport, { onError: (error) => errors.push(error), ...peerOptions });
  afterThisTest(() => peer.destroy());
  const named = (name) => events.filter((event) => event.name === name).map(({ value }) => value);
  return {
    peer,
    transport,
    errors,
    events,
    named,
    /** Waits until this number of sessions have begun. */
    session: (count = 1) => until(() => named("onSession").length >= count, `session ${count} did not begin`),
  };
}

/** Returns the texts of all requests in a log that call the method. */
export function requestsIn(log, method) {
  return log.flatMap(({ received }) => received).filter((text) => text.includes(`"method":"${method}"`));
}
