// Runs the tests of projects/jest in Jest. Jest imports ES modules only with the option `--experimental-vm-modules` of
// Node.

import { join } from "node:path";
import { run } from "../../packaging/tool.mjs";
import { addTests } from "../environment.mjs";

export default async function jest(suite, testFolder) {
  const folder = await testFolder.project("jest");
  const file = join(folder, "report.json");
  const args = [
    "--experimental-vm-modules",
    testFolder.module("jest/bin/jest.js"),
    "--config=jest.all.config.js",
    "--json",
    `--outputFile=${file}`,
  ];
  const ended = run(process.execPath, args, { cwd: folder, timeout: 120_000 });
  await ended.catch(() => {});
  await addTests(suite, "Jest", file, ended);
}
