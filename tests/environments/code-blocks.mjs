// Reads the code blocks of a Markdown page. The first line of a block has the language and the path of a file, whose
// first part is the project. For example, the first line of a block for the project `jest` is:
// ```js jest/pair.test.js

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

export class CodeBlocks {
  #files = new Map();
  #unused;

  static async read(path) {
    const blocks = new CodeBlocks();
    for (const [, , file, text] of (await readFile(path, "utf8")).matchAll(/^```(\w+) ?(\S*)\n(.*?)^```$/gms)) {
      assert.notEqual(file, "", `the first line of a block must have a path, but this block has none:\n${text}`);
      blocks.#files.set(file, text);
    }
    blocks.#unused = new Set(blocks.#files.keys());
    return blocks;
  }

  /** Returns the code blocks of a project, as pairs of file name and text. Records that the tests use these blocks. */
  filesOf(project) {
    const files = [...this.#files].filter(([file]) => file.startsWith(`${project}/`));
    for (const [file] of files) this.#unused.delete(file);
    return files.map(([file, text]) => [file.slice(project.length + 1), text]);
  }

  /** Asserts that `filesOf` has returned each code block of the page. */
  assertAllUsed() {
    assert.deepEqual([...this.#unused], []);
  }
}
