// The benchmark of byte streams: `node benches/native/run.mjs --binary PATH [--plan native|wipc] [--rounds N] [--quick] [--check]`. In each round
// each subject has its turn, in another order, and ratios are those of one round. What it finds is printed, and written to
// target/bench/native.json or wipc.json with every round.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ratio, spread, valuesOf } from "../statistics.mjs";
import { figure } from "../table.mjs";
import { held } from "./plan.mjs";
import { writeStreams } from "./streams.mjs";
import { Server, Worker } from "./worker.mjs";

const ROUNDS = 11;

/** The programs of ours that load a server, and that is called. */
const loaders = { id: "load" };
const ours = { id: "portway" };

const root = fileURLToPath(new URL("../../", import.meta.url));
const { values: options } = parseArgs({
  options: {
    binary: { type: "string" },
    plan: { type: "string", default: "native" },
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
  },
});
const given = options.rounds === undefined ? undefined : Number(options.rounds);
const plans = { native: "./plan.mjs", wipc: "./wipc-plan.mjs" };
if (options.binary === undefined || !(options.plan in plans) || (given !== undefined && !(given >= 1))) {
  console.error("node benches/native/run.mjs --binary PATH [--plan native|wipc] [--rounds N] [--quick] [--check]");
  process.exit(2);
}

const { promises, subjects, workloads } = await import(plans[options.plan]);
const folder = mkdtempSync(`${tmpdir()}/portway-bench-`);
const running = new Set();
let sockets = 0;
const end = () => {
  for (const one of running) one.stop();
  rmSync(folder, { recursive: true, force: true });
};
process.on("exit", end);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

const streams = options.plan === "native" ? writeStreams(`${root}target/bench/streams`) : {};
const started = Date.now();
const report = {
  date: new Date().toISOString(),
  machine: machine(),
  versions: versions(),
  load: [loadavg()[0]],
  cells: [],
};
console.log(
  `${report.machine.cores} cores, load ${figure(loadavg()[0])}${options.quick ? "; quick: too few rounds to judge by" : ""}`,
);
for (const workload of workloads) {
  const cell = await measure(workload);
  report.cells.push(cell);
  console.log(tableOf(cell, workload));
}
report.load.push(loadavg()[0]);
report.minutes = (Date.now() - started) / 60_000;
report.checks = promises.map(judge);
mkdirSync(`${root}target/bench`, { recursive: true });
writeFileSync(`${root}target/bench/${options.plan}.json`, JSON.stringify(report));
if (options.check) printChecks(report.checks);
console.log(
  `\n${report.minutes.toFixed(1)} minutes, load ${figure(loadavg()[0])} at the end; every round is in target/bench/${options.plan}.json`,
);
process.exit(options.check && report.checks.some(({ ok }) => !ok) ? 1 : 0);

/** All rounds of a workload. */
async function measure(workload) {
  const rounds = given ?? Math.ceil((workload.rounds ?? ROUNDS) / (options.quick ? 3 : 1));
  const taking = subjects.filter(({ runs }) => workload.part in runs);
  const turns = new Map();
  for (const subject of taking) turns.set(subject.id, await begin(workload, subject));
  // One turn each goes by, so that what is compiled or grown on the way is there.
  if (workload.part !== "hold") for (const turn of turns.values()) await turn();
  const results = Object.fromEntries(taking.map(({ id }) => [id, []]));
  for (let round = 0; round < rounds; round++) {
    const first = round % taking.length;
    for (const { id } of [...taking.slice(first), ...taking.slice(0, first)]) results[id].push(await turns.get(id)());
  }
  for (const one of running) one.stop();
  running.clear();
  return { workload: workload.id, results };
}

async function server(subject, name) {
  const one = new Server(options.binary, subject, name, `${folder}/${sockets++}.sock`);
  running.add(one);
  return await one.ready();
}

async function worker(subject, ...words) {
  const one = new Worker(options.binary, subject, words);
  running.add(one);
  await one.ask();
  return one;
}

/** What a subject does in a round. */
async function begin({ part, stream, words, requests, depth }, subject) {
  const name = subject.runs[part];
  if (part === "wipc") {
    const one = await worker(subject, part, name);
    return () => one.ask(...words);
  }
  if (part === "decode") {
    const one = await worker(subject, "decode", name);
    return () => one.ask(streams[stream].path, streams[stream].count);
  }
  if (part === "serve") {
    const [{ socket }, client] = [await server(subject, name), await worker(loaders, "load")];
    return () => client.ask(socket, requests, depth);
  }
  if (part === "call") {
    const [{ socket }, client] = [await server(ours, "portway"), await worker(subject, "call", name)];
    return () => client.ask(socket, requests, depth);
  }
  return () => hold(subject, name);
}

/** A server that has had some connections, and what it grows by with many more. */
async function hold(subject, name) {
  const one = await server(subject, name);
  const clients = await worker(loaders, "hold");
  const few = held(subject.id) / 100;
  await clients.ask(one.socket, few);
  const before = one.memory();
  await clients.ask(one.socket, held(subject.id));
  const bytes = (one.memory() - before) / (held(subject.id) - few);
  for (const ended of [one, clients]) {
    ended.stop();
    running.delete(ended);
  }
  return { bytes };
}

function tableOf(cell, { title, metric, unit, base }) {
  const rows = subjects
    .filter(({ id }) => id in cell.results)
    .map(({ id, title: name }) => {
      const { median, lower, upper } = spread(valuesOf(cell, id, metric));
      const range = `${amount(lower)}-${amount(upper)}`;
      const beside = ratio(cell, id, base, metric);
      return `  ${name.padEnd(26)}${amount(median).padStart(10)}  ${range.padStart(19)}  ${inRatio(beside)}`;
    });
  const rounds = Math.max(...Object.values(cell.results).map(({ length }) => length));
  const head = `  ${unit.padEnd(26)}${"median".padStart(10)}  ${"quartiles".padStart(19)}  x ${subjects.find(({ id }) => id === base).title}`;
  return [`\n${title}. ${rounds} rounds.`, head, ...rows].join("\n");
}

function amount(value) {
  return value >= 1_000 ? String(Math.round(value)) : figure(value);
}

function inRatio({ median, lower, upper }) {
  return `${median.toFixed(3)} (${lower.toFixed(3)}-${upper.toFixed(3)})`;
}

/** Our ratio to the base, or to that of the other libraries which comes nearest. */
function judge({ workload: id, subject = "portway", base, least, most }) {
  const { title, metric } = workloads.find((workload) => workload.id === id);
  const cell = report.cells.find(({ workload }) => workload === id);
  const rivals = subjects.filter((one) => (base === "peers" ? one.peer && one.id in cell.results : one.id === base));
  const all = rivals.map((rival) => ({ rival, ...ratio(cell, subject, rival.id, metric) }));
  const nearest = all.reduce((a, b) => ((least === undefined ? a.median > b.median : a.median < b.median) ? a : b));
  const ok =
    least === undefined ? nearest.median < most : base === "peers" ? nearest.median > least : nearest.median >= least;
  const limit = least === undefined ? `< ${most}` : `${base === "peers" ? ">" : ">="} ${least}`;
  const text = subject === "portway" ? title : `${title}: ${subjects.find(({ id: other }) => other === subject).title}`;
  return { text, seen: `${inRatio(nearest)} x ${nearest.rival.title}`, limit, ok };
}

function printChecks(checks) {
  console.log("\nWhat is promised:");
  for (const { text, seen, limit, ok } of checks)
    console.log(`  ${ok ? "ok    " : "MISSED"}  ${text.padEnd(70)} ${seen.padEnd(52)} ${limit}`);
  const missed = checks.filter(({ ok }) => !ok).length;
  console.log(`  ${checks.length - missed} hold, ${missed} are missed`);
}

function machine() {
  return { cores: cpus().length, processor: cpus()[0]?.model, memory: `${Math.round(totalmem() / 2 ** 30)} GiB` };
}

function versions() {
  const lock = readFileSync(`${root}Cargo.lock`, "utf8");
  const locked = (name) => new RegExp(`name = "${name}"\\nversion = "([^"]+)"`).exec(lock)?.[1];
  const { devDependencies } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  const crates = ["portway", "lsp-server", "async-lsp", "serde_json"].map((name) => [name, locked(name)]);
  return {
    node: process.versions.node,
    ...Object.fromEntries(crates),
    "vscode-jsonrpc": devDependencies["vscode-jsonrpc"],
  };
}
