// The temporary folder in which the environments suite installs Portway from its tarball. The functions of this file
// add the results of test runners and scripts to the suite.

import { cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { root, run } from "../packaging/tool.mjs";
import { CodeBlocks } from "./code-blocks.mjs";

const here = dirname(fileURLToPath(import.meta.url));

/** One folder for all groups of tests. Its node_modules has Portway and the npm packages that the tests use. */
export class TestFolder {
  path;
  /** The code blocks of docs/environments.md. */
  codeBlocks;

  static async make() {
    const { PORTWAY_ENVIRONMENTS: installed = here } = process.env;
    const testFolder = new TestFolder();
    testFolder.path = await mkdtemp(join(tmpdir(), "portway-environments-"));
    testFolder.codeBlocks = await CodeBlocks.read(join(root, "docs/environments.md"));
    const modules = join(testFolder.path, "node_modules");
    await mkdir(modules);
    const names = await readdir(join(installed, "node_modules"));
    await Promise.all(names.map((name) => symlink(join(installed, "node_modules", name), join(modules, name))));
    // Portway is not a link to pkg/, because test runners handle files in node_modules differently from other files.
    await run("npm", ["pack", join(root, "pkg"), "--pack-destination", testFolder.path], {
      cwd: testFolder.path,
    });
    const tarball = (await readdir(testFolder.path)).find((file) => file.endsWith(".tgz"));
    await mkdir(join(modules, "portway"));
    await run("tar", ["xzf", tarball, "-C", join(modules, "portway"), "--strip-components=1"], {
      cwd: testFolder.path,
    });
    await writeFile(join(testFolder.path, "package.json"), '{ "private": true, "type": "module" }\n');
    return testFolder;
  }

  /** Creates a project from its files in `projects` and its blocks in docs/environments.md. Resolves to its folder. */
  async project(name) {
    const folder = join(this.path, name);
    await mkdir(folder, { recursive: true });
    await cp(join(here, "projects", name), folder, { recursive: true }).catch(
      ({ code }) => code === "ENOENT" || Promise.reject(code),
    );
    await cp(join(here, "projects/shared"), folder, { recursive: true });
    for (const [file, text] of this.codeBlocks.filesOf(name)) await writeFile(join(folder, file), text);
    return folder;
  }

  /** Returns the path of a file in an installed package. */
  module(path) {
    return join(this.path, "node_modules", path);
  }

  remove() {
    return rm(this.path, { recursive: true, force: true });
  }
}

/**
 * Adds each test in the report `file` to the suite. Jest and Vitest write reports of the same form. `ended` is the
 * promise of the process that should have written the report.
 */
export async function addTests(suite, group, file, ended) {
  const report = await readFile(file, "utf8").then(JSON.parse, () =>
    ended.then(() => Promise.reject(new Error("no report was written"))),
  );
  for (const { name, message, assertionResults } of report.testResults) {
    if (assertionResults.length === 0) await suite.test(`${group}: ${name}`, () => Promise.reject(new Error(message)));
    for (const { fullName, status, failureMessages } of assertionResults) {
      await suite.test(`${group}: ${fullName}`, () => {
        if (status !== "passed") throw new Error([status, ...failureMessages].join("\n"));
      });
    }
  }
}

/** Runs a script that prints its results by `projects/shared/report.js`. Adds each printed test to the suite. */
export async function addPrinted(suite, group, folder, program, ...args) {
  const { stdout } =
    (await suite.test(`${group}: the script exits by itself`, () =>
      run(program, args, { cwd: folder, timeout: 60_000 }),
    )) ?? {};
  for (const line of stdout?.trim().split("\n") ?? []) {
    const { name, error } = JSON.parse(line);
    await suite.test(`${group}: ${name}`, () => {
      if (error !== undefined) throw new Error(error);
    });
  }
}
