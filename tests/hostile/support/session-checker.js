// Watches the side under attack: its sessions, and the calls that reach its handlers.

import { weigh } from "./generator.js";

/** Options for `connect`, and every call that must not have reached a handler. */
export class SessionChecker {
  wrong = [];
  calls = 0;
  sessions = 0;
  /** The route of the present session; "boundary" if it is plain. */
  #route;
  #isOn = false;
  #callers;

  /** `callers` may call, each by the route that the present session began with. */
  constructor(callers) {
    this.#callers = callers;
  }

  #note(what) {
    if (this.wrong.length < 5) this.wrong.push(what);
  }

  #check(params) {
    this.calls++;
    const { by, route } = Object(params);
    const seen = `${by}, by the route "${route}", in ${this.#isOn ? `the session "${this.#route}"` : "no session"}`;
    if (!this.#callers.includes(by)) this.#note(`a call of ${seen}`);
    else if (!this.#isOn || route !== this.#route) this.#note(`a call of ${seen}`);
  }

  /** The connection was destroyed here, and another will take its place. */
  restart() {
    this.#isOn = false;
  }

  options(more) {
    return {
      onError() {},
      ...more,
      onSession: ({ features }) => {
        if (this.#isOn) this.#note("a session began within another");
        this.sessions++;
        this.#isOn = true;
        // A plain peer names no features. An attacker puts its route first among them.
        this.#route =
          features.find((feature) => /^[a-z]+ \d+$/.test(feature)) ?? (features.length === 0 ? "boundary" : undefined);
      },
      onLost: () => {
        if (!this.#isOn) this.#note("a session was lost that there was not");
        this.#isOn = false;
      },
      methods: {
        secret: (params) => (this.#check(params), weigh(params)),
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
