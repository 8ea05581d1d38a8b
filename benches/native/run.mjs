// The benchmark of byte streams, WIPC, WebSockets, `portway tap` and MCP: `node benches/native/run.mjs --binary PATH
// [--plan native|wipc|ws|tap|mcp] [--portway PATH] [--rounds N] [--quick] [--check]`. In each round, every library runs
// once, and each round starts with another library. Ratios compare results of the same round. The script prints a
// summary, and writes all rounds to target/bench/PLAN.json.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ratio, quartiles, valuesOf } from "../statistics.mjs";
import { formatNumber } from "../table.mjs";
import { connectionCount } from "./matrix.mjs";
import { writeEvents, writeStreams } from "./streams.mjs";
import { CommandProcess, PortServer, Server, TapServer } from "./worker.mjs";

const ROUNDS = 11;

/** An entry like those of `libraries`, for the program that sends requests to the servers of the libraries. */
const loadGenerator = { id: "load" };
/** An entry like those of `libraries`, for the server that the clients of the libraries call. */
const portwayServer = { id: "portway" };

const root = fileURLToPath(new URL("../../", import.meta.url));
const { values: options } = parseArgs({
  options: {
    binary: { type: "string" },
    plan: { type: "string", default: "native" },
    portway: { type: "string" },
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
  },
});
const roundsOption = options.rounds === undefined ? undefined : Number(options.rounds);
const plans = {
  native: "./matrix.mjs",
  wipc: "./wipc-matrix.mjs",
  ws: "./ws-matrix.mjs",
  tap: "./tap-matrix.mjs",
  mcp: "./mcp-matrix.mjs",
};
if (options.binary === undefined || !(options.plan in plans) || (roundsOption !== undefined && !(roundsOption >= 1))) {
  console.error(
    "node benches/native/run.mjs --binary PATH [--plan native|wipc|ws|tap|mcp] [--portway PATH] [--rounds N] [--quick] [--check]",
  );
  process.exit(2);
}

const { promises, libraries, workloads, cores } = await import(plans[options.plan]);
const folder = mkdtempSync(`${tmpdir()}/portway-bench-`);
const running = new Set();
let sockets = 0;
const end = () => {
  for (const child of running) child.stop();
  rmSync(folder, { recursive: true, force: true });
};
process.on("exit", end);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

const writers = { native: writeStreams, mcp: writeEvents };
const streams = writers[options.plan]?.(`${root}target/bench/streams`) ?? {};
const started = Date.now();
const report = {
  date: new Date().toISOString(),
  machine: machine(),
  versions: versions(),
  load: [loadavg()[0]],
  cells: [],
};
console.log(
  `${report.machine.cores} cores, load ${formatNumber(loadavg()[0])}${options.quick ? "; quick: too few rounds for a conclusion" : ""}`,
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
  `\n${report.minutes.toFixed(1)} minutes, load ${formatNumber(loadavg()[0])} at the end; every round is in target/bench/${options.plan}.json`,
);
process.exit(options.check && report.checks.some(({ ok }) => !ok) ? 1 : 0);

/** Runs all rounds of a workload. Returns a cell: the workload with the results of all libraries. */
async function measure(workload) {
  const rounds = roundsOption ?? Math.ceil((workload.rounds ?? ROUNDS) / (options.quick ? 3 : 1));
  if (workload.part === "page") {
    const { measureInBrowser } = await import("../websocket/browser.mjs");
    return { workload: workload.id, results: await measureInBrowser(workload, rounds) };
  }
  const participants = libraries.filter(({ runs }) => workload.part in runs);
  const runs = new Map();
  for (const library of participants) runs.set(library.id, await prepareLibrary(workload, library));
  // The first run of each library is not counted, because it also compiles code and allocates buffers.
  if (!["hold", "idle", "streams"].includes(workload.part)) for (const run of runs.values()) await run();
  const results = Object.fromEntries(participants.map(({ id }) => [id, []]));
  for (let round = 0; round < rounds; round++) {
    const first = round % participants.length;
    for (const { id } of [...participants.slice(first), ...participants.slice(0, first)])
      results[id].push(await runs.get(id)());
  }
  for (const child of running) child.stop();
  running.clear();
  return { workload: workload.id, results };
}

async function server(library, name) {
  const child = new Server(options.binary, library, name, `${folder}/${sockets++}.sock`);
  running.add(child);
  return await child.ready();
}

async function portServer(library, name) {
  const child = new PortServer(options.binary, library, name, cores.server);
  running.add(child);
  return await child.ready();
}

async function commandProcess(library, ...words) {
  const child = new CommandProcess(options.binary, library, words, cores?.generator);
  running.add(child);
  await child.ask();
  return child;
}

/** Prepares a library. Returns the function that runs a round. */
async function prepareLibrary({ part, stream, words, requests, connections, depth }, library) {
  const name = library.runs[part];
  const { expected = '"result"', precedingMethod = "-" } = library;
  if (part === "wipc") {
    const child = await commandProcess(library, part, name);
    return () => child.ask(...words);
  }
  if (part === "decode") {
    const child = await commandProcess(library, "decode", name);
    return () => child.ask(streams[stream].path, streams[stream].count);
  }
  if (part === "serve") {
    const [{ socket }, client] = [await server(library, name), await commandProcess(loadGenerator, "load")];
    return () => client.ask(socket, requests, depth);
  }
  if (part === "tap") {
    const { socket } = await server(portwayServer, "portway");
    let target = socket;
    if (name !== "direct") {
      const own = `${folder}/${sockets++}.sock`;
      const between =
        name === "tap"
          ? new TapServer(options.portway, own, socket, library.tapped)
          : new Server(options.binary, library, "", own, [name, own, socket]);
      running.add(between);
      target = (await between.ready()).socket;
    }
    const client = await commandProcess(loadGenerator, words[0]);
    return () => client.ask(target, ...words.slice(1));
  }
  if (part === "call") {
    const [{ socket }, client] = [await server(portwayServer, "portway"), await commandProcess(library, "call", name)];
    return () => client.ask(socket, requests, depth);
  }
  if (part === "http" || part === "stdio") {
    const serverCommand = ["taskset", "--cpu-list", cores.server, options.binary, "serve", "stdio"];
    const target = part === "stdio" ? serverCommand : [(await portServer(portwayServer, "http")).port];
    const client = await commandProcess(library, "call", name);
    return () => client.ask(...words, part, ...target);
  }
  if (part === "events") {
    const child = await commandProcess(library, "events", name);
    const { path, events, lines } = streams[stream];
    return () => child.ask(path, name === "decode" ? events : lines);
  }
  if (part === "streams") {
    const { port } = await portServer(portwayServer, "http");
    return () => measureOpenStreams(library, name, port, connections);
  }
  if (part === "rate") {
    const [{ port }, client] = [await portServer(library, name), await commandProcess(loadGenerator, "load")];
    return () => client.ask(port, requests, connections, depth, expected);
  }
  if (part === "flood") {
    const [{ port }, client] = [await portServer(library, name), await commandProcess(loadGenerator, "flood")];
    return () => client.ask(port, requests, precedingMethod);
  }
  if (part === "idle")
    return async () => {
      const child = await portServer(library, name);
      return measureIdleMemory(child, [child.port], connections, [expected]);
    };
  return async () => {
    const child = await server(library, name);
    return measureIdleMemory(child, [child.socket], connectionCount(library.id), []);
  };
}

/**
 * Measures the memory of a server per idle connection. Some connections are opened before the measurement, because the
 * first connections also allocate memory that all connections share.
 */
async function measureIdleMemory(child, address, count, expected) {
  const clients = await commandProcess(loadGenerator, "hold");
  const few = count / 100;
  await clients.ask(...address, few, ...expected);
  const before = child.memory();
  await clients.ask(...address, count, ...expected);
  const bytes = (child.memory() - before) / (count - few);
  for (const ended of [child, clients]) {
    ended.stop();
    running.delete(ended);
  }
  return { bytes };
}

/**
 * Measures the memory of a client per open stream. Some streams are opened before the measurement, because the first
 * streams also allocate memory that all streams share.
 */
async function measureOpenStreams(library, name, port, count) {
  const client = await commandProcess(library, "hold", name);
  const few = count / 100;
  await client.ask(port, few);
  const before = client.memory();
  await client.ask(port, count);
  const bytes = (client.memory() - before) / (count - few);
  client.stop();
  running.delete(client);
  return { bytes };
}

function tableOf(cell, { title, metric, unit, base }) {
  const rows = libraries
    .filter(({ id }) => id in cell.results)
    .map(({ id, title: name }) => {
      const { median, lower, upper } = quartiles(valuesOf(cell, id, metric));
      const range = `${amount(lower)}-${amount(upper)}`;
      const beside = ratio(cell, id, base, metric);
      return `  ${name.padEnd(26)}${amount(median).padStart(10)}  ${range.padStart(19)}  ${inRatio(beside)}`;
    });
  const rounds = Math.max(...Object.values(cell.results).map(({ length }) => length));
  const head = `  ${unit.padEnd(26)}${"median".padStart(10)}  ${"quartiles".padStart(19)}  x ${libraries.find(({ id }) => id === base).title}`;
  return [`\n${title}. ${rounds} rounds.`, head, ...rows].join("\n");
}

function amount(value) {
  return value >= 1_000 ? String(Math.round(value)) : formatNumber(value);
}

function inRatio({ median, lower, upper }) {
  return `${median.toFixed(3)} (${lower.toFixed(3)}-${upper.toFixed(3)})`;
}

/**
 * Checks one promise about a library. A promise limits the value of the library, its difference from the base, its
 * ratio to the base, or its ratio to the best of the other libraries.
 */
function judge({ workload: id, library = "portway", base, min, max, unit, difference }) {
  const { title, metric, unit: unitOfWorkload } = workloads.find((workload) => workload.id === id);
  const cell = report.cells.find(({ workload }) => workload === id);
  if (difference !== undefined) {
    const values = valuesOf(cell, library, metric).map((value, round) => value - valuesOf(cell, base, metric)[round]);
    const { median } = quartiles(values);
    const measured = `${amount(median)} ${unitOfWorkload} more`;
    return { text: title, measured, limit: `<= ${difference}`, ok: median <= difference };
  }
  if (base === undefined) {
    const { median } = quartiles(valuesOf(cell, library, metric));
    return { text: title, measured: `${amount(median)} ${unit}`, limit: `<= ${max}`, ok: median <= max };
  }
  const rivals = libraries.filter((candidate) =>
    base === "rivals" ? candidate.isRival && candidate.id in cell.results : candidate.id === base,
  );
  const all = rivals.map((rival) => ({ rival, ...ratio(cell, library, rival.id, metric) }));
  const nearest = all.reduce((a, b) => ((min === undefined ? a.median > b.median : a.median < b.median) ? a : b));
  const ok =
    min === undefined ? nearest.median < max : base === "rivals" ? nearest.median > min : nearest.median >= min;
  const limit = min === undefined ? `< ${max}` : `${base === "rivals" ? ">" : ">="} ${min}`;
  const text =
    library === "portway" ? title : `${title}: ${libraries.find(({ id: other }) => other === library).title}`;
  return { text, measured: `${inRatio(nearest)} x ${nearest.rival.title}`, limit, ok };
}

function printChecks(checks) {
  console.log("\nPromised ratios:");
  for (const { text, measured, limit, ok } of checks)
    console.log(`  ${ok ? "ok    " : "MISSED"}  ${text.padEnd(70)} ${measured.padEnd(52)} ${limit}`);
  const missed = checks.filter(({ ok }) => !ok).length;
  console.log(`  ${checks.length - missed} are met, ${missed} are missed`);
}

function machine() {
  return { cores: cpus().length, processor: cpus()[0]?.model, memory: `${Math.round(totalmem() / 2 ** 30)} GiB` };
}

function versions() {
  const lock = readFileSync(`${root}Cargo.lock`, "utf8");
  const locked = (name) => new RegExp(`name = "${name}"\\nversion = "([^"]+)"`).exec(lock)?.[1];
  const { devDependencies } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  const crates = ["portway", "lsp-server", "async-lsp", "serde_json", "tungstenite", "jsonrpsee", "rmcp"];
  const packages = ["vscode-jsonrpc", "rpc-websockets", "ws", "json-rpc-2.0"];
  return {
    node: process.versions.node,
    ...Object.fromEntries(crates.map((name) => [name, locked(name)])),
    ...Object.fromEntries(packages.map((name) => [name, devDependencies[name]])),
  };
}
