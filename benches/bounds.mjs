// What is promised, as bounds on what was measured. Each check has a text, what was seen, its bound and whether it holds.

import { boundaries, subjects, workloads } from "./plan.mjs";
import { ratio, spread, valuesOf } from "./statistics.mjs";

const OWN = ["portway", "portway-off"];
const isWindow = (boundary) => boundary === "frame" || boundary === "far-frame";

/** `base` of a ratio, or none for a figure; `most` or, where more is better, `least`. */
const PROMISES = [
  ...["A"].flatMap((workload) => [
    ...OWN.map((subject) => ({ workload, subject, metric: "us", base: "raw-env", most: 1.15 })),
    ...OWN.map((subject) => ({ workload, subject, metric: "us", base: "seed", most: 1 })),
    ...OWN.map((subject) => ({ workload, subject, metric: "us", base: "peers", most: 1 })),
  ]),
  { workload: "B-10k", subject: "portway", metric: "us", base: "raw-num", most: 0.2 },
  { workload: "B-10k", subject: "portway", metric: "us", base: "seed", most: 0.15 },
  { workload: "B-10k", subject: "portway-off", metric: "us", base: "raw-env", most: 1.15 },
  { workload: "B-10k", subject: "portway-off", metric: "us", base: "peers", most: 1 },
  { workload: "B-1k", subject: "portway-off", metric: "us", base: "raw-env", most: 1.15 },
  ...OWN.flatMap((subject) => [
    { workload: "C-clone", subject, metric: "us", base: "raw-env", most: 1.1 },
    { workload: "D", subject, metric: "us", base: "raw-env", most: 1.1 },
    { workload: "C-transfer", subject, metric: "us", base: "raw-env", most: 1.15 },
    { workload: "H", subject, metric: "us", base: "raw-env", most: 1.15 },
  ]),
  { workload: "E", subject: "portway", metric: "us", base: "raw-num", most: 0.35 },
  // One for all of them is none per call.
  { workload: "F", subject: "portway", metric: "timers", most: 0.01, unit: "timers per call" },
  { workload: "F", subject: "portway", metric: "heap", most: 130, unit: "bytes of JavaScript's heap per call" },
  { workload: "F", subject: "portway", metric: "wasm", most: 64, unit: "bytes of wasm per call" },
  { workload: "F", subject: "portway", metric: "both", base: "seed", most: 0.25 },
  { workload: "G", subject: "portway", metric: "p999", base: "raw-env", most: 1.25 },
  { workload: "G", subject: "portway-off", metric: "p999", base: "raw-env", most: 1.25 },
  { workload: "I", subject: "portway", metric: "mbs", base: "raw-num", least: 0.9 },
  ...OWN.flatMap((subject) => [
    { workload: "loopback", subject, metric: "ns", most: 500, unit: "ns" },
    { workload: "loopback", subject, metric: "ns", base: "seed", most: 0.2 },
  ]),
  { workload: "instantiate", subject: "portway", metric: "ms", most: 1, unit: "ms" },
];

/** The checks of all that was measured. What was measured of a promise nowhere is missed, unless only some was asked for. */
export function check(cells, isPart) {
  return PROMISES.flatMap((promise) => {
    const found = cells.filter(({ workload, results }) => workload === promise.workload && promise.subject in results);
    if (found.length === 0) return isPart ? [] : [{ text: textOf(promise), seen: "not measured", ok: false }];
    return found.map((cell) => judge(promise, cell)).filter((judged) => judged !== undefined);
  });
}

function judge(promise, cell) {
  const { subject, metric, base, most, least } = promise;
  const text = textOf(promise, cell.boundary);
  const limit = most === undefined ? `>= ${least}` : `<= ${most}`;
  if (base === "peers") {
    const rivals = peersOf(cell, subject, metric);
    if (rivals.length === 0) return undefined;
    const worst = rivals.reduce((a, b) => (a.median > b.median ? a : b));
    return { text, seen: `${worst.median.toFixed(3)} (${worst.peer})`, limit: "< 1", ok: worst.median < 1 };
  }
  const value =
    base === undefined ? spread(valuesOf(cell, subject, metric) ?? [NaN]) : ratio(cell, subject, base, metric);
  if (value === undefined) return undefined;
  const { median, lower, upper } = value;
  const ok = least === undefined ? median <= most : median >= least;
  return { text, seen: `${median.toFixed(3)} (${lower.toFixed(3)}-${upper.toFixed(3)})`, limit, ok };
}

/**
 * Our ratio to each of the other libraries. Where one makes a port out of a window, it is compared with `connect`, which
 * does so, too.
 */
function peersOf(cell, subject, metric) {
  return subjects.flatMap(({ id, peer, title }) => {
    if (!peer) return [];
    const ours = id === "penpal" && isWindow(cell.boundary) ? "portway-connect" : subject;
    const seen = ratio(cell, ours, id, metric);
    return seen === undefined ? [] : [{ ...seen, peer: title }];
  });
}

function textOf({ workload, subject, metric, base, unit }, boundary) {
  const { id, metrics } = workloads.find(({ id }) => id === workload);
  const place = boundary === undefined ? "" : `, ${boundaries[boundary].short}`;
  const what = metrics.length > 1 ? ` ${metric}` : "";
  const beside = base === undefined ? unit : base === "peers" ? "x the fastest other library" : `x ${base}`;
  return `${id}${what}${place}: ${subjects.find(({ id }) => id === subject).title}, ${beside}`;
}

export function print(checks) {
  console.log("\nWhat is promised:");
  for (const { text, seen, limit = "", ok } of checks) {
    console.log(`  ${ok ? "ok    " : "MISSED"}  ${text.padEnd(78)} ${seen.padEnd(24)} ${limit}`);
  }
  const missed = checks.filter(({ ok }) => !ok).length;
  console.log(`  ${checks.length - missed} hold, ${missed} are missed`);
  return missed;
}
