// Reads the code blocks of a Markdown page. The first line of a block has the language and the name of a file, as in
// ```js jest/pair.test.js

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

export class Page {
  #files = new Map();
  #unused;

  static async read(path) {
    const page = new Page();
    for (const [, , file, text] of (await readFile(path, "utf8")).matchAll(/^```(\w+) ?(\S*)\n(.*?)^```$/gms)) {
      assert.notEqual(file, "", `a block must name its file after the language, but this block does not:\n${text}`);
      page.#files.set(file, text);
    }
    page.#unused = new Set(page.#files.keys());
    return page;
  }

  /** Returns the files of a project, as pairs of name and text. Records that the tests use these files. */
  filesOf(project) {
    const files = [...this.#files].filter(([file]) => file.startsWith(`${project}/`));
    for (const [file] of files) this.#unused.delete(file);
    return files.map(([file, text]) => [file.slice(project.length + 1), text]);
  }

  /** Asserts that a test has used each code block of the page. */
  assertAllUsed() {
    assert.deepEqual([...this.#unused], []);
  }
}
