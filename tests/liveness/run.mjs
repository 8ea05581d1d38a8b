// Measures how fast the loss of a peer is detected: `node tests/liveness/run.mjs <chromium|firefox|webkit|node>
// [--part text] [--hidden minutes] [--write]`. Each kind of loss is repeated with a pending call that has no timeout.
// The file bounds.json contains the maximum time until this call ends, and the reason of its end. The suite checks that
// the README and docs/websocket-client.md state these bounds.
//
//   --part     runs only the kinds with this text in their ids
//   --hidden   runs only the kinds that hide the page, and hides it for this number of minutes. Without
//              this option, the page is hidden for 20 seconds
//   --write    writes the tables to these pages
//
// If PORTWAY_REPORT names a file, the suite writes counts and figures to this file, as JSON. PORTWAY_RUNS is the number
// of repetitions of each kind. Default: 20.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { engines, kindsOf, verdict } from "./bounds.mjs";
import { pages, table, tableIn, withTable } from "./table.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { part: { type: "string", default: "" }, hidden: { type: "string" }, write: { type: "boolean" } },
});
const [engine] = positionals;
/** The time in which the page is hidden, in milliseconds. */
const hiddenMs = options.hidden === undefined ? 20_000 : Number(options.hidden) * 60_000;

if ((!engines.includes(engine) && !options.write) || !(hiddenMs > 0)) {
  console.error(`usage: node tests/liveness/run.mjs <${engines.join("|")}> [--part text] [--hidden minutes] [--write]`);
  process.exit(2);
}

const report = { passed: 0, failed: 0, failures: [], figures: [] };

function figure(line) {
  console.log(line);
  report.figures.push(line);
}

function test(name, fault) {
  if (fault === undefined) report.passed += 1;
  else {
    report.failed += 1;
    report.failures.push({ name, message: fault });
  }
  return fault === undefined ? "ok  " : "FAIL";
}

function checkPage(contents) {
  const file = new URL(`../../${contents.page}`, import.meta.url);
  const text = readFileSync(file, "utf8");
  const wanted = table(contents);
  if (options.write) writeFileSync(file, withTable(text, wanted));
  const fault =
    options.write || tableIn(text) === wanted
      ? undefined
      : "the bounds differ; `node tests/liveness/run.mjs --write` writes them";
  const name = `${contents.page} states these bounds`;
  console.log(`  ${test(name, fault)}  ${name}${fault ? `: ${fault}` : ""}`);
}

async function measureAll() {
  if (!existsSync(new URL("../../pkg/package.json", import.meta.url))) {
    return void test("the package in pkg/", "pkg/package.json is missing; run `cargo xtask build`");
  }
  const { kinds, skipped } = kindsOf(engine, options.part, options.hidden !== undefined);
  const { runKinds } = await import(engine === "node" ? "./in-node.mjs" : "./in-browser.mjs");
  const results = await runKinds(engine, kinds, { hiddenMs });
  const counts = { deaths: 0, inTime: 0, alive: 0, falseEnds: 0 };
  const ms = (value) => (value === undefined ? "-" : `${value.toFixed(0)} ms`).padStart(9);
  figure(`${engine}\n  ${"".padEnd(6)}${"longest".padStart(9)}${"median".padStart(9)}${"bound".padStart(9)}`);
  for (const kind of kinds) {
    const { fault, longest, median, count, inBounds } = verdict(kind, results[kind.id]);
    const mark = test(kind.id, fault);
    if (kind.mustStayAlive) {
      counts.alive += 1;
      counts.falseEnds += count;
      figure(`  ${mark}  ${"alive".padStart(27)}  ${kind.id}`);
    } else {
      counts.deaths += count;
      counts.inTime += inBounds;
      figure(`  ${mark}  ${ms(longest)}${ms(median)}${ms(kind.within)}  ${kind.id}: ${kind.reason}, ${count} times`);
    }
    const { facts } = results[kind.id];
    if (facts) figure(`          ${facts}`);
    if (fault) console.log(fault.replace(/^/gm, "          "));
  }
  for (const { id, reason } of skipped) figure(`  -     not run: ${id} (${reason})`);
  const { deaths, inTime, alive, falseEnds } = counts;
  figure(
    `${engine}: ${deaths} ends of a peer, ${inTime} detected as stated; ${alive} kinds without an end, ${falseEnds} false ends`,
  );
}

const started = Date.now();
if (engine !== undefined) await measureAll();
pages.forEach(checkPage);
const seconds = ((Date.now() - started) / 1000).toFixed(1);
console.log(`${engine ?? "pages"}: ${report.passed} passed, ${report.failed} failed in ${seconds} s`);
if (process.env.PORTWAY_REPORT) writeFileSync(process.env.PORTWAY_REPORT, JSON.stringify(report));
process.exit(report.failed === 0 ? 0 : 1);
