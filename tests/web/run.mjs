// Runs the specs of this folder in one engine: `node tests/web/run.mjs <chromium|firefox|webkit|node> [part of a spec's
// name]`. The specs test the built package, so run `cargo xtask build` first. If PORTWAY_REPORT is the name of a file,
// the counts are written to this file as JSON.

import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runInBrowser } from "./runner/in-browser.mjs";
import { runInNode } from "./runner/in-node.mjs";

const engines = ["chromium", "firefox", "webkit", "node"];
const [engine, part = ""] = process.argv.slice(2);

if (!engines.includes(engine)) {
  console.error(`usage: node tests/web/run.mjs <${engines.join("|")}> [part of a spec's name]`);
  process.exit(2);
}
if (!existsSync(new URL("../../pkg/package.json", import.meta.url))) {
  console.error("pkg/ must exist, but it is missing; run `cargo xtask build`");
  process.exit(2);
}

// `*.browser.test.js` runs in a page, `*.isolated.browser.test.js` in a page that is isolated from other origins, and
// `*.node.test.js` in Node. Other specs run everywhere.
const excludedSuffix = engine === "node" ? ".browser.test.js" : ".node.test.js";
const matching = readdirSync(fileURLToPath(new URL(".", import.meta.url)))
  .filter((file) => file.endsWith(".test.js") && file.includes(part))
  .sort();
const specs = matching.filter((file) => !file.endsWith(excludedSuffix));
const omitted = matching.filter((file) => file.endsWith(excludedSuffix));
if (specs.length === 0) {
  console.error(`a spec for ${engine} must have "${part}" in its name, but none has; name another part`);
  process.exit(2);
}

const startTime = Date.now();
const outcome = engine === "node" ? await runInNode(specs) : await runInBrowser(engine, specs);
for (const [file, { passed, failed }] of Object.entries(outcome.files)) {
  console.log(
    `${failed === 0 ? "  ok  " : "  FAIL"} ${file}: ${passed} passed${failed === 0 ? "" : `, ${failed} failed`}`,
  );
}
if (omitted.length > 0) console.log(`  not for ${engine}: ${omitted.join(", ")}`);
for (const note of outcome.notes ?? []) console.log(`  ${note}`);
for (const { name, message } of outcome.failures) console.log(`\n✗ ${name}\n${message.replace(/^/gm, "    ")}`);

const { passed, failures } = outcome;
console.log(
  `\n${engine}: ${passed} passed, ${failures.length} failed in ${((Date.now() - startTime) / 1000).toFixed(1)} s`,
);
if (process.env.PORTWAY_REPORT) {
  writeFileSync(process.env.PORTWAY_REPORT, JSON.stringify({ passed, failed: failures.length, failures }));
}
// Without this call, Node would not exit if a spec has left a handle open.
process.exit(failures.length === 0 && passed > 0 ? 0 : 1);
