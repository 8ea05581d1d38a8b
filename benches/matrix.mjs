// The matrix of the benchmark: libraries, boundaries, workloads, and their combinations.

/** The baselines of the comparison. */
export const BASELINES = ["postmessage", "handwritten-envelope", "reference-library"];

/** Two copies of an older build of Portway. The difference between their results is the measurement error. */
export const OLD = ["old-1", "old-2"];

const sameOrigin = ["worker", "port-worker", "frame", "port-frame"];
const workers = ["worker", "port-worker"];
const ports = ["port-worker", "port-frame", "port-far-frame"];
const everywhere = [...sameOrigin, "far-frame", "port-far-frame"];

/**
 * The libraries, in the order of the table. `boundaries` lists the boundaries that a library supports. `transfers` is
 * the direction in which the library can transfer a buffer: "both", "params" or undefined. `excluded` lists the
 * workloads that the library does not run, and the boundaries at which it runs no workload. `own` marks Portway, and
 * `isRival` marks libraries of other authors.
 */
export const libraries = [
  {
    id: "postmessage",
    title: "postMessage of a number",
    boundaries: everywhere,
    transfers: "both",
    excluded: ["pending", "loopback"],
  },
  {
    id: "handwritten-envelope",
    title: "hand-written envelopes",
    boundaries: everywhere,
    transfers: "both",
    excluded: ["stream"],
  },
  { id: "reference-library", title: "reference library", boundaries: everywhere, excluded: ["stream"] },
  { id: "portway", title: "Portway, coalesced", own: true, boundaries: everywhere, transfers: "both", excluded: [] },
  {
    id: "portway-off",
    title: "Portway, not coalesced",
    own: true,
    boundaries: everywhere,
    transfers: "both",
    excluded: [],
  },
  {
    id: "portway-tap",
    title: "Portway, coalesced, with a tap",
    own: true,
    boundaries: ["worker"],
    excluded: [
      "clone",
      "transfer-params",
      "objects",
      "pending",
      "mixed-sizes",
      "transfer-results",
      "stream",
      "instantiate",
    ],
  },
  {
    id: "portway-connect",
    title: "Portway, connect",
    own: true,
    boundaries: everywhere,
    transfers: "both",
    excluded: [
      "clone",
      "transfer-params",
      "objects",
      "pending",
      "mixed-sizes",
      "transfer-results",
      "stream",
      "loopback",
    ],
  },
  {
    // Rust has only one entry, because the Rust API has no option for coalescing.
    id: "portway-rust",
    title: "Portway, in Rust",
    own: true,
    boundaries: ["worker", ...ports],
    excluded: ["clone", "transfer-params", "objects", "pending", "mixed-sizes", "transfer-results", "stream", "node"],
  },
  { id: "comlink", title: "Comlink", isRival: true, boundaries: everywhere, transfers: "both", excluded: ["stream"] },
  { id: "penpal", title: "Penpal", isRival: true, boundaries: everywhere, transfers: "both", excluded: ["stream"] },
  { id: "post-me", title: "post-me", isRival: true, boundaries: everywhere, transfers: "both", excluded: ["stream"] },
  { id: "birpc", title: "birpc", isRival: true, boundaries: everywhere, excluded: ["stream"] },
  {
    id: "json-rpc-2.0",
    title: "json-rpc-2.0",
    isRival: true,
    boundaries: everywhere,
    transfers: "params",
    excluded: ["stream"],
  },
  // The browser build of vscode-jsonrpc supports only ports and workers.
  {
    id: "vscode-jsonrpc",
    title: "vscode-jsonrpc",
    isRival: true,
    boundaries: [...workers, ...ports],
    excluded: ["stream", "node"],
  },
  // Cap'n Web supports only ports, and cannot send an ArrayBuffer.
  {
    id: "capnweb",
    title: "Cap'n Web",
    isRival: true,
    boundaries: ports,
    excluded: ["clone", "transfer-params", "pending", "mixed-sizes", "stream"],
  },
  // kkrpc sends JSON text, in which a buffer is an object without members.
  {
    id: "kkrpc",
    title: "kkrpc",
    isRival: true,
    boundaries: ["worker"],
    excluded: ["clone", "transfer-params", "pending", "mixed-sizes", "stream", "loopback"],
  },
];

for (const id of OLD) {
  libraries.push({
    id,
    title: `an older build, copy ${id.at(-1)}`,
    boundaries: everywhere,
    transfers: "both",
    excluded: ["stream", "node"],
  });
}

/** The boundaries, by their ids. */
export const boundaries = {
  worker: { title: "Worker", short: "Worker" },
  "port-worker": { title: "MessagePort to a worker", short: "port, worker" },
  frame: { title: "window to an iframe of the same origin", short: "window" },
  "port-frame": { title: "MessagePort to an iframe of the same origin", short: "port, iframe" },
  "far-frame": { title: "window to an iframe of another origin", short: "window, other origin" },
  "port-far-frame": { title: "MessagePort to an iframe of another origin", short: "port, other origin" },
  realm: { title: "a fresh iframe", short: "fresh iframe" },
  loopback: { title: "no transport: two ports in one page, synchronous", short: "loopback" },
  node: { title: "no transport: two ports in one thread of Node, synchronous", short: "Node" },
};

const MAX_ROUNDS = 50;
/** The number of rounds for workloads whose times vary most, due to garbage collection or to other load. */
const MANY_ROUNDS = 21;
/** The number of rounds for calls without transport. The first rounds are slower, until Node has compiled the code. */
const LOOPBACK_ROUNDS = 101;

/**
 * The workloads. `letter` is a short name for the option `--only`. `size` is the number of calls that a library makes
 * in a round. `rounds` is set if it differs from the default. `boundaries` lists the boundaries of a run without the
 * option `--boundary`. Long workloads do not run at boundaries to another process, where a message costs ten times as
 * much as at other boundaries. `metrics` has the names of the figures that a round returns.
 */
export const workloads = [
  {
    id: "sequential",
    letter: "A",
    title: "calls, one after the other",
    size: 60,
    rounds: MAX_ROUNDS,
    boundaries: everywhere,
    metrics: ["us"],
  },
  {
    id: "concurrent-1k",
    letter: "B",
    title: "1 000 calls at once",
    size: 1_000,
    boundaries: everywhere,
    metrics: ["us"],
  },
  {
    id: "concurrent-10k",
    letter: "B",
    title: "10 000 calls at once",
    size: 10_000,
    boundaries: sameOrigin,
    metrics: ["us"],
  },
  {
    id: "notifications",
    letter: "E",
    title: "100 000 notifications",
    size: 100_000,
    boundaries: ["worker"],
    metrics: ["us"],
  },
  { id: "clone", letter: "C", title: "1 MB, cloned", size: 20, boundaries: sameOrigin, metrics: ["us"] },
  {
    id: "transfer-params",
    letter: "C",
    title: "1 MB, transferred in params",
    size: 100,
    rounds: MANY_ROUNDS,
    boundaries: sameOrigin,
    metrics: ["us"],
  },
  {
    id: "transfer-results",
    letter: "H",
    title: "1 MB, transferred in results",
    size: 100,
    rounds: MANY_ROUNDS,
    boundaries: sameOrigin,
    metrics: ["us"],
  },
  {
    id: "objects",
    letter: "D",
    title: "an object of 100 KB, to the server and back",
    size: 20,
    boundaries: sameOrigin,
    metrics: ["us"],
  },
  {
    id: "pending",
    letter: "F",
    title: "10 000 pending calls, with a timeout of 60 s where supported",
    size: 10_000,
    boundaries: ["worker"],
    metrics: ["both", "issue", "settle", "heap", "wasm", "timers"],
  },
  {
    id: "mixed-sizes",
    letter: "G",
    title: "small calls, while 1 % of the calls have 1 MB",
    size: 3_000,
    boundaries: ["worker"],
    metrics: ["p50", "p99", "p999"],
  },
  {
    id: "stream",
    letter: "I",
    title: "100 MB in chunks of 64 KiB, transferred",
    size: 1_600,
    rounds: MANY_ROUNDS,
    boundaries: ["worker"],
    metrics: ["mbs"],
  },
  { id: "instantiate", title: "an instance of a compiled module", size: 1, boundaries: ["realm"], metrics: ["ms"] },
  {
    id: "loopback",
    title: "a call without transport",
    size: 10_000,
    rounds: LOOPBACK_ROUNDS,
    boundaries: ["loopback", "node"],
    metrics: ["ns"],
  },
];

/** Returns whether a library runs a workload at a boundary. */
function runsWorkload({ id: library, transfers, excluded, boundaries: boundaryIds }, { id }, boundary) {
  if (id === "instantiate") return library === "portway";
  if (excluded.includes(boundary) || excluded.includes(id)) return false;
  if (id === "transfer-params" && transfers === undefined) return false;
  if (id === "transfer-results" && transfers !== "both") return false;
  return ["loopback", "node"].includes(boundary) || boundaryIds.includes(boundary);
}

/**
 * Returns the plan of a run: each boundary with its cells. A cell is a workload with its number of rounds and the
 * libraries that run it. Engines other than Chromium run only the workloads A, B and E.
 */
export function makePlan({ only, boundary, library, rounds, quick, engine, old }) {
  const isSelected = ({ id, letter }) => only === undefined || only.includes(id) || only.includes(letter);
  const selected = workloads
    .filter(isSelected)
    .filter(({ letter }) => engine === "chromium" || ["A", "B", "E"].includes(letter));
  const boundaryIds = Object.keys(boundaries).filter((id) => boundary === undefined || boundary.includes(id));
  const isChosen = ({ id }) => library === undefined || library.includes(id) || BASELINES.includes(id);
  const chosen = libraries.filter((one) => (OLD.includes(one.id) ? old !== undefined : isChosen(one)));
  return boundaryIds.flatMap((place) => {
    const cells = selected
      .filter(
        (workload) => workload.boundaries.includes(place) || (boundary !== undefined && canRunAt(workload, place)),
      )
      .map((workload) => ({
        ...workload,
        rounds: rounds ?? roundsOf(workload, quick),
        libraries: chosen.filter((one) => runsWorkload(one, workload, place)).map(({ id }) => id),
      }));
    return cells.length === 0 ? [] : [{ boundary: place, cells }];
  });
}

/** Returns whether a workload can run at a boundary that it does not list. */
function canRunAt({ boundaries: listed }, boundary) {
  return everywhere.includes(boundary) && listed.some((id) => everywhere.includes(id));
}

function roundsOf({ rounds = 11 }, quick) {
  return quick ? Math.ceil(rounds / 3) : rounds;
}
