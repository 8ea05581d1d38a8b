// What is measured: the subjects, the boundaries, the workloads, and which of them go together.

/** What others are compared with. */
export const BASES = ["raw-num", "raw-env", "seed"];

const near = ["worker", "port-worker", "frame", "port-frame"];
const everywhere = [...near, "far-frame", "port-far-frame"];

/**
 * In the order of the table. `boundaries` are those where the subject makes sense. `transfers` says in which direction it
 * moves a buffer: "both", "params" or undefined. `lacks` names workloads that it has no call for.
 */
export const subjects = [
  { id: "raw-num", title: "a bare number", boundaries: everywhere, transfers: "both", lacks: ["F", "loopback"] },
  { id: "raw-env", title: "envelopes by hand", boundaries: everywhere, transfers: "both", lacks: ["I"] },
  { id: "seed", title: "the document's library", boundaries: everywhere, lacks: ["I"] },
  { id: "portway", title: "Portway, coalesced", own: true, boundaries: everywhere, transfers: "both", lacks: [] },
  { id: "portway-off", title: "Portway, not coalesced", own: true, boundaries: everywhere, transfers: "both", lacks: ["I"] },
  {
    id: "portway-connect",
    title: "Portway, connect",
    own: true,
    boundaries: everywhere,
    transfers: "both",
    lacks: ["C", "D", "F", "G", "H", "I", "loopback"],
  },
];

/** `origin` is that of the other side: this page's own, or another site's. */
export const boundaries = {
  worker: { title: "Worker", short: "Worker" },
  "port-worker": { title: "MessagePort to a worker", short: "port, worker" },
  frame: { title: "window to a frame of the same origin", short: "window" },
  "port-frame": { title: "MessagePort to a frame of the same origin", short: "port, frame" },
  "far-frame": { title: "window to a frame of another origin", short: "window, other origin" },
  "port-far-frame": { title: "MessagePort to a frame of another origin", short: "port, other origin" },
  loopback: { title: "no transport: two ports in one page, synchronous", short: "loopback" },
  node: { title: "the same in Node", short: "Node" },
};

const MOST_ROUNDS = 50;

/**
 * `size` is the number of calls in a round of one subject; `unit` is that of its first metric. `rounds` is there where it
 * is not the usual number. `boundaries` are those where it is run unless others are asked for: a message to another process
 * costs ten times as much, so what takes long is not run there.
 */
export const workloads = [
  { id: "A", title: "calls, one after the other", size: 60, rounds: MOST_ROUNDS, boundaries: everywhere, metrics: ["us"] },
  { id: "B-1k", title: "1 000 calls at once", size: 1_000, boundaries: everywhere, metrics: ["us"] },
  { id: "B-10k", title: "10 000 calls at once", size: 10_000, boundaries: near, metrics: ["us"] },
  { id: "E", title: "100 000 notifications", size: 100_000, boundaries: ["worker"], metrics: ["us"] },
  { id: "loopback", title: "a call without transport", size: 20_000, boundaries: ["loopback", "node"], metrics: ["ns"] },
];

/** Whether a subject takes part in a workload. */
function takesPart({ transfers, lacks, boundaries: own }, { id }, boundary) {
  const family = id.split("-")[0];
  if (lacks.includes(id) || lacks.includes(family)) return false;
  if (id === "C-transfer" && transfers === undefined) return false;
  if (id === "H" && transfers !== "both") return false;
  return ["loopback", "node"].includes(boundary) || own.includes(boundary);
}

/** The plan of a run: boundary by boundary, each with its workloads, each with its subjects. */
export function makePlan({ only, boundary, subject, rounds, quick, engine }) {
  const isAsked = ({ id }) => only === undefined || only.includes(id) || only.includes(id.split("-")[0]);
  const asked = workloads.filter(isAsked).filter(({ id }) => engine === "chromium" || ["A", "B-1k", "B-10k", "E"].includes(id));
  const places = Object.keys(boundaries).filter((place) => boundary === undefined || boundary.includes(place));
  const chosen = subjects.filter(({ id }) => subject === undefined || subject.includes(id) || BASES.includes(id));
  return places.flatMap((place) => {
    const cells = asked
      .filter((workload) => workload.boundaries.includes(place) || (boundary !== undefined && place !== "loopback" && place !== "node" && !isLoopback(workload)))
      .map((workload) => ({
        ...workload,
        rounds: rounds ?? roundsOf(workload, quick),
        subjects: chosen.filter((one) => takesPart(one, workload, place)).map(({ id }) => id),
      }));
    return cells.length === 0 ? [] : [{ boundary: place, cells }];
  });
}

function isLoopback({ boundaries: places }) {
  return places.includes("loopback");
}

function roundsOf({ rounds = 11 }, quick) {
  return quick ? Math.ceil(rounds / 3) : rounds;
}
