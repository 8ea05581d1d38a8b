// The programs in a page of the documentation. Each block of code in the page names its file.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { afterThisTest } from "./cleanup.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/**
 * Reads those blocks of code of a page that name a file. Returns functions that run them in this folder of `target`.
 * The programs use a free port instead of 8080.
 */
export function documentedPrograms(pagePath, folderName) {
  const folder = `${root}target/${folderName}`;
  const page = readFileSync(`${root}${pagePath}`, "utf8");
  const blocks = [...page.matchAll(/^```(\w+) (\S+\.mjs)\n(.*?)^```$/gms)].map(([, language, file, text]) => ({
    language,
    file,
    text,
  }));

  return {
    page,
    blocks,

    /** Writes the programs, and returns the port. `change` changes the text of each program. */
    async write(change = (text) => text) {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(`${folder}/node_modules`, { recursive: true });
      symlinkSync(`${root}pkg`, `${folder}/node_modules/portway`);
      const port = await freePort();
      for (const { language, file, text } of blocks)
        if (language === "js") writeFileSync(`${folder}/${file}`, change(text).replaceAll("8080", `${port}`));
      return port;
    },

    /** Starts a program. Returns its process, and an object with its output. */
    start(file) {
      const child = spawn(process.execPath, [file], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
      afterThisTest(() => child.kill("SIGKILL"));
      const output = { out: "", err: "" };
      child.stdout.setEncoding("utf8").on("data", (text) => (output.out += text));
      child.stderr.setEncoding("utf8").on("data", (text) => (output.err += text));
      return { child, output };
    },

    /** Returns the output that the page states for a program. */
    outputOf: (file) => blocks.find((block) => block.language === "text" && block.file === file).text,
  };
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  server.close();
  return port;
}
