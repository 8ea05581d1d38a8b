// Tests the handshake over ports and workers with generated messages. PORTWAY_SEED repeats a run.

import { assert } from "chai";
import { pause } from "../web/support/outcomes.js";
import { connect } from "../web/support/portway.js";
import { Attacker, Random } from "./support/generator.js";
import { inBrowser, messageCount, printFigure, progress, seed } from "./support/settings.js";
import { SessionChecker } from "./support/session-checker.js";

/** The number of messages in the bursts of a round, until the real peer connects. */
const PER_ROUND = 2_000;
/** The average number of messages in a burst, if the host has replied to the last burst. */
const PER_BURST = 250;
/** The minimum number of messages of this file. In a browser, handshake-windows.browser.test.js sends the rest. */
const COUNT = Math.ceil((inBrowser ? 0.4 : 1) * messageCount);

/** Starts a port, and returns an object that has the interface of a worker and uses this port. */
function asWorker(port) {
  port.start();
  return {
    postMessage: (...args) => port.postMessage(...args),
    addEventListener: (...args) => port.addEventListener(...args),
    removeEventListener: (...args) => port.removeEventListener(...args),
  };
}

/** Resolves after `near` has handled all earlier messages of `far`. */
const settled = (near, far) =>
  new Promise((resolve) => {
    const onMarker = ({ data }) => {
      if (data?.type !== "settle") return;
      near.removeEventListener("message", onMarker);
      resolve();
    };
    near.addEventListener("message", onMarker);
    far.postMessage({ type: "settle" });
  });

const totals = { sent: 0, received: 0, bytesOut: 0, bytesReceived: 0, sessions: 0, calls: 0 };

async function round(number, isWorker) {
  const roundSeed = (seed + number * 7919) >>> 0;
  // In every second round, the attacker sends nothing that ends the connection permanently. After such a round, the
  // connection must serve the real peer.
  const mayEnd = number % 2 === 1;
  const checker = new SessionChecker(["peer", "late"]);
  const { port1, port2 } = new MessageChannel();
  const near = isWorker ? asWorker(port1) : port1;
  const connecting = connect(near, checker.options({ connectTimeout: 30_000 }));
  let ended = false;
  let peer;
  connecting.then(
    (made) => (peer = made),
    () => (ended = true),
  );
  const peerAttacker = new Attacker(roundSeed, "peer", (one, transfer) => port2.postMessage(one, transfer), {
    mayEnd,
    run: number,
  });
  port2.onmessage = ({ data }) => peerAttacker.receive(data);
  const calls = [];
  const random = new Random(roundSeed);
  let received = 0;
  let remaining = PER_ROUND;
  for (let burst = 0; remaining > 0; burst++) {
    if (burst === 6) peerAttacker.oldPorts = peerAttacker.leave();
    // If the last burst got no reply, the attacker probably has no session. Then most bursts are small.
    const hasReply = peerAttacker.received > received;
    received = peerAttacker.received;
    const size = Math.min(remaining, 1 + random.below(hasReply ? 2 * PER_BURST : random.below(4) > 0 ? 8 : PER_BURST));
    remaining -= size;
    peerAttacker.burst(size);
    if (peer !== undefined)
      calls.push(
        peer.request("any", [], { timeout: 0 }).then(
          () => 1,
          () => 0,
        ),
      );
    await settled(near, port2);
    // The library handles at most one hello per 10 ms. After it has answered a hello, it ignores other hellos
    // for 100 ms.
    if (hasReply) continue;
    if (random.below(2)) peerAttacker.begin();
    await pause(random.below(20) === 0 ? 110 : 11);
  }
  // The real peer connects, while the attacker still sends messages through the old ports.
  port2.onmessage = null;
  const lateAttacker = new Attacker(roundSeed + 1, "late", () => {}, { mayEnd, run: number });
  lateAttacker.oldPorts = peerAttacker.leave();
  const timer = setInterval(() => lateAttacker.burst(20), 5);
  const fail = (what) => assert.fail(`${what}; PORTWAY_SEED=${seed}, round ${number}`);
  const limit = (promise, what) => Promise.race([promise, pause(8_000).then(() => fail(what))]);
  let again;
  if (ended || mayEnd) {
    peer?.destroy();
    checker.restart();
    again = connect(near, checker.options({ connectTimeout: 30_000 }));
    void connecting.then(
      (peer) => peer.destroy(),
      () => {},
    );
  } else again = connecting;
  const real = connect(isWorker ? asWorker(port2) : port2, {
    connectTimeout: 30_000,
    onError() {},
    methods: { whoami: () => "real" },
  });
  const host = await limit(
    again.catch((error) => fail(`connect: ${error.message}`)),
    "the connect of the host must resolve",
  );
  const other = await limit(real, "the real peer must get a session");
  const answers = await limit(
    Promise.all([host.request("whoami"), other.request("echo", ["real"])]),
    "the real peer must be served",
  );
  clearInterval(timer);
  assert.deepEqual(answers, ["real", ["real"]]);
  for (const one of [host, other, peer]) one?.destroy();
  await limit(Promise.all(calls), "each call must end");
  assert.equal(host.pending, 0);
  if (checker.faults.length > 0) fail(checker.faults.join("; "));
  for (const one of peerAttacker.ports) one.close();
  port1.close();
  port2.close();
  totals.sessions += checker.sessions;
  totals.calls += checker.calls;
  for (const attacker of [peerAttacker, lateAttacker])
    for (const key of ["sent", "received", "bytesOut", "bytesReceived"]) totals[key] += attacker[key];
}

describe("a host that receives generated handshake messages", function () {
  this.timeout(400_000);

  it("serves each call only in the session of the call, and then serves the real peer, over ports and workers", async () => {
    const started = performance.now();
    for (let number = 0; totals.sent < COUNT; number++) {
      await round(number, number % 4 >= 2);
      progress(`round ${number}`);
    }
    const seconds = (performance.now() - started) / 1_000;
    const { sent, received, bytesOut, bytesReceived, sessions, calls } = totals;
    printFigure(
      `handshake over ports and workers, seed ${seed}: ${sent} messages in ${seconds.toFixed(1)} s, ${sessions} sessions, ${calls} calls; ${received} messages back, ${(bytesReceived / bytesOut).toFixed(2)} bytes received per byte sent`,
    );
    assert.isAbove(sessions, 0);
    assert.isAbove(calls, 0);
    assert.isAtMost(bytesReceived, 10 * bytesOut);
    assert.isAtMost(seconds * 1_000, sent, "a message must take at most a millisecond on average");
  });
});
