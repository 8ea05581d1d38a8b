// Reloads an iframe repeatedly while the page makes calls to it.

import { pause, stopTimer, startTimer } from "./instruments.js";
import { TEST_TIMEOUT_MS } from "./workloads.js";

/** The number of calls before each reload. */
const CALLS_BEFORE = 20;
/** The number of calls in each step, until the new document has a session. */
const CALLS_PER_STEP = 5;
/** The time of a step, in milliseconds. On a busy machine, a step takes longer. */
const STEP_MS = 10;
/** The maximum number of steps until the new document has a session: 60 s if each step takes `STEP_MS`. */
const MAX_STEPS = 6_000;
/** The number of calls after the new session has begun. */
const CALLS_AFTER = 5;
/** The number of failures whose texts are stored. Further failures are only counted. */
const MAX_FAILURES = 20;

export class Reloads {
  /** The number of calls. */
  made = 0;
  /** The number of calls that received their results. */
  answered = 0;
  /** The number of calls that were rejected with `session-ended`, because the document was reloaded. */
  ended = 0;
  reloads = 0;
  failures = [];
  failureCount = 0;
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
    const sessionsBefore = this.#sessions;
    const calls = [];
    for (let n = 0; n < CALLS_BEFORE; n++) calls.push(this.#call(true));
    // In every third round, at least one call is answered before the document is unloaded.
    if (i % 3 === 1) await calls[0];
    if (i % 2 === 0) this.#element.contentWindow.location.reload();
    else this.#element.src = `reloading.html${this.query || "?"}&${i}`;
    for (let step = 0; this.#sessions === sessionsBefore; step++) {
      if (step === MAX_STEPS) throw new Error(`the iframe must begin a session within ${step} steps of ${STEP_MS} ms`);
      for (let n = 0; n < CALLS_PER_STEP; n++) calls.push(this.#call(true));
      await this.#untilSession(STEP_MS);
    }
    for (let n = 0; n < CALLS_AFTER; n++) calls.push(this.#call(false));
    await Promise.all(calls);
    this.reloads++;
  }

  /** Resolves when the next session begins, or after `ms` milliseconds. */
  async #untilSession(ms) {
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
    this.failureCount++;
    if (this.failures.length < MAX_FAILURES) this.failures.push(text);
  }

  ledger() {
    const { made, answered, ended, reloads, failures, failureCount } = this;
    return { made, answered, ended, reloads, failures, failureCount };
  }
}
