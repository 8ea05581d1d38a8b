// Shared by the suites that make tables of the README: they compare the outcomes with an expected.json, a test for each
// behaviour and library, and the table with the one in the README.
//
//   --write    writes the table to the README
//   --accept   writes the outcomes to expected.json
//
// With PORTWAY_REPORT set, the counts are written there as JSON.

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
   * Compares the outcomes, `{ says, saw }` by behaviour and library, with the file; `show` returns the text that must
   * be equal.
   */
  checkOutcomes(behaviours, modules, seen, file, show = ({ says, saw }) => `${says} (${saw})`) {
    if (this.#options.accept) writeFileSync(file, `${JSON.stringify(seen, null, 2)}\n`);
    const expected = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
    for (const { id, text } of behaviours) {
      for (const module of modules) {
        const [is, was] = [seen[id][module], expected[id]?.[module]];
        const name = `${text}: ${module}, ${is.says}`;
        if (was === undefined) this.test(name, `nothing is expected in expected.json; seen: ${show(is)}`);
        else this.test(name, show(is) === show(was) ? undefined : `expected: ${show(was)}\nseen:     ${show(is)}`);
      }
    }
  }

  /** Checks that the table of this name in the README is the wanted one. */
  checkTable(table, wanted) {
    const name = `the table "${table}" in README.md is what was seen`;
    if (!existsSync(readme)) return console.log(`  -     ${name}: there is no README.md\n\n${wanted}\n`);
    const text = readFileSync(readme, "utf8");
    const found = tableIn(text, table);
    if (found === undefined)
      return this.test(name, `README.md has no <!-- ${table}:begin --> and <!-- ${table}:end -->`);
    if (this.#options.write) writeFileSync(readme, withTable(text, table, wanted));
    const right = this.#options.write || found === wanted;
    this.test(name, right ? undefined : "the table differs; `--write` writes it");
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

/** Returns the column of a library. The title of other libraries contains the tested version. */
export function column({ module, title, name = module, own }) {
  if (own) return { module, title };
  const { version } = JSON.parse(readFileSync(join(root, "node_modules", name, "package.json"), "utf8"));
  return { module, title: `${title} ${version}` };
}
