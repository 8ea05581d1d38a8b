// Reloads an iframe repeatedly while the page makes calls to it.

import { pause, stopTimer, startTimer } from "./instruments.js";
import { TEST_TIMEOUT_MS } from "./workloads.js";

/** The numbers of calls before each reload, about every 10 ms during the reload, and after it. */
const BEFORE = 20;
const DURING = 5;
const AFTER = 5;
const MAX_FAILURES = 20;
/** The longest time that a document may take to load, in milliseconds. */
const LOAD_TIMEOUT_MS = 60_000;

export class Reloads {
  made = 0;
  answered = 0;
  ended = 0;
  reloads = 0;
  wrong = [];
  wrongCount = 0;
  #element;
  #peer;
  #sessions = 0;
  #wake;

  constructor(portway, query) {
    this.portway = portway;
    this.query = query;
  }

  async start() {
    this.#element = document.createElement("iframe");
    this.#element.src = `reloading.html${this.query}`;
    document.body.append(this.#element);
    const onSession = () => {
      this.#sessions++;
      this.#wake?.();
    };
    this.#peer = await this.portway.connect(this.#element, { timeout: TEST_TIMEOUT_MS, onSession });
  }

  async run(count, ms) {
    const start = performance.now();
    for (let i = 0; i < count; i++) {
      const waitMs = start + (ms * i) / count - performance.now();
      if (waitMs > 0) await pause(waitMs);
      await this.#once(i);
    }
  }

  async #once(i) {
    const seen = this.#sessions;
    const calls = [];
    for (let n = 0; n < BEFORE; n++) calls.push(this.#call(true));
    // In every third round, at least one call is answered before the document is unloaded.
    if (i % 3 === 1) await calls[0];
    if (i % 2 === 0) this.#element.contentWindow.location.reload();
    else this.#element.src = `reloading.html${this.query || "?"}&${i}`;
    while (this.#sessions === seen) {
      for (let n = 0; n < DURING; n++) calls.push(this.#call(true));
      await this.#session(10);
      if (this.#sessions === seen && calls.length > (LOAD_TIMEOUT_MS / 10) * DURING)
        throw new Error(`the iframe must begin a session within ${LOAD_TIMEOUT_MS} ms`);
    }
    for (let n = 0; n < AFTER; n++) calls.push(this.#call(false));
    await Promise.all(calls);
    this.reloads++;
  }

  /** Resolves when the next session begins, or after `ms` milliseconds. */
  async #session(ms) {
    await new Promise((resolve) => {
      this.#wake = resolve;
      startTimer(resolve, ms);
    });
    this.#wake = undefined;
  }

  async #call(mayEnd) {
    const n = ++this.made;
    const limit = startTimer(() => this.#addFailure(`call ${n} has not ended`), 2 * TEST_TIMEOUT_MS);
    try {
      const result = await this.#peer.request("echo", { n });
      if (result.n === n) this.answered++;
      else this.#addFailure(`call ${n} received the result of call ${result.n}`);
    } catch (error) {
      if (mayEnd && error?.reason === "session-ended") this.ended++;
      else this.#addFailure(`call ${n}: ${error.reason ?? ""} ${error.message ?? error}`);
    }
    stopTimer(limit);
  }

  #addFailure(text) {
    this.wrongCount++;
    if (this.wrong.length < MAX_FAILURES) this.wrong.push(text);
  }

  ledger() {
    const { made, answered, ended, reloads, wrong, wrongCount } = this;
    return { made, answered, ended, reloads, wrong, wrongCount };
  }
}
