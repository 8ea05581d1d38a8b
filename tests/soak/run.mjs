// Runs the soak: `node tests/soak/run.mjs [--engine chromium|firefox|webkit|node] [--minutes N] [--quick] [--seed N]`.
// The soak tests the built package, pkg/. It prints the results, and writes them to target/soak/report.json. If
// PORTWAY_REPORT names a file, the soak writes the counts of checks to this file.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { soakInBrowser } from "./in-browser.mjs";
import { soakInNode } from "./in-node.mjs";
import { checksOf, print } from "./report.mjs";

const CALLS_PER_MINUTE = 100_000;
const CYCLES_PER_MINUTE = 1_000;
const RELOADS_PER_MINUTE = 100;
/** The length of a run with `--quick`. */
const QUICK_MINUTES = 0.5;

const { values } = parseArgs({
  options: {
    engine: { type: "string", default: "chromium" },
    minutes: { type: "string", default: "10" },
    quick: { type: "boolean", default: false },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const engine = values.engine;
const minutes = values.quick ? QUICK_MINUTES : Number(values.minutes);
if (!["chromium", "firefox", "webkit", "node"].includes(engine) || !(minutes > 0)) {
  console.error("usage: run.mjs [--engine chromium|firefox|webkit|node] [--minutes N] [--quick] [--seed N]");
  process.exit(2);
}
const root = fileURLToPath(new URL("../../", import.meta.url));
if (!existsSync(`${root}pkg/package.json`)) {
  console.error("pkg/package.json is missing; run `cargo xtask build`");
  process.exit(2);
}

// A run has ten slices, so each number of the plan must be a multiple of ten.
const multipleOfTen = (count) => Math.ceil((count * minutes) / 10) * 10;
const plan = {
  engine,
  minutes,
  seed: Number(values.seed),
  calls: multipleOfTen(CALLS_PER_MINUTE),
  cycles: multipleOfTen(CYCLES_PER_MINUTE),
  reloads: multipleOfTen(RELOADS_PER_MINUTE),
};
const started = Date.now();
const outcome = await (engine === "node" ? soakInNode(plan) : soakInBrowser(plan));
outcome.seconds = (Date.now() - started) / 1000;
const checks = checksOf(plan, outcome);
print(plan, outcome, checks);

const file = `${root}target/soak/report.json`;
mkdirSync(`${root}target/soak`, { recursive: true });
writeFileSync(file, JSON.stringify({ plan, ...outcome, checks }, undefined, 2));
const failures = checks.filter(({ failure }) => failure !== undefined);
console.log(`\n${checks.length - failures.length} passed, ${failures.length} failed; the figures are in ${file}`);
if (process.env.PORTWAY_REPORT) {
  const written = failures.map(({ name, failure }) => ({ name, message: failure }));
  const passed = checks.length - failures.length;
  writeFileSync(process.env.PORTWAY_REPORT, JSON.stringify({ passed, failed: failures.length, failures: written }));
}
process.exit(failures.length === 0 ? 0 : 1);
