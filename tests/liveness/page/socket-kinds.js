// The kinds of ends of a WebSocket, for pages and for Node. The servers are processes of the runner.

import { RUNS, endOf, outcomes, pause, repeat } from "./measure.js";

/** All calls begin within this number of milliseconds, so that the checks of silence are at different phases. */
const SPREAD_MS = 1_000;
/** The timeout of the calls that show that a connection works. */
const CONNECT_TIMEOUT_MS = 15_000;

/**
 * Returns functions that connect to servers and measure the ends of their connections. `portway` has the exports of the
 * package and of `portway/websocket`, and `options` are those of the transports. `handle(driver, command)` sends a
 * command to the servers of the runner.
 */
export function socketTools({ JSONRPCPeer, webSocketTransport }, options, handle) {
  async function connected(port, moreOptions) {
    const peer = new JSONRPCPeer(webSocketTransport(`ws://127.0.0.1:${port}`, { ...options, ...moreOptions }));
    await peer.request("echo", [], { timeout: CONNECT_TIMEOUT_MS });
    return peer;
  }

  /**
   * Measures when calls end. `act` must end or disturb their server, or the relay in front of the server. The measured
   * time begins with the call of `act`, or at the time that `act` returns.
   */
  async function measureSockets(driver, act, isRelayed) {
    const send = (command) => handle(driver, command);
    const server = await send({ action: "start" });
    const relay = isRelayed ? await send({ action: "relay", port: server.port }) : undefined;
    const peers = await repeat(RUNS, () => connected((relay ?? server).port));
    try {
      const ends = [];
      for (const peer of peers) {
        ends.push(endOf(peer.request("never", [], { timeout: 0 })));
        await pause(SPREAD_MS / RUNS);
      }
      // The servers are silent after the responses to these calls.
      await Promise.all(peers.map((peer) => peer.request("echo", [], { timeout: CONNECT_TIMEOUT_MS })));
      const start = performance.now();
      const laterStart = await act(send, server, relay);
      return await outcomes(ends, Array(RUNS).fill(laterStart ?? start));
    } finally {
      for (const peer of peers) peer.destroy();
      await send({ action: "kill", number: server.number, signal: "SIGKILL" });
    }
  }

  return { connected, measureSockets };
}

/** Returns the kinds, by id. The parameters are those of `socketTools`. */
export function socketKinds(portway, options, handle) {
  const { measureSockets } = socketTools(portway, options, handle);
  const signal = (signal) => (driver) =>
    measureSockets(driver, (send, { number }) => send({ action: "kill", number, signal }));
  return {
    "the server of a WebSocket is killed": signal("SIGKILL"),
    "the server of a WebSocket is stopped": signal("SIGSTOP"),
    "the server of a WebSocket reads, and answers nothing": (driver) =>
      measureSockets(driver, (send, { number }) => send({ action: "run", number, command: "set", isMute: true })),
    "the network of a WebSocket drops everything": (driver) =>
      measureSockets(driver, (send, _, { number }) => send({ action: "drop", number }), true),
  };
}
