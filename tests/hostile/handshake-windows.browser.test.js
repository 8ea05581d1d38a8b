// The handshake between windows, with generated messages: of the peer's own document, of a frame beside it, of former
// documents, and of a document of another origin in its place. A run is repeated by its seed.

import { assert } from "chai";
import { afterThisTest } from "../web/support/cleanup.js";
import { pause } from "../web/support/outcomes.js";
import { connect } from "../web/support/portway.js";
import { Random } from "./support/generator.js";
import { origins, party } from "./support/parties.js";
import { figure, messageCount, progress, seed } from "./support/settings.js";
import { SessionChecker } from "./support/session-checker.js";

const PER_ROUND = 3_000;
const PER_BURST = 300;
const COUNT = Math.ceil(0.6 * messageCount);
/** In each of several rounds, the document is replaced, and before that by one of another origin. */
const NAVIGATION = 10;
const INTRUSION = 25;

const totals = { sent: 0, received: 0, bytesOut: 0, bytesReceived: 0, sessions: 0, calls: 0, strangers: 0 };

/** Waits for the markers behind bursts, by the window that they came from. */
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

describe("a handshake with generated messages", function () {
  this.timeout(600_000);

  it("between windows serves the peer's calls in their own session only, sends nothing to strangers, and serves the next peer", async () => {
    const marks = new Marks();
    const stranger = await party("stranger");
    let friend = await party("friend");
    const started = performance.now();
    let blocked = 0;
    let due = performance.now() + 20;
    const look = setInterval(() => {
      blocked = Math.max(blocked, performance.now() - due);
      due = performance.now() + 20;
    }, 20);
    afterThisTest(() => clearInterval(look));

    /** Has a party post a burst, and waits until it has been handled. */
    async function burst(party, count, begins = false) {
      const handled = marks.next(party.window);
      const counts = await party.run((count, begins) => burst(parent, count, begins), count, begins);
      await handled;
      return counts;
    }

    for (let number = 0; totals.sent < COUNT; number++) {
      const run = (seed + number * 7919) >>> 0;
      const random = new Random(run);
      const fail = (what) => assert.fail(`${what}; PORTWAY_SEED=${seed}, round ${number}`);
      const limit = (promise, what) => Promise.race([promise, pause(10_000).then(() => fail(what))]);
      // Every other round, the attacker does nothing that ends a connection for good, so that this very one has to go
      // on.
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
      await friend.run((...args) => attackFrom(parent, ...args), run, "peer", { mayEnd, run: number });
      await stranger.run((...args) => attackFrom(parent, ...args), run + 1, "stranger", { run: number });
      const calls = [];
      let counts = { received: 0 };
      let received = 0;
      for (let left = PER_ROUND; left > 0; ) {
        const hasReply = counts.received > received;
        received = counts.received;
        const size = Math.min(left, 1 + random.below(hasReply ? 2 * PER_BURST : random.below(4) > 0 ? 8 : PER_BURST));
        left -= size;
        [counts] = await Promise.all([
          burst(friend, size, !hasReply && random.below(2) === 0),
          burst(stranger, 1 + (size >> 1)),
        ]);
        if (random.below(4) === 0) await stranger.run((knows) => attacker.learn(knows), counts.knows);
        if (peer !== undefined && calls.length < 100)
          calls.push(
            peer.request("any", [], { timeout: 0 }).then(
              () => 1,
              () => 0,
            ),
          );
        if (!hasReply) await pause(random.below(20) === 0 ? 110 : 11);
      }
      add(counts);
      if (intrudes) {
        const intruder = await friend.go("stranger");
        await intruder.run((...args) => attackFrom(parent, ...args), run + 2, "stranger", { run: number });
        await intruder.run((knows) => attacker.learn(knows), counts.knows);
        for (let n = 0; n < 5; n++) counts = await burst(intruder, 100, true);
        add(counts);
        if (counts.received > 0) fail("a document of another origin in the frame has received something");
        friend = await intruder.go("friend");
      } else if (number % NAVIGATION === 0) {
        await friend.run(() => {
          const last = () => attacker.burst(200);
          addEventListener("pagehide", last);
          setTimeout(last);
        });
        friend = await friend.go("friend");
      }
      // The real peer comes, and the stranger goes on.
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
        "the host's connect does not resolve",
      );
      await limit(real, "the real peer gets no session");
      const served = [host.request("whoami"), friend.run(() => peer.request("echo", ["real"]))];
      const answers = await limit(
        Promise.all(served).catch((error) => fail(`a call fails: ${error.message}`)),
        "the real peer is not served",
      );
      assert.deepEqual(answers, ["real", ["real"]]);
      counts = await stranger.run(() => (clearInterval(timer), burst(parent, 0)));
      add(counts, "strangers");
      if (counts.received > 0) fail("a stranger has received something");
      await stranger.run(() => attacker.ports.forEach((port) => port.close()));
      for (const one of [host, peer]) one?.destroy();
      await friend.run(() => {
        peer.destroy();
        globalThis.onReceived = undefined;
        globalThis.attacker?.ports.forEach((port) => port.close());
      });
      await limit(Promise.all(calls), "a call does not end");
      if (host.pending > 0) fail("a call waits on");
      if (checker.wrong.length > 0) fail(checker.wrong.join("; "));
      totals.sessions += checker.sessions;
      totals.calls += checker.calls;
      progress(`round ${number}`);
    }

    function add(counts, who = "sent") {
      for (const key of ["sent", "received", "bytesOut", "bytesReceived"]) totals[key] += counts[key];
      if (who === "strangers") totals.strangers += counts.sent;
    }

    const ms = performance.now() - started;
    const { sent, strangers, received, bytesOut, bytesReceived, sessions, calls } = totals;
    figure(
      `handshake between windows, seed ${seed}: ${sent} messages (${strangers} of strangers) in ${(ms / 1_000).toFixed(1)} s, ${sessions} sessions, ${calls} calls; ${received} messages back, ${(bytesReceived / bytesOut).toFixed(2)} bytes for each byte; blocked for ${Math.round(blocked)} ms at most`,
    );
    assert.isAbove(sessions, 0);
    assert.isAbove(calls, 0);
    assert.isAtMost(bytesReceived, 10 * bytesOut);
    assert.isAtMost(ms, sent, "a message takes a millisecond");
  });
});
