// The matrix of the benchmark of WebSockets: servers, workloads and promises. The server and the generator run on
// separate processor cores.

const script = "../websocket/servers.mjs";
/** Returns the parts of the benchmark that a server runs. The mirror does not run `idle`. */
const server = (name, isMirror) => ({ rate: name, flood: name, ...(isMirror ? {} : { idle: name }) });

/**
 * The libraries. `expected` is a text in each response to `echo`. `precedingMethod` is the method of a request that
 * must precede `flood`.
 */
export const libraries = [
  { id: "mirror", title: "ceiling of the generator", expected: '"echo"', runs: server("mirror", true) },
  { id: "bare", title: "tungstenite, no JSON", expected: '"echo"', runs: server("bare") },
  { id: "bare-flush", title: "the same, a flush each", expected: '"echo"', runs: { rate: "bare-flush" } },
  { id: "by-hand", title: "tungstenite + serde_json", runs: { rate: "by-hand", flood: "by-hand" } },
  { id: "portway", title: "Portway", runs: server("portway") },
  { id: "jsonrpsee", title: "jsonrpsee", isRival: true, runs: server("jsonrpsee") },
  {
    id: "rpc-websockets",
    title: "rpc-websockets",
    isRival: true,
    script,
    precedingMethod: "rpc.on",
    runs: server("rpc-websockets"),
  },
  { id: "json-rpc-2.0", title: "ws + json-rpc-2.0", isRival: true, script, runs: server("json-rpc-2.0") },
  // The next two libraries run in Chromium.
  { id: "page-bare", title: "WebSocket, JSON and a Map", runs: { page: "" } },
  { id: "page-portway", title: "Portway's client", runs: { page: "" } },
];

/** The numbers of the processor cores on which the server and the generator run. */
export const cores = { server: 0, generator: 1 };

/** Returns a workload of the part `rate`. At most `depth` requests are pending at a time on each connection. */
const rate = (id, title, requests, connections, depth) => ({
  id,
  part: "rate",
  title: `rate: ${title}`,
  requests,
  connections,
  depth,
  metric: "rps",
  unit: "requests/s",
  base: "bare",
  rounds: 7,
});

const page = (run, requests, how) => ({
  id: `page-${run}`,
  part: "page",
  run,
  title: `page: ${requests} calls of a client in Chromium, ${how}`,
  requests,
  metric: "us",
  unit: "µs for each call",
  base: "page-bare",
  rounds: 41,
});

export const workloads = [
  rate("sequential", "1 connection, 1 request in flight", 20_000, 1, 1),
  rate("deep", "1 connection, 256 requests in flight", 100_000, 1, 256),
  rate("wide", "64 connections, 4 requests in flight on each", 99_968, 64, 4),
  {
    id: "flood",
    part: "flood",
    title: "flood: 1 000 000 notifications from the server",
    requests: 1_000_000,
    metric: "rps",
    unit: "notifications/s",
    base: "bare",
    rounds: 3,
  },
  {
    id: "idle",
    part: "idle",
    title: "idle: resident memory of a connection that is idle after one request",
    connections: 5_000,
    metric: "bytes",
    unit: "bytes",
    base: "bare",
    rounds: 3,
  },
  page("sequential", 300, "one after the other"),
  page("burst", 1_000, "at once"),
];

const rates = workloads.filter(({ metric }) => metric === "rps");

/**
 * The promises: the `min` or `max` of the ratio of `library` to `base`. The default of `library` is Portway. "rivals"
 * are all libraries with `isRival`. A promise without `base` limits the value of Portway itself. `unit` is the unit of
 * this value.
 */
export const promises = [
  ...rates.map(({ id }) => ({ workload: id, base: "rivals", min: 1 })),
  ...rates.map(({ id }) => ({ workload: id, base: "bare", min: 0.5 })),
  { workload: "idle", base: "rivals", max: 1 },
  { workload: "idle", max: 40_000, unit: "bytes" },
  ...["page-sequential", "page-burst"].map((workload) => ({
    workload,
    library: "page-portway",
    base: "page-bare",
    max: 1.1,
  })),
];
