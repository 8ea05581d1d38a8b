// What is measured: the subjects, the boundaries, the workloads, and which of them go together.

/** What others are compared with. */
export const BASES = ["raw-num", "raw-env", "seed"];

/** An older build, twice: a difference between its two copies is noise. */
export const OLD = ["old-1", "old-2"];

const near = ["worker", "port-worker", "frame", "port-frame"];
const workers = ["worker", "port-worker"];
const ports = ["port-worker", "port-frame", "port-far-frame"];
const everywhere = [...near, "far-frame", "port-far-frame"];

/**
 * In the order of the table. `boundaries` are those where the subject makes sense. `transfers` says in which direction it
 * moves a buffer: "both", "params" or undefined. `lacks` names workloads that it has no call for, or that show nothing new of it.
 */
export const subjects = [
  { id: "raw-num", title: "a bare number", boundaries: everywhere, transfers: "both", lacks: ["F", "loopback"] },
  { id: "raw-env", title: "envelopes by hand", boundaries: everywhere, transfers: "both", lacks: ["I"] },
  { id: "seed", title: "the document's library", boundaries: everywhere, lacks: ["I"] },
  { id: "portway", title: "Portway, coalesced", own: true, boundaries: everywhere, transfers: "both", lacks: [] },
  {
    id: "portway-off",
    title: "Portway, not coalesced",
    own: true,
    boundaries: everywhere,
    transfers: "both",
    lacks: [],
  },
  {
    id: "portway-connect",
    title: "Portway, connect",
    own: true,
    boundaries: everywhere,
    transfers: "both",
    lacks: ["C", "D", "F", "G", "H", "I", "loopback"],
  },
  {
    // It has no switch for coalescing.
    id: "portway-rust",
    title: "Portway, in Rust",
    own: true,
    boundaries: ["worker", ...ports],
    lacks: ["C", "D", "F", "G", "H", "I", "node"],
  },
  { id: "comlink", title: "Comlink", peer: true, boundaries: everywhere, transfers: "both", lacks: ["I"] },
  { id: "penpal", title: "Penpal", peer: true, boundaries: everywhere, transfers: "both", lacks: ["I"] },
  { id: "post-me", title: "post-me", peer: true, boundaries: everywhere, transfers: "both", lacks: ["I"] },
  { id: "birpc", title: "birpc", peer: true, boundaries: everywhere, lacks: ["I"] },
  { id: "json-rpc-2.0", title: "json-rpc-2.0", peer: true, boundaries: everywhere, transfers: "params", lacks: ["I"] },
  // For ports and workers, and in this form for browsers.
  {
    id: "vscode-jsonrpc",
    title: "vscode-jsonrpc",
    peer: true,
    boundaries: [...workers, ...ports],
    lacks: ["I", "node"],
  },
  // For ports; it has no way for an ArrayBuffer.
  { id: "capnweb", title: "Cap'n Web", peer: true, boundaries: ports, lacks: ["C", "F", "G", "I"] },
  // Its text takes buffers for objects without members.
  { id: "kkrpc", title: "kkrpc", peer: true, boundaries: ["worker"], lacks: ["C", "F", "G", "I", "loopback"] },
];

for (const id of OLD) {
  subjects.push({
    id,
    title: `an older build, copy ${id.at(-1)}`,
    boundaries: everywhere,
    transfers: "both",
    lacks: ["I", "node"],
  });
}

/** `origin` is that of the other side: this page's own, or another site's. */
export const boundaries = {
  worker: { title: "Worker", short: "Worker" },
  "port-worker": { title: "MessagePort to a worker", short: "port, worker" },
  frame: { title: "window to a frame of the same origin", short: "window" },
  "port-frame": { title: "MessagePort to a frame of the same origin", short: "port, frame" },
  "far-frame": { title: "window to a frame of another origin", short: "window, other origin" },
  "port-far-frame": { title: "MessagePort to a frame of another origin", short: "port, other origin" },
  realm: { title: "a fresh frame", short: "fresh frame" },
  loopback: { title: "no transport: two ports in one page, synchronous", short: "loopback" },
  node: { title: "the same in Node", short: "Node" },
};

const MOST_ROUNDS = 50;
/** Where a collection of megabytes in some of the rounds, or what else the machine does, is much of what is seen. */
const MANY_ROUNDS = 21;

/**
 * `size` is the number of calls in a round of one subject; `unit` is that of its first metric. `rounds` is there where it
 * is not the usual number. `boundaries` are those where it is run unless others are asked for: a message to another process
 * costs ten times as much, so what takes long is not run there.
 */
export const workloads = [
  {
    id: "A",
    title: "calls, one after the other",
    size: 60,
    rounds: MOST_ROUNDS,
    boundaries: everywhere,
    metrics: ["us"],
  },
  { id: "B-1k", title: "1 000 calls at once", size: 1_000, boundaries: everywhere, metrics: ["us"] },
  { id: "B-10k", title: "10 000 calls at once", size: 10_000, boundaries: near, metrics: ["us"] },
  { id: "E", title: "100 000 notifications", size: 100_000, boundaries: ["worker"], metrics: ["us"] },
  { id: "C-clone", title: "1 MB, cloned", size: 20, boundaries: near, metrics: ["us"] },
  {
    id: "C-transfer",
    title: "1 MB, transferred in params",
    size: 100,
    rounds: MANY_ROUNDS,
    boundaries: near,
    metrics: ["us"],
  },
  { id: "H", title: "1 MB, transferred in results", size: 100, rounds: MANY_ROUNDS, boundaries: near, metrics: ["us"] },
  { id: "D", title: "an object of 100 KB, there and back", size: 20, boundaries: near, metrics: ["us"] },
  {
    id: "F",
    title: "10 000 calls that wait, with a timeout of 60 s where there is one",
    size: 10_000,
    boundaries: ["worker"],
    metrics: ["both", "issue", "settle", "heap", "wasm", "timers"],
  },
  {
    id: "G",
    title: "small calls, 1 % of 1 MB among them",
    size: 3_000,
    boundaries: ["worker"],
    metrics: ["p50", "p99", "p999"],
  },
  {
    id: "I",
    title: "100 MB in chunks of 64 KiB, transferred",
    size: 1_600,
    rounds: MANY_ROUNDS,
    boundaries: ["worker"],
    metrics: ["mbs"],
  },
  { id: "instantiate", title: "an instance, given the module", size: 1, boundaries: ["realm"], metrics: ["ms"] },
  {
    id: "loopback",
    title: "a call without transport",
    size: 10_000,
    rounds: MANY_ROUNDS,
    boundaries: ["loopback", "node"],
    metrics: ["ns"],
  },
];

/** Whether a subject takes part in a workload. */
function takesPart({ id: subject, transfers, lacks, boundaries: places }, { id }, boundary) {
  const family = id.split("-")[0];
  if (id === "instantiate") return subject === "portway";
  if (lacks.includes(boundary) || lacks.includes(id) || lacks.includes(family)) return false;
  if (id === "C-transfer" && transfers === undefined) return false;
  if (id === "H" && transfers !== "both") return false;
  return ["loopback", "node"].includes(boundary) || places.includes(boundary);
}

/** The plan of a run: boundary by boundary, each with its workloads, each with its subjects. */
export function makePlan({ only, boundary, subject, rounds, quick, engine, old }) {
  const isAsked = ({ id }) => only === undefined || only.includes(id) || only.includes(id.split("-")[0]);
  const asked = workloads
    .filter(isAsked)
    .filter(({ id }) => engine === "chromium" || ["A", "B-1k", "B-10k", "E"].includes(id));
  const places = Object.keys(boundaries).filter((place) => boundary === undefined || boundary.includes(place));
  const isChosen = ({ id }) => subject === undefined || subject.includes(id) || BASES.includes(id);
  const chosen = subjects.filter((one) => (OLD.includes(one.id) ? old !== undefined : isChosen(one)));
  return places.flatMap((place) => {
    const cells = asked
      .filter((workload) => workload.boundaries.includes(place) || (boundary !== undefined && mayGo(workload, place)))
      .map((workload) => ({
        ...workload,
        rounds: rounds ?? roundsOf(workload, quick),
        subjects: chosen.filter((one) => takesPart(one, workload, place)).map(({ id }) => id),
      }));
    return cells.length === 0 ? [] : [{ boundary: place, cells }];
  });
}

/** Whether a workload makes sense at a place where it is not run by itself. */
function mayGo({ boundaries: places }, place) {
  return everywhere.includes(place) && places.some((own) => everywhere.includes(own));
}

function roundsOf({ rounds = 11 }, quick) {
  return quick ? Math.ceil(rounds / 3) : rounds;
}
