// Tests WebSockets of a page that the browser has hidden. Browsers run the timers of such a page late: once per second,
// and Chromium once per minute after five minutes. The kinds share one period in which the page is hidden.

import * as websocket from "/pkg/websocket.js";
import { portway } from "./boundaries.js";
import { RUNS, endOf, pause, repeat } from "./measure.js";
import { socketTools } from "./socket-kinds.js";
import { HIDDEN_MS, hidePage } from "./visibility.js";

/**
 * The servers end this number of milliseconds before the page is shown again. If the page is hidden for a shorter time,
 * the servers end as soon as the page is hidden.
 */
const END_BEFORE_MS = 90_000;
/** The connections are checked for this time (ms) after the page is shown: longer than two checks of a heartbeat. */
const VISIBLE_MS = 12_000;
/** The milliseconds between two timers of `timerGaps`, if the timers are not late. */
const GAP_MS = 100;
/** After this time (ms), Chromium runs the timers of a hidden page once per minute. */
const INTENSIVE_MS = 5 * 60_000;
/** A part of the text of each ping. */
const PING = '"method":"rpc.ping"';

const handle = (driver, command) => driver("control a socket server", command);
const { connected, measureSockets } = socketTools({ ...portway, ...websocket }, {}, handle);

/** Waits until the page is hidden, and until the servers must end, see `END_BEFORE_MS`. Returns the period. */
async function untilServersMayEnd(driver) {
  const period = await hidePage(driver);
  await pause(Math.max(0, HIDDEN_MS - END_BEFORE_MS));
  if (!document.hidden) throw new Error("the page must be hidden when its server ends");
  return period;
}

/** Measures the time between the timers of this page, until `end` settles. */
async function timerGaps(end) {
  const gaps = [];
  let isOver = false;
  end.finally(() => (isOver = true));
  for (let last = performance.now(); ; last += gaps.at(-1)) {
    await pause(GAP_MS);
    if (isOver) return gaps.sort((a, b) => a - b);
    gaps.push(performance.now() - last);
  }
}

/**
 * Connects to two servers, and checks that the connections stay open while the page is hidden, and for some time after
 * the page is shown again. One server is plain, and a call is pending. The other server answers pings as Portway does,
 * and no call is pending. Returns all faults as `ends`.
 */
async function stayConnected(driver) {
  const send = (command) => handle(driver, command);
  const faults = [];
  const log = ({ number }) => send({ action: "run", number, command: "log" });
  const pingsIn = (connections) =>
    connections.flatMap(({ received }) => received).filter((text) => text.includes(PING));
  const run = (server, command, values) => send({ action: "run", number: server.number, command, ...values });

  const servers = [await send({ action: "start" }), await send({ action: "start" })];
  const [plain, portwayLike] = servers;
  const countOf = (server) => (server === plain ? Math.ceil(RUNS / 2) : Math.floor(RUNS / 2));
  const connectAll = (server) =>
    repeat(countOf(server), () =>
      connected(server.port, {
        onLost: (error) => faults.push(`a connection was lost, ${document.visibilityState}: ${error.message}`),
      }),
    );
  const plainPeers = await connectAll(plain);
  const peers = [...plainPeers, ...(await connectAll(portwayLike))];
  try {
    for (const peer of plainPeers) {
      endOf(peer.request("never", [], { timeout: 0 })).then(({ reason }) => faults.push(`a call ended: ${reason}`));
    }
    await run(portwayLike, "set", { answersPings: true });
    await run(portwayLike, "send", { text: '{"jsonrpc":"2.0","method":"rpc.ping"}' });

    const { hiddenAt, shown } = await hidePage(driver);
    const before = (await Promise.all(servers.map(log))).map((connections) => pingsIn(connections).length);
    const gaps = await timerGaps(shown);
    const hiddenMs = (await shown) - hiddenAt;
    const pings = (await Promise.all(servers.map(log))).map(
      (connections, n) => pingsIn(connections).length - before[n],
    );
    await pause(VISIBLE_MS);

    const answers = await Promise.all(peers.map((peer) => endOf(peer.request("echo"))));
    for (const { reason } of answers) if (reason !== "answered") faults.push(`a later call ended: ${reason}`);
    for (const server of servers) {
      const connections = await log(server);
      if (connections.length !== countOf(server))
        faults.push(`a server must have ${countOf(server)} connections, got ${connections.length}`);
      for (const { closed } of connections) if (closed) faults.push(`a server saw the close ${closed.code}`);
    }
    const [median, longest] = [gaps[gaps.length >> 1], gaps.at(-1)];
    // Without these checks, the test would pass in a browser that does not slow the timers of hidden pages.
    if (hiddenMs < HIDDEN_MS) faults.push(`the page must be hidden for ${HIDDEN_MS} ms, got ${hiddenMs}`);
    if (!(median > 5 * GAP_MS))
      faults.push(`the timers of the hidden page must be late, got ${median} ms between them`);
    if (/Chrome/.test(navigator.userAgent) && hiddenMs > INTENSIVE_MS + 120_000 && longest < 30_000)
      faults.push(`Chromium must run the timers once per minute, got at most ${longest} ms between them`);
    for (const count of pings)
      if (count === 0) faults.push("a server must get pings while the page is hidden, got none");
    const facts =
      `hidden for ${(hiddenMs / 1_000).toFixed(0)} s; ms between timers: median ${median?.toFixed(0)}, ` +
      `longest ${longest?.toFixed(0)}; pings: ${pings.join(" and ")}`;
    return { ends: [...faults], facts };
  } finally {
    for (const peer of peers) peer.destroy();
    for (const { number } of servers) await send({ action: "kill", number, signal: "SIGKILL" });
  }
}

export const hidden = {
  "the server of a WebSocket is killed while the page is hidden": async (driver) => {
    let period;
    const ends = await measureSockets(driver, async (send, { number }) => {
      period = await untilServersMayEnd(driver);
      const start = performance.now();
      await send({ action: "kill", number, signal: "SIGKILL" });
      return start;
    });
    await period.shown;
    return ends;
  },
  // The time begins when the page is visible again. The time is negative if the hidden page detects the silence.
  "the server of a WebSocket is stopped while the page is hidden": (driver) =>
    measureSockets(driver, async (send, { number }) => {
      const { shown } = await untilServersMayEnd(driver);
      await send({ action: "kill", number, signal: "SIGSTOP" });
      return shown;
    }),
  "the page is hidden, and the server of a WebSocket responds": stayConnected,
};
