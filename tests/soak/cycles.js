// Opens and destroys links, with and without pending calls.

import { pause } from "./instruments.js";
import { TEST_TIMEOUT_MS } from "./workloads.js";
import { Service } from "./service.js";

const OPTIONS = { timeout: TEST_TIMEOUT_MS };
/** The number of failures whose texts are stored. Further failures are only counted. */
const MAX_FAILURES = 20;

export class Cycles {
  cycles = 0;
  /** The number of calls. Each of them is either answered, or ended by `destroy()`. */
  made = 0;
  answered = 0;
  ended = 0;
  failures = [];
  failureCount = 0;
  #cycleKinds;
  #service = new Service(1_000_000);
  #number = 0;

  /**
   * `plain` and `connected` are lists of other contexts, in which peers run. Links to `plain` use plain transports,
   * links to `connected` use `connect`.
   */
  constructor(portway, plain, connected) {
    this.portway = portway;
    this.contexts = [...plain, ...connected];
    this.#cycleKinds = [
      () => this.#here(),
      ...plain.map(
        ({ ask }) =>
          () =>
            this.#plain(ask),
      ),
    ];
    if (connected.length > 0) this.#cycleKinds.push(() => this.#connectedHere());
    for (const { ask, target } of connected) {
      this.#cycleKinds.push(
        () => this.#connectedPort(ask),
        () => this.#connected(ask, target),
      );
    }
  }

  /** Runs `count` cycles, which begin at equal intervals within `ms` milliseconds. */
  async run(count, ms) {
    const start = performance.now();
    for (let i = 0; i < count; i++) {
      const waitMs = start + (ms * i) / count - performance.now();
      if (waitMs > 4) await pause(waitMs);
      await this.#cycleKinds[this.cycles % this.#cycleKinds.length]();
      this.cycles++;
    }
  }

  /**
   * Resolves after the peers in the other contexts were also destroyed. If one of these peers still exists after ten
   * seconds, records a failure.
   */
  async settled() {
    for (let tries = 0; ; tries++) {
      const open = await Promise.all(this.contexts.map(({ ask }) => ask("open")));
      const sum = open.reduce((sum, count) => sum + count, 0);
      if (sum === 0) return;
      if (tries === 100) return this.#addFailure(`${sum} peers in other contexts are not destroyed`);
      await pause(100);
    }
  }

  // Both peers are in this context. They use plain transports over a port.
  async #here() {
    const { port1, port2 } = new MessageChannel();
    const { JSONRPCPeer, portTransport } = this.portway;
    const peerThere = this.#service.serve(new JSONRPCPeer(portTransport(port2), OPTIONS), this.portway);
    await this.#callAndDestroy(new JSONRPCPeer(portTransport(port1), OPTIONS));
    peerThere.destroy();
  }

  // One peer is in this context, and one is in another context. They use plain transports over a port.
  async #plain(ask) {
    const { port1, port2 } = new MessageChannel();
    await ask("servePort", { port: port2 }, [port2]);
    const { JSONRPCPeer, portTransport } = this.portway;
    await this.#callAndDestroy(new JSONRPCPeer(portTransport(port1), OPTIONS), true);
  }

  // Both peers are in this context. They connect over a port.
  async #connectedHere() {
    const { port1, port2 } = new MessageChannel();
    const { connect } = this.portway;
    let peerThere;
    const methods = this.#service.methods(this.portway, () => peerThere);
    const [peerHere, other] = await Promise.all([connect(port1, OPTIONS), connect(port2, { ...OPTIONS, methods })]);
    peerThere = other;
    await this.#callAndDestroy(peerHere);
    peerThere.destroy();
    port1.close();
    port2.close();
  }

  // One peer is in this context, and one is in another context. They connect over a port.
  async #connectedPort(ask) {
    const { port1, port2 } = new MessageChannel();
    const [peerHere] = await Promise.all([
      this.portway.connect(port1, OPTIONS),
      ask("serveConnected", { port: port2 }, [port2]),
    ]);
    await this.#callAndDestroy(peerHere);
    port1.close();
  }

  // One peer is in this context, and one is in another context. They connect over the boundary between these contexts.
  async #connected(ask, target) {
    const channel = `cycle ${this.cycles}`;
    const [peerHere] = await Promise.all([
      this.portway.connect(target, { ...OPTIONS, channel }),
      ask("serveConnected", { channel }),
    ]);
    await this.#callAndDestroy(peerHere);
  }

  /**
   * Destroys `peer`. In every second cycle, first makes calls. Some of these calls are pending when `peer` is
   * destroyed. With `sendsLeave`, also sends the notification `leave`, which destroys the peer in the other context.
   */
  async #callAndDestroy(peer, sendsLeave = false) {
    const calls = [];
    const call = (method) => {
      const n = (this.#number = (this.#number + 1) % 1_000_000);
      calls.push(this.#outcome(peer.request(method, { n }), n));
    };
    const count = this.cycles % 2 === 0 ? 0 : this.cycles % 21;
    for (let i = 0; i < count; i++) call("echo");
    await Promise.all(calls);
    for (let i = 0; i < count; i++) call(i % 3 === 0 && i < count - 1 ? "hold" : "echo");
    if (this.cycles % 3 === 0) await calls.at(-1);
    if (sendsLeave) peer.notify("leave");
    peer.destroy();
    if (peer.pending !== 0) this.#addFailure(`${peer.pending} calls are pending on a destroyed link`);
    call("echo");
    await Promise.all(calls);
  }

  async #outcome(promise, n) {
    this.made++;
    try {
      const result = await promise;
      if (result?.n === n) this.answered++;
      else this.#addFailure(`call ${n} received the result of call ${result?.n}`);
    } catch (error) {
      if (error?.reason === "destroyed") this.ended++;
      else this.#addFailure(`call ${n}: ${error?.reason ?? ""} ${error?.message ?? error}`);
    }
  }

  #addFailure(text) {
    this.failureCount++;
    if (this.failures.length < MAX_FAILURES) this.failures.push(text);
  }

  ledger() {
    const { cycles, made, answered, ended, failures, failureCount } = this;
    return { cycles, made, answered, ended, failures, failureCount };
  }
}
