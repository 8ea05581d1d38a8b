// Runs named tests one after another, prints a line for each test, and writes the report.

import { writeFileSync } from "node:fs";

/** The maximum time of one test, in ms. */
const LIMIT_MS = 300_000;

export class Suite {
  #passed = 0;
  #failures = [];
  #limitMs;
  #onTimeout;

  /** `onTimeout` runs after a test that has not ended within `limitMs`. The next test waits for `onTimeout`. */
  constructor({ limitMs = LIMIT_MS, onTimeout = async () => {} } = {}) {
    this.#limitMs = limitMs;
    this.#onTimeout = onTimeout;
  }

  /** Runs one test. Resolves to the result of `body`, or to `undefined` if `body` fails or does not end in time. */
  async test(name, body) {
    const start = Date.now();
    let timer;
    const timeout = new Promise((_, reject) => {
      const error = new Error(`the test must end within ${this.#limitMs / 1000} s, but it still runs`);
      timer = setTimeout(() => reject(error), this.#limitMs);
    });
    try {
      const value = await Promise.race([body(), timeout]);
      this.#passed += 1;
      console.log(`✓ ${name} (${Date.now() - start} ms)`);
      return value;
    } catch (error) {
      const message = error?.name === "AssertionError" ? error.message : (error?.stack ?? String(error));
      this.#failures.push({ name, message });
      console.log(`✗ ${name} (${Date.now() - start} ms)\n${message.replace(/^/gm, "    ")}`);
      if (Date.now() - start >= this.#limitMs) await this.#onTimeout();
    } finally {
      clearTimeout(timer);
    }
  }

  /** Prints the counts, and writes them to the file named by PORTWAY_REPORT. */
  finish() {
    const report = { passed: this.#passed, failed: this.#failures.length, failures: this.#failures };
    console.log(`${report.passed} passed, ${report.failed} failed`);
    if (process.env.PORTWAY_REPORT) writeFileSync(process.env.PORTWAY_REPORT, JSON.stringify(report));
    return report.failed === 0;
  }
}
