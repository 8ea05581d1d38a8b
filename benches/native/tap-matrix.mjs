// The matrix of the benchmark of `portway tap`. A client and a server are connected directly, through the command, or
// through a program that only passes the bytes. The figures of the passing program show the cost that no tap can avoid.
// On two cores, each further process leaves less time to the client and the server.

/** `tapped` has the options of `portway tap`, which writes the records to a file that discards them. */
export const libraries = [
  { id: "direct", title: "without the command", runs: { tap: "direct" } },
  { id: "bare", title: "a program that only passes", runs: { tap: "pass" } },
  { id: "portway", title: "portway tap --to-file", runs: { tap: "tap" }, tapped: ["--to-file", "/dev/null"] },
];

const requests = 100_000;

export const workloads = [
  {
    id: "round-trip",
    part: "tap",
    words: ["round-trips", 5_000],
    title: "median round trip of a request of 100 bytes",
    metric: "micros",
    unit: "microseconds",
    base: "direct",
  },
  {
    id: "throughput-64",
    part: "tap",
    words: ["load", requests, 64],
    title: `${requests} requests, 64 in flight`,
    metric: "rps",
    unit: "requests/s",
    base: "direct",
  },
  {
    id: "throughput-all",
    part: "tap",
    words: ["load", requests, requests],
    title: `${requests} requests at once`,
    metric: "rps",
    unit: "requests/s",
    base: "direct",
  },
];

/** The promises. `difference` limits the difference from `base`, in microseconds. `min` limits the ratio to `base`. */
export const promises = [
  { workload: "round-trip", base: "direct", difference: 100 },
  { workload: "throughput-64", base: "direct", min: 0.8 },
  { workload: "throughput-all", base: "direct", min: 0.8 },
];
