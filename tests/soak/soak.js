// Runs the soak in browsers and in Node: calls, cycles and reloads at the same time, in ten slices. After each slice,
// the soak measures its figures.

import { pause, figures } from "./instruments.js";
import { Cycles } from "./cycles.js";
import { TEST_TIMEOUT_MS } from "./workloads.js";
import { Caller } from "./caller.js";
import { Service } from "./service.js";

const SLICES = 10;

/**
 * Runs `plan` between this context and other contexts. Contexts in `plain` are linked by plain transports, and contexts
 * in `connected` are linked by `connect`. Each context is `{ name, target, ask, transport }`. `ask` sends questions to
 * the context, and `transport` creates a transport to the context. `memory` returns the heaps. The soak awaits the
 * promise that `onSample` returns.
 */
export class Soak {
  /** The current step of the soak. The error of a run that is stuck contains this text. */
  now = "starting";
  samples = [];
  ledgers = undefined;

  constructor({ portway, plan, plain, connected, reloads, memory, onSample }) {
    Object.assign(this, { portway, plan, plain, connected, reloads, memory, onSample });
  }

  async run() {
    const { plan, plain, connected, reloads } = this;
    const contexts = [...plain, ...connected];
    this.total = Math.ceil(plan.calls / (2 * contexts.length));
    this.links = [];
    for (const context of contexts) this.links.push(await this.#link(context, plan.seed + 2 * this.links.length));
    this.cycles = new Cycles(this.portway, plain, connected);
    await reloads?.start();
    const ms = (plan.minutes * 60_000) / SLICES;
    for (let slice = 1; slice <= SLICES; slice++) {
      this.now = `slice ${slice}`;
      await this.#slice(slice, ms);
      this.now = "taking figures";
      this.samples.push(await this.#sample());
      await this.onSample?.(this.samples);
    }
    this.now = "comparing the ledgers";
    await this.#compare();
  }

  /** The progress of this context: the number of ended calls and cycles. */
  get progress() {
    const { links = [], cycles, reloads } = this;
    const toIframe = reloads === undefined ? 0 : reloads.answered + reloads.ended;
    return links.reduce((sum, { caller }) => sum + caller.ended, 0) + (cycles?.cycles ?? 0) + toIframe;
  }

  /** Opens a link with a context. Both peers of the link make and serve calls. */
  async #link({ name, ask, target, transport }, seed) {
    const { portway, total } = this;
    const service = new Service(total);
    const usesConnect = transport === undefined;
    const started = ask("start", { name: `${name} to page`, total, seed: seed + 1, usesConnect });
    let peer;
    if (usesConnect) {
      const methods = service.methods(portway, () => peer);
      const options = { timeout: TEST_TIMEOUT_MS, methods, notifications: service.notifications() };
      [peer] = await Promise.all([portway.connect(target, options), started]);
    } else {
      peer = service.serve(new portway.JSONRPCPeer(transport(), { timeout: TEST_TIMEOUT_MS }), portway);
      await started;
    }
    return { name, ask, service, caller: new Caller(`page to ${name}`, peer, portway, total, seed) };
  }

  async #slice(slice, ms) {
    const { links, cycles, reloads, plan, total } = this;
    const count = Math.floor((total * slice) / SLICES) - Math.floor((total * (slice - 1)) / SLICES);
    await Promise.all([
      ...links.flatMap(({ caller, ask }) => [caller.run(count, ms), ask("run", { count, ms })]),
      cycles.run(plan.cycles / SLICES, ms),
      reloads?.run(plan.reloads / SLICES, ms),
    ]);
    await cycles.settled();
  }

  async #sample() {
    const { links, cycles, reloads } = this;
    // When a context answers, it has received all earlier messages.
    const peerFigures = await Promise.all(links.map(({ ask }) => ask("figures")));
    const all = [await figures(), ...peerFigures];
    const sum = (name) => all.reduce((sum, each) => sum + each[name], 0);
    const made = await Promise.all(links.map(({ ask }) => ask("progress")));
    return {
      calls: [...links.map(({ caller }) => caller.ended), ...made].reduce((sum, count) => sum + count, 0),
      cycles: cycles.cycles,
      reloads: reloads?.reloads,
      ...(await this.memory(peerFigures)),
      wasm: sum("wasm"),
      listeners: sum("listeners"),
      timers: sum("timers"),
      ports: sum("ports"),
      locks: await locks(),
    };
  }

  async #compare() {
    const { links, cycles, reloads } = this;
    // `near` has the ledgers of this context, and `far` has the ledgers of the other context.
    const linkLedgers = [];
    const withoutServed = ({ caller, service }) => ({ caller, service: { ...service, served: undefined } });
    for (const { name, caller, service, ask } of links) {
      caller.compare((await ask("ledger")).service.served);
      await ask("compare", { served: service.served });
      const near = { caller: caller.ledger(), service: service.ledger() };
      linkLedgers.push({ name, near: withoutServed(near), far: withoutServed(await ask("ledger")) });
    }
    this.ledgers = { links: linkLedgers, cycles: cycles.ledger(), reloads: reloads?.ledger() };
  }
}

/**
 * Returns the number of held and requested locks. Locks are granted asynchronously, so the function counts until two
 * counts in a row are equal.
 */
async function locks() {
  for (let before; ; ) {
    const { held = [], pending = [] } = (await globalThis.navigator?.locks?.query()) ?? {};
    const count = held.length + pending.length;
    if (count === before) return count;
    before = count;
    await pause(100);
  }
}
