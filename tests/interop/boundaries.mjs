// Creates boundaries in the page between two peers of one library, and observes how calls over these boundaries end.

import { deaths } from "./deaths.mjs";
import { methods } from "./methods.mjs";

/**
 * Observes how calls of one library end after each event of deaths.mjs. A call is observed for `observedMs` ms.
 * `elsewhere` is an address of another origin. Returns two promises. `mayContinue` resolves when the next library may
 * start. `done` resolves to the outcomes, by the id of the event. In an outcome, `says` is the text of the table,
 * `saw` is the error or the state of the call, and `ms` has the times.
 */
export async function observe(library, name, elsewhere, observedMs) {
  const boundaries = library.boundaries ?? ["frame", "worker", "port"];
  const triggers = [];
  const outcomes = {};
  for (const death of deaths) {
    const { id, boundaries: needed } = death;
    const factory = new BoundaryFactory(library, name, elsewhere);
    if (!needed.every((boundary) => boundaries.includes(boundary)) || !factory.offers(death)) {
      outcomes[id] = { says: "not offered", saw: "not offered" };
      continue;
    }
    const recordFailure = (error) => {
      outcomes[id] = { says: "the probe failed", saw: `${error}\n${error?.stack}` };
    };
    try {
      triggers.push({ death, factory, recordFailure, trigger: await limited(death.prepare(factory), 10_000) });
    } catch (error) {
      recordFailure(error);
    }
  }
  const watches = triggers.map(async ({ death, factory, recordFailure, trigger }) => {
    try {
      outcomes[death.id] = await watch(death, library, trigger, observedMs);
    } catch (error) {
      recordFailure(error);
    }
    factory.clear();
  });
  // After this time, all calls that end soon have ended. So the next library cannot delay these calls.
  const mayContinue = new Promise((resolve) => setTimeout(resolve, 2_500));
  return { mayContinue, done: Promise.all(watches).then(() => outcomes) };
}

async function watch(death, library, trigger, observedMs) {
  const start = performance.now();
  const watched = await trigger();
  const ends = {};
  await Promise.all(
    Object.entries(watched).map(async ([name, promise]) => {
      if (promise !== undefined) ends[name] = await ending(promise, start, observedMs);
    }),
  );
  const { call, timedCall } = ends;
  const says = death.judge(ends, library);
  const seen = says === "on request" ? `with a timeout: ${timedCall.error}` : call.error;
  return {
    says,
    saw: seen ?? call.state,
    ms: Object.fromEntries(Object.entries(ends).map(([name, { ms }]) => [name, ms])),
  };
}

/** Resolves to the state and the error of a call, and the number of milliseconds until its end. */
async function ending(promise, start, observedMs) {
  const since = () => Math.round(performance.now() - start);
  let timer;
  const expired = new Promise((resolve) => (timer = setTimeout(resolve, observedMs, { state: "waits" })));
  const settled = (async () => (typeof promise === "function" ? promise() : promise))().then(
    () => ({ state: "answered", ms: since() }),
    (error) => ({ state: "rejected", error: describe(error), ms: since() }),
  );
  const end = await Promise.race([settled, expired]);
  clearTimeout(timer);
  return end;
}

function describe(error) {
  if (!(error instanceof Error)) return `rejected with ${String(error)}`;
  // Other tests compare the texts of errors that have a `reason`. So this suite compares only the reason.
  return `rejected with ${error.name}: ${typeof error.reason === "string" ? error.reason : error.message}`;
}

function limited(promise, ms) {
  const expired = new Promise((_, reject) =>
    setTimeout(() => reject(new Error(`the boundary must be ready within ${ms} ms`)), ms),
  );
  return Promise.race([promise, expired]);
}

/**
 * The number in the address of the last iframe. Each library has its own copy of this module, but all copies use one
 * server. So each copy begins with a different number.
 */
let lastNumber = Math.floor(performance.now() * 1000);

class BoundaryFactory {
  #library;
  #folder;
  #elsewhere;
  #dispose = [];

  constructor(library, name, elsewhere) {
    this.#library = library;
    this.#folder = `/${name}`;
    this.#elsewhere = elsewhere;
  }

  /** Returns whether the library has the functions that this event needs. */
  offers({ needs }) {
    if (needs === undefined) return true;
    const { port1, port2 } = new MessageChannel();
    const served = this.#library.serve(port2, methods, "port");
    this.#dispose.push(() => [port1, port2].forEach((port) => port.close()));
    return needs({ served }) !== undefined;
  }

  /**
   * Adds an iframe with a unique address. The address of its script is also unique. WebKit uses one load for several
   * iframes with equal addresses. If two of these iframes reload at the same time, WebKit can abort this load.
   */
  async frame(query = `?frame=${++lastNumber}`) {
    const element = document.createElement("iframe");
    element.src = `${this.#folder}/frame.html${query}`;
    this.#dispose.push(() => element.remove());
    const loaded = new Promise((resolve) => element.addEventListener("load", resolve, { once: true }));
    document.body.append(element);
    await loaded;
    return { element, elsewhere: this.#elsewhere, ...(await this.#library.connectCaller(element, "frame")) };
  }

  /** Adds an iframe. After a reload, the server sends the script of the iframe only after a call of `release`. */
  async heldFrame() {
    const query = `?hold=${++lastNumber}`;
    const frame = await this.frame(query);
    // From now on, the server delays this script.
    await fetch(`/take${query}`);
    return { ...frame, scriptAsked: () => fetch(`/asked${query}`), release: () => fetch(`/release${query}`) };
  }

  async worker() {
    const worker = await this.#started("worker.js");
    return { worker, ...(await this.#library.connectCaller(worker, "worker")) };
  }

  /** Connects to a worker whose script may be missing or throw. */
  connect = async (script, options) => this.#library.connectCaller(this.#start(script), "worker", options);

  async port() {
    const { port1, port2 } = new MessageChannel();
    const served = this.#library.serve(port2, methods, "port");
    return { far: port2, served, ...(await this.#library.connectCaller(port1, "port")) };
  }

  async portInWorker() {
    const worker = await this.#started("port-worker.js");
    const { port1, port2 } = new MessageChannel();
    worker.postMessage("serve", [port2]);
    return { worker, ...(await this.#library.connectCaller(port1, "port")) };
  }

  clear() {
    for (const dispose of this.#dispose) dispose();
  }

  /** Starts a worker. Resolves after the worker listens, because not every library waits for a slow worker. */
  async #started(script) {
    const worker = this.#start(script);
    await new Promise((ready) => {
      worker.addEventListener("message", function listener({ data }) {
        if (data !== "ready") return;
        worker.removeEventListener("message", listener);
        ready();
      });
    });
    return worker;
  }

  #start(script) {
    const worker = new Worker(`${this.#folder}/${script}`, { type: "module" });
    this.#dispose.push(() => worker.terminate());
    return worker;
  }
}
