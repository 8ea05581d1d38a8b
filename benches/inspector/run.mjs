// The benchmark of the inspector's page, in Chromium:
// `node benches/inspector/run.mjs [--rounds N] [--quick] [--check] [--part list|large|flat]`. Each round loads the
// built page anew, and measures 100 000 messages and messages of 5 MB. After the rounds, messages arrive at a steady
// rate for 30 minutes, or for one minute with `--quick`. The script prints a summary, and writes all rounds to
// target/bench/inspector.json.

import { createReadStream, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { inspector, serve } from "../../www/serve.mjs";
import { startBrowser } from "../browsers.mjs";
import { quartiles } from "../statistics.mjs";
import { formatNumber } from "../table.mjs";
import { PROMISES, flatChecks, limitOf } from "./promises.mjs";

const ROUNDS = 5;
const FLAT_SECONDS = 1_800;
const FLAT_SECONDS_QUICK = 60;
const PER_SECOND = 1_000;
const TIMEOUT_MS = 240_000;
/** A machine whose `slowness` is larger than this number counts as busy. */
const BUSY = 1.15;

const root = fileURLToPath(new URL("../../", import.meta.url));
const { values: options } = parseArgs({
  options: {
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    part: { type: "string" },
  },
});
const rounds = Number(options.rounds ?? (options.quick ? 2 : ROUNDS));
if (!(rounds >= 1)) {
  console.error("node benches/inspector/run.mjs [--rounds N] [--quick] [--check] [--part list|large|flat]");
  process.exit(2);
}
const flatSeconds = options.quick ? FLAT_SECONDS_QUICK : FLAT_SECONDS;
const isWanted = (part) => options.part === undefined || options.part === part;

/** The scripts of the benchmark, by their addresses. */
const SCRIPTS = {
  "/bench/page.js": "benches/inspector/page.js",
  "/bench/frames.js": "benches/inspector/frames.js",
  "/bench/messages.js": "benches/inspector/messages.js",
  "/bench/worker.js": "benches/inspector/worker.js",
  "/bench/memory.js": "benches/page/memory.js",
  "/bench/statistics.mjs": "benches/statistics.mjs",
};

const { server, url } = await serve(0, { ...inspector, policyOf });
let onResults = () => {};
const [servePage] = server.listeners("request");
server.removeAllListeners("request");
server.on("request", async (request, response) => {
  const { pathname } = new URL(request.url, url);
  const file = SCRIPTS[pathname] ?? (/^\/pkg\/[\w-]+\.js$/.test(pathname) ? pathname.slice(1) : undefined);
  if (pathname === "/results") {
    let text = "";
    for await (const part of request.setEncoding("utf8")) text += part;
    response.writeHead(204).end();
    onResults(JSON.parse(text));
  } else if (file !== undefined) {
    response.writeHead(200, { "Content-Type": "text/javascript", ...ISOLATION });
    createReadStream(root + file).pipe(response);
  } else if (pathname === "/") {
    // The script of the benchmark runs before those of the page, so that it can record the wasm instance.
    const page = readFileSync(`${inspector.folder}/index.html`, "utf8");
    const text = page.replace("<script", '<script type="module" src="/bench/page.js"></script>\n    <script');
    const headers = { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policyOf() };
    response.writeHead(200, { ...headers, ...ISOLATION }).end(text);
  } else servePage(request, response);
});

/** With these headers, the clock of the page is more precise. */
const ISOLATION = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };

/** The policy of the page, except that the benchmark may start its worker. */
function policyOf() {
  return inspector.policyOf().replace("trusted-types ", "trusted-types portway-bench ");
}

console.log(
  `${cpus().length} cores, load ${formatNumber(loadavg()[0])}`,
  options.quick ? "(quick: too few rounds for a conclusion)" : "",
);
const started = Date.now();
const report = { date: new Date().toISOString(), processor: cpus()[0]?.model, load: [loadavg()[0]], rounds: [] };
let checks;
try {
  for (let round = 0; round < rounds; round++) {
    const parts = {};
    for (const part of ["list", "large"].filter(isWanted)) Object.assign(parts, await measure(part));
    report.rounds.push(parts);
  }
  checks = PROMISES.filter(({ part }) => part in report.rounds[0]).map(judge);
  if (isWanted("flat")) {
    report.flat = await measure("flat", flatSeconds);
    checks.push(...flatChecks(report.flat, PER_SECOND));
  }
} finally {
  server.closeAllConnections();
  server.close();
}
report.load.push(loadavg()[0]);
report.minutes = (Date.now() - started) / 60_000;
report.checks = checks;
mkdirSync(`${root}target/bench`, { recursive: true });
writeFileSync(`${root}target/bench/inspector.json`, JSON.stringify(report));
printRounds();
if (options.check) printChecks();
console.log(
  `\n${report.minutes.toFixed(1)} minutes, load ${formatNumber(loadavg()[0])} at the end;`,
  "every round is in target/bench/inspector.json",
);
process.exit(options.check && checks.some(({ ok }) => !ok) ? 1 : 0);

/** Measures a part in a new browser. */
async function measure(part, seconds = 0) {
  const posted = new Promise((resolve) => {
    onResults = resolve;
  });
  const browser = startBrowser("chromium", `${url}?part=${part}&seconds=${seconds}`);
  let timer;
  const late = new Promise((resolve) => {
    const limit = TIMEOUT_MS + seconds * 1_200;
    timer = setTimeout(() => resolve({ error: `the page must post its results within ${limit / 1000} s` }), limit);
  });
  try {
    const { results, error } = await Promise.race([posted, browser.ended, late]);
    if (error !== undefined) throw new Error(`${part}: ${error}`);
    return results;
  } finally {
    clearTimeout(timer);
    await browser.stop();
  }
}

/**
 * Compares a promised value with its limit, which depends on the load of the round. On an idle machine, the median of
 * all rounds counts. Other programs can only delay a round, so on a busy machine the best round counts.
 */
function judge(promise) {
  const sign = promise.min === undefined ? "<=" : ">=";
  const parts = report.rounds.map((round) => round[promise.part]);
  const promised = promise.min ?? promise.max;
  const judged = parts
    .map((part) => {
      const [value, limit] = [part[promise.metric], limitOf(promise, part)];
      return { value, limit, excess: promise.min === undefined ? value / limit : limit / value };
    })
    .sort((a, b) => a.excess - b.excess);
  const isBusy = quartiles(parts.map(({ slowness }) => slowness)).median > BUSY;
  const { value, limit, excess } = judged[isBusy ? 0 : Math.floor(judged.length / 2)];
  const best = isBusy && judged.length > 1 ? `, the best round has ${amount(value)}` : "";
  const load = Math.abs(limit - promised) < promised / 1000 ? "" : ` (${sign} ${amount(limit)} at this load)`;
  return {
    text: promise.text,
    range: inRange(quartiles(parts.map((part) => part[promise.metric]))),
    measured: `${amount(quartiles(parts.map((part) => part[promise.metric])).median)}${best}`,
    limit: `${sign} ${promised}${load}`,
    ok: excess <= 1,
  };
}

function inRange({ median, lower, upper }) {
  return `${amount(median)} (${amount(lower)}-${amount(upper)})`;
}

function amount(value) {
  return value >= 1_000 ? String(Math.round(value)) : value.toFixed(value < 10 ? 2 : 1);
}

function printRounds() {
  const first = report.rounds[0];
  if (first.taken) {
    const { texts, heap, wasm } = first.taken;
    const [all, inHeap, inWasm] = [texts, heap, wasm].map((bytes) => `${(bytes / 1e6).toFixed(1)} MB`);
    console.log(`\n100 000 messages with ${all} of text. Memory: ${inHeap} of JavaScript, ${inWasm} of wasm.`);
  }
  const loads = report.rounds.flatMap((round) => Object.values(round));
  if (loads.length > 0) {
    const [slow, bare] = ["slowness", "bareP95"].map((name) => inRange(quartiles(loads.map((each) => each[name]))));
    console.log(`Bare page: a computation takes ${slow} x its shortest time; 95 % of frames take ${bare} ms.`);
  }
  console.log(`\n  ${"median (quartiles)".padStart(88)}`);
  for (const { text, range, measured } of checks)
    console.log(`  ${text.padEnd(54)} ${(range ?? measured).padStart(34)}`);
}

function printChecks() {
  console.log("\nPromises:");
  for (const { text, measured, limit, ok } of checks)
    console.log(`  ${ok ? "ok    " : "MISSED"}  ${text.padEnd(54)} ${measured.padEnd(34)} ${limit}`);
  const missed = checks.filter(({ ok }) => !ok).length;
  console.log(`  ${checks.length - missed} are met, ${missed} are missed`);
}
