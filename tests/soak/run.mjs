// The soak: `node tests/soak/run.mjs [--engine chromium|firefox|webkit|node] [--minutes N] [--quick] [--seed N]`. It
// tests the built package, pkg/. The results are printed, and written to target/soak/report.json. With PORTWAY_REPORT
// set, the counts of its checks are written there.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { soakInBrowser } from "./in-browser.mjs";
import { soakInNode } from "./in-node.mjs";
import { judge, print } from "./report.mjs";

/** The amount of work of a minute. */
const CALLS = 100_000;
const CYCLES = 1_000;
const RELOADS = 100;
const QUICK = 0.5;

const { values } = parseArgs({
  options: {
    engine: { type: "string", default: "chromium" },
    minutes: { type: "string", default: "10" },
    quick: { type: "boolean", default: false },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const engine = values.engine;
const minutes = values.quick ? QUICK : Number(values.minutes);
if (!["chromium", "firefox", "webkit", "node"].includes(engine) || !(minutes > 0)) {
  console.error("usage: run.mjs [--engine chromium|firefox|webkit|node] [--minutes N] [--quick] [--seed N]");
  process.exit(2);
}
const root = fileURLToPath(new URL("../../", import.meta.url));
if (!existsSync(`${root}pkg/package.json`)) {
  console.error("pkg/ is not there; `cargo xtask build` makes it");
  process.exit(2);
}

// All of them are whole numbers for each of the ten slices.
const whole = (count) => Math.ceil((count * minutes) / 10) * 10;
const plan = {
  engine,
  minutes,
  seed: Number(values.seed),
  calls: whole(CALLS),
  cycles: whole(CYCLES),
  reloads: whole(RELOADS),
};
const started = Date.now();
const outcome = await (engine === "node" ? soakInNode(plan) : soakInBrowser(plan));
outcome.seconds = (Date.now() - started) / 1000;
const checks = judge(plan, outcome);
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
