// What the figures of a soak mean: which checks hold, and how to show them.

/** How much the heap may grow over the second half, of what it is at its beginning. */
const HEAP = 0.05;
/** In a short run the engine still learns: code that it compiles, shapes that it notes. */
const HEAP_OF_SHORT_RUN = 0.25;
const LONG = 5;
const WASM_PAGE = 65_536;

const COLUMNS = {
  calls: "calls",
  cycles: "cycles",
  reloads: "reloads",
  heap: "heap",
  workerHeap: "workers' heap",
  wasm: "wasm",
  listeners: "listeners",
  timers: "timers",
  ports: "ports",
  locks: "locks",
  documents: "documents",
  resident: "resident",
};
const BYTES = ["heap", "workerHeap", "wasm", "resident"];

/** The checks: each has a name, a figure, and a failure if it does not hold. */
export function judge(plan, { samples, ledgers, error }) {
  const checks = [];
  const check = (name, holds, figure, more = []) => {
    const failure = holds ? undefined : [figure, ...more].join("\n");
    checks.push({ name, figure, failure });
  };
  check("the soak comes to its end", error === undefined, error ?? `${samples.length} samples`);
  if (ledgers !== undefined) account(plan, ledgers, check);
  if (ledgers !== undefined) flatness(plan, samples, ledgers.links.length, check);
  return checks;
}

function account({ calls, cycles, reloads }, ledgers, check) {
  let sum = 0;
  for (const { name, near, far } of ledgers.links) {
    for (const { lane } of [near, far]) {
      sum += lane.made;
      const figure = `${lane.made} made, ${lane.ended} ended, ${lane.wrongCount} otherwise than expected, at most ${lane.mostInFlight} in flight`;
      const holds = lane.made === lane.ended && lane.wrongCount === 0;
      check(`${lane.name}: every call has one end, the expected one`, holds, figure, lane.wrong);
    }
    const unlike = [...differences(near.lane, far.service), ...differences(far.lane, near.service)];
    check(
      `${name}: both sides count the same`,
      unlike.length === 0,
      unlike.join("; ") || "notifications, cancellations, late answers, streams that were left",
    );
  }
  check("all calls are made", sum >= calls, `${sum} of ${calls}`);
  const parts = [
    ["cycles", cycles, "connecting and destroying"],
    ["reloads", reloads, "reloading"],
  ];
  for (const [part, wanted, name] of parts) {
    const ledger = ledgers[part];
    if (ledger === undefined) continue;
    const { made, answered, ended, wrong, wrongCount } = ledger;
    const figure = `${ledger[part]} of ${wanted} ${part}; ${made} calls: ${answered} answered, ${ended} ended with the link, ${wrongCount} otherwise`;
    check(
      `${name}: every call has one end`,
      made === answered + ended && wrongCount === 0 && ledger[part] >= wanted,
      figure,
      wrong,
    );
  }
}

/** What the called side has counted, by what the calling side knows. */
function differences({ name, counts, notes }, { empty, notes: heard, givenUp, released, left, held }) {
  // A call that times out is cancelled at the peer, too.
  const cancelled = counts.cancelledAtOnce + counts.cancelledWhileRunning + counts.cancelledTogether + counts.timedOut;
  return [
    ["empty calls", counts.empty, empty],
    ["notifications", notes, heard],
    ["cancelled calls", cancelled, givenUp],
    ["answers that come too late", counts.timedOut, released],
    ["streams that were left", counts.streamLeft, left],
    ["handlers that still wait", 0, held],
  ].flatMap(([what, here, there]) => (here === there ? [] : [`${name}: ${here} ${what}, ${there} at the other side`]));
}

function flatness({ minutes }, samples, links, check) {
  const second = samples.slice(4);
  const tolerance = minutes < LONG ? HEAP_OF_SHORT_RUN : HEAP;
  for (const name of ["heap", "workerHeap"]) {
    const values = second.map((sample) => sample[name]);
    if (values.some((value) => value === undefined || value === null)) continue;
    const growth = growthOf(values);
    const figure = `${percent(growth)} over the second half, at most ${percent(tolerance)} allowed`;
    check(`${COLUMNS[name]} is flat`, growth <= tolerance, figure);
  }
  const wasm = second.map((sample) => sample.wasm);
  // It never shrinks, and each instance may have had its largest crowd of calls late in a short run.
  const more = minutes < LONG ? WASM_PAGE * (links + 1) : 0;
  check("wasm is flat", wasm.at(-1) - wasm[0] <= more, `${wasm.join(", ")}; ${more} bytes more allowed`);
  for (const name of ["listeners", "ports", "locks", "documents"]) {
    const values = second.map((sample) => sample[name]);
    if (values.some((value) => value === undefined || value === null)) continue;
    const [first] = values;
    const holds = values.every((value) => value === first);
    check(`${COLUMNS[name]}: the same over the second half`, holds, values.join(", "));
  }
  // For deadlines, to see whether the other side is still there, to wait for more signs of an end: which of them are set
  // depends on what was last.
  const timers = Math.max(...second.map(({ timers }) => timers));
  check("timers: four for each end of a link at most", timers <= 8 * links, `${timers} for ${links} links`);
}

/** By how much the straight line through the values rises from the first to the last, of the first value. */
export function growthOf(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const middle = (values.length - 1) / 2;
  let above = 0;
  let below = 0;
  for (const [i, value] of values.entries()) {
    above += (i - middle) * (value - mean);
    below += (i - middle) ** 2;
  }
  return ((above / below) * (values.length - 1)) / values[0];
}

function percent(part) {
  return `${(part * 100).toFixed(1)} %`;
}

export function print({ engine, minutes, seed }, { samples, seconds }, checks) {
  console.log(`soak in ${engine}: ${minutes} min asked for, ${seconds.toFixed(0)} s taken, seed ${seed}\n`);
  const names = Object.keys(COLUMNS).filter((name) =>
    samples.some((sample) => sample[name] !== undefined && sample[name] !== null),
  );
  const show = (name, value) => (BYTES.includes(name) ? `${(value / 1024).toFixed(0)} KiB` : String(value ?? "?"));
  const rows = [
    ["", ...names.map((name) => COLUMNS[name])],
    ...samples.map((sample, i) => [`${(i + 1) * 10} %`, ...names.map((name) => show(name, sample[name]))]),
  ];
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  for (const row of rows) console.log(row.map((cell, column) => cell.padStart(widths[column] + 1)).join(" "));
  console.log("");
  for (const { name, figure, failure } of checks) {
    console.log(
      failure === undefined ? `  ok   ${name} (${figure})` : `  FAIL ${name}\n${failure.replace(/^/gm, "         ")}`,
    );
  }
}
