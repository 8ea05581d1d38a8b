// The matrix of the benchmark of MCP: clients, workloads and promises. All clients call the server of Portway. The
// server and the client run on separate processor cores.

/** The libraries. The official SDK for npm runs in Node. */
export const libraries = [
  { id: "memchr", title: "memchr, lines alone", runs: { events: "memchr" } },
  {
    id: "portway",
    title: "Portway",
    runs: { http: "portway", stdio: "portway", events: "decode", streams: "portway" },
  },
  { id: "rmcp", title: "rmcp", isRival: true, runs: { http: "rmcp", stdio: "rmcp", streams: "rmcp" } },
  // By default, rmcp opens an HTTP connection for each request. With the HTTP client of this entry, it keeps its
  // connections.
  { id: "rmcp-kept", title: "rmcp, connections kept", isRival: true, runs: { http: "rmcp-kept" } },
  {
    id: "official-npm",
    title: "@modelcontextprotocol/client",
    isRival: true,
    script: "../mcp/official-client.mjs",
    runs: { http: "", stdio: "" },
  },
];

/** The numbers of the processor cores on which the server and the client run. */
export const cores = { server: 0, generator: 1 };

const CALLS = 10_000;
const eras = { modern: "2026-07-28", legacy: "2025-11-25" };
const transports = { stdio: "standard streams", http: "Streamable HTTP" };

const calls = Object.keys(transports).flatMap((part) =>
  Object.keys(eras).map((era) => ({
    id: `${part}-${era}`,
    part,
    title: `${transports[part]}, ${eras[era]}: ${CALLS} calls, 64 in flight`,
    words: [CALLS, 64, era],
    metric: "rps",
    unit: "calls/s",
    base: "portway",
  })),
);

/** Returns a workload of the part "events". Its ratios compare the decoder with a pass over the lines. */
const events = (id, title) => ({
  id: `events-${id}`,
  part: "events",
  stream: id,
  title: `events: ${title}`,
  metric: "mbs",
  unit: "MB/s",
  base: "memchr",
});

const decoded = [
  events("typical", "messages of 430 bytes on average, with names and ids"),
  events("crlf", "the same, with CRLF"),
  events("small", "notifications of 100 bytes"),
];

export const workloads = [
  ...calls,
  ...decoded,
  {
    id: "streams",
    part: "streams",
    title: "streams: resident memory of each of 1 000 pending calls with open streams",
    connections: 1_000,
    metric: "bytes",
    unit: "bytes",
    base: "portway",
    rounds: 5,
  },
];

/** The promises: the `min` or `max` of the ratio of Portway to `base`. "rivals" are all libraries with `isRival`. */
export const promises = [
  ...calls.map(({ id }) => ({ workload: id, base: "rivals", min: 1 })),
  ...decoded.map(({ id }) => ({ workload: id, base: "memchr", min: 0.8 })),
  { workload: "streams", base: "rivals", max: 1 },
];
