// Runs the types suite: `node tests/types/run.mjs`. The suite compiles each tsconfig.*.json of this folder with the
// newest TypeScript and with an old version. It also compiles the code of README.md, and checks the built package with
// publint and "are the types wrong?". It compiles the playground, because Vite builds the playground without a check of
// types.
//
// Each compiled file is a test. The test passes if the compiler reports no error in the file. The compiler also reports
// an `@ts-expect-error` without an error. If PORTWAY_REPORT names a file, the suite writes the counts of tests to this
// file, as JSON.

import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { writeBlocks } from "./readme.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");
const pkg = join(root, "pkg");
const notTests = new Set(["equal.ts"]);
const report = { passed: 0, failed: 0, failures: [] };

/** Counts and prints a test. It passes if `faults` is empty. */
function test(name, faults) {
  if (faults.length === 0) {
    report.passed += 1;
    console.log(`  ok    ${name}`);
  } else {
    report.failed += 1;
    const message = faults.join("\n");
    report.failures.push({ name, message });
    console.log(`  FAIL  ${name}\n${message.replace(/^/gm, "          ")}`);
  }
}

function run(file, args, cwd) {
  return new Promise((done) => {
    execFile(process.execPath, [file, ...args], { cwd, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      done({ code: error ? (error.code ?? -1) : 0, output: stdout + stderr });
    });
  });
}

// The old compiler is a dependency of `attw`. If package.json named both compilers, one `tsc` would replace the other.
function compilers() {
  const newest = createRequire(join(root, "package.json"));
  const attw = createRequire(newest.resolve("@arethetypeswrong/cli/package.json"));
  const old = createRequire(attw.resolve("@arethetypeswrong/core"));
  return [newest, old].map((require) => {
    const manifest = require.resolve("typescript/package.json");
    return { version: JSON.parse(readFileSync(manifest, "utf8")).version, tsc: join(dirname(manifest), "bin/tsc") };
  });
}

async function compile({ version, tsc }, project) {
  const args = ["-p", project, "--noEmit", "--pretty", "false", "--listFiles"];
  const { code, output } = await run(tsc, args, here);
  const files = new Set();
  const faults = new Map();
  let last;
  for (const line of output.split("\n").filter(Boolean)) {
    const [, file] = /^(.+?)\(\d+,\d+\): error TS/.exec(line) ?? [];
    if (file) {
      last = relative(here, resolve(here, file));
      faults.set(last, [...(faults.get(last) ?? []), line]);
    } else if (/^\s/.test(line) && last) {
      faults.get(last).push(line);
    } else if (/^error TS/.test(line)) {
      faults.set(project, [...(faults.get(project) ?? []), line]);
    } else if (dirname(line) === here) {
      files.add(relative(here, line));
    }
  }
  console.log(`TypeScript ${version}, ${project}`);
  for (const file of [...files].filter((file) => !notTests.has(file)).sort()) {
    test(`${file} (${project}, TypeScript ${version})`, faults.get(file) ?? []);
  }
  // The remaining errors are outside of the test files: in the declarations, in the configuration or in the compiler.
  const others = [...faults].filter(([file]) => !files.has(file) || notTests.has(file)).flatMap(([, lines]) => lines);
  if (files.size === 0) others.push("no test file was compiled");
  if (code !== 0 && faults.size === 0) others.push(`tsc ended with ${code}:`, output);
  test(`declarations (${project}, TypeScript ${version})`, others);
}

async function lintPackage() {
  const { messages, pkg: manifest } = await publint({ pkgDir: pkg, level: "suggestion", strict: true });
  return messages.map((message) => formatMessage(message, manifest, { color: false }) ?? message.code);
}

// The profile in .attw.json allows only ES modules. It requires no types for the wasm file, which is loaded by its URL.
async function askWhetherTypesAreWrong() {
  const attw = createRequire(join(root, "package.json")).resolve("@arethetypeswrong/cli/package.json");
  const { bin } = JSON.parse(readFileSync(attw, "utf8"));
  const { code, output } = await run(join(dirname(attw), bin.attw), ["--pack", "pkg"], root);
  return code === 0 ? [] : [output];
}

// The playground is an application that uses many of the declarations.
async function compilePlayground() {
  const [{ tsc }] = compilers();
  const { code, output } = await run(tsc, ["-p", "www", "--noEmit", "--pretty", "false"], root);
  return code === 0 ? [] : [output];
}

// Compiles each block of JavaScript or TypeScript in README.md.
async function compileReadme() {
  const folder = join(root, "target/readme-blocks");
  const files = writeBlocks(root, folder);
  const [{ tsc }] = compilers();
  const { code, output } = await run(tsc, ["-p", folder, "--noEmit", "--pretty", "false"], folder);
  // The results of a client without a method map have the type `unknown`. In JavaScript, code may read the members of
  // such results, so errors about these members are ignored.
  const isAboutUnknownResult = /^line-\d+\.js\(.* does not exist on type '\{\}'\.$/;
  const faults = output.split("\n").filter((line) => line !== "" && !isAboutUnknownResult.test(line));
  for (const [file, line] of files) {
    test(
      `README.md, line ${line}`,
      faults.filter((fault) => fault.startsWith(`${file}(`)),
    );
  }
  const others = faults.filter((fault) => !/^line-\d+\.[jt]s\(/.test(fault));
  if (code !== 0 && output === "") others.push(`tsc ended with ${code}`);
  if (files.size < 10) others.push(`README.md must have at least 10 blocks, got ${files.size}`);
  test(`all ${files.size} blocks of code in README.md were compiled`, others);
}

for (const compiler of compilers()) {
  for (const project of readdirSync(here)
    .filter((file) => /^tsconfig\.(?!base\.).*json$/.test(file))
    .sort()) {
    await compile(compiler, project);
  }
}

console.log("the code of README.md");
await compileReadme();

console.log("the package in pkg/");
for (const [name, check] of [
  ["publint", lintPackage],
  ["are the types wrong?", askWhetherTypesAreWrong],
  ["the playground", compilePlayground],
]) {
  const missing = ["pkg/package.json is missing; run `cargo xtask build`"];
  test(name, existsSync(join(pkg, "package.json")) ? await check() : missing);
}

console.log(`${report.passed} passed, ${report.failed} failed`);
if (process.env.PORTWAY_REPORT) writeFileSync(process.env.PORTWAY_REPORT, JSON.stringify(report));
process.exitCode = report.failed === 0 ? 0 : 1;
