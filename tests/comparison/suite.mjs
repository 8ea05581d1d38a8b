// The suites that create tables of the README share the class `Suite`. It compares the outcomes with expected.json, in
// one test for each behaviour and library. It also compares the created table with the table in the README.
//
//   --write    writes the table to the README
//   --accept   writes the outcomes to expected.json
//
// If PORTWAY_REPORT names a file, the suite writes the counts of tests to this file, as JSON.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { tableIn, withTable } from "./table.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const readme = join(root, "README.md");

export class Suite {
  #passed = 0;
  #failures = [];
  #options;

  constructor({ write, accept }) {
    this.#options = { write, accept };
  }

  /** Prints and counts the result of a test. `fault` is the text of a failure, or undefined. */
  test(name, fault) {
    if (fault === undefined) {
      this.#passed += 1;
      console.log(`  ok    ${name}`);
    } else {
      this.#failures.push({ name, message: fault });
      console.log(`  FAIL  ${name}\n${fault.replace(/^/gm, "          ")}`);
    }
  }

  /**
   * Compares the outcomes with the expected outcomes in `file`. Each outcome is `{ says, saw }`, by behaviour and
   * library. `show` returns the text of an outcome, and only the texts are compared.
   */
  checkOutcomes(behaviours, modules, seen, file, show = ({ says, saw }) => `${says} (${saw})`) {
    if (this.#options.accept) writeFileSync(file, `${JSON.stringify(seen, null, 2)}\n`);
    const expected = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
    for (const { id, text } of behaviours) {
      for (const module of modules) {
        const [outcome, expectedOutcome] = [seen[id][module], expected[id]?.[module]];
        const name = `${text}: ${module}, ${outcome.says}`;
        const shown = show(outcome);
        if (expectedOutcome === undefined)
          this.test(name, `expected.json must have the outcome ${shown}; \`--accept\` writes the outcomes`);
        else {
          const wanted = show(expectedOutcome);
          this.test(name, shown === wanted ? undefined : `expected: ${wanted}\nseen:     ${shown}`);
        }
      }
    }
  }

  /** Checks that the table of this name in the README equals `wanted`. */
  checkTable(table, wanted) {
    const name = `the table "${table}" in README.md shows the outcomes`;
    if (!existsSync(readme)) return console.log(`  -     ${name}: README.md is missing\n\n${wanted}\n`);
    const text = readFileSync(readme, "utf8");
    const found = tableIn(text, table);
    if (found === undefined)
      return this.test(name, `README.md has no <!-- ${table}:begin --> and <!-- ${table}:end -->`);
    if (this.#options.write) writeFileSync(readme, withTable(text, table, wanted));
    const isEqual = this.#options.write || found === wanted;
    this.test(name, isEqual ? undefined : "the table in README.md differs; `--write` writes the new table");
  }

  /** Prints the counts, and ends the process. */
  end() {
    const [passed, failed] = [this.#passed, this.#failures.length];
    console.log(`${passed} passed, ${failed} failed`);
    const { PORTWAY_REPORT: file } = process.env;
    if (file) writeFileSync(file, JSON.stringify({ passed, failed, failures: this.#failures }));
    process.exit(failed === 0 ? 0 : 1);
  }
}

/** Returns the column of a library. The title of the column contains the tested version, except for Portway. */
export function column({ module, title, name = module, isPortway }) {
  if (isPortway) return { module, title };
  const { version } = JSON.parse(readFileSync(join(root, "node_modules", name, "package.json"), "utf8"));
  return { module, title: `${title} ${version}` };
}
