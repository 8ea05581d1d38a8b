// Runs attacks of hostile peers and strangers. The specs send the messages of the attackers. The specs test the built
// package, so run `cargo xtask build` first:
//
//   node tests/hostile/run.mjs <chromium|firefox|webkit|node> [part of a spec's name]
//
//   --full         a million messages of the generator, and more rounds of each race
//   --seed N       repeats the choices of an earlier run
//   --messages N   the number of generated messages
//   --write        writes measurements to bounds.json (Chromium and Node), and the table to SECURITY.md (Chromium)
//
// PORTWAY_FULL=1, PORTWAY_SEED and PORTWAY_MESSAGES have the same effects as the first three options. If PORTWAY_REPORT
// names a file, the suite writes the counts of tests to this file, as JSON.

import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runInNode } from "../web/runner/in-node.mjs";
import { runInBrowser } from "./runner/in-browser.mjs";
import { accept, checkSecurity } from "./table.mjs";

const engines = ["chromium", "firefox", "webkit", "node"];
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    full: { type: "boolean" },
    seed: { type: "string" },
    messages: { type: "string" },
    write: { type: "boolean" },
  },
});
const [engine, part = ""] = positionals;

if (!engines.includes(engine)) {
  console.error(
    `usage: node tests/hostile/run.mjs <${engines.join("|")}> [part of a spec's name] [--full] [--seed N] [--messages N] [--write]`,
  );
  process.exit(2);
}
if (!existsSync(new URL("../../pkg/package.json", import.meta.url))) {
  console.error("pkg/package.json is missing; run `cargo xtask build`");
  process.exit(2);
}

// As in tests/web, `*.browser.test.js` needs a page, `*.node.test.js` needs Node, and the other specs run everywhere.
const foreign = engine === "node" ? ".browser.test.js" : ".node.test.js";
const specs = readdirSync(fileURLToPath(new URL(".", import.meta.url)))
  .filter((file) => file.endsWith(".test.js") && file.includes(part) && !file.endsWith(foreign))
  .sort()
  .map((file) => `../hostile/${file}`);
if (specs.length === 0) {
  console.error(`a spec for ${engine} must have "${part}" in its name, but none has; name another part`);
  process.exit(2);
}

const { env } = process;
const settings = {
  full: options.full ? "1" : (env.PORTWAY_FULL ?? "0"),
  seed: options.seed ?? env.PORTWAY_SEED ?? String(Math.floor(Math.random() * 2 ** 32)),
  ...((options.messages ?? env.PORTWAY_MESSAGES) && { messages: options.messages ?? env.PORTWAY_MESSAGES }),
};
Object.assign(env, { PORTWAY_FULL: settings.full, PORTWAY_SEED: settings.seed });
if (settings.messages !== undefined) env.PORTWAY_MESSAGES = settings.messages;

/**
 * The maximum number of generated messages in one process of WebKit. WebKit becomes slower with each port that it
 * creates. So after this number, the messages are sent in a new process.
 */
const MESSAGES_PER_BROWSER = 50_000;

async function runInWebKit() {
  const wanted = Number(settings.messages ?? (settings.full === "1" ? 1_000_000 : MESSAGES_PER_BROWSER));
  const isGenerated = (spec) => spec.includes("handshake");
  const others = specs.filter((spec) => !isGenerated(spec));
  const outcomes = others.length > 0 ? [await runInBrowser(engine, others, settings)] : [];
  const generated = specs.filter(isGenerated);
  for (let round = 0; generated.length > 0 && round * MESSAGES_PER_BROWSER < wanted; round++) {
    const messages = Math.min(MESSAGES_PER_BROWSER, wanted - round * MESSAGES_PER_BROWSER);
    const seed = Number(settings.seed) + round;
    outcomes.push(await runInBrowser(engine, generated, { ...settings, messages, seed }));
  }
  const all = (member) => outcomes.flatMap((outcome) => outcome[member]);
  const files = {};
  for (const outcome of outcomes) {
    for (const [file, { passed, failed }] of Object.entries(outcome.files)) {
      files[file] = { passed: (files[file]?.passed ?? 0) + passed, failed: (files[file]?.failed ?? 0) + failed };
    }
  }
  const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0);
  return { passed, files, failures: all("failures"), figures: all("figures"), measured: all("measured") };
}

function run() {
  if (engine === "node") return runInNode(specs);
  return engine === "webkit" ? runInWebKit() : runInBrowser(engine, specs, settings);
}

const started = Date.now();
const outcome = await run();
const { failures, files } = outcome;
let { passed } = outcome;
const figures = outcome.figures ?? globalThis.figures ?? [];
const measured = outcome.measured ?? globalThis.measured ?? [];
if (options.write && measured.length > 0) accept(measured);
if (engine === "chromium" && part === "") {
  const fault = checkSecurity(options.write);
  if (fault === undefined) passed++;
  else failures.push({ name: "the table in SECURITY.md matches bounds.json", message: fault });
}
for (const [file, { passed, failed }] of Object.entries(files)) {
  console.log(
    `${failed === 0 ? "  ok  " : "  FAIL"} ${file}: ${passed} passed${failed === 0 ? "" : `, ${failed} failed`}`,
  );
}
for (const line of figures) console.log(`  ${line}`);
for (const { name, message } of failures) console.log(`\n✗ ${name}\n${message.replace(/^/gm, "    ")}`);
console.log(
  `\n${engine}: ${passed} passed, ${failures.length} failed in ${((Date.now() - started) / 1000).toFixed(1)} s, seed ${settings.seed}`,
);
if (env.PORTWAY_REPORT)
  writeFileSync(env.PORTWAY_REPORT, JSON.stringify({ passed, failed: failures.length, failures, figures }));
process.exit(failures.length === 0 && passed > 0 ? 0 : 1);
