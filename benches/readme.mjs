// Writes the benchmark table of the README between two markers, and the plot in this folder.

import { readFileSync, writeFileSync } from "node:fs";
import { plot } from "./plot.mjs";
import { libraries } from "./matrix.mjs";
import { ratio, quartiles, valuesOf } from "./statistics.mjs";

const BEGIN = "<!-- bench:begin -->";
const END = "<!-- bench:end -->";

const formatRatio = (value) => `${value.toFixed(2)} ×`;

/**
 * The columns of the table. All but the last are measured over a Worker. A column with `base` shows ratios to the
 * library `base`.
 */
const COLUMNS = [
  { head: "one call after the other", workload: "sequential", metric: "us", base: "postmessage" },
  { head: "10 000 calls at once", workload: "concurrent-10k", metric: "us", base: "postmessage" },
  { head: "100 000 notifications", workload: "notifications", metric: "us", base: "postmessage" },
  { head: "heap of a pending call", workload: "pending", metric: "heap" },
  { head: "a call without transport", workload: "loopback", metric: "ns", base: "reference-library" },
];

/** Writes the table and the plot. If results or markers are missing, writes nothing and returns an error text. */
export function writeReadme(report, root) {
  const svg = plot(report.cells);
  const cells = COLUMNS.map(({ workload }) =>
    report.cells.find((cell) => cell.workload === workload && ["worker", "loopback"].includes(cell.boundary)),
  );
  if (svg === undefined || cells.includes(undefined))
    return "the table of the README requires the results of A, B, E, F and loopback; add them to --only";
  const file = `${root}README.md`;
  const readme = readFileSync(file, "utf8");
  const [before, after] = [readme.split(BEGIN)[0], readme.split(END)[1]];
  if (after === undefined) return `README.md must contain ${BEGIN} and ${END}`;
  writeFileSync(`${root}benches/plot.svg`, svg);
  writeFileSync(file, `${before}${BEGIN}\n${table(report, cells)}\n${END}${after}`);
}

function table(report, cells) {
  const rows = libraries.map(({ id, title, own }) => {
    const figures = COLUMNS.map((column, at) => figureOf(column, cells[at], id));
    const version = report.versions[id];
    const name = own || version === undefined ? title : `${title} ${version}`;
    return `| ${own ? `**${name}**` : name} | ${figures.join(" | ")} |`;
  });
  const { machine, versions, date, quick } = report;
  const engine = /(Firefox|Chrome)\/[\d]+/.exec(versions.engine)?.[0].replace("/", " ") ?? versions.engine;
  return [
    `|  | ${COLUMNS.map(({ head }) => head).join(" | ")} |`,
    `| --- |${" ---: |".repeat(COLUMNS.length)}`,
    ...rows,
    "",
    `${engine} on ${machine.cores} cores, ${date.slice(0, 10)}, medians of ratios in the same round${quick ? "; too few rounds for a conclusion" : ""}.`,
  ].join("\n");
}

function figureOf({ metric, base }, cell, id) {
  if (base === undefined) {
    const values = valuesOf(cell, id, metric);
    return values === undefined ? "" : `${Math.round(quartiles(values).median)} B`;
  }
  const measured = ratio(cell, id, base, metric);
  return measured === undefined ? "" : formatRatio(measured.median);
}
