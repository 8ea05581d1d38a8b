// The boundaries of the page with a library at both ends, and how calls over them end.

import { deaths } from "./deaths.mjs";
import { methods } from "./methods.mjs";

/** How every death ends with one library, watched for a number of milliseconds: by id, `says`, `saw` and the times. */
export async function look(library, name, elsewhere, patience) {
  const boundaries = library.boundaries ?? ["frame", "worker", "port"];
  const strikes = [];
  const outcomes = {};
  for (const death of deaths) {
    const { id, boundaries: needed } = death;
    const factory = new BoundaryFactory(library, name, elsewhere);
    if (!needed.every((boundary) => boundaries.includes(boundary)) || !factory.offers(death)) {
      outcomes[id] = { says: "not offered", saw: "not offered" };
      continue;
    }
    const failed = (error) => {
      outcomes[id] = { says: "the probe failed", saw: `${error}\n${error?.stack}` };
    };
    try {
      strikes.push({ death, factory, failed, strike: await limited(death.prepare(factory), 10_000) });
    } catch (error) {
      failed(error);
    }
  }
  const watches = strikes.map(async ({ death, factory, failed, strike }) => {
    try {
      outcomes[death.id] = await watch(death, library, strike, patience);
    } catch (error) {
      failed(error);
    }
    factory.clear();
  });
  // Calls that end at once have ended by then, and the next library may put load on the machine.
  const calm = new Promise((resolve) => setTimeout(resolve, 2_500));
  return { calm, done: Promise.all(watches).then(() => outcomes) };
}

async function watch(death, library, strike, patience) {
  const start = performance.now();
  const watched = await strike();
  const ends = {};
  await Promise.all(
    Object.entries(watched).map(async ([name, promise]) => {
      if (promise !== undefined) ends[name] = await ending(promise, start, patience);
    }),
  );
  const { call, asked } = ends;
  const says = death.judge(ends, library);
  const seen = says === "on request" ? `with a timeout: ${asked.error}` : call.error;
  return {
    says,
    saw: seen ?? call.state,
    ms: Object.fromEntries(Object.entries(ends).map(([name, { ms }]) => [name, ms])),
  };
}

/** How a call ends, and after how many milliseconds. */
async function ending(promise, start, patience) {
  const since = () => Math.round(performance.now() - start);
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, patience, { state: "waits" })));
  const settled = (async () => (typeof promise === "function" ? promise() : promise))().then(
    () => ({ state: "answered", ms: since() }),
    (error) => ({ state: "rejected", error: describe(error), ms: since() }),
  );
  const end = await Promise.race([settled, late]);
  clearTimeout(timer);
  return end;
}

function describe(error) {
  if (!(error instanceof Error)) return `rejected with ${String(error)}`;
  // Where there is a word for the reason, the text is a matter of other tests.
  return `rejected with ${error.name}: ${typeof error.reason === "string" ? error.reason : error.message}`;
}

function limited(promise, ms) {
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error("it was not ready in time")), ms));
  return Promise.race([promise, late]);
}

/** Each library has a module of its own, and they all ask the same server. */
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

  /** Whether the library supports the transports of this death. */
  offers({ needs }) {
    if (needs === undefined) return true;
    const { port1, port2 } = new MessageChannel();
    const served = this.#library.serve(port2, methods, "port");
    this.#dispose.push(() => [port1, port2].forEach((port) => port.close()));
    return needs({ served }) !== undefined;
  }

  /**
   * Each has an address of its own, and so has its script: WebKit lets one load serve several frames, and if two of
   * them reload at once, that load can be cut off for both.
   */
  async frame(query = `?frame=${++lastNumber}`) {
    const element = document.createElement("iframe");
    element.src = `${this.#folder}/frame.html${query}`;
    this.#dispose.push(() => element.remove());
    const loaded = new Promise((resolve) => element.addEventListener("load", resolve, { once: true }));
    document.body.append(element);
    await loaded;
    return { element, elsewhere: this.#elsewhere, ...(await this.#library.call(element, "frame")) };
  }

  /** A frame whose script is not served on its second request before `release`. */
  async heldFrame() {
    const query = `?hold=${++lastNumber}`;
    const made = await this.frame(query);
    await fetch(`/take${query}`);
    return { ...made, scriptAsked: () => fetch(`/asked${query}`), release: () => fetch(`/release${query}`) };
  }

  async worker() {
    const worker = await this.#started("worker.js");
    return { worker, ...(await this.#library.call(worker, "worker")) };
  }

  /** To a worker that may never come. */
  connect = async (script, options) => this.#library.call(this.#start(script), "worker", options);

  async port() {
    const { port1, port2 } = new MessageChannel();
    const served = this.#library.serve(port2, methods, "port");
    return { far: port2, served, ...(await this.#library.call(port1, "port")) };
  }

  async portInWorker() {
    const worker = await this.#started("port-worker.js");
    const { port1, port2 } = new MessageChannel();
    worker.postMessage("serve", [port2]);
    return { worker, ...(await this.#library.call(port1, "port")) };
  }

  clear() {
    for (const dispose of this.#dispose) dispose();
  }

  /** A worker that listens: not every handshake waits for a slow one. */
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
