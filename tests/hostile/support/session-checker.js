// Checks the sessions of the attacked peer, and the calls that reach its handlers.

import { jsonBytes } from "./generator.js";

/** Creates options for `connect`. `faults` describes the sessions and calls that violate the protocol. */
export class SessionChecker {
  faults = [];
  calls = 0;
  sessions = 0;
  /** The route of the current session. The route of a plain session is "boundary". */
  #route;
  #hasSession = false;
  #callers;

  /** Only the parties in `callers` may call, and only by the route of the current session. */
  constructor(callers) {
    this.#callers = callers;
  }

  #addFault(what) {
    if (this.faults.length < 5) this.faults.push(what);
  }

  #check(params) {
    this.calls++;
    const { by, route } = Object(params);
    const seen = `${by}, by the route "${route}", in ${this.#hasSession ? `the session "${this.#route}"` : "no session"}`;
    if (!this.#callers.includes(by)) this.#addFault(`a call of ${seen}`);
    else if (!this.#hasSession || route !== this.#route) this.#addFault(`a call of ${seen}`);
  }

  /** Forgets the session, because the test has destroyed the connection and creates a new connection. */
  restart() {
    this.#hasSession = false;
  }

  options(more) {
    return {
      onError() {},
      ...more,
      onSession: ({ features }) => {
        if (this.#hasSession) this.#addFault("a session began before the former session had ended");
        this.sessions++;
        this.#hasSession = true;
        // A plain peer has no features. An attacker sends its route as the first feature.
        this.#route =
          features.find((feature) => /^[a-z]+ \d+$/.test(feature)) ?? (features.length === 0 ? "boundary" : undefined);
      },
      onLost: () => {
        if (!this.#hasSession) this.#addFault("onLost was called without a session");
        this.#hasSession = false;
      },
      methods: {
        secret: (params) => (this.#check(params), jsonBytes(params)),
        slow: async (params) => {
          this.#check(params);
          await new Promise((resolve) => setTimeout(resolve, 5));
          return 1;
        },
        items: async function* () {
          for (let n = 0; n < 10; n++) yield n;
        },
        echo: (params) => params,
      },
    };
  }
}
