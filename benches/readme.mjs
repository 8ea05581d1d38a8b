// The part of the README that is measured: a table between two markers, and the plot beside this file.

import { readFileSync, writeFileSync } from "node:fs";
import { plot } from "./plot.mjs";
import { subjects } from "./plan.mjs";
import { ratio, spread, valuesOf } from "./statistics.mjs";

const BEGIN = "<!-- bench:begin -->";
const END = "<!-- bench:end -->";

const times = (value) => `${value.toFixed(2)} ×`;

/** At the Worker, but for the last. `base` of a ratio, or none for a figure. */
const COLUMNS = [
  { head: "one call after the other", workload: "A", metric: "us", base: "raw-num" },
  { head: "10 000 calls at once", workload: "B-10k", metric: "us", base: "raw-num" },
  { head: "100 000 notifications", workload: "E", metric: "us", base: "raw-num" },
  { head: "heap of a waiting call", workload: "F", metric: "heap" },
  { head: "a call without transport", workload: "loopback", metric: "ns", base: "seed" },
];

/** Puts the table and the plot in their places; says what is missing, if anything. */
export function write(report, root) {
  const svg = plot(report.cells);
  const cells = COLUMNS.map(({ workload }) =>
    report.cells.find((cell) => cell.workload === workload && ["worker", "loopback"].includes(cell.boundary)),
  );
  if (svg === undefined || cells.includes(undefined))
    return "a run of A, B, E, F and loopback makes the table of the README";
  const file = `${root}README.md`;
  const readme = readFileSync(file, "utf8");
  const [before, after] = [readme.split(BEGIN)[0], readme.split(END)[1]];
  if (after === undefined) return "README.md has no place for the table";
  writeFileSync(`${root}benches/plot.svg`, svg);
  writeFileSync(file, `${before}${BEGIN}\n${table(report, cells)}\n${END}${after}`);
}

function table(report, cells) {
  const rows = subjects.map(({ id, title, own }) => {
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
    `${engine} on ${machine.cores} cores, ${date.slice(0, 10)}, medians of ratios in the same round${quick ? "; of too few rounds to judge by" : ""}.`,
  ].join("\n");
}

function figureOf({ metric, base }, cell, id) {
  if (base === undefined) {
    const values = valuesOf(cell, id, metric);
    return values === undefined ? "" : `${Math.round(spread(values).median)} B`;
  }
  const seen = ratio(cell, id, base, metric);
  return seen === undefined ? "" : times(seen.median);
}
