// The matrix of the benchmark of byte streams: libraries, workloads and promises.

/**
 * The libraries. `runs` maps each supported part of the benchmark to the library's name in this part. If a library runs
 * in Node, `script` is its program. If this program runs only one library, the name in `runs` is empty.
 */
export const libraries = [
  { id: "serde-alone", title: "memchr, serde_json alone", runs: { decode: "serde-alone" } },
  { id: "portway", title: "Portway", runs: { decode: "portway", serve: "portway", call: "portway", hold: "portway" } },
  // lsp-server passes each message through a channel to another thread. The next entry uses no channels.
  { id: "lsp-server", title: "lsp-server", isRival: true, runs: { decode: "lsp-server", serve: "lsp-server" } },
  {
    id: "lsp-server-loop",
    title: "lsp-server, no channels",
    isRival: true,
    runs: { serve: "lsp-server-loop", hold: "lsp-server-loop" },
  },
  // Buffers make async-lsp faster, but use memory. So `serve` measures the speed with buffers, and `hold` measures the
  // memory without buffers.
  {
    id: "async-lsp",
    title: "async-lsp",
    isRival: true,
    runs: { decode: "async-lsp", serve: "async-lsp-buffered", call: "async-lsp", hold: "async-lsp" },
  },
  {
    id: "vscode-jsonrpc",
    title: "vscode-jsonrpc",
    isRival: true,
    script: "vscode-jsonrpc.mjs",
    runs: { decode: "", serve: "", call: "", hold: "" },
  },
];

/** Returns a workload of the part "decode". Its ratios compare each library with `base`. */
const decode = (id, title) => ({
  id: `decode-${id}`,
  part: "decode",
  stream: id,
  title,
  metric: "mbs",
  unit: "MB/s",
  base: "serde-alone",
});
const requests = 100_000;

/** The workloads. At most `depth` of the requests are pending at a time. */
export const workloads = [
  decode("request", "decode: requests of 150 bytes"),
  decode("change", "decode: didChange of 4 KB, one string"),
  decode("dense", "decode: objects of 100 KB, many members"),
  decode("mixed", "decode: a mix of these messages, a third of the bytes each"),
  {
    id: "serve-64",
    part: "serve",
    title: `serve: ${requests} requests, 64 in flight`,
    requests,
    depth: 64,
    metric: "rps",
    unit: "requests/s",
    base: "portway",
    rounds: 5,
  },
  {
    id: "serve-all",
    part: "serve",
    title: `serve: ${requests} requests at once`,
    requests,
    depth: requests,
    metric: "rps",
    unit: "requests/s",
    base: "portway",
    rounds: 5,
  },
  {
    id: "call-64",
    part: "call",
    title: `call: ${requests} calls to a Portway server, 64 in flight`,
    requests,
    depth: 64,
    metric: "rps",
    unit: "calls/s",
    base: "portway",
    rounds: 5,
  },
  {
    id: "call-all",
    part: "call",
    title: `call: ${requests} calls to a Portway server at once`,
    requests,
    depth: requests,
    metric: "rps",
    unit: "calls/s",
    base: "portway",
    rounds: 5,
  },
  {
    id: "hold",
    part: "hold",
    title: "hold: resident memory of a connection that is idle after one request",
    metric: "bytes",
    unit: "bytes",
    base: "portway",
    rounds: 3,
  },
];

/** Returns the number of idle connections. A library that needs a thread for each connection gets fewer connections. */
export const connectionCount = (library) => (library === "lsp-server-loop" ? 1_000 : 10_000);

const isDecode = ({ part }) => part === "decode";

/** The promises: the `min` or `max` of the ratio of Portway to `base`. "rivals" are all libraries with `isRival`. */
export const promises = [
  ...workloads.filter(isDecode).map(({ id }) => ({ workload: id, base: "serde-alone", min: 0.8 })),
  ...workloads.filter(isDecode).map(({ id }) => ({ workload: id, base: "rivals", min: 1 })),
  { workload: "serve-64", base: "rivals", min: 1 },
  { workload: "serve-all", base: "rivals", min: 1 },
  { workload: "call-64", base: "rivals", min: 1 },
  { workload: "call-all", base: "rivals", min: 1 },
  { workload: "hold", base: "rivals", max: 1 },
];
