// A page with a WebSocket and a pending call. `back-forward.mjs` leaves this page and returns to it. All times are
// those of `Date.now()`, so that the runner can compare them with the times of the server.

import init, { JSONRPCPeer } from "/pkg/portway.js";
import { webSocketTransport } from "/pkg/websocket.js";

const port = new URLSearchParams(location.search).get("port");
/** The time at which an earlier load of this page was left. */
const unloadedAt = Number(sessionStorage.getItem("left"));
/** The last time at which this page was left and was shown again, and the end of its call. */
let trip = {};

/**
 * Posts the state to the runner. The runner cannot read it by the driver: the driver of WebKit never answers a command
 * that arrives while the browser returns to a page.
 */
function post(state) {
  navigator.sendBeacon("/", JSON.stringify({ state, unloadedAt, trip }));
}

addEventListener("pagehide", () => {
  trip = { leftAt: Date.now() };
  sessionStorage.setItem("left", String(trip.leftAt));
});
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) trip.shownAt = Date.now();
});

await init();
const transport = webSocketTransport(`ws://127.0.0.1:${port}`, {
  onSession: () => void call(),
  onRetry: () => post("waiting"),
});
const peer = new JSONRPCPeer(transport);

async function call() {
  const pending = peer.request("never", [], { timeout: 0 });
  pending.catch(({ reason }) => Object.assign(trip, { endedAt: Date.now(), reason }));
  await peer.request("echo");
  trip.answeredAt = Date.now();
  post("connected");
}
