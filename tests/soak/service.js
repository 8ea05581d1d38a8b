// Serves the workloads over a link, and counts the calls.

import { listen } from "./instruments.js";

export class Service {
  /** How often a handler ran for each call, by the number of the call. */
  served;
  /** The number of calls without params. */
  empty = 0;
  notificationCount = 0;
  /** The number of handlers whose signal was aborted. */
  abortedHandlers = 0;
  /** The number of notifications `release`. The caller sends one after each call of the workload `timedOut`. */
  released = 0;
  /** The number of streams that the caller closed before their end. */
  abandonedStreams = 0;
  /** For each call of `hold` that runs, the number of the call and the function that ends its handler. */
  #runningHandlers = new Map();

  constructor(total) {
    this.served = new Uint8Array(total);
  }

  get runningHandlers() {
    return this.#runningHandlers.size;
  }

  /** Returns the handlers. `peer()` must return the peer that serves these handlers. */
  methods(portway, peer) {
    const served = (n) => this.served[n]++;
    return {
      empty: () => void this.empty++,
      echo(params) {
        served(params.n);
        return params;
      },
      bytes(params) {
        served(params.n);
        return params;
      },
      transferBack(params, { transfer }) {
        served(params.n);
        transfer([params.bytes.buffer]);
        return params;
      },
      fail({ n }) {
        served(n);
        throw new portway.RPCError(-32005, "it was to fail", { n });
      },
      throwTypeError({ n }) {
        served(n);
        throw new TypeError(`broken ${n}`);
      },
      reportProgress({ n }, { progress }) {
        served(n);
        for (let step = 0; step < 3; step++) progress(n + step);
        return { n };
      },
      count: ({ n, steps }) => {
        served(n);
        return this.#count(n, steps);
      },
      callBack: async ({ n }) => {
        served(n);
        await peer().request("echoBack", { n });
        return { n };
      },
      echoBack: (params) => params,
      hold: ({ n }, { signal, progress }) => {
        served(n);
        progress(n);
        return new Promise((resolve) => {
          this.#runningHandlers.set(n, resolve);
          listen(signal, "abort", () => {
            this.abortedHandlers++;
            this.#runningHandlers.delete(n);
            resolve();
          });
        });
      },
    };
  }

  async *#count(n, steps) {
    let step = 0;
    try {
      while (step < steps) yield n + ++step;
    } finally {
      if (step < steps) this.abandonedStreams++;
    }
  }

  notifications() {
    return {
      note: () => this.notificationCount++,
      release: ({ n }) => {
        this.released++;
        this.#runningHandlers.get(n)?.();
        this.#runningHandlers.delete(n);
      },
    };
  }

  serve(peer, portway) {
    for (const [name, handler] of Object.entries(this.methods(portway, () => peer))) peer.method(name, handler);
    for (const [name, handler] of Object.entries(this.notifications())) peer.onNotify(name, handler);
    return peer;
  }

  ledger() {
    const { served, empty, notificationCount, abortedHandlers, released, abandonedStreams, runningHandlers } = this;
    return { served, empty, notificationCount, abortedHandlers, released, abandonedStreams, runningHandlers };
  }
}
