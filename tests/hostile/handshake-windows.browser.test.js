// Tests the handshake between windows with generated messages. The peer, its former documents and an iframe beside
// the peer send these messages. In some rounds, a document of another origin in the iframe of the peer also sends
// generated messages. PORTWAY_SEED repeats a run.

import { assert } from "chai";
import { afterThisTest } from "../web/support/cleanup.js";
import { pause } from "../web/support/outcomes.js";
import { connect } from "../web/support/portway.js";
import { Random } from "./support/generator.js";
import { origins, party } from "./support/parties.js";
import { messageCount, printFigure, progress, seed } from "./support/settings.js";
import { SessionChecker } from "./support/session-checker.js";

/** The number of messages that the attacker in the iframe of the peer sends in a round. */
const PER_ROUND = 3_000;
/** The average number of messages in a burst, while the host replies to this attacker. */
const PER_BURST = 300;
/** The number of messages that this file sends. handshake.test.js sends the remaining messages. */
const COUNT = Math.ceil(0.6 * messageCount);
/** Every `NAVIGATION`th round replaces the document of the friend. */
const NAVIGATION = 10;
/**
 * Every `INTRUSION`th round replaces the document of the friend by a document of another origin. Then, the round loads
 * a new document of the friend.
 */
const INTRUSION = 25;

const totals = { sent: 0, received: 0, bytesOut: 0, bytesReceived: 0, sessions: 0, calls: 0, strangers: 0 };

/** Waits for the marker that a window posts after a burst of messages. */
class Marks {
  #waiting = new Map();
  #listener = ({ data, source }) => {
    if (data?.type !== "settle") return;
    this.#waiting.get(source)?.();
    this.#waiting.delete(source);
  };

  constructor() {
    addEventListener("message", this.#listener);
    afterThisTest(() => removeEventListener("message", this.#listener));
  }

  next(window) {
    return new Promise((resolve) => this.#waiting.set(window, resolve));
  }
}

describe("a host that receives generated handshake messages", function () {
  this.timeout(600_000);

  it("from windows serves calls only in their own session, sends nothing to strangers, and then serves the real peer", async () => {
    const marks = new Marks();
    const stranger = await party("stranger");
    let friend = await party("friend");
    const started = performance.now();
    let blocked = 0;
    let due = performance.now() + 20;
    const blockTimer = setInterval(() => {
      blocked = Math.max(blocked, performance.now() - due);
      due = performance.now() + 20;
    }, 20);
    afterThisTest(() => clearInterval(blockTimer));

    /** Makes a party post a burst of messages, and waits until the host has handled the burst. */
    async function burst(party, count, begins = false) {
      const handled = marks.next(party.window);
      const counts = await party.run((count, begins) => burst(parent, count, begins), count, begins);
      await handled;
      return counts;
    }

    for (let number = 0; totals.sent < COUNT; number++) {
      const roundSeed = (seed + number * 7919) >>> 0;
      const random = new Random(roundSeed);
      const fail = (what) => assert.fail(`${what}; PORTWAY_SEED=${seed}, round ${number}`);
      const limit = (promise, what) => Promise.race([promise, pause(10_000).then(() => fail(what))]);
      // In every second round, the attacker sends nothing that ends the connection permanently. After such a round,
      // the connection must serve the real peer.
      const intrudes = number % INTRUSION === INTRUSION - 1;
      const mayEnd = number % 2 === 1 || intrudes;
      const checker = new SessionChecker(["peer"]);
      const options = checker.options({ origin: origins.friend, connectTimeout: 60_000 });
      const connecting = connect(friend.element, options);
      let peer;
      let ended = false;
      connecting.then(
        (made) => (peer = made),
        () => (ended = true),
      );
      await friend.run((...args) => attackFrom(parent, ...args), roundSeed, "peer", { mayEnd, run: number });
      await stranger.run((...args) => attackFrom(parent, ...args), roundSeed + 1, "stranger", { run: number });
      const calls = [];
      let counts = { received: 0 };
      let received = 0;
      for (let remaining = PER_ROUND; remaining > 0; ) {
        const hasReply = counts.received > received;
        received = counts.received;
        const size = Math.min(
          remaining,
          1 + random.below(hasReply ? 2 * PER_BURST : random.below(4) > 0 ? 8 : PER_BURST),
        );
        remaining -= size;
        [counts] = await Promise.all([
          burst(friend, size, !hasReply && random.below(2) === 0),
          burst(stranger, 1 + (size >> 1)),
        ]);
        if (random.below(4) === 0) await stranger.run((knows) => attacker.learn(knows), counts.knownIds);
        if (peer !== undefined && calls.length < 100)
          calls.push(
            peer.request("any", [], { timeout: 0 }).then(
              () => 1,
              () => 0,
            ),
          );
        if (!hasReply) await pause(random.below(20) === 0 ? 110 : 11);
      }
      addToTotals(counts);
      if (intrudes) {
        const intruder = await friend.load("stranger");
        await intruder.run((...args) => attackFrom(parent, ...args), roundSeed + 2, "stranger", { run: number });
        await intruder.run((knows) => attacker.learn(knows), counts.knownIds);
        for (let n = 0; n < 5; n++) counts = await burst(intruder, 100, true);
        addToTotals(counts);
        if (counts.received > 0) fail("a document of another origin in the iframe must receive nothing");
        friend = await intruder.load("friend");
      } else if (number % NAVIGATION === 0) {
        await friend.run(() => {
          const last = () => attacker.burst(200);
          addEventListener("pagehide", last);
          setTimeout(last);
        });
        friend = await friend.load("friend");
      }
      // The real peer connects, while the stranger continues to send messages.
      await stranger.run(() => void (globalThis.timer = setInterval(() => attacker.burst(20), 5)));
      let again = connecting;
      if (ended || mayEnd) {
        peer?.destroy();
        void connecting.then(
          (peer) => peer.destroy(),
          () => {},
        );
        checker.restart();
        again = connect(friend.element, options);
      }
      const real = friend.run(
        (origin) => connectTo(parent, { origin, methods: { whoami: () => "real" } }),
        origins.host,
      );
      const host = await limit(
        again.catch((error) => fail(`connect: ${error.message}`)),
        "the connect of the host must resolve",
      );
      await limit(real, "the real peer must get a session");
      const served = [host.request("whoami"), friend.run(() => peer.request("echo", ["real"]))];
      const answers = await limit(
        Promise.all(served).catch((error) => fail(`a call fails: ${error.message}`)),
        "the real peer must be served",
      );
      assert.deepEqual(answers, ["real", ["real"]]);
      counts = await stranger.run(() => (clearInterval(timer), burst(parent, 0)));
      addToTotals(counts, true);
      if (counts.received > 0) fail("a stranger must receive nothing");
      await stranger.run(() => attacker.ports.forEach((port) => port.close()));
      for (const one of [host, peer]) one?.destroy();
      await friend.run(() => {
        peer.destroy();
        globalThis.onReceived = undefined;
        globalThis.attacker?.ports.forEach((port) => port.close());
      });
      await limit(Promise.all(calls), "each call must end");
      if (host.pending > 0) fail("a call is still pending");
      if (checker.faults.length > 0) fail(checker.faults.join("; "));
      totals.sessions += checker.sessions;
      totals.calls += checker.calls;
      progress(`round ${number}`);
    }

    function addToTotals(counts, isOfStranger = false) {
      for (const key of ["sent", "received", "bytesOut", "bytesReceived"]) totals[key] += counts[key];
      if (isOfStranger) totals.strangers += counts.sent;
    }

    const ms = performance.now() - started;
    const { sent, strangers, received, bytesOut, bytesReceived, sessions, calls } = totals;
    printFigure(
      `handshake between windows, seed ${seed}: ${sent} messages (${strangers} of strangers) in ${(ms / 1_000).toFixed(1)} s, ${sessions} sessions, ${calls} calls; ${received} messages back, ${(bytesReceived / bytesOut).toFixed(2)} bytes received per byte sent; blocked for ${Math.round(blocked)} ms at most`,
    );
    assert.isAbove(sessions, 0);
    assert.isAbove(calls, 0);
    assert.isAtMost(bytesReceived, 10 * bytesOut);
    assert.isAtMost(ms, sent, "a message must take at most a millisecond on average");
  });
});
