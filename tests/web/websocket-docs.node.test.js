// Runs the programs in docs/websocket-client.md. The server in the document answers them.

import { assert } from "chai";
import { once } from "node:events";
import { documentedPrograms } from "./support/documented-programs.js";

describe("docs/websocket-client.md", () => {
  const programs = documentedPrograms("docs/websocket-client.md", "websocket-docs");

  it("contains programs that print the output in the document", async function () {
    this.timeout(60_000);
    const fences = programs.page.match(/^```\w/gm).length;
    assert.equal(programs.blocks.length, fences, "each block of code must name a file");
    await programs.write();
    programs.start("server.mjs");
    const files = programs.blocks.filter(({ language, file }) => language === "js" && file !== "server.mjs");
    assert.isAtLeast(files.length, 5);
    for (const { file } of files) {
      const { child, output } = programs.start(file);
      const [code] = await once(child, "close");
      assert.deepEqual([code, output.err], [0, ""], file);
      // The program prints a line for each attempt that fails before the server listens.
      const lines = output.out.split("\n").filter((line) => !line.startsWith("the next attempt"));
      assert.equal(lines.join("\n"), programs.outputOf(file), file);
    }
  });
});
