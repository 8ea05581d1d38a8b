// Creates the table of SECURITY.md from bounds.json.

import { readFileSync, writeFileSync } from "node:fs";
import { tableIn, withTable } from "../comparison/table.mjs";

const NAME = "amplification";
const file = new URL("bounds.json", import.meta.url);
const security = new URL("../../SECURITY.md", import.meta.url);

/**
 * The steps to which `accept` rounds `sends` and `holds`, in bytes for each byte of the message. There are only a few
 * steps, so that two runs write equal figures.
 */
const RATIOS = [0, 1, 2, 5, 10];
/** The steps to which `accept` rounds `blocks`, in milliseconds. */
const MS = [5, 10, 20, 50];
/** The receivers of the messages, by the value of `where` in bounds.json. */
const PLACES = { page: "a page, by `connect`", wipc: "JavaScript over WIPC", native: "a native server, on a socket" };

const read = () => JSON.parse(readFileSync(file, "utf8"));

/** Returns the smallest of the `steps` that is at least `measured` times the factor `room`. */
function leastStep(steps, measured, room) {
  return steps.find((one) => measured * room <= one) ?? Infinity;
}

/**
 * Writes measurements to bounds.json. No written figure is above the common maximum of all rows: `maxSent`,
 * `maxBlocked` and 1 for `holds`. So a measurement above this maximum still fails its test.
 */
export function accept(measured) {
  const bounds = read();
  for (const { id, where, sends, blocks, holds } of measured) {
    const row = bounds.rows.find((row) => row.id === id && row.where === where);
    if (sends !== null) row.sends = Math.min(leastStep(RATIOS, sends, 1.05), bounds.maxSent);
    row.blocks = Math.min(leastStep(MS, blocks, 2), bounds.maxBlocked);
    if (holds !== undefined) row.holds = Math.min(leastStep(RATIOS, Math.max(0, holds - 0.5), 1), 1);
  }
  const rowText = (row) =>
    `    { ${Object.entries(row)
      .map(([key, value]) => `"${key}": ${JSON.stringify(value)}`)
      .join(", ")} }`;
  const rows = bounds.rows.map(rowText);
  writeFileSync(
    file,
    `{\n  "maxSent": ${bounds.maxSent},\n  "maxBlocked": ${bounds.maxBlocked},\n  "rows": [\n${rows.join(",\n")}\n  ]\n}\n`,
  );
}

/** Returns the Markdown of the table. */
export function table() {
  const { rows } = read();
  const sentText = (count) =>
    count === null ? "the items of the handler, up to the credit" : count === 0 ? "none" : `${count}`;
  const lines = [
    "| one message | bytes sent per received byte | blocks for | held afterwards |",
    "| --- | --- | --- | --- |",
  ];
  for (const [place, name] of Object.entries(PLACES)) {
    lines.push(`| **to ${name}** | | | |`);
    for (const { what, sends, blocks, holds } of rows.filter(({ where }) => where === place)) {
      const heldText = holds === undefined ? "" : holds === 0 ? "nothing" : `${holds} times the message`;
      lines.push(`| ${what} | ${sentText(sends)} | ${blocks} ms | ${heldText} |`);
    }
  }
  return lines.join("\n");
}

/**
 * Returns a description of the fault if the table in SECURITY.md is out of date. Writes the table if `write` is true.
 */
export function checkSecurity(write) {
  const text = readFileSync(security, "utf8");
  const found = tableIn(text, NAME);
  if (found === undefined) return `SECURITY.md has no <!-- ${NAME}:begin --> and <!-- ${NAME}:end -->`;
  if (write) writeFileSync(security, withTable(text, NAME, table()));
  return write || found === table()
    ? undefined
    : "the table differs; `node tests/hostile/run.mjs chromium --write` writes it";
}
