// Runs named tests one after another, prints a line for each test, and writes the report.

import { writeFileSync } from "node:fs";

export class Suite {
  #passed = 0;
  #failures = [];

  /** Runs one test. Resolves to the result of `body`, or to `undefined` if `body` fails. */
  async test(name, body) {
    const start = Date.now();
    try {
      const value = await body();
      this.#passed += 1;
      console.log(`✓ ${name} (${Date.now() - start} ms)`);
      return value;
    } catch (error) {
      const message = error?.name === "AssertionError" ? error.message : (error?.stack ?? String(error));
      this.#failures.push({ name, message });
      console.log(`✗ ${name} (${Date.now() - start} ms)\n${message.replace(/^/gm, "    ")}`);
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
