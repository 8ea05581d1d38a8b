// The promised ratios, and the checks of measured values against them. Each check has a text, the measured value, the
// threshold and a verdict.

import { boundaries, libraries, workloads } from "./matrix.mjs";
import { ratio, quartiles, valuesOf } from "./statistics.mjs";

const OWN = ["portway", "portway-off"];
const isWindow = (boundary) => boundary === "frame" || boundary === "far-frame";

/**
 * The promises. With `base`, the value is a ratio. The value must be at most `max`, or at least `min`. With the base
 * `rivals`, the ratio of Portway to each library of another author must be less than 1, and `max` is not used.
 */
const PROMISES = [
  ...["sequential"].flatMap((workload) => [
    ...OWN.map((library) => ({ workload, library, metric: "us", base: "handwritten-envelope", max: 1.15 })),
    ...OWN.map((library) => ({ workload, library, metric: "us", base: "reference-library", max: 1 })),
    ...OWN.map((library) => ({ workload, library, metric: "us", base: "rivals", max: 1 })),
  ]),
  { workload: "concurrent-10k", library: "portway", metric: "us", base: "postmessage", max: 0.2 },
  { workload: "concurrent-10k", library: "portway", metric: "us", base: "reference-library", max: 0.15 },
  { workload: "concurrent-10k", library: "portway-off", metric: "us", base: "handwritten-envelope", max: 1.15 },
  { workload: "concurrent-10k", library: "portway-off", metric: "us", base: "rivals", max: 1 },
  { workload: "concurrent-1k", library: "portway-off", metric: "us", base: "handwritten-envelope", max: 1.15 },
  ...OWN.flatMap((library) => [
    { workload: "clone", library, metric: "us", base: "handwritten-envelope", max: 1.1 },
    { workload: "objects", library, metric: "us", base: "handwritten-envelope", max: 1.1 },
    { workload: "transfer-params", library, metric: "us", base: "handwritten-envelope", max: 1.15 },
    { workload: "transfer-results", library, metric: "us", base: "handwritten-envelope", max: 1.15 },
  ]),
  { workload: "notifications", library: "portway", metric: "us", base: "postmessage", max: 0.35 },
  // Portway sets one timer for all pending calls. The measurement makes 1 000 calls, so Portway sets 0.001 timers per
  // call.
  { workload: "pending", library: "portway", metric: "timers", max: 0.01, unit: "timers per call" },
  { workload: "pending", library: "portway", metric: "heap", max: 130, unit: "bytes of JavaScript's heap per call" },
  { workload: "pending", library: "portway", metric: "wasm", max: 64, unit: "bytes of wasm per call" },
  { workload: "pending", library: "portway", metric: "both", base: "reference-library", max: 0.25 },
  { workload: "mixed-sizes", library: "portway", metric: "p999", base: "handwritten-envelope", max: 1.25 },
  { workload: "mixed-sizes", library: "portway-off", metric: "p999", base: "handwritten-envelope", max: 1.25 },
  { workload: "stream", library: "portway", metric: "mbs", base: "postmessage", min: 0.9 },
  ...OWN.flatMap((library) => [
    { workload: "loopback", library, metric: "ns", max: 500, unit: "ns" },
    { workload: "loopback", library, metric: "ns", base: "reference-library", max: 0.2 },
  ]),
  ...["sequential", "concurrent-1k", "loopback"].map((workload) => {
    const metric = workload === "loopback" ? "ns" : "us";
    return { workload, library: "portway-tap", metric, base: "portway", max: 1.5 };
  }),
  { workload: "instantiate", library: "portway", metric: "ms", max: 1, unit: "ms" },
];

/**
 * Returns the checks of all results. In a run of the whole matrix, a promise without a result counts as missed. In a
 * run of a part of the matrix, such a promise has no check.
 */
export function checkPromises(cells, isPartial) {
  return PROMISES.flatMap((promise) => {
    const found = cells.filter(({ workload, results }) => workload === promise.workload && promise.library in results);
    if (found.length === 0) return isPartial ? [] : [{ text: textOf(promise), measured: "not measured", ok: false }];
    return found.map((cell) => judge(promise, cell)).filter((judged) => judged !== undefined);
  });
}

function judge(promise, cell) {
  const { library, metric, base, max, min } = promise;
  const text = textOf(promise, cell.boundary);
  const limit = max === undefined ? `>= ${min}` : `<= ${max}`;
  if (base === "rivals") {
    const rivals = ratiosToRivals(cell, library, metric);
    if (rivals.length === 0) return undefined;
    const worst = rivals.reduce((a, b) => (a.median > b.median ? a : b));
    return { text, measured: `${worst.median.toFixed(3)} (${worst.rival})`, limit: "< 1", ok: worst.median < 1 };
  }
  const value =
    base === undefined ? quartiles(valuesOf(cell, library, metric) ?? [NaN]) : ratio(cell, library, base, metric);
  if (value === undefined) return undefined;
  const { median, lower, upper } = value;
  const ok = min === undefined ? median <= max : median >= min;
  return { text, measured: `${median.toFixed(3)} (${lower.toFixed(3)}-${upper.toFixed(3)})`, limit, ok };
}

/**
 * Returns the ratio of Portway to each library of another author. Between windows, Penpal creates a port, as `connect`
 * of Portway does. At these boundaries, Penpal is therefore compared with `connect`.
 */
function ratiosToRivals(cell, library, metric) {
  return libraries.flatMap(({ id, isRival, title }) => {
    if (!isRival) return [];
    const ours = id === "penpal" && isWindow(cell.boundary) ? "portway-connect" : library;
    const measured = ratio(cell, ours, id, metric);
    return measured === undefined ? [] : [{ ...measured, rival: title }];
  });
}

function textOf({ workload, library, metric, base, unit }, boundary) {
  const { id, metrics } = workloads.find(({ id }) => id === workload);
  const place = boundary === undefined ? "" : `, ${boundaries[boundary].short}`;
  const what = metrics.length > 1 ? ` ${metric}` : "";
  const unitOrBase = base === undefined ? unit : base === "rivals" ? "x the fastest other library" : `x ${base}`;
  return `${id}${what}${place}: ${libraries.find(({ id }) => id === library).title}, ${unitOrBase}`;
}

export function printChecks(checks) {
  console.log("\nPromised ratios:");
  for (const { text, measured, limit = "", ok } of checks) {
    console.log(`  ${ok ? "ok    " : "MISSED"}  ${text.padEnd(78)} ${measured.padEnd(24)} ${limit}`);
  }
  const missed = checks.filter(({ ok }) => !ok).length;
  console.log(`  ${checks.length - missed} are met, ${missed} are missed`);
  return missed;
}
