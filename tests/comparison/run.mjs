// The comparison suite: `node tests/comparison/run.mjs`. Probes Portway and the libraries beside it for the same
// behaviours, over real channels, and compares what it sees with expected.json: a test for each behaviour and library.
// The table in the README is made from what was seen, and is a test, too.
//
//   --write    puts the table into the README
//   --accept   takes what was seen for expected
//
// With PORTWAY_REPORT set, the counts are written there as JSON.

import { fork } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { pkg, size } from "./bundles.mjs";
import { catalogue } from "./libraries/catalogue.mjs";
import { behaviours as probed } from "./probes/all.mjs";
import { slowWorker } from "./slow-worker.mjs";
import { table, tableIn, withTable } from "./table.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");
const readme = join(root, "README.md");
const expectedFile = join(here, "expected.json");
const MODULES = catalogue.map(({ module }) => module);
/** As bundlers for browsers do; vscode-jsonrpc has its entry for browsers nowhere else. */
const CONDITIONS = "--conditions=browser";
const LIMIT = 45_000;

const behaviours = [
  ...probed,
  { id: "slow-worker", text: "Calls made while a worker is still loading are answered" },
  { id: "size", text: "Size, minified and gzipped" },
];
const { values: options } = parseArgs({ options: { write: { type: "boolean" }, accept: { type: "boolean" } } });
const report = { passed: 0, failed: 0, failures: [] };

function test(name, fault) {
  if (fault === undefined) {
    report.passed += 1;
    console.log(`  ok    ${name}`);
  } else {
    report.failed += 1;
    report.failures.push({ name, message: fault });
    console.log(`  FAIL  ${name}\n${fault.replace(/^/gm, "          ")}`);
  }
}

/** The outcomes of one library, by behaviour. */
function probe(module) {
  return new Promise((done) => {
    const script = join(here, "probe-library.mjs");
    const child = fork(script, [module], { execArgv: [CONDITIONS, "--expose-gc"], timeout: LIMIT });
    let outcomes = {};
    child.on("message", (message) => (outcomes = message));
    child.on("exit", () => done(outcomes));
  });
}

/** Everything that can be seen: outcomes by behaviour and library. */
async function look() {
  const failed = (error) => ({ says: "the probe failed", saw: String(error) });
  // In this order, whichever ends first.
  const inOrder = () => Object.fromEntries(MODULES.map((module) => [module, failed("its process ended early")]));
  const seen = Object.fromEntries(behaviours.map(({ id }) => [id, inOrder()]));
  const inNode = MODULES.map(async (module) => {
    for (const [id, outcome] of Object.entries(await probe(module))) seen[id][module] = outcome;
  });
  for (const library of catalogue) seen.size[library.module] = await size(library).catch(failed);
  const inPage = slowWorker(catalogue);
  const inNoPage = (error) => Object.fromEntries(MODULES.map((module) => [module, failed(error)]));
  seen["slow-worker"] = await inPage.catch(inNoPage);
  await Promise.all(inNode);
  return seen;
}

function checkOutcomes(seen, expected) {
  const show = ({ says, saw }) => `${says} (${saw})`;
  for (const { id, text } of behaviours) {
    for (const module of MODULES) {
      const [is, was] = [seen[id][module], expected[id]?.[module]];
      const name = `${text}: ${module}, ${is.says}`;
      if (was === undefined) test(name, `nothing is expected in expected.json; seen: ${show(is)}`);
      else test(name, show(is) === show(was) ? undefined : `expected: ${show(was)}\nseen:     ${show(is)}`);
    }
  }
}

function checkTable(wanted) {
  const name = "the table in README.md is what was seen";
  if (!existsSync(readme)) return console.log(`  -     ${name}: there is no README.md`);
  const text = readFileSync(readme, "utf8");
  const found = tableIn(text);
  const hint = "`node tests/comparison/run.mjs --write` puts it right";
  if (found === undefined) return test(name, "README.md has no <!-- comparison:begin --> and <!-- comparison:end -->");
  if (options.write) writeFileSync(readme, withTable(text, wanted));
  test(name, options.write || found === wanted ? undefined : `it is another; ${hint}`);
}

/** The title of a column: other libraries with the version that was looked at. */
function column({ module, title }) {
  if (module === "portway") return { module, title };
  const { version } = JSON.parse(readFileSync(join(root, "node_modules", module, "package.json"), "utf8"));
  return { module, title: `${title} ${version}` };
}

if (!existsSync(join(pkg, "package.json"))) {
  test("the package in pkg/", "it is not there; `cargo xtask build` makes it");
} else {
  const seen = await look();
  if (options.accept) writeFileSync(expectedFile, `${JSON.stringify(seen, null, 2)}\n`);
  checkOutcomes(seen, JSON.parse(readFileSync(expectedFile, "utf8")));
  const wanted = table(behaviours, catalogue.map(column), seen);
  if (!existsSync(readme)) console.log(`\n${wanted}\n`);
  checkTable(wanted);
}

console.log(`${report.passed} passed, ${report.failed} failed`);
if (process.env.PORTWAY_REPORT) writeFileSync(process.env.PORTWAY_REPORT, JSON.stringify(report));
process.exit(report.failed === 0 ? 0 : 1);
