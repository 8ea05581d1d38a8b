// Runs the tests of projects/vitest in each environment of Vitest, with the package inlined and not inlined.

import { join } from "node:path";
import { run } from "../../packaging/tool.mjs";
import { addTests } from "../environment.mjs";

export default async function vitest(suite, testFolder) {
  // A test of projects/vitest imports the code of this project.
  await testFolder.project("react");
  const folder = await testFolder.project("vitest");
  const file = join(folder, "report.json");
  const args = [testFolder.module("vitest/vitest.mjs"), "run", "--reporter=json", `--outputFile=${file}`];
  const ended = run(process.execPath, args, { cwd: folder, timeout: 120_000 });
  await ended.catch(() => {});
  await addTests(suite, "Vitest", file, ended);
}
