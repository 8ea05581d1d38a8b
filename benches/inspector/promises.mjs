// The promises of the workload `inspector`, and the checks of measured values against them.
//
// Other programs on the machine delay the page. So each part of the workload also measures the load of the machine, in
// two ways. One is the frames of a bare page, which does nothing except a fixed task in each frame. The other is
// `slowness`: the mean time of a fixed computation, divided by its shortest time. `slowness` is 1 on an idle machine.
//
// The member `by` of a promise selects the effect of the load on the limit:
// - `slowness` multiplies a limit on a time by `slowness`, and divides a limit on a rate.
// - `frames` multiplies the limit by `frameFactor`, which compares the frames of the bare page with frames of 60 Hz.
// - `longest` raises the limit to the longest frame of the bare page.
// Without `by`, the limit does not depend on the load.

import { quantile } from "../statistics.mjs";

const FRAME_MS = 1000 / 60;

/** Returns the factor by which late frames of the bare page increase a limit. */
const frameFactor = ({ bareP95 }) => Math.max(1, bareP95 / FRAME_MS);

export const PROMISES = [
  { part: "taken", metric: "takenPerSecond", text: "messages taken in per second", min: 50_000, by: "slowness" },
  { part: "taken", metric: "takeP95", text: "95 % of frames while messages are taken in, ms", max: 17, by: "frames" },
  { part: "scrolled", metric: "scrollP95", text: "95 % of frames while the list scrolls, ms", max: 17, by: "frames" },
  {
    part: "scrolled",
    metric: "scrollLongest",
    text: "longest frame while the list scrolls, ms",
    max: 50,
    by: "longest",
  },
  { part: "found", metric: "search", text: "search until its result is known, ms", max: 50, by: "slowness" },
  { part: "found", metric: "paint", text: "filter until its first frame is drawn, ms", max: 100, by: "slowness" },
  { part: "large", metric: "tree", text: "5 MB shown as a tree, ms", max: 300, by: "slowness" },
  { part: "large", metric: "formatted", text: "5 MB shown with line breaks, ms", max: 300, by: "slowness" },
  { part: "large", metric: "exact", text: "5 MB shown as exact text, ms", max: 300, by: "slowness" },
  { part: "large", metric: "hex", text: "5 MB shown in hexadecimal, ms", max: 300, by: "slowness" },
  { part: "taken", metric: "memory", text: "memory, divided by the texts", max: 2 },
];

/** Returns the limit of a promise in one round. */
export function limitOf({ min, max, by }, { [by === undefined ? "" : "slowness"]: slowness = 1, ...load }) {
  if (by === "slowness") return min === undefined ? max * slowness : min / slowness;
  if (by === "frames") return max * frameFactor(load);
  if (by === "longest") return Math.max(max, load.bareLongest);
  return min ?? max;
}

/** The allowed growth of the memory: this share of the memory, and these bytes for lists that double their capacity. */
const FLAT_SHARE = 0.03;
const FLAT_BYTES = 2_000_000;

/**
 * Returns the checks of a run at a steady rate. The last third of its samples must not need more memory or longer
 * frames than the first third.
 */
export function flatChecks({ samples }, rate) {
  const third = Math.floor(samples.length / 3);
  const [first, last] = [samples.slice(0, third), samples.slice(-third)];
  const bytesOf = (part) => Math.max(...part.map(({ heap, wasm }) => heap + wasm));
  const medianOf = (part, metric) => quantile(part.map(metric), 0.5);
  const perSecond = medianOf(samples, (sample) => sample.perSecond);
  const lost = samples.reduce((sum, sample) => sum + sample.lost, 0);
  const memory = bytesOf(first) * (1 + FLAT_SHARE) + FLAT_BYTES;
  const [firstP95, lastP95] = [first, last].map((part) => medianOf(part, ({ p95 }) => p95));
  const load = { bareP95: medianOf(last, ({ bareP95 }) => bareP95) };
  const frames = Math.max(17 * frameFactor(load), firstP95 * 1.1);
  return [
    {
      text: "steady stream: messages per second, none lost",
      measured: `${perSecond.toFixed(0)}, ${lost} lost`,
      limit: `>= ${rate * 0.98}`,
      ok: perSecond >= rate * 0.98 && lost === 0,
    },
    {
      text: "steady stream: memory in the last third, MB",
      measured: `${megabytes(bytesOf(last))}, in the first ${megabytes(bytesOf(first))}`,
      limit: `<= ${megabytes(memory)}`,
      ok: bytesOf(last) <= memory,
    },
    {
      text: "steady stream: 95 % of frames in the last third, ms",
      measured: `${lastP95.toFixed(1)}, in the first ${firstP95.toFixed(1)}`,
      limit: `<= ${frames.toFixed(1)}`,
      ok: lastP95 <= frames,
    },
  ];
}

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
