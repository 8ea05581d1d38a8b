// Formats results as text.

import { BASELINES, boundaries, libraries, workloads } from "./matrix.mjs";
import { ratio, quartiles, valuesOf } from "./statistics.mjs";

/** Returns the tables of a cell, one for each of its metrics. */
export function tableOf(cell) {
  const { boundary, workload, results } = cell;
  const { title, metrics } = workloads.find(({ id }) => id === workload);
  const present = libraries.filter(({ id }) => id in results);
  const lines = metrics.flatMap((metric) => {
    const bases = BASELINES.filter((base) => valuesOf(cell, base, metric) !== undefined);
    const rows = present.flatMap(({ id, title }) => {
      const values = valuesOf(cell, id, metric);
      if (values === undefined) return [];
      const { median, lower, upper } = quartiles(values);
      const range = `${formatNumber(lower)}-${formatNumber(upper)}`;
      const absolute = `${formatNumber(median).padStart(9)}  ${range.padStart(17)}  ${formatNumber(Math.min(...values)).padStart(9)}`;
      return [
        `  ${title.padEnd(24)}${absolute}  ${bases.map((base) => formatRatio(ratio(cell, id, base, metric))).join("")}`,
      ];
    });
    if (rows.length === 0) return [];
    const head = `  ${metric.padEnd(24)}${"median".padStart(9)}  ${"quartiles".padStart(17)}  ${"least".padStart(9)}  `;
    return [head + bases.map((base) => `x ${base}`.padEnd(24)).join(""), ...rows];
  });
  const rounds = Math.max(0, ...Object.values(results).map((rounds) => rounds.length));
  return [`\n${workload}: ${title}. ${boundaries[boundary].title}. ${rounds} rounds.`, ...lines].join("\n");
}

function formatRatio(quartilesOfRatio) {
  if (quartilesOfRatio === undefined) return "".padEnd(24);
  const { median, lower, upper } = quartilesOfRatio;
  return `${median.toFixed(2)} (${lower.toFixed(2)}-${upper.toFixed(2)})`.padEnd(24);
}

/** Returns a number with three significant digits. */
export function formatNumber(value) {
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(digits, 3));
}
