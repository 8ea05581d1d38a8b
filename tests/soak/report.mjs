// Checks the figures of a soak, and prints them.

/**
 * The largest allowed growth of the heap in the second half of the run, relative to its size at the start of this half.
 */
const MAX_HEAP_GROWTH = 0.05;
/** The same limit for a short run, in which the engine still compiles code and collects type feedback. */
const MAX_HEAP_GROWTH_OF_SHORT_RUN = 0.25;
/** A run of fewer minutes is a short run. */
const LONG_RUN_MINUTES = 5;
/** The size of a page of wasm memory, in bytes. */
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

/** Returns the checks. Each check has a name and a figure. A failed check also has `failure`, a text. */
export function checksOf(plan, { samples, ledgers, error }) {
  const checks = [];
  const check = (name, passes, figure, more = []) => {
    const failure = passes ? undefined : [figure, ...more].join("\n");
    checks.push({ name, figure, failure });
  };
  check("the soak runs to its end", error === undefined, error ?? `${samples.length} samples`);
  if (ledgers !== undefined) checkCounts(plan, ledgers, check);
  if (ledgers !== undefined) checkGrowth(plan, samples, ledgers.links.length, check);
  return checks;
}

function checkCounts({ calls, cycles, reloads }, ledgers, check) {
  let sum = 0;
  for (const { name, near, far } of ledgers.links) {
    for (const { caller } of [near, far]) {
      sum += caller.made;
      const figure = `${caller.made} made, ${caller.ended} ended, ${caller.failureCount} with an unexpected outcome, at most ${caller.maxInFlight} pending`;
      const passes = caller.made === caller.ended && caller.failureCount === 0;
      check(`${caller.name}: every call ends once, with the expected outcome`, passes, figure, caller.failures);
    }
    const countDifferences = [...differences(near.caller, far.service), ...differences(far.caller, near.service)];
    check(
      `${name}: the counts of both peers are equal`,
      countDifferences.length === 0,
      countDifferences.join("; ") || "notifications, cancellations, late responses, abandoned streams",
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
    const { made, answered, ended, failures, failureCount } = ledger;
    const figure = `${ledger[part]} of ${wanted} ${part}; ${made} calls: ${answered} answered, ${ended} ended with the link, ${failureCount} with an unexpected outcome`;
    check(
      `${name}: all ${part} are completed, and every call ends once`,
      made === answered + ended && failureCount === 0 && ledger[part] >= wanted,
      figure,
      failures,
    );
  }
}

/** Returns the differences between the counts of the caller and those of the service. */
function differences(
  { name, counts, notificationCount },
  { empty, notificationCount: received, abortedHandlers, released, abandonedStreams, runningHandlers },
) {
  // The library also cancels a call at the peer when the call times out.
  const cancelled = counts.cancelledAtOnce + counts.cancelledWhileRunning + counts.cancelledTogether + counts.timedOut;
  return [
    ["empty calls", counts.empty, empty],
    ["notifications", notificationCount, received],
    ["cancelled calls", cancelled, abortedHandlers],
    ["late responses", counts.timedOut, released],
    ["abandoned streams", counts.streamLeft, abandonedStreams],
    ["running handlers", 0, runningHandlers],
  ].flatMap(([what, here, there]) => (here === there ? [] : [`${name}: ${here} ${what}, ${there} at the peer`]));
}

function checkGrowth({ minutes }, samples, links, check) {
  const secondHalf = samples.slice(4);
  const tolerance = minutes < LONG_RUN_MINUTES ? MAX_HEAP_GROWTH_OF_SHORT_RUN : MAX_HEAP_GROWTH;
  for (const name of ["heap", "workerHeap"]) {
    const values = secondHalf.map((sample) => sample[name]);
    if (values.some((value) => value === undefined || value === null)) continue;
    const growth = growthOf(values);
    const figure = `${percent(growth)} over the second half, ${percent(tolerance)} allowed`;
    check(`${COLUMNS[name]} does not grow`, growth <= tolerance, figure);
  }
  const wasm = secondHalf.map((sample) => sample.wasm);
  // wasm memory never shrinks. In a short run, the largest burst of an instance may occur in the second half.
  const allowed = minutes < LONG_RUN_MINUTES ? WASM_PAGE * (links + 1) : 0;
  check("wasm does not grow", wasm.at(-1) - wasm[0] <= allowed, `${wasm.join(", ")}; ${allowed} bytes more allowed`);
  for (const name of ["listeners", "ports", "locks", "documents"]) {
    const values = secondHalf.map((sample) => sample[name]);
    if (values.some((value) => value === undefined || value === null)) continue;
    const [first] = values;
    const passes = values.every((value) => value === first);
    check(`${COLUMNS[name]}: constant over the second half`, passes, values.join(", "));
  }
  // Deadlines, heartbeats and grace periods each use a timer. The last events of a peer determine which timers are set.
  const timers = Math.max(...secondHalf.map(({ timers }) => timers));
  check("timers: at most four for each peer of a link", timers <= 8 * links, `${timers} for ${links} links`);
}

/** Returns the rise of the regression line from the first value to the last, relative to the first value. */
export function growthOf(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const middle = (values.length - 1) / 2;
  let covariance = 0;
  let variance = 0;
  for (const [i, value] of values.entries()) {
    covariance += (i - middle) * (value - mean);
    variance += (i - middle) ** 2;
  }
  return ((covariance / variance) * (values.length - 1)) / values[0];
}

function percent(part) {
  return `${(part * 100).toFixed(1)} %`;
}

export function print({ engine, minutes, seed }, { samples, seconds }, checks) {
  console.log(`soak in ${engine}: ${minutes} min requested, ${seconds.toFixed(0)} s needed, seed ${seed}\n`);
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
