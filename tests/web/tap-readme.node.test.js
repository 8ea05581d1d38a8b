// Runs the program of the README that taps a link.

import { assert } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = `${root}target/tap-readme`;

describe("the program of the README with portway/tap", () => {
  it("prints the output in the README", async () => {
    const section = readFileSync(`${root}README.md`, "utf8").match(/### Sixty seconds: every message\n.*?\n### /s)[0];
    const [, program] = section.match(/```js\n(.*?)```/s);
    const [, expected] = section.match(/```text\n(.*?)```/s);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(`${folder}/node_modules`, { recursive: true });
    symlinkSync(`${root}pkg`, `${folder}/node_modules/portway`);
    writeFileSync(`${folder}/tap.mjs`, program);
    const child = spawn(process.execPath, ["tap.mjs"], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    const output = { out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (text) => (output.out += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (output.err += text));
    const [code] = await once(child, "close");
    assert.deepEqual([code, output.err], [0, ""]);
    const lines = (text) => text.split("\n").map((line) => line.trimEnd());
    assert.deepEqual(lines(output.out), lines(expected));
  }).timeout(30_000);
});
