// Runs the programs in docs/websocket-client.md. The server in the document answers them.

import { assert } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { afterThisTest } from "./support/cleanup.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = `${root}target/websocket-docs`;
const page = readFileSync(`${root}docs/websocket-client.md`, "utf8");
const blocks = [...page.matchAll(/^```(\w+) (\S+)\n(.*?)^```$/gms)].map(([, language, file, text]) => ({
  language,
  file,
  text,
}));

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

function start(file) {
  const child = spawn(process.execPath, [file], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  afterThisTest(() => child.kill("SIGKILL"));
  const output = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => (output.out += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (output.err += text));
  return { child, output };
}

describe("docs/websocket-client.md", () => {
  it("contains programs that print the output in the document", async function () {
    this.timeout(60_000);
    const fences = page.match(/^```\w/gm).length;
    assert.equal(blocks.length, fences, "each block of code must name a file");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(`${folder}/node_modules`, { recursive: true });
    symlinkSync(`${root}pkg`, `${folder}/node_modules/portway`);
    const port = String(await freePort());
    for (const { language, file, text } of blocks)
      if (language === "js") writeFileSync(`${folder}/${file}`, text.replaceAll("8080", port));
    start("server.mjs");
    const programs = blocks.filter(({ language, file }) => language === "js" && file !== "server.mjs");
    assert.isAtLeast(programs.length, 5);
    for (const { file } of programs) {
      const { child, output } = start(file);
      const [code] = await once(child, "close");
      assert.deepEqual([code, output.err], [0, ""], file);
      // The program prints a line for each attempt that fails before the server listens.
      const lines = output.out.split("\n").filter((line) => !line.startsWith("the next attempt"));
      const expected = blocks.find((block) => block.language === "text" && block.file === file).text;
      assert.equal(lines.join("\n"), expected, file);
    }
  });
});
