// Runs the program in JavaScript of docs/mcp.md.

import { assert } from "chai";
import { once } from "node:events";
import { documentedPrograms } from "./support/documented-programs.js";

it("docs/mcp.md contains a program that prints the output in the document", async () => {
  const programs = documentedPrograms("docs/mcp.md", "mcp-docs");
  // The doc tests of the crate compile the code in Rust.
  const fences = programs.page.match(/^```(?!rust)\w/gm).length;
  assert.equal(programs.blocks.length, fences, "each block of code in JavaScript must name a file");
  await programs.write();
  const files = programs.blocks.filter(({ language }) => language === "js");
  assert.isAtLeast(files.length, 1);
  for (const { file } of files) {
    const { child, output } = programs.start(file);
    const [code] = await once(child, "close");
    assert.deepEqual([code, output.err, output.out], [0, "", programs.outputOf(file)], file);
  }
}).timeout(60_000);
