// The types suite: `node tests/types/run.mjs`. Compiles every tsconfig.*.json beside it with the newest TypeScript and
// with an old one, then lets publint and "are the types wrong?" look at the built package, and compiles the playground,
// which Vite builds without a look at its types. It also compiles the code of README.md.
//
// A file that is compiled is a test: it passes when there is nothing to report in it, `@ts-expect-error` without an
// error included. With PORTWAY_REPORT set, the counts are written there as JSON.

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

// The old compiler is the one that `attw` brings: installing it by name would put a second `tsc` in its place.
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
  // Errors outside of test files: the declarations themselves, the configuration, a crash of the compiler.
  const others = [...faults].filter(([file]) => !files.has(file) || notTests.has(file)).flatMap(([, lines]) => lines);
  if (files.size === 0) others.push("no test file was compiled");
  if (code !== 0 && faults.size === 0) others.push(`tsc ended with ${code}:`, output);
  test(`declarations (${project}, TypeScript ${version})`, others);
}

async function lintPackage() {
  const { messages, pkg: manifest } = await publint({ pkgDir: pkg, level: "suggestion", strict: true });
  return messages.map((message) => formatMessage(message, manifest, { color: false }) ?? message.code);
}

// Its profile is in .attw.json: ES modules only, and no types for the wasm file, which is there to be loaded by URL.
async function askWhetherTypesAreWrong() {
  const attw = createRequire(join(root, "package.json")).resolve("@arethetypeswrong/cli/package.json");
  const { bin } = JSON.parse(readFileSync(attw, "utf8"));
  const { code, output } = await run(join(dirname(attw), bin.attw), ["--pack", "pkg"], root);
  return code === 0 ? [] : [output];
}

// The declarations as an application of some size uses them.
async function compilePlayground() {
  const [{ tsc }] = compilers();
  const { code, output } = await run(tsc, ["-p", "www", "--noEmit", "--pretty", "false"], root);
  return code === 0 ? [] : [output];
}

// Each block of JavaScript or TypeScript in README.md.
async function compileReadme() {
  const folder = join(root, "target/readme-blocks");
  const files = writeBlocks(root, folder);
  const [{ tsc }] = compilers();
  const { code, output } = await run(tsc, ["-p", folder, "--noEmit", "--pretty", "false"], folder);
  // A client without a method map has results of the type `unknown`, whose members JavaScript reads all the same.
  const ofResult = /^line-\d+\.js\(.* does not exist on type '\{\}'\.$/;
  const faults = output.split("\n").filter((line) => line !== "" && !ofResult.test(line));
  for (const [file, line] of files) {
    test(
      `README.md, line ${line}`,
      faults.filter((fault) => fault.startsWith(`${file}(`)),
    );
  }
  const others = faults.filter((fault) => !/^line-\d+\.[jt]s\(/.test(fault));
  if (code !== 0 && output === "") others.push(`tsc ended with ${code}`);
  if (files.size < 10) others.push(`${files.size} blocks are found`);
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
  const missing = ["pkg/ is not there; `cargo xtask build` makes it"];
  test(name, existsSync(join(pkg, "package.json")) ? await check() : missing);
}

console.log(`${report.passed} passed, ${report.failed} failed`);
if (process.env.PORTWAY_REPORT) writeFileSync(process.env.PORTWAY_REPORT, JSON.stringify(report));
process.exitCode = report.failed === 0 ? 0 : 1;
