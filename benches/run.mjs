// The benchmark: `node benches/run.mjs [--engine E] [--only A,B] [--boundary worker] [--library ID] [--rounds N]
// [--quick] [--check] [--write] [--old PKG]`. The script compares the built package, pkg/, with other libraries. It
// prints a summary, and writes all rounds to target/bench/report.json.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { checkPromises, printChecks } from "./thresholds.mjs";
import { startBrowser } from "./browsers.mjs";
import { measureInNode } from "./in-node.mjs";
import { boundaries, makePlan, libraries, workloads } from "./matrix.mjs";
import { plot } from "./plot.mjs";
import { writeReadme } from "./readme.mjs";
import { serve } from "./site.mjs";
import { tableOf } from "./table.mjs";

/** The maximum time between two messages of the page. */
const TIMEOUT_MS = 600_000;

const root = fileURLToPath(new URL("../", import.meta.url));
const options = readOptions();
const plan = makePlan(options);
if (plan.length === 0) fail("the options select no workload");
if (!existsSync(`${root}pkg/package.json`)) fail("pkg/ is missing; build it by `cargo xtask build`");

const hasRust = existsSync(`${root}target/bench/rust/rust_bench.js`);
if (!hasRust) {
  console.error("target/bench/rust is missing, so the Rust API is not measured; build it by `cargo xtask bench`");
  for (const { cells } of plan)
    for (const cell of cells) cell.libraries = cell.libraries.filter((id) => id !== "portway-rust");
}

const report = {
  date: new Date().toISOString(),
  ...options,
  machine: machine(),
  versions: versions(),
  cells: [],
  failed: [],
};
const started = Date.now();
console.log(
  `${options.engine}, ${report.machine.cores} cores${options.quick ? "; quick: too few rounds for a conclusion" : ""}`,
);
await inBrowser();
for (const { boundary, cells } of plan)
  if (boundary === "node") for (const cell of cells) addCell(await measureInNode(cell));
report.minutes = (Date.now() - started) / 60_000;
mkdirSync(`${root}target/bench`, { recursive: true });
const svg = plot(report.cells);
if (svg !== undefined) writeFileSync(`${root}target/bench/plot.svg`, svg);
const writeError = options.write ? writeReadme({ ...report, quick: options.quick }, root) : undefined;
if (writeError !== undefined) report.failed.push(writeError);
const checks = options.check ? checkPromises(report.cells, isPartial()) : [];
const missed = options.check ? printChecks(checks) : 0;
writeFileSync(`${root}target/bench/report.json`, JSON.stringify({ ...report, checks }));
for (const failure of report.failed) console.log(`failed: ${failure}`);
console.log(`\n${report.minutes.toFixed(1)} minutes; every round is in target/bench/report.json`);
process.exit(report.failed.length + missed > 0 ? 1 : 0);

/** Returns whether the options select only a part of the matrix. */
function isPartial() {
  return (
    [options.only, options.boundary, options.library].some((option) => option !== undefined) ||
    options.engine !== "chromium"
  );
}

/** Runs the workloads of the browser. */
async function inBrowser() {
  if (plan.every(({ boundary }) => boundary === "node")) return;
  let end, abort, timer;
  const ended = new Promise((resolve, reject) => ([end, abort] = [resolve, reject]));
  const site = await serve(plan, options.old, (posted) => {
    clearTimeout(timer);
    timer = setTimeout(() => abort(new Error("the page has sent nothing for 10 minutes")), TIMEOUT_MS);
    if (posted.error !== undefined) return abort(new Error(posted.error));
    if (posted.done) return end(posted);
    addCell(posted);
  });
  const browser = startBrowser(options.engine, site.address);
  // The browser runs in a separate process group, so it does not receive the signals of this process.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.once(signal, () => browser.stop().finally(() => process.exit(1)));
  timer = setTimeout(() => abort(new Error("the page must send its first result within 60 s")), 60_000);
  try {
    const { agent } = await Promise.race([ended, browser.ended]);
    report.versions.engine = agent;
  } finally {
    clearTimeout(timer);
    await browser.stop();
    site.stop();
  }
}

function addCell({ faults = [], failed = [], ...cell }) {
  report.cells.push(cell);
  report.failed.push(...faults, ...failed);
  console.log(tableOf(cell));
}

function readOptions() {
  const text = { type: "string" };
  const { values } = parseArgs({
    options: {
      engine: { type: "string", default: "chromium" },
      only: text,
      boundary: text,
      library: text,
      rounds: { type: "string" },
      quick: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      old: text,
      write: { type: "boolean", default: false },
    },
  });
  /** Returns the values of an option that lists values, separated by commas. */
  const list = (name, known) => {
    const selected = values[name]?.split(",");
    const unknown = selected?.find((value) => !known.includes(value));
    if (unknown !== undefined) fail(`unknown --${name} ${unknown}; expected ${known.join(", ")}`);
    return selected;
  };
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  if (rounds !== undefined && !(rounds >= 1)) fail(`--rounds must be a positive number, got ${values.rounds}`);
  const ids = workloads.map(({ id }) => id);
  return {
    ...values,
    rounds,
    only: list("only", [...ids, ...workloads.flatMap(({ letter }) => letter ?? [])]),
    boundary: list("boundary", Object.keys(boundaries)),
    library: list(
      "library",
      libraries.map(({ id }) => id),
    ),
  };
}

function machine() {
  return { cores: cpus().length, processor: cpus()[0]?.model, memory: `${Math.round(totalmem() / 2 ** 30)} GiB` };
}

function versions() {
  const { devDependencies } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  const { version } = JSON.parse(readFileSync(`${root}pkg/package.json`, "utf8"));
  const named = libraries.filter(({ id }) => id in devDependencies).map(({ id }) => [id, devDependencies[id]]);
  return { portway: version, node: process.versions.node, ...Object.fromEntries(named) };
}

function fail(text) {
  console.error(text);
  process.exit(2);
}
